"""The figures of lab 3, drawn from records; predictions too, where their function is given."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from labkit.labs.cache_benchmark.records import (
    curve,
    curve_rows,
    first_row,
    predicted_curve,
    settings_of,
)
from labkit.measuring.panels import draw_times, panels
from labkit.measuring.plots import COLORS, FAMILY_COLORS
from labkit.measuring.records import Record, Row, has_rows, with_rows

LOOKS = {False: (COLORS["weights"], "without cache"), True: (COLORS["cache"], "with cache")}


def with_and_without(
    records: Mapping[str, Record],
    predicted_time_s: Callable[..., float] | None = None,
    scale: str = "log",
) -> Figure:
    """Seconds by new tokens, with and without a cache: a row per record, a column per setting.

    Points are medians, bars hold the middle half of the samples; dashed lines are predicted.
    scale: "linear" or "log", of both axes.
    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "cache_or_not")
    n_columns = max(len(settings_of(record)) for record in records.values())
    size = (3.1 * n_columns + 0.6, 2.7 * len(records) + 0.5)
    with panels(len(records), n_columns, size) as (figure, grid):
        for (name, record), row in zip(records.items(), grid, strict=True):
            settings = settings_of(record)
            for axes in row[len(settings) :]:
                axes.set_visible(False)
            for axes, setting in zip(row, settings, strict=False):
                _both_curves(axes, record, setting, predicted_time_s)
                _scaled(axes, scale)
                axes.set_title(f"{setting}: {_model(record, setting)}", fontsize=9)
            row[0].set_ylabel(f"{name}\nseconds")
        for axes in grid[-1]:
            axes.set_xlabel("new tokens")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
    return figure


def slopes_by_length(records: Mapping[str, Record], slopes: Callable[..., Sequence]) -> Figure:
    """Milliseconds per further token between neighbouring lengths: a panel per record.

    slopes(lengths, times_s) is the caller's. Full lines without a cache, dashed with one. A slope
    that noise has made negative is left out.
    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "cache_or_not")
    with panels(1, len(records), (4.6 * len(records), 3.8)) as (figure, (row,)):
        for axes, (name, record) in zip(row, records.items(), strict=True):
            for color, setting in zip(FAMILY_COLORS[1:], settings_of(record), strict=False):
                for use_cache, line in ((False, "o-"), (True, "s--")):
                    lengths, times_s = curve(record, setting, use_cache)
                    if len(lengths) < 2:
                        continue
                    points = zip(lengths[1:], slopes(lengths, times_s), strict=True)
                    rising = [(n, 1e3 * slope) for n, slope in points if slope > 0]
                    label = setting if not use_cache else None
                    places = zip(*rising, strict=True) if rising else ([], [])
                    axes.plot(*places, line, color=color, label=label, ms=3.5)
            axes.set(title=name, xlabel="new tokens", xscale="log", yscale="log")
            if axes.lines:
                axes.legend(fontsize=8.5)
        row[0].set_ylabel("ms per further token (dashed: with cache)")
    return figure


def prefill_by_round(rows: Sequence[Row], title: str = "") -> Figure:
    """Tokens computed, and the time until the first new token, of each question, both ways.

    rows: of the experiment multi_turn.
    Raises: ValueError if there are none.
    """
    rows = [row for row in rows if row.experiment == "multi_turn" and row.is_ok]
    if not rows:
        raise ValueError("no row of the experiment multi_turn: measure it first")
    with panels(1, 2, (9, 3.2)) as (figure, (both,)):
        for use_cache, (color, _) in LOOKS.items():
            turns = [row for row in rows if row.use_cache == use_cache]
            places = [i + 0.4 * use_cache for i in range(len(turns))]
            label = "with prefix cache" if use_cache else "without"
            heights = (
                [row.counts["prefill_tokens"] for row in turns],
                [1e3 * row.time_s for row in turns],
            )
            for axes, each in zip(both, heights, strict=True):
                axes.bar(places, each, 0.38, color=color, label=label)
        both[0].set(title="Tokens of the prompt computed", ylabel="tokens")
        both[1].set(title="Time to the first new token", ylabel="ms")
        for axes in both:
            axes.set_xticks([i + 0.2 for i in range(len(turns))], [row.setting for row in turns])
            axes.grid(axis="x", visible=False)
        handles, labels = both[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2)
        if title:
            figure.supxlabel(title, fontsize=8.5, color="#444444")
    return figure


def offloaded_steps(records: Mapping[str, Record]) -> Figure:
    """Milliseconds of a decode step by the bytes that it brings over, measured and predicted.

    Predicted is the step without offloading, plus the bytes at the bandwidth of such copies; where
    copies overlap, the longer of the two.
    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "offload")
    with panels(1, len(records), (4.6 * len(records), 3.4)) as (figure, (row,)):
        for axes, (name, record) in zip(row, records.items(), strict=True):
            rows = [each for each in record.of("offload") if each.is_ok]
            places = range(len(rows))
            measured = [1e3 * each.time_s / each.n_new for each in rows]
            predicted = [_predicted_step_ms(each, measured[0]) for each in rows]
            axes.bar(places, measured, 0.6, color=COLORS["weights"], label="measured")
            axes.plot(places, predicted, "D", color=COLORS["cache"], label="predicted")
            labels = [each.setting.replace(", ", "\n") for each in rows]
            axes.set_xticks(places, labels)
            axes.set(title=f"{name}: {rows[0].short_model}")
            axes.grid(axis="x", visible=False)
            axes.legend(loc="upper left")
        row[0].set_ylabel("ms per decode step")
    return figure


def figures_of(records: Mapping[str, Record]) -> dict[str, Figure]:
    """Every figure of lab 3 that the records have rows for, by the name of its file."""
    from labkit.cache_benchmark import predicted_time_s, slopes

    def have(experiment: str) -> bool:
        return any(has_rows(record, experiment) for record in records.values())

    found = {}
    if have("cache_or_not"):
        for scale in ("linear", "log"):
            found[f"cache-{scale}"] = with_and_without(records, predicted_time_s, scale)
        found["cache-slopes"] = slopes_by_length(records, slopes)
    if have("offload"):
        found["cache-offload"] = offloaded_steps(records)
    for name, record in records.items():
        if has_rows(record, "multi_turn"):
            found[f"{name}-rounds"] = prefill_by_round(record.rows, str(record.provenance))
    return found


def _both_curves(
    axes: Axes, record: Record, setting: str, predicted_time_s: Callable[..., float] | None
) -> None:
    for use_cache, (color, label) in LOOKS.items():
        rows = curve_rows(record, setting, use_cache)
        draw_times(axes, rows, attrgetter("n_new"), color, label=label, ms=3.5)
        is_known = record.of("roofline") and record.of("one_token_pass")
        if predicted_time_s is not None and rows and is_known:
            predicted = predicted_curve(record, setting, use_cache, predicted_time_s)
            label = "predicted" if use_cache else None
            axes.plot(*predicted, "--", color=COLORS["reference"], linewidth=1.2, label=label)


def _scaled(axes: Axes, scale: str) -> None:
    if scale == "log":
        axes.set(xscale="log", yscale="log")
        axes.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=12))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    else:
        axes.set(xlim=(0, None), ylim=(0, None))


def _model(record: Record, setting: str) -> str:
    row = first_row(record, setting)
    return f"{row.short_model}, {row.n_input:,} tokens"


def _predicted_step_ms(row: Row, resident_ms: float) -> float:
    link_ms = 1e3 * row.counts["offloaded_bytes"] / row.counts["link_bandwidth"]
    return max(resident_ms, link_ms) if "overlapping" in row.setting else resident_ms + link_ms
