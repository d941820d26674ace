"""Moments of speculation as pictures, in letters that the last row of a lecture hall can read."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from labkit.labs.speculative.moments import Moment, Place
from labkit.measuring.drawn import blank
from labkit.measuring.plots import COLORS, GROUND, INK, CourseFigure

Name = Callable[[int], str]
WIDE, LETTERS, SMALLER = 11.0, 15, 13
LINE, N_LINES = 0.4, 3  # of text; inches
MONO = 0.602 * LETTERS / 72  # width of a letter in DejaVu Sans Mono, inches
LEAST = 0.0005  # tokens less likely than this are not shown, unless they were drawn
BAR = 0.42  # a token's two bars, inches
ABOVE, BELOW, MARGIN = 0.5, 0.4, 0.5  # of a row of axes, and of the figure
DRAFT, TARGET, LEFT = COLORS["other"], COLORS["weights"], COLORS["residual"]
PALE, GREEN = "#5f6368", COLORS["method"]
MARKS = {
    "drafted": {"facecolor": GROUND, "edgecolor": DRAFT},
    "accepted": {"facecolor": "#a5dccb", "edgecolor": GREEN},
    "rejected": {"facecolor": GROUND, "edgecolor": COLORS["too much"]},
    "unexamined": {"facecolor": GROUND, "edgecolor": PALE, "linestyle": "--"},
    "resampled": {"facecolor": "#d9d0ea", "edgecolor": LEFT},
    "bonus": {"facecolor": "#bcd9ec", "edgecolor": TARGET},
}
TITLES = {
    "drafted": "The draft draws {}",
    "accepted": "{} is accepted",
    "rejected": "{} is rejected",
    "resampled": "{} is drawn instead",
    "bonus": "{} is added",
}
NOTES = {
    "drafted": "The target has not looked yet.",
    "bonus": "Nothing was rejected: one token\nmore, from the target itself.",
}
CAPTION = (
    "Bars are the probabilities that both models give. The thick line is the uniform number: left "
    "of the ratio target / draft, the token is accepted."
)


def draw(moment: Moment, name: Name, n_bars: int = 7) -> CourseFigure:
    """One moment: the text so far, what both models say, and what decides."""
    return draw_block([moment], name, n_bars)


def draw_block(moments: Sequence[Moment], name: Name, n_bars: int = 4) -> CourseFigure:
    """Moments under each other, and the text as the last of them leaves it.

    name: of a token. n_bars: how many of the tokens are shown, from 2.
    """
    height = BAR * n_bars
    high = MARGIN + LINE * N_LINES + len(moments) * (ABOVE + height + BELOW) + MARGIN
    look = {"font.size": SMALLER, "axes.titlesize": LETTERS, "xtick.labelsize": SMALLER - 1}
    with blank((WIDE, high), **look) as figure:

        def axes(left: float, top: float, width: float, height: float) -> Axes:
            place = (left / WIDE, 1 - (top + height) / high, width / WIDE, height / high)
            return figure.add_axes(place)

        where = {"x": 0.2 / WIDE, "y": 1 - 0.15 / high, "ha": "left", "va": "top"}
        figure.suptitle(_summary(moments[-1]), **where, fontsize=LETTERS, fontweight="bold")
        _draw_text(axes(0.2, MARGIN, WIDE - 0.4, LINE * N_LINES), moments[-1], name)
        top = MARGIN + LINE * N_LINES
        for moment in moments:
            top += ABOVE
            tokens = _tokens(moment.place, n_bars)
            _draw_bars(axes(1.9, top, 4.4, height), moment, tokens, n_bars, name)
            if moment.what == "resampled":
                _draw_left(axes(6.9, top, 3.8, height), moment.place, tokens, n_bars)
            elif moment.what in NOTES:
                _draw_note(axes(6.9, top, 3.8, height), NOTES[moment.what])
            else:
                _draw_coin(axes(6.9, top + height / 2 - 0.3, 3.8, 0.6), moment.place)
            top += height + BELOW
        _draw_legend(figure)
        figure.caption = CAPTION
    return figure


def _tokens(place: Place, n_bars: int) -> list[int]:
    """Those that were drawn, and the likeliest by either model, that one first."""
    most = place.target_probs
    if place.draft_probs is not None:
        most = most.maximum(place.draft_probs)
    drawn = {token for token in (place.drafted, place.added) if token is not None}
    ranked = most.argsort(descending=True).tolist()
    likely = [token for token in ranked if token not in drawn and most[token] >= LEAST]
    shown = drawn.union(likely[: n_bars - len(drawn)])
    return [token for token in ranked if token in shown]


def _draw_text(axes: Axes, moment: Moment, name: Name) -> None:
    """The last lines of the text, each new token in a box that says what became of it."""
    axes.set(xlim=(0, WIDE - 0.4), ylim=(-N_LINES * LINE, 0))
    axes.axis("off")
    rows: list[list[tuple[float, str, str]]] = [[]]
    x = left = 0.03
    for token, kind in moment.marks:
        word = name(token)
        width = MONO * len(word) + 0.06
        if x + width > WIDE - 0.4:
            rows.append([])
            x = left
        rows[-1].append((x, word, kind))
        x += width
    for row, words in enumerate(rows[-N_LINES:]):
        for x, word, kind in words:
            _draw_word(axes, x, -LINE * (row + 0.5), word, kind)


def _draw_word(axes: Axes, x: float, y: float, word: str, kind: str) -> None:
    width, color = MONO * len(word), INK
    if kind in MARKS:
        box = (x - 0.01, y - 0.16), width + 0.04, 0.32
        axes.add_patch(Rectangle(*box, linewidth=1.6, **MARKS[kind]))
    if kind in ("prompt", "unexamined"):
        color = PALE
    if kind == "rejected":
        axes.plot([x, x + width], [y, y], color=COLORS["too much"], linewidth=2)
    _write(axes, x + 0.01, y, word, color=color, fontsize=LETTERS)


def _draw_bars(axes: Axes, moment: Moment, tokens: Sequence[int], n_bars: int, name: Name) -> None:
    """The probabilities of both models for each token, if they are known by now."""
    place = moment.place
    said = {DRAFT: place.draft_probs, TARGET: place.target_probs}
    if moment.what == "drafted":
        del said[TARGET]
    if moment.what == "bonus":
        del said[DRAFT]
    for color, probs in said.items():
        shift = 0.0 if len(said) == 1 else -0.24 if color == DRAFT else 0.24
        _bars(axes, probs, tokens, color, shift)
    at_stake = place.added if moment.what in ("resampled", "bonus") else place.drafted
    for row, token in enumerate(tokens):
        weight = "bold" if token == at_stake else "normal"
        _write(axes, -0.02, row, _visible(name(token)), ha="right", weight=weight, color=INK)
    _title(axes, TITLES[moment.what].format(f'"{_visible(name(at_stake))}"'))
    _tidy(axes, n_bars, tokens.index(at_stake))


def _draw_left(axes: Axes, place: Place, tokens: Sequence[int], n_bars: int) -> None:
    """The residual: the positive part of target minus draft, made to sum to 1."""
    _bars(axes, place.left, tokens, LEFT, 0.0)
    _title(axes, "from the residual")
    _tidy(axes, n_bars, tokens.index(place.added))


def _draw_coin(axes: Axes, place: Place) -> None:
    """The uniform as a line, on a ground that is green up to target / draft."""
    chance = min(1.0, place.ratio)
    axes.barh(0, chance, color=MARKS["accepted"]["facecolor"], height=1)
    axes.barh(0, 1 - chance, left=chance, color="#f3c9d0", height=1, hatch="///", edgecolor=GROUND)
    axes.plot([place.uniform] * 2, [-0.7, 0.7], color="black", linewidth=4, clip_on=False)
    sign = "<" if place.is_accepted else "\N{GREATER-THAN OR EQUAL TO}"
    _title(axes, f"uniform {_short(place.uniform)} {sign} {_short(place.ratio)}", pad=16)
    target, draft = (
        float(probs[place.drafted]) for probs in (place.target_probs, place.draft_probs)
    )
    axes.set_xlabel(f"target / draft = {_short(target)} / {_short(draft)}")
    axes.set(xlim=(0, 1), ylim=(-0.5, 0.5), yticks=[], xticks=[0, 1])
    axes.spines[:].set_visible(False)
    axes.grid(False)


def _draw_note(axes: Axes, note: str) -> None:
    axes.axis("off")
    axes.text(0, 0.5, note, va="center", color=PALE, fontsize=LETTERS)


def _bars(axes: Axes, probs: Tensor, tokens: Sequence[int], color: str, shift: float) -> None:
    heights = [float(probs[token]) for token in tokens]
    thick = 0.44 if shift else 0.6
    rows = [row + shift for row in range(len(tokens))]
    axes.barh(rows, heights, height=thick, color=color, zorder=2)
    for row, height in zip(rows, heights, strict=True):
        if height >= 0.005:
            axes.text(height + 0.01, row, f"{height:.2f}", va="center", fontsize=12, color=INK)


def _tidy(axes: Axes, n_bars: int, at_stake: int) -> None:
    """The axis of probabilities, and a ground behind the row that is at stake."""
    axes.axhspan(at_stake - 0.5, at_stake + 0.5, color=COLORS["free"])
    axes.set(xlim=(0, 1.1), ylim=(n_bars - 0.5, -0.5), xticks=[0, 0.5, 1], yticks=[])
    axes.tick_params(length=0)
    axes.grid(axis="y", visible=False)


def _draw_legend(figure: CourseFigure) -> None:
    both = [Patch(color=DRAFT, label="draft"), Patch(color=TARGET, label="target")]
    marks = [Patch(label=kind, linewidth=1.6, **look) for kind, look in MARKS.items()]
    figure.legend(
        handles=[*both, *marks], loc="lower left", ncols=8, fontsize=12, handlelength=1.3,
        columnspacing=1.1, borderaxespad=0.3,
    )  # fmt: skip


def _summary(moment: Moment) -> str:
    n_new = len(moment.marks) - moment.count("prompt", "rejected", "unexamined", "drafted")
    n_accepted = moment.count("accepted")
    n_examined = n_accepted + moment.count("resampled") + (moment.what == "rejected")
    return (
        f"new tokens: {n_new}     calls of the target: {moment.n_calls}     "
        f"accepted: {n_accepted} of {n_examined} examined"
    )


def _short(number: float) -> str:
    return f"{number:.2g}" if LEAST <= number < 0.1 else f"{number:.2f}"


def _visible(word: str) -> str:
    return word.replace(" ", "\N{OPEN BOX}")


def _title(axes: Axes, text: str, **look: float) -> None:
    axes.set_title(text.replace("$", r"\$"), **look)


def _write(axes: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Text of tokens as it is: a dollar is no formula."""
    axes.text(x, y, text.replace("$", r"\$"), family="monospace", va="center", **look)
