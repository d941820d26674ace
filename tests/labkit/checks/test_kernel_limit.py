"""The time limit of a check in the notebook."""

import time
import weakref

import pytest

from labkit.checks.kernel import TookTooLong, time_limit


def loop_that_drops(n_most):
    """Busy for ever; the first exceptions come while a weak reference is cleared, and are lost."""
    dropped = []

    class Thing:
        pass

    def cleared(_):
        start = time.monotonic()
        try:
            while time.monotonic() - start < 5:
                pass
        except TookTooLong:
            dropped.append(True)

    for _ in range(n_most):
        thing = Thing()
        reference = weakref.ref(thing, cleared)
        del thing
    assert reference() is None
    while len(dropped) == n_most:
        pass


def test_an_interrupt_that_is_lost_comes_again():
    start = time.monotonic()
    with pytest.raises(TookTooLong), time_limit(0.1):
        loop_that_drops(2)
    assert time.monotonic() - start < 10


def test_nothing_comes_after_the_end():
    with time_limit(0.05):
        pass
    end = time.monotonic() + 1.3
    while time.monotonic() < end:
        pass


def test_a_limit_can_count_the_time_of_the_processor():
    with time_limit(0.05, time.process_time):
        time.sleep(0.2)
    with pytest.raises(TookTooLong), time_limit(0.05, time.process_time):
        while True:
            pass
