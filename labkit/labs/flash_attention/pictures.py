"""Moments of tiled attention as pictures: memory, the chip, the pairs, one query's softmax."""

from collections.abc import Mapping, Sequence
from textwrap import shorten

from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from labkit.labs.flash_attention.moments import Moment, Softmax, softmax_of
from labkit.measuring.drawn import blank
from labkit.measuring.plots import COLORS, GROUND, INK, CourseFigure
from labkit.models.counted_memory import Memory

WIDE, HIGH, LETTERS, SMALLER = 11.5, 6.4, 14, 12
LINE = 80  # letters
PLACES = (
    (0.05, 0.47, 0.36, 0.36), (0.46, 0.47, 0.2, 0.36), (0.72, 0.47, 0.26, 0.36),
    (0.07, 0.09, 0.56, 0.24), (0.72, 0.09, 0.26, 0.24),
)  # fmt: skip
KINDS = {"load": COLORS["weights"], "store": COLORS["other"]}
HELD, PALE = "#bcd9ec", "#8a8a8a"
DONE, NEW = "#86b9d9", COLORS["method"]
GIVEN = ("Q", "K", "V")
PAIRS = ListedColormap([COLORS["free"], DONE, NEW])  # to come, done, now
CAPTION = (
    "Strong blue is loaded now, pink is stored now. Pale blue lies on the chip. Of the pairs of a "
    "query and a key, blue ones are done and green ones are new."
)


def draw(
    memory: Memory, scores: Tensor, moments: Sequence[Moment], n: int, query: int, title: str = ""
) -> CourseFigure:
    """The n-th of these moments. scores (N N): of all pairs; query: whose softmax is shown."""
    moment = moments[n]
    look = {"font.size": SMALLER, "axes.titlesize": LETTERS}
    look |= {"xtick.labelsize": SMALLER, "ytick.labelsize": SMALLER}
    with blank((WIDE, HIGH), **look) as figure:
        far, chip, pairs, weights, moved = (figure.add_axes(place) for place in PLACES)
        _draw_far(far, memory, moment, _names(moments))
        _draw_chip(chip, memory, moment)
        _draw_pairs(pairs, moment, query)
        _draw_softmax(weights, softmax_of(scores, moment, query), moment, query)
        _draw_moved(moved, moments, n)
        _write(figure, title or _words(moment))
    return figure


def draw_nothing(words: str) -> CourseFigure:
    """A picture that says why there is none."""
    with blank((WIDE, 1)) as figure:
        _write(figure, words)
    return figure


def _write(figure: CourseFigure, words: str) -> None:
    short = shorten(words, LINE, placeholder=" ...").replace("$", r"\$")
    look = {"ha": "left", "va": "top", "fontsize": LETTERS + 2, "fontweight": "bold"}
    figure.suptitle(short, x=0.02, y=0.98, **look)
    figure.caption = CAPTION


def _words(moment: Moment) -> str:
    names = ", ".join(moment.names)
    return f"{moment.kind} rows {moment.rows[0]} to {moment.rows[1] - 1} of {names}"


def _names(moments: Sequence[Moment]) -> list[str]:
    """The arrays of a run, those given first, then as they come."""
    return list(dict.fromkeys([*GIVEN, *(name for moment in moments for name in moment.names)]))


def _draw_far(axes: Axes, memory: Memory, moment: Moment, names: Sequence[str]) -> None:
    """A column for each array; vectors are thin. Filled: what holds numbers."""
    left = 0.0
    for name in names:
        width = 1.0 if memory.arrays[name].dim() > 1 else 0.25
        holds = [name in GIVEN or _is_stored(moment, name, row) for row in range(memory.n_rows)]
        for row, is_there in enumerate(holds):
            color = COLORS["free"] if is_there else GROUND
            axes.add_patch(Rectangle((left, row), width, 1, facecolor=color))
        if name in moment.on_chip:
            _box(axes, left, moment.on_chip[name], width, HELD)
        if name in moment.names:
            _box(axes, left, moment.rows, width, KINDS[moment.kind])
        axes.add_patch(Rectangle((left, 0), width, memory.n_rows, fill=False, edgecolor=PALE))
        axes.text(left + width / 2, -0.6, name, ha="center", va="bottom", fontsize=LETTERS)
        left += width + 0.35
    axes.set(xlim=(-0.1, left), ylim=(memory.n_rows + 0.2, -0.2))
    axes.set_title("memory", pad=26, color=INK)
    axes.axis("off")


def _box(axes: Axes, left: float, rows: tuple[int, int], width: float, color: str) -> None:
    axes.add_patch(Rectangle((left, rows[0]), width, rows[1] - rows[0], facecolor=color))


def _is_stored(moment: Moment, name: str, row: int) -> bool:
    return name in moment.stored and bool(moment.stored[name][row])


def _draw_chip(axes: Axes, memory: Memory, moment: Moment) -> None:
    """The buffers of matrices, as high as they are large, out of what four largest would take."""
    held = {name: rows for name, rows in moment.on_chip.items() if memory.arrays[name].dim() > 1}
    row_bytes = memory.head_dim * memory.arrays["Q"].element_size()
    base = 0
    for name, (start, stop) in held.items():
        color = KINDS[moment.kind] if name in moment.names else HELD
        size = (stop - start) * row_bytes
        axes.add_patch(Rectangle((0, base), 1, size, facecolor=color, edgecolor=GROUND))
        ink = INK if color == HELD else "white"
        words = f"{name} {start} to {stop - 1}"
        axes.text(0.5, base + size / 2, words, ha="center", va="center", color=ink)
        base += size
    room = memory.sram_bytes or 4 * memory.n_rows * row_bytes
    axes.add_patch(Rectangle((0, 0), 1, room, fill=False, edgecolor=INK, linewidth=1.5))
    axes.set(xlim=(-0.02, 1.02), ylim=(0, 1.02 * room))
    axes.set_title(f"chip: {base:,} of {room:,} B", pad=26, color=INK, loc="left")
    axes.axis("off")


def _draw_pairs(axes: Axes, moment: Moment, query: int) -> None:
    n_rows = len(moment.seen)
    levels = (moment.seen.int() + moment.is_new.int()).numpy()
    axes.imshow(levels, cmap=PAIRS, vmin=0, vmax=2, aspect="auto", interpolation="nearest")
    axes.add_patch(
        Rectangle((-0.5, query - 0.5), n_rows, 1, fill=False, edgecolor=INK, linewidth=1.5)
    )
    axes.set(xlabel="keys", ylabel="queries", xticks=[], yticks=[])
    axes.set_title("pairs: " + f"{int(moment.seen.sum()):,} done", pad=26, color=INK)
    axes.grid(False)


def _draw_softmax(axes: Axes, softmax: Softmax | None, moment: Moment, query: int) -> None:
    """A bar for each key that the query has seen; those that just came in another colour."""
    axes.set(xlim=(-0.6, len(moment.seen) - 0.4), ylim=(0, 1.08), xlabel="keys")
    axes.set_ylabel("exp(score - m)")
    axes.grid(False, axis="x")
    words = f"query {query}: no key yet"
    if softmax is not None:
        new = moment.is_new[query].tolist()
        colors = [NEW if is_new else DONE for is_new in new]
        axes.bar(range(len(new)), softmax.weights.tolist(), color=colors, width=0.9)
        words = f"query {query}: m = {softmax.maximum:.2f}, l = {softmax.total:.2f}"
        if softmax.rescaled < 1:
            words += f"; earlier ones times {softmax.rescaled:.2f}"
    axes.set_title(words, color=INK)


def _draw_moved(axes: Axes, moments: Sequence[Moment], n: int) -> None:
    """Bytes so far, moment by moment, of all that the whole run will move."""
    for kind, color in KINDS.items():
        kib = [moment.n_bytes[kind] / 1024 for moment in moments]
        axes.plot(range(n + 1), kib[: n + 1], color=color)
        axes.plot([n], kib[n : n + 1], "o", color=color, label=f"{kind} {kib[n]:.1f} KiB")
    most = _total(moments[-1].n_bytes)
    axes.set(xlim=(0, max(1, len(moments) - 1)), ylim=(0, 1.05 * most / 1024), xlabel="moment")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_title(f"{_total(moments[n].n_bytes) / 1024:.1f} KiB moved", color=INK)
    axes.legend(loc="upper left", fontsize=SMALLER)


def _total(n_bytes: Mapping[str, int]) -> int:
    return sum(n_bytes.values())
