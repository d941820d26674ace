"""A player draws a moment once: played a second time, it is as fast as the page."""

import pytest
from shown import controls_of

from labkit.measuring.panels import panels, say
from labkit.measuring.widgets import Control, Frames, player

LAST = 4


@pytest.fixture
def drawn():
    """The moments that were drawn, in order."""
    return []


@pytest.fixture
def controls(drawn):
    pytest.importorskip("ipywidgets")

    def picture(played, moment):
        drawn.append((played["n"], moment))
        with panels(1, 1, (2, 1)) as (figure, _):
            return say(figure, f"{played['n']}, moment {moment}")

    column = [Control("n", "n", 1, (1, 2)), Frames("moment", lambda played: LAST, 300)]
    found, picture_box = controls_of(player([column], dict, picture))
    drawn.clear()
    return found, picture_box


def go_through(controls):
    found, picture = controls
    shown = []
    for moment in range(1, LAST + 1):
        found["moment"].value = moment
        shown.append(picture.value)
    found["moment"].value = 0
    return shown


def test_a_moment_is_drawn_once(controls, drawn):
    first = go_through(controls)
    assert sorted(drawn) == [(1, moment) for moment in range(1, LAST + 1)]
    drawn.clear()
    assert go_through(controls) == first
    assert drawn == [(1, LAST)]  # the end is compared with the end of the run before
    assert len(set(first)) == LAST


def test_another_choice_is_drawn_again(controls, drawn):
    go_through(controls)
    drawn.clear()
    controls[0]["n"].value = 2
    go_through(controls)
    assert {moment for n, moment in drawn if n == 2} == set(range(LAST + 1))
