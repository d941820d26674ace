"""What a saved notebook keeps of a player is alive in any page: no kernel, no server."""

import pytest

from labkit.labs.throughput.widget import draw
from labkit.measuring.plots import strip_html
from labkit.measuring.records import recorded_results

N = 4
PLACES = "box => [Math.round(box.scrollLeft), box.clientWidth]"


@pytest.fixture(scope="module")
def figures():
    record = recorded_results("throughput-*.jsonl")["throughput-cpu"]
    return [draw(record, batch_size) for batch_size in (1, 2, 4, 8)]


@pytest.fixture
def strip(browser, figures):
    page = browser.new_page(viewport={"width": 900, "height": 900})
    page.set_content(f"<!doctype html><body>{strip_html(figures)}</body>")
    yield page
    page.close()


def place(page):
    left, wide = page.locator("[tabindex]").evaluate(PLACES)
    return left / wide


def test_buttons_go_on_and_back_and_stay_at_the_ends(strip):
    places = []
    for label in ("next", "next", "back", "back", "back"):
        strip.get_by_role("button", name=label).click()
        places.append(place(strip))
    assert places == [1, 2, 1, 0, 0]


def test_play_begins_anew_and_ends_at_the_last_moment(strip):
    strip.get_by_role("button", name="next").click()
    strip.clock.install()
    strip.get_by_role("button", name="play").click()
    assert place(strip) == 0
    for _ in range(N + 2):
        strip.clock.run_for(1000)
    assert place(strip) == N - 1


def test_without_scripts_every_moment_can_still_be_seen(browser, figures):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.set_content(f"<!doctype html><body>{strip_html(figures)}</body>")
    assert page.locator("img").count() == N
    assert len({image.get_attribute("alt") for image in page.locator("img").all()}) == N
    page.close()
