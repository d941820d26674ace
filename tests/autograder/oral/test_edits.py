"""What an oral question may change, and how a value is written on a page."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder.builder.source import read_labs
from autograder.judging.asking import plays as asked_plays
from autograder.judging.asking.candidates import _said
from autograder.judging.asking.edits import Swap, is_askable, noted, roles_of, slips_of, swaps_of
from autograder.judging.asking.options import alike, crossed, neighbours
from autograder.judging.asking.plays import (
    CHOICE,
    TEXTS,
    Play,
    plays_of,
    plays_of_calls,
    staged,
)
from autograder.judging.asking.proposed import Proposed
from autograder.judging.asking.search import SLOW
from autograder.judging.asking.stage import Exercise, is_alike, shown
from autograder.judging.child.survey import is_telling
from autograder.proof.matrix import namespace_of
from labkit.checks.tables.calls import Call
from labkit.checks.why.changes import Change, changes_of, left_out

MEAN = '''\
import math


def mean(xs, low=0):
    """The mean."""
    total = 0
    n = len(xs)
    for x in xs:
        total += x
        last = x * 2  # twice
    def inner():
        own = n + 1
        return own
    return total / n
'''


def test_two_equal_lines_are_no_swap():
    source = "def twice(wait, run):\n    wait()\n    run()\n    wait()\n"
    assert [swap.lines for swap in swaps_of(source, "twice")] == [(2, 3), (3, 4)]


def test_two_lines_of_a_block_change_places():
    swaps = swaps_of(MEAN, "mean")
    assert [each.lines for each in swaps] == [(6, 7), (9, 10)]  # those of one block
    for each in swaps:
        compile(each.definition, "swapped", "exec")
    assert "last = x * 2  # twice\n        total += x" in swaps[1].definition


def test_notes_have_the_value_of_a_variable_each_time_its_line_has_run():
    assert "last" not in {each.variable for each in noted(MEAN, "mean")[0]}  # nothing reads it
    spots, definition = noted(MEAN.replace("return total", "return last * 0 + total"), "mean")
    assert [(each.line, each.variable) for each in spots] == [
        (9, "total"), (10, "last"), (12, "own"),
    ]  # fmt: skip
    names, seen = {"__note__": lambda *note: seen.append(note)}, []
    exec(definition, names)
    assert names["mean"]([3, 4]) == 3.5  # line 7 reads arguments alone
    assert seen == [(9, "total", 3), (10, "last", 6), (9, "total", 7), (10, "last", 8)]
    assert noted("def f():\n    x = [1]\n    yield x\n", "f")[0] == []


COUNTER = """\
class Counter:
    def __init__(self):
        self.n = 0

    def add(self, k):
        before, self.n = self.n, self.n + k
        self.n -= 1
        return self.add(0) if before < 0 else before
"""


def test_what_an_earlier_call_has_left_is_noted_but_not_where_a_method_calls_itself():
    spots, _ = noted(COUNTER.replace("self.add", "max"), "Counter")
    assert [(each.line, each.variable) for each in spots] == [
        (6, "before"), (6, "self.n"), (7, "self.n"),
    ]  # fmt: skip
    assert noted(COUNTER, "Counter")[0] == []


HALVES = """\
def mean(xs):
    n = len(xs) + 1
    if n < 3:
        return xs[0]
    left = mean(xs[: n // 2])
    return left / 2 + mean(xs[n // 2 :]) / 2
"""


def test_where_a_function_calls_itself_no_time_is_the_first():
    assert noted(HALVES, "mean")[0] == []
    assert noted(HALVES.replace("mean(xs[", "other(xs["), "mean")[0] != []


def test_every_play_is_code_and_has_numbers_of_its_own():
    names = {part.partition("\n")[0] for part in TEXTS.split("=== ")[1:]}
    assert names <= {cell.name for lab in read_labs() for cell in lab.exercises}
    assert names >= SLOW - {"count_operations"}
    for name in names:
        plays = plays_of(name, Random(1))
        compile(staged("", plays, 1), name, "exec")
        assert not any(CHOICE.search(each.text) for each in plays)
        assert (
            len({each.text for each in plays} | {each.text for each in plays_of(name, Random(2))})
            > 2
        )


def test_every_play_gives_a_short_value_with_the_answer():
    for lab in read_labs():
        names = namespace_of(lab) | {"torch": torch, "SimpleNamespace": SimpleNamespace}
        for cell in lab.exercises:
            for play in plays_of(cell.name, Random(1)):
                exec(play.lines, names)
                assert shown(eval(play.result, names)), play.text


def test_a_call_is_asked_about_with_other_numbers_too():
    plays = plays_of_calls("f", [Call(([3, 400], True), {"n": 1})], shown, Random(3))
    assert len(plays) == 2 and any(each.result == "f([3, 400], True, n=1)" for each in plays)
    assert all(each.given[1:] == ("True", "1") and not each.lines for each in plays)


def test_a_slip_takes_a_variable_of_the_same_kind_and_never_one_of_another_function():
    source = (
        "class Cache:\n"
        "    def __init__(self, n_heads: int, dim: float):\n"
        "        self.n_heads, self.n_layers = n_heads, 0\n"
        "    def size(self, keys: list, values: list, name: str):\n"
        "        n_keys = len(keys) * self.n_heads\n"
        "        return 2 * n_keys - self.n_layers, name\n"
    )
    changes = slips_of(source, "Cache")
    slips = {(each.line, *each.slip) for each in changes if each.instead}
    assert slips == {
        (3, "0", "1"), (5, "keys", "values"), (6, "n_keys", "keys"),
        (5, "len(keys) * self.n_heads", "self.n_heads"), (5, "self.n_heads", "self.n_layers"),
        (6, "2 * n_keys - self.n_layers", "self.n_layers - 2 * n_keys"),
        (6, "2 * n_keys", "n_keys"), (6, "self.n_layers", "self.n_heads"),
    }  # fmt: skip


def test_a_number_is_named_with_what_it_is_an_index_or_argument_of():
    source = "def f(x):\n    return g(x[-1], 30, dim=0)\n"
    exercise = Exercise("f", source, [], [])
    said = {_said(exercise, each).partition(", ")[2] for each in slips_of(source, "f")}
    assert said == {
        "", "`x[-1]` becomes `x[-2]`.", "`30` becomes `31`.", "`dim=0` becomes `dim=1`."
    }  # fmt: skip


def test_a_number_of_thousands_of_digits_is_left_as_it_is():
    source = MEAN.replace("x * 2", f"0x{'f' * 5000} * x - 2")
    assert [each.instead for each in changes_of(source, "mean") if each.line == 10] == [
        "",
        "last = x - 2  # twice",
    ]


@pytest.mark.parametrize(
    ("source", "is_good"),
    [
        (MEAN, True),
        ("mean = 3", False),
        ("def mean(:", False),
        ("def mean(x):\n    a = 1\f\n    return x\n", False),
        ("def mean(x):\n" + "    x += 1\n" * 500, False),
    ],
)
def test_only_short_definitions_with_plain_lines_are_asked_about(source, is_good):
    assert is_askable(source, "mean") is is_good


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"), (64424509440, "64_424_509_440"), (True, "True"), (None, "None"),
        (0.1 + 0.2, "0.3"),
        ("ab", "'ab'"), ([1, (2,)], "[1, (2,)]"), (torch.tensor([1, 2]), "[1, 2]"),
        (np.ones(2), "[1, 1]"), (torch.zeros(100), ""), ("a" * 100, ""), ([1] * 100, ""),
        (10**100, ""), ({1: 2}, ""), (object(), ""), ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], ""),
    ],
)  # fmt: skip
def test_a_value_has_a_short_form_or_none(value, text):
    assert shown(value) == text


def test_wrong_values_have_the_form_of_the_right_one():
    assert alike("3", ["4", "[4]", "True", "2.5", "'a'"]) == ["4", "2.5"]
    assert alike("(1, 2)", ["(3, 4)", "[3, 4]", "(3, 4, 5)", "3"]) == ["(3, 4)"]
    assert alike("1_000_000_000_000_000", ["4"]) == alike("nan", ["1"]) == []
    assert sorted(neighbours("12_000", Random(1))) == ["11_999", "12_001", "24_000", "6000"]
    assert neighbours("[1]", Random(1)) == neighbours("True", Random(1)) == []


def test_no_part_of_a_value_tells_the_key():
    assert crossed("[1, 2]", ["[3, 4]", "[5, 6]"]) == ["[3, 4]", "[1, 4]", "[3, 2]"]
    both = crossed("(1, 2, 0)", ["(1, 4, 0)", "(3, 2, 0)", "(3, 6, 0)"])
    assert crossed("(1, 2)", ["(3, 2)", "(5, 2)"]) == ["(3, 2)", "(5, 2)"]
    assert both == ["(1, 4, 0)", "(3, 2, 0)", "(3, 6, 0)"]
    assert crossed("(1, 2)", ["(1, 4)", "(1, 5)", "(1, 6)", "(3, 2)"])[:3] == [
        "(3, 4)", "(3, 2)", "(1, 4)",
    ]  # fmt: skip
    assert crossed("[1, (2, 3)]", ["[1, (2, 2)]", "[1, (4, 3)]"]) == ["[1, (2, 2)]", "[1, (4, 3)]"]
    shared = ["[1, 4]", "[3, 2]", "[5, 6]", "[7, 8]"]
    assert crossed("[1, 2]", shared) == shared
    assert crossed("3", ["4", "5"]) == ["4", "5"]


def test_a_line_has_a_name_for_a_reader_without_the_code():
    assert roles_of(COUNTER, "Counter") == {
        3: "the line of `__init__` that sets `self.n`",
        6: "the line of `add` that sets `before` and `self.n`",
        7: "the line of `add` that changes `self.n`",
        8: "the `return` of `add`",
    }
    two = "def f(x):\n for i in x:\n  x[i] = 2\n  f(i)\n  f(x)\n  continue\n"
    assert [*roles_of(two, "f").values()] == [
        "the loop of `f` over `i`",
        "the line of `f` that sets an item of `x`",
        "the first line of `f` that calls `f`",
        "the second line of `f` that calls `f`",
        "the `continue` of `f`",
    ]


def test_a_change_tells_something_if_some_claims_fail_and_some_hold():
    assert [is_telling(each) for each in ("ppf", "pf", "fff", "ppp", "ppft", "")] == [
        True, False, False, False, False, False,
    ]  # fmt: skip


def test_all_lines_that_are_left_out_are_named():
    source = "def f(x):\n    if x:\n        x += 1\n        x += 2\n    x += 3\n    return x\n"
    said = [left_out(each) for each in changes_of(source, "f") if not each.instead]
    assert said == [
        "Lines 2 to 4 are replaced by `pass`.",
        "Line 3 is replaced by `pass`.",
        "Line 4 is replaced by `pass`.",
        "Line 5 is replaced by `pass`.",
        "Line 6 is replaced by `pass`.",
    ]
    block = Change(3, "if x:\n    y", "", "")
    assert left_out(block) == "Lines 3 and 4 are replaced by `pass`."
    assert left_out(Change(3, "x", "y", "")) == "Line 3 is changed."


@pytest.mark.parametrize(("signs", "n_asked"), [("pfff", 4), ("fppp", 4), ("ppff", 0), ("pppp", 0)])
def test_of_the_swaps_one_differs_from_the_others(signs, n_asked):
    exercise = Exercise("mean", MEAN, [], [])
    swaps = tuple(Swap((i, i + 1), str(i)) for i in range(4))
    told = Proposed((), (), swaps).told(signs)
    assert len(told.swaps) == n_asked
    assert len(told.candidates(exercise, Random(1))) == (n_asked > 0)


def test_a_line_that_sets_two_variables_counts_for_each():
    source = "def f(n):\n    path, left = [], n\n    left = n + 1\n    n = left\n    return n\n"
    assert roles_of(source, "f")[2] == "the line of `f` that sets `path` and `left`"
    assert roles_of(source, "f")[3] == "the second line of `f` that sets `left`"
    assert roles_of(source, "f")[4] == "the line of `f` that sets `n`"


@pytest.mark.parametrize(
    ("one", "other", "is_so"),
    [
        ("(54, 158)", "[54.0, 158.0]", True),
        ("[1, None, 'a']", "(1, None, 'a')", True),
        ("10_000", "10000", True),
        ("1e-05", "0.00001", True),
        ("[1, 2]", "[1, -2]", False),
        ("'1e'", "1", False),
        ("'1.2.3'", "'1.2.3'", True),
    ],
)
def test_values_are_alike_if_their_numbers_are(one, other, is_so):
    assert is_alike(one, other) is is_so


def test_the_kits_own_answer_raises_or_takes_long_for_a_play_and_the_others_stay(monkeypatch):
    monkeypatch.setattr(asked_plays, "RIGHT_S", 0.3)
    texts = ["largest_model(8)", "largest_model(8, bytes_per_param=0)"]
    endless = "for _ in iter(int, 1):\n    pass"
    played = [*(Play("", text) for text in texts), Play(endless, "1"), Play("", texts[0])]
    assert asked_plays.results_of("memory", played) == [4, "", "", ""]
