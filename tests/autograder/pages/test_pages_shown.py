"""Whatever an answer holds, its HTML runs nothing and loads nothing."""

from html import unescape

import pytest
from desk_store import HOSTILE, is_harmless
from hypothesis import given
from hypothesis import strategies as st

from autograder.pages.shown import MOST_CHARS, MOST_FORMULA_CHARS, as_code, shown

PIXEL = {"picture-0": {"image/png": "iVBORw0KGgo="}, "picture-1": {"image/svg+xml": "<svg/>"}}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_are_harmless(name):
    html = shown(HOSTILE[name], PIXEL)
    assert is_harmless(html)
    assert len(html) < 40 * MOST_CHARS


PIECES = (
    "< > ( ) [ ] ! ` $ \\ : & # ; \" ' a script javascript: data: onload= href svg http://x".split()
)


@given(st.lists(st.sampled_from([*PIECES, " ", "\n", "attachment:picture-1"]), max_size=60))
def test_any_mixture_is_harmless(pieces):
    assert is_harmless(shown("".join(pieces), PIXEL))


def test_markdown_formulas_and_pasted_pictures_are_shown():
    html = shown("**so** $a_1 * b_2$ ![plot](attachment:picture-0) ![x](http://x/y.png)", PIXEL)
    assert "<strong>so</strong>" in html
    assert "a_1 * b_2" in html
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in html
    assert "http://x/y.png" not in html


def test_marks_that_turn_the_direction_are_seen_and_what_is_cut_is_reported():
    assert "[U+202E]" in shown("a\u202eb")
    assert "[U+2066]" in as_code("a\u2066b")
    assert "5 more characters are not shown." in shown("a" * (MOST_CHARS + 5))


UNDRAWN = (r"\href{javascript:alert(1)}{x}", r"\hspace{99999}", r"\input{/etc/passwd}", "中",
           "{" * 9 + "}" * 9, "x" * 301, r"\unknown")  # fmt: skip


def test_formulas_are_drawn_and_others_stand_as_their_text():
    html = shown(r"$\frac{a}{b} \le \text{KV}$ and $$\sum_{i=1}^n L_i$$")
    assert html.count('src="data:image/png;base64,') == 2
    assert r'alt="\frac{a}{b} \le \text{KV}"' in html
    for formula in UNDRAWN:
        assert "<img" not in (html := shown(f"${formula}$"))
        assert formula in unescape(html)


def test_so_many_formulas_that_a_page_would_wait_stand_as_text():
    html = shown(" ".join(f"$x_{{{i}}}$" for i in range(1000)))
    assert 0 < html.count("<img") <= MOST_FORMULA_CHARS // 5
    assert "x_{999}" in html
