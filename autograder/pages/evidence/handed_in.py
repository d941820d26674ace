"""What students handed in for a lab, read back from an output folder to be compared.

The folder's notebooks are ours, but every text in them is a student's: it is read and never run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from autograder.builder.notebooks import cell_kind, cell_name, plain_notebook
from autograder.builder.source import find_lab
from autograder.intake.master import OPEN_KINDS
from autograder.intake.read import Unreadable, parsed
from autograder.names import squeeze
from autograder.record.results import BESIDE
from labkit.checks.hints.tries import Tries, tries_in

MAX_CELLS = 5000


@dataclass(frozen=True)
class Starter:
    """The cells that a lab is handed out with, by name: those to fill in, and those to leave.

    prose: the open cells for text; values: those for numbers and names, right in one way only;
    questions: all text that was handed out.
    """

    open: Mapping[str, str]
    given: Mapping[str, str]
    prose: frozenset[str]
    values: frozenset[str]
    questions: str = ""

    @cached_property
    def lines(self) -> dict[str, frozenset[str]]:
        """The lines of each open cell, without white space."""
        return {name: frozenset(lines_of(text)) for name, text in self.open.items()}

    def own_part(self, name: str, text: str) -> str:
        """The lines of an open cell that were not handed out, without white space."""
        if text == self.open.get(name):
            return ""
        given = self.lines.get(name, ())
        return "\n".join(line for line in lines_of(text) if line not in given)

    def own_parts(self, answers: Mapping[str, str]) -> dict[str, str]:
        """The student's own lines by cell, where there are any."""
        parts = {name: self.own_part(name, text) for name, text in answers.items()}
        return {name: part for name, part in parts.items() if part}


@dataclass(frozen=True)
class HandedIn:
    """What one student handed in.

    pieces: the texts of the open cells by name, each with the student's own code cells after it;
    sources: the code cells of the file without white space; tries: what its outputs say of checks.
    """

    student: str
    pieces: dict[str, list[str]]
    sources: frozenset[str]
    tries: Mapping[str, Tries] = field(default_factory=dict)

    @cached_property
    def answers(self) -> dict[str, str]:
        """The pieces of each cell as one text."""
        return {name: "\n".join(pieces) for name, pieces in self.pieces.items()}


@cache
def starter_of(lab: str) -> Starter:
    """What students of a lab start from."""
    cells = plain_notebook(find_lab(lab), "student").cells
    named = [(cell_kind(cell), cell_name(cell), cell) for cell in cells if cell_name(cell)]
    return Starter(
        open={name: cell.source for kind, name, cell in named if kind in OPEN_KINDS},
        given={name: cell.source for kind, name, cell in named if kind in ("given", "check")},
        prose=frozenset(name for kind, name, _ in named if kind == "written"),
        values=frozenset(name for kind, name, _ in named if kind == "answer"),
        questions="\n".join(cell.source for cell in cells if cell.cell_type == "markdown"),
    )


def read_handed_in(out: Path, lab: str, student: str) -> HandedIn:
    """One student's answers and file; empty where there is none that can be read."""
    submitted, graded = (
        out / "course" / step / student / lab / f"{lab}.ipynb"
        for step in ("submitted", "autograded")
    )
    notebook = _json(_read(submitted))
    sources = frozenset(squeeze(_source(cell)) for cell in _cells(notebook) if _is_code(cell))
    return HandedIn(student, read_pieces(graded), sources, tries_in(notebook))


def read_answers(path: Path) -> dict[str, str]:
    """The open cells of a graded notebook; own code cells belong to the code cell above them."""
    return {name: "\n".join(pieces) for name, pieces in read_pieces(path).items()}


def read_pieces(path: Path) -> dict[str, list[str]]:
    """As `read_answers`, cell by cell."""
    pieces: dict[str, list[str]] = {}
    current = ""
    for cell in _cells(_json(_read(path))):
        is_code = _is_code(cell)
        match cell:
            case {"metadata": {"labkit": {"kind": str(kind), "name": str(name)}}}:
                if kind in OPEN_KINDS:
                    pieces[name] = [_source(cell)]
                    current = name if is_code else current
            case {"id": str(number)} if number.startswith("own-") and is_code:
                pieces.setdefault(current, []).append(_source(cell))
    return pieces


def read_beside(out: Path, lab: str, student: str) -> str:
    """The modules that came with a notebook, as one text; "" if there are none."""
    modules = _json(_read(out / "course" / "submitted" / student / lab / BESIDE))
    texts = modules.values() if isinstance(modules, dict) else ()
    return "\n".join(text for text in texts if isinstance(text, str))


def read_pictures(path: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The pictures that were pasted into the written answers of a graded notebook, by cell."""
    pictures: dict[str, dict[str, dict[str, str]]] = {}
    for cell in _cells(_json(_read(path))):
        match cell:
            case {"metadata": {"labkit": {"name": str(name)}}, "attachments": dict(pasted)}:
                pictures[name] = {
                    key: each for key, each in pasted.items() if isinstance(each, dict)
                }
    return pictures


def read_noted(path: Path) -> dict[str, list[str]]:
    """What intake noted of the written answers of a graded notebook, by cell."""
    noted: dict[str, list[str]] = {}
    for cell in _cells(_json(_read(path))):
        match cell:
            case {"metadata": {"labkit": {"name": str(name)}, "noted": list(sentences)}}:
                noted[name] = [each for each in sentences if isinstance(each, str)]
    return noted


def lines_of(text: str) -> list[str]:
    """The lines of a text without white space, blank ones left out."""
    return [squeezed for line in text.splitlines() if (squeezed := squeeze(line))]


def _cells(notebook: Any) -> Iterator[dict]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells[:MAX_CELLS] if isinstance(cells, list) else ():
        if isinstance(cell, dict):
            yield cell


def _is_code(cell: dict) -> bool:
    return cell.get("cell_type") == "code"


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def _json(content: bytes) -> Any:
    try:
        return parsed(content)
    except Unreadable:
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
