"""The figure of lab 4: generation with and without a KV cache."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from labkit.measuring.plots import COLORS, course_style
from labkit.measuring.timing import Timing


def cache_timing(
    n_new: Sequence[int],
    uncached: Sequence[Timing],
    cached: Sequence[Timing],
    token_ratios: Sequence[float],
    smaller: Sequence[float] = (),
    caption: str = "",
) -> Figure:
    """Generation with and without a KV cache: seconds on the left, ratios on the right.

    token_ratios: how many times fewer tokens the cache processes, by count; smaller: the measured
    time ratios of a smaller model. Points are medians, bars hold the middle half of the runs.
    """
    with course_style():
        figure, (seconds, ratios) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
        for timings, color, label in (
            (uncached, COLORS["weights"], "without cache"),
            (cached, COLORS["cache"], "with cache"),
        ):
            lows, highs = zip(*(timing.spread_s for timing in timings), strict=True)
            medians = [timing.median_s for timing in timings]
            seconds.plot(n_new, medians, "o-", color=color, label=label, markersize=4)
            seconds.vlines(n_new, lows, highs, color=color, linewidth=5, alpha=0.3)
        seconds.set(xlabel="new tokens", ylabel="seconds per generation", title="Time")
        seconds.set(xlim=(0, None), ylim=(0, None))
        seconds.legend(loc="upper left")
        measured = [a.median_s / b.median_s for a, b in zip(uncached, cached, strict=True)]
        ratios.plot(n_new, token_ratios, "--", color=COLORS["reference"], label="tokens, counted")
        ratios.plot(n_new, measured, "o-", color="#009e73", label="time, measured", markersize=4)
        if smaller:
            label = "time, smaller model"
            ratios.plot(n_new, smaller, "s-", color="#cc79a7", label=label, markersize=4)
        ratios.axhline(1, color="black", linewidth=1)
        ratios.set(xscale="log", yscale="log", xlabel="new tokens", title="Without ÷ with cache")
        ratios.set_xticks(n_new, [str(n) for n in n_new])
        steps = [1, 2, 5, 10, 20, 50, 100, 200, 500]
        ratios.set_yticks(steps, [str(step) for step in steps])
        ratios.minorticks_off()
        ratios.annotate(
            "below this line the cache costs time",
            xy=(0.98, 1),
            xycoords=ratios.get_yaxis_transform(),
            xytext=(0, -11),
            textcoords="offset points",
            ha="right",
            fontsize=8.5,
            color="#444444",
        )
        ratios.set_ylim(0.5, 1.3 * max(token_ratios))
        ratios.legend(loc="upper left")
        if caption:
            figure.supxlabel(caption, fontsize=8.5, color="#444444")
    plt.close(figure)
    return figure
