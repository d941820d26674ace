"""A run as a picture: a lane for every request, and below them what the two servers did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import ceil
from typing import Any

import numpy
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation
from matplotlib.transforms import blended_transform_factory as blended

from labkit.labs.batching.log import (
    DECODE,
    HELD,
    PREFILL,
    Run,
    Span,
    idle,
    joined,
    lanes,
    memory,
)
from labkit.measuring.panels import SMALL, WIDTH, panels, say
from labkit.measuring.plots import COLORS, GROUND, INK, CourseFigure

LEFT, AT = 1.65, 1.15  # inches: where axes begin, and where their labels end
MOST_LANES = 40
MOST_STEPS = 120  # as long as there are no more, every step is a piece of its own
RESERVED = "#ecd2a3"
THIN = {"waiting": "#8a8a8a", "paused": COLORS["cache"]}
THICK = {
    "prefill": {"facecolor": COLORS["weights"]},
    "on its way": {"facecolor": COLORS["other"]},
    "decode": {"facecolor": COLORS["cache"]},
    HELD: {"facecolor": RESERVED, "hatch": "/////"},
    "idle": {"facecolor": COLORS["free"]},
}
_DOT = {"marker": "o", "markersize": 3.6, "markeredgecolor": INK, "markeredgewidth": 0.8}
MARKS = {
    "prefill": ("first token", {**_DOT, "markerfacecolor": "white"}),
    "finish": ("last token", {**_DOT, "markerfacecolor": INK}),
    "refuse": ("refused", {"marker": "x", "markersize": 5, "color": COLORS["too much"]}),
}


def draw(
    run: Run, title: str = "", *, now_s: float | None = None, end_s: float | None = None
) -> CourseFigure:
    """The lanes of the first requests, both servers, and the memory of the decode server.

    now_s: only what has happened until then. end_s: where the axis ends; by default with the run.
    """
    runs = {title or f"{len(run.jobs):,} requests": run}
    parts = {_draw_prefill: 0.5, _draw_decode: 0.8, _draw_memory: 0.8}
    return _draw(runs, parts, _Pen.for_runs([run], now_s, end_s), {"idle"})


def draw_beside(runs: Mapping[str, Run]) -> CourseFigure:
    """Runs beside each other on one scale of time: their lanes, and the sizes of decode steps."""
    return _draw(runs, {_draw_decode: 0.8}, _Pen.for_runs([*runs.values()]), {"idle"})


@dataclass(frozen=True, slots=True)
class _Pen:
    """Places on the axis of time, and nothing later than until_s.

    factor: from seconds to the axis's unit. edge: line width around each decode step, 0 if they
    are too many to distinguish.
    """

    until_s: float
    end_s: float
    factor: float
    edge: float

    @classmethod
    def for_runs(
        cls, runs: Sequence[Run], now_s: float | None = None, end_s: float | None = None
    ) -> _Pen:
        end_s = end_s or max(run.makespan_s for run in runs) or 1.0
        n_steps = max(sum(1 for _ in run.events("decode")) for run in runs)
        until_s, factor = end_s if now_s is None else now_s, 1e3 if end_s < 2 else 1.0
        return cls(until_s, end_s, factor, 0.6 if n_steps * len(runs) <= MOST_STEPS else 0.0)

    def bars(self, spans: Iterable[Span]) -> list[tuple[float, float]]:
        """Begin and width of each span, as far as it is seen."""
        seen = [span for span in spans if span.begin_s < self.until_s]
        ends = [min(span.end_s, self.until_s) for span in seen]
        return [
            (span.begin_s * self.factor, (end_s - span.begin_s) * self.factor)
            for span, end_s in zip(seen, ends, strict=True)
        ]

    def stairs(self, steps: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
        """Places and heights of a line that keeps each height until the next."""
        seen = [step for step in steps if step[0] <= self.until_s]
        seen.append((self.until_s, seen[-1][1]))
        return [when_s * self.factor for when_s, _ in seen], [height for _, height in seen]


def _draw(
    runs: Mapping[str, Run], parts: Mapping[Callable, float], pen: _Pen, others: set[str]
) -> CourseFigure:
    """A column for each run: its lanes, and the parts below, which have heights in inches."""
    shown = [dict(list(lanes(run).items())[:MOST_LANES]) for run in runs.values()]
    heights = [max(1.0, *(0.16 * len(each) for each in shown)), *parts.values()]
    with panels(len(heights), len(runs), **_grid(heights, len(runs))) as (figure, grid):
        for column, each, (title, run) in zip(grid.T, shown, runs.items(), strict=True):
            _draw_lanes(column[0], pen, run, each)
            if len(runs) > 1:
                column[0].set_title(title)
            for axes, part in zip(column[1:], parts, strict=True):
                part(axes, pen, run)
            for axes in column:
                _tidy(axes, pen)
            column[-1].set_xlabel("milliseconds" if pen.factor > 1 else "seconds")
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")
        _draw_legend(figure, shown, runs.values(), pen, others)
        caption = "Each request has a lane. The bands below show what the servers did."
        is_over = pen.until_s >= max(run.makespan_s for run in runs.values())
        title = (
            _in_words(runs) if is_over else f"{', '.join(runs)}: the first {_seconds(pen.until_s)}"
        )
        say(figure, title, caption=caption)
        figure.when_enlarged += (partial(_make_room, grid),)
    return figure


def _make_room(grid: numpy.ndarray, letters: float) -> None:
    """Room at the left for larger letters, and names for so many lanes as have room."""
    figure, more = grid[0, 0].figure, letters / SMALL
    grid[0, 0].get_gridspec().update(left=more * LEFT / figure.get_size_inches()[0])
    figure.subplots_adjust()
    for axes in grid[:, 0]:
        axes.yaxis.set_label_coords(more * AT, 0.5, blended(figure.dpi_scale_trans, axes.transAxes))
        names = [tick.label1 for tick in axes.yaxis.get_major_ticks()]
        high = 72 * axes.get_position().height * figure.get_size_inches()[1]
        step = ceil(1.4 * letters * len(names) / high)
        for i, name in enumerate(names if axes is grid[0, 0] else names[::-1]):
            name.set_visible(i % step == 0)


def _in_words(runs: Mapping[str, Run]) -> str:
    """When the last request of each run ends."""
    ends = [f"{_seconds(run.makespan_s)} for {name}" for name, run in runs.items()]
    if len(ends) > 1:
        return f"The same requests take {', '.join(ends)}"
    ((name, run),) = runs.items()
    return f"{name}: the last one ends after {_seconds(run.makespan_s)}"


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms" if seconds < 2 else f"{seconds:.3g} s"


def _grid(heights: Sequence[float], n_columns: int) -> dict[str, Any]:
    """Axes under each other, with margins in inches: a layout that need not be searched for."""
    gap = 0.16
    room = 0.6 + 0.25 * (n_columns > 1)  # for title, legend and the titles of columns
    high = sum(heights) + gap * len(heights) + 0.5 + room
    return {
        "size": (WIDTH, high), "layout": None, "sharex": True, "sharey": "row",
        "height_ratios": heights, "gridspec_kw": {
            "left": LEFT / WIDTH, "right": 1 - 0.15 / WIDTH, "wspace": 0.06 * n_columns,
            "bottom": 0.5 / high, "top": 1 - room / high,
            "hspace": gap * len(heights) / sum(heights),
        },
    }  # fmt: skip


def _tidy(axes: Axes, pen: _Pen) -> None:
    axes.grid(axis="y", visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlim(0, pen.end_s * pen.factor)
    if pen.until_s < pen.end_s:
        axes.axvline(pen.until_s * pen.factor, color=INK, linewidth=1)


def _draw_lanes(axes: Axes, pen: _Pen, run: Run, shown: Mapping[int, Sequence[Span]]) -> None:
    for kind in {span.kind for spans in shown.values() for span in spans}:
        bars = []
        for row, spans in enumerate(shown.values()):
            same = [span for span in spans if span.kind == kind]
            seen = pen.bars(same if pen.edge else joined(same))
            bars += [(left, row - 0.38, length, 0.76) for left, length in seen]
        if kind in THIN:
            lines = [
                [(left, low + 0.38), (left + length, low + 0.38)] for left, low, length, _ in bars
            ]
            axes.add_collection(LineCollection(lines, colors=THIN[kind], linewidths=1.2), False)
        else:
            _fill(axes, kind, bars, pen.edge)
    rows = {request_id: row for row, request_id in enumerate(shown)}
    for what, (_, look) in MARKS.items():
        places = [
            (event.end_s * pen.factor, rows[i])
            for event in run.events(what)
            for i in event.ids
            if i in rows and event.end_s <= pen.until_s
        ]
        if places:
            axes.plot(*zip(*places, strict=True), linestyle="", clip_on=False, zorder=3, **look)
    axes.set_ylim(len(shown) - 0.3, -0.7)
    step = 1 + (len(shown) > 12)  # every lane has a name if there is room
    axes.set_yticks(range(0, len(shown), step), list(map(str, shown))[::step], fontsize=SMALL)
    of_all = f"\nthe first {len(shown)}\nof {len(run.jobs):,}"
    _label(axes, "requests" + (of_all if len(shown) < len(run.jobs) else ""))


def _draw_prefill(axes: Axes, pen: _Pen, run: Run) -> None:
    """A block for each batch, as high as it computes tokens."""
    most = max((event.tokens for event in run.events("prefill")), default=1)
    blocks = [
        (left, 0, length, event.tokens)
        for event in run.events("prefill")
        for left, length in pen.bars([Span("prefill", event.begin_s, event.end_s)])
    ]
    _fill_idle(axes, pen, run, PREFILL, most)
    _fill(axes, "prefill", blocks, 0.4)
    axes.set_ylim(0, 1.08 * most)
    _name_ends(axes, most)
    _label(axes, "prefill server:\ntokens per batch")


def _draw_decode(axes: Axes, pen: _Pen, run: Run) -> None:
    """How many requests are in each step; the dashed line is how many may be."""
    sizes = [(0.0, 0)]
    for event in run.events("decode"):
        sizes += [(event.begin_s, len(event.ids)), (event.end_s, 0)]
    top = _limit(axes, run.setup.decode_batch, max(size for _, size in sizes))
    _fill_idle(axes, pen, run, DECODE, top)
    axes.fill_between(*pen.stairs(sizes), step="post", linewidth=0, **THICK["decode"])
    _label(axes, "decode server:\nrequests per step")


def _draw_memory(axes: Axes, pen: _Pen, run: Run) -> None:
    """Reserved tokens and, darker, how many are filled; red above the line is too much."""
    taken, capacity = memory(run), run.setup.decode_capacity
    times, reserved = pen.stairs([(when_s, tokens) for when_s, tokens, _ in taken])
    _, filled = pen.stairs([(when_s, tokens) for when_s, _, tokens in taken])
    _limit(axes, capacity, max(tokens for _, tokens, _ in taken))
    look = {"step": "post", "linewidth": 0}
    axes.fill_between(times, reserved, color=RESERVED, **look)
    axes.fill_between(times, filled, color=COLORS["cache"], **look)
    within = [min(tokens, capacity) for tokens in reserved]
    axes.fill_between(times, within, reserved, color=COLORS["too much"], **look)
    _label(axes, "decode memory:\ntokens reserved\nand filled")


def _fill_idle(axes: Axes, pen: _Pen, run: Run, server: str, top: float) -> None:
    _fill(axes, "idle", [(left, 0, length, top) for left, length in pen.bars(idle(run, server))], 0)


def _fill(
    axes: Axes, kind: str, bars: Iterable[tuple[float, float, float, float]], edge: float
) -> None:
    """Rectangles (left, low, width, height), all at once: a picture of many is drawn in no time."""
    corners = [
        [(left, low), (left, low + height), (left + width, low + height), (left + width, low)]
        for left, low, width, height in bars
    ]
    look = {"edgecolors": GROUND, "linewidths": edge, **THICK[kind]}
    axes.add_collection(PolyCollection(corners, **look), autolim=False)


def _limit(axes: Axes, limit: int, most: int) -> int:
    """A dashed line at the capacity, unless it is far above the use; returns the top."""
    top = max(most, limit if limit <= 4 * most else 0, 1)
    axes.axhline(limit, color=COLORS["reference"], linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.08 * top)
    mark = limit if limit <= top else top
    _name_ends(axes, mark)
    return top


def _name_ends(axes: Axes, mark: int) -> None:
    """The numbers 0 and mark, within the axes: others lie close above and below."""
    axes.set_yticks([0, mark], ["0", f"{mark:,}"])
    for tick, place in zip(axes.yaxis.get_major_ticks(), ("bottom", "top"), strict=True):
        tick.label1.set_va(place)


def _draw_legend(
    figure: CourseFigure,
    shown: Iterable[Mapping[int, Sequence[Span]]],
    runs: Iterable[Run],
    pen: _Pen,
    others: set[str],
) -> None:
    """Explains what can be seen. others: kinds that are not in lanes."""
    seconds: Counter[str] = Counter()
    for lanes_of in shown:
        for span in chain(*lanes_of.values()):
            seconds[span.kind] += span.end_s - span.begin_s
    kinds = others | {kind for kind, total_s in seconds.items() if total_s > 2e-3 * pen.end_s}
    events = {event.what for run in runs for event in run.log}
    thin = {kind: color for kind, color in THIN.items() if kind in kinds}
    thick = {kind: look for kind, look in THICK.items() if kind in kinds}
    handles = [Line2D([], [], color=color, lw=1.2, label=kind) for kind, color in thin.items()]
    handles += [Patch(edgecolor=GROUND, label=kind, **look) for kind, look in thick.items()]
    handles += [
        Line2D([], [], linestyle="", label=label, **look)
        for what, (label, look) in MARKS.items()
        if what in events
    ]
    figure.legend(
        handles=handles, loc="upper left", ncols=len(handles), fontsize=SMALL, handlelength=1.2,
        columnspacing=1.2, handletextpad=0.5, borderaxespad=0.2, bbox_to_anchor=(0, 1),
        bbox_transform=figure.transFigure + ScaledTranslation(0, -0.28, figure.dpi_scale_trans),
    )  # fmt: skip


def _label(axes: Axes, text: str) -> None:
    axes.set_ylabel(text, rotation=0, ha="right", va="center", fontsize=SMALL, color=INK)
    inches = axes.figure.dpi_scale_trans
    axes.yaxis.set_label_coords(AT, 0.5, blended(inches, axes.transAxes))
