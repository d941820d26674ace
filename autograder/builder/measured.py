"""Numbers in a lab's prose that the builder fills in from the records.

    {measured:throughput-cpu output_sweep n_new=1 | s .3f}

This becomes the median time of the one row of `data/results/throughput-cpu.jsonl` that fits, in
seconds and with three digits: 0.099. `ms/12` divides by twelve, `tokens/s` is the throughput.

    {points}                  **12 points**, 2 of them for written answers
    {points by section}       a table with a row for each section that gives points

These stand in the first cell of a lab. They come from the points of its cells.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from labkit.measuring.records import Record, Row, recorded_results

if TYPE_CHECKING:
    from autograder.builder.source import SourceCell

TAG = re.compile(r"\{measured:(.*?)\}")
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_PARTS = re.compile(r"(\S+) (\w+)((?: \w+=\S+)*) \| (s|ms|tokens/s)(?:/(\d+))? (\.\d+f|,\.0f)")


def fill(text: str) -> str:
    """The text with each mark replaced by its number.

    Raises: ValueError for a mark that cannot be read, or that does not fit exactly one row.
    """
    return TAG.sub(lambda found: _number(found[1]), text)


def _number(mark: str) -> str:
    parts = _PARTS.fullmatch(mark)
    if parts is None:
        raise ValueError(f"a mark is 'record experiment field=value | unit digits', not {mark!r}")
    name, experiment, fields, unit, share, digits = parts.groups()
    record = _record(name)
    if record is None:
        raise ValueError(f"{mark!r}: there is no record {name}")
    wanted = dict(each.split("=") for each in fields.split())
    rows = [row for row in record.of(experiment) if row.is_ok and _fits(row, wanted)]
    if len(rows) != 1:
        raise ValueError(f"{mark!r} fits {len(rows)} rows of {name}, not one")
    value = rows[0].tokens_per_s if unit == "tokens/s" else rows[0].time_s
    if value is None:
        raise ValueError(f"{mark!r}: the row made no new tokens")
    return format((1e3 if unit == "ms" else 1) * value / int(share or 1), digits)


def _fits(row: Row, wanted: dict[str, str]) -> bool:
    names = {"model": "short_model"}
    return all(
        str(getattr(row, names.get(field, field))).replace(" ", "_") == value
        for field, value in wanted.items()
    )


@cache
def _record(name: str) -> Record | None:
    return recorded_results(f"{name}.jsonl").get(name)


def with_points(text: str, cells: Sequence["SourceCell"]) -> str:
    """The text of an opening with the points of these cells."""
    by_hand = sum(cell.points for cell in cells if cell.kind == "written")
    written = f", {by_hand:g} of them for written answers" if by_hand else ""
    rows = [f"| {name} | {points:g} |" for name, points in _by_section(cells).items()]
    return text.replace(
        "{points}", f"**{sum(cell.points for cell in cells):g} points**{written}"
    ).replace("{points by section}", "\n".join(["| part | points |", "|---|---|", *rows]))


def _by_section(cells: Sequence["SourceCell"]) -> dict[str, float]:
    """The points below each heading that has some."""
    points, section = {}, ""
    for cell in cells:
        if cell.kind == "prose":
            section = (SECTION.findall(cell.text) or [section])[-1]
        if cell.points:
            points[section] = points.get(section, 0) + cell.points
    return points
