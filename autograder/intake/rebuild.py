"""Putting a submission back onto the master notebook.

Test and locked cells, metadata and the order of what is marked are always the master's. The
student's text is found by grade id, else by the names that a cell defines. Every cell that a
student wrote is shown in its place; `steps` says which of them run.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from nbformat import NotebookNode

from autograder.intake.doubled import read_once
from autograder.intake.master import Master
from autograder.intake.match import Match
from autograder.intake.pictures import Pictures
from autograder.intake.read import SubmittedCell
from autograder.intake.steps import Step, StepPlan
from autograder.intake.written import show

CLICK_TYPE = "application/vnd.labkit.answer+json"  # of lab 8 up to 0.1.0
CLICKED = "the notebook has clicked answers of an older release: only what its cells say counts"
BESIDE = "pictures-beside"  # the id of the cell that shows them


@dataclass(frozen=True)
class Rebuilt:
    """A submission on its master.

    steps: what to run, in the student's order. notebook: what to show, in the master's order, with
    the student's own cells behind the ones they followed; a cell's metadata has "submitted", its
    place in the submission. notes: what was repaired, in sentences for the TA. problem: why this is
    no submission of the assignment, "" if it is one. unrun: the names that an answer should bind
    and cannot, for its cell is no code cell; with its place in the submission. is_blank: nobody
    wrote an answer, in a cell to fill in or beside it.
    """

    steps: list[Step]
    notebook: list[NotebookNode]
    notes: list[str]
    problem: str = ""
    unrun: dict[str, int] = field(default_factory=dict)
    is_blank: bool = False


def rebuild(
    master: Master, submitted: list[SubmittedCell], files: Mapping[str, bytes] | None = None
) -> Rebuilt:
    """Match the submitted cells with the master's, then lay out what to run and what to show.

    files: what lies beside the notebook, by name: a text may name pictures of it.
    """
    notes = [CLICKED] if any(map(_was_clicked, submitted)) else []
    submitted, doubled = read_once(master, submitted)
    match = Match(master, submitted, files or {})
    plan = StepPlan(master, submitted, match.owner, match.best)
    steps, unrun = plan.steps(), match.unrun()
    notebook, notes = _notebook(match), doubled + match.notes + plan.notes + notes
    return Rebuilt(steps, notebook, notes, match.problem(), unrun, match.is_blank())


def _was_clicked(cell: SubmittedCell) -> bool:
    found = (output.get("data") for output in cell.outputs)
    return any(CLICK_TYPE in data for data in found if isinstance(data, dict))


def _notebook(match: Match) -> list[NotebookNode]:
    """The master's cells with the student's text, and the student's own cells in between."""
    followers: dict[str, list[int]] = {}
    anchor = ""
    for i, cell in enumerate(match.submitted):
        owner = match.owner.get(i)
        anchor = owner.name if owner else anchor
        is_spare = owner is not None and owner.is_open and match.best[owner.name] != i
        if (owner is None or is_spare) and (cell.source.strip() or cell.attachments):
            followers.setdefault(anchor, []).append(i)
    shown = [_own_node(match, i) for i in followers.get("", [])]
    for cell in match.master.cells:
        node = copy.deepcopy(cell.node)
        if cell.is_open:
            index = match.best[cell.name]
            node.source = match.submitted[index].source if index is not None else ""
            node.metadata["submitted"] = index
        if cell.name in match.written.answers:
            node.metadata["submitted"] = -1 if index is None else index
            show(node, match.written.answers[cell.name])
        shown.append(node)
        shown += [_own_node(match, i) for i in followers.get(cell.name, [])]
    if match.written.beside.source:
        beside = match.written.beside
        shown.append(_text_node(BESIDE, -1, beside.source, beside.pictures))
    return shown


def _own_node(match: Match, index: int) -> NotebookNode:
    cell, text = match.submitted[index], match.written.texts.get(index)
    if not cell.is_code and text:
        return _text_node(f"own-{index}", index, text.source, text.pictures)
    return NotebookNode(
        cell_type="code",
        id=f"own-{index}",
        metadata=NotebookNode(submitted=index),
        source=cell.source,
        outputs=[],
        execution_count=None,
    )


def _text_node(name: str, index: int, source: str, pictures: Pictures) -> NotebookNode:
    """A text of the student's with its pictures. index: -1 if it was no cell."""
    node = NotebookNode(
        cell_type="markdown", id=name, metadata=NotebookNode(submitted=index), source=source
    )
    if pictures:
        node.attachments = pictures
    return node
