"""A machine's roofline with measured passes on it, and a slider for the batch of a decode step.

Without ipywidgets there is a table of the same numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy

from labkit.measuring.bounds import machine_of
from labkit.measuring.panels import SMALL, WIDTH, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.records import NothingMeasured, Record, recorded_results
from labkit.measuring.roofline import BYTES, ModelWork, Roofline, ridge_point
from labkit.measuring.tables import Table, or_sentence
from labkit.measuring.widgets import Control, has_widgets, player
from labkit.models.facts import gpus
from labkit.models.tiny import has_facts

BATCH_SIZES = tuple(2**i for i in range(11))
N_CACHED = 64
MEASURED = ("forward_by_batch", "three_models", "launches", "decode_by_batch")
CHOSEN = COLORS["other"]
OWN_ROOF = "This roof was measured: on a busy machine a pass may be above it."


@dataclass(frozen=True, slots=True)
class Point:
    """A pass on the roofline. seconds: measured; None for one that is only placed."""

    label: str
    flops: float
    moved_bytes: float
    seconds: float | None = None

    @property
    def flops_per_byte(self) -> float:
        return self.flops / self.moved_bytes

    @property
    def flops_per_s(self) -> float | None:
        return None if self.seconds is None else self.flops / self.seconds


def points_of(record: Record) -> list[Point]:
    """The passes that a record measured: forward passes, and the steps of each of its models.

    A step of three_models is a run's time per new token, with its share of the prefill.
    """
    found = []
    width = BYTES[record.provenance.dtype]
    for row in (row for name in MEASURED for row in record.of(name)):
        if not (row.is_ok and has_facts(row.model)):
            continue
        work, n_cached = ModelWork.of(row.model), int(row.counts.get("n_cached", 0))
        n_fed, n_cached = (1, row.n_input) if row.n_new else (row.n_input, n_cached)
        kind = "step of" if n_cached else f"pass over {row.n_input},"
        found.append(
            Point(
                f"{kind} {row.model.rpartition('/')[2]}, batch {row.batch_size}",
                row.batch_size * work.flops(n_fed, n_cached, 1),
                work.moved_bytes(n_fed + n_cached, row.batch_size, width),
                row.time_s / max(1, row.n_new),
            )
        )
    return found


def decode_point(model: str, batch_size: int, dtype: str, n_cached: int = N_CACHED) -> Point:
    """A decode step at this batch size: where it would stand, not how fast it is."""
    work = ModelWork.of(model)
    return Point(
        f"a step of {model.rpartition('/')[2]}, batch {batch_size}",
        batch_size * work.flops(1, n_cached, 1),
        work.moved_bytes(n_cached + 1, batch_size, BYTES[dtype]),
    )


@or_sentence
def draw(record: Record, batch_size: int, model: str | None = None) -> CourseFigure:
    """The roofline of a record's machine, its measured passes, and a decode step of a batch.

    The axes have room for every batch of the slider, so that two of them can be compared.
    """
    machine, _ = machine_of(record)
    dtype = record.provenance.dtype
    every = _models_of(record)
    model = model or every[0]
    measured, chosen = points_of(record), decode_point(model, batch_size, dtype)
    ends = [decode_point(each, n, dtype) for each in every for n in (1, BATCH_SIZES[-1])]
    ridge = ridge_point(machine, dtype)
    xs = [ridge, *(point.flops_per_byte for point in [*measured, *ends])]
    x = numpy.geomspace(min(xs) / 2, max(xs) * 2, 200)
    with panels(1, 1, (WIDTH, 4.4)) as (figure, ((axes,),)):
        axes.plot(x, _roof(machine, dtype, x) / 1e9, color="black", label="the roof")
        look = {"color": COLORS["reference"], "linestyle": "--", "linewidth": 1}
        axes.axvline(ridge, label=f"ridge, {ridge:.0f} FLOPs per byte", **look)
        for is_step, color, label in (
            (False, COLORS["weights"], "forward passes, measured"),
            (True, COLORS["cache"], "decode steps, measured"),
        ):
            shown = [point for point in measured if point.label.startswith("step") == is_step]
            rates = [point.flops_per_s / 1e9 for point in shown]
            places = [point.flops_per_byte for point in shown]
            axes.plot(places, rates, "o", color=color, label=label)
        top = float(_roof(machine, dtype, numpy.array([chosen.flops_per_byte]))[0]) / 1e9
        axes.set(xscale="log", yscale="log", xlim=(x[0], x[-1]))
        axes.vlines(chosen.flops_per_byte, axes.get_ylim()[0], top, color=CHOSEN, linestyle=":")
        axes.plot(
            [chosen.flops_per_byte], [top], "D", color=CHOSEN, label="the chosen step,\nat best"
        )
        axes.set(xlabel="FLOPs per byte that must move", ylabel="GFLOP per second")
        figure.legend(loc="outside right center", fontsize=SMALL)
        waits = "memory" if chosen.flops_per_byte < ridge else "arithmetic"
        tokens_per_s = batch_size * top * 1e9 / chosen.flops
        title = (
            f"{model.rpartition('/')[2]}, batch {batch_size}: at best {tokens_per_s:,.0f} "
            f"tokens per second, {waits} is the limit"
        )
        caption = "No pass can lie above the roof." if machine.name in gpus() else OWN_ROOF
        caption += " The diamond is a decode step of this batch."
        return say(figure, title, f"{machine.name}; {record.provenance}", caption)


@or_sentence
def roofline_explorer(record: Record) -> Any:
    """A slider for the batch of a decode step, on the roofline with the measured passes.

    Without ipywidgets: returns `roofline_table`.
    """
    models = _models_of(record)
    machine_of(record)
    if not has_widgets("a table instead of the picture"):
        return roofline_table(record)
    return player(
        [
            [Control("model", "model", models[0], models, is_menu=True)],
            [Control("batch_size", "batch", 1, BATCH_SIZES)],
        ],
        dict,
        lambda chosen: draw(record, **chosen),
    )


def demo() -> Any:
    """The roofline of the kit's own record of an H100, for `labkit show`."""
    return roofline_explorer(recorded_results("throughput-h100.jsonl")["throughput-h100"])


def roofline_table(record: Record) -> Table:
    """Each measured pass: its FLOPs per byte, what it reached, and the share of the roof."""
    machine, _ = machine_of(record)
    dtype = record.provenance.dtype
    rows = []
    for point in points_of(record):
        top = float(_roof(machine, dtype, numpy.array([point.flops_per_byte]))[0])
        reached = point.flops_per_s
        numbers = f"{point.flops_per_byte:.2f}", f"{reached / 1e9:.2f}", f"{reached / top:.1%}"
        rows.append([point.label, *numbers])
    return Table(["pass", "FLOP/byte", "GFLOP/s", "of the roof"], rows, machine.name)


def _roof(machine: Roofline, dtype: str, flops_per_byte: numpy.ndarray) -> numpy.ndarray:
    """FLOP per second at best, by FLOPs per byte."""
    return numpy.minimum(machine.bandwidth * flops_per_byte, machine.peak(dtype))


def _models_of(record: Record) -> list[str]:
    """Those of the three that ran, else all that did. Raises: NothingMeasured if none did."""
    rows = [row for row in record.rows if has_facts(row.model)]
    ran = [row for row in rows if row.is_ok]
    models = [row.model for row in ran if row.experiment == "three_models"]
    if not ran:
        raise NothingMeasured.of(rows, "three_models")
    return list(dict.fromkeys(models or [row.model for row in ran]))
