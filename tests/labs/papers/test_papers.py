"""Items, their shuffling and their numbers, and how answers to them are read."""

import tomllib
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, play_check, share_of_points
from labkit.checks.notebook import Checker
from labkit.labs.papers import items as papers
from labkit.labs.papers.answers import UnreadableAnswer, letters_of
from labkit.labs.papers.checks.marks import ItemCase
from labkit.labs.papers.items import (
    item_of,
    items,
    number_in,
    numbers_text,
    options_for,
    parameters_for,
    read_item,
)
from labkit.labs.papers.parameters import TABLES
from labkit.models.facts import data_path
from labkit.models.own_numbers import folded
from tests.known.papers import every_item

IDS = [f"b{n}" for n in range(40)]
CHOICE, ORDER = items()["q02"], items()["q01"]
WITH_NUMBERS = [item for item in items().values() if item.numbers]
WITH_OWN = [item for item in WITH_NUMBERS if item.numbers.parameters]
GOOD = """
id = "q99"
title = {en = "Title", zh = "標題"}
source = ["a paper"]
kind = "choice"
n_right = 1
[en]
question = "Which?"
[en.options]
one = "One."
two = "Two."
[zh]
question = "哪個？"
[zh.options]
one = "一。"
two = "二。"
"""


def student(**names):
    return local_student({"student_id": "b1", "language": "en", **names})


def said(answer, **names):
    """The one sentence that the check of an answer shows in the notebook."""
    check = Checker("papers", {"student_id": "b1", "language": "en", **names})
    found = check(answer, points=0.25).findings
    (message,) = {finding.message for finding in found if finding.status != "unjudged"}
    return message.removeprefix(f"{answer}: ")


def test_there_are_twenty_items_and_most_of_them_ask_for_numbers():
    assert list(items()) == [f"q{n:02d}" for n in range(1, 21)]
    assert len(WITH_NUMBERS) == 16
    assert len(WITH_OWN) == 13


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('zh = "標題"', 'de = "Titel"', "has no 'zh'"),
        ('two = "二。"', 'three = "三。"', "same options"),
        ('two = "二。"', 'two = " "', "empty"),
        ("n_right = 1", "n_right = 2", "2 right ones of 2"),
        ("n_right = 1", "", "0 right ones"),
        ('kind = "choice"', 'kind = "guess"', "guess"),
        ('kind = "choice"', "", "has no 'kind'"),
        ("n_right = 1", "n_right = ", "q99_bad.toml"),
        ("[en]", '[numbers]\nparameters = ["n"]\nen = "{n}"\nzh = "{n}"\nfields = {x = "m"}\n[en]',
         "parameters"),
    ],
)  # fmt: skip
def test_an_item_that_is_not_complete_is_refused_by_its_files_name(tmp_path, old, new, message):
    path = tmp_path / "q99_bad.toml"
    path.write_text(GOOD)
    assert read_item(path).n_letters == 1
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as refused:
        read_item(path)
    assert "q99_bad.toml" in str(refused.value)


def test_items_say_nothing_about_what_is_right():
    for path in data_path("papers").rglob("*.toml"):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        assert set(content) <= {"id", "title", "source", "kind", "n_right", "en", "zh", "numbers"}
        for language in ("en", "zh"):
            assert set(content[language]) == {"question", "options"}
            ids = list(content[language]["options"])
            assert ids == sorted(ids), path.name


@given(st.text(max_size=20))
def test_the_order_of_options_depends_on_the_id_alone(student_id):
    shown = options_for(CHOICE, student_id)
    assert shown == options_for(CHOICE, f" {folded(student_id)}\t")
    assert list(shown) == list("ABCDE")
    assert sorted(shown.values()) == sorted(CHOICE.options["en"])


def test_ids_are_compared_without_capitals_and_blanks():
    for item in items().values():
        assert options_for(item, " B12901001 ") == options_for(item, "b12901001")
        assert parameters_for(item, "B12901001\n") == parameters_for(item, "b12901001")


def test_an_id_may_be_anything():
    for strange in ("\ud800", "\x00", "王小明", "x" * 10**6):
        assert sorted(options_for(CHOICE, strange).values()) == sorted(CHOICE.options["en"])
        assert said("q02", q02="A C E", student_id=strange).startswith("A C E")


def test_every_option_comes_under_every_letter():
    for item in items().values():
        n = len(item.options["en"])
        seen = {pair for i in range(600) for pair in options_for(item, f"b{i}").items()}
        assert len(seen) == n * n


def test_two_students_get_different_numbers_in_most_items():
    for one, other in zip(IDS[::2], IDS[1::2], strict=True):
        pairs = [(parameters_for(i, one), parameters_for(i, other)) for i in WITH_OWN]
        assert sum(a != b for a, b in pairs) >= 6


def test_a_students_numbers_stand_in_the_question():
    for item, language in product(WITH_NUMBERS, papers.LANGUAGES):
        text = numbers_text(item, "b1", language)
        assert "{" not in text
        for value in parameters_for(item, "b1").values():
            assert (f"{value:,}" if isinstance(value, int) else str(value)) in text


def test_the_tables_are_those_of_the_items():
    own = {name for name, item in every_item().items() if item.numbers and item.numbers.parameters}
    assert set(TABLES) == own
    with pytest.raises(ValueError, match="no question 'q21'; there are q01, q02"):
        item_of("q21")


RIGHT_WAYS = [
    "A C E", "a c e", "A,C,E", "ACE", "Ａ、Ｃ、Ｅ", "A; C; E.", " A\tC\nE ", "A, C and E",
    "[A, C, E]", "A/C/E", "(A) (C) (E)", ["A", "C", "E"], ("a", "c", "e"), ["A C", "E"],
    "A -> C -> E", "A → C → E", "A 和 C 和 E", "A 及 C 及 E", "A AND C And E", "A & C & E",
    "A + C + E", "A=C=E", "A · C ・ E", "A – C — E", "A ⇒ C => E", "A_C_E", "`A` `C` `E`",
    "\u200bA\ufeff C\u2060 E\u200d", "1. A 2. C 3. E", "1) A, 2) C, 3) E", "（1）A （2）C （3）E",
    ["1. A", "2. C", "3. E"], "1、A 2、C 3、E", "A) C) E)", "選 A、C、E", "答案：A、C、E",
    "选项 A, C, E", "答案是 A 和 C 和 E。", "選項A，選項C，選項E",
]  # fmt: skip


@pytest.mark.parametrize("written", RIGHT_WAYS, ids=str)
def test_letters_are_read_in_every_dress(written):
    assert letters_of(CHOICE, written, "en") == ["A", "C", "E"]
    assert said("q02", q02=written) == "A C E, 3 of 3 letters; marked when you hand it in."


def test_a_set_is_a_choice_but_no_order():
    assert sorted(letters_of(CHOICE, {"E", "A", "C"}, "en")) == ["A", "C", "E"]
    with pytest.raises(UnreadableAnswer, match="should be letters"):
        letters_of(ORDER, set("ABCDE"), "en")


@pytest.mark.parametrize("blank", [None, ..., "", "  ", [], {}, set(), {"a": ...}], ids=str)
def test_a_blank_answer_is_not_answered_yet(blank):
    assert said("q02", q02=blank) == "not answered yet."
    assert said("q02", q02=blank, language="zh") == "尚未作答。"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("A C", "the answer should have 3 letters, and has 2: A C."),
        ("A B C D", "the answer should have 3 letters, and has 4: A B C D."),
        ("A C Z", "there is no option Z; they end with E."),
        ("A C 3", "there is no option 3; they end with E."),
        ("2. A 1. C 3. E", "there is no option 2; they end with E."),
        ("A A C", "you gave the letter A twice: A A C."),
        (42, 'the answer should be letters, such as "A C"; it is 42.'),
        (["A", 2, "C"], "the answer should be letters, such as \"A C\"; it is ['A', 2, 'C']."),
        ({"a": 1}, "the answer should be letters, such as \"A C\"; it is {'a': 1}."),
        (object(), 'the answer should be letters, such as "A C"; it is <a object of yours>.'),
        ("x" * 10**6, "there is no option X; they end with E."),
        ("A" * 10**6, "you gave the letter A twice: " + "A " * 28 + "A...."),
        ("A C \ud800", "there is no option ?; they end with E."),
        ("A\x00C", "there is no option ?; they end with E."),
        (10**99, f'the answer should be letters, such as "A C"; it is 1{"0" * 56}....'),
    ],
    ids=lambda value: str(type(value)),
)  # fmt: skip
def test_what_is_no_answer_is_named(written, message):
    assert said("q02", q02=written) == message


@pytest.mark.parametrize("missing", [..., "", "   ", None, 1.5, [], True, 10**4200], ids=str)
def test_without_an_id_nothing_is_read_and_nothing_breaks(missing):
    message = "write your student id into `student_id`: your letters and numbers depend on it."
    assert said("q02", q02="A C E", student_id=missing) == message
    assert said("q02", q02="A C E", student_id=12901001).startswith("A C E")
    (finding, _) = Checker("papers", {"q02": "A"})("q02", points=0.25).findings
    assert finding.message == "the notebook does not define student_id."


@pytest.mark.parametrize("language", [..., None, 5, "fr", "EN ", []], ids=str)
def test_any_other_language_is_english(language):
    found = said("q02", q02="A", language=language)
    assert found == "the answer should have 3 letters, and has 1: A."
    assert said("q02", q02="A", language="zh-TW").startswith("讀到 1 個字母")


def test_numbers_are_read_field_by_field():
    assert said("q03_numbers", q03_numbers={"top_kept": 0.5, "any_kept": ...}) == (
        "`any_kept` is not filled in yet."
    )
    values = {"top_kept": np.float32(0.5), "any_kept": np.array([0.58])}
    assert said("q03_numbers", q03_numbers=values).startswith("top_kept = 0.5, any_kept = 0.58")
    assert said("q03_numbers", q03_numbers=[1, 2]).startswith("the answer should be a dict with")
    values = {"top_kept": " 5e-1", "any_kept": "1,024"}
    assert said("q03_numbers", q03_numbers=values).startswith("top_kept = 0.5, any_kept = 1,024;")
    for strange in ("half", "nan", True, float("nan"), float("inf"), 10**400, [1]):
        values = {"top_kept": strange, "any_kept": 1}
        assert said("q03_numbers", q03_numbers=values).startswith("`top_kept` is not a number")


def test_the_notebook_does_not_say_whether_an_answer_is_right():
    """Whatever complete answer is given, the same words are said of it."""
    for item in items().values():
        known = "ABCDEFGH"[: len(item.options["en"])]
        texts = set()
        for letters in (known[: item.n_letters], known[::-1][: item.n_letters]):
            report = Checker("papers", {"student_id": "b1", item.id: letters})(item.id, points=0.5)
            shown = report._repr_mimebundle_()
            texts.add(shown["text/html"].replace(f"</span> {' '.join(letters)}", "-"))
            assert {finding.status for finding in report.findings} == {"read"}
            assert shown["text/plain"] == "0" and "right" not in shown["text/html"]
        assert len(texts) == 1


class Key:
    """A key in which the first letters are right, in their order."""

    def __init__(self, item):
        self.item = item
        self.why = {"en": dict.fromkeys(item.options["en"], "Because.")}

    def letters(self, student_id):
        return list("ABCDEFGH"[: self.item.n_letters])


def credit(item, letters, points=1):
    case = ItemCase(item.id, Key(item))
    group = checks_of("papers")[item.id]
    played = [play_check(c, student(**{item.id: letters}), [case], hidden=True) for c in group]
    return sum(share_of_points(played, points)), played


@pytest.mark.parametrize(
    ("item_id", "letters", "expected"),
    [
        ("q02", "ABC", 1), ("q02", "ABD", 1 / 3), ("q02", "ADE", 0), ("q02", "CBA", 1),
        ("q03", "ABCD", 1), ("q03", "ABCE", 1 / 2), ("q03", "ABEF", 0),
        ("q04", "AB", 1), ("q04", "AC", 0), ("q04", "CD", 0),
        ("q05", "A", 1), ("q05", "B", 0),
        ("q02", "AB", 0), ("q02", "ABCD", 0), ("q02", "AAB", 0), ("q02", "", 0),
    ],
)  # fmt: skip
def test_letters_earn_the_right_ones_less_the_wrong_ones(item_id, letters, expected):
    assert credit(items()[item_id], letters)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("letters", "n_steps"),
    [("ABCDE", 4), ("BCDEA", 3), ("DEABC", 3), ("BACDE", 2), ("EDCBA", 0), ("ACBDE", 1)],
)
def test_an_order_earns_its_steps_that_follow_each_other(letters, n_steps):
    assert credit(ORDER, letters)[0] == pytest.approx(n_steps / 4)


def test_a_wrong_choice_is_explained_in_the_students_letters():
    message = credit(CHOICE, "ABD")[1][-1].message
    assert "of your letters A B D, 2 of 3 are right." in message
    assert "You missed C. Because." in message and "You chose D. Because." in message


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [("80 ms", "ms", 80), ("80ms", "ms", 80), ("0.08 s", "ms", None), ("80 MS", "ms", 80),
     ("80 m", "ms", None),
     ("50 %", "probability", 0.5), ("５０％", "probability", 0.5), ("11/20", "probability", 0.55),
     ("11 / 0", "probability", None), ("1/2/3", "probability", None), ("%" * 999, "ratio", None),
     ("1.5x", "ratio", 1.5), ("1,024 tokens", "tokens", 1024), ("1 token", "tokens", 1),
     ("12 tokens/s", "tokens per s", 12), ("12 tokens per s", "tokens per s", 12),
     ("3e12 FLOPs", "FLOP", 3e12),
     ("\N{MINUS SIGN}7.1 %", "percent", -7.1), ("-7.1", "percent", -7.1),
     ("2,048 B", "bytes", 2048), ("7 rows", "tokens", None)],
)  # fmt: skip
def test_a_number_may_have_its_unit_and_be_a_percentage_or_a_fraction(text, unit, expected):
    assert number_in(text, unit) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2,260,992", 2260992), ("1,024.5", 1024.5), ("-3,000", -3000), ("１，０２４", 1024),
     ("1e3", 1000.0), ("0,5", None), ("12,34", None), ("", None), ("half", None)],
)  # fmt: skip
def test_commas_stand_between_thousands_and_nowhere_else(text, expected):
    assert number_in(text) == expected
