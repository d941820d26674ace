"""The figures of lab 2, made from records alone: no number here is not in a file.

A figure is of one record, and says in a sentence what to see: times on logarithmic axes above what
physics allows, and throughput beside them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from labkit.labs.throughput import served
from labkit.labs.throughput.records import floor_s
from labkit.measuring.drawn import draw_times
from labkit.measuring.panels import SMALL, WIDTH, panels, say
from labkit.measuring.plots import COLORS, CourseFigure, Drawing
from labkit.measuring.records import NothingMeasured, Record, Row, has_rows
from labkit.measuring.tables import or_sentence
from labkit.models.tiny import facts_of

WAYS_OF_COUNTING = {"n_input": "tokens in", "n_new": "new tokens", "batch_size": "texts in a batch"}


@or_sentence
def input_sweep(record: Record) -> CourseFigure:
    """Time and throughput by prompt length."""
    rows = _measured(record, "input_sweep", "n_input")
    flat = [row for row in rows if row.time_s < 1.25 * rows[0].time_s]
    title = f"{rows[-1].n_input:,} tokens in: {rows[-1].time_s:.2g} s"
    if len(rows) > 1:
        title = f"Up to {flat[-1].n_input:,} tokens in: about {rows[0].time_s:.2g} s; {title}"
    return _sweep_figure(record, "input_sweep", "n_input", title)


@or_sentence
def output_sweep(record: Record) -> CourseFigure:
    """Time and throughput by number of new tokens."""
    rows = _measured(record, "output_sweep", "n_new")
    first, last = rows[0], rows[-1]
    title = f"{first.n_new} new tokens take {first.time_s:.3g} s"
    if len(rows) > 1:
        each_ms = 1e3 * (last.time_s - first.time_s) / (last.n_new - first.n_new)
        title = f"Each new token takes {each_ms:.3g} ms"
    return _sweep_figure(record, "output_sweep", "n_new", title)


@or_sentence
def forward_by_batch(record: Record) -> CourseFigure:
    """Time of a forward pass, and passes of one text per second, by batch size."""
    rows = _measured(record, "forward_by_batch", "batch_size")
    first, last = rows[0], rows[-1]
    title = f"A pass over {last.batch_size} texts takes {last.time_s:.3g} s"
    if len(rows) > 1:
        ratio = f"{last.time_s / first.time_s:.1f} times as long as over {first.batch_size}"
        title = f"A pass over {last.batch_size} texts takes {ratio}"
    return _sweep_figure(record, "forward_by_batch", "batch_size", title)


@or_sentence
def three_models(record: Record) -> CourseFigure:
    """Each model's time per layer and step, beside the floor of its step per layer."""
    rows = _measured(record, "three_models", "n_new")
    layers = [facts_of(row.model)["num_hidden_layers"] * row.n_new for row in rows]
    measured = [1e3 * row.time_s / n for row, n in zip(rows, layers, strict=True)]
    floors = [1e3 * floor_s(row, record) / n for row, n in zip(rows, layers, strict=True)]
    with panels(1, 1, (WIDTH, 1.2 + 0.6 * len(rows))) as (figure, ((axes,),)):
        places = range(len(rows))
        drawn = axes.barh(places, measured, 0.55, color=COLORS["weights"], label="measured")
        axes.bar_label(drawn, fmt="%.3g ms", padding=4, fontsize=9)
        if all(floors):
            axes.plot(floors, places, "|", ms=20, mew=3, color="black", label="floor")
        axes.set_yticks(list(places), [_with_layers(row) for row in rows])
        axes.set(xlabel="milliseconds per layer and new token")
        axes.set_xlim(0, 1.2 * max(measured + floors))
        axes.grid(False, axis="y")
        axes.invert_yaxis()
        figure.legend(loc="outside lower right", ncols=2, fontsize=9, markerscale=0.5)
        title = f"A layer takes {min(measured):.2g} to {max(measured):.2g} ms in all three models"
        caption = "The tick is the floor: no pass over a layer can take less."
        return say(figure, title, record.provenance, caption)


@or_sentence
def with_and_without_launches(record: Record) -> CourseFigure:
    """Each model's decode step, eager and as a CUDA graph, beside its floor."""
    models = [row.model for row in record.of("decode_steps") if row.is_ok]
    names = list(dict.fromkeys(models))
    if not names:
        raise NothingMeasured.of(record.of("decode_steps"), "decode_steps")
    times = {
        "eager": [1e3 * served.step_s(record, name, served.EAGER) for name in names],
        "CUDA graph": [1e3 * served.step_s(record, name, served.GRAPH) for name in names],
    }
    floors = [1e3 * served.floor_of_step(record, name).seconds for name in names]
    with panels(1, 1, (WIDTH, 1.2 + 0.7 * len(names))) as (figure, ((axes,),)):
        for shift, (label, ms), color in zip((-0.2, 0.2), times.items(), PAIR, strict=True):
            places = [i + shift for i in range(len(names))]
            drawn = axes.barh(places, ms, 0.38, color=COLORS[color], label=label)
            axes.bar_label(drawn, fmt="%.3g ms", padding=4, fontsize=SMALL)
            axes.plot(floors, places, "|", ms=16, mew=3, color="black")
        axes.plot([], [], "|", ms=16, mew=3, color="black", label="floor")
        axes.set_yticks(range(len(names)), [name.rpartition("/")[2] for name in names])
        axes.set(xlabel="milliseconds of a decode step, batch 1")
        axes.set_xlim(0, 1.2 * max(times["eager"]))
        axes.grid(False, axis="y")
        axes.invert_yaxis()
        figure.legend(loc="outside lower right", ncols=3, fontsize=9, markerscale=0.5)
        slow, fast = (max(ms) for ms in times.values())
        title = f"As a graph of fused kernels, the slowest step takes {fast:.2g} ms, not {slow:.2g}"
        caption = "The tick is the floor of the step. The graph's kernels do several operations."
        return say(figure, title, record.provenance, caption)


@or_sentence
def user_or_card(records: Mapping[str, Record]) -> CourseFigure:
    """Throughput of the machine against the speed for one user, by batch size."""
    curves = {
        (name, n_cached): served.steps_by_batch(record, n_cached)
        for name, record in records.items()
        for n_cached in served.contexts_of(record)
    }
    if not curves:
        raise NothingMeasured.of([], "decode_by_batch")
    devices = list(records)
    contexts = sorted({n_cached for _, n_cached in curves})
    with panels(1, 1, (WIDTH, 4.2)) as (figure, ((axes,),)):
        for (name, n_cached), steps in curves.items():
            x = [1 / seconds for seconds in steps.values()]
            y = [batch_size / seconds for batch_size, seconds in steps.items()]
            color = COLORS[SHADES[contexts.index(n_cached) % len(SHADES)]]
            look = LOOKS[devices.index(name) % len(LOOKS)]
            label = f"{name}, {n_cached:,} cached"
            axes.plot(x, y, look, color=color, label=label, markersize=5)
            at = list(steps).index(max(steps))
            axes.annotate(f"batch {max(steps)}", (x[at], y[at]), (5, 4),
                          textcoords="offset points", fontsize=SMALL)  # fmt: skip
        axes.set(yscale="log", xlabel="tokens per second for one user (1 / TPOT)")
        axes.set(ylabel="tokens per second of the machine")
        axes.set_xlim(0, None)
        figure.legend(loc="outside right center", fontsize=SMALL)
        (name, n_cached), first = next(iter(curves.items()))
        most = max(first, key=lambda n: n / first[n])
        gain = most / first[most] / (min(first) / first[min(first)])
        words = f"{gain:.0f} times the throughput of a batch of {min(first)}"
        title = f"{name}, {n_cached:,} cached: a batch of {most} has {words}"
        words = [f"{name}: {record.provenance.device}" for name, record in records.items()]
        caption = "Each curve begins at batch 1, at its lower end. Up and to the right is better."
        return say(figure, title, "; ".join(words), caption)


PAIR = ("plain", "method")
SHADES = ("weights", "cache", "other")
LOOKS = ("o-", "s--", "^:")

FIGURES: dict[str, Callable[[Record], CourseFigure]] = {
    draw.__name__: draw for draw in (input_sweep, output_sweep, three_models, forward_by_batch)
}


def figures_of(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """What draws each figure of lab 2 that the records have rows for, by the name of its file."""
    return {
        f"{record_name}-{name}": partial(draw, record)
        for record_name, record in records.items()
        for name, draw in FIGURES.items()
        if has_rows(record, name)
    } | {
        f"{record_name}-{draw.__name__}": partial(draw, given)
        for record_name, record in records.items()
        for draw, given, experiment in (
            (with_and_without_launches, record, "decode_steps"),
            (user_or_card, {record_name: record}, "decode_pass"),
            (user_or_card, {record_name: record}, "decode_by_batch"),
        )
        if has_rows(record, experiment) and record.provenance.driver
    }


def _measured(record: Record, experiment: str, field: str) -> list[Row]:
    """The rows that have times, by what was varied. Raises: NothingMeasured if there are none."""
    rows = [row for row in record.of(experiment) if row.is_ok]
    if not rows:
        raise NothingMeasured.of(record.of(experiment), experiment)
    return sorted(rows, key=attrgetter(field))


def _sweep_figure(record: Record, experiment: str, field: str, title: str) -> CourseFigure:
    """Times on logarithmic axes, with what physics allows; throughput beside them."""
    rows = _measured(record, experiment, field)
    x = [getattr(row, field) for row in rows]
    floors = [floor_s(row, record) for row in rows]
    if experiment == "forward_by_batch":
        rates, unit = [row.batch_size / row.time_s for row in rows], "texts per second"
    else:
        rates, unit = [row.tokens_per_s for row in rows], "new tokens per second"
    with panels(1, 2, (WIDTH, 3.4), sharex=True) as (figure, ((time, rate),)):
        draw_times(time, rows, attrgetter(field), COLORS["weights"], markersize=4)
        _mark_lost(time, [row for row in record.of(experiment) if not row.is_ok], field)
        time.set(title="seconds", xscale="log", yscale="log")
        if all(floors):
            low = min(time.get_ylim()[0], min(floors) / 2)
            time.fill_between(x, floors, low, color=COLORS["free"])
            time.set_ylim(low, None)
            place = {"transform": time.transAxes, "ha": "right", "fontsize": SMALL}
            is_card = bool(record.provenance.driver)
            words = "impossible: below the floor" if is_card else "below the floor, as measured"
            time.text(0.97, 0.05, words, **place)
        time.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        time.yaxis.set_major_formatter("{x:g}")
        time.yaxis.set_minor_formatter(NullFormatter())
        rate.plot(x, rates, "s-", color=COLORS["weights"], markersize=4)
        rate.set(title=unit, xscale="log", ylim=(0, 1.1 * max(rates)))
        for axes in (time, rate):
            ticks = x[:: 1 + len(x) // 6]
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
            axes.set_xlabel(WAYS_OF_COUNTING[field])
        caption = (
            "Points are medians, bars the middle half of the runs. The axes on the left are "
            "logarithmic. Nothing can be faster than the floor."
        )
        return say(figure, title, f"{rows[0].short_model}, {record.provenance}", caption)


def _with_layers(row: Row) -> str:
    n_layers = facts_of(row.model)["num_hidden_layers"]
    return f"{row.short_model}, {n_layers} layer{'s' * (n_layers > 1)}"


def _mark_lost(axes: Axes, rows: Sequence[Row], field: str) -> None:
    """A cross at the lower edge for each point without a time, and why."""
    for row in rows:
        x = getattr(row, field)
        place = {"transform": axes.get_xaxis_transform(), "color": COLORS["too much"]}
        axes.plot([x], [0.03], "x", clip_on=False, **place)
        axes.text(
            x, 0.06, row.outcome, rotation=90, fontsize=SMALL, va="bottom", ha="center", **place
        )
