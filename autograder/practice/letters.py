"""Answers to the notebooks of questions of a practice class: right, half, blank, and swapped."""

from pathlib import Path

from autograder.builder.notebooks import to_bytes
from autograder.builder.source import Lab
from autograder.files import write_whole, zip_bytes
from autograder.oral.notebooks import Asked, asked_or_refused, notebook_of
from autograder.places import ORAL


def write_practice_letters(lab: Lab, out: Path, folder: Path) -> Path:
    """Answer the notebooks that a grading made, and pack them; returns the zip's path.

    Of four students one answers all, one every second question, one none, and one hands in the
    answered notebook of the next student. Raises: Refusal if none was made.
    """
    asked, name = asked_or_refused(out, lab.name), lab.name + ORAL
    students = [*asked]
    members = {}
    for i, student in enumerate(students):
        is_swapped = i % 4 == 3
        own = asked[students[(i + 1) % len(students)]] if is_swapped else asked[student]
        members[f"{student}/{name}.ipynb"] = answered(lab.name, own, (1, 2, 0, 1)[i % 4])
    path = folder / f"{name}.zip"
    write_whole(path, zip_bytes(members))
    return path


def answered(lab: str, asked: Asked, every: int) -> bytes:
    """A student's notebook with the right letter for each question, for every second, or for none.

    The other questions of every second have a wrong letter.
    """
    notebook = notebook_of(lab, asked)
    cells = {
        cell.metadata.labkit.name: cell for cell in notebook.cells if "labkit" in cell.metadata
    }
    for i, (name, question) in enumerate(asked.questions.items()):
        is_right = every and i % every == 0
        place = question.right if is_right else (question.right + 1) % len(question.options)
        if every:
            cells[name].source = f'{name} = "{chr(ord("A") + place)}"'
    return to_bytes(notebook)
