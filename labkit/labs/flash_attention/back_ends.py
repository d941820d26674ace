"""The figure of what lab 7 measures: time and memory of attention's back ends, beside floors."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labkit.labs.flash_attention.records import (
    TILE_Q,
    Point,
    Traffic,
    by_back_end,
    computing_s,
    moving_s,
    points,
)
from labkit.measuring.plots import COLORS, course_style
from labkit.measuring.records import Record, has_rows, with_rows

BACK_END_COLORS = {
    "plain": "#777777", "math": "black", "efficient": "#009e73", "flash": "#0072b2",
    "cudnn": "#cc79a7", "labkit": "#e69f00",
}  # fmt: skip


def back_ends(
    records: Mapping[str, Record],
    standard_traffic: Traffic | None = None,
    flash_2_traffic: Traffic | None = None,
) -> Figure:
    """Time, time with the way back, and peak memory by length; a row of panels for each record.

    Of the first head_dim of a record, not causal. Dashed: what the products take at the rate of
    large matrices; dotted, with the two functions: what moving takes that they count, all from the
    large memory. (On a GPU tiles that many programs load mostly come out of its cache: a kernel may
    be faster than the lower of these lines.)
    Raises: ValueError if no record has rows of the experiment sdpa.
    """
    shown = with_rows(records, "sdpa")
    with course_style():
        figure, grid = plt.subplots(
            len(shown), 3, figsize=(12.5, 3.6 * len(shown)), layout="constrained", squeeze=False
        )
        for row_of_axes, (name, record) in zip(grid, shown.items(), strict=True):
            forward, back = _forward_and_back(record)
            for axes, point in zip(row_of_axes, (forward, back), strict=False):
                _draw_back_ends(axes, record, point, "time_s", 1e3)
                _draw_floor(axes, record, point)
            if standard_traffic and record.of("roofline"):
                _draw_moving(row_of_axes[0], record, forward, standard_traffic, flash_2_traffic)
            _draw_back_ends(row_of_axes[2], record, forward, "peak_bytes", 1e-6)
            row_of_axes[0].set(title=f"{name}: {forward}", ylabel="ms")
            row_of_axes[1].set(title=f"{name}: {back}", ylabel="ms")
            row_of_axes[2].set(title=f"{name}: {forward}, peak memory", ylabel="MB")
            row_of_axes[2].legend(fontsize=8)
            row_of_axes[0].legend(handles=_dashed(row_of_axes[0]), fontsize=7.5, loc="upper left")
            row_of_axes[1].set_xlabel(f"tokens\n{record.provenance}; {forward.n_heads} heads")
    plt.close(figure)
    return figure


def figures_of(records: Mapping[str, Record]) -> dict[str, Figure]:
    """Every figure of lab 7 that the records have rows for, by the name of its file."""
    if any(has_rows(record, "sdpa") for record in records.values()):
        return {"flash-back-ends": back_ends(records)}
    return {}


def logarithmic(axes: Axes, ticks: Sequence[int]) -> None:
    """Both axes, with these ticks to the right."""
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=8)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def _forward_and_back(record: Record) -> tuple[Point, Point | None]:
    """The first head_dim of a record, not causal: the point without and with the way back."""
    every = [point for point in points(record) if not point.is_causal]
    of_first = [point for point in every if point.head_dim == every[0].head_dim]
    found = {point.has_back: point for point in of_first}
    return found[False], found.get(True)


def _draw_back_ends(
    axes: Axes, record: Record, point: Point | None, field: str, factor: float
) -> None:
    if point is None:
        return
    lengths: set[int] = set()
    for name, rows in by_back_end(record, point).items():
        ok = {n: factor * getattr(row, field) for n, row in rows.items() if row.is_ok}
        style = {"color": BACK_END_COLORS[name], "label": name, "markersize": 4}
        axes.plot(list(ok), list(ok.values()), "o-", **style)
        for n in set(rows) - set(ok):
            place = {"transform": axes.get_xaxis_transform(), "color": BACK_END_COLORS[name]}
            axes.plot([n], [0.97], "x", **place)
            axes.text(n, 0.92, rows[n].outcome, rotation=90, fontsize=7, va="top", **place)
        lengths |= set(rows)
    logarithmic(axes, sorted(lengths))
    axes.set_xlabel("tokens")


def _draw_floor(axes: Axes, record: Record, point: Point | None) -> None:
    if point is None or not record.of("roofline"):
        return
    lengths = sorted({n for rows in by_back_end(record, point).values() for n in rows})
    floors = [1e3 * computing_s(record, point, n) for n in lengths]
    style = {"color": COLORS["too much"], "linewidth": 1.3, "label": "products at the peak rate"}
    axes.plot(lengths, floors, "--", **style)


def _draw_moving(
    axes: Axes, record: Record, point: Point, standard: Traffic, flash_2: Traffic
) -> None:
    lengths = sorted({n for rows in by_back_end(record, point).values() for n in rows})
    ways = {"all scores moved": (standard,), "tiles moved": (flash_2, TILE_Q)}
    for color, (label, (traffic, *tile)) in zip(("black", "#0072b2"), ways.items(), strict=True):
        times = [1e3 * moving_s(record, point, n, traffic, *tile) for n in lengths]
        axes.plot(lengths, times, ":", color=color, linewidth=1.3, label=label)


def _dashed(axes: Axes) -> list:
    return [line for line in axes.lines if line.get_linestyle() in ("--", ":")]
