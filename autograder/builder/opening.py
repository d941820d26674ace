"""The points in the opening of a lab, from its cells: nobody writes them twice.

{points}             **12 points**, 2 of them for written answers
{points by section}  a table with a row for each section that gives points
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.builder.source import Cell

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def with_points(text: str, cells: Sequence["Cell"]) -> str:
    """The text of an opening with the points of these cells."""
    by_hand = sum(cell.points for cell in cells if cell.kind == "written")
    written = f", {by_hand:g} of them for written answers" if by_hand else ""
    rows = [f"| {name} | {points:g} |" for name, points in _by_section(cells).items()]
    return text.replace(
        "{points}", f"**{sum(cell.points for cell in cells):g} points**{written}"
    ).replace("{points by section}", "\n".join(["| part | points |", "|---|---|", *rows]))


def _by_section(cells: Sequence["Cell"]) -> dict[str, float]:
    """The points below each heading that has some."""
    points, section = {}, ""
    for cell in cells:
        if cell.kind == "prose":
            section = (SECTION.findall(cell.text) or [section])[-1]
        if cell.points:
            points[section] = points.get(section, 0) + cell.points
    return points
