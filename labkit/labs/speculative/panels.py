"""What the figures of lab 6 share: panels, points with bars, the line of break-even."""

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labkit.measuring.plots import COLORS, course_style


def panels(
    n_rows: int, n_columns: int, size: tuple[float, float], share_y: bool = False
) -> tuple[Figure, Any]:
    """A figure with rows of axes, each of this size in inches."""
    with course_style():
        return plt.subplots(
            n_rows,
            n_columns,
            figsize=(size[0] * n_columns, size[1] * n_rows),
            layout="constrained",
            squeeze=False,
            sharey=share_y,
        )


def done(figure: Figure) -> Figure:
    """The figure, shown only where it is returned."""
    plt.close(figure)
    return figure


def with_bars(
    axes: Axes, x: Sequence[int], values: Iterable[tuple], label: str, color: str
) -> None:
    """A line through middles; bars from the low to the high end of each (middle, low, high)."""
    middles, lows, highs = zip(*values, strict=True)
    axes.plot(x, middles, "o-", color=color, label=label, ms=4)
    axes.vlines(x, lows, highs, color=color, linewidth=4, alpha=0.3)


def break_even(axes: Axes) -> None:
    """The line below which speculation is a loss."""
    axes.axhline(1, color=COLORS["too much"], linewidth=1.6, zorder=0)
