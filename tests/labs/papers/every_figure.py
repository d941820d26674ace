"""Every figure of lab 8: those of the questions of this term, and of the papers that may come."""

from collections.abc import Iterator

from labkit.labs.papers.figures import PLOTS, figure_of
from labkit.measuring.plots import CourseFigure


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    for name in PLOTS:
        yield name, figure_of(name)
