"""The figures of lab 3, drawn from records; predictions too, where their function is given."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from labkit.labs.cache_benchmark.records import (
    curve,
    curve_rows,
    first_row,
    predicted_curve,
    settings_of,
    slopes,
)
from labkit.measuring.drawn import draw_times
from labkit.measuring.panels import WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure, Drawing
from labkit.measuring.records import NothingMeasured, Record, Row, has_rows, with_rows
from labkit.measuring.tables import or_sentence

LOOKS = {False: (COLORS["plain"], "without cache"), True: (COLORS["cache"], "with cache")}


@or_sentence
def with_and_without(
    record: Record,
    predicted_time_s: Callable[..., float] | None = None,
    scale: str = "log",
    settings: Sequence[str] = (),
) -> CourseFigure:
    """Seconds by new tokens, with and without a cache: a panel for each of at most three settings.

    Points are medians, bars hold the middle half of the samples; dashed lines are predicted.
    scale: "linear" or "log", of both axes. settings: by default the first two of the record.
    Raises: ValueError for a setting that the record does not have.
    """
    shown = list(settings) or _settings(record)[:2]
    rows = [row for row in record.of("cache_or_not") if row.setting in shown]
    if not any(row.is_ok for row in rows):
        raise NothingMeasured.of(rows, "cache_or_not")
    with panels(1, len(shown), (WIDTH, 3.6), sharey=True) as (figure, (row,)):
        for axes, setting in zip(row, shown, strict=True):
            _both_curves(axes, record, setting, predicted_time_s)
            axes.set_title(f"{setting}: {_model(record, setting)}", fontsize=9)
            axes.set_xlabel("new tokens")
        row[0].set_ylabel("seconds")
        caption = (
            "Points are medians, bars the middle half of the runs. Dashed lines are predicted by "
            "predicted_time_s."
        )
        say(figure, _in_words(record, shown[0]), record.provenance, caption)
        for axes in row:
            _scaled(axes, scale)
        for axes in row:
            name_ends(axes)
    return figure


def _in_words(record: Record, setting: str) -> str:
    """Both times of a setting, at the greatest length that was measured both ways."""
    curves = [dict(zip(*curve(record, setting, cached), strict=True)) for cached in LOOKS]
    both = set(curves[0]) & set(curves[1])
    if not both:
        return setting
    without, cached = (each[max(both)] for each in curves)
    words = (
        f"{max(both)} new tokens take {without:.3g} s without a cache and {cached:.3g} s with it"
    )
    return f"{setting}: {words}"


@or_sentence
def slopes_by_length(record: Record, slopes: Callable[..., Sequence] = slopes) -> CourseFigure:
    """Milliseconds per further token between neighbouring lengths, for the first three settings.

    A slope that noise has made negative is left out.
    """
    settings, words = _settings(record)[:3], []
    if not any(row.is_ok for row in record.of("cache_or_not")):
        raise NothingMeasured.of(record.of("cache_or_not"), "cache_or_not")
    with panels(1, len(settings), (WIDTH, 3.4), sharey=True) as (figure, (row,)):
        for axes, setting in zip(row, settings, strict=True):
            for use_cache, (color, label) in LOOKS.items():
                lengths, times_s = curve(record, setting, use_cache)
                if len(lengths) < 2:
                    continue
                points = zip(lengths[1:], slopes(lengths, times_s), strict=True)
                rising = [(n, 1e3 * slope) for n, slope in points if slope > 0]
                places = zip(*rising, strict=True) if rising else ([], [])
                axes.plot(*places, "o-", color=color, label=label, ms=3.5)
                if rising and setting == settings[0]:
                    words.append(f"{rising[-1][1]:.3g} ms {label} at {rising[-1][0]}")
            axes.set_title(f"{setting}:\n{first_row(record, setting).short_model}", fontsize=9)
            _scaled(axes, "log")
            axes.set_xlabel("new tokens")
        row[0].set_ylabel("ms per further token")
        caption = "Each point is the slope between two lengths that follow each other."
        title = f"{settings[0]}: a further token takes {', '.join(words) or 'no time'}"
        say(figure, title, record.provenance, caption)
        handles, labels = row[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=2, fontsize=9)
    return figure


@or_sentence
def prefill_by_round(rows: Sequence[Row], title: str = "") -> CourseFigure:
    """Tokens computed, and the time until the first new token, of each question, both ways.

    rows: of the experiment multi_turn.
    """
    every = [row for row in rows if row.experiment == "multi_turn"]
    rows = [row for row in every if row.is_ok]
    if not rows:
        raise NothingMeasured.of(every, "multi_turn")
    ms = {}
    with panels(1, 2, (WIDTH, 3.2)) as (figure, (both,)):
        for use_cache, (color, _) in LOOKS.items():
            turns = [row for row in rows if row.use_cache == use_cache]
            places = [i + 0.4 * use_cache for i in range(len(turns))]
            label = "with prefix cache" if use_cache else "without"
            ms[label] = [1e3 * row.time_s for row in turns]
            heights = [row.counts["prefill_tokens"] for row in turns], ms[label]
            for axes, each in zip(both, heights, strict=True):
                axes.bar(places, each, 0.38, color=color, label=label)
        both[0].set(title="tokens of the prompt computed")
        both[1].set(title="ms to the first new token")
        for axes in both:
            axes.set_xticks([i + 0.2 for i in range(len(turns))], [row.setting for row in turns])
            axes.grid(axis="x", visible=False)
        handles, labels = both[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=2, fontsize=9)
        last = " and ".join(f"{times[-1]:.0f} ms {label}" for label, times in ms.items() if times)
        caption = "Each question follows all earlier ones. A prefix cache has kept their tokens."
        return say(figure, f"The last question waits {last}", title, caption)


def offloaded_steps(records: Mapping[str, Record]) -> CourseFigure:
    """Milliseconds of a decode step by the bytes that it brings over, measured and predicted.

    Predicted is the step without offloading, plus the bytes at the bandwidth of such copies; where
    copies overlap, the longer of the two.
    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "offload")
    words = []
    with panels(1, len(records), (WIDTH, 3.4)) as (figure, (row,)):
        for axes, record in zip(row, records.values(), strict=True):
            rows = [each for each in record.of("offload") if each.is_ok]
            device = record.provenance.device
            places = range(len(rows))
            measured = [1e3 * each.time_s / each.n_new for each in rows]
            predicted = [_predicted_step_ms(each, measured[0]) for each in rows]
            axes.bar(places, measured, 0.6, color=COLORS["cache"], label="measured")
            axes.plot(places, predicted, "D", color=COLORS["reference"], label="predicted")
            labels = [each.setting.replace(", ", "\n") for each in rows]
            axes.set_xticks(places, labels)
            axes.set(title=f"{device}: {rows[0].short_model}", xlabel="layers offloaded")
            axes.grid(axis="x", visible=False)
            axes.set_ylim(0, 1.25 * max(measured + predicted))
            most = max(places, key=lambda place: rows[place].counts["offloaded_bytes"])
            words.append(f"{measured[most] / measured[0]:.1f} times as long on {device}")
        row[0].legend(loc="upper left", fontsize=9)
        row[0].set_ylabel("ms per decode step")
        caption = "A diamond is the prediction from the bytes and the bandwidth of such copies."
        title = f"With all layers offloaded, a step takes {' and '.join(words)}"
        return say(figure, title, caption=caption)


def figures_of(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """What draws each figure of lab 3 that the records have rows for, by the name of its file."""
    from labkit.cache_benchmark import predicted_time_s

    found: dict[str, Drawing] = {}
    if any(has_rows(record, "offload") for record in records.values()):
        found["cache-offload"] = partial(offloaded_steps, records)
    for name, record in records.items():
        if has_rows(record, "cache_or_not"):
            for scale in ("linear", "log"):
                curves = partial(with_and_without, record, predicted_time_s, scale)
                found[f"{name}-{scale}"] = curves
            found[f"{name}-slopes"] = partial(slopes_by_length, record)
        if has_rows(record, "multi_turn"):
            place = str(record.provenance)
            found[f"{name}-rounds"] = partial(prefill_by_round, record.rows, place)
    return found


def _settings(record: Record) -> list[str]:
    if found := settings_of(record):
        return found
    raise NothingMeasured.of((), "cache_or_not")


def _both_curves(
    axes: Axes, record: Record, setting: str, predicted_time_s: Callable[..., float] | None
) -> None:
    for use_cache, (color, label) in LOOKS.items():
        if rows := curve_rows(record, setting, use_cache):
            draw_times(axes, rows, attrgetter("n_new"), color, label=label, ms=3.5)
            if predicted_time_s is not None:
                predicted = predicted_curve(record, setting, use_cache, predicted_time_s)
                axes.plot(*predicted, "--", color=COLORS["reference"], linewidth=1.2)
    if not axes.has_data():
        rows = [row for row in record.of("cache_or_not") if row.setting == setting]
        words = ", ".join(dict.fromkeys(row.outcome for row in rows))
        axes.text(0.5, 0.5, words, ha="center", fontsize=9, transform=axes.transAxes)


def _scaled(axes: Axes, scale: str) -> None:
    if not axes.has_data():
        return
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
