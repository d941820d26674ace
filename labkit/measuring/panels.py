"""Parts that the figures of several labs share: axes, titles, line names."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.text import Text

from labkit.measuring.plots import CourseFigure, course_style

WIDTH = 8.5  # inches of a figure: what a notebook shows without making its letters smaller
TITLE_LETTERS, NAME_LETTERS = 88, 18  # in a line, of a title over the whole width
SMALL = 8  # points, the least letters


@contextmanager
def panels(
    n_rows: int, n_columns: int, size: tuple[float, float], **shared: Any
) -> Iterator[tuple[CourseFigure, numpy.ndarray]]:
    """A figure in the style of the course and its grid of axes, to draw on; closed afterwards.

    shared: other arguments of `plt.subplots`, such as sharey.
    """
    shared = {"layout": "constrained", **shared}
    with course_style():
        figure, grid = plt.subplots(
            n_rows, n_columns, figsize=size, squeeze=False, FigureClass=CourseFigure, **shared
        )
        yield figure, grid
    plt.close(figure)


def say(figure: CourseFigure, title: str, source: object = "", caption: str = "") -> CourseFigure:
    """The figure below a sentence that says what to see; at its foot, where it comes from.

    caption: how to read it, below the figure in a notebook.
    """
    words = fill(title, int(TITLE_LETTERS * figure.get_size_inches()[0] / WIDTH))
    figure.suptitle(words, x=0.01, ha="left", fontsize=11, fontweight="bold")
    if source:
        figure.supxlabel(str(source), x=0.01, ha="left", fontsize=SMALL, color="#4d4d4d")
    figure.caption = caption
    return figure


@dataclass(frozen=True, slots=True)
class _End:
    """The last point of lines of one colour, in their own coordinates and in pixels."""

    line: Line2D
    point: tuple[float, float]
    pixel: float
    label: str

    def height(self, letters: float) -> float:
        """Of the label, in points."""
        return (1 + self.label.count("\n")) * 1.25 * letters


def name_ends(axes: Axes) -> None:
    """Write each line's label at its last point: no legend is needed.

    Labels that would touch are pushed apart, each as little as possible; lines of one colour that
    end at one place share one. A figure for a screen writes them anew.
    """

    def write(letters: float) -> Iterator[Text]:
        axes.figure.draw_without_rendering()  # the layout: only then are places known
        dpi, ends = axes.figure.dpi, _ends(axes)
        gaps = [(a.height(letters) + b.height(letters)) * dpi / 144 for a, b in pairwise(ends)]
        for end, place in zip(ends, apart([end.pixel for end in ends], gaps), strict=True):
            yield axes.annotate(
                end.label, end.point, (5, (place - end.pixel) * 72 / dpi), va="center",
                xycoords=end.line.get_transform(), textcoords="offset points", fontsize=letters,
                color=shade(end.line.get_color()), annotation_clip=False,
            )  # fmt: skip

    keep_written(axes.figure, write)


def keep_written(figure: CourseFigure, write: Callable[[float], Iterable[Text]]) -> None:
    """Words whose places depend on their size: written now, and anew for a screen."""
    written: list[Text] = []

    def renew(letters: float) -> None:
        while written:
            written.pop().remove()
        written.extend(write(letters))

    renew(SMALL)
    figure.when_enlarged += (renew,)


def apart(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Places in the order of those wanted, at least the gaps apart, and as near to them as can be.

    The squares of their distances are the least (isotonic regression, by pooling neighbours).
    """
    shifts = [0.0, *accumulate(gaps)]
    pools: list[tuple[float, int]] = []  # sum and number of neighbours that move together
    for place, shift in zip(wanted, shifts, strict=False):
        total, n = place - shift, 1
        while pools and pools[-1][0] / pools[-1][1] > total / n:
            before = pools.pop()
            total, n = total + before[0], n + before[1]
        pools.append((total, n))
    means = [total / n for total, n in pools for _ in range(n)]
    return [mean + shift for mean, shift in zip(means, shifts, strict=False)]


def _ends(axes: Axes) -> list[_End]:
    """The ends of all lines that have a label, from the lowest to the highest."""
    found: dict[tuple, _End] = {}
    for line in axes.lines:
        x, y = line.get_data()
        if line.get_label().startswith("_") or not len(x) or numpy.isnan(y[-1]):
            continue
        point = float(x[-1]), float(y[-1])
        across, up = line.get_transform().transform(point)
        key = round(across / 4), round(up / 4), line.get_color()
        label = line.get_label()
        if key in found:
            label = fill(f"{found[key].label}, {label}", NAME_LETTERS)
        found[key] = _End(line, point, up, label)
    return sorted(found.values(), key=lambda end: end.pixel)


def shade(color: str) -> tuple[float, float, float]:
    """A colour as letters need it: darker than that of a line."""
    red, green, blue = to_rgb(color)
    return 0.72 * red, 0.72 * green, 0.72 * blue
