"""The tables and figures of lab 2, made from records alone: no number here is not in a file.

A figure is of one record, and says in a sentence what to see: times on logarithmic axes above what
physics allows, and throughput beside them.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from labkit.measuring.bounds import machine_of
from labkit.measuring.panels import WIDTH, draw_times, panels, say
from labkit.measuring.physics import floors_of
from labkit.measuring.plots import COLORS
from labkit.measuring.records import Record, Row, has_rows
from labkit.measuring.roofline import Floor, Roofline, pass_floor, ridge_point
from labkit.models.facts import gpus
from labkit.models.tiny import facts_of, has_facts

TIME_COLOR, RATE_COLOR = COLORS["weights"], "#009e73"
HEADINGS = (
    "model", "batch", "in", "new", "n", "time s", "middle half", "events s", "first", "tokens/s",
    "ms/seq", "ms/layer", "MFU",
)  # fmt: skip
WAYS_OF_COUNTING = {"n_input": "tokens in", "n_new": "new tokens", "batch_size": "texts in a batch"}


def table(record: Record, experiment: str) -> str:
    """The rows of an experiment as text; a column that no row has anything for is left out.

    n: how many samples there are; of their times by the clock and by CUDA events the median stands
    here. first: the run before them, cold, as a multiple of that. ms/seq: of a forward pass, shared
    out among the batch. ms/layer: of one pass. MFU: FLOPs of all passes per second, as a share of
    the machine's peak, which is the data sheet's, with TF32, or else the measured one.
    """
    rows = record.of(experiment)
    notes = {row.note for row in rows if row.is_ok}
    shared = notes.pop() if len(notes) == 1 else ""
    lines = [_cells(row, record) for row in rows]
    headings = [name for name in HEADINGS if any(line.get(name) for line in lines)]
    lines = [{name: name for name in headings}, *lines]
    widths = {name: max(len(line.get(name, "-")) for line in lines) for name in headings}
    pads = {name: f"{'<' if name == 'model' else '>'}{width}" for name, width in widths.items()}
    text = [", ".join(filter(None, (experiment, str(record.provenance), shared)))]
    for line in lines:
        cells = [format(line.get(name, "-"), pad) for name, pad in pads.items()]
        cells += [line["note"]] if line.get("note") and line["note"] != shared else []
        text.append("  ".join(cells))
    return "\n".join(text) + "\n"


def cards_table(model: str, n_cached: int = 64, n_prompt: int = 8192) -> str:
    """What each card of the fact table takes at least for a pass in float16, by its data sheet."""
    lines = [f"{'card':<30}{'GB/s':>7}{'TFLOP/s':>9}{'ridge':>7}{'step ms':>9}{'prefill ms':>12}"]
    for name in gpus():
        card = Roofline.of(name)
        step, prefill = (pass_floor(card, model, *n) for n in ((1, n_cached), (n_prompt, 0)))
        lines.append(
            f"{name:<30}{card.bandwidth / 1e9:>7,.0f}{card.peak('float16') / 1e12:>9.0f}"
            f"{ridge_point(card, 'float16'):>7.0f}{1e3 * step.seconds:>9.1f}"
            f"{1e3 * prefill.seconds:>12.0f}"
        )
    title = f"{model}, float16: a step after {n_cached} tokens, a prefill of {n_prompt:,} tokens"
    return "\n".join([title, *lines])


def input_sweep(record: Record) -> Figure:
    """Time and throughput by prompt length."""
    rows = _measured(record, "input_sweep", "n_input")
    flat = [row for row in rows if row.time_s < 1.25 * rows[0].time_s]
    title = (
        f"Up to {flat[-1].n_input:,} tokens in: about {rows[0].time_s:.2g} s; "
        f"{rows[-1].n_input:,} tokens in: {rows[-1].time_s:.2g} s"
    )
    return _sweep_figure(record, "input_sweep", "n_input", title)


def output_sweep(record: Record) -> Figure:
    """Time and throughput by number of new tokens."""
    first, *_, last = _measured(record, "output_sweep", "n_new")
    each_ms = 1e3 * (last.time_s - first.time_s) / (last.n_new - first.n_new)
    title = f"Each new token takes {each_ms:.3g} ms"
    return _sweep_figure(record, "output_sweep", "n_new", title)


def forward_by_batch(record: Record) -> Figure:
    """Time of a forward pass, and passes of one text per second, by batch size."""
    first, *_, last = _measured(record, "forward_by_batch", "batch_size")
    title = (
        f"A pass over {last.batch_size} texts takes {last.time_s / first.time_s:.1f} times as long "
        f"as over {first.batch_size}"
    )
    return _sweep_figure(record, "forward_by_batch", "batch_size", title)


def three_models(record: Record) -> Figure:
    """Each model's time per layer and step, beside the floor of its step per layer."""
    rows = _measured(record, "three_models", "n_new")
    layers = [facts_of(row.model)["num_hidden_layers"] * row.n_new for row in rows]
    measured = [1e3 * row.time_s / n for row, n in zip(rows, layers, strict=True)]
    floors = [1e3 * _floor_s(row, record) / n for row, n in zip(rows, layers, strict=True)]
    with panels(1, 1, (WIDTH, 1.2 + 0.6 * len(rows))) as (figure, ((axes,),)):
        places = range(len(rows))
        drawn = axes.barh(places, measured, 0.55, color=TIME_COLOR, label="measured")
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
        return say(figure, title, record.provenance)


FIGURES: dict[str, Callable[[Record], Figure]] = {
    draw.__name__: draw for draw in (input_sweep, output_sweep, three_models, forward_by_batch)
}


def figures_of(records: Mapping[str, Record]) -> dict[str, Figure]:
    """Every figure of lab 2 that the records have rows for, by the name of its file."""
    return {
        f"{record_name}-{name}": draw(record)
        for record_name, record in records.items()
        for name, draw in FIGURES.items()
        if has_rows(record, name)
    }


def _measured(record: Record, experiment: str, field: str) -> list[Row]:
    """The rows that have times, by what was varied. Raises: ValueError if there are none."""
    rows = [row for row in record.of(experiment) if row.is_ok]
    if not rows:
        raise ValueError(f"the record has no rows of the experiment {experiment}: measure it first")
    return rows if field == "n_new" else sorted(rows, key=attrgetter(field))


def _sweep_figure(record: Record, experiment: str, field: str, title: str) -> Figure:
    """Times on logarithmic axes, with what physics allows; throughput beside them."""
    rows = _measured(record, experiment, field)
    x = [getattr(row, field) for row in rows]
    floors = [_floor_s(row, record) for row in rows]
    if experiment == "forward_by_batch":
        rates, unit = [row.batch_size / row.time_s for row in rows], "texts per second"
    else:
        rates, unit = [row.tokens_per_s for row in rows], "new tokens per second"
    with panels(1, 2, (WIDTH, 3.4)) as (figure, ((time, rate),)):
        draw_times(time, rows, attrgetter(field), TIME_COLOR, markersize=4, label="measured")
        _mark_lost(time, [row for row in record.of(experiment) if not row.is_ok], field)
        time.set(title="seconds", xscale="log", yscale="log")
        if all(floors):
            low = time.get_ylim()[0]
            label = "impossible: below the floor"
            time.fill_between(x, floors, min(floors) / 2, color=COLORS["free"], label=label)
            time.set_ylim(min(low, min(floors) / 2), None)
            time.legend(loc="upper left", fontsize=8)
        time.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        time.yaxis.set_major_formatter("{x:g}")
        time.yaxis.set_minor_formatter(NullFormatter())
        rate.plot(x, rates, "s-", color=RATE_COLOR, markersize=4)
        rate.set(title=unit, xscale="log", ylim=(0, 1.1 * max(rates)))
        for axes in (time, rate):
            ticks = x[:: 1 + len(x) // 6]
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
            axes.set_xlabel(WAYS_OF_COUNTING[field])
        return say(figure, title, f"{rows[0].short_model}, {record.provenance}")


def _with_layers(row: Row) -> str:
    n_layers = facts_of(row.model)["num_hidden_layers"]
    return f"{row.short_model}, {n_layers} layer{'s' * (n_layers > 1)}"


def _cells(row: Row, record: Record) -> dict[str, str]:
    """What a table says of a row, by its headings and in a note."""
    cells = {
        "model": row.short_model,
        "batch": f"{row.batch_size}",
        "in": f"{row.n_input:,}",
        "new": f"{row.n_new}",
    }
    if not row.is_ok:
        return cells | {"note": ": ".join(filter(None, (row.outcome, row.note)))}
    low, high = row.spread_s
    cells |= {
        "n": f"{len(row.samples_s)}",
        "time s": f"{row.time_s:.4f}",
        "middle half": f"{low:.4f} to {high:.4f}",
        "note": row.note,
    }
    if row.events_s:
        cells["events s"] = f"{statistics.median(row.events_s):.4f}"
    if "first_s" in row.counts:
        cells["first"] = f"{row.counts['first_s'] / row.time_s:.1f}x"
    if row.n_new:
        cells["tokens/s"] = f"{row.tokens_per_s:.1f}"
    else:
        cells["ms/seq"] = f"{1e3 * row.time_s / row.batch_size:.2f}"
    if has_facts(row.model):
        n_layers = facts_of(row.model)["num_hidden_layers"]
        cells["ms/layer"] = f"{1e3 * row.time_s / max(1, row.n_new) / n_layers:.3f}"
    if floors := _floors(row, record):
        computing_s = sum(floor.computing_s for floor in floors)
        cells["MFU"] = f"{computing_s / row.time_s:.1%}"
    return cells


def _floors(row: Row, record: Record) -> list[Floor]:
    """Of all passes of a run, on the record's machine; none where it or the model is unknown."""
    if not (record.of("roofline") and has_facts(row.model)):
        return []
    machine, _ = machine_of(record)
    return floors_of(row, row.model, machine, record.provenance.dtype)


def _floor_s(row: Row, record: Record) -> float:
    """The floors of a run's passes together; 0 where they are unknown."""
    return sum(floor.seconds for floor in _floors(row, record))


def _mark_lost(axes: Axes, rows: Sequence[Row], field: str) -> None:
    """A cross at the lower edge for each point without a time, and why."""
    for row in rows:
        x = getattr(row, field)
        place = {"transform": axes.get_xaxis_transform(), "color": COLORS["too much"]}
        axes.plot([x], [0.03], "x", clip_on=False, **place)
        axes.text(x, 0.06, row.outcome, rotation=90, fontsize=7, va="bottom", ha="center", **place)
