"""Answers that are alike stand in one group, and every answer in one only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.desk.answers import Answer, AnswerSheet
from autograder.desk.groups import ALONE, BLANK, NEAR, OWN, SAME, groups_of
from autograder.desk.rubric import Question
from labkit.checks.handin import WRITTEN_STUB

LONG = (
    "The cache is proportional to the batch size and to the length, because each token of each "
    "sequence adds the same number of bytes, and nothing else is stored."
)
MODEL = "During training, gradients and optimizer states stand beside the weights in the memory."
RUBRIC = "*Marking (1 point):*\n\n* *0.5 for gradients.*\n* *0.5 for the state of the optimizer.*"

MODELS = (MODEL, f"{MODEL}\n\n{RUBRIC}")


def kinds(texts):
    return {name: group.kind for group in groups_of(texts, *MODELS) for name in group.members}


def test_each_kind_of_group_is_found():
    texts = {
        "empty": " \n", "stub": WRITTEN_STUB, "a": LONG, "b": LONG.upper().replace(",", " ;"),
        "c": LONG.replace("bytes", "byte"), "own": MODEL + "!", "all": f"{MODEL} {RUBRIC}",
        "d": "Linear.", "e": "linear", "f": "Lineal", "g": "A wholly other answer.",
    }  # fmt: skip
    assert kinds(texts) == {
        "empty": BLANK, "stub": BLANK, "a": NEAR, "b": NEAR, "c": NEAR, "own": OWN, "all": OWN,
        "d": NEAR, "e": NEAR, "f": ALONE, "g": ALONE,
    }  # fmt: skip


def test_other_numbers_make_another_short_answer():
    assert kinds({"a": "It takes 1.5 GB.", "b": "It takes 15 GB.", "c": "It takes -1.5 GB."}) == {
        "a": ALONE, "b": ALONE, "c": ALONE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The slope is −1, so the cache < weights.", "The slope is 1, so the cache > weights."),
        ("It holds that a != b for every batch.", "It holds that a = b for every batch."),
        ("The ratio is ≥ 3 there", "The ratio is ≤ 3 there"),
        ("It takes 10² steps.", "It takes 102 steps."),
        ("speed ~~falls~~ rises", "speed falls rises"),
        ("word " * 1300 + "therefore yes", "word " * 1300 + "therefore no, the contrary"),
        ("<", ">"),
    ],
)
def test_what_may_mean_something_else_is_not_the_same(one, other):
    assert SAME not in kinds({"a": one, "b": other}).values()
    assert kinds({"a": one, "b": f" {one.upper()}\n"}) == {"a": SAME, "b": SAME}


def test_the_same_text_beside_other_code_is_not_the_same():
    texts = dict.fromkeys("abc", LONG)
    found = groups_of(texts, *MODELS, beside={"a": "x = 1", "b": "x = 1", "c": "x = 2"})
    assert [(group.kind, group.members) for group in found] == [(NEAR, ("a", "b", "c"))]
    same = groups_of(texts, *MODELS, beside=dict.fromkeys("abc", "x = 1"))
    assert [group.kind for group in same] == [SAME]


def test_answers_about_other_code_of_their_own_get_no_common_mark():
    question = Question("01_memory", "growth", 1.0, "Explain `n`.", "", "", (), "")
    code = {"a": {"n": "n = 1"}, "b": {"n": "n = 2"}, "c": {}, "d": {}}
    answers = {name: Answer(name, None, LONG, own=own) for name, own in code.items()}
    assert {group.kind for group in AnswerSheet(question, answers).groups.values()} == {NEAR}
    blank = {name: Answer(name, None, "", own=own) for name, own in code.items()}
    assert {group.kind for group in AnswerSheet(question, blank).groups.values()} == {BLANK}


@given(st.dictionaries(st.text("abc", min_size=1), st.text(), max_size=20))
def test_every_answer_is_in_one_group(texts):
    members = [name for group in groups_of(texts, *MODELS) for name in group.members]
    assert sorted(members) == sorted(texts)
