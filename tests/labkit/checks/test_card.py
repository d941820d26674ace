"""What a check shows: each thing once, the first failure open, no hint before a try, readable."""

import re

import pytest

from labkit.checks import card
from labkit.checks.card import MARKS, Once, as_html, as_text, groups_of
from labkit.checks.core import GATE_SENTENCE, Check, Finding


def finding(name, status, message="", gate=False, cause=""):
    check = Check(name, "f", f"It {name}s.", f"Try {name}.", 1, bool, print, gate)
    return Finding(check, status, message, cause)


PASSED = [finding("add", "passed"), finding("pop", "passed")]
FAILED = [finding("sort", "failed", "expected 1, got 2."), finding("hash", "failed", "it is 3.")]
TODO = [finding("add", "todo", "not written yet."), finding("pop", "todo", "not written yet.")]


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("status", MARKS)
def test_a_mark_can_be_read_on_any_page(status):
    """The sign is white on its own colour: the page's does not matter."""
    assert (1.05) / (luminance(MARKS[status].color) + 0.05) >= 4.5
    assert f'aria-label="{MARKS[status].word}"' in card.mark(status)
    assert len({mark.sign for mark in MARKS.values()}) == len(MARKS)


def test_no_text_has_a_colour_that_a_theme_may_swallow():
    page = as_html("f", [*PASSED, *FAILED, *TODO], 6)
    colors = re.findall(r"(?<![-\w])color:([^;\"]+)", page)
    assert set(colors) == {"#fff"}


def test_one_mistake_is_reported_once():
    raised = "your code raised ValueError: no (line 5, in f: return g(x))"
    same = [finding(name, "failed", f"{name}: {raised}") for name in ("add", "pop", "sort")]
    assert len(groups_of(same)) == 1
    assert as_text("f", same, 3).count("ValueError") == 1
    assert as_html("f", same, 3).count("ValueError") == 1
    assert as_html("f", TODO, 3).count("not written yet") == 1


def test_checks_that_name_one_cause_are_one_group():
    cause = "Query heads were counted. Multiply by n_kv_heads."
    same = [finding(n, "failed", f"{n}: expected 1, got 2. {cause}", cause=cause) for n in "ab"]
    assert len(groups_of(same)) == 1
    assert len(groups_of([*same, finding("c", "failed", "c: expected 1, got 3.")])) == 2


def test_no_sentence_stands_twice():
    missed = [finding(n, "failed", f"{n} is 3. Return seconds.", gate=True) for n in "ab"]
    for report in (as_text("f", missed, 3), as_html("f", missed, 3)):
        assert "a is 3." in report and "b is 3." in report
        assert report.count("Return seconds.") == report.count(GATE_SENTENCE) == 1


def test_a_log_stays_whole():
    once = Once()
    logs = [f"The log of {n}:\n   0.1 s. Taken.\n   0.2 s. Gone." for n in (1, 2)]
    assert [once(text) for text in [*logs, logs[0]]] == [*logs, ""]


def test_the_first_failure_is_open_and_what_passed_is_folded():
    page = as_html("f", [*PASSED, *FAILED], 4)
    first, second = page.index("It sorts."), page.index("It hashs.")
    assert first < second < page.index("2 checks passed")
    assert "<details>" not in page[:first]
    assert "<details>" in page[first:second]


def test_a_hint_comes_after_a_try():
    assert "Try" not in as_html("f", TODO, 2) + as_text("f", TODO, 2)
    assert "Try sort." in as_html("f", FAILED, 2)
    assert "hint: Try sort." in as_text("f", FAILED, 2)


def test_what_is_only_read_earns_nothing_and_bears_a_neutral_mark():
    read = [finding("add", "read", "Read; marked when you hand it in.")]
    assert "marked when you hand it in" in as_text("f", read, 2)
    assert "✓" not in as_html("f", read, 2)
