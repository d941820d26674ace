"""Questions as a notebook shows them, the summary, and what a check shows below an answer."""

import re
import subprocess
import sys

import pytest

from labkit.checks.notebook import Checker
from labkit.labs.papers.figures import PLOTS
from labkit.labs.papers.items import explained, items, number_in, options_for
from labkit.labs.papers.questions import AskedItem, Asker

ME = {"student_id": "b1", "language": "en"}
NAMES = [name for item in items().values() for name in item.answers]


def shown_by_check(name, answer):
    report = Checker("papers", ME | {name: answer})(name, points=0.25)
    return report._repr_mimebundle_()["text/html"]


def test_a_question_has_its_options_in_the_students_order_and_says_what_to_write():
    text = str(Asker(ME)("q02", ...))
    rows = [f"* **{letter}**: {items()['q02'].options['en'][option]}"
            for letter, option in options_for(items()["q02"], "b1").items()]  # fmt: skip
    assert text.endswith("\n".join(rows))
    assert "**Choose 3. Write their letters into the cell.**" in text
    assert "[arXiv:2211.17192](https://arxiv.org/abs/2211.17192), sections 3.1" in text


def test_a_question_for_numbers_has_the_students_numbers_and_their_units():
    text = str(Asker(ME | {"language": "zh"})("q16_numbers", ...))
    assert text.startswith("**Q16 · 數一數讀了多少（計算）**")
    assert text.endswith("* `instead` (與該句相同)\n* `tile_kv` (列)\n* `reads` (個元素)")
    assert "{" not in text


def test_every_question_is_complete_in_both_languages():
    for language in ("en", "zh"):
        for name in NAMES:
            shown = Asker(ME | {"language": language})(name)._repr_mimebundle_()
            assert shown["text/markdown"] == shown["text/plain"]
            assert shown["text/plain"].startswith(f"**{name[:3].upper()} · ")
            assert "\n\n\n" not in shown["text/plain"]


def test_without_an_id_it_asks_for_one():
    for missing in ({}, {"student_id": ...}, {"student_id": " "}, {"student_id": None}):
        assert "`student_id`" in str(Asker(missing)("q02", "A"))
    assert "學號" in str(Asker({"language": "zh"})("q02", ...))


ODD = ["A", 10**5000, object(), {"written": 1}, [[]], float("nan"), None]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_values_do_not_keep_a_question_from_being_shown(odd):
    names = {"student_id": "\ud800" * 9, "language": odd, "q02": odd}
    for name in NAMES:
        assert str(Asker(names)(name, odd)).startswith("**Q")


def test_a_question_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="no question 'q21'; there are q01, q02"):
        Asker(ME)("q21", ...)


def test_a_question_needs_neither_ipywidgets_nor_ipython():
    code = (
        "import sys; sys.modules.update(ipywidgets=None, IPython=None);"
        "from labkit.labs.papers.questions import Asker;"
        "print(Asker({'student_id': 'b1'})('q02', 'A C E'))"
    )
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown == f"{Asker(ME)('q02')}\n"


def test_the_summary_has_a_line_for_every_answer():
    half = {"instead": 1, "tile_kv": 1, "reads": ...}
    names = ME | {"q02": "A C E", "q05": "A Z", "q16_numbers": half}
    lines = str(Asker(names).summary()).splitlines()
    assert len(lines) == 36
    assert lines[:2] == [
        "* `q01`: not answered yet.",
        "* `q02`: A C E, 3 of 3 letters; marked when you hand it in.",
    ]
    assert "* `q05`: there is no option Z; they end with E." in lines
    assert "* `q16_numbers`: `reads` is not filled in yet." in lines


def test_reasons_are_shown_once_they_are_there_and_the_answer_is(monkeypatch):
    options = items()["q05"].options["en"]
    key = {"right": ["top-k"], "en": {"why": dict.fromkeys(options, "Because.")}}
    assert explained(items()["q05"]) is None
    monkeypatch.setattr("labkit.labs.papers.questions.explained", lambda item: key)
    for answer, n_reasons in ((..., 0), ("Z", 0), ("A B", 0), ("B", len(options))):
        text = str(Asker(ME)("q05", answer))
        assert (text.count("Because."), text.count("✓")) == (n_reasons, n_reasons > 0)
    numbers = {"numbers": {"en": "By counting.\n"}}
    monkeypatch.setattr("labkit.labs.papers.questions.explained", lambda item: numbers)
    question = AskedItem(items()["q03"], "q03_numbers", "b1", "en")
    assert question.reasons({"top_kept": 1, "any_kept": ...}) == []
    assert question.reasons({"top_kept": 1, "any_kept": 2}) == ["By counting."]


@pytest.mark.parametrize(
    ("name", "answer", "sentence"),
    [
        ("q02", "A C E", "A C E, 3 of 3 letters; marked when you hand it in."),
        ("q05", "a", "A; marked when you hand it in."),
        ("q02", "A C Z", "q02: there is no option Z; they end with E."),
        ("q01", 42, "q01: the answer should be letters, such as &quot;A C&quot;; it is 42."),
        ("q03_numbers", {"top_kept": "x", "any_kept": 1},
         "q03_numbers: <code>top_kept</code> is not a number: &#x27;x&#x27;."),
        ("q02", ..., "not answered yet."),
    ],
)  # fmt: skip
def test_a_check_shows_one_sentence_and_no_claim(name, answer, sentence):
    html = shown_by_check(name, answer)
    assert html.count(sentence) == 1
    for word in ("chosen", "directly followed", "for your own values", "hint"):
        assert word not in html


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("2,260,992", 2260992), (" 7 ", 7), ("１２", 12), ("-3", -3), ("1e6", 1e6), ("0.5", 0.5),
        ("", None), ("ten", None), ("1 GB", None), ("__import__('os')", None),
    ],
)  # fmt: skip
def test_numbers_as_people_type_them(typed, number):
    assert number_in(typed) == number


def test_the_printed_page_has_every_question_in_both_languages(tmp_path):
    path = tmp_path / "page.html"
    said = Asker({"student_id": "<b>1", "language": "zh"}).printed(str(path))
    assert str(path) in str(said) and "列印" in str(said)
    text = path.read_text(encoding="utf-8")
    assert text.count('<section lang="en">') == text.count('<section lang="zh-Hant">') == len(NAMES)
    for item in items().values():
        for language in ("en", "zh"):
            assert item.title[language] in text
    assert "&lt;b&gt;1" in text and "<b>1" not in text
    assert not re.search(
        r"\*\*|`|^\||<(script|link)\b|https?:[^\"]*\.(png|css)", text, re.MULTILINE
    )
    n_figures = sum(item.name in PLOTS for item in items().values())
    assert text.count("<img ") == text.count('src="data:image/png;base64,') == n_figures >= 10
    n_tables = sum("|---|" in item.question["en"] for item in items().values())
    assert text.count("<table>") == 2 * n_tables > 0
    n_code = sum("```" in item.question["en"] for item in items().values())
    assert text.count("<pre>") == 2 * n_code


def test_a_notebook_shows_the_figure_below_the_question_and_code_alone_draws_none(monkeypatch):
    shown, drawn = [], []
    monkeypatch.setattr("IPython.display.display", lambda each, **_: shown.append(each))
    monkeypatch.setattr("labkit.labs.papers.figures.draw", lambda plot, _: drawn.append(plot))
    page = Asker(ME)("q14", ...)
    assert str(page) and drawn == []
    page._ipython_display_()
    assert shown == [page._repr_mimebundle_()] and drawn == [PLOTS["q14"]]
    for name in ("q14_numbers", "q01"):
        Asker(ME)(name, ...)._ipython_display_()
    assert drawn == [PLOTS["q14"]]


def test_without_an_id_no_page_is_written(tmp_path):
    path = tmp_path / "page.html"
    assert "`student_id`" in str(Asker({}).printed(str(path)))
    assert not path.exists()
