"""Whether the file on disk can be handed in: saved, whole, of this lab, able to start afresh."""

import builtins
import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.bridge.waiting import Waiting
from labkit.checks.card import CARD, mark, with_code
from labkit.checks.names import bound_names, used_names
from labkit.checks.outline import Part, prose_of
from labkit.checks.packages import GIVEN, PYTHON, not_given, too_new
from labkit.checks.written import (
    WRITTEN_STUB,
    Seen,
    WrittenQuestion,
    begins,
    is_unwritten,
    pieces_beside,
)

__all__ = [
    "WRITTEN_STUB",
    "Handin",
    "NotebookFile",
    "SavedCell",
    "find",
    "look_at",
    "read",
    "run_cells",
]

MAX_BYTES = 20 << 20
RESTART_S = 600
SAVE = "Save the notebook (Ctrl-S), then run this cell again."


@dataclass(frozen=True, slots=True)
class SavedCell:
    """A cell on disk. name and kind: the builder's; "" for a cell of the student's own."""

    name: str
    kind: str
    is_code: bool
    source: str

    @property
    def must_run(self) -> bool:
        """Whether the grader needs this cell: set-up, a written part, or the student's own cell."""
        return self.kind in ("given", "exercise", "answer", "")


@dataclass(frozen=True, slots=True)
class NotebookFile:
    """A notebook on disk."""

    path: Path
    size: int
    lab: str
    cells: tuple[SavedCell, ...]

    @property
    def code(self) -> list[SavedCell]:
        return [cell for cell in self.cells if cell.is_code]

    @property
    def by_name(self) -> dict[str, str]:
        return {cell.name: cell.source for cell in self.cells if cell.name}


@dataclass(frozen=True, slots=True)
class Handin:
    """What stands between a file and handing it in: sentences, none if nothing does.

    remarks: what a student may want to know, but need not change.
    """

    path: Path | None
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"✗ {problem}" for problem in self.problems]
        lines += [f"● {remark}" for remark in self.remarks]
        return "\n".join(lines if self.problems else [*lines, f"✓ {self._verdict}"])

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        rows = [("failed", text) for text in self.problems]
        rows += [("read", text) for text in self.remarks]
        rows += [] if self.problems else [("passed", self._verdict)]
        lines = "".join(f"<div>{mark(status)} {with_code(text)}</div>" for status, text in rows)
        return {"text/plain": str(self), "text/html": f'<div style="{CARD}">{lines}</div>'}

    @property
    def _verdict(self) -> str:
        return f"This file can be handed in: {self.path}"


def look_at(
    path: Path | None, lab: str, parts: Sequence[Part], ran: Collection[str], restart: bool = False
) -> Handin:
    """Read the file as the grader will, and say what is missing.

    ran: the code that this session has run, cell by cell. restart: also run all cells but the
    experiments in a fresh process, to see that every name is defined.
    """
    if path is None:
        return Handin(None, (f"No notebook of this lab lies in {Path.cwd()}. {SAVE}",))
    try:
        file = read(path)
    except (OSError, ValueError) as error:
        return Handin(path, (f"{path.name} cannot be read ({error}). {SAVE}",))
    problems = [*_wrong_file(file, lab), *_missing(file, parts), *_not_saved(file, parts, ran)]
    problems += [*_undefined(file, parts), *_without_id(file)]
    if restart and not problems:
        problems += _failing_afresh(file)
    problems += _not_given(file)
    return Handin(path, tuple(problems), tuple(_open_parts(file, parts)))


def find(lab: str, folder: Path) -> Path | None:
    """The notebook we run in, if the front end says so; else the newest of this lab nearby."""
    session = Path(os.environ.get("JPY_SESSION_NAME", ""))
    if session.suffix == ".ipynb" and session.is_file():
        return session
    found = [path for path in folder.glob("*.ipynb") if _lab_of(path) == lab]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def read(path: Path) -> NotebookFile:
    """The cells of a notebook. Raises: OSError, or ValueError for what is no notebook."""
    content = path.read_bytes()
    try:
        notebook = json.loads(content)
        cells = tuple(_cell(cell) for cell in notebook["cells"])
        lab = notebook["metadata"].get("labkit", {}).get("lab", "")
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no notebook: {error!r}") from None
    return NotebookFile(path, len(content), lab, cells)


def names_in(path: Path) -> set[str]:
    """The names that the code of a notebook on disk binds; none if it cannot be read."""
    try:
        return _bound_in(read(path))
    except (OSError, ValueError):
        return set()


def _bound_in(file: NotebookFile) -> set[str]:
    return {name for cell in file.code for name in bound_names(cell.source)}


def _cell(cell: Mapping[str, Any]) -> SavedCell:
    ours = cell["metadata"].get("labkit", {})
    source = "".join(cell["source"])
    return SavedCell(
        ours.get("name", ""), ours.get("kind", ""), cell["cell_type"] == "code", source
    )


def _lab_of(path: Path) -> str:
    try:
        return read(path).lab
    except (OSError, ValueError):
        return ""


def _wrong_file(file: NotebookFile, lab: str) -> list[str]:
    found = []
    if file.lab != lab:
        found.append(f"{file.path.name} is a notebook of {file.lab or 'no lab'}, not of {lab}.")
    if file.size > MAX_BYTES:
        found.append(f"The file has {file.size >> 20} MB. Clear the outputs and save it again.")
    return found


def _missing(file: NotebookFile, parts: Sequence[Part]) -> list[str]:
    return [
        f"The cell `{part.name}` is gone. Undo its deletion, or copy it from a fresh notebook."
        for part in parts
        if part.name not in file.by_name
    ]


def _not_saved(file: NotebookFile, parts: Sequence[Part], ran: Collection[str]) -> list[str]:
    """Parts whose code in the file was never run in this session; edits that were not saved."""
    known = {"".join(source.split()) for source in ran}
    named = [part.name for part in parts if part.kind != "written" and part.name in file.by_name]
    if not any(known):
        return []
    stale = [name for name in named if "".join(file.by_name[name].split()) not in known]
    if not stale:
        return []
    names = ", ".join(f"`{name}`" for name in stale)
    return [f"The file holds another version than the one you ran, of {names}. {SAVE}"]


def _undefined(file: NotebookFile, parts: Sequence[Part]) -> list[str]:
    """Names that only exist because of a cell that is gone; answers that are bound twice."""
    bound = _bound_in(file) | set(dir(builtins))
    marked = {part.name for part in parts if part.kind != "written"}
    found = [
        f"`{cell.name}` uses `{name}`, which no cell of the file defines. Was its cell deleted?"
        for cell in file.code
        if cell.name in marked
        for name in sorted(used_names(cell.source) - bound)
        if not name.startswith("__")
    ]
    own = {name for cell in file.code if not cell.kind for name in bound_names(cell.source)}
    return found + [
        f"A cell of your own defines `{name}` again. Give it another name: one of them is marked."
        for name in sorted(marked & own)
    ]


def _not_given(file: NotebookFile) -> list[str]:
    """Imports and syntax that fail when the notebook is graded, and take their cell along."""
    beside = [path.stem for path in file.path.parent.iterdir()]
    own = [cell.source for cell in file.code if cell.kind in ("exercise", "answer", "")]
    found = dict.fromkeys(name for source in own for name in not_given(source, beside))
    newer = dict.fromkeys(name for source in own for name in too_new(source))
    return [
        f"A cell imports `{name}`, which the grader does not have, so the cell fails there. "
        f"A cell can import {GIVEN}."
        for name in found
    ] + [
        f"A cell uses {name}, which Python {PYTHON[0]}.{PYTHON[1]} does not have. "
        "The grader may run that version, so write this cell without it."
        for name in newer
    ]


def _without_id(file: NotebookFile) -> list[str]:
    """Each lab asks for a name and an id; some ask questions that follow from the id."""
    text = file.by_name.get("student_id", "")
    names = {"student_name": "name", "student_id": "student id"}
    return [
        f"Your {what} is missing. Write it into `{name}`, and run all cells."
        for name, what in names.items()
        if re.search(rf"^{name} = \.\.\.", text, re.MULTILINE)
    ]


def _open_parts(file: NotebookFile, parts: Sequence[Part]) -> list[str]:
    """The empty parts, which may be handed in for no points; and text that stands beside them."""
    written = [each.name for each in parts if each.kind == "written" and each.name in file.by_name]
    seen = [Seen(cell.name, cell.is_code, cell.source) for cell in file.cells]
    prose = prose_of(file.lab.partition("_")[2])
    beside = (
        pieces_beside(seen, [WrittenQuestion(name) for name in written], prose) if prose else {}
    )
    found = []
    for name in written:
        is_empty = is_unwritten(file.by_name[name])
        if pieces := beside.get(name, ()):
            state = "is empty, but" if is_empty else "does not hold all:"
            found.append(
                f"The cell of the written answer `{name}` {state} this text stands outside of it: "
                f'"{begins(pieces[0].text)}". If it is your answer, move it into the cell.'
            )
        elif is_empty:
            found.append(f"The written answer `{name}` is still empty.")
    return found


def _failing_afresh(file: NotebookFile) -> list[str]:
    """Run all code but experiments and checks in a fresh process, in the file's order."""
    cells = [(cell.name or "of your own", cell.source) for cell in file.code if cell.must_run]
    run = [sys.executable, "-c", "from labkit.checks.handin import run_cells; run_cells()"]
    folder = file.path.parent
    try:
        done = subprocess.run(
            run,
            input=json.dumps(cells),
            capture_output=True,
            text=True,
            timeout=RESTART_S,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return [f"After a restart the cells run for more than {RESTART_S} s."]
    if done.returncode:
        return [f"After a restart the cells end Python: {done.stderr[-200:]}"]
    failed = json.loads(done.stdout.splitlines()[-1])
    return [f"After a restart the cell `{name}` fails: {error}." for name, error in failed]


def run_cells() -> None:
    """In the fresh process: run the cells that stdin names, print those that fail as JSON."""
    from IPython.core.inputtransformer2 import TransformerManager

    names, failed = {"__name__": "__main__"}, []
    out, sys.stdout = sys.stdout, sys.stderr
    for name, source in json.load(sys.stdin):
        try:
            exec(TransformerManager().transform_cell(source), names)
        except NotImplementedError as error:  # an unwritten part may be handed in
            for each in bound_names(source):
                names.setdefault(each, Waiting(str(error)))
        except Exception as error:
            failed.append((name, f"{type(error).__name__}: {error}"))
    print(json.dumps(failed), file=out)
