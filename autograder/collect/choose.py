"""Which file of a parcel is the notebook, and what else its cells may open.

A file called after the lab wins over others, one that lies higher over one that lies deeper, a
notebook over a zip and a zip over a script. "lab.ipynb", "lab-1.ipynb" and "lab (2).ipynb" are
attempts, as Canvas and browsers number them. Anything else that could be either of two files is a
problem for a person, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from autograder.collect.files import ZIP_ERRORS, File, files_of_student, shown_name
from autograder.collect.layouts import ATTEMPT, of_lab
from autograder.collect.submission import Submission
from autograder.read import MAX_BYTES

NUMBERED = re.compile(
    r"(?P<stem>.+?)(?:-(?P<dash>[0-9]{1,2})| ?\((?P<bracket>[0-9]{1,2})\)|"
    + ATTEMPT.pattern
    + r")?",
    re.IGNORECASE | re.DOTALL,
)
MAX_ATTEMPTS = 20
MAX_ATTEMPTS_BYTES = 100 << 20
MAX_DEPTH = 3
MAX_ZIPS = 10
MAX_EXTRA_BYTES = 8 << 20
MAX_EXTRA_FILES = 100


class _Undecided(ValueError):
    """No file of a parcel is the notebook; the message says why."""


class _Nothing(_Undecided):
    """There is no file that could be it."""


@dataclass(frozen=True)
class _Choice:
    """A notebook, the files that lie beside it, and the zip that it came in, "" if in none."""

    file: File
    beside: list[File]
    packed: str = ""


@dataclass
class _Wanted:
    """What is looked for in one parcel, in as many zips as one person may hand in."""

    lab_name: str
    suffix: str
    opened: ExitStack
    n_zips_left: int = MAX_ZIPS

    def files_of(self, packed: File) -> list[File]:
        if self.n_zips_left == 0:
            raise ValueError(f"more than {MAX_ZIPS} zips were handed in")
        self.n_zips_left -= 1
        return files_of_student(packed, self.opened)


def attempts_in(files: tuple[File, ...], lab_name: str) -> list[tuple[int, Submission]]:
    """The attempts among the files of a parcel, in order, each with the LMS's number of its file.

    They are not yet anybody's: the student's name is empty.
    """
    with ExitStack() as opened:
        try:
            choices = _notebooks_or_scripts(files, lab_name, opened)
        except _Undecided as reason:
            is_late = any(file.is_late for file in files)
            return [(0, Submission("", "", problem=str(reason), marked_late=is_late))]
        return [(choice.file.serial, _submission(choice)) for choice in choices]


def _notebooks_or_scripts(files: Sequence[File], lab_name: str, opened: ExitStack) -> list[_Choice]:
    for suffix in (".ipynb", ".py"):
        with suppress(_Nothing):
            choices = _choices(files, _Wanted(lab_name, suffix, opened), MAX_DEPTH)
            n_bytes = sum(choice.file.size for choice in choices)
            if len(choices) > MAX_ATTEMPTS or n_bytes > MAX_ATTEMPTS_BYTES:
                raise _Undecided(
                    f"{len(choices)} notebooks with {n_bytes >> 20} MB were handed in at once: ask "
                    "for the one that counts"
                )
            return choices
    names = ", ".join(sorted(shown_name(file.shown) for file in files)[:5])
    problems = [file.problem for file in files if file.problem]
    if problems:
        raise _Undecided(f"{names}: {problems[0]}")
    raise _Undecided("no .ipynb or .py file was handed in" + (f", only {names}" if names else ""))


def _choices(files: Sequence[File], wanted: _Wanted, depth: int) -> list[_Choice]:
    """The attempts among files, or else in the zips among them. Raises _Undecided."""
    candidates = [file for file in files if file.suffix == wanted.suffix]
    if not candidates:
        return _unpacked([file for file in files if file.suffix == ".zip"], wanted, depth)
    chosen = _in_order(_best_named(candidates, wanted.lab_name), wanted.lab_name)
    return [_Choice(file, _beside(file, files)) for file in chosen]


def _unpacked(packed: list[File], wanted: _Wanted, depth: int) -> list[_Choice]:
    """What is wanted from zips, as attempts if there are several zips that hold it."""
    found: dict[File, list[_Choice]] = {}
    reasons: list[str] = []
    for file in packed:
        try:
            if depth == 0:
                raise ValueError(f"zips lie in zips, more than {MAX_DEPTH} deep")
            inside = of_lab(wanted.files_of(file), wanted.lab_name)
            found[file] = _choices(inside, wanted, depth - 1)
        except _Nothing:
            continue
        except ValueError as error:
            reasons.append(f"{shown_name(file.shown)}: {error}")
    if not found:
        raise _Undecided("; ".join(reasons)) if reasons else _Nothing
    return [
        _from_zip(choice, file)
        for file in _in_order(_best_named(list(found), wanted.lab_name), wanted.lab_name)
        for choice in found[file]
    ]


def _from_zip(choice: _Choice, packed: File) -> _Choice:
    file = replace(choice.file, serial=packed.serial, is_late=packed.is_late)
    return _Choice(file, choice.beside, shown_name(packed.shown))


def _best_named(candidates: list[File], lab_name: str) -> list[File]:
    """Those that are called after the lab, the ones that lie highest; if there are none, all."""
    latest = list({(file.path, file.serial): file for file in candidates}.values())
    exact = [file for file in latest if _numbered(file, lab_name)[0] == lab_name]
    named = [file for file in latest if lab_name in file.path.stem.casefold()]
    if not exact and not named:
        return latest
    depth = min(len(file.path.parts) for file in exact or named)
    return [file for file in exact or named if len(file.path.parts) == depth]


def _in_order(files: list[File], lab_name: str) -> list[File]:
    """Files that are attempts, in order. Raises _Undecided if they cannot be told apart so."""
    numbered = {file: _numbered(file, lab_name) for file in files}
    order = {(file.serial, number): file for file, (_, number) in numbered.items()}
    same_stem = len({stem for stem, _ in numbered.values()}) == 1
    if not same_stem or len(order) < len(files):
        names = ", ".join(sorted(shown_name(file.shown) for file in files)[:5])
        raise _Undecided(f"several notebooks and none called {lab_name}.ipynb: {names}")
    return [order[key] for key in sorted(order)]


def _numbered(file: File, lab_name: str) -> tuple[str, int]:
    """The stem of a file without the number of its attempt, in lower case, and that number."""
    stem = file.path.stem.casefold()
    match = NUMBERED.fullmatch(stem)
    if stem == lab_name or match is None:
        return stem, 0
    return match["stem"], int(match["dash"] or match["bracket"] or match["number"] or 0)


def _submission(choice: _Choice) -> Submission:
    file = choice.file
    packed = f"{choice.packed}: " if choice.packed else ""
    bare = Submission("", packed + shown_name(file.shown), marked_late=file.is_late)
    if file.problem or file.size > MAX_BYTES:
        return replace(bare, problem=file.problem or f"the file is over {MAX_BYTES >> 20} MB")
    try:
        content = file.read()
    except ZIP_ERRORS as error:
        return replace(bare, problem=f"the file cannot be read: {error}")
    return replace(bare, content=content, extra=_extra_files(choice.beside))


def _beside(chosen: File, files: Sequence[File]) -> list[File]:
    """The files that lie beside the notebook and are none themselves."""
    return [
        file
        for file in files
        if file.path.parent == chosen.path.parent and file.path != chosen.path
        if file.suffix != ".ipynb"
    ]


def _extra_files(beside: list[File]) -> dict[str, bytes]:
    """Small regular files, which the notebook's cells may open."""
    extra, room = {}, MAX_EXTRA_BYTES
    for file in beside[:MAX_EXTRA_FILES]:
        if not file.problem and file.size <= room:
            with suppress(*ZIP_ERRORS):
                extra[shown_name(file.path.name)] = file.read(room)
                room -= file.size
    return extra
