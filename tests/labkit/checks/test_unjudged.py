"""Claims that are not judged: a crash is told first, a mistake has one cross, no points change."""

import pytest

from labkit.bridge.local import local_student
from labkit.checks.card import as_html, as_text
from labkit.checks.core import NotJudged, Wrong, check, play_check, share_of_points
from labkit.checks.forms import expect_refusal
from labkit.checks.unjudged import judged
from labkit.checks.wrong import USELESS_SENTENCE, Useless

POSITIVE = "Return the positive number."


@check("f", hint="Look at the sign.")
def the_sign_is_right(student, case):
    """The result is positive."""
    got = student.f(3)
    if got != 3:
        raise Wrong("f(3)", expected="3", got=str(got), why=POSITIVE * (got == -3))


@check("f", hint="Look at large numbers.", gate=True, weight=2)
def large_numbers_are_right(student, case):
    """Large numbers are right."""
    got = student.f(10**9)
    if got != 10**9:
        raise Wrong("f(10^9)", expected="10^9", got=str(got), why=POSITIVE * (got == -(10**9)))


@check("f", hint="Raise ValueError.")
def text_is_refused(student, case):
    """Text is refused."""
    expect_refusal(lambda: student.f("three"), "ValueError", "a text")


@check("f", hint="Return the same again.")
def it_does_not_change(student, case):
    """The result is the same in each call."""
    if student.f(3) == 4:
        raise NotJudged("the result is 4")
    if student.f(3) == 5:
        raise Useless("the result is 5")


CHECKS = [
    each.check
    for each in (the_sign_is_right, large_numbers_are_right, text_is_refused, it_does_not_change)
]


def play(f):
    """The findings as they are, and as they are judged."""
    student = local_student({"f": f})
    found = [play_check(each, student, [1]) for each in CHECKS]
    return found, judged(found)


def crashes(x):
    raise RuntimeError("x")


def crashes_late(x):
    return -3 if x == 3 else x.no_such_name


def statuses(findings):
    return [finding.status for finding in findings]


def negative(x):
    if isinstance(x, str):
        raise ValueError("no text")
    return -x


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (crashes, ["failed", "unjudged", "unjudged", "unjudged"]),
        (crashes_late, ["failed", "failed", "unjudged", "passed"]),
        (negative, ["unjudged", "failed", "passed", "passed"]),
        (lambda x: 4, ["failed", "failed", "failed", "unjudged"]),
        (lambda x: x, ["passed", "passed", "failed", "passed"]),
    ],
    ids=["a crash", "a crash after a mistake", "one mistake", "not to be judged", "others"],
)
def test_each_stop_and_each_mistake_has_one_cross(f, expected):
    found, after = play(f)
    assert statuses(after) == expected
    assert share_of_points(after, 4) == share_of_points(found, 4)


def test_a_crash_comes_first_and_the_others_say_where_the_code_stopped():
    _, found = play(crashes_late)
    page = as_html("f", found, 4)
    crash, mistake = page.index("your code raised AttributeError"), page.index("f(3); expected")
    assert crash < mistake < page.index("1 check is not judged: your code stopped at line ")
    assert page.index("<details><summary><span") > crash  # what comes after is folded
    text = as_text("f", found, 4)
    assert text.count("AttributeError") == 1
    assert "– Text is refused." in text


def test_another_crash_is_named_where_it_is_not_judged():
    def two(x):
        if x == 3:
            raise KeyError("a")
        raise IndexError("b")

    _, found = play(two)
    assert statuses(found) == ["failed", "unjudged", "unjudged", "unjudged"]
    assert "with IndexError." in found[1].message and found[1].stop == ""
    assert "with" not in found[3].message


def test_a_claim_that_alone_cannot_be_judged_has_the_cross():
    found = judged([play_check(CHECKS[3], local_student({"f": lambda x: 4}), [1])])
    assert [(each.status, each.message) for each in found] == [("failed", "The result is 4.")]


def test_what_serves_nobody_earns_at_most_a_quarter():
    found = [play_check(each, local_student({"f": lambda x: 5}), [1]) for each in CHECKS]
    assert USELESS_SENTENCE in found[3].message
    rest = [play_check(each, local_student({"f": lambda x: x}), [1]) for each in CHECKS[:2]]
    assert sum(share_of_points(rest, 4)) == 4
    assert sum(share_of_points([*rest, found[3]], 4)) == 1
