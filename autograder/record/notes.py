"""The notes for a TA above the graded notebook."""

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.markup import harmless_markdown
from autograder.record.results import Result


def notes_cells(result: Result) -> list[NotebookNode]:
    """The cells with notes for the TA, at the top of the notebook."""
    lines = [f"**{result.status}**: {result.problem}"] if result.problem else []
    lines += [f"- {flag}" for flag in result.flags]
    text = harmless_markdown("\n".join(lines))
    return [new_markdown_cell(text, id="grader-notes")] if lines else []
