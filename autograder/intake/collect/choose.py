"""Which file of a parcel is the notebook, and what else its cells may open.

A file called after the lab wins over others, one that lies higher over one that lies deeper, a
notebook over a zip and a zip over a script. "lab.ipynb", "lab-1.ipynb" and "lab (2).ipynb" are
attempts where the TA numbers them, not where one student hands them in at once, as Canvas's are.
Anything else that could be either of two files is a problem for a person, never a guess.
"""

import re
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from autograder.intake.collect.files import ZIP_ERRORS, File, files_of_student, shown_name
from autograder.intake.collect.layouts import ATTEMPT, of_lab
from autograder.intake.collect.parcel import Parcel
from autograder.intake.collect.submission import Submission
from autograder.intake.pictures import DRAWN, SHOWN
from autograder.intake.read import MAX_BYTES, too_large

NUMBERED = re.compile(
    r"(?P<stem>.+?)(?:-(?P<dash>[0-9]{1,2})| ?\((?P<bracket>[0-9]{1,2})\)|"
    + ATTEMPT.pattern
    + r")?",
    re.IGNORECASE | re.DOTALL,
)
RENAMED = re.compile(r"-[0-9]{1,3}(\.[^.]+)\Z")  # by Canvas, as it is handed in once more
SEVERAL = "several notebooks"
MAX_ATTEMPTS = 20
MAX_ATTEMPTS_BYTES = 100 << 20
MAX_DEPTH = 3
MAX_ZIPS = 10
MAX_EXTRA_BYTES = 8 << 20
MAX_EXTRA_FILES = 100
MAX_PASSED_OVER = 5


class _Undecided(ValueError):
    """No file of a parcel is the notebook; the message says why."""


class _Nothing(_Undecided):
    """There is no file that could be it."""


@dataclass(frozen=True)
class _Choice:
    """A notebook, the files that lie beside it, and the zip that it came in, "" if in none.

    passed_over: the names of the other notebooks.
    """

    file: File
    beside: list[File]
    passed_over: tuple[str, ...]
    packed: str = ""


@dataclass
class _Wanted:
    """What is looked for in one parcel, in as many zips as one person may hand in."""

    lab_name: str
    suffix: str
    opened: ExitStack
    is_numbered: bool
    n_zips_left: int = MAX_ZIPS

    def files_of(self, packed: File) -> list[File]:
        if self.n_zips_left == 0:
            raise ValueError(f"more than {MAX_ZIPS} zips were handed in")
        self.n_zips_left -= 1
        return files_of_student(packed, self.opened)


def attempts_in(parcel: Parcel, lab_name: str) -> list[tuple[int, Submission]]:
    """The attempts among the files of a parcel, in order, each with the LMS's number of its file.

    They are not yet anybody's: the student's name is empty.
    """
    with ExitStack() as opened:
        try:
            choices = _notebooks_or_scripts(parcel, lab_name, opened)
        except _Undecided as reason:
            told = [file.is_late for file in parcel.files if file.is_late is not None]
            is_late = any(told) if told else None
            serial = max((file.serial for file in parcel.files), default=0)
            return [(serial, Submission("", "", problem=str(reason), marked_late=is_late))]
        return [(choice.file.serial, _submission(choice)) for choice in choices]


def _notebooks_or_scripts(parcel: Parcel, lab_name: str, opened: ExitStack) -> list[_Choice]:
    files = parcel.files
    for suffix in (".ipynb", ".py"):
        with suppress(_Nothing):
            choices = _choices(files, _Wanted(lab_name, suffix, opened, parcel.is_numbered), 0)
            n_bytes = sum(choice.file.size for choice in choices)
            if len(choices) > MAX_ATTEMPTS or n_bytes > MAX_ATTEMPTS_BYTES:
                raise _Undecided(
                    f"{len(choices)} notebooks with {n_bytes >> 20} MB were handed in at once: "
                    "hand in only the one that counts"
                )
            return choices
    names = ", ".join(sorted(shown_name(file.shown) for file in files)[:5])
    problems = [file.problem for file in files if file.problem]
    if problems:
        raise _Undecided(f"{names}: {problems[0]}")
    raise _Undecided("no .ipynb or .py file was handed in" + (f", only {names}" if names else ""))


def _choices(files: Sequence[File], wanted: _Wanted, depth: int) -> list[_Choice]:
    """The attempts among files that lie in `depth` zips, or else in the zips among them.

    Raises: _Undecided.
    """
    candidates = [file for file in files if file.suffix == wanted.suffix]
    if not candidates:
        return _unpacked([file for file in files if file.suffix == ".zip"], wanted, depth)
    chosen = _attempts(candidates, wanted, depth)
    others = {shown_name(file.path.name) for file in candidates if file not in chosen}
    return [_Choice(file, _beside(file, files), tuple(sorted(others))) for file in chosen]


def _unpacked(packed: list[File], wanted: _Wanted, depth: int) -> list[_Choice]:
    """What is wanted from zips, as attempts if there are several zips that hold it."""
    found: dict[File, list[_Choice]] = {}
    reasons: list[str] = []
    for file in packed:
        try:
            if depth == MAX_DEPTH:
                raise ValueError(f"zips lie in zips, more than {MAX_DEPTH} deep")
            inside = of_lab(wanted.files_of(file), wanted.lab_name)
            found[file] = _choices(inside, wanted, depth + 1)
        except _Nothing:
            continue
        except ValueError as error:
            reasons.append(f"{shown_name(file.shown)}: {error}")
    if not found:
        raise _Undecided("; ".join(reasons)) if reasons else _Nothing
    return [
        _from_zip(choice, file)
        for file in _attempts(list(found), wanted, depth)
        for choice in found[file]
    ]


def _from_zip(choice: _Choice, packed: File) -> _Choice:
    file = replace(choice.file, serial=packed.serial, is_late=packed.is_late)
    return replace(choice, file=file, packed=shown_name(packed.shown))


def _attempts(candidates: list[File], wanted: _Wanted, depth: int) -> list[File]:
    """The files that count, in order. Raises _Undecided if that takes a guess."""
    is_numbered = wanted.is_numbered and depth == 0
    latest = {(file.path, file.shown, file.serial): file for file in candidates}.values()
    stems = {file: _stem_and_number(file, wanted.lab_name, is_numbered) for file in latest}
    best = _best_named(stems, wanted.lab_name)
    order = {(file.serial, stems[file][1]): file for file in best}
    same_stem = len({stems[file][0] for file in best}) == 1
    if len(best) > 1 and not (is_numbered and same_stem and len(order) == len(best)):
        names = ", ".join(sorted(shown_name(file.shown) for file in best)[:5])
        called = "" if stems[best[0]][0] == wanted.lab_name else "and none "
        raise _Undecided(f"{SEVERAL} {called}called {wanted.lab_name}.ipynb: {names}")
    return [order[key] for key in sorted(order)]


def _best_named(stems: dict[File, tuple[str, int]], lab_name: str) -> list[File]:
    """Those that are called after the lab, the ones that lie highest; if there are none, all."""
    exact = [file for file, (stem, _) in stems.items() if stem == lab_name]
    named = exact or [file for file, (stem, _) in stems.items() if lab_name in stem]
    depth = min((len(file.path.parts) for file in named), default=0)
    return [file for file in named if len(file.path.parts) == depth] or list(stems)


def _stem_and_number(file: File, lab_name: str, is_numbered: bool) -> tuple[str, int]:
    """The stem of a file's name in lower case, without the number of its attempt, and that."""
    stem = file.path.stem.casefold()
    match = NUMBERED.fullmatch(stem) if is_numbered and stem != lab_name else None
    if match is None:
        return stem, 0
    return match["stem"], int(match["dash"] or match["bracket"] or match["number"] or 0)


def _submission(choice: _Choice) -> Submission:
    file = choice.file
    packed = f"{choice.packed}: " if choice.packed else ""
    bare = Submission("", packed + shown_name(file.shown), marked_late=file.is_late)
    if file.problem or file.size > MAX_BYTES:
        return replace(bare, problem=file.problem or too_large(file.size))
    try:
        content = file.read()
    except ZIP_ERRORS as error:
        return replace(bare, problem=f"the file cannot be read: {error}")
    extra, left_out = _extra_files(choice.beside)
    passed_over = choice.passed_over[:MAX_PASSED_OVER]
    return replace(bare, content=content, extra=extra, left_out=left_out, passed_over=passed_over)


def _beside(chosen: File, files: Sequence[File]) -> list[File]:
    """The files that lie beside the notebook and are none themselves, then pictures elsewhere."""
    others = [file for file in files if file.path != chosen.path and file.suffix != ".ipynb"]
    beside = [file for file in others if file.path.parent == chosen.path.parent]
    pictures = [file for file in others if file.suffix in SHOWN + DRAWN and file not in beside]
    return sorted(beside, key=lambda file: -file.serial) + pictures


def _extra_files(beside: list[File]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Small regular files, which the notebook's cells may open; and the names of all others.

    A file whose name Canvas has changed, such as mem-1.py, has the name that it was handed in with,
    unless another file has it. What can be no module keeps the changed name, too.
    """
    extra: dict[str, bytes] = {}
    left_out, room = [], MAX_EXTRA_BYTES
    known = {file.path.name for file in beside}
    for i, file in enumerate(beside):
        name, before = file.path.name, RENAMED.sub(r"\1", file.path.name)
        content = None
        if i < MAX_EXTRA_FILES and not file.problem and file.size <= room:
            with suppress(*ZIP_ERRORS):
                content = file.read(room)
                room -= file.size
        if content is None:
            left_out.append(shown_name(name))
            continue
        if file.serial and before not in known:
            known.add(before)
            extra[shown_name(before)] = content
            if file.suffix == ".py":
                continue
        key = shown_name(name)
        extra[shown_name(str(file.path)) if key in extra else key] = content
    return extra, tuple(left_out[:MAX_PASSED_OVER])
