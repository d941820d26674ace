"""The class in numbers: against plain definitions, and where there is too little to say."""

import random
import statistics as plain

import pytest
from classroom import result
from hypothesis import given
from hypothesis import strategies as st

from autograder.pages.statistics import (
    FEWEST_FOR_DISCRIMINATION,
    cause_in,
    check_statistics,
    distribution,
    frequent_causes,
    is_unwritten,
    slowest,
)
from autograder.record.results import UNGRADABLE, CheckResult, Result

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
    assert "look at the check first" in found["Claim d."].discrimination.meaning


def test_a_check_that_goes_with_nothing_is_called_so():
    rows = [result(str(i), (i % 2, i < 30, i < 30)) for i in range(60)]
    assert "hardly goes with the rest" in by_check(rows)["Claim a."].discrimination.meaning


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


MESSAGES = [
    (
        "On a hidden case: the bytes of the weights; expected 86,641,045,966, got 1e+3. Eight "
        "times too large: were bits taken for bytes? 16 bits are 2 bytes.",
        "Eight times too large: were bits taken for bytes?",
    ),
    ("On a hidden case: the bytes of a batch; expected 9, got 1.", "the bytes of a batch"),
    (
        "your answer longest_on_l40s: 1,760 tokens do not follow. Bits were taken for bytes.",
        "Bits were taken for bytes.",
    ),
    (
        "On a hidden case: your code raised ValueError: cannot rewind 5. (line 3, in f: x = '.')",
        "the code raises ValueError",
    ),
    (
        "On a hidden case: the keys; expected 0.42, got 0.13; first difference at index [0, 0]. "
        "It is a copy of the arena.",
        "It is a copy of the arena.",
    ),
    (
        "On a hidden case: at 0.8000 s, the loop does nothing, although one waits. The log up to "
        "there:\n  0.6 s, freed. Something else.",
        "the loop does nothing, although one waits.",
    ),
    ("q06: there is no option Z; they end with F.", "there is no option Z; they end with F."),
    (
        "q03: 您選了 C。Wrong: memory.",
        "Wrong: memory.",
    ),
]


@pytest.mark.parametrize(("message", "cause"), MESSAGES)
def test_the_cause_is_the_misconception_else_what_was_compared(message, cause):
    assert cause_in(message) == cause


@pytest.mark.parametrize(
    "message",
    [
        "not written yet.",
        "this calls `residual`, which is not written yet.",
        "the notebook does not define weight_bytes.",
        "a value is still `...`: fill it in.",
        "write tile_sizes first: your answer is compared with it.",
        "`factor` is not filled in yet.",
        "尚未作答。",
    ],
)
def test_what_is_left_open_is_no_misconception(message):
    assert is_unwritten(message)
    rows = [result(name, (0,), messages={"a": message}) for name in "xyz"]
    assert frequent_causes(rows) == []
    assert check_statistics(rows)[0].n_unwritten == 3


def test_misconceptions_are_counted_by_student_and_not_by_their_numbers():
    def wrong(name, got):
        why = f"On a hidden case: the batch; expected 9, got {got}. {got} was counted twice."
        return result(name, (0, 0, 1), messages={"a": why, "b": why})

    other = "On a hidden case: the batch; expected 9, got 1. It shrinks."
    rows = [
        wrong("a", 18),
        wrong("b", 27),
        wrong("c", 36),
        result("d", (0, 1), messages={"a": other}),
    ]
    [cause] = frequent_causes(rows)
    assert (cause.n, cause.exercise) == (3, "exercise_0")
    assert cause.text == "… was counted twice."
    assert cause.claims == ("Claim a.", "Claim b.")
    assert "expected 9, got 18" in cause.example


def test_a_cause_in_the_same_words_is_shown_as_it_is():
    why = "On a hidden case: it; expected 1, got {}. 16 bits are 2 bytes."
    rows = [result(name, (0,), messages={"a": why.format(i)}) for i, name in enumerate("ab")]
    assert frequent_causes(rows)[0].text == "16 bits are 2 bytes."


def test_what_only_one_student_got_wrong_is_not_frequent():
    assert frequent_causes([result("a", (0,), messages={"a": "On a hidden case: it."})]) == []


@given(message=st.text(max_size=300))
def test_any_message_has_a_cause_of_bounded_length(message):
    assert len(cause_in(message)) <= 240


def test_a_message_made_to_be_slow_is_read_at_once():
    for text in ("; expected " * 50_000, "[" * 500_000, "'" * 500_000, ". " * 250_000, "9," * 9**6):
        check = CheckResult("e", "c", 0, 1, False, f"On a hidden case: {text}")
        rows = [Result(name, "l", "graded", 0.0, 1.0, [check]) for name in "ab"]
        assert len(frequent_causes(rows)) <= 1


def test_the_slowest_come_first():
    rows = [result(name, seconds=s) for name, s in (("a", 1.0), ("b", 3.0), ("c", 3.0))]
    assert [each.student for each in slowest(rows, 2)] == ["b", "c"]
