"""Submissions that start from a blank notebook, so that anything above zero is stolen."""

from autograder.builder.source import find_lab
from autograder.practice import ALL, Edit, Sample, cell_called, insert
from autograder.practice.honest import leave_blank
from autograder.record.results import GRADED


def forge(lab: str, code: str, answer: str = "") -> Edit:
    """A blank notebook with this code in front, and an expression, of its {name}, as any answer."""

    def edit(notebook: dict) -> None:
        leave_blank(lab)(notebook)
        insert(notebook, code, after="setup")
        for cell in find_lab(lab).marked if answer else ():
            value = answer.format(name=cell.name)
            cell_called(notebook, cell.name)["source"] = f"{cell.name} = {value}"

    return edit


def forged(
    student: str, lab: str, about: str, code: str, answer: str = "", *, status: str = GRADED
) -> Sample:
    """A submission that starts from a blank notebook: anything above zero is stolen."""
    return Sample(student, lab, about, forge(lab, code, answer), ALL, status)
