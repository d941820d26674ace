"""What one student handed in for a lab, and which of several attempts counts."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter

from autograder.course.person import id_digest
from autograder.course.policy import Policy, Standing
from autograder.course.roster import Roster, RosterError
from autograder.grading.pool import Outcome
from autograder.intake.collect import Submission
from autograder.judging.jobs import pack_content
from autograder.record.results import ERROR, UNGRADABLE, Result


@dataclass(frozen=True)
class Attempt:
    """A submission, its standing by the policy, and the key of its outcome.

    The key is a digest of everything that the outcome depends on. The student's name is not part of
    it, so equal files are graded once, unless a class list has ids.
    """

    submission: Submission
    standing: Standing
    key: str


@dataclass(frozen=True)
class Work:
    """All attempts of one student for one lab, in order. rule: "best" or "last"."""

    student: str
    attempts: tuple[Attempt, ...]
    rule: str

    @property
    def to_grade(self) -> tuple[Attempt, ...]:
        """The attempts that can count: those in time, or all if none was; "last": the last one."""
        accepted = tuple(each for each in self.attempts if each.standing.late_factor > 0)
        candidates = accepted or self.attempts
        return candidates if self.rule == "best" else candidates[-1:]

    @property
    def key(self) -> str:
        """A digest of all that the row in the record depends on."""
        rows = [
            (each.key, each.submission.submitted_at, each.submission.group, repr(each.standing))
            for each in self.attempts
        ]
        return hashlib.sha256(json.dumps([self.rule, rows]).encode()).hexdigest()

    def counted(self, outcomes: Mapping[str, Outcome]) -> Outcome:
        """The outcome of the attempt that counts, with this student's row filled in.

        The best is the highest mark after what lateness takes off, of equal ones the latest. While
        one has failed by our fault the best is not known, so that one is returned.
        """
        attempt = max(self.to_grade, key=lambda each: self._rank(each, outcomes[each.key].result))
        outcome = outcomes[attempt.key]
        submission = attempt.submission
        result = replace(
            outcome.result,
            student=self.student,
            file_name=submission.file_name,
            group=submission.group,
            attempt=submission.attempt,
            n_attempts=max(len(self.attempts), self.attempts[-1].submission.attempt),
            submitted_at=submission.submitted_at,
            late=attempt.standing.sentence,
            late_factor=attempt.standing.late_factor,
            problem=self._remarks(attempt, outcomes),
            key=self.key,
        )
        return replace(outcome, submission=submission, result=result)

    def _remarks(self, counts: Attempt, outcomes: Mapping[str, Outcome]) -> str:
        """The problem of the attempt that counts, then the attempts that could not be read."""
        remarks = [outcomes[counts.key].result.problem]
        for each in self.to_grade:
            other = outcomes[each.key].result
            if each is not counts and other.status == UNGRADABLE:
                remarks.append(f"Attempt {each.submission.attempt}: {other.problem}")
        return " ".join(filter(None, remarks))

    @staticmethod
    def _rank(attempt: Attempt, result: Result) -> tuple[bool, float, int]:
        mark = -1.0 if result.score is None else result.score * attempt.standing.late_factor
        return result.status == ERROR, mark, attempt.submission.attempt


def with_ids(submissions: Sequence[Submission], roster: Roster) -> list[Submission]:
    """The submissions with the ids of the class list: one's own or the group's, and all others'."""
    own: dict[tuple[str, str], set[str]] = {}  # of a student, or of a group
    for each in submissions:
        with suppress(RosterError):
            names = roster.find(each.student, each.file_name).own_names
            owner = ("", each.group) if each.group else (each.student, "")
            own.setdefault(owner, set()).update(map(id_digest, names))
    everybody = {id_digest(name) for person in roster.people for name in person.own_names}

    def told(each: Submission) -> Submission:
        ids = own.get(("", each.group) if each.group else (each.student, ""), set())
        others = everybody - ids if ids else set()
        return replace(each, own_ids=tuple(sorted(ids)), others_ids=tuple(sorted(others)))

    return [told(each) for each in submissions]


def works_of(
    submissions: Sequence[Submission], lab: str, policy: Policy, common: bytes
) -> list[Work]:
    """The submissions of a lab by student. common: a digest of all else that marks depend on."""
    by_student: dict[str, list[Attempt]] = {}
    for each in sorted(submissions, key=attrgetter("student", "attempt")):
        standing = policy.standing(lab, each.student, each.submitted_at, each.marked_late)
        attempt = Attempt(each, standing, _outcome_key(each, common))
        by_student.setdefault(each.student, []).append(attempt)
    return [Work(name, tuple(group), policy.attempts) for name, group in by_student.items()]


def due_works(works: list[Work], known: Mapping[str, Result]) -> list[Work]:
    """Those that have no row as they are now. known: the rows on record, by student."""

    def is_done(work: Work) -> bool:
        row = known.get(work.student)
        return row is not None and row.key == work.key and row.status != ERROR

    return [work for work in works if not is_done(work)]


def contents_of(works: Iterable[Work]) -> dict[str, Submission]:
    """What has to be graded for these: each content once, by the key of its outcome."""
    return {each.key: each.submission for work in works for each in reversed(work.to_grade)}


def counted_works(works: list[Work], outcomes: Iterable[tuple[str, Outcome]]) -> Iterator[Outcome]:
    """What each student gets, as soon as all attempts that matter have their outcome."""
    waiting: dict[str, list[Work]] = {}
    for work in works:
        for key in {each.key for each in work.to_grade}:
            waiting.setdefault(key, []).append(work)
    n_waiting = Counter({key: len(group) for key, group in waiting.items()})
    known: dict[str, Outcome] = {}
    for key, outcome in outcomes:
        known[key] = outcome
        for work in waiting[key]:
            keys = {each.key for each in work.to_grade}
            if keys <= known.keys():
                yield work.counted(known)
                n_waiting.subtract(keys)
        known = {key: outcome for key, outcome in known.items() if n_waiting[key]}


def _outcome_key(submission: Submission, common: bytes) -> str:
    content = json.dumps(pack_content(submission), sort_keys=True)
    return hashlib.sha256(common + content.encode()).hexdigest()
