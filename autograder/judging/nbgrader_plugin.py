"""Our parts of nbgrader's own pipelines; an `nbgrader_config.py` names them (see gradebook.py).

`ClearAnswers` makes `nbgrader generate_assignment` produce exactly our student notebook. `Rebuild`
and `TrustedExecute` make `nbgrader autograde`, and the button in formgrader, judge with our engine:
student code in the walled child, test cells in the judge, assert cells included.
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
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

from autograder.builder.blank import STUB, blank_values
from autograder.builder.notebooks import WRITTEN_STUB
from autograder.builder.source import read_labs
from autograder.builder.wheel import write_folder
from autograder.intake.master import Master, read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import Rebuilt, rebuild
from autograder.intake.steps import Step
from autograder.judging.jobs import SlotSettings
from autograder.judging.judge import Judge
from autograder.judging.slot import start_judge
from autograder.judging.wall import strongest_rung

CODE_STUB = "\n".join(STUB)


class ClearAnswers(ClearSolutions):
    """nbgrader's ClearSolutions, which also blanks the values of our answer cells."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Blank one cell."""
        self.code_stub = {**self.code_stub, "python": CODE_STUB}
        self.text_stub = WRITTEN_STUB
        if cell.metadata.get("labkit", {}).get("kind") != "answer":
            return super().preprocess_cell(cell, resources, cell_index)
        _, *lines, _ = cell.source.splitlines()
        cell.source = blank_values("\n".join(lines))
        return cell, resources


class Rebuild(NbGraderPreprocessor):
    """Put a submission back on the master, whatever happened to its cells."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Replace the notebook's cells; the master is nbgrader's source notebook."""
        names = resources["nbgrader"]
        submitted = read_notebook(nbformat.writes(nb).encode(), f"{names['notebook']}.ipynb")
        rebuilt = rebuild(_master(names["assignment"], names["notebook"]), submitted)
        for note in rebuilt.notes:
            self.log.warning("%s: %s", names["student"], note)
        nb.cells = rebuilt.notebook
        nb.metadata.pop("kernelspec", None)  # nbgrader puts the master's, but checks this one first
        nb.metadata["labkit_steps"] = [astuple(step) for step in rebuilt.steps]
        _take_checksums(nb, names)
        return nb, resources


class TrustedExecute(NbGraderPreprocessor):
    """Run the student's cells behind the wall and judge outside; fill in the outputs."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Give every test cell the one output that nbgrader reads its score from."""
        names = resources["nbgrader"]
        steps = [Step(*step[:3], tuple(step[3])) for step in nb.metadata.pop("labkit_steps")]
        rebuilt = Rebuilt(steps, nb.cells, [])
        _judge(names["assignment"], names["notebook"]).grade_rebuilt(rebuilt)
        return nb, resources


def _take_checksums(nb: Any, names: dict) -> None:
    """Cells carry the checksums that the gradebook has for them."""
    with Gradebook(names["db_url"]) as gradebook:
        notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
        known = {cell.name: cell for cell in notebook.source_cells}
    for cell in nb.cells:
        flags = cell.metadata.get("nbgrader", {})
        if flags.get("grade_id") in known:
            source_cell = known[flags["grade_id"]]
            flags["checksum"], flags["cell_type"] = source_cell.checksum, source_cell.cell_type


def _master_path(assignment: str, notebook: str) -> Path:
    """nbgrader's source notebook; nbgrader's working folder is the course's root meanwhile."""
    return Path("source", assignment, f"{notebook}.ipynb").resolve()


@cache
def _master(assignment: str, notebook: str) -> Master:
    """The master of an assignment."""
    return read_master(nbformat.read(_master_path(assignment, notebook), as_version=4), notebook)


@cache
def _judge(assignment: str, notebook: str) -> Judge:
    """One judge, with its warm zygote, for all submissions of a run.

    Hidden cases have a seed of their own in each run. An assignment that is no lab of ours gets the
    labkit of the first lab, in which every answer is blank.
    """
    labs = {lab.topic: lab for lab in read_labs()}
    lab = labs.get(_master(assignment, notebook).topic, read_labs()[0])
    scratch = TemporaryDirectory(prefix="autograder-")
    Path(scratch.name).chmod(0o755)
    write_folder(lab, Path(scratch.name))
    settings = SlotSettings(
        lab=assignment,
        master=str(_master_path(assignment, notebook)),
        student_path=scratch.name,
        seed=secrets.randbits(32),
        rung=strongest_rung(),
    )
    judge, zygote = start_judge(settings)
    atexit.register(scratch.cleanup)
    atexit.register(zygote.close)
    return judge
