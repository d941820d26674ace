"""Submissions as most students hand them in."""

import ast
from importlib import import_module

from autograder.builder.notebooks import student_text
from autograder.builder.source import find_lab, read_labs
from autograder.practice import ALL, Edit, Sample, cell_called


def leave_blank(lab: str, names: tuple[str, ...] = ALL) -> Edit:
    """Leave these cells as they were handed out."""

    def edit(notebook: dict) -> None:
        for cell in find_lab(lab).marked:
            if names == ALL or cell.name in names:
                cell_called(notebook, cell.name)["source"] = student_text(cell)

    return edit


def format_differently(lab: str) -> Edit:
    """Write every answer in other lines: no comment, no empty line, other quotes."""

    def edit(notebook: dict) -> None:
        for cell in find_lab(lab).exercises:
            answer = cell_called(notebook, cell.name)
            answer["source"] = ast.unparse(ast.parse(answer["source"]))

    return edit


def of_all_marks(lab: str) -> tuple[Sample, ...]:
    """Of one lab: everything right, twice, half of it, and nothing."""
    package = import_module(f"autograder.labs.{find_lab(lab).topic}")
    left_blank = getattr(package, "LEFT_BLANK", ())
    return (
        Sample("ada", lab, "perfect"),
        Sample("bela", lab, "perfect, in other lines", format_differently(lab)),
        Sample("carol", lab, "half right", leave_blank(lab, left_blank), loses=left_blank),
        Sample("dora", lab, "blank", leave_blank(lab), loses=ALL),
    )


SAMPLES = [sample for lab in read_labs() for sample in of_all_marks(lab.name)]
