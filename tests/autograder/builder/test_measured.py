"""Measured numbers in the prose are those of the records."""

import re
import tomllib
from pathlib import Path

import jupytext
import pytest

from autograder.builder.measured import TAG, fill
from autograder.builder.source import read_labs
from autograder.places import SOURCES
from labkit.measuring.records import recorded_results

STATED = tomllib.loads((Path(__file__).parent / "stated_numbers.toml").read_text(encoding="utf-8"))
NUMBER = re.compile(
    r"(?<![\w.,/])-?\d[\d.,]*(?: (?:to|and) \d[\d.,]*)? "
    r"(?:ms|µs|s|tokens/s|TFLOP/s|GB/s)(?![\w/])"
)


def test_a_mark_becomes_the_median_of_its_row():
    row = next(r for r in recorded_results()["throughput-cpu"].of("output_sweep") if r.n_new == 64)
    mark = "throughput-cpu output_sweep n_new=64"
    assert fill(f"It takes {{measured:{mark} | s .3f}} s.") == f"It takes {row.time_s:.3f} s."
    assert fill(f"{{measured:{mark} | ms/64 .2f}}") == f"{1e3 * row.time_s / 64:.2f}"
    assert fill(f"{{measured:{mark} | tokens/s .0f}}") == f"{row.tokens_per_s:.0f}"


@pytest.mark.parametrize(
    ("mark", "reason"),
    [
        ("throughput-cpu output_sweep n_new=1", "a mark is"),
        ("nowhere output_sweep n_new=1 | s .3f", "no record nowhere"),
        ("throughput-cpu output_sweep | s .3f", "fits 9 rows"),
        ("throughput-cpu output_sweep n_new=3 | s .3f", "fits 0 rows"),
        ("throughput-cpu forward_by_batch batch_size=1 | tokens/s .0f", "no new tokens"),
    ],
)
def test_a_mark_that_names_no_one_row_is_refused(mark, reason):
    with pytest.raises(ValueError, match=reason):
        fill(f"{{measured:{mark}}}")


def test_every_mark_stands_in_prose_and_is_filled_in():
    marks = sum(len(TAG.findall(path.read_text(encoding="utf-8"))) for path in SOURCES.glob("*.py"))
    shown = [cell for lab in read_labs() for cell in lab.cells if "{measured:" in cell.text]
    assert marks >= 20
    assert not shown


def test_a_marked_number_has_its_unit_beside_it():
    """The number of a mark is in the unit that the sentence gives it."""
    for path in SOURCES.glob("*.py"):
        prose = " ".join(path.read_text(encoding="utf-8").replace("\n#", " ").split())
        for found in TAG.finditer(prose):
            unit = re.search(r"\| (s|ms|tokens/s)\b(?!/s)", found[0])[1]
            after = TAG.sub("", prose[found.end() :])[:160]
            assert re.search(r"(?<![\w/])(tokens/s|ms|s)(?![\w/])", after)[1] == unit, found[0]


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_every_duration_and_rate_is_marked_or_listed_with_its_origin(path):
    cells = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent").cells
    prose = [TAG.sub("@", cell.source) for cell in cells if cell.cell_type == "markdown"]
    found = {number for text in prose for number in NUMBER.findall(" ".join(text.split()))}
    listed = STATED.get(path.stem, {})
    assert set(listed) <= {"given", "computed", "derived"}
    assert found == {number for numbers in listed.values() for number in numbers}
