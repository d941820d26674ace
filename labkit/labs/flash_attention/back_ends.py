"""The figure of what lab 7 measures: time and memory of attention's back ends, beside floors."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from labkit.labs.flash_attention.records import Point, Traffic, by_back_end, floors_ms, points
from labkit.measuring.panels import SMALL, WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.records import NothingMeasured, Record, has_rows
from labkit.measuring.tables import or_sentence

LOOKS = {  # those that write all scores, and those that work tile by tile
    "plain": ("o-", COLORS["plain"]), "math": ("s-", COLORS["plain"]),
    "efficient": ("o-", COLORS["method"]), "flash": ("s-", COLORS["method"]),
    "cudnn": ("^-", COLORS["method"]), "labkit": ("D-", COLORS["method"]),
}  # fmt: skip
FLOORS = {  # by what takes the time: label and line
    "products": ("products", "--"),
    "exponentials": ("exponentials", (0, (5, 1))),
    "scores moved": ("scores moved", ":"),
    "tiles moved": ("tiles moved", "-."),
}


@or_sentence
def back_ends(
    record: Record,
    standard_traffic: Traffic | None = None,
    flash_2_traffic: Traffic | None = None,
) -> CourseFigure:
    """Time, time with the backward pass, and peak memory by length.

    Of the first head_dim of the record, not causal. Dashed: what the products take at the rate of
    large matrices, and the exponentials on a known card. Dotted, with the two functions: what
    moving takes that they count, all from the large memory. (On a GPU tiles that many programs load
    mostly come out of its cache: a kernel may be faster than the lower of these lines.)
    """
    forward, back = _forward_and_back(record)
    counts = (standard_traffic, flash_2_traffic)
    with panels(1, 3, (WIDTH, 4.4)) as (figure, ((time, both, peak),)):
        for axes, point, title in ((time, forward, "forward"), (both, back, "forward + backward")):
            if point is None:
                axes.set_visible(False)
                continue
            _draw_back_ends(axes, record, point, "time_s", 1e3)
            _draw_floors(axes, record, point, *counts)
            axes.set_title(f"ms, {title}")
        _draw_back_ends(peak, record, forward, "peak_bytes", 1e-6)
        peak.set_title("MB at the peak")
        source = f"{forward.label}, {forward.n_heads} heads; {record.provenance}"
        caption = (
            "Grey back ends write all scores to memory, green ones work tile by tile. Red lines "
            "show the least time of the products, the exponentials and the moves."
        )
        say(figure, _slowest_and_fastest(record, forward), source, caption)
        for axes in (time, both, peak):
            name_ends(axes)
    return figure


def _slowest_and_fastest(record: Record, point: Point) -> str:
    """At the greatest length: the times of both in a sentence."""
    rows = {name: of[max(of)] for name, of in by_back_end(record, point).items()}
    times_ms = {name: 1e3 * row.time_s for name, row in rows.items() if row.is_ok}
    if not times_ms:
        return "Time and memory by length"
    slow, fast = max(times_ms, key=times_ms.get), min(times_ms, key=times_ms.get)
    n_tokens = max(max(of) for of in by_back_end(record, point).values())
    return f"{n_tokens:,} tokens: {times_ms[slow]:.3g} ms by {slow}, {times_ms[fast]:.3g} by {fast}"


def logarithmic(axes: Axes, ticks: Sequence[int]) -> None:
    """Both axes, with these ticks to the right."""
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=SMALL)
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def _forward_and_back(record: Record) -> tuple[Point, Point | None]:
    """The first head_dim of a record, not causal: the point without and with the backward pass."""
    every = [point for point in points(record) if not point.is_causal]
    if not has_rows(record, "sdpa"):
        raise NothingMeasured.of(record.of("sdpa"), "sdpa")
    of_first = [point for point in every if point.head_dim == every[0].head_dim]
    found = {point.has_back: point for point in of_first}
    return found[False], found.get(True)


def _draw_back_ends(axes: Axes, record: Record, point: Point, field: str, factor: float) -> None:
    lengths: set[int] = set()
    for name, rows in by_back_end(record, point).items():
        ok = {n: factor * getattr(row, field) for n, row in rows.items() if row.is_ok}
        look, color = LOOKS[name]
        axes.plot(list(ok), list(ok.values()), look, color=color, label=name, markersize=4, lw=1.5)
        for n in set(rows) - set(ok):
            place = {"transform": axes.get_xaxis_transform(), "color": color}
            axes.plot([n], [0.97], "x", **place)
            axes.text(n, 0.92, rows[n].outcome, rotation=90, fontsize=SMALL, va="top", **place)
        lengths |= set(rows)
    logarithmic(axes, sorted(lengths)[:: 1 + len(lengths) // 4])
    axes.set_xlabel("tokens")


def _draw_floors(axes: Axes, record: Record, point: Point, *counts: Traffic | None) -> None:
    lengths = sorted({n for rows in by_back_end(record, point).values() for n in rows})
    floors = [floors_ms(record, point, n, *counts) for n in lengths]
    for name in floors[0]:
        label, line = FLOORS[name]
        times = [each[name] for each in floors]
        axes.plot(
            lengths, times, linestyle=line, color=COLORS["too much"], linewidth=1.3, label=label
        )
