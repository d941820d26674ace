"""The picture before lies pale over the one of now, where the two can be compared."""

import io

import numpy
import pytest
from PIL import Image
from shown import controls_of

from labkit.labs.throughput.widget import CHOSEN, draw, roofline_explorer
from labkit.measuring.plots import GROUND, ghost_bytes, png_bytes
from labkit.measuring.records import recorded_results

RECORD = recorded_results("throughput-*.jsonl")["throughput-cpu"]


def pixels(png):
    return numpy.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def rgb(color):
    return numpy.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])


def is_near(image, color):
    return (abs(image - rgb(color)) < 12).all(axis=2)


def drawn(batch_size):
    figure = draw(RECORD, batch_size)
    png_bytes(figure)
    return figure


def test_the_ghost_has_the_lines_of_before_and_no_words():
    now = drawn(16)
    ghost = pixels(ghost_bytes(drawn(1), now))
    image = pixels(png_bytes(now, sharpness=1))
    assert ghost.shape == image.shape
    assert is_near(ghost, CHOSEN).any() and is_near(image, CHOSEN).any()
    assert not (is_near(ghost, CHOSEN) & is_near(image, CHOSEN)).all()
    assert is_near(ghost[:20], GROUND).all()  # the title
    assert not is_near(image[:20], GROUND).all()


def test_axes_that_span_something_else_are_not_compared():
    now = drawn(16)
    now.axes[0].set_xlim(1, 7)
    assert ghost_bytes(drawn(1), now) == b""


def test_another_number_of_axes_is_not_compared():
    now = drawn(16)
    now.add_axes((0, 0, 0.1, 0.1))
    assert ghost_bytes(drawn(1), now) == b""


def test_a_widget_shows_the_choice_before_after_a_change():
    pytest.importorskip("ipywidgets")
    controls, picture = controls_of(roofline_explorer(RECORD))
    assert "Pale" not in picture.value and picture.value.count("<img") == 1
    controls["batch"].value = 16
    assert "Pale: the choice before." in picture.value
    assert picture.value.count("<img") == 2
