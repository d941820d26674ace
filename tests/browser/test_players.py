"""What a saved notebook keeps of a player is alive in any page: no kernel, no server.

`labkit show` plays it with the keys, and draws the choices of a calculator on a page of its own.
"""

import threading
from itertools import product
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from axe_rules import keeps_the_rules

from labkit import cli
from labkit.labs import live, show
from labkit.labs.throughput.widget import draw
from labkit.measuring.plots import strip_html
from labkit.measuring.records import recorded_results
from labkit.measuring.widgets import Control

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


@pytest.fixture
def large(browser):
    page = browser.new_page(viewport={"width": 1920, "height": 1080})
    yield page
    page.close()


def test_a_shown_player_answers_to_arrows_and_a_remote_without_a_click(large, figures):
    large.set_content(show.page_of("player", strip_html(figures)))
    large.wait_for_selector("img")
    places = []
    for key in ("ArrowRight", "PageDown", "Space", "PageUp", "ArrowLeft"):
        large.keyboard.press(key)
        places.append(round(place(large)))
    assert places == [1, 2, 3, 2, 1]
    assert large.locator("img").first.bounding_box()["height"] >= 0.75 * 1080
    letters = large.locator("button, figcaption").evaluate_all(
        "parts => parts.map(part => parseFloat(getComputedStyle(part).fontSize))"
    )
    assert min(letters) >= 1080 / 36
    keeps_the_rules_in_every_window(large)


def keeps_the_rules_in_every_window(page):
    for width, scheme in product((1920, 1280, 900, 390), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        keeps_the_rules(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


@pytest.fixture(params=["throughput", pytest.param("memory", marks=pytest.mark.slow)])
def served(request, monkeypatch):
    """The address of a calculator, as `labkit show NAME` opens it."""
    opened, made = threading.Event(), []
    make_server = live.make_server
    monkeypatch.setattr(
        live, "make_server", lambda *args: made.append(make_server(*args)) or made[0]
    )
    monkeypatch.setattr("webbrowser.open", lambda _: opened.set())
    thread = threading.Thread(target=cli.main, args=(["show", request.param],))
    thread.start()
    assert opened.wait(120)
    yield f"http://127.0.0.1:{made[0].server_port}/"
    made[0].shutdown()
    thread.join(30)


def test_a_calculator_draws_what_the_lecturer_chooses_by_keyboard(large, served):
    large.goto(served)
    large.wait_for_selector("main img")
    said = large.locator("output").first.inner_text()
    for control, key in (("select", "ArrowDown"), ("input", "ArrowRight")):
        before = large.locator("main img").get_attribute("alt")
        while not large.evaluate("name => document.activeElement.matches(name)", control):
            large.keyboard.press("Tab")
        large.keyboard.press(key)
        large.wait_for_function(
            "before => document.querySelector('main img').alt !== before", arg=before
        )
    assert large.locator("output").first.inner_text() != said
    keeps_the_rules_in_every_window(large)


@pytest.mark.parametrize("query", ["", "model=0", "model=0&batch_size=99", "model=x&batch_size=0"])
def test_a_choice_that_does_not_exist_draws_nothing(query):
    controls = [
        Control("model", "model", "a", ["a"], is_menu=True),
        Control("batch_size", "b", 1, (1, 2)),
    ]
    server = live.make_server(str, controls, lambda **chosen: pytest.fail(str(chosen)))
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(HTTPError, match="404") as caught:
            urlopen(f"http://127.0.0.1:{server.server_port}/picture?{query}")
        caught.value.close()
        server.shutdown()
        thread.join(30)
