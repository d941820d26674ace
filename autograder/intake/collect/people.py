"""From parcels to submissions: who is who, what is the same, and which attempt came first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from autograder.course.roster import Roster, canvas_name
from autograder.course.times import instant
from autograder.course.worksheet import is_participant
from autograder.intake.collect.choose import attempts_in
from autograder.intake.collect.layouts import CANVAS_SYSTEM, MOODLE_SYSTEM
from autograder.intake.collect.parcel import Parcel
from autograder.intake.collect.platforms import without_title
from autograder.intake.collect.submission import Submission, safe_name

Person = tuple[str, str]
OUR_NAMES = frozenset(  # in a folder of results and in nbgrader's course
    ("autograded", "course", "feedback", "gradebook", "gradebook.db", "integrity", "release",
     "results", "similarity", "source", "submitted")
)  # fmt: skip


@dataclass(frozen=True)
class _Attempt:
    """A submission, the parcel that it came in and the number that the LMS gave its file."""

    submission: Submission
    parcel: Parcel
    serial: int

    @property
    def moment(self) -> datetime | None:
        """When it was handed in, None if unknown."""
        return instant(self.submission.submitted_at)

    @property
    def place(self) -> tuple[int, int, int]:
        """What sorts the attempts of one person where nothing better does."""
        return self.parcel.delivery, self.parcel.attempt, self.serial

    def is_again(self, other: _Attempt) -> bool:
        """Whether this is the same hand-in as `other`, exported once more."""
        mine, others = self.submission, other.submission
        times = {mine.submitted_at, others.submitted_at} - {""}
        return (
            self.parcel.delivery != other.parcel.delivery
            and self.serial == other.serial
            and mine.group == others.group
            and len(times) < 2
            and (mine.content, mine.problem) == (others.content, others.problem)
        )


def submissions_of(parcels: list[Parcel], lab_name: str, roster: Roster | None) -> list[Submission]:
    """All submissions in the parcels, by student and attempt."""
    if roster is not None:
        if roster.kind == "classroom":
            parcels = without_title(parcels, (person.login for person in roster.people))
        latest = {parcel.person: parcel.delivery for parcel in parcels}
        parcels = [
            each
            for parcel in parcels
            for each in _with_roster(parcel, roster, latest[parcel.person] == parcel.delivery)
        ]
    names = _names_of(parcels)
    attempts: dict[Person, list[_Attempt]] = {}
    for parcel in parcels:
        attempts.setdefault(parcel.person, []).extend(_attempts_in(parcel, lab_name))
    by_name: dict[str, list[Person]] = {}
    for person in attempts:
        by_name.setdefault(safe_name(names[person]), []).append(person)
    found: list[Submission] = []
    for name, people in by_name.items():
        if len(people) > 1:
            found.append(_alike(name, [names[person] for person in people]))
        elif name.casefold() in OUR_NAMES:
            problem = f"the grader's own files are called {name}: rename this folder or file"
            found.append(Submission(name, "", problem=problem))
        else:
            found += _numbered(name, attempts[people[0]])
    return sorted(found, key=lambda submission: (submission.student, submission.attempt))


def _attempts_in(parcel: Parcel, lab_name: str) -> Iterator[_Attempt]:
    group = safe_name(parcel.group) if parcel.group else ""
    for serial, submission in attempts_in(parcel, lab_name):
        told = replace(submission, submitted_at=parcel.submitted_at, group=group)
        yield _Attempt(told, parcel, serial)


def _names_of(parcels: Iterable[Parcel]) -> dict[Person, str]:
    """What each person is called: by the latest label, and a number where people share one."""
    labels = {parcel.person: parcel.label for parcel in parcels}
    sharing: dict[str, list[Person]] = {}
    for person, label in labels.items():
        sharing.setdefault(label, []).append(person)
    names: dict[Person, str] = {}
    for label, people in sharing.items():
        all_numbered = all(system for system, _ in people)
        needs_number = all_numbered and (len(people) > 1 or is_participant(label))
        for person in people:
            names[person] = f"{label} {person[1]}" if needs_number else label
    return names


def _numbered(name: str, attempts: list[_Attempt]) -> list[Submission]:
    """One person's submissions in order; two that cannot be put in order are a problem."""
    people = {id(attempt.parcel.who) for attempt in attempts if attempt.parcel.who is not None}
    if len(people) > 1:
        problem = f"{len(people)} people of the roster are called the same here: give them ids"
        return [Submission(name, "", problem=problem)]
    places: dict[tuple, Parcel] = {}
    for attempt in attempts:
        parcel = attempt.parcel
        place = (parcel.delivery, parcel.submitted_at, parcel.attempt, parcel.group)
        if places.setdefault(place, parcel) is not parcel:
            files = " and ".join(each.submission.file_name or "none" for each in attempts[:5])
            return [Submission(name, "", problem=f"two files for one student: {files}")]
    number, numbered = 0, []
    for attempt in _once_each(attempts):
        number = max(number + 1, attempt.parcel.attempt)
        numbered.append(replace(attempt.submission, student=name, attempt=number))
    return numbered


def _once_each(attempts: list[_Attempt]) -> list[_Attempt]:
    """In order of time, each once: of repeated exports, the one with more information stays."""
    once: list[_Attempt] = []
    for attempt in _in_order(attempts):
        before = next((each for each in once if attempt.is_again(each)), None)
        if before is not None:
            once.remove(before)
        once.append(attempt)
    return once


def _in_order(attempts: list[_Attempt]) -> list[_Attempt]:
    """By time, or else by the numbers of the files, if all have them; or else by export."""
    ordered = sorted(attempts, key=lambda each: each.place)
    if all(each.moment for each in ordered):
        return sorted(ordered, key=lambda each: (each.moment, each.serial))
    if all(each.serial for each in ordered):
        return sorted(ordered, key=lambda each: each.serial)
    return ordered


def _alike(name: str, labels: list[str]) -> Submission:
    """The row of several people whose names come out the same."""
    called = ", ".join(ascii(label) for label in labels[:5])
    problem = f"{len(labels)} people are called the same here ({called}): rename their files"
    return Submission(name, "", problem=problem)


def _with_roster(parcel: Parcel, roster: Roster, is_latest: bool) -> Iterator[Parcel]:
    """The parcel with what the roster adds: a group's members, and the time of the latest attempt.

    Canvas and Moodle name a group where others name a person. If the platform's number fits no
    person, the roster may belong to another assignment, and so do its times.
    """
    if parcel.system not in (CANVAS_SYSTEM, MOODLE_SYSTEM):
        yield parcel
        return
    people = roster.matches(parcel.label, parcel.number)
    members = [] if people else roster.members(parcel.label)
    fits = not parcel.number or parcel.number in {each.lms_id for each in people or members}
    is_timed = is_latest and fits
    if len(people) == 1:
        yield replace(parcel, submitted_at=people[0].submitted_at if is_timed else "")
    elif not members:
        yield parcel
    for member in members:
        name = canvas_name(member.name) if parcel.system == CANVAS_SYSTEM else member.name
        yield replace(
            parcel,
            label=name or member.student_id or member.login or member.email,
            number=member.lms_id if fits or parcel.system == CANVAS_SYSTEM else "",
            submitted_at=member.submitted_at if is_timed else "",
            group=member.group,
            who=member,
        )
