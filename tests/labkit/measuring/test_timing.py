"""Times are kept raw, and taken in turns."""

import re
import threading
import time

import pytest

from labkit.measuring.timing import Timing, machine, time_in_turns, with_time_left


def test_runs_take_turns_and_warm_up_rounds_are_not_kept():
    order = []
    timings = time_in_turns(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, n_repeats=3, n_warmup=2
    )
    assert order == ["a", "b"] * 5
    assert [len(timings[name].samples_s) for name in "ab"] == [3, 3]
    assert all(sample >= 0 for timing in timings.values() for sample in timing.samples_s)


def test_median_and_middle_half_withstand_one_slow_run():
    timing = Timing((1.0, 2.0, 3.0, 4.0, 100.0))
    assert timing.median_s == 3
    assert timing.spread_s == (2, 4)
    assert str(timing) == "3 s (middle half of 5 runs: 2 to 4)"
    assert Timing((5.0,)).spread_s == (5, 5)
    with pytest.raises(ValueError, match="at least one"):
        Timing(())


def test_the_machine_is_named():
    assert "PyTorch" in machine("cpu")


def test_without_ipywidgets_the_time_left_is_a_bar_of_letters(no_ipywidgets):
    """tqdm itself would warn in a notebook that the widgets are missing."""
    assert type(with_time_left([1], "a", "round")).__module__ == "tqdm.std"


def test_a_title_shows_the_time_left_and_no_thread_stays(capsys):
    n_threads = threading.active_count()
    time_in_turns({"a nap": lambda: time.sleep(0.15)}, n_repeats=3, title="a title")
    assert re.search(r"a title:.*2/4 \[\d\d:\d\d<\d\d:\d\d", capsys.readouterr().err)
    time_in_turns({"nothing": lambda: None})
    assert capsys.readouterr().err == ""
    assert threading.active_count() == n_threads  # else no check could be played after it
