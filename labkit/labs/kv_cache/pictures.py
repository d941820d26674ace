"""Moments of the three stores as pictures: a box for each place, its token, and who owns it."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from labkit.labs.kv_cache.moments import EMPTY, FIRST, PLACES, SECOND, Held, Moment
from labkit.measuring.panels import WIDTH, panels, say
from labkit.measuring.plots import COLORS, GROUND, INK, CourseFigure

FILLED = {FIRST: (COLORS["cache"], INK), SECOND: (COLORS["other"], "white")}
STALE = "#6e6e6e"
CAPTION = (
    "Orange places hold the first sequence, pink ones the second. A grey letter is still there, "
    "but nobody reads it. A thick frame is what this operation changed."
)


def draw(moment: Moment, before: Moment | None = None) -> CourseFigure:
    """The stores at a moment; what has changed since the one before has a thick frame."""
    with panels(3, 1, (WIDTH, 4.3)) as (figure, grid):
        for axes, name in zip(grid[:, 0], ("arena", "ring", "pages"), strict=True):
            held = getattr(moment, name)
            was = getattr(before, name) if before else None
            size = moment.block_size if name == "pages" else len(held.letters)
            _draw_places(axes, held, was, max(1, size))
            axes.set_title(f"{name}: {held.fault or held.note}")
        say(figure, moment.words, caption=CAPTION)
    return figure


def _draw_places(axes: Axes, held: Held, was: Held | None, block_size: int) -> None:
    """A row of boxes, with a gap after each block, and the number of each block below it."""
    old = list(zip(was.letters, was.owners, strict=True)) if was else [(EMPTY, None)] * PLACES
    gap = 0.35
    for i, (letter, owner) in enumerate(zip(held.letters, held.owners, strict=True)):
        left = i + gap * (i // block_size)
        fill, ink = FILLED.get(owner, (COLORS["free"] if letter == EMPTY else GROUND, STALE))
        is_new = old[i] != (letter, owner)
        frame = {"edgecolor": INK if is_new else "#8a8a8a", "linewidth": 2.2 if is_new else 0.8}
        axes.add_patch(Rectangle((left, 0), 0.94, 1, facecolor=fill, **frame))
        look = {"ha": "center", "va": "center", "fontsize": 12, "color": ink}
        axes.text(left + 0.47, 0.48, letter, **look)
        if i % block_size == 0 and block_size < len(held.letters):
            axes.text(left, -0.15, f"block {i // block_size}", va="top", fontsize=9)
    axes.set(xlim=(-0.1, PLACES * (1 + gap / 2) + 0.1), ylim=(-0.7, 1.1))
    axes.axis("off")
