"""What the figures of several labs draw alike: a grid of axes, and times with their middle half."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labkit.measuring.plots import COLORS, course_style
from labkit.measuring.records import Row

WIDTH = 8.5  # inches of a figure: what a notebook shows without making its letters smaller


@contextmanager
def panels(
    n_rows: int, n_columns: int, size: tuple[float, float], **shared: Any
) -> Iterator[tuple[Figure, numpy.ndarray]]:
    """A figure in the style of the course and its grid of axes, to draw on; closed afterwards.

    shared: what else `plt.subplots` is told, such as sharey.
    """
    with course_style():
        figure, grid = plt.subplots(
            n_rows, n_columns, figsize=size, squeeze=False, **{"layout": "constrained", **shared}
        )
        yield figure, grid
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


def say(figure: Figure, title: str, source: object = "") -> Figure:
    """The figure below a sentence that says what to see; at its foot, where it comes from."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    if source:
        figure.supxlabel(str(source), x=0.01, ha="left", fontsize=8, color="#555555")
    return figure


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
