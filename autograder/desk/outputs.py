"""The tables and figures that a student's own run left in the notebook that was handed in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.desk.states import AnswerId
from autograder.intake.read import Unreadable, parsed
from autograder.intake.rebuild import BESIDE

MOST_OUTPUTS, MOST_PICTURE_CHARS = 100, 2_000_000


@dataclass(frozen=True)
class Output:
    """One output of an experiment's cell: a text, or a picture as PNG in base64."""

    name: str
    text: str = ""
    png: str = ""


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
