"""Notebook sources are read as jupytext reads them."""

import jupytext
import pytest

from autograder.builder.percent import cells_of
from autograder.places import SOURCES


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_every_cell_is_what_jupytext_makes_of_it(path):
    text = path.read_text(encoding="utf-8")
    theirs = jupytext.reads(text, fmt="py:percent").cells
    for cell in theirs:
        cell.metadata.pop("lines_to_next_cell", None)
    assert list(cells_of(text)) == [
        (cell.cell_type == "markdown", cell.metadata, cell.source) for cell in theirs
    ]


@pytest.mark.parametrize("line", ["#%", " title", ' given="a', " given=a", ' given="a" points'])
def test_a_first_line_that_cannot_be_read_is_quoted(line):
    with pytest.raises(ValueError, match=f"not # %%{line}"):
        list(cells_of(f"# %%{line}\nx = 1\n"))
