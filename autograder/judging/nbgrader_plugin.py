"""Our parts of nbgrader's own pipelines; an `nbgrader_config.py` names them (see gradebook.py).

`ClearAnswers` makes `nbgrader generate_assignment` produce exactly our student notebook. `Rebuild`,
`TrustedExecute` and `SaveMarks` make `nbgrader autograde`, and the button in formgrader, judge with
our engine: our labs as `autograder grade` does, any other assignment as `judging.own` does.
"""

import atexit
import copy
import hashlib
import json
import secrets
from dataclasses import astuple
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor, SaveAutoGrades

from autograder.builder.blank import STUB, blank_values
from autograder.builder.source import Lab, read_labs
from autograder.builder.wheel import write_folder
from autograder.intake.master import Master, read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import Rebuilt, rebuild
from autograder.intake.steps import Step
from autograder.judging.client import Zygote
from autograder.judging.jobs import Limits, SlotSettings
from autograder.judging.judge import Judge
from autograder.judging.own.judge import (
    BY_HAND,
    INSIDE,
    OUTSIDE,
    OwnJudge,
    OwnStanding,
    is_test,
    name_of,
)
from autograder.judging.shown import clean_student_cells
from autograder.judging.slot import PRELOAD, start_judge
from autograder.judging.wall import ChildSettings, strongest_rung
from labkit.checks.written import WRITTEN_STUB

CODE_STUB = "\n".join(STUB)
SAID = {INSIDE: "is not protected", BY_HAND: "is not judged by us, a person has to mark it"}
_own_judges: dict[str, OwnJudge] = {}  # by all that they rest on


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


class Rebuild(NbGraderPreprocessor):
    """Put a submission back on the master, whatever happened to its cells."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Replace the notebook's cells; the master is nbgrader's source notebook."""
        names = resources["nbgrader"]
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


class TrustedExecute(NbGraderPreprocessor):
    """Run the student's cells behind the wall and judge outside; fill in the outputs."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Give every test cell the output that nbgrader reads its score from.

        What a person has to mark is marked as such for `SaveMarks`.
        """
        names = resources["nbgrader"]
        steps = [Step(*step[:3], tuple(step[3])) for step in nb.metadata.pop("labkit_steps")]
        if _master(names["assignment"], names["notebook"]).topic:
            self._judge_lab(nb, names, steps)
        else:
            self._judge_own(nb, resources)
        return nb, resources

    def _judge_lab(self, nb: Any, names: dict, steps: list[Step]) -> None:
        judge = _judge(names["assignment"], names["notebook"])
        verdict, session = judge.grade_rebuilt(Rebuilt(steps, nb.cells, []))
        for problem in [*verdict.broken, *session.problems]:
            self.log.warning("%s: %s", names["student"], problem)
        undecided = {check.exercise for check in verdict.checks if check.status == "undecided"}
        for cell in filter(is_test, nb.cells):
            if verdict.broken or name_of(cell).removeprefix("check_") in undecided:
                _set_judged(cell, OwnStanding(BY_HAND, "our check broke or could not decide"))

    def _judge_own(self, nb: Any, resources: Any) -> None:
        names = resources["nbgrader"]
        files = _files_in(Path(resources["metadata"]["path"]))
        final = self._own_judge(names).judge(nb.cells, files)
        clean_student_cells(nb.cells)
        for cell in filter(is_test, nb.cells):
            standing = final[name_of(cell)]
            _set_judged(cell, standing)
            if standing.how == BY_HAND:
                told = names["student"], name_of(cell), standing.reason
                self.log.warning("%s: a person has to mark %s: %s", *told)

    def _own_judge(self, names: dict) -> OwnJudge:
        """The judge of this assignment as it is now; a new one says how it judges each cell."""
        path = _master_path(names["assignment"], names["notebook"])
        notebook = nbformat.read(path, as_version=4)
        _take_from_gradebook(notebook, names)
        files = _files_in(path.parent)
        key = _digest(notebook, files)
        if key not in _own_judges:
            blank, _ = ClearAnswers(parent=self.parent).preprocess(copy.deepcopy(notebook), {})
            master = read_master(notebook, names["notebook"])
            zygote = _own_zygote()
            _own_judges[key] = OwnJudge(master, blank.cells, files, zygote, Limits())
            for name, standing in _own_judges[key].standings.items():
                if standing.how != OUTSIDE:
                    self.log.warning("%s %s: %s", name, SAID[standing.how], standing.reason)
        return _own_judges[key]


class SaveMarks(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, which leaves what a person has to mark without a mark."""

    def _add_score(self, cell: Any, resources: Any) -> None:
        super()._add_score(cell, resources)
        if cell.metadata.get("labkit", {}).get("judged") == BY_HAND:
            names = self.notebook_id, self.assignment_id, self.student_id
            grade = self.gradebook.find_grade(cell.metadata["nbgrader"]["grade_id"], *names)
            grade.auto_score, grade.needs_manual_grade = None, True
            self.gradebook.db.commit()


def _set_judged(cell: Any, standing: OwnStanding) -> None:
    ours = cell.metadata.get("labkit", {})
    cell.metadata["labkit"] = {**ours, "judged": standing.how, "reason": standing.reason}


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
            if is_test(cell):
                cell.source = source_cell.source


def _files_in(folder: Path) -> dict[str, bytes]:
    """What lies beside the notebooks of an assignment, by its path below the folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in found
        if path.suffix != ".ipynb" and folder.resolve() in path.resolve().parents
    }


def _digest(notebook: Any, files: dict[str, bytes]) -> str:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return json.dumps([nbformat.writes(notebook), digests])


@cache
def _own_zygote() -> Zygote:
    """One zygote for all assignments of a teacher's own."""
    labkit = _students_labkit(read_labs()[0])  # the wall's inner side; every answer is blank
    settings = ChildSettings(
        student_path=labkit, preload=PRELOAD, rung=strongest_rung(), memory_mb=4096
    )
    zygote = Zygote(settings)
    zygote.wait()
    atexit.register(zygote.close)
    return zygote


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
