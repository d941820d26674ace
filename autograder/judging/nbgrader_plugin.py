"""Our parts of nbgrader's own pipelines; an `nbgrader_config.py` names them (see gradebook.py).

`ClearAnswers` makes `nbgrader generate_assignment` produce exactly our student notebook. `Rebuild`,
`TrustedExecute` and `SaveMarks` make `nbgrader autograde`, and the button in formgrader, judge our
labs as `autograder grade` does. Any other assignment passes through them as through nbgrader's own.
"""

import atexit
import secrets
from dataclasses import astuple
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    ClearSolutions,
    DeduplicateIds,
    Execute,
    OverwriteCells,
    SaveAutoGrades,
)

from autograder.builder.blank import STUB, blank_values
from autograder.builder.source import Lab, read_labs
from autograder.builder.wheel import write_folder
from autograder.intake.master import Master, read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import Rebuilt, rebuild
from autograder.intake.steps import Step
from autograder.judging.jobs import SlotSettings
from autograder.judging.judge import Judge
from autograder.judging.slot import start_judge
from autograder.judging.wall import strongest_rung
from labkit.checks.written import WRITTEN_STUB

CODE_STUB = "\n".join(STUB)


class ClearAnswers(ClearSolutions):
    """nbgrader's ClearSolutions, which also blanks the values of our answer cells."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Blank a notebook; any but a lab of ours has nbgrader's own stubs."""
        if nb.metadata.get("labkit", {}).get("lab"):
            self.code_stub = {**self.code_stub, "python": CODE_STUB}
            self.text_stub = WRITTEN_STUB
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Blank one cell."""
        if cell.metadata.get("labkit", {}).get("kind") != "answer":
            return super().preprocess_cell(cell, resources, cell_index)
        _, *lines, _ = cell.source.splitlines()
        cell.source = blank_values("\n".join(lines))
        return cell, resources


class Rebuild(OverwriteCells):
    """Put a submission of a lab back on the master, even if cells are moved, changed or missing."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Replace the notebook's cells; the master is nbgrader's source notebook."""
        names = resources["nbgrader"]
        if not _is_lab(names):
            nb, resources = DeduplicateIds(parent=self.parent).preprocess(nb, resources)
            return super().preprocess(nb, resources)
        submitted = read_notebook(nbformat.writes(nb).encode(), f"{names['notebook']}.ipynb")
        files = _files_in(Path(resources["metadata"]["path"]))
        rebuilt = rebuild(_master(names["assignment"], names["notebook"]), submitted, files)
        for note in rebuilt.notes:
            self.log.warning("%s: %s", names["student"], note)
        nb.cells = rebuilt.notebook
        nb.metadata.pop("kernelspec", None)  # nbgrader puts the master's, but checks this one first
        nb.metadata["labkit_steps"] = [astuple(step) for step in rebuilt.steps]
        _take_from_gradebook(nb, names)
        return nb, resources


class TrustedExecute(Execute):
    """Run a lab's cells behind the wall and judge outside; fill in the outputs."""

    def preprocess(self, nb: Any, resources: Any, **more: Any) -> tuple[Any, Any]:
        """Give every test cell the output that nbgrader reads its score from.

        Cells that a person has to mark get a flag for `SaveMarks`.
        """
        names = resources["nbgrader"]
        if not _is_lab(names):
            return super().preprocess(nb, resources, **more)
        steps = [Step(*step[:3], tuple(step[3])) for step in nb.metadata.pop("labkit_steps")]
        judge = _judge(names["assignment"], names["notebook"])
        verdict, session = judge.grade_rebuilt(Rebuilt(steps, nb.cells, []))
        for problem in [*verdict.broken, *session.problems]:
            self.log.warning("%s: %s", names["student"], problem)
        undecided = {check.exercise for check in verdict.checks if check.status == "undecided"}
        tests = [_name_of(cell) for cell in nb.cells if _is_test(cell)]
        resources["waiting"] = [
            name for name in tests if verdict.broken or name.removeprefix("check_") in undecided
        ]
        return nb, resources


class SaveMarks(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, but cells that a person has to mark stay without a mark."""

    def _add_score(self, cell: Any, resources: Any) -> None:
        super()._add_score(cell, resources)
        if _name_of(cell) in resources.get("waiting", ()):
            names = self.notebook_id, self.assignment_id, self.student_id
            grade = self.gradebook.find_grade(_name_of(cell), *names)
            grade.auto_score, grade.needs_manual_grade = None, True
            self.gradebook.db.commit()


def _is_test(cell: Any) -> bool:
    """Whether a cell is one that nbgrader reads a score from."""
    flags = cell.metadata.get("nbgrader", {})
    return bool(cell.cell_type == "code" and flags.get("grade") and not flags.get("solution"))


def _name_of(cell: Any) -> str:
    return cell.metadata["nbgrader"]["grade_id"]


def _is_lab(names: dict) -> bool:
    """Whether our engine judges an assignment; nbgrader judges all others."""
    return bool(_master(names["assignment"], names["notebook"]).topic)


def _take_from_gradebook(nb: Any, names: dict) -> None:
    """Cells carry the checksums that the gradebook has for them, and test cells the text."""
    with Gradebook(names["db_url"]) as gradebook:
        notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
        known = {cell.name: cell for cell in notebook.source_cells}
    for cell in nb.cells:
        flags = cell.metadata.get("nbgrader", {})
        if flags.get("grade_id") in known:
            source_cell = known[flags["grade_id"]]
            flags["checksum"], flags["cell_type"] = source_cell.checksum, source_cell.cell_type
            if _is_test(cell):
                cell.source = source_cell.source


def _files_in(folder: Path) -> dict[str, bytes]:
    """The files beside the notebooks of an assignment, by path below the folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in found
        if path.suffix != ".ipynb" and folder.resolve() in path.resolve().parents
    }


def _master_path(assignment: str, notebook: str) -> Path:
    """nbgrader's source notebook; during grading, the working folder is the course's root."""
    return Path("source", assignment, f"{notebook}.ipynb").resolve()


@cache
def _master(assignment: str, notebook: str) -> Master:
    """The master of an assignment."""
    return read_master(nbformat.read(_master_path(assignment, notebook), as_version=4), notebook)


@cache
def _judge(assignment: str, notebook: str) -> Judge:
    """One judge, with its warm zygote, for all submissions of a run.

    Hidden cases have a seed of their own in each run.
    """
    labs = {lab.topic: lab for lab in read_labs()}
    lab = labs[_master(assignment, notebook).topic]
    settings = SlotSettings(
        lab=assignment,
        master=str(_master_path(assignment, notebook)),
        student_path=str(_students_labkit(lab)),
        seed=secrets.randbits(32),
        rung=strongest_rung(),
    )
    judge, zygote = start_judge(settings)
    atexit.register(zygote.close)
    return judge


def _students_labkit(lab: Lab) -> Path:
    """A folder with the student's labkit for a lab; it goes when this process ends."""
    scratch = TemporaryDirectory(prefix="autograder-")
    atexit.register(scratch.cleanup)
    folder = Path(scratch.name)
    folder.chmod(0o755)
    write_folder(lab, folder)
    return folder
