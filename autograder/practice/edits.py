"""Ways to change a notebook that several kinds of submission share."""

from autograder.builder.source import find_lab
from autograder.proof.cheats import ALL, Edit, Sample, cell_called, insert
from autograder.proof.cheats.honest import leave_blank
from autograder.record.results import GRADED


def add(code: str, after: str | None = None) -> Edit:
    """A solved notebook with this code somewhere in it."""
    return lambda notebook: insert(notebook, code, after=after)


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


def replace(code: str, *names: str) -> Edit:
    """A solved notebook with this code in the first of these cells, and nothing in the others."""

    def edit(notebook: dict) -> None:
        for name in names:
            cell_called(notebook, name)["source"] = code if name == names[0] else "pass"

    return edit


def rewrite(name: str, *changes: tuple[str, str]) -> Edit:
    """One cell of a solved notebook with pieces of its text replaced."""

    def edit(notebook: dict) -> None:
        cell = cell_called(notebook, name)
        for old, new in changes:
            assert old in cell["source"], f"{name} has no {old!r}"
            cell["source"] = cell["source"].replace(old, new)

    return edit
