"""Parts of figures that some labs share: times with spreads, break-even, a figure without axes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from labkit.measuring.plots import COLORS, CourseFigure, course_style
from labkit.measuring.records import Row


@contextmanager
def blank(size: tuple[float, float], **settings: Any) -> Iterator[CourseFigure]:
    """A figure without axes in the style of the course, to draw on; closed afterwards.

    settings: matplotlib's, beside those of the style.
    """
    with course_style(**settings):
        figure = plt.figure(figsize=size, FigureClass=CourseFigure)
        yield figure
    plt.close(figure)


def draw_times(
    axes: Axes, rows: Sequence[Row], x: Callable[[Row], float], color: str, **look: object
) -> None:
    """The medians of rows as points on a line, with a bar for the middle half of each."""
    places = [x(row) for row in rows]
    axes.plot(places, [row.time_s for row in rows], "o-", color=color, **look)
    if rows:
        lows, highs = zip(*(row.spread_s for row in rows), strict=True)
        axes.vlines(places, lows, highs, color=color, linewidth=5, alpha=0.3)


def with_bars(
    axes: Axes, x: Sequence[int], values: Iterable[tuple], label: str, color: str
) -> None:
    """A line through middles; bars from the low to the high end of each (middle, low, high)."""
    middles, lows, highs = zip(*values, strict=True)
    axes.plot(x, middles, "o-", color=color, label=label, ms=4)
    axes.vlines(x, lows, highs, color=color, linewidth=4, alpha=0.3)


def break_even(axes: Axes) -> None:
    """The line at 1, below which a method is a loss."""
    axes.axhline(1, color=COLORS["too much"], linewidth=1.6, zorder=0, label="break-even")
