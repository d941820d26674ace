"""The figures of lab 7: moves of a counted memory, counts by tile and length, measured times."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from labkit.labs.flash_attention.back_ends import back_ends, logarithmic
from labkit.labs.flash_attention.records import Traffic
from labkit.measuring.panels import SMALL, WIDTH, name_ends, panels, say, shade
from labkit.measuring.plots import COLORS, CourseFigure, Drawing
from labkit.measuring.records import Record, has_rows
from labkit.models.counted_memory import Access, Memory

KINDS = {"load": COLORS["weights"], "store": COLORS["other"]}
ORDER = ("Q", "K", "V", "S", "P", "O", "l", "m", "L", "D", "dO", "dP", "dS", "dQ", "dK", "dV")
WAY_COLORS = {
    "standard": COLORS["plain"], "FlashAttention": COLORS["other"],
    "FlashAttention-2": COLORS["method"],
}  # fmt: skip
CHIPS = ((65_536, 64, 4), (65_536, 128, 4), (232_448, 128, 2))  # bytes, head_dim, bytes a number
LENGTHS = tuple(2**i for i in range(8, 15))


def moves(memory: Memory, title: str = "") -> CourseFigure:
    """Every move of a memory's log: a lane for each array, its rows upwards, time to the right.

    The width of a mark is how many numbers it moves, so that the right end is what was moved in
    all.
    """
    names = sorted({access.name for access in memory.accesses}, key=_place)
    size = (WIDTH, 1.3 + 0.55 * max(2, len(names)))
    with panels(1, 1, size) as (figure, ((axes,),)):
        lanes = {name: 1.2 * i * memory.n_rows for i, name in enumerate(reversed(names))}
        _draw_moves(axes, memory.accesses, lanes)
        for name, base in lanes.items():
            moved = [f"{kind} {n:,}" for kind in KINDS if (n := memory.numbers(kind)[name])]
            axes.text(
                1.01, base + memory.n_rows / 2, "\n".join(moved), va="center", fontsize=SMALL,
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        axes.set_yticks([base + memory.n_rows / 2 for base in lanes.values()], list(lanes))
        axes.tick_params(axis="y", length=0)
        axes.grid(False)
        axes.spines["left"].set_visible(False)
        axes.set(xlabel="numbers moved so far", xlim=(0, None))
        axes.set_ylim(-0.1 * memory.n_rows, 1.2 * max(1, len(lanes)) * memory.n_rows)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        if not names:
            axes.text(0.5, 0.5, "nothing was moved", ha="center", transform=axes.transAxes)
            axes.set_xticks([])
        handles = [Patch(color=color, label=kind) for kind, color in KINDS.items()]
        figure.legend(handles=handles, ncols=2, fontsize=9, loc="outside lower right")
        caption = "Each array has a lane. The width of a mark shows how many numbers it moves."
        total = f"{memory.n_read:,} numbers read, {memory.n_written:,} written"
        return say(figure, f"{title}: {total}" if title else total, caption=caption)


def traffic_by_tile(
    standard_traffic: Traffic,
    flash_1_traffic: Traffic,
    flash_2_traffic: Traffic,
    n_rows: int = 4096,
    head_dims: Sequence[int] = (64, 128),
) -> CourseFigure:
    """Numbers moved by the rows of the tile that decides, and where the first order moves less.

    That is the tile of K for the first order of FlashAttention, and that of Q for the second.
    """
    tiles = [2**i for i in range(3, 11)]
    least_tile = partial(_least_tile, standard_traffic, flash_1_traffic)
    with panels(1, len(head_dims), (WIDTH, 3.8), sharey=True) as (figure, (row,)):
        for axes, head_dim in zip(row, head_dims, strict=True):
            whole = sum(standard_traffic(n_rows, head_dim))
            ways = {
                "standard": [whole] * len(tiles),
                "FlashAttention": [sum(flash_1_traffic(n_rows, head_dim, n)) for n in tiles],
                "FlashAttention-2": [sum(flash_2_traffic(n_rows, head_dim, n)) for n in tiles],
            }
            _draw_ways(axes, tiles, ways)
            if least := least_tile(n_rows, head_dim):
                axes.axvline(least, color=COLORS["reference"], linewidth=1, linestyle=":")
                axes.annotate(
                    f"from {least} rows on\nthe first order\nmoves less", (least, whole / 1e6),
                    (5, 14), textcoords="offset points", fontsize=SMALL,
                )  # fmt: skip
            axes.set(
                title=f"N = {n_rows:,}, D = {head_dim}",
                xlabel="rows of a tile of K (of Q for FlashAttention-2)",
            )
        row[0].set_ylabel("million numbers moved")
        least = {head_dim: least_tile(n_rows, head_dim) for head_dim in head_dims}
        words = [f"{rows} rows with D = {head_dim}" for head_dim, rows in least.items() if rows]
        title = f"FlashAttention moves less from {' and '.join(words)} on"
        caption = "The numbers are counted: all reads and writes of the large memory."
        say(figure, title if words else "FlashAttention never moves less", caption=caption)
        name_ends(row[-1])
    return figure


def traffic_by_length(
    standard_traffic: Traffic,
    flash_1_traffic: Traffic,
    flash_2_traffic: Traffic,
    tile_sizes: Callable[[int, int, int], tuple[int, int]],
) -> CourseFigure:
    """Numbers moved by the length of the text, with the tiles that three chips allow."""
    words: dict[str, list[str]] = {}
    with panels(1, len(CHIPS), (WIDTH, 4.0), sharey=True) as (figure, (row,)):
        for axes, (sram_bytes, head_dim, n_bytes) in zip(row, CHIPS, strict=True):
            tile_q, tile_kv = tile_sizes(sram_bytes, head_dim, n_bytes)
            sizes = [(n, head_dim) for n in LENGTHS]
            ways = {
                "standard": [sum(standard_traffic(*size)) for size in sizes],
                "FlashAttention": [sum(flash_1_traffic(*size, tile_kv)) for size in sizes],
                "FlashAttention-2": [sum(flash_2_traffic(*size, tile_q)) for size in sizes],
            }
            _draw_ways(axes, LENGTHS, ways)
            for i, (name, totals) in enumerate(list(ways.items())[1:]):
                ratio = totals[-1] / ways["standard"][-1]
                words.setdefault(name, []).append(f"{ratio:.2f}")
                place = {"transform": axes.transAxes, "ha": "right", "fontsize": SMALL}
                color = shade(WAY_COLORS[name])
                axes.text(0.98, 0.1 - 0.07 * i, f"{name}: {ratio:.2f} ×", color=color, **place)
            axes.set_title(f"{n_bytes} bytes, D = {head_dim},\n{sram_bytes / 1024:.0f} KiB")
            axes.set_xlabel(f"tokens\n(tiles: {tile_q} rows of Q, {tile_kv} of K)")
        row[0].set_ylabel("million numbers moved")
        title = (
            f"At {LENGTHS[-1]:,} tokens FlashAttention moves {', '.join(words['FlashAttention'])}"
        )
        caption = "Each panel is a chip: bytes of a number, D, and the memory on the chip."
        say(figure, f"{title} of what standard attention moves", caption=caption)
        handles, labels = row[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=3, fontsize=9)
    return figure


def figures_of(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """What draws each figure of lab 7 that the records have rows for, by the name of its file."""
    shown = {name: record for name, record in records.items() if has_rows(record, "sdpa")}
    return {f"{name}-back-ends": partial(back_ends, record) for name, record in shown.items()}


def _least_tile(
    standard_traffic: Traffic, flash_1_traffic: Traffic, n_rows: int, head_dim: int
) -> int | None:
    """The smallest tile of K with which the first order moves less, if there is one."""
    standard = sum(standard_traffic(n_rows, head_dim))
    less = (n for n in range(1, n_rows + 1) if sum(flash_1_traffic(n_rows, head_dim, n)) < standard)
    return next(less, None)


def _place(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER)), name


def _draw_moves(axes: Axes, accesses: Iterable[Access], lanes: Mapping[str, float]) -> None:
    boxes: dict[str, list] = {kind: [] for kind in KINDS}
    n_moved = 0
    for access in accesses:
        left, right = n_moved, n_moved + access.n_numbers
        low, high = (lanes[access.name] + row for row in (access.start, access.stop))
        boxes[access.kind].append([(left, low), (right, low), (right, high), (left, high)])
        n_moved = right
    for kind, color in KINDS.items():
        axes.add_collection(PolyCollection(boxes[kind], facecolor=color, edgecolor=color, lw=0.8))
    axes.autoscale_view()


def _draw_ways(axes: Axes, x: Sequence[int], ways: Mapping[str, Sequence[int]]) -> None:
    for name, totals in ways.items():
        millions = [total / 1e6 for total in totals]
        axes.plot(x, millions, "o-", color=WAY_COLORS[name], label=name, markersize=3.5)
    logarithmic(axes, x[:: 1 + len(x) // 7])
