"""What an oral question may change, and how a value is written on a page."""

from random import Random

import numpy as np
import pytest
import torch

from autograder.builder.source import read_labs
from autograder.judging.asking.candidates import OtherResult
from autograder.judging.asking.edits import is_askable, stops_of, swaps_of
from autograder.judging.asking.options import alike, neighbours
from autograder.judging.asking.proposed import Proposed
from autograder.judging.asking.search import SLOW, SLOWEST, in_order
from autograder.judging.asking.stage import Exercise, shown
from autograder.judging.child.survey import is_telling
from labkit.checks.tables.calls import Call
from labkit.checks.why.changes import Change, changes_of

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


def test_two_lines_of_a_block_change_places():
    swaps = swaps_of(MEAN, "mean")
    assert [each.lines for each in swaps] == [(6, 7), (9, 10)]
    for each in swaps:
        compile(each.definition, "swapped", "exec")
    assert "last = x * 2  # twice\n        total += x" in swaps[1].definition


def test_a_stop_returns_the_value_of_a_variable_after_its_line():
    stops = stops_of(MEAN, "mean")
    assert [(each.line, each.variable) for each in stops] == [(9, "total"), (10, "last")]
    names = {}
    exec(stops[0].definition, names)
    assert names["mean"]([3, 4]) == (stops[0].mark, 3)  # line 7 reads arguments alone
    assert stops_of("def f():\n    x = [1]\n    yield x\n", "f") == []


HALVES = """\
def mean(xs):
    n = len(xs)
    if n < 2:
        return xs[0]
    left = mean(xs[: n // 2])
    return left / 2 + mean(xs[n // 2 :]) / 2
"""


def test_where_a_function_calls_itself_no_stop_is_the_first():
    assert stops_of(HALVES, "mean") == []
    assert stops_of(HALVES.replace("mean(xs[", "other(xs["), "mean") != []


def test_a_number_of_thousands_of_digits_is_left_as_it_is():
    source = MEAN.replace("x * 2", f"0x{'f' * 5000} * x - 2")
    assert [each.instead for each in changes_of(source, "mean") if each.line == 10] == [
        "",
        f"last = 0x{'f' * 5000} * x - 3  # twice",
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


def test_a_change_tells_something_if_some_claims_fail_and_some_hold():
    assert [is_telling(each) for each in ("ppf", "pf", "fff", "ppp", "ppft", "")] == [
        True, False, False, False, False, False,
    ]  # fmt: skip


def test_one_slow_exercise_is_asked_about_and_others_after_all():
    names = ["speculative", "Scheduler", "does_fit", "PagedCache", "Request"]
    assert in_order(names) == (["Scheduler", "does_fit", "Request"], ["PagedCache", "speculative"])
    known = {cell.name for lab in read_labs() for cell in lab.exercises}
    assert known >= SLOW | SLOWEST and not SLOW & SLOWEST


def test_a_change_that_does_not_end_is_no_result_of_a_call():
    exercise = Exercise("mean", MEAN, [], [], (Call(([3, 4],), {}),))
    proposed = Proposed.of(exercise, Random(1), 8)
    signs = ["" if i % 2 else "ppf" for i in range(len(proposed.played))]
    told = proposed.told(signs)
    for i, each in enumerate(proposed.played):
        assert (each in told.ending) is (isinstance(each, Change) and i % 2 == 0)
    asked = [each.change for each in told.candidates(exercise, Random(1))
             if isinstance(each, OtherResult)]  # fmt: skip
    assert asked and set(asked) <= set(told.ending)
