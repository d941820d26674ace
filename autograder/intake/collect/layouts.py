"""Who handed in which file: the layouts of platforms and of nbgrader, folders, flat files.

A `Parcel` is what one person, or one group, handed in at one place of one delivery. For lab
04_kv_cache (a test reads this table):

    path in the delivery                                  system  label    number  attempt
    ann/04_kv_cache/04_kv_cache.ipynb                     -       ann      -       0
    ann/homework.ipynb                                    -       ann      -       0
    ann/attempt_2/homework.ipynb                          -       ann      -       2
    ann+04_kv_cache+2026-10-15 12:00:00 UTC/x.ipynb       -       ann      -       0
    04_kv_cache_ann.ipynb                                 -       ann      -       0
    ann_attempt2.ipynb                                    -       ann      -       2
    chenann_123_456_homework.ipynb                        canvas  chenann  123     0
    chenann_LATE_123_456_04_kv_cache-1.ipynb              canvas  chenann  123     0
    Ann Chen_123_assignsubmission_file/homework.ipynb     moodle  Ann Chen  123    0
    Ann Chen_123_assignsubmission_file_homework.ipynb     moodle  Ann Chen  123    0
    04_kv_cache_ann_attempt_2026-10-14-22-03-11_x.ipynb   blackboard  ann  04_kv_cache_ann  0
    Lab 4_ann_attempt_2026-10-14-22-03-11_x.ipynb         blackboard  ann  Lab 4_ann  0
    7-99 - Ann Chen - Oct 14, 2026 1003 PM/x.ipynb        brightspace  Ann Chen  7  0
    7-99 - Ann Chen - Oct 14, 2026 1003 PM - x.ipynb      brightspace  Ann Chen  7  0
    04-kv-cache-ann-chen/homework.ipynb                   -       ann-chen  -      0
    ann/01_memory/homework.ipynb                          nobody's: it is of another lab
    01-memory-ann-chen/homework.ipynb                     nobody's: it is of another lab

Folders called submission_123 are Gradescope's (see gradescope): its own table says whose they are,
which attempt, and for which group. GitHub Classroom's folders are the last two (see platforms).
`collect` first finds where a delivery begins. What the layouts look like is known from the sources
of Canvas (`content_zipper.rb`), Moodle (`mod/assign/classes/downloader.php`) and nbgrader (its
exchange), and from programs that people wrote for the exports of Blackboard and Brightspace.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath

from autograder.course.times import iso_time
from autograder.intake.collect.files import ZIP_ERRORS, File
from autograder.intake.collect.parcel import Parcel, below
from autograder.intake.collect.platforms import (
    classroom,
    is_brightspaces,
    is_of_platform,
    platform_parcels,
)
from autograder.places import lab_names

NOTEBOOKS = (".ipynb", ".py", ".zip")
ARCHIVES = (".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz")  # reported, not opened
CANVAS = re.compile(
    r"(?:(?P<name>.+?)_(?P<late>LATE_)?(?P<id>[0-9]+)|(?P<anon_late>LATE_)?(?P<anon>anon_[^_]+))"
    r"(?:_(?P<serial>[0-9]+)_(?P<rest>.+)|_(?P<typed>(?:text|link)\.html))",
    re.DOTALL,
)
MOODLE = re.compile(
    r"(?P<name>[^_]+)(?:_(?P<id>[0-9]+))?_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<rest>.*))?",
    re.DOTALL,
)
INBOUND = re.compile(r"(?P<student>[^+]+)\+(?P<lab>[^+]+)\+(?P<time>[^+]+?)(?:\+[\w-]+)?")
ATTEMPT = re.compile(  # not the first digits of a day, as in attempt_2026-10-14
    r"[ _.-]?attempt[ _.-]?(?P<number>[0-9]{1,3})(?![0-9]|[-_./][0-9]{2})", re.IGNORECASE
)
CANVAS_SYSTEM, MOODLE_SYSTEM, GRADESCOPE_SYSTEM = "canvas", "moodle", "gradescope"


def is_export(files: list[File]) -> bool:
    """Whether these are the files of a learning platform's own export, by their names alone."""
    handed_in = [file for file in files if file.suffix in NOTEBOOKS]
    return bool(handed_in) and all(
        MOODLE.fullmatch(file.path.parts[0]) or is_of_platform(file) or _is_canvas(file)
        for file in handed_in
    )


def parcels_in(files: list[File], lab_name: str) -> list[Parcel]:
    """The parcels of one delivery, those of one person on an LMS put together."""
    folders: dict[str, list[File]] = {}
    theirs, others = _by_platform(files)
    parcels: list[Parcel] = platform_parcels(theirs, lab_name)
    for file in others:
        if len(file.path.parts) > 1:
            folders.setdefault(file.path.parts[0], []).append(file)
        elif parcel := _loose(file, lab_name):
            parcels.append(parcel)
    for name, group in folders.items():
        parcels += _in_folder(name, [below(file) for file in group], lab_name)
    return list(_put_together(parcels))


def _by_platform(files: list[File]) -> tuple[list[File], list[File]]:
    """The files of Blackboard and Brightspace, and the others.

    On other platforms a student's own name for a file may look like one of theirs.
    """
    on_canvas = any(_is_canvas(file) and not is_of_platform(file) for file in files)
    theirs: list[File] = []
    others: list[File] = []
    for file in files:
        is_other = MOODLE.fullmatch(file.path.parts[0]) or (on_canvas and _is_canvas(file))
        is_theirs = is_brightspaces(file) or (is_of_platform(file) and not is_other)
        (theirs if is_theirs else others).append(file)
    return theirs, others


def _is_canvas(file: File) -> bool:
    return len(file.path.parts) == 1 and bool(CANVAS.fullmatch(file.path.name))


def student_in(stem: str, lab_name: str) -> str:
    """The student in a file name: "alice", "04_kv_cache_alice", or Canvas's "alice_12_34_x"."""
    canvas = CANVAS.fullmatch(stem)
    if canvas:
        return canvas["name"] or canvas["anon"]
    without_lab = re.sub(rf"[_\-. ]*{re.escape(lab_name)}[_\-. ]*", "", stem)
    return ATTEMPT.sub("", without_lab) or without_lab or stem


def of_lab(files: list[File], lab_name: str) -> list[File]:
    """Those in a folder of this lab, its path cut off, or else those in no other lab's folder."""
    inside = []
    for file in files:
        folders = file.path.parts[:-1]
        if lab_name in folders:
            depth = folders.index(lab_name) + 1
            inside.append(replace(file, path=PurePosixPath(*file.path.parts[depth:])))
    labs = set(lab_names())  # a folder called after another one holds nothing of this one
    return inside or [file for file in files if labs.isdisjoint(file.path.parts[:-1])]


def _loose(file: File, lab_name: str) -> Parcel | None:
    """The parcel of a file outside of folders; none if it belongs to no student."""
    if moodle := MOODLE.fullmatch(file.path.name):
        inside = replace(file, path=PurePosixPath(moodle["rest"] or file.path.name))
        return Parcel(moodle["name"], (inside,), MOODLE_SYSTEM, moodle["id"] or "")
    if canvas := CANVAS.fullmatch(file.path.name):
        number = canvas["id"] or canvas["anon"]
        inside = replace(
            file,
            path=PurePosixPath(_as_handed_in(canvas["rest"] or canvas["typed"], lab_name)),
            serial=int(canvas["serial"] or 0),
            is_late=bool(canvas["late"] or canvas["anon_late"]),
        )
        label = canvas["name"] or number
        return Parcel(label, (inside,), CANVAS_SYSTEM, number)
    if file.suffix not in NOTEBOOKS + ARCHIVES:
        return None
    attempt = ATTEMPT.search(file.path.stem)
    student = student_in(file.path.stem, lab_name)
    return Parcel(student, (file,), attempt=int(attempt["number"]) if attempt else 0)


def _as_handed_in(name: str, lab_name: str) -> str:
    """A file of the lab's name without the -1 that Canvas adds when one is handed in once more."""
    return re.sub(
        rf"({re.escape(lab_name)})-[0-9]{{1,3}}(\.[^.]+)", r"\1\2", name, flags=re.IGNORECASE
    )


def _in_folder(name: str, files: list[File], lab_name: str) -> Iterator[Parcel]:
    if moodle := MOODLE.fullmatch(name):
        yield Parcel(moodle["name"], tuple(files), MOODLE_SYSTEM, moodle["id"] or "")
        return
    if repository := classroom(name):
        if repository.lab == lab_name:
            yield Parcel(repository.handle, tuple(of_lab(files, lab_name)))
        return
    if (inbound := INBOUND.fullmatch(name)) and (time := iso_time(inbound["time"])):
        if inbound["lab"] == lab_name:
            yield Parcel(inbound["student"], tuple(files), submitted_at=time)
        return
    attempts: dict[int, list[File]] = {}
    for file in files:
        match = ATTEMPT.fullmatch(file.path.parts[0]) if len(file.path.parts) > 1 else None
        attempt = int(match["number"]) if match else 0
        attempts.setdefault(attempt, []).append(below(file) if match else file)
    for attempt, group in attempts.items():
        own = of_lab(group, lab_name)
        if not own or (attempt == 0 and len(attempts) > 1 and not _has_notebook(own)):
            continue
        yield Parcel(
            name,
            tuple(own),
            submitted_at=_nbgrader_time(group, lab_name),
            attempt=attempt,
            is_numbered=not any(lab_name in file.path.parts[:-1] for file in group),
        )


def _nbgrader_time(files: list[File], lab_name: str) -> str:
    """The time in LAB/timestamp.txt, which nbgrader writes when it takes a submission."""
    for file in files:
        if file.path == PurePosixPath(lab_name, "timestamp.txt") and not file.problem:
            try:
                return iso_time(file.read(limit=100).decode("ascii", "replace"))
            except ZIP_ERRORS:
                return ""
    return ""


def _put_together(parcels: list[Parcel]) -> Iterator[Parcel]:
    """On an LMS all files of one person (and of one time, if it gives times) are one parcel.

    There a number has one label; where it has several, as the day in "ann_2026_10_15_lab.ipynb"
    may, it is no number of a person.
    """
    labels: dict[tuple[str, str], set[str]] = {}
    for parcel in parcels:
        labels.setdefault((parcel.system, parcel.number), set()).add(parcel.label)
    together: dict[tuple[str, str, str], list[Parcel]] = {}
    for parcel in parcels:
        if not parcel.system:
            yield parcel
            continue
        if len(labels[parcel.system, parcel.number]) > 1:
            parcel = replace(parcel, number="")
        hand_in = (*parcel.person, parcel.submitted_at)
        together.setdefault(hand_in, []).append(parcel)
    for group in together.values():
        yield replace(group[0], files=tuple(chain.from_iterable(each.files for each in group)))


def _has_notebook(files: list[File]) -> bool:
    return any(file.suffix in NOTEBOOKS for file in files)
