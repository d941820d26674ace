"""What of a wait is the student's own: not the time in which others have the processor."""

import time

import pytest

from autograder.judging.own_time import GRAIN_S, LEAST_SHARE, OwnTime


def near(seconds):
    """Asking takes time, too."""
    return pytest.approx(seconds, abs=0.05)


def own_time(*readings):
    left = iter(readings)
    clock = OwnTime(lambda: next(left))
    clock.start()
    return clock


def test_time_in_the_queue_for_a_processor_does_not_count():
    clock = own_time((0.0, 0.0), (0.3, 0.7))
    assert clock.of(1.0) == near(0.3)
    assert clock.spent_s == near(0.3)


@pytest.mark.parametrize("ran_s", [0.0, 0.01, -5.0], ids=["hidden", "nearly", "given back"])
def test_processes_that_end_hide_what_they_ran_and_a_part_counts_all_the_same(ran_s):
    assert own_time((5.0, 0.0), (5.0 + ran_s, 12.0)).of(1.0) == near(LEAST_SHARE)


def test_sleep_counts():
    assert own_time((0.0, 0.0), (0.0, 0.0)).of(1.0) == near(1.0)


def test_processes_that_queue_for_each_other_win_nothing():
    assert own_time((0.0, 0.0), (1.0, 60.0)).of(1.0) == near(1.0)


def test_they_run_on_while_we_ask_what_they_ran():
    left = iter([(0.0, 0.0), (1.2, 60.0)])

    def answer_late():
        time.sleep(0.2)
        return next(left)

    clock = OwnTime(answer_late)
    clock.start()
    assert clock.of(1.0) == near(1.2)


def test_short_waits_are_put_right_together():
    clock = own_time((0.0, 0.0), (0.1, 0.2))
    for _ in range(7):
        clock.of(GRAIN_S / 6)
    assert clock.spent_s == near(max(0.1, 7 * GRAIN_S / 6 - 0.2))


def test_where_the_system_tells_nothing_all_waiting_counts():
    assert own_time(None, None).of(1.0) == near(1.0)
    assert own_time((0.0, 0.0), None).of(1.0) == near(1.0)
