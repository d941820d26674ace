"""A player draws a moment once: played again, it is as fast as the page; saved, it has pictures."""

from base64 import b64decode

import pytest
from instances import slow_unless
from shown import controls_of

from autograder.builder.source import read_labs
from labkit.labs.show import players
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


@pytest.mark.parametrize(
    "topic",
    [
        pytest.param(lab.topic, id=lab.name, marks=slow_unless(lab == read_labs()[0]))
        for lab in read_labs()
        if lab.topic in players()
    ],
)
def test_viewers_that_know_no_widgets_get_pictures(topic):
    pytest.importorskip("ipywidgets")
    made = players()[topic]()
    bundle, _ = made._repr_mimebundle_()
    still, _, film = bundle["text/html"].partition("<details>")
    assert b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert still.count("<img alt=") == still.count(bundle["image/png"]) == 1
    assert film.count("<img alt=") != 1
    assert still == made.children[-1].value or topic == "speculative"  # its still tells more
    assert "application/vnd.jupyter.widget-view+json" in bundle
