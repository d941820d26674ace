"""Answers that are alike stand in one group, and every answer in one only."""

from hypothesis import given
from hypothesis import strategies as st

from autograder.desk.groups import ALONE, BLANK, NEAR, OWN, SAME, groups_of
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
        "d": SAME, "e": SAME, "f": ALONE, "g": ALONE,
    }  # fmt: skip


def test_other_numbers_make_another_short_answer():
    assert kinds({"a": "It takes 1.5 GB.", "b": "It takes 15 GB.", "c": "It takes -1.5 GB."}) == {
        "a": ALONE, "b": ALONE, "c": ALONE,
    }  # fmt: skip


@given(st.dictionaries(st.text("abc", min_size=1), st.text(), max_size=20))
def test_every_answer_is_in_one_group(texts):
    members = [name for group in groups_of(texts, *MODELS) for name in group.members]
    assert sorted(members) == sorted(texts)
