"""Figures in the shape of a screen, for slides and for a lecturer's page."""

from typing import Any

from matplotlib.text import Text
from matplotlib.ticker import LogFormatterMathtext

from labkit.measuring.plots import CourseFigure

SCREEN, LEAST_ON_SCREEN = (8.5, 4.35), 1 / 36  # inches; letters, of a screen's height


def for_screen(figure: CourseFigure, filled: float) -> CourseFigure:
    """The same figure in the shape of a screen, so that its letters can be read from far.

    filled: how much of the screen's height it fills. Margins of axes in a grid keep their
    inches; axes that were placed one by one stay.
    """
    width, height = figure.get_size_inches()
    wide, high = SCREEN[0], min(SCREEN[1], height * SCREEN[0] / width)
    grids = {axes.get_gridspec() for axes in figure.axes} - {None}
    if grids:
        figure.set_size_inches(wide, high)
    for grid in () if figure.get_layout_engine() else grids:
        margins = grid.get_subplot_params(figure)
        grid.update(
            left=margins.left * width / wide,
            right=1 - (1 - margins.right) * width / wide,
            bottom=margins.bottom * height / high,
            top=1 - (1 - margins.top) * height / high,
        )
        figure.subplots_adjust()  # moves the axes to their new places
    least = 72 * SCREEN[1] * LEAST_ON_SCREEN / filled
    _enlarge(figure, least * float(max(figure.get_size_inches() / SCREEN)))
    return figure


def _enlarge(figure: CourseFigure, least: float) -> None:
    """Give all words at least so many points, those of ticks that are not yet made too."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        letters = [each.get_fontsize() for each in axis.get_ticklabels(which="both")]
        axis.set_tick_params(which="both", labelsize=max(least, *letters, 0))
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(_InFull())
            axis.set_minor_formatter(_InFull())
    for words in figure.findobj(Text):
        words.set_fontsize(max(least, words.get_fontsize()))
    for renew in figure.when_enlarged:
        renew(least)


class _InFull(LogFormatterMathtext):
    """Numbers without an exponent, whose letters would be smaller."""

    def __call__(self, x: float, pos: Any = None) -> str:
        return f"{x:,.9g}" if super().__call__(x, pos) else ""
