"""Submissions that a grader meets, each with the mark that it deserves.

Each is made from the solved notebook of the day, so none goes stale. `loses` names what the
submission gets no points for; everything else must come out in full.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.builder.blank import BEGIN, END
from autograder.builder.notebooks import cell_name, plain_notebook
from autograder.builder.source import Lab, find_lab
from autograder.record.results import GRADED

ALL = ("*",)
Edit = Callable[[dict], object]


@dataclass(frozen=True)
class Sample:
    """One submission of the sample class.

    make(notebook) changes the solved notebook in place, or returns the file's bytes. loses: the
    exercises, answers and single checks without points, or ALL; status: what the grader must say of
    it. folder: what the student's folder is called, if that is not how the grader calls him;
    deliver(path, content): writes what is handed in.
    """

    student: str
    lab: str
    about: str
    make: Edit = lambda notebook: None
    loses: tuple[str, ...] = ()
    status: str = GRADED
    file_name: str = ""
    folder: str = ""
    deliver: Callable[[Path, bytes], object] = Path.write_bytes

    def write(self, folder: Path) -> Path:
        """Write the submission in nbgrader's layout below `folder`; returns its file."""
        lab = find_lab(self.lab)
        notebook = solved_notebook(lab)
        content = self.make(notebook)
        if not isinstance(content, bytes):
            content = json.dumps(notebook, ensure_ascii=False, indent=1).encode()
        place = folder / (self.folder or self.student) / lab.name
        place.mkdir(parents=True, exist_ok=True)
        path = place / (self.file_name or f"{lab.name}.ipynb")
        self.deliver(path, content)
        return path


def solved_notebook(lab: Lab) -> dict:
    """A lab's notebook as a perfect student hands it in."""
    return json.loads(_solved_text(lab.name))


@cache
def _solved_text(lab_name: str) -> str:
    notebook = plain_notebook(find_lab(lab_name), "instructor")
    for cell in notebook["cells"]:
        lines = cell["source"].splitlines()
        cell["source"] = "\n".join(line for line in lines if line.strip() not in (BEGIN, END))
    return json.dumps(notebook)


def cell_called(notebook: dict, name: str) -> dict:
    """The cell of that name."""
    return next(cell for cell in notebook["cells"] if cell_name(cell) == name)


def code_cell(source: str) -> dict:
    """A cell of the student's own."""
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def insert(notebook: dict, source: str, after: str | None = None) -> None:
    """Put a cell of the student's own behind the named one, or at the end."""
    cells = notebook["cells"]
    at = len(cells) if after is None else cells.index(cell_called(notebook, after)) + 1
    cells.insert(at, code_cell(source))


def copy_of(cell: dict) -> dict:
    """A cell again, as a notebook editor copies it: with its metadata."""
    return copy.deepcopy(cell)
