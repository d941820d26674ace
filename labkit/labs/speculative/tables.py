"""The tables of lab 6 as text, from records alone: steps, gains, sources, regimes, machines."""

import math
from collections.abc import Iterable, Mapping, Sequence

from labkit.labs.speculative.records import (
    Gain,
    Speedup,
    best,
    copy_bandwidth,
    floor_s,
    gains,
    settings_of,
    step_s,
    words_of,
)
from labkit.measuring.bounds import roofline_of
from labkit.measuring.records import Record
from labkit.models.facts import gpus
from labkit.models.tiny import facts_of


def steps_table(record: Record) -> str:
    """Milliseconds of a step over one token by each setting, the floor, and a step over eight."""
    settings = settings_of(record)
    headings = ["model", "layers", *(f"{each} ms" for each in settings), "floor ms"]
    headings += [f"{each}, 8 tokens / 1" for each in settings]
    lines = []
    for model in dict.fromkeys(row.model for row in record.of("decode_steps") if row.is_ok):
        times = [step_s(record, model, each) for each in settings]
        eights = [step_s(record, model, each, 8) for each in settings]
        line = [model.rpartition("/")[2], str(facts_of(model)["num_hidden_layers"])]
        line += [_number(1e3 * seconds, ".3g") for seconds in (*times, floor_s(record, model))]
        line += [_number(eight / one, ".2f") for eight, one in zip(eights, times, strict=True)]
        lines.append(line)
    lines += _left_out(record, "decode_steps")
    title = f"{record.provenance}, copying at {copy_bandwidth(record) / 1e9:,.0f} GB/s"
    return _text(title, headings, lines)


def gains_table(
    record: Record, speedup: Speedup | None = None, experiment: str = "speculation"
) -> str:
    """Two tables of every pair and gamma of an experiment: acceptance; times and speedup.

    Brackets: 95 % of alpha; of the speedup the least and the greatest round. tokens: of a block.
    by ...: predicted from such steps. outside: the part of the time that is spent in neither model.
    Raises: ValueError if the record has no such rows.
    """
    every = gains(record, speedup, experiment)
    names = list(dict.fromkeys(name for gain in every for name in gain.predicted))
    rows = ["pair", "setting", "batch"]
    times = ["ms", "alone ms", "speedup", *(f"by {name}" for name in names), "outside"]
    left_out = _left_out(record, experiment)
    notes = dict.fromkeys(gain.row.note for gain in every)
    accepted = [_row_cells(gain) + _accepted_cells(gain) for gain in every]
    timed = [_row_cells(gain) + _time_cells(gain, names) for gain in every]
    title = f"{record.provenance}; {', '.join(notes)}"
    return "\n".join(
        [
            _text(title, [*rows, "acc./drafted", "alpha", "tokens"], [*accepted, *left_out]),
            _text("", [*rows, *times], [*timed, *left_out]),
        ]
    )


def regimes_table(record: Record, speedup: Speedup | None = None) -> str:
    """The best gamma of each regime, its speedup, and the largest gamma that still gains.

    Raises: ValueError if the record has no such rows.
    """
    groups: dict[str, list[Gain]] = {}
    for gain in gains(record, speedup, "regimes"):
        groups.setdefault(", ".join(words_of(gain.row)[1:]), []).append(gain)
    lines = []
    for regime, group in groups.items():
        top = best(group)
        winning = [gain.gamma for gain in group if gain.speedup[0] > 1]
        line = [regime, str(top.gamma), f"{top.speedup[0]:.2f}", f"{top.alpha[0]:.2f}"]
        lines.append([*line, str(max(winning)) if winning else "none"])
    headings = ["regime", "best gamma", "speedup", "alpha", "gains up to gamma"]
    return _text(str(record.provenance), headings, lines)


def hardware_table(records: Mapping[str, Record], speedup: Speedup | None = None) -> str:
    """The machines, and the best and the worst setting of each: what was gained where.

    Bandwidth and memory of a card are its data sheet's; of another machine, what was measured.
    """
    headings = ["device", "memory", "bandwidth", "setting", "alone ms", "ms"]
    lines = []
    for record in records.values():
        every = gains(record, speedup)
        for gain in (best(every), min(every, key=lambda each: each.speedup[0])):
            setting = f"{gain.row.model}, {gain.row.setting}"
            times = [f"{1e3 * seconds:.3g}" for seconds in (gain.alone_s, gain.token_s)]
            alpha, ratio = f"{gain.alpha[0]:.2f}", f"{gain.speedup[0]:.2f}"
            lines.append([*_machine_cells(record), setting, *times, alpha, ratio])
    return _text("", [*headings, "alpha", "speedup"], lines)


def _machine_cells(record: Record) -> list[str]:
    notes = [row.note for row in record.of("roofline")]
    facts = gpus().get(notes[-1]) if notes else None
    if not notes:
        return [record.provenance.device, "-", "-"]
    if facts is None:
        bandwidth = f"{roofline_of(record).bandwidth / 1e9:,.0f} GB/s"
        memory = f"{record.of('roofline')[-1].counts['memory_bytes'] / 2**30:.0f} GiB"
        return [record.provenance.device, memory, bandwidth]
    memory, bandwidth = f"{facts['vram_marketed_GB']} GB", f"{facts['bandwidth_GBps']:,} GB/s"
    return [facts["name"], memory, bandwidth]


def _row_cells(gain: Gain) -> list[str]:
    return [gain.row.model, gain.row.setting, str(gain.row.batch_size)]


def _accepted_cells(gain: Gain) -> list[str]:
    rate, low, high = gain.alpha
    alpha = f"{rate:.3f} [{low:.2f}, {high:.2f}]"
    return [f"{gain.accepted_of_drafted:.3f}", alpha, f"{gain.tokens_per_block:.2f}"]


def _time_cells(gain: Gain, names: Iterable[str]) -> list[str]:
    ratio, low, high = gain.speedup
    return [
        f"{1e3 * gain.token_s:.3g}",
        f"{1e3 * gain.alone_s:.3g}",
        f"{ratio:.2f} [{low:.2f}, {high:.2f}]",
        *(_number(gain.predicted.get(name, math.nan), ".2f") for name in names),
        _number(gain.outside, ".0%"),
    ]


def _left_out(record: Record, experiment: str) -> list[list[str]]:
    """A line for what could not be measured: the model or pair, and why."""
    rows = [row for row in record.of(experiment) if not row.is_ok]
    return [[row.short_model, row.outcome] for row in rows]


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _text(title: str, headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [headings, *([*line, *[""] * (len(headings) - len(line))] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([title, *text] if title else text) + "\n"
