"""Who gets which mark: the marks of an output folder, matched with the people of a roster."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from autograder.course.roster import Person, Roster, RosterError
from autograder.errors import Refusal
from autograder.record.log import read_results
from autograder.record.marks import (
    Mark,
    as_points,
    marks_of,
    most_by_part,
    points_by_part,
    to_cents,
)
from autograder.record.results import ERROR, Result

Results = Mapping[tuple[str, str], Result]  # by lab and student
Strangers = dict[str, list[tuple[Mark, RosterError]]]  # by lab
Found = dict[tuple[int, str], list[Mark]]  # by place in the roster and lab
MAX_NAMED = 5


class ExportError(Refusal):
    """The marks cannot be written as asked; the message says what to do."""


@dataclass(frozen=True)
class ExportEntry:
    """One mark of one person. points: the total on the export's scale."""

    person: Person
    mark: Mark
    result: Result
    points: float

    def shown_parts(self, names: Iterable[str]) -> list[str]:
        """The points of these parts of the lab, as text."""
        known = points_by_part(self.result, self.mark)
        return [as_points(known.get(name)) for name in names]


@dataclass
class ExportSheet:
    """The content of an export: people in the roster's order, and the mark of each by lab.

    worth: the points of each lab on the export's scale; notes: sentences on marks left out.
    """

    labs: tuple[str, ...]
    worth: dict[str, float]
    roster: Roster | None
    people: list[Person]
    entries: dict[tuple[int, str], ExportEntry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[tuple[Person, dict[str, ExportEntry]]]:
        """Everyone, with the marks to write."""
        for index, person in enumerate(self.people):
            entries = {lab: self.entries.get((index, lab)) for lab in self.labs}
            yield person, {lab: entry for lab, entry in entries.items() if entry}

    def parts(self, lab: str) -> dict[str, float]:
        """The exercises and written answers of a lab, with the points that each earns at most."""
        own = [entry.result for (_, name), entry in self.entries.items() if name == lab]
        most = [most_by_part(result) for result in own]
        names = dict.fromkeys(name for result in own for name in result.parts)
        return {name: max(of.get(name, 0.0) for of in most) for name in names}

    def one_lab(self, form: str) -> str:
        """The only lab. Raises ExportError if there are several."""
        if len(self.labs) == 1:
            return self.labs[0]
        raise ExportError(
            f"a {form} export is of one lab, got {', '.join(self.labs)}: give --labs with one"
        )


def gather(
    out: Path, labs: Sequence[str], points: Mapping[str, float], roster: Roster | None
) -> ExportSheet:
    """The marks of these labs, or of all, by person; without a roster everyone found is a person.

    Raises: ExportError, GradebookError.
    """
    results = {(result.lab, result.student): result for result in _results(out, labs)}
    chosen = tuple(dict.fromkeys(lab for lab, _ in results if lab in labs or not labs))
    marks = [mark for mark in marks_of(out, list(results.values())) if mark.lab in chosen]
    worth = {mark.lab: float(points.get(mark.lab, mark.of)) for mark in marks}
    sheet = ExportSheet(chosen, worth, roster, _people(marks, roster))
    found, strangers = _by_person(sheet, marks, results)
    unmarked: dict[tuple[str, str], list[str]] = {}
    for (index, lab), own in sorted(found.items()):
        person = sheet.people[index]
        if len(own) == 1 and own[0].total is not None and own[0].of:
            scaled = _scaled(own[0], worth[lab])
            entry = ExportEntry(person, own[0], results[lab, own[0].student], scaled)
            sheet.entries[index, lab] = entry
        else:
            unmarked.setdefault((lab, _why(own)), []).append(called(person))
    n_marks = Counter(mark.lab for mark in marks)
    for (lab, why), names in unmarked.items():
        is_all = len(names) == n_marks[lab] > MAX_NAMED
        who = f"all {len(names)} submissions" if is_all else "; ".join(names)
        sheet.notes.append(f"{lab}: no mark for {who}: {why}.")
    sheet.notes += _belonging_to_nobody(sheet, strangers, n_marks)
    sheet.notes += _absent(
        sheet, set(found), {lab for lab in strangers if _are_many(strangers, lab)}
    )
    if early := set(points) - {lab for lab, _ in results}:  # one command serves the whole term
        sheet.notes.append(f"No results yet: {', '.join(sorted(early))}. Their points wait.")
    sheet.notes.sort()
    return sheet


def called(person: Person) -> str:
    """The name of a person in a sentence."""
    return next(filter(None, (person.name, person.email, *person.ids)), "a person without a name")


def _results(out: Path, wanted: Sequence[str]) -> list[Result]:
    results = read_results(out / "results.jsonl")
    known = sorted({result.lab for result in results})
    if not known:
        raise ExportError(f"{out} holds no results: grade first")
    for lab in wanted:
        if lab not in known:
            raise ExportError(f"{out} has no results of {lab}; it has {', '.join(known)}")
    return results


def _people(marks: Sequence[Mark], roster: Roster | None) -> list[Person]:
    """The class; without a roster those who handed something in."""
    if roster is not None:
        return list(roster.people)
    return [Person(name=student) for student in sorted({mark.student for mark in marks})]


def _by_person(
    sheet: ExportSheet, marks: Sequence[Mark], results: Results
) -> tuple[Found, Strangers]:
    """The marks of each person and lab, and the marks without a person."""
    places = {id(person): index for index, person in enumerate(sheet.people)}
    names = {person.name: index for index, person in enumerate(sheet.people)}
    found: Found = {}
    strangers: Strangers = {}
    for mark in marks:
        try:
            if sheet.roster is None:
                index = names[mark.student]
            else:
                file_name = results[mark.lab, mark.student].file_name
                index = places[id(sheet.roster.find(mark.student, file_name))]
        except RosterError as error:
            strangers.setdefault(mark.lab, []).append((mark, error))
            continue
        found.setdefault((index, mark.lab), []).append(mark)
    return found, strangers


def _belonging_to_nobody(
    sheet: ExportSheet, strangers: Strangers, n_marks: Mapping[str, int]
) -> Iterator[str]:
    """A sentence for each mark without a person; one for all if there are many of them."""
    for lab, those in strangers.items():
        if _are_many(strangers, lab):
            some = ", ".join(mark.student for mark, _ in those[:MAX_NAMED])
            yield (
                f"{lab}: {len(those)} of {n_marks[lab]} marks belong to nobody in "
                f"{sheet.roster.source}; is it this course's? Among them are {some}."
            )
            continue
        for mark, error in those:
            got = "no mark yet" if mark.total is None else f"{as_points(mark.total)} points"
            yield f"{lab}: {mark.student} ({got}) belongs to nobody: {error}."


def _are_many(strangers: Strangers, lab: str) -> bool:
    return len(strangers[lab]) > MAX_NAMED


def _scaled(mark: Mark, worth: float) -> float:
    scale = Decimal(str(worth)) / Decimal(str(mark.of))
    return float(to_cents(Decimal(str(mark.total)) * scale))


def _why(marks: Sequence[Mark]) -> str:
    if len(marks) > 1:
        return f"they have more than one submission ({', '.join(m.student for m in marks)})"
    if marks[0].total is None and marks[0].status == ERROR:
        return "our error: grade again"
    if marks[0].total is not None:
        return "the record does not say how many points the lab has: grade again"
    return f"a person has yet to read {', '.join(marks[0].waits_for)}"


def _absent(sheet: ExportSheet, found: set[tuple[int, str]], in_doubt: set[str]) -> Iterator[str]:
    """Who handed nothing in. in_doubt: labs whose marks the roster hardly fits: five names do."""
    for lab in sheet.labs:
        people = enumerate(sheet.people)
        names = [called(person) for index, person in people if (index, lab) not in found]
        n_more = len(names) - MAX_NAMED if lab in in_doubt else 0
        if n_more > 0:
            names = [*names[:MAX_NAMED], f"{n_more} more"]
        if names:
            yield f"{lab}: nothing was handed in by {'; '.join(names)}."


def find_column(lab: str, names: Sequence[str], wanted: str | None) -> str:
    """The LMS's column for a lab: the one asked for, else the one whose title holds the lab's name.

    Raises: ExportError if there is none, or more than one.
    """
    if wanted is None:
        words = r"[\W_]*".join(map(re.escape, lab.split("_")))
        title = re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.IGNORECASE)
        found = [name for name in names if title.search(name)]
    else:
        found = [name for name in names if wanted in (name, name.rpartition(" (")[0])]
    if len(found) == 1:
        return found[0]
    what = f"called {wanted!r}" if wanted else f"whose name holds {lab}"
    some = ", ".join(found or names) or "none"
    raise ExportError(
        f"the roster has {len(found)} columns {what}: give --column {lab}=NAME with one of {some}"
    )


def check_worth(sheet: ExportSheet, lab: str, lms: str, wanted: Iterable[str]) -> None:
    """Refuse to write points of one scale into a column of another.

    wanted: the points that the LMS gives for the column, if it gives any.
    """
    worth = sheet.worth[lab]
    said = {text.strip() for text in wanted} - {""}
    if not said:
        sheet.notes.append(
            f"{lab}: written on a scale of {as_points(worth)} points; the roster does not say how "
            f"many points {lms} has."
        )
    for text in said:
        if not re.fullmatch(r"\d+([.,]\d+)?", text, re.ASCII):
            raise ExportError(f"{lms} says of {lab}'s column {text!r}, not how many points")
        if float(text.replace(",", ".")) != worth:
            raise ExportError(
                f"{lab} is worth {as_points(worth)} points here and {text} in {lms}: give "
                f"--points {lab}={text} to convert"
            )


def as_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """A CSV file by RFC 4180, in UTF-8."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue().encode()
