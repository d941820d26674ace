"""The time of one pass by its length: the prediction of where it takes longer than its launch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from labkit import zoo
from labkit.cache_benchmark import leaves_launch_floor_at
from labkit.labs.cache_benchmark.records import machine_and_launch, passes
from labkit.labs.cache_benchmark.runs import times_at
from labkit.measuring.bench import Bench
from labkit.measuring.device import rows_in_room
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import IsDone, Record, Row, measured
from labkit.measuring.roofline import pass_floor
from labkit.measuring.timing import with_time_left

LONGEST = {"cuda": 8192, "cpu": 1024}  # tokens that one pass is fed


def pass_by_length(
    profile: MachineProfile,
    *,
    also: Sequence[int] = (),
    longest: int | None = None,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """A pass without a cache over 1, 2, 4, ... tokens of the baseline's model, and over `also`.

    Each is measured as often as the profile repeats, three times over: it is short.
    """
    longest = longest or LONGEST[profile.device]
    lengths = {2**i for i in range(longest.bit_length())} | set(also)
    words = {"outcome": "-", "setting": "baseline"}
    row = Row("pass_by_length", profile.roles["cache-baseline"], 1, 1, 1, False, **words)
    rows = [replace(row, n_input=n) for n in sorted(lengths)]
    rows = [row for row in rows if not is_done(row.key)]

    def measure() -> Iterator[Row]:
        model = zoo.load_for_timing("cache-baseline", profile)
        for row in with_time_left(rows, "passes by length", "length"):
            tokens = torch.ones(1, row.n_input, dtype=torch.long, device=model.device)
            n_runs = profile.n_warmup + 3 * profile.n_repeats
            samples = [next(times_at(model, tokens, [1], False)) for _ in range(n_runs)]
            yield measured(row, samples[profile.n_warmup :], {})

    if rows:
        yield from rows_in_room(rows, measure)


def measure_passes(bench: Bench) -> None:
    """The rows for a record, at the predicted length too if it has a roofline."""
    bench.fill(pass_by_length)
    if expected := predicted_crossing(bench.recorder.record(), leaves_launch_floor_at):
        bench.fill(pass_by_length, also=[expected])


def predicted_crossing(record: Record, leaves_launch_floor_at: Callable[..., Any]) -> int | None:
    """Where the baseline's pass takes longer than its launch on the machine of a record.

    None if it does so nowhere, and for a record without a launch time or a roofline.
    """
    if (found := machine_and_launch(record, "baseline")) is None:
        return None
    machine, work, launch = found
    return leaves_launch_floor_at(
        machine, work, launch, max(LONGEST.values()), record.provenance.dtype
    )


def rows_of_passes(records: Mapping[str, Record]) -> list[list]:
    """Of each record's passes: name, tokens, and the ms of the pass, of its floor and launch."""
    rows: list[list] = []
    for name, record in records.items():
        if (found := machine_and_launch(record, "baseline")) is None:
            rows.append([name, "no pass was measured", None, None, None])
            continue
        machine, work, launch = found
        for n_tokens, time_s in passes(record):
            floor = pass_floor(machine, work, int(n_tokens), dtype=record.provenance.dtype)
            times = (f"{1e3 * each:.2f}" for each in (time_s, floor.seconds, launch))
            rows.append([name, f"{n_tokens:g}", *times])
    return rows
