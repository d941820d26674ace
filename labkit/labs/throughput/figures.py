"""The tables and figures of lab 2, made from records alone: no number here is not in a file.

Each figure has a row of axes per record, so that kinds of hardware stand below each other: times on
linear axes, the same on logarithmic ones beside what physics allows, and throughput.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from labkit.measuring.bounds import machine_of
from labkit.measuring.panels import draw_times, panels
from labkit.measuring.physics import floors_of
from labkit.measuring.plots import COLORS
from labkit.measuring.records import Record, Row, has_rows, with_rows
from labkit.measuring.roofline import Floor
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


def input_sweep(records: Mapping[str, Record]) -> Figure:
    """Time and throughput by prompt length."""
    return _sweep_figure(records, "input_sweep", "n_input")


def output_sweep(records: Mapping[str, Record]) -> Figure:
    """Time and throughput by number of new tokens."""
    return _sweep_figure(records, "output_sweep", "n_new")


def forward_by_batch(records: Mapping[str, Record]) -> Figure:
    """Time of a forward pass, and passes of one text per second, by batch size."""
    return _sweep_figure(records, "forward_by_batch", "batch_size")


def three_models(records: Mapping[str, Record]) -> Figure:
    """Each model's time per layer and step, beside the floor of its step per layer."""
    shown = with_rows(records, "three_models")
    with panels(1, len(shown), (5.2 * len(shown), 3.6)) as (figure, grid):
        for axes, (name, record) in zip(grid[0], shown.items(), strict=True):
            rows = [row for row in record.of("three_models") if row.is_ok]
            layers = [facts_of(row.model)["num_hidden_layers"] * row.n_new for row in rows]
            measured = [1e3 * row.time_s / n for row, n in zip(rows, layers, strict=True)]
            floors = [1e3 * _floor_s(row, record) / n for row, n in zip(rows, layers, strict=True)]
            places = range(len(rows))
            axes.bar(places, measured, width=0.55, color=TIME_COLOR, label="measured")
            if all(floors):
                axes.bar(places, floors, width=0.55, color=COLORS["cache"], label="floor")
            labels = [
                f"{row.short_model}\n{facts_of(row.model)['num_hidden_layers']} layers"
                for row in rows
            ]
            axes.set_xticks(list(places), labels)
            axes.grid(False, axis="x")
            axes.set(title=name, ylabel="ms per layer and new token")
            axes.set_ylim(0, 1.3 * max(measured + floors))
            axes.legend(loc="upper left", ncols=2, fontsize=8)
            _caption(axes, record)
    return figure


FIGURES: dict[str, Callable[[Mapping[str, Record]], Figure]] = {
    draw.__name__: draw for draw in (input_sweep, output_sweep, three_models, forward_by_batch)
}


def figures_of(records: Mapping[str, Record]) -> dict[str, Figure]:
    """Every figure of lab 2 that the records have rows for, by the name of its file."""
    found = {}
    for name, draw in FIGURES.items():
        if any(has_rows(record, name) for record in records.values()):
            found[f"throughput_{name}"] = draw(records)
    return found


def _sweep_figure(records: Mapping[str, Record], experiment: str, field: str) -> Figure:
    shown = with_rows(records, experiment)
    with panels(len(shown), 3, (12.5, 3.5 * len(shown))) as (figure, grid):
        for row_of_axes, (name, record) in zip(grid, shown.items(), strict=True):
            _draw_row(row_of_axes, name, record, experiment, field)
    return figure


def _draw_row(grid: Sequence[Axes], name: str, record: Record, experiment: str, field: str) -> None:
    """One record: times on linear and logarithmic axes, throughput."""
    linear, log, rate = grid
    rows = sorted(record.of(experiment), key=lambda row: getattr(row, field))
    ok = [row for row in rows if row.is_ok]
    x = [getattr(row, field) for row in ok]
    floors = [_floor_s(row, record) for row in ok]
    for axes in (linear, log):
        draw_times(axes, ok, attrgetter(field), TIME_COLOR, markersize=4)
        _mark_lost(axes, [row for row in rows if not row.is_ok], field)
    if all(floors):
        log.plot(x, floors, "--", color=COLORS["reference"], label="floor: moving or computing")
        log.legend(loc="best", fontsize=8)
    linear.xaxis.set_major_locator(MaxNLocator(4))
    linear.set(title=f"{name}: {ok[0].short_model}", ylabel="seconds", ylim=(0, None))
    log.set(title="logarithmic", xscale="log", yscale="log")
    if experiment == "forward_by_batch":
        rates, unit = [row.batch_size / row.time_s for row in ok], "texts per second"
    else:
        rates, unit = [row.tokens_per_s for row in ok], "new tokens per second"
    rate.plot(x, rates, "s-", color=RATE_COLOR, markersize=4)
    rate.set(title="throughput", ylabel=unit, xscale="log", ylim=(0, 1.1 * max(rates)))
    for axes in (log, rate):
        ticks = x if len(x) <= 7 else x[::3]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
    for axes in grid:
        axes.set_xlabel(WAYS_OF_COUNTING[field])
    _caption(linear, record)


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


def _caption(axes: Axes, record: Record) -> None:
    axes.text(
        0.0, -0.27, str(record.provenance), transform=axes.transAxes, fontsize=7.5, color="#555555"
    )  # fmt: skip
