"""The exports of Blackboard and Brightspace, and the folders of GitHub Classroom.

Blackboard: LAB_USER_attempt_2026-10-14-22-03-11_FILE, and beside the files of each attempt a text
LAB_USER_attempt_2026-10-14-22-03-11.txt, whose first line ends in the user's name in brackets.
Brightspace: a folder ID-ID - NAME - DATE for each attempt. One of the numbers is the person's, the
other is the same for all. The times of both are those of the course.
GitHub Classroom: a folder LAB-HANDLE for each repository, with LAB as in its web address.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath

from autograder.course.times import iso_time
from autograder.intake.collect.files import ZIP_ERRORS, File
from autograder.intake.collect.parcel import Parcel, below
from autograder.places import lab_names

BLACKBOARD_SYSTEM, BRIGHTSPACE_SYSTEM = "blackboard", "brightspace"
BLACKBOARD = re.compile(
    r"(?P<who>.+?)_attempt_(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})-(?P<clock>[0-9]{2}-[0-9]{2}-[0-9]{2})"
    r"(?:_(?P<rest>.+)|\.txt)",
    re.DOTALL,
)
BRIGHTSPACE = re.compile(
    r"(?P<first>[0-9]+)-(?P<second>[0-9]+) - (?P<name>.+?) - (?P<day>[^-]{8,40} )"
    r"(?P<hour>[0-9]{1,2}):?(?P<minute>[0-9]{2})(?P<half> ?[AP]M)?(?: - (?P<rest>.+))?",
    re.DOTALL,
)
IN_BRACKETS = re.compile(r".*\((?P<user>[^()]+)\)\s*")
MAX_TEXT_BYTES = 4096


@dataclass(frozen=True)
class Repository:
    """Whose repository of which lab a folder of GitHub Classroom is."""

    lab: str
    handle: str


def classroom(folder: str) -> Repository | None:
    """The parcel in a folder called LAB-HANDLE; None for another folder."""
    for lab in lab_names():
        if match := _repository(lab).fullmatch(folder):
            return Repository(lab, match["handle"])
    return None


@cache
def _repository(lab: str) -> re.Pattern[str]:
    words = "[-_ .]".join(map(re.escape, re.split("[-_]", lab)))
    handle = r"(?!submissions$)(?P<handle>[a-z0-9](?:[a-z0-9-]{0,38}))"
    return re.compile(rf"{words}[-_]{handle}", re.IGNORECASE)


def is_of_platform(file: File) -> bool:
    """Whether a file lies as one of an export of Blackboard or Brightspace does."""
    return bool(_blackboard(file)) or is_brightspaces(file)


def is_brightspaces(file: File) -> bool:
    """Whether it lies as one of Brightspace does, whose names begin with two numbers."""
    return bool(_brightspace(file))


def platform_parcels(files: list[File], lab_name: str) -> list[Parcel]:
    """One parcel for each file of these exports; those of one attempt have the same time."""
    return [*_of_blackboard(files, lab_name), *_of_brightspace(files)]


def _blackboard(file: File) -> re.Match[str] | None:
    if len(file.path.parts) > 1 or _brightspace(file):
        return None
    return BLACKBOARD.fullmatch(file.path.name)


def _brightspace(file: File) -> re.Match[str] | None:
    match = BRIGHTSPACE.fullmatch(file.path.parts[0])
    is_file = len(file.path.parts) == 1
    return match if match and bool(match["rest"]) == is_file and _brightspace_time(match) else None


def _brightspace_time(match: re.Match[str]) -> str:
    return iso_time(f"{match['day']}{match['hour']}:{match['minute']}{match['half'] or ''}")


def _of_blackboard(files: list[File], lab_name: str) -> Iterator[Parcel]:
    found = [(file, match) for file in files if (match := _blackboard(file))]
    users = {match["who"]: _user_in(file) for file, match in found if not match["rest"]}
    for file, match in found:
        who = match["who"]
        user = users.get(who, "")
        if not who.endswith(f"_{user}") or not user:
            title = re.match(rf"{re.escape(lab_name)}[_ -]", who, re.IGNORECASE)
            user = who[title.end() :] if title else who.rpartition("_")[2]
        # a text of Blackboard's own lies apart: it is no file that the notebook could open
        inside = PurePosixPath(match["rest"] or f"blackboard/{file.path.name}")
        yield Parcel(
            user or who,
            (replace(file, path=inside),),
            BLACKBOARD_SYSTEM,
            number=who,  # users of one lab differ in it, whatever their names hold
            submitted_at=iso_time(f"{match['day']} {match['clock'].replace('-', ':')}"),
        )


def _user_in(text: File) -> str:
    """The user's name in the first line of Blackboard's text; "" if there is none."""
    with suppress(*ZIP_ERRORS):
        if not text.problem:
            first = text.read(MAX_TEXT_BYTES).decode("utf-8-sig", "replace").partition("\n")[0]
            match = IN_BRACKETS.fullmatch(first)
            return match["user"].strip() if match else ""
    return ""


def _of_brightspace(files: list[File]) -> Iterator[Parcel]:
    found = [(file, match) for file in files if (match := _brightspace(file))]
    numbers = {(match["first"], match["second"]) for _, match in found}
    are_seconds = len(numbers) > 1 and len({first for first, _ in numbers}) == 1
    for file, match in found:
        inside = replace(file, path=PurePosixPath(match["rest"])) if match["rest"] else below(file)
        yield Parcel(
            match["name"],
            (inside,),
            BRIGHTSPACE_SYSTEM,
            number=match["second" if are_seconds else "first"],
            submitted_at=_brightspace_time(match),
        )


def without_title(parcels: list[Parcel], handles: Iterable[str]) -> list[Parcel]:
    """Folders of GitHub Classroom whose assignment is not called as the lab is: by their handles.

    The title is what stands before the most handles of the roster, if there are two or more.
    """
    known = {f"-{handle.casefold()}" for handle in handles if handle}
    titles: Counter[str] = Counter()
    for parcel in parcels:
        folder = parcel.label.casefold()
        cuts = [at for at, letter in enumerate(folder) if letter == "-" and folder[at:] in known]
        titles.update({folder[:at] for at in cuts if not parcel.system})
    ((title, n),) = titles.most_common(1) or [("", 0)]
    if n < 2:
        return parcels
    return [
        replace(parcel, label=parcel.label[len(title) + 1 :])
        if not parcel.system and parcel.label.casefold().startswith(f"{title}-")
        else parcel
        for parcel in parcels
    ]
