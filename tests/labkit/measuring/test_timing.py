"""Times are kept raw, taken in turns, and drawn."""

import pytest

from labkit.labs.kv_cache.figures import cache_timing
from labkit.measuring.plots import png_bytes
from labkit.measuring.timing import Timing, machine, time_in_turns


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
    assert "PyTorch" in machine()


def test_the_figure_has_both_curves_and_the_counted_ratio():
    slow, fast = [Timing((1.0, 1.2)), Timing((4.0, 4.1))], [Timing((1.0,)), Timing((1.5,))]
    figure = cache_timing([1, 8], slow, fast, [1.0, 6.5], smaller=[0.9, 1.5], caption="here")
    seconds, ratios = figure.axes
    assert [line.get_label() for line in seconds.lines] == ["without cache", "with cache"]
    counted = next(line for line in ratios.lines if line.get_label() == "tokens, counted")
    assert list(counted.get_ydata()) == [1.0, 6.5]
    assert png_bytes(figure).startswith(b"\x89PNG")
