"""Finding the submissions of a lab in a folder or zip of any layout.

Understood: the exports of Canvas, Moodle, Gradescope, Blackboard and Brightspace, packed or
unpacked, one or several made over time; repositories of GitHub Classroom; nbgrader's folders, its
exchange's too; one folder, one file or one zip per student; all of it in a folder or in a zip.
Each student found gives at least one `Submission`, readable or not.
"""

import re
from collections.abc import Collection
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from autograder.course.person import letters_of
from autograder.course.roster import Roster, RosterError
from autograder.intake.collect.choose import SEVERAL
from autograder.intake.collect.files import File, files_at, files_of_export
from autograder.intake.collect.gradescope import gradescope_parcels, is_gradescope
from autograder.intake.collect.layouts import (
    ATTEMPT,
    INBOUND,
    NOTEBOOKS,
    is_export,
    parcels_in,
    student_in,
)
from autograder.intake.collect.parcel import Parcel, below
from autograder.intake.collect.people import submissions_of
from autograder.intake.collect.platforms import classroom
from autograder.intake.collect.submission import NoSubmissions, Submission, safe_name
from autograder.places import lab_names

MANY = 5  # notebooks that cannot be one person's one hand-in
KNOWN = (
    "an export of Canvas, Moodle, Gradescope, Blackboard, Brightspace or GitHub Classroom, "
    "STUDENT/LAB/*.ipynb, STUDENT/*.ipynb, or one .ipynb, .py or .zip file for each student"
)

__all__ = [
    "NoSubmissions",
    "Submission",
    "collect",
    "safe_name",
    "student_in",
]


def collect(
    place: Path, lab_name: str, roster: Roster | None = None, without: Path | None = None
) -> list[Submission]:
    """The submissions of `lab_name` below a folder or in a zip, by student and attempt.

    roster: gives the members of groups, and times of submission that only Moodle's table has;
    without: a folder that is left out where it lies below the place, such as the results' own.
    Raises: NoSubmissions if the place does not exist or holds none.
    """
    with ExitStack() as opened:
        files = files_at(place, opened, without, _letters_of_class(roster))
        files = _without_common_folder(files, lab_name)
        found = _submissions_in(files, lab_name, roster)
    if not found:
        raise NoSubmissions(f"{place} holds no submission of {lab_name}: expected {KNOWN}")
    if why := _why_unknown(files, found, roster):
        raise NoSubmissions(f"{place} looks like no delivery that I know: {why}. Known are {KNOWN}")
    return found


def _why_unknown(files: list[File], found: list[Submission], roster: Roster | None) -> str:
    """What speaks against the way in which a delivery was read; "" if nothing does."""
    students = {each.student for each in found}
    n_notebooks = sum(file.suffix == ".ipynb" for file in files)
    are_unclear = all(each.problem.startswith(SEVERAL) for each in found)
    if are_unclear and n_notebooks >= MANY * len(students):
        people = "1 person" if len(students) == 1 else f"{len(students)} people"
        return f"its {n_notebooks} notebooks seem to be of {people}, such as {min(students)}"
    if roster is None or len(students) < 2:
        return ""
    groups = {letters_of(person.group) for person in roster.people} - {""}
    if any(_is_known(each, roster, groups) for each in found):
        return ""
    return (
        f"none of the {len(students)} people in it, such as {min(students)}, is on "
        f"{roster.source}. If that is no list of this course, give the right one as --roster, or "
        "none"
    )


def _is_known(submission: Submission, roster: Roster, groups: set[str]) -> bool:
    """Whether a name fits one or more people or groups of the roster."""
    name = submission.student
    if roster.matches(name) or letters_of(submission.group or name) in groups:
        return True
    with suppress(RosterError):
        return bool(roster.find(name, submission.file_name))
    return False


def _submissions_in(files: list[File], lab_name: str, roster: Roster | None) -> list[Submission]:
    """The submissions among the files of a class, none if there are none."""
    with ExitStack() as opened:
        deliveries = _deliveries(files, lab_name, opened, _letters_of_class(roster))
        for exported in deliveries:
            _check_names(exported)
        parcels = [
            replace(parcel, delivery=delivery)
            for delivery, exported in enumerate(deliveries)
            for parcel in _parcels(exported, lab_name)
        ]
        return submissions_of(parcels, lab_name, roster)


def _parcels(files: list[File], lab_name: str) -> list[Parcel]:
    if is_gradescope(files):
        return list(gradescope_parcels(files, lab_name))
    return parcels_in(files, lab_name)


def _letters_of_class(roster: Roster | None) -> Collection[str]:
    """The names of the class, in each order, as they are compared."""
    people = roster.people if roster else ()
    return {letters_of(name) for each in people for name in each.names}


def _check_names(files: list[File]) -> None:
    """Refuse a delivery with unreadable names: people would get one another's marks."""
    unknown = [file for file in files if not file.is_named]
    if unknown:
        raise NoSubmissions(
            f"the zip of submissions does not tell the encoding of {len(unknown)} names, such as "
            f"{safe_name(str(unknown[0].path))}. Give the class as --roster: its names decide. Or "
            "unpack the zip on the computer that made it, and give the folder"
        )


def _deliveries(
    files: list[File], lab_name: str, opened: ExitStack, people: Collection[str]
) -> list[list[File]]:
    """The exports that the files came in, oldest first by name; usually one.

    They are several only if everything that was handed in lies in folders or zips that each are
    an export of a learning platform: no student's own zip can pass for one beside others'.
    """
    if _is_export(files):
        return [files]
    units: dict[str, list[File]] = {}
    for file in files:
        units.setdefault(file.path.parts[0], []).append(file)
    exports: dict[str, list[File]] = {}
    for name in sorted(units, key=_natural):
        inside = _without_common_folder(_unit(units[name], opened, people), lab_name)
        if _is_export(inside):
            exports[name] = inside
        elif any(file.suffix in NOTEBOOKS for file in units[name]):
            return [files]
    if len(exports) < 2:
        return list(exports.values()) or [files]
    return [own for name, own in exports.items() if not _is_of_another_lab(name, own, lab_name)]


def _unit(files: list[File], opened: ExitStack, people: Collection[str]) -> list[File]:
    """The contents of a folder or a zip at the top of a delivery."""
    first = files[0]
    if first.suffix == ".zip" and len(first.path.parts) == 1:
        with suppress(ValueError):
            return files_of_export(first, opened, people)
    return [below(file) for file in files if len(file.path.parts) > 1]


def _is_export(files: list[File]) -> bool:
    return is_gradescope(files) or is_export(files)


def _is_of_another_lab(name: str, files: list[File], lab_name: str) -> bool:
    """Whether one of several exports is another lab's, by its own name or those of most files."""
    others = set(lab_names()) - {lab_name}
    if lab_name in name or any(other in name for other in others):
        return lab_name not in name
    paths = [str(file.path) for file in files if file.suffix in NOTEBOOKS]
    n_others = sum(any(other in path for other in others) for path in paths)
    return n_others > max(1, len(paths) / 2)


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which "export 10" comes after "export 9", and "x (1).zip" after "x.zip"."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name.removesuffix(".zip"))
    return [(int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts]


def _without_common_folder(files: list[File], lab_name: str) -> list[File]:
    """Zips often hold one folder that holds everything: look inside, unless it is a student's."""
    while len({file.path.parts[0] for file in files}) == 1:
        top = files[0].path.parts[0]
        if _is_export(files) or INBOUND.fullmatch(top) or classroom(top):
            break
        inside = [below(file) for file in files if len(file.path.parts) > 1]
        if len(inside) < len(files) or not (_is_export(inside) or _is_class(inside, lab_name)):
            break
        files = inside
    return files


def _is_class(files: list[File], lab_name: str) -> bool:
    """Whether several students' work lies here, rather than one student's."""
    firsts, labs = {file.path.parts[0] for file in files}, lab_names()
    if any(first in (lab_name, *labs) or ATTEMPT.fullmatch(first) for first in firsts):
        return False
    loose = {file for file in files if len(file.path.parts) == 1 and file.suffix in NOTEBOOKS}
    if not loose or any(lab_name in file.path.parts[1:2] for file in files):
        return True
    handed_in = {file.path.parts[0] for file in files if file.suffix in (".ipynb", ".zip")}
    named = any(file.path.stem == lab_name for file in loose)
    return len(handed_in or loose) > 1 and not named
