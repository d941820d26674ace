"""The frame around checks: what passes, what fails, what counts as not done, what students see."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
import torch

from labkit.bridge.local import local_student
from labkit.bridge.requests import value_of
from labkit.bridge.wire import is_array
from labkit.checks import Unfinished, Wrong, check, play_check
from labkit.checks.answers import AnswerCase, fields_of
from labkit.checks.compare import (
    expect_equal,
    expect_mapping,
    expect_number,
    number_in,
    show,
    truth_in,
)
from labkit.checks.core import GATE_SENTENCE, Finding, share_of_points
from labkit.checks.forms import numbers_in
from labkit.checks.notebook import Report
from labkit.checks.tensors import expect_tensor


@check("double", hint="2 x", weight=3)
def doubles(student, case):
    """Twice the number comes back."""
    expect_number(student.double(case), 2 * case, "the double", factors={0.5: "It was returned."})


@check("double", hint="minus", applies_to=lambda case: case < 0)
def keeps_the_sign(student, case):
    """The sign stays."""
    if number_in(student.double(case), "the double") > 0:
        raise Wrong("the sign", expected="-", got="+")


CHECKS = [doubles.check, keeps_the_sign.check]


def play(function, cases=(3, -2), hidden=False):
    student = local_student({"double": function})
    return [play_check(one, student, cases, hidden=hidden) for one in CHECKS]


def test_a_right_answer_passes_every_check():
    assert [finding.status for finding in play(lambda x: 2 * x)] == ["passed", "passed"]
    assert all(finding.passed for finding in play(lambda x: numpy.int64(2 * x)))


def test_a_wrong_answer_fails_with_case_expectation_and_cause():
    first, second = play(lambda x: abs(x))
    assert first.message == "3: the double; expected 6, got 3. It was returned."
    assert second.status == "failed"


def test_a_hidden_case_is_not_in_the_message():
    assert "-2:" not in play(lambda x: abs(2 * x), hidden=True)[1].message
    assert play(lambda x: 0, hidden=True)[0].message.startswith("On a hidden case: ")


def test_an_answer_of_ones_own_is_no_hidden_case():
    class Own(int):
        is_own = True

    assert play(lambda x: 0, [Own(3), -2], hidden=True)[0].message.startswith("3: ")


def test_what_is_not_written_is_not_wrong():
    def stub(x):
        raise NotImplementedError

    assert {finding.status for finding in play(stub)} == {"todo"}
    assert play_check(CHECKS[0], local_student({}), [1]).status == "todo"


def test_what_calls_something_unwritten_says_so():
    names = {}
    stub = "raise NotImplementedError"
    helper = f"class Helper:\n def half(self):\n  {stub}\n"
    exec(helper + "def double(x):\n return Helper().half()", names)
    assert play(names["double"])[0].message == "this calls `Helper.half`, which is not written yet."
    exec(f"def double(x):\n {stub}", names)
    assert play(names["double"])[0].message == "not written yet."


def test_a_check_without_cases_cannot_pass():
    with pytest.raises(ValueError, match="no case"):
        play_check(CHECKS[1], local_student({"double": lambda x: x}), [1])


def test_points_follow_the_weights():
    assert Report("double", play(lambda x: abs(2 * x), cases=[3, -2]), 2).earned == 0
    assert Report("double", play(lambda x: x, cases=[-2]), 2).earned == 0.5
    assert Report("double", play(lambda x: 2 * x), 2).earned == 2


def test_while_a_gate_fails_an_exercise_earns_at_most_half():
    law, sign = CHECKS[0], replace(CHECKS[1], gate=True)
    passed, missed = Finding(law, "passed"), Finding(sign, "failed", "No.")
    assert share_of_points([passed, missed], 8) == [4, 0]
    assert share_of_points([passed, Finding(sign, "passed")], 8) == [6, 2]
    assert share_of_points([Finding(law, "failed"), missed], 8) == [0, 0]
    assert GATE_SENTENCE in str(Report("double", [passed, missed], 8))


def test_what_is_not_decided_neither_costs_nor_gives():
    law, sign = CHECKS[0], replace(CHECKS[1], gate=True)
    open_law = Finding(law, "undecided", "It took too long.")
    assert share_of_points([open_law, Finding(sign, "passed")], 8) == [6, 2]
    assert share_of_points([open_law, Finding(sign, "failed")], 8) == [0, 0]
    assert share_of_points([Finding(law, "passed"), Finding(sign, "undecided")], 8) == [6, 2]
    assert share_of_points([open_law, Finding(sign, "undecided")], 8) == [0, 0]


def test_a_report_is_a_page_in_a_notebook_and_a_number_for_nbgrader():
    bundle = Report("double", play(lambda x: "<script>"), 2)._repr_mimebundle_()
    assert bundle["text/plain"] == "0"
    assert "<script>" not in bundle["text/html"]
    assert "<details>" in bundle["text/html"]


@pytest.mark.parametrize("answer", [True, "6", None, [6], float("nan"), torch.ones(2), object()])
def test_only_a_number_is_a_number(answer):
    with pytest.raises(Wrong):
        expect_number(answer, 6, "the answer")


@pytest.mark.parametrize("answer", [Fraction(6), Decimal("6.0"), Fraction(12, 2)])
def test_an_exact_number_of_the_students_is_a_number(answer):
    expect_number(value_of(local_student({"answer": answer}).answer), 6, "the answer")
    with pytest.raises(Wrong):
        expect_number(value_of(local_student({"answer": answer + 1}).answer), 6, "the answer")


@pytest.mark.parametrize(
    "one",
    [Fraction(1, 2), Decimal("0.5"), torch.tensor(0.5), numpy.array([0.5]), numpy.float32(0.5)],
)
def test_an_exact_number_is_one_wherever_a_number_is_taken(one):
    student = local_student({"cell": {"a": one, "b": {"c": one}}, "row": [one, 2], "one": one})
    answer = fields_of(student, AnswerCase("cell"), ("a", "b"))
    assert number_in(answer["a"], "a") == 0.5
    assert number_in(expect_mapping(answer["b"], ("c",), "b")["c"], "c") == 0.5
    assert numbers_in(value_of(student.row), "the row") == [0.5, 2]
    if not is_array(one):
        expect_equal(value_of(student.row), [0.5, 2], "the row")
        expect_tensor(value_of(student.row), torch.tensor([0.5, 2]), "the row")
    with pytest.raises(Wrong):
        number_in(value_of(local_student({"x": object()}).x), "x")


@pytest.mark.parametrize("kind", [Fraction, Decimal, int])
def test_a_whole_exact_number_keeps_all_its_digits(kind):
    student = local_student({"half": lambda n: kind(n) // 2})
    assert student.half(2**81 + 2) == 2**80 + 1


@pytest.mark.parametrize("answer", [True, numpy.bool_(True), torch.tensor(True), torch.ones(1) > 0])
def test_a_truth_value_of_one_element_is_true_or_false(answer):
    assert truth_in(value_of(local_student({"answer": answer}).answer), "the answer") is True


@pytest.mark.parametrize("answer", [1, "True", None, torch.ones(2) > 0, object()])
def test_only_a_truth_value_is_true_or_false(answer):
    with pytest.raises(Wrong):
        truth_in(value_of(local_student({"answer": answer}).answer), "the answer")


@pytest.mark.parametrize("answer", [Decimal("NaN"), Decimal("-Infinity"), Fraction(10**999)])
def test_an_exact_number_that_no_float_is_is_refused(answer):
    with pytest.raises(Wrong):
        expect_number(value_of(local_student({"answer": answer}).answer), 6, "the answer")


def test_an_object_that_gives_another_number_at_every_look_is_none():
    guesses = iter(range(10))
    look = {"as_integer_ratio": lambda self: (next(guesses), 1)}
    student = local_student({"answer": type("Fraction", (), look)()})
    with pytest.raises(Wrong, match="plain value"):
        number_in(value_of(student.answer), "the answer")
    assert next(guesses) == 0


def test_a_blank_is_unfinished():
    student = local_student({"answer": {"unit": ...}, "blank": ...})
    for value in (value_of(student.answer), value_of(student.blank)):
        with pytest.raises(Unfinished):
            expect_equal(value, 1, "the answer")


def test_true_is_not_one():
    with pytest.raises(Wrong):
        expect_equal([True], [1], "the flags")


def test_tensors_are_compared_by_shape_then_values_then_place():
    expected = torch.arange(6.0).reshape(2, 3)
    expect_tensor(expected.half(), expected, "it")
    expect_tensor(expected.tolist(), expected, "it")
    with pytest.raises(Wrong, match="the shape of it"):
        expect_tensor(expected.T, expected, "it")
    wrong = expected.clone()
    wrong[1, 2] = float("nan")
    with pytest.raises(Wrong) as caught:
        expect_tensor(wrong, expected, "it")
    assert caught.value.where == "index [1, 2]"


def test_show_keeps_messages_short():
    assert show(14_000_000_000) == "14,000,000,000"
    assert show(0.1) == "0.1"
    assert len(show("x" * 1000)) <= 120


def test_full_points_are_full():
    """Three thirds are one: nbgrader calls anything below the maximum a failed test."""
    thirds = [replace(CHECKS[0], weight=1)] * 3
    assert sum(share_of_points([Finding(each, "passed") for each in thirds], 1)) == 1
