"""The graded notebook: what formgrader shows beside the marks."""

from collections.abc import Mapping, Sequence

from nbformat import NotebookNode

from autograder.judging.outputs import check_outputs, clean_outputs
from autograder.markup import harmless_markdown, with_pictures
from autograder.record.results import CheckResult


def fill_outputs(
    notebook: list[NotebookNode],
    ran: Mapping[int, object],
    checks: Sequence[CheckResult],
    submitted: Mapping[int, list[dict]],
) -> None:
    """Give every code cell its outputs.

    ran: results of this run by place in the submission; submitted: the outputs that the student
    handed in, shown for cells that did not run here; checks: shown below the test cells.
    """
    for node, index in clean_student_cells(notebook):
        if node.cell_type != "code":
            continue
        node.outputs, node.execution_count = [], None
        if index in ran:
            node.outputs = ran[index].outputs
        elif index is not None:
            node.outputs = clean_outputs(submitted.get(index, []))
        elif node.metadata.get("nbgrader", {}).get("grade"):
            exercise = node.metadata["nbgrader"]["grade_id"].removeprefix("check_")
            node.outputs = check_outputs([c for c in checks if c.exercise == exercise])
            node.execution_count = 1


def clean_student_cells(notebook: list[NotebookNode]) -> list[tuple[NotebookNode, int | None]]:
    """Make the student's texts harmless; each cell with its place in the submission, or None."""
    placed = [(node, node.metadata.pop("submitted", None)) for node in notebook]
    for node, index in placed:
        if node.cell_type != "code" and index is not None:
            _show_text(node)
    return placed


def _show_text(node: NotebookNode) -> None:
    text, pictures = harmless_markdown(node.source), node.pop("attachments", {})
    node.source, pictures = with_pictures(text, pictures)
    if pictures:
        node.attachments = pictures
