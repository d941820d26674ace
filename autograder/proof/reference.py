"""Whether a lab gives its own solution full marks: what must hold before students get the lab.

The solution is trusted and runs without the wall: its cells in this process, its notebook in a
kernel. `HOLDS` remembers by digest which labs hold, so each is played once after a change.
"""

import io
import json
import os
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

from autograder.builder.notebooks import cell_name, plain_notebook
from autograder.builder.source import Lab, solved_text
from autograder.builder.wheel import write_folder
from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.grading.fingerprint import grading_digest
from autograder.judging.jobs import Limits
from autograder.places import REPOSITORY
from autograder.proof.complete import missing_parts
from autograder.proof.matrix import play_all, run_cell
from labkit.checks.core import open_cases_of

SEED = 0
HOLDS = REPOSITORY / "build" / "holds"
EARNED = ("passed", "read")  # an answer whose key only the grader has is read


def lost_points(lab: Lab, seed: int = SEED) -> Iterator[str]:
    """A sentence for each missing part, else for each cell and check that the solution fails."""
    missing = list(missing_parts(lab))
    yield from missing
    if missing:
        return
    namespace: dict = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()):
        for cell in lab.cells:
            if cell.kind not in ("given", "exercise", "answer"):
                continue
            try:
                run_cell(cell.text or solved_text(cell), cell.name, namespace)
            except Exception as error:
                yield f"{lab.name}: the cell {cell.name} stops with {_said(error)}"
                return
        hidden = play_all(lab, namespace, seed=seed)
        opened = play_all(lab, namespace, open_cases_of(lab.topic))
    for kind, findings in (("a hidden", hidden), ("an open", opened)):
        for finding in findings:
            if finding.status not in EARNED:
                check = finding.check
                yield (
                    f"{lab.name}: the reference answer to {check.exercise} fails the check "
                    f"{check.name} on {kind} case: {finding.message}"
                )


def stopped_cell(lab: Lab) -> Iterator[str]:
    """A sentence if a cell of the solved notebook stops with an error, experiments included.

    The notebook runs in a fresh kernel beside the student's labkit: minutes for some labs.
    """
    notebook = nbformat.from_dict(json.loads(json.dumps(plain_notebook(lab, "instructor"))))
    with TemporaryDirectory() as folder:
        write_folder(lab, Path(folder))
        places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        others = [at for at in places if at and not (Path(at) / "labkit").exists()]
        client = NotebookClient(
            notebook,
            timeout=None,
            allow_errors=True,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],  # else it warns of its own transport
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=os.environ | {"PYTHONPATH": os.pathsep.join(others)})
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output["output_type"] == "error":
                said = f"{output['ename']}: {output['evalue']}"
                yield f"{lab.name}: the cell {cell_name(cell)} of the solved notebook: {said}"
                return


def refuse_lost_points(lab: Lab, seed: int = SEED) -> None:
    """Refuse a lab whose solution loses a point. Raises: Refusal naming each cell and check."""
    digest = grading_digest(lab, seed, Limits(), walled=False)
    held = HOLDS / lab.name
    if held.exists() and held.read_bytes() == digest:
        return
    if problems := list(lost_points(lab, seed)):
        raise Refusal("\n".join([f"the solution of {lab.name} loses points:", *problems]))
    with suppress(OSError):  # if the folder is read-only, compute it again
        write_whole(held, digest, shared=True)  # shards start at the same time


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
