"""Runs on GPUs beside the simulator: the same requests, loops and setups, other costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from labkit.batching import DecodeLoop, PrefillLoop, Scheduler
from labkit.labs.batching.card import serve_on_card
from labkit.labs.batching.driver import serve
from labkit.labs.batching.measured.served import (
    LARGE,
    SEPARATE,
    SMALL,
    jobs_of,
    numbers,
    setup_of,
    share_of,
)
from labkit.labs.batching.recorded import MeasuredCosts
from labkit.labs.batching.workload import Costs
from labkit.measuring.records import Row

CostsOf = Callable[[str], Costs]
LOOPS = (PrefillLoop, DecodeLoop, Scheduler)


def simulated(row: Row, costs: Costs, loops: tuple = LOOPS) -> dict[str, float]:
    """What the simulator gives for a row of the experiment "served", by the same names."""
    workload, _, _, way = row.setting.split(", ")
    count, (prefill, decode, scheduler) = row.counts, loops
    jobs = jobs_of(workload, int(count["seed"]), int(count["n_jobs"]), count["rate"])
    jobs, setup = share_of(way, jobs), setup_of(way, is_gpu=True)
    if way in (SMALL, LARGE):
        run = serve_on_card(jobs, setup, scheduler(), costs=costs)
    else:
        is_shared = way != SEPARATE
        run = serve(jobs, setup, prefill(), decode(), costs=costs, shared=is_shared)
    return numbers(run, way)


def measured_costs(rows: Iterable[Row]) -> CostsOf:
    """Costs of a record, for each way to serve: only separate cards send KV caches."""
    rows = tuple(rows)
    return cache(lambda way: MeasuredCosts(rows, "peer" if way == SEPARATE else None))


def compare(
    rows: Iterable[Row], floors: Costs | None = None, loops: tuple = LOOPS
) -> list[dict[str, object]]:
    """For each row and number: with floors, with measured costs, and measured, and the error.

    The error is that of the simulator with measured costs: simulated / measured - 1.
    """
    rows = tuple(rows)
    costs_of, found = measured_costs(rows), []
    for row in (
        each for each in rows if each.experiment == "served" and each.counts.get("n_served")
    ):
        way = row.setting.split(", ")[3]
        calibrated = simulated(row, costs_of(way), loops)
        lower = simulated(row, floors, loops) if floors else {}
        for name, value in calibrated.items():
            if name.startswith("step") or name not in row.counts:
                continue
            real = row.counts[name]
            found.append({
                "run": row.setting, "name": name, "floors": lower.get(name),
                "simulated": value, "measured": real,
                "error": value / real - 1 if real else 0.0,
            })  # fmt: skip
    return found
