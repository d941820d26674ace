"""What a student handed in, as it is: all cells of a notebook, or its tables and figures."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.desk.states import AnswerId
from autograder.intake.read import Unreadable, decoded, parsed, read_notebook
from autograder.intake.rebuild import BESIDE

MOST_OUTPUTS, MOST_PICTURE_CHARS = 100, 2_000_000
MOST_CELLS = 400


@dataclass(frozen=True)
class Output:
    """One output of an experiment's cell: a text, or a picture as PNG in base64."""

    name: str
    text: str = ""
    png: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell as it was handed in. names: what it may be called in the lab."""

    is_code: bool
    text: str
    pictures: Mapping[str, Mapping[str, str]]
    outputs: tuple[Output, ...]
    names: tuple[str, ...]


def notebook_of(content: bytes, lab: str) -> tuple[list[Cell], str]:
    """The cells of a file that was handed in, and why it has none or not all.

    What is no notebook is one cell with its text.
    """
    try:
        read = read_notebook(content, f"{lab}.ipynb")
    except Unreadable as problem:
        with suppress(Unreadable):
            return [Cell(True, decoded(content)[0], {}, (), ())], str(problem)
        return [], str(problem)
    n_left, cells = MOST_OUTPUTS, []
    for cell in read[:MOST_CELLS]:
        outputs = [Output("", *each) for each in map(_shown, cell.outputs) if any(each)][:n_left]
        n_left -= len(outputs)
        cells.append(Cell(cell.is_code, cell.source, cell.attachments, tuple(outputs), cell.names))
    n_more = len(read) - len(cells)
    return cells, f"{n_more} more cells are not shown" if n_more else ""


def outputs_of(out: Path, key: AnswerId) -> list[Output]:
    """The outputs of experiments in a student's notebook; empty if the file cannot be read."""
    path = out / "course" / "submitted" / key.student / key.lab / f"{key.lab}.ipynb"
    try:
        cells = parsed(path.read_bytes())["cells"]
    except (OSError, Unreadable, KeyError, TypeError):
        return []
    return list(_outputs(cells))[:MOST_OUTPUTS]


def pictures_beside(cells: Sequence[dict]) -> tuple[str, Mapping[str, Mapping[str, str]]]:
    """The pictures that came beside a notebook, as Markdown, from its graded cells."""
    for cell in cells:
        if cell.get("id") == BESIDE:
            return _text(cell["source"]), cell.get("attachments", {})
    return "", {}


def _outputs(cells: Any) -> Iterator[Output]:
    for cell in cells if isinstance(cells, list) else ():
        match cell:
            case {
                "metadata": {"labkit": {"kind": "experiment", "name": str(name)}},
                "outputs": list(outputs),
            }:
                yield from (Output(name, *each) for each in map(_shown, outputs) if any(each))


def _shown(output: Any) -> tuple[str, str]:
    match output:
        case {"data": {"image/png": png}} if len(text := _text(png)) <= MOST_PICTURE_CHARS:
            return "", text
        case {"data": {"text/plain": text}} | {"text": text}:
            return _text(text), ""
    return "", ""


def _text(value: Any) -> str:
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))
