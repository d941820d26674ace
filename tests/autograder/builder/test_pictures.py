"""The pictures that open the labs: drawn by code, in the notebook, with alternative text."""

import pytest
from matplotlib.image import imread

from autograder.builder.notebooks import build_notebook
from autograder.builder.pictures import picture_path
from autograder.builder.source import read_labs
from autograder.labs import part_of

DRAWN = [lab for lab in read_labs() if part_of(lab.topic, "picture")]


@pytest.mark.parametrize("lab", DRAWN, ids=lambda lab: lab.name)
def test_the_committed_picture_is_what_the_code_draws(lab, tmp_path):
    path = tmp_path / "again.png"
    part_of(lab.topic, "picture").draw().save(path)
    again, committed = imread(path), imread(picture_path(lab))
    assert again.shape == committed.shape
    assert abs(again - committed).mean() < 0.002


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
