"""Keys of oral questions that are true, also for hostile code; two students with two sheets."""

from collections import Counter
from dataclasses import replace

import pytest
from instances import some_of
from oral_keys import HALF, cells_of, is_true, sheet_of

from autograder.judging.asking.sheet import CHANGE, LINE, SWAP, TRACE
from labkit.checks.why.changes import definition_in

SWAPPED = (
    HALF.partition("    left_bytes")[0]
    + """\
    left_bytes = vram_bytes
    n_least = 0
    left_bytes -= overhead_bytes
    n_most = vram_bytes
    left_bytes //= bytes_per_param
    return int(max(n_least, min(n_most, left_bytes)))
"""
)
HOSTILE = {
    "one line": "def largest_model(v, o=0, b=2): return max(0, (v - o) // b if b > 0 else int(''))",
    "random when changed": HALF.replace("    left_bytes", """\
    import time
    seven = 7
    if seven != 7:
        return time.time_ns()
    left_bytes"""),
    "endless when changed": HALF.replace("    left_bytes", """\
    while bytes_per_param < 1:
        vram_bytes = vram_bytes + 1
    i = 0
    while i != 3:
        i += 1
    left_bytes"""),
    "ends its process when changed": HALF.replace("    left_bytes", """\
    if 3 != 3:
        raise SystemExit
    left_bytes"""),
    "draws numbers": HALF.replace("    left_bytes", """\
    import torch
    n_drawn = int(torch.randint(0, 9, ())) + bytes_per_param
    left_bytes"""),
    "recursive": HALF.replace("    if n_params < 0:", """\
    if vram_bytes > 0 and overhead_bytes < 0:
        return largest_model(vram_bytes - overhead_bytes, 0, bytes_per_param)
    if n_params < 0:"""),
    "halves itself": HALF.replace("    left_bytes = ", """\
    if overhead_bytes:
        rest = largest_model(vram_bytes - overhead_bytes, 0, bytes_per_param)
        return rest
    left_bytes = """),
    "5,000 digits": HALF.replace("    if n", f"    n_params += 0x{'f' * 5000} * 0\n    if n"),
    "gigantic": HALF.replace("    left_bytes", "    vram_bytes += 0\n" * 3000 + "    left_bytes"),
    "nested deep": HALF.replace("vram_bytes - o", "vram_bytes" + " + 0" * 2000 + " - o"),
}  # fmt: skip

# The others take seconds each. The rewritten code runs there again and again, or up to a limit.
QUICK = ("random when changed", "ends its process when changed", "gigantic")


def test_the_keys_are_true_and_equal_code_has_other_questions_for_another_student(slot):
    cells = cells_of(largest_model=HALF)
    sheets = [sheet_of(slot, seed, largest_model=HALF) for seed in ("ann", "bob")]
    for sheet in sheets:
        assert not sheet.problem and len(sheet.questions) >= 3
        assert sheet.seconds < 20  # on a busy machine; about 2 alone
        for question in sheet.questions:
            assert is_true(question, definition_in(cells, question.exercise)), question
            assert len(set(question.options)) == len(question.options) == 4
            assert f"{question.line:>3}  " in dict(sheet.code)[question.exercise]
    asked = [{(each.exercise, each.kind, each.line, each.code) for each in sheet.questions}
             for sheet in sheets]  # fmt: skip
    assert asked[0] != asked[1]
    assert sheet_of(slot, "ann", largest_model=HALF).questions == sheets[0].questions


def test_in_a_class_no_question_dominates_and_keys_are_everywhere(slot):
    asked = [each for i in range(12) for each in sheet_of(slot, f"student {i}").questions]
    assert len(asked) == 12 * 6
    texts = Counter((each.exercise, each.sentence, each.code) for each in asked)
    assert len(texts) > 0.8 * len(asked) and max(texts.values()) < 4
    letters = Counter(each.letter for each in asked)
    assert min(letters[each] for each in "ABCD") > 8  # of 72; fewer in 1 of 300 classes
    assert Counter(each.exercise for each in asked)["n_params"] >= 12  # the largest one


def test_each_kind_is_asked_with_a_true_key(slot):
    found = {}
    for seed in range(12):
        sheet = sheet_of(slot, f"seed {seed}", ("largest_model",), largest_model=HALF)
        found |= {each.kind: each for each in sheet.questions}
        if {LINE, CHANGE, TRACE} <= found.keys():
            break
    assert {LINE, CHANGE, TRACE} <= found.keys()
    assert all(is_true(each, HALF) for each in found.values())


def test_of_four_swaps_one_differs(slot):
    sheets = (
        sheet_of(slot, f"seed {seed}", ("largest_model",), largest_model=SWAPPED)
        for seed in range(12)
    )
    asked = next(each for sheet in sheets for each in sheet.questions if each.kind == SWAP)
    assert is_true(asked, SWAPPED)
    assert not is_true(replace(asked, right=(asked.right + 1) % 4), SWAPPED)


@pytest.mark.parametrize("how", some_of(HOSTILE, *QUICK))
def test_hostile_code_gets_no_wrong_key(slot, how):
    source = HOSTILE[how]
    for seed in ("ann", "bob"):
        sheet = sheet_of(slot, seed, ("largest_model",), largest_model=source)
        assert sheet.seconds < 30
        for question in sheet.questions:
            assert is_true(question, source), question
        assert not any("What is `n_drawn`" in each.sentence for each in sheet.questions)
        random = [each for each in sheet.questions if "seven != 7" in each.edit]
        assert not any("What is the value of" in each.sentence for each in random)
