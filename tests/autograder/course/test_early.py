"""A release tells whose answers it gives away before they are due."""

from datetime import UTC, datetime

from autograder.course.early import answers_too_early
from autograder.course.late import Policy
from autograder.places import lab_names

FIRST, SECOND, THIRD = lab_names()[:3]
POLICY = Policy(
    deadlines={
        SECOND: datetime(2026, 10, 8, tzinfo=UTC),
        FIRST: datetime(2026, 10, 1, tzinfo=UTC),
        THIRD: datetime(2026, 10, 15, tzinfo=UTC),
    }
)


def told(day):
    moment = datetime(2026, 10, day, tzinfo=UTC)
    return list(answers_too_early([FIRST, SECOND, THIRD], POLICY, moment))


def test_a_lab_after_one_that_is_not_due_is_named_with_it():
    assert told(2) == [f"the files of {THIRD} hold the answers of {SECOND}, not yet due"]


def test_before_all_deadlines_each_lab_but_the_first_gives_answers_away():
    september = datetime(2026, 9, 1, tzinfo=UTC)
    assert list(answers_too_early([FIRST, SECOND, THIRD], POLICY, september)) == [
        f"the files of {SECOND} hold the answers of {FIRST}, not yet due",
        f"the files of {THIRD} hold the answers of {FIRST}, {SECOND}, not yet due",
    ]


def test_after_the_deadlines_nothing_is_said():
    assert told(8) == []
