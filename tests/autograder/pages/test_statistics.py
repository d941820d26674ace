"""The class in numbers: against plain definitions, and where there is too little to say."""

import random
import statistics as plain
from dataclasses import replace
from pathlib import Path

import pytest
from classroom import result
from hypothesis import given
from hypothesis import strategies as st

from autograder.pages.statistics import (
    FEWEST_FOR_DISCRIMINATION,
    check_statistics,
    distribution,
    frequent_causes,
    slowest,
)
from autograder.record.results import UNGRADABLE, Result
from labkit.checks.core import Wrong

EARLIER = Path(__file__).with_name("results_before_causes.jsonl")  # as once graded
MARKS = st.lists(st.integers(0, 1000).map(lambda n: n / 100), max_size=40)


def with_score(student, score, max_score=10.0):
    return Result(student, "01_memory", "graded", score, max_score)


def by_check(results):
    return {row.claim: row for row in check_statistics(results)}


@given(marks=MARKS)
def test_every_mark_is_in_one_bin_and_the_edges_say_in_which(marks):
    found = distribution([with_score(str(i), mark) for i, mark in enumerate(marks)])
    assert sum(found.bins) == len(marks)
    for i, n in enumerate(found.bins[:-1] if marks else ()):
        low, high = found.edges[i], found.edges[i + 1]
        assert n == pytest.approx(sum(low <= mark < high for mark in marks), abs=1e-9)


@given(marks=MARKS)
def test_mean_median_and_spread_are_what_they_are_called(marks):
    found = distribution([with_score(str(i), mark) for i, mark in enumerate(marks)])
    assert found.mean == (plain.fmean(marks) if marks else None)
    assert found.spread == (plain.stdev(marks) if len(marks) > 1 else None)
    if marks:
        assert found.quartiles[1] == pytest.approx(plain.median(marks))


def test_who_has_no_mark_is_in_no_number():
    nobody = result("x", status=UNGRADABLE, score=None)
    rows = [result("a", (1, 0)), nobody]
    assert distribution(rows).marks == [1.0]
    assert {row.n for row in check_statistics(rows)} == {1}
    assert distribution([nobody]).quartiles == []


def test_discrimination_is_the_correlation_with_the_points_of_all_other_checks():
    rng = random.Random(3)
    rows = [result(str(i), [rng.random() < 0.5 for _ in range(5)]) for i in range(60)]
    for i, (claim, row) in enumerate(by_check(rows).items()):
        passed = [float(each.checks[i].passed) for each in rows]
        rest = [each.score - each.checks[i].points for each in rows]
        found = row.discrimination
        assert found.correlation == pytest.approx(plain.correlation(passed, rest)), claim
        assert found.low < found.correlation < found.high


def test_a_check_that_separates_is_told_from_one_that_good_students_fail():
    rows = [result(str(i), (i > 20, i > 20, i > 25, i < 20)) for i in range(40)]
    found = by_check(rows)
    assert found["Claim a."].discrimination.meaning == "separates"
    assert "look at this check first" in found["Claim d."].discrimination.meaning


def test_a_check_that_goes_with_nothing_is_called_so():
    rows = [result(str(i), (i % 2, i < 30, i < 30)) for i in range(60)]
    assert "hardly related to other checks" in by_check(rows)["Claim a."].discrimination.meaning


@pytest.mark.parametrize(
    ("passed", "n", "meaning"),
    [
        ((1, 0), 40, "everybody passed"),
        ((0, 1), 40, "nobody passed"),
    ],
)
def test_what_all_pass_or_fail_has_no_correlation(passed, n, meaning):
    rows = [result(str(i), (*passed, i % 2)) for i in range(n)]
    found = by_check(rows)["Claim a."].discrimination
    assert found.correlation is None
    assert meaning in found.meaning


def test_too_few_marks_are_said_to_be_too_few():
    rows = [result(str(i), (i % 2, i % 3 == 0)) for i in range(FEWEST_FOR_DISCRIMINATION - 1)]
    found = by_check(rows)["Claim a."].discrimination
    assert found.correlation is None
    assert "too few" in found.meaning
    more = [*rows, result("z", (1, 0))]
    assert by_check(more)["Claim a."].discrimination.correlation is not None


def test_equal_points_elsewhere_leave_nothing_to_compare_with():
    rows = [result(str(i), (i % 2, 1)) for i in range(30)]
    assert "nothing to compare" in by_check(rows)["Claim a."].discrimination.meaning


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (Wrong("the bytes", expected="1", got="8", why="Bits for bytes? 16 are 2."),
         "Bits for bytes? 16 are 2."),
        (Wrong("the bytes of a batch", expected="9", got="1"), "the bytes of a batch"),
        (Wrong("the keys", expected="1", got="2", where="index [0, 0]", why="It is a copy."),
         "It is a copy."),
        (Wrong("at 0.8 s, nothing is done", cause="The loop idles."), "The loop idles."),
    ],
)  # fmt: skip
def test_the_cause_is_the_misconception_else_what_was_compared(wrong, cause):
    rows = [result(name, (0,), messages={"a": wrong}) for name in "ab"]
    [found] = frequent_causes(rows)
    assert (found.text, found.n) == (cause, 2)
    assert found.example == f"On a hidden case: {wrong.sentences()}"


def test_what_is_left_open_is_no_misconception():
    rows = [result(name, (0,)) for name in "xyz"]
    assert frequent_causes(rows) == []
    assert check_statistics(rows)[0].n_unwritten == 3


def test_what_is_not_judged_is_counted_apart_and_is_no_misconception():
    rows = [result(name, (0, 1)) for name in "xyz"]
    rows = [
        replace(row, checks=[replace(row.checks[0], status="unjudged", cause=""), row.checks[1]])
        for row in rows
    ]
    first, second = check_statistics(rows)
    assert (first.n_passed, first.n_unwritten, first.n_unjudged) == (0, 0, 3)
    assert (second.n_passed, second.n_unjudged) == (3, 0)
    assert frequent_causes(rows) == []


def test_what_was_compared_is_counted_together_at_the_numbers_of_other_cases():
    def rows(*texts):
        return [result(text, (0,), messages={"a": Wrong(text)}) for text in texts]

    [cause] = frequent_causes(rows("the row of (4, 1_024)", "the row of (16, 64)", "the column"))
    assert (cause.n, cause.text) == (2, "the row of (4, 1_024)")
    assert frequent_causes(rows("Gamma 64 is left out.", "Gamma 1 is left out.")) == []


def test_misconceptions_are_counted_by_student_and_not_by_their_numbers():
    def wrong(name, got):
        it = Wrong(
            "the batch", expected="9", got=str(got), why=f"{got} is double.", cause="Double."
        )
        return result(name, (0, 0, 1), messages={"a": it, "b": it})

    other = Wrong("the batch", expected="9", got="1", why="It shrinks.")
    rows = [
        wrong("a", 18),
        wrong("b", 27),
        wrong("c", 36),
        result("d", (0, 1), messages={"a": other}),
    ]
    [cause] = frequent_causes(rows)
    assert (cause.n, cause.exercise) == (3, "exercise_0")
    assert cause.text == "Double."
    assert cause.claims == ("Claim a.", "Claim b.")
    assert "expected 9, got 18. 18 is double." in cause.example


def test_a_line_of_the_version_before_is_counted_as_passed_or_failed_and_for_no_cause():
    row = Result.from_json(EARLIER.read_text())
    assert {(check.passed, check.status) for check in row.checks} == {
        (True, "passed"),
        (False, "failed"),
    }
    found = check_statistics([row, row])
    assert sum(each.n_passed for each in found) == 2 * sum(check.passed for check in row.checks)
    assert {each.n_unwritten for each in found} == {0}
    assert frequent_causes([row, row]) == []
    assert Result.from_json(row.to_json()) == row


def test_what_only_one_student_got_wrong_is_not_frequent():
    assert frequent_causes([result("a", (0,), messages={"a": "On a hidden case: it."})]) == []


def test_a_cause_has_a_bounded_length():
    rows = [result(name, (0,), messages={"a": Wrong("; expected " * 50_000)}) for name in "ab"]
    assert len(frequent_causes(rows)[0].text) <= 240


def test_the_slowest_come_first():
    rows = [result(name, seconds=s) for name, s in (("a", 1.0), ("b", 3.0), ("c", 3.0))]
    assert [each.student for each in slowest(rows, 2)] == ["b", "c"]
