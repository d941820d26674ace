"""The pictures that open the labs: drawn by code, in the notebook, with alternative text."""

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.image import imread

from autograder.builder.notebooks import build_notebook
from autograder.builder.pictures import picture_path
from autograder.builder.source import read_labs
from autograder.labs import part_of

DRAWN = [lab for lab in read_labs() if part_of(lab.topic, "picture")]
SPECK = 20  # pixels: the edge of a letter may be drawn otherwise, a digit or a bar may not


@pytest.mark.parametrize("lab", DRAWN, ids=lambda lab: lab.name)
def test_the_committed_picture_is_what_the_code_draws(lab, tmp_path):
    path = tmp_path / "again.png"
    part_of(lab.topic, "picture").draw().save(path)
    again, committed = imread(path), imread(picture_path(lab))
    assert again.shape == committed.shape
    assert largest_difference(again, committed) < SPECK
    corner = committed[0, 0]  # a ground of its own, so that it can be read on a dark page
    assert (corner == 1).all()
    assert committed[..., 3:].size == 0 or committed[..., 3].min() == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda board: board.axes.patches[-1].set_width(4.5 * board.axes.patches[-1].get_width()),
        lambda board: board.axes.patches[-1].set_width(board.axes.patches[-1].get_width() + 0.3),
        lambda board: board.axes.texts[0].set_text(board.axes.texts[0].get_text()[:-1] + "0"),
    ],
    ids=["another bar", "a bar that is 4 pixels longer", "one other letter"],
)
def test_a_picture_with_one_other_bar_or_letter_is_not_the_same(change, tmp_path):
    board, changed = part_of("cache_benchmark", "picture").draw(), tmp_path / "changed.png"
    board.save(tmp_path / "drawn.png")
    change(board)
    board.save(changed)
    assert largest_difference(imread(tmp_path / "drawn.png"), imread(changed)) >= SPECK


def test_a_picture_with_softer_letters_is_the_same(tmp_path):
    part_of("memory", "picture").draw().save(tmp_path / "drawn.png")
    with rc_context({"text.hinting": "none"}):
        part_of("memory", "picture").draw().save(tmp_path / "softer.png")
    drawn, softer = imread(tmp_path / "drawn.png"), imread(tmp_path / "softer.png")
    assert (drawn != softer).any()
    assert largest_difference(drawn, softer) < SPECK


def largest_difference(one, other):
    """The pixels of the largest connected part in which two pictures clearly differ.

    A mean over the picture would not show it: most of a picture is empty.
    """
    left = set(zip(*np.nonzero(abs(one - other).max(axis=2) > 0.25), strict=True))
    largest = 0
    while left:
        part = edge = {left.pop()}
        while edge:
            near = {(y + i, x + j) for y, x in edge for i in (-1, 0, 1) for j in (-1, 0, 1)}
            edge = near & left
            left -= edge
            part |= edge
        largest = max(largest, len(part))
    return largest


@pytest.mark.parametrize("lab", DRAWN, ids=lambda lab: lab.name)
def test_it_stands_in_the_title_cell_with_a_sentence_for_those_who_cannot_see_it(lab):
    title = build_notebook(lab, "student").cells[0]
    assert list(title.attachments) == ["picture.png"]
    words, _, _ = title.source.partition("](attachment:picture.png)")
    assert words.rpartition("![")[2].endswith(".")


@pytest.mark.parametrize("lab", DRAWN, ids=lambda lab: lab.name)
def test_no_words_leave_the_picture_or_lie_on_each_other(lab):
    figure = part_of(lab.topic, "picture").draw().figure
    page = figure.bbox
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
