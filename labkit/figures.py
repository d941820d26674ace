"""The tables and figures of lab 2, made from records alone: no number here is not in a file.

Each figure has a row of axes per record, so that kinds of hardware stand below each other: times on
linear axes, the same on logarithmic ones beside what physics allows, and throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labkit.physics import floors_of, machine_of
from labkit.plots import COLORS, course_style
from labkit.records import Record, Row, read_record
from labkit.tiny import facts_of

TIME_COLOR, RATE_COLOR = COLORS["weights"], "#009e73"
WAYS_OF_COUNTING = {"n_input": "tokens in", "n_new": "new tokens", "batch_size": "texts in a batch"}


def table(record: Record, experiment: str) -> str:
    """The rows of an experiment as text: time, spread, throughput, time per layer and pass."""
    lines = [
        f"{experiment}, {record.provenance}",
        f"{'model':<26}{'batch':>6}{'in':>7}{'new':>5}{'time s':>10}{'middle half':>19}"
        f"{'tokens/s':>10}{'ms/layer':>10}  note",
    ]
    for row in record.of(experiment):
        sizes = (
            f"{row.model.rpartition('/')[2]:<26}{row.batch_size:>6}{row.n_input:>7,}{row.n_new:>5}"
        )
        if not row.is_ok:
            lines.append(f"{sizes}{'-':>10}  {row.outcome}{': ' if row.note else ''}{row.note}")
            continue
        low, high = row.spread_s
        n_layers = facts_of(row.model)["num_hidden_layers"]
        per_layer = 1e3 * row.time_s / max(1, row.n_new) / n_layers
        rate = "-" if row.tokens_per_s is None else f"{row.tokens_per_s:.1f}"
        lines.append(
            f"{sizes}{row.time_s:>10.4f}{f'{low:.4f} to {high:.4f}':>19}{rate:>10}"
            f"{per_layer:>10.3f}  {row.note}"
        )
    return "\n".join(lines) + "\n"


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
    with course_style():
        shown = _with_rows(records, "three_models")
        figure, grid = plt.subplots(
            1, len(shown), figsize=(5.2 * len(shown), 3.6), layout="constrained", squeeze=False
        )
        for axes, (name, record) in zip(grid[0], shown.items(), strict=True):
            rows = [row for row in record.of("three_models") if row.is_ok]
            names = [row.model.rpartition("/")[2] for row in rows]
            layers = [facts_of(row.model)["num_hidden_layers"] * row.n_new for row in rows]
            measured = [1e3 * row.time_s / n for row, n in zip(rows, layers, strict=True)]
            floors = [1e3 * _floor_s(row, record) / n for row, n in zip(rows, layers, strict=True)]
            places = range(len(rows))
            axes.bar(places, measured, width=0.55, color=TIME_COLOR, label="measured")
            axes.bar(places, floors, width=0.55, color=COLORS["cache"], label="floor")
            labels = [f"{n}\n{facts_of(r.model)['num_hidden_layers']} layers" for n, r in
                      zip(names, rows, strict=True)]  # fmt: skip
            axes.set_xticks(list(places), labels)
            axes.grid(False, axis="x")
            axes.set(title=name, ylabel="ms per layer and new token")
            axes.set_ylim(0, 1.3 * max(measured + floors))
            axes.legend(loc="upper left", ncols=2, fontsize=8)
            _caption(axes, record)
    plt.close(figure)
    return figure


FIGURES: dict[str, Callable[[Mapping[str, Record]], Figure]] = {
    draw.__name__: draw for draw in (input_sweep, output_sweep, three_models, forward_by_batch)
}


def draw_all(records: str | Path, out: str | Path) -> list[Path]:
    """Redraw every figure from the records "throughput-*.jsonl" of a folder; returns the files.

    Raises: FileNotFoundError if there is no such record.
    """
    found = {
        path.stem: read_record(path) for path in sorted(Path(records).glob("throughput-*.jsonl"))
    }
    if not found:
        raise FileNotFoundError(f"{records} has no throughput-*.jsonl to draw")
    Path(out).mkdir(parents=True, exist_ok=True)
    files = []
    for name, draw in FIGURES.items():
        if _with_rows(found, name):
            files.append(Path(out) / f"throughput_{name}.png")
            draw(found).savefig(files[-1])
    return files


def _with_rows(records: Mapping[str, Record], experiment: str) -> dict[str, Record]:
    """The records that have something of an experiment."""
    return {
        name: record
        for name, record in records.items()
        if any(row.is_ok for row in record.of(experiment))
    }


def _sweep_figure(records: Mapping[str, Record], experiment: str, field: str) -> Figure:
    shown = _with_rows(records, experiment)
    if not shown:
        raise ValueError(f"no record has rows of {experiment}: measure it first")
    with course_style():
        figure, grid = plt.subplots(
            len(shown), 3, figsize=(12.5, 3.5 * len(shown)), layout="constrained", squeeze=False
        )
        for row_of_axes, (name, record) in zip(grid, shown.items(), strict=True):
            _draw_row(row_of_axes, name, record, experiment, field)
    plt.close(figure)
    return figure


def _draw_row(grid: Sequence[Axes], name: str, record: Record, experiment: str, field: str) -> None:
    """One record: times on linear and logarithmic axes, throughput."""
    linear, log, rate = grid
    rows = sorted(record.of(experiment), key=lambda row: getattr(row, field))
    ok = [row for row in rows if row.is_ok]
    x = [getattr(row, field) for row in ok]
    floors = [_floor_s(row, record) for row in ok]
    for axes in (linear, log):
        lows, highs = zip(*(row.spread_s for row in ok), strict=True)
        axes.plot(x, [row.time_s for row in ok], "o-", color=TIME_COLOR, markersize=4)
        axes.vlines(x, lows, highs, color=TIME_COLOR, linewidth=5, alpha=0.3)
        _mark_lost(axes, [row for row in rows if not row.is_ok], field)
    log.plot(x, floors, "--", color=COLORS["reference"], label="floor: moving or computing")
    linear.set(title=f"{name}: {ok[0].model.rpartition('/')[2]}", ylabel="seconds", ylim=(0, None))
    log.set(title="logarithmic", xscale="log", yscale="log")
    log.legend(loc="best", fontsize=8)
    if experiment == "forward_by_batch":
        rates, unit = [row.batch_size / row.time_s for row in ok], "texts per second"
    else:
        rates, unit = [row.tokens_per_s for row in ok], "new tokens per second"
    rate.plot(x, rates, "s-", color=RATE_COLOR, markersize=4)
    rate.set(title="throughput", ylabel=unit, xscale="log", ylim=(0, None))
    for axes in (log, rate):
        ticks = x if len(x) <= 7 else x[::3]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
    for axes in grid:
        axes.set_xlabel(WAYS_OF_COUNTING[field])
    _caption(linear, record)


def _floor_s(row: Row, record: Record) -> float:
    """The floors of all passes of a run, by the roofline of the record's machine."""
    machine, _ = machine_of(record)
    floors = floors_of(row, row.model, machine, record.provenance.dtype)
    return sum(floor.seconds for floor in floors)


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
