"""Lab 4's figure shows what was measured beside what was counted."""

from labkit.labs.kv_cache.figures import cache_timing
from labkit.measuring.plots import png_bytes
from labkit.measuring.timing import Timing


def test_the_figure_has_both_curves_and_the_counted_ratio():
    slow, fast = [Timing((1.0, 1.2)), Timing((4.0, 4.1))], [Timing((1.0,)), Timing((1.5,))]
    figure = cache_timing([1, 8], slow, fast, [1.0, 6.5], smaller=[0.9, 1.5], caption="here")
    seconds, ratios = figure.axes
    assert [line.get_label() for line in seconds.lines] == ["without cache", "with cache"]
    counted = next(line for line in ratios.lines if line.get_label() == "tokens")
    assert list(counted.get_ydata()) == [1.0, 6.5]
    assert png_bytes(figure).startswith(b"\x89PNG")
