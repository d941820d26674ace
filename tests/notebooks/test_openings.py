"""The table of points at the beginning of a lab agrees with the points of its cells.

Its heading is "| part | points |"; each row names a section by its heading.
"""

import re

import pytest

from autograder.builder.source import read_labs

TABLE = re.compile(r"^\| part \| points \|\n\|[-|]+\|\n((?:\|.*\|\n?)+)", re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def points_of_the_opening(lab):
    """The points of each section that the lab's first cell names; None without a table."""
    table = TABLE.search(lab.cells[0].text)
    if not table:
        return None
    rows = (line.strip("| ").split("|") for line in table[1].splitlines())
    return {part.strip(): float(points) for part, points in rows}


def points_of_the_cells(lab):
    points, section = {}, ""
    for cell in lab.cells:
        if cell.kind == "prose":
            section = (HEADING.findall(cell.text) or [section])[-1]
        if cell.points:
            points[section] = points.get(section, 0) + cell.points
    return points


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_the_points_of_the_opening_are_those_of_the_cells(lab):
    opening = points_of_the_opening(lab)
    if opening is None:
        pytest.skip("the opening has no table of points")
    assert opening == points_of_the_cells(lab)
    total = sum(cell.points for cell in lab.cells)
    assert f"**{total:g} points**" in lab.cells[0].text
