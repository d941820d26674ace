"""Finding the submissions of a lab in whatever a TA points at.

Understood: nbgrader's layout (STUDENT/LAB/file.ipynb), one folder per student, a flat folder with
one file per student (names as Canvas writes them, too), or a zip of either. Links, devices and
pipes are not followed. Every student found gives exactly one `Submission`, readable or not.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from autograder.read import MAX_BYTES, clean_text

SUFFIXES = (".ipynb", ".py")
MAX_EXTRA_BYTES = 8 << 20
MAX_NAME_BYTES = 100
MAX_ENTRIES = 200_000
MAX_ZIP_BYTES = 4 << 30
CANVAS_NAME = re.compile(r"(?P<student>[^_]+)(?:_LATE)?_\d+_\d+_.*", re.IGNORECASE)


class NoSubmissions(ValueError):
    """There is nothing to grade where the TA pointed."""


@dataclass(frozen=True)
class Submission:
    """What one student handed in for a lab, once.

    problem: why there is no content, in a sentence; extra: the other files beside the notebook;
    submitted_at: ISO 8601, "" if unknown; group: whom it was handed in for, "" if for one.
    """

    student: str
    file_name: str
    content: bytes = b""
    problem: str = ""
    extra: dict[str, bytes] = field(default_factory=dict)
    attempt: int = 1
    submitted_at: str = ""
    group: str = ""


@dataclass(frozen=True)
class _File:
    """A file in a folder or zip: where a TA sees it, and how to get at it."""

    path: PurePosixPath
    member: str
    size: int
    problem: str
    source: Path | zipfile.ZipFile

    def read(self) -> bytes:
        if isinstance(self.source, zipfile.ZipFile):
            with self.source.open(self.member) as member:
                return member.read(MAX_BYTES + 1)
        descriptor = os.open(self.source / self.member, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MAX_BYTES + 1)


def collect(place: Path, lab_name: str) -> list[Submission]:
    """The submissions of `lab_name` below a folder or in a zip, by student.

    Raises: NoSubmissions if the place does not exist or holds none.
    """
    if not place.exists():
        raise NoSubmissions(f"{place} does not exist: give a folder or a zip of submissions")
    if zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            found = _by_student(list(_files_in_zip(archive)), lab_name)
    elif place.is_dir():
        found = _by_student(list(_files_in_folder(place)), lab_name)
    else:
        raise NoSubmissions(f"{place} is neither a folder nor a zip")
    if not found:
        raise NoSubmissions(
            f"{place} holds no submission of {lab_name}: expected STUDENT/{lab_name}/*.ipynb, "
            "STUDENT/*.ipynb or one .ipynb or .py file per student"
        )
    return found


def _files_in_folder(folder: Path) -> Iterator[_File]:
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if name != ".ipynb_checkpoints")
        for name in sorted(names):
            path = Path(root, name)
            status = path.lstat()
            regular = stat.S_ISREG(status.st_mode)
            problem = "" if regular else "the submission is a link or a device, not a file"
            relative = PurePosixPath(path.relative_to(folder).as_posix())
            yield _File(relative, str(relative), status.st_size, problem, folder)


def _files_in_zip(archive: zipfile.ZipFile) -> Iterator[_File]:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_ZIP_BYTES:
        raise NoSubmissions(
            f"the zip unpacks to more than {MAX_ENTRIES:,} files or {MAX_ZIP_BYTES >> 30} GB"
        )
    for entry in entries:
        path = PurePosixPath(entry.filename)
        unsafe = path.is_absolute() or ".." in path.parts
        if unsafe or "__MACOSX" in path.parts or ".ipynb_checkpoints" in path.parts:
            continue
        yield _File(path, entry.filename, entry.file_size, "", archive)


def _by_student(files: list[_File], lab_name: str) -> list[Submission]:
    files = _without_common_folder(files, lab_name)
    if any(len(file.path.parts) > 1 for file in files):
        nested = [file for file in files if len(file.path.parts) > 1]
        groups: dict[str, list[_File]] = {}
        for file in nested:
            groups.setdefault(file.path.parts[0], []).append(file)
        pairs = [(student, _of_lab(group, lab_name)) for student, group in groups.items()]
        loose = [file for file in files if len(file.path.parts) == 1]
    else:
        pairs, loose = [], files
    for file in loose:
        if file.path.suffix.lower() in SUFFIXES:
            pairs.append((student_in(file.path.stem, lab_name), [file]))
    submissions = [
        _submission(safe_name(student), group, lab_name) for student, group in pairs if group
    ]
    return sorted(_distinct(submissions), key=lambda submission: submission.student)


def _without_common_folder(files: list[_File], lab_name: str) -> list[_File]:
    """Zips often hold one folder that holds everything: look inside, unless it is a student's."""
    tops = {file.path.parts[0] for file in files}
    inside = [PurePosixPath(*file.path.parts[1:]) for file in files]
    is_wrapper = (
        len(tops) == 1
        and all(path.parts for path in inside)
        and not any(path.parts[0] == lab_name for path in inside)
        and (
            all(len(path.parts) > 1 for path in inside)
            or sum(path.suffix.lower() in SUFFIXES for path in inside) > 1
        )
    )
    if not is_wrapper:
        return files
    return [replace(file, path=path) for file, path in zip(files, inside, strict=True)]


def _of_lab(group: list[_File], lab_name: str) -> list[_File]:
    """A student's files for this lab: those in its folder, or all if no lab has a folder."""
    in_folder = [file for file in group if lab_name in file.path.parts[1:-1]]
    direct = [file for file in group if len(file.path.parts) == 2]
    return in_folder or direct


def _submission(student: str, group: list[_File], lab_name: str) -> Submission:
    candidates = [file for file in group if file.path.suffix.lower() == ".ipynb"]
    candidates = candidates or [file for file in group if file.path.suffix.lower() == ".py"]
    named = [file for file in candidates if file.path.stem == lab_name]
    chosen = named[0] if named else candidates[0] if candidates else None
    if chosen is None:
        return Submission(student, "", problem="no .ipynb or .py file was handed in")
    if not named and len(candidates) > 1:
        names = ", ".join(sorted(_file_name(file.path) for file in candidates)[:5])
        return Submission(
            student, "", problem=f"several notebooks and none called {lab_name}.ipynb: {names}"
        )
    if chosen.problem or chosen.size > MAX_BYTES:
        reason = chosen.problem or f"the file is over {MAX_BYTES >> 20} MB"
        return Submission(student, _file_name(chosen.path), problem=reason)
    try:
        content = chosen.read()
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:
        return Submission(
            student, _file_name(chosen.path), problem=f"the file cannot be read: {error}"
        )
    extra = _extra_files(group, chosen)
    return Submission(student, _file_name(chosen.path), content, extra=extra)


def _extra_files(group: list[_File], chosen: _File) -> dict[str, bytes]:
    """Small regular files beside the notebook, which its cells may open."""
    extra, room = {}, MAX_EXTRA_BYTES
    for file in group:
        beside = file.path.parent == chosen.path.parent and file.path.suffix != ".ipynb"
        if file is not chosen and beside and not file.problem and file.size <= room:
            try:
                extra[_file_name(file.path)] = file.read()
            except (OSError, RuntimeError, zipfile.BadZipFile):
                continue
            room -= file.size
    return extra


def safe_name(name: str) -> str:
    """A name that every file system, database and page takes: clean text of bounded length."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in clean_text(name))
    if len(clean.encode()) <= MAX_NAME_BYTES:
        return clean
    digest = hashlib.sha256(clean.encode()).hexdigest()[:8]
    return clean.encode()[: MAX_NAME_BYTES - 9].decode("utf-8", "ignore") + "-" + digest


def _file_name(path: PurePosixPath) -> str:
    return safe_name(path.stem) + safe_name(path.suffix)


def student_in(stem: str, lab_name: str) -> str:
    """The student in a file name: "alice", "04_kv_cache_alice", or Canvas's "alice_12_34_x"."""
    canvas = CANVAS_NAME.fullmatch(stem)
    if canvas:
        return canvas["student"]
    without_lab = re.sub(rf"[_\-. ]*{re.escape(lab_name)}[_\-. ]*", "", stem)
    return without_lab or stem


def _distinct(submissions: list[Submission]) -> Iterator[Submission]:
    """One submission per student; a second one under the same name is a problem to be seen."""
    by_student: dict[str, Submission] = {}
    for submission in submissions:
        name = submission.student
        if name in by_student:
            names = f"{by_student[name].file_name} and {submission.file_name}"
            by_student[name] = Submission(name, "", problem=f"two files for one student: {names}")
        else:
            by_student[name] = submission
    yield from by_student.values()
