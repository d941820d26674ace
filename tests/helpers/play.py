"""Notebooks played from top to bottom in a kernel, as a reader would: what each cell gave.

The browser shows that pages work. This shows that cells do: on a CPU in `make test`, on GPUs by
`tests/gpu/notebooks_on_gpu.py`.
"""

import io
import json
import math
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from autograder.builder.source import Lab

LABS = Path(__file__).parent.parent / "labs"
CELL_S = 300  # less than the limit of a whole test, so that a slow cell is named
EMPTY_TABLE = re.compile(r"^(\S.*\n)?\S+( {2,}\S+)+\n*$")  # a title at most, and headings
SMALL = """\
def small(profile):
    from dataclasses import replace

    return replace(
        profile,
        sweep_batch_size=1,
        input_lengths=(1, 64),
        output_lengths=(1, 16),
        forward_batch_sizes=(1, 2),
        cache_lengths=(1, 16),
        long_prompt_length=128,
        long_uncached_lengths=(1, 2),
        n_repeats=1,
    )
"""
FIRST_CELL = f"""\
import os

import labkit

assert labkit.__file__.startswith(os.getcwd())  # the student's, which lies beside the notebook


{SMALL}"""


@dataclass(frozen=True)
class PlayedCell:
    """A code cell that has run. texts: what it printed or showed as text; kinds: of its outputs.

    report: the words of what it showed as HTML. n_silent: pictures without alternative text.
    """

    name: str
    seconds: float
    error: str
    texts: tuple[str, ...]
    kinds: tuple[str, ...]
    report: str
    n_silent: int = 0


def with_small_experiments(topic: str, notebook: dict) -> dict:
    """The notebook with the cheaper settings of its lab, each in the one place where it stands."""
    path = LABS / topic / "smaller.json"
    smaller = json.loads(path.read_text()) if path.exists() else {}
    for old, new in smaller.items():
        (cell,) = [cell for cell in notebook["cells"] if old in cell["source"]]
        cell["source"] = cell["source"].replace(old, new)
    return notebook


def play(
    notebook: Mapping,
    folder: Path,
    first: Sequence[str] = (),
    environment: Mapping | None = None,
    tell: Callable[[PlayedCell], None] | None = None,
    limit_s: float = math.inf,
    allow_errors: bool = True,
    python: Path | None = None,
) -> list[PlayedCell]:
    """Run all cells in a fresh kernel that begins in `folder`; errors do not stop it.

    first: cells that run before the notebook's own, without an error. tell: is called with each
    cell as it ends. limit_s: of all cells together. python: of the venv that the kernel runs in.
    Raises: CellTimeoutError for a cell that is slow; CellExecutionError at the first error if
    `allow_errors` is False, which is "Run all" as every front end has it.
    """
    end_s = time.monotonic() + limit_s
    own = nbformat.from_dict(json.loads(json.dumps(notebook)))
    own.cells = [nbformat.v4.new_code_cell(source) for source in first] + own.cells
    client = NotebookClient(
        own,
        timeout_func=lambda cell: max(1, min(CELL_S, end_s - time.monotonic())),
        allow_errors=allow_errors,
        resources={"metadata": {"path": str(folder)}},
        kernel_name="python3",
        on_cell_executed=tell and (lambda cell, **_: tell(_played(cell))),
    )
    if python:
        client.create_kernel_manager().kernel_spec.argv[0] = str(python)
    places = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    others = [place for place in places if not (Path(place) / "labkit").exists()]
    client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(others)} | (environment or {}))
    played = [_played(cell) for cell in own.cells if cell.cell_type == "code"]
    assert not any(cell.error for cell in played[: len(first)]), played[: len(first)]
    return played[len(first) :]


def venv_with_wheels(lab: Lab, folder: Path) -> Path:
    """A venv that has a lab's wheels, our libraries, and not the repository; its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "libraries.pth").write_text(f"{Path(nbformat.__file__).parents[1]}\n")
    from autograder.builder.editions import edition_of  # tests/gpu has no libraries for pages

    for wheel in edition_of(lab).wheels:
        with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
            archive.extractall(packages)
    return folder / "bin" / "python"


def faults(played: Sequence[PlayedCell]) -> list[str]:
    """A line for each cell that ended in an error, or showed an empty table or a silent picture."""
    found = []
    for cell in played:
        if cell.error:
            found.append(f"{cell.name}: {cell.error}")
        if cell.n_silent:
            found.append(f"{cell.name}: a picture without alternative text")
        found += [
            f"{cell.name}: an empty table: {text!r}"
            for text in cell.texts
            if EMPTY_TABLE.match(text)
        ]
    return found


def n_images(played: Sequence[PlayedCell]) -> int:
    """Pictures that the cells have shown, those of widgets not counted."""
    return sum(kind.startswith("image/") for cell in played for kind in cell.kinds)


def _played(cell: Mapping) -> PlayedCell:
    error, report, texts, kinds, n_silent = "", "", [], [], 0
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            error = f"{output['ename']}: {output['evalue']}"
        elif output["output_type"] == "stream":
            texts.append(output["text"])
        else:
            kinds += output["data"]
            texts.append(output["data"].get("text/plain", ""))
            html = output["data"].get("text/html", "")
            report += re.sub("<[^>]*>", "", html)
            has_picture = any(kind.startswith("image/") for kind in output["data"])
            n_silent += has_picture and '<img alt="' not in html
    name = cell["metadata"].get("labkit", {}).get("name", cell["source"][:40])
    times = cell["metadata"].get("execution", {})
    begin, end = (
        datetime.fromisoformat(times[f"iopub.{what}"]) if f"iopub.{what}" in times else None
        for what in ("execute_input", "status.idle")
    )
    seconds = (end - begin).total_seconds() if begin and end else math.nan
    return PlayedCell(name, seconds, error, tuple(texts), tuple(kinds), report, n_silent)
