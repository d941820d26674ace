"""A poll: guesses become dots and a median; the measured number is hidden until it is asked for."""

import pytest
from playwright.sync_api import expect

from labkit import cli
from labkit.labs.polls import polls
from labkit.measuring.records import recorded_results

(POLL,) = (poll for poll in polls() if poll.name == "poll-flash")


@pytest.fixture
def poll(browser, tmp_path):
    out = tmp_path / "poll.html"
    assert cli.main(["show", POLL.name, "--out", str(out), "--no-open"]) == 0
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(out.as_uri())
    yield page
    page.close()


def add(page, guesses):
    page.fill("input", guesses)
    page.press("input", "Enter")


def is_told(page, said, *marks):
    """Wait until the page says this, and the drawing has these words."""
    expect(page.locator("#said")).to_have_text(said)
    expect(page.locator("svg text")).to_have_text(list(marks))


def test_guesses_are_typed_and_the_measured_number_is_shown_at_last(poll):
    add(poll, "2, 3; 40")
    add(poll, "2.5")
    is_told(poll, "Guesses: 4.", "median guess: 2.75 times")
    assert poll.locator("circle").count() == 4
    poll.get_by_role("button", name="Show what was measured").click()
    measured = POLL.measured(recorded_results())
    ratio = f"The median guess is {2.75 / measured:.2g} times the measured."
    marks = "median guess: 2.75 times", f"measured: {measured:.3g} times"
    is_told(poll, f"Guesses: 4. {ratio}", *marks)


def test_what_is_no_number_is_kept_for_correction(poll):
    add(poll, "3 four")
    is_told(poll, "Type numbers, with spaces between them.")
    assert poll.input_value("input") == "3 four"
