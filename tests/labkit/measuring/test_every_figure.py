"""Every figure can be read: letters are large enough, none lies on another, none is cut off.

At 850 pixels, the width of a notebook's page, and as large as a slide shows it.
"""

import re
import runpy
from itertools import combinations
from types import SimpleNamespace

import matplotlib

matplotlib.use("agg")

import numpy
import pytest
from instances import slow_unless
from matplotlib.colors import to_rgb
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from shown import letters_of

from autograder.builder.slides.shown import FILLED
from autograder.builder.source import read_labs
from autograder.places import REPOSITORY
from labkit.labs.screen import for_screen
from labkit.measuring.panels import apart
from labkit.measuring.plots import COLORS, DARK_PAGES, GROUND, INK, NEGATIVE, CourseFigure

PAGE, LEAST_LETTERS, TOUCHING = 850, 9, 1.0  # pixels
SLIDE, LEAST_ON_SLIDE = (1256, 640), 20  # the room of a figure on a slide of 1,280 by 720
MOST_PANELS = 3
LIGHTNESS = re.compile(r"\b(black|white|dark|light|bright)\b", re.IGNORECASE)
LABS = sorted((REPOSITORY / "tests" / "labs").glob("*/every_figure.py"))
SHOWN = read_labs()[0].topic


def figures_of(lab):
    return runpy.run_path(str(lab))["every_figure"]()


def words_of(figure, page=PAGE):
    """All words that are seen, with their boxes in pixels of the page; draws the figure once."""
    figure.set_dpi(page / figure.get_size_inches()[0])
    figure.draw_without_rendering()
    unseen = {text for axes in figure.axes for text in unseen_of(axes)}
    texts = [text for text in figure.findobj(Text) if text not in unseen]
    return [
        (text, text.get_window_extent())
        for text in texts
        if text.get_visible() and text.get_text().strip()
    ]


def unseen_of(axes):
    """Texts of axes that are not drawn, and labels of ticks beyond the ends of an axis."""
    if not axes.get_visible():
        yield from axes.findobj(Text)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        if not axes.axison:
            yield from axis.findobj(Text)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def too_small(figure, words, letters, least):
    scale = figure.dpi / 72
    return [
        f"{text.get_text()!r} has {letters(text) * scale:.1f} pixels"
        for text, _ in words
        if letters(text) * scale < least
    ]


def touch(box, other):
    return (
        min(box.x1, other.x1) - max(box.x0, other.x0) > TOUCHING
        and min(box.y1, other.y1) - max(box.y0, other.y0) > TOUCHING
    )


def on_each_other(figure, words):
    return [
        f"{one.get_text()!r} lies on {other.get_text()!r}"
        for (one, box), (other, its) in combinations(words, 2)
        if touch(box, its)
    ]


def below_a_legend(figure, words):
    """Words that the box of a legend covers, its own excepted."""
    return [
        f"{text.get_text()!r} lies below a legend"
        for legend in figure.findobj(Legend)
        for text, box in words
        if text not in legend.findobj(Text) and touch(legend.get_window_extent(), box)
    ]


def cut_off(figure, words):
    edge = figure.bbox
    return [
        f"{text.get_text()!r} is cut off"
        for text, box in words
        if box.x0 < edge.x0 - TOUCHING
        or box.x1 > edge.x1 + TOUCHING
        or box.y0 < edge.y0 - TOUCHING
        or box.y1 > edge.y1 + TOUCHING
    ]


def test_every_lab_with_figures_lists_them():
    drawn = {path.parent.name for path in (REPOSITORY / "labkit" / "labs").glob("*/figures.py")}
    assert drawn <= {path.parent.name for path in LABS}


def n_beside(figure):
    """How many panels stand in the fullest row."""
    boxes = [axes.get_position() for axes in figure.axes if axes.get_visible()]
    return max(sum(box.y0 < other.y1 and other.y0 < box.y1 for other in boxes) for box in boxes)


def on_a_page(figure):
    """What is wrong with a figure in a notebook."""
    words = words_of(figure)
    yield from too_small(figure, words, Text.get_fontsize, LEAST_LETTERS)
    for find in (on_each_other, below_a_legend, cut_off):
        yield from find(figure, words)
    if n_beside(figure) > MOST_PANELS:
        yield f"{n_beside(figure)} panels beside each other"
    if not isinstance(figure, CourseFigure) or not figure.get_suptitle():
        yield "no sentence that says what to see"
    if not figure.alt.startswith(figure.get_suptitle().replace("\n", " ")):
        yield "no alternative text"
    if not figure.caption.endswith(".") or "`" in figure.caption:
        yield "no plain sentence below it"
    styles = {line.get_linestyle() for line in figure.findobj(Line2D)}
    for word, style in (("dashed", "--"), ("dotted", ":")):
        if word in figure.caption.lower() and style not in styles:
            yield f"no line is {word}, but its caption names one"
    if LIGHTNESS.search(figure.caption):
        yield "its caption is wrong on a dark page"
    if figure.get_facecolor()[:3] != to_rgb(GROUND):
        yield "a ground of its own"


def on_a_slide(figure):
    """What is wrong with a figure on a slide, for which it changes its shape."""
    width, height = for_screen(figure, FILLED).get_size_inches()
    words = words_of(figure, min(SLIDE[0], SLIDE[1] * width / height))
    yield from too_small(figure, words, letters_of, LEAST_ON_SLIDE)
    yield from on_each_other(figure, words)
    yield from cut_off(figure, words)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(path, id=name, marks=slow_unless(name == SHOWN))
        for path in LABS
        for name in [path.parent.name]
    ],
)
def seen(request):
    """The figures of a lab, each made once, and what is wrong on a page and then on a slide."""
    seen = SimpleNamespace(n_figures=0, on_pages=[], on_slides=[])
    for name, figure in figures_of(request.param):
        seen.n_figures += 1
        seen.on_pages += [f"{name}: {fault}" for fault in on_a_page(figure)]
        if name != "still":  # only where a page shows no moments
            seen.on_slides += [f"{name}: {fault}" for fault in on_a_slide(figure)]
    return seen


def test_every_letter_of_every_figure_can_be_read(seen):
    assert seen.on_pages == []
    assert seen.n_figures


def test_every_letter_of_every_figure_can_be_read_on_a_slide(seen):
    assert seen.on_slides == []


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(color, other):
    darker, lighter = sorted((luminance(color), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def on_a_dark_page(color):
    """What `NEGATIVE` makes of a colour, by the specification of CSS filters."""
    grey, left = numpy.array([0.213, 0.715, 0.072]), 1 - numpy.array(to_rgb(color))
    return tuple(numpy.clip(2 * grey @ left - left, 0, 1))


@pytest.mark.parametrize("what", sorted(COLORS.keys() - {"free"}))
def test_lines_have_a_contrast_of_three_on_the_ground(what):
    assert contrast(COLORS[what], GROUND) >= 3


@pytest.mark.parametrize("page", ["#111111", "#1e1e1e", "#383838"])  # JupyterLab, VS Code, Colab
def test_on_a_dark_page_the_ground_is_dark_and_lines_and_words_stand_out(page):
    ground = on_a_dark_page(GROUND)
    assert contrast(ground, page) < 1.6  # no slab
    assert contrast(on_a_dark_page(INK), ground) >= 7
    for what in COLORS.keys() - {"free"}:
        assert min(contrast(on_a_dark_page(COLORS[what]), each) for each in (ground, page)) >= 3


def test_a_page_that_says_that_it_is_dark_shows_pictures_negative():
    _, figure = next(figures_of(LABS[0].parent.parent / "kv_cache" / "every_figure.py"))
    html = figure._repr_mimebundle_()[0]["text/html"]
    assert f".labkit-picture {{ filter: {NEGATIVE} }}" in html
    assert html.count('class="labkit-picture"') == 1
    assert all(page in html for page in DARK_PAGES)
    assert html.index("</div>") < html.index("<figcaption>")  # words have the page's own colours


def test_no_two_meanings_share_a_colour():
    assert len(set(COLORS.values())) == len(COLORS)


def test_a_notebook_shows_a_picture_with_words_and_a_caption():
    _, figure = next(figures_of(LABS[0].parent.parent / "kv_cache" / "every_figure.py"))
    data, metadata = figure._repr_mimebundle_()
    assert data["text/html"].startswith("<figure")
    assert f'alt="{figure.alt}"' in data["text/html"]
    assert f"<figcaption>{figure.caption}</figcaption>" in data["text/html"]
    assert "max-width:100%" in data["text/html"]
    assert metadata["image/png"]["width"] == PAGE
    assert "seconds per generation by new tokens" not in data["text/html"]
    assert "seconds per generation, new tokens: without cache, with cache" in figure.alt


def test_names_of_lines_stay_as_near_to_their_ends_as_they_can():
    assert apart([0, 50, 100], [10, 10]) == [0, 50, 100]
    assert apart([0, 0, 0], [10, 10]) == [-10, 0, 10]
    assert apart([0, 4, 100], [10, 10]) == [-3, 7, 100]
    assert apart([], []) == []
