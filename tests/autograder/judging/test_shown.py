"""The graded notebook can be shown, whatever a student's text refers to."""

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.judging.shown import fill_outputs

DOT = "iVBORw0KGgo="
PICTURE = {"image/png": DOT}


def page_of(text, pictures):
    """What formgrader makes of a written answer."""
    cell = new_markdown_cell(text, attachments=pictures, metadata={"submitted": 3})
    fill_outputs([cell], {}, [], {})
    return HTMLExporter(embed_images=True).from_notebook_node(new_notebook(cells=[cell]))[0]


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("attachment:a.png", "a.png"),
        ("attachment:%E5%9C%96%201.png", "圖 1.png"),
        ("attachment:圖.png", "圖.png"),
        ("attachment:image%20(1).png", "image (1).png"),
    ],
)
def test_a_pasted_picture_is_shown_whatever_its_name(reference, name):
    assert f"data:image/png;base64,{DOT}" in page_of(f"![]({reference})", {name: PICTURE})


@pytest.mark.parametrize(
    "text",
    [
        "See ![plot](attachment:lost.png).",
        "See ![plot](attachment\\:lost.png).",
        "See ![plot](&#97;ttachment:lost.png).",
        "See ![plot][1].\n\n[1]: attachment:lost.png",
        "See ![plot](attachment:).",
        "See ![plot](<attachment:lost one.png>).",
    ],
)
def test_a_picture_that_is_lost_stops_nothing(text):
    assert "See" in page_of(text, {"a.png": PICTURE})
