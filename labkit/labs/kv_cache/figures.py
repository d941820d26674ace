"""The figure of lab 4: generation with and without a KV cache."""

from collections.abc import Sequence

from labkit.measuring.drawn import with_bars
from labkit.measuring.panels import SMALL, WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.timing import Timing


def cache_timing(
    n_new: Sequence[int],
    uncached: Sequence[Timing],
    cached: Sequence[Timing],
    token_ratios: Sequence[float],
    smaller: Sequence[float] = (),
    caption: str = "",
) -> CourseFigure:
    """Generation with and without a KV cache: seconds on the left, ratios on the right.

    token_ratios: how many times fewer tokens the cache processes, by count; smaller: the measured
    time ratios of a smaller model. Points are medians, bars hold the middle half of the runs.
    """
    measured = [a.median_s / b.median_s for a, b in zip(uncached, cached, strict=True)]
    with panels(1, 2, (WIDTH, 4.0)) as (figure, ((seconds, ratios),)):
        for timings, color, label in (
            (uncached, COLORS["plain"], "without cache"),
            (cached, COLORS["cache"], "with cache"),
        ):
            values = [(timing.median_s, *timing.spread_s) for timing in timings]
            with_bars(seconds, n_new, values, label, color)
        seconds.set(xlabel="new tokens", title="seconds per generation")
        seconds.set(xlim=(0, None), ylim=(0, None))
        lines = {
            "tokens": (token_ratios, "--", COLORS["reference"]),
            "time": (measured, "o-", COLORS["method"]),
            "time, smaller model": (smaller, "s-", COLORS["other"]),
        }
        for label, (heights, look, color) in lines.items():
            if len(heights):
                ratios.plot(n_new, heights, look, color=color, label=label, markersize=4)
        ratios.axhline(1, color="black", linewidth=1)
        ratios.set(xscale="log", yscale="log", xlabel="new tokens", title="without ÷ with cache")
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
            fontsize=SMALL,
        )
        ratios.set_ylim(0.5, 1.3 * max(token_ratios))
        title = (
            f"{n_new[-1]} new tokens: {token_ratios[-1]:.0f} times fewer tokens through the model, "
            f"{measured[-1]:.1f} times less time"
        )
        notes = "Points are medians, bars the middle half of the runs. Tokens are counted."
        say(figure, title, caption, notes)
        for axes in (seconds, ratios):
            name_ends(axes)
    return figure
