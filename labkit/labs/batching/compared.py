"""Runs on GPUs beside the simulator: the same requests, loops and setups, other costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from labkit.batching import DecodeLoop, PrefillLoop, Scheduler
from labkit.labs.batching.card import serve_on_card
from labkit.labs.batching.driver import Loop, serve
from labkit.labs.batching.measured.served import (
    LARGE,
    SEPARATE,
    SMALL,
    jobs_of,
    numbers,
    setup_of,
    share_of,
)
from labkit.labs.batching.recorded import RECORD, MeasuredCosts
from labkit.labs.batching.workload import Costs, RooflineCosts
from labkit.measuring.records import Row, recorded_results
from labkit.measuring.roofline import ModelWork, Roofline
from labkit.measuring.tables import Table

LOOPS = (PrefillLoop, DecodeLoop, Scheduler)
SHOWN = {
    "tokens_per_s": "tokens/s", "ttft_p50_s": "TTFT, median, ms", "ttft_p99_s": "TTFT, p99, ms",
    "itl_p50_s": "pause, median, ms", "itl_p99_s": "pause, p99, ms",
}  # fmt: skip


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


def compare(
    rows: Iterable[Row],
    floors: Costs | None = None,
    loops: tuple = LOOPS,
    earlier: float = 1.0,
) -> list[dict[str, object]]:
    """For each row and number: with floors, with measured costs, and measured, and the error.

    The error is that of the simulator with measured costs: simulated / measured - 1.
    earlier: see `MeasuredCosts`.
    """
    rows, found = tuple(rows), []
    costs_of = {  # only separate cards send KV caches
        is_sent: MeasuredCosts(rows, "peer" if is_sent else None, earlier)
        for is_sent in (True, False)
    }
    for row in (r for r in rows if r.experiment == "served" and r.counts.get("n_served")):
        way = row.setting.split(", ")[3]
        calibrated = simulated(row, costs_of[way == SEPARATE], loops)
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


def on_two_gpus(
    prefill: Callable[[], Loop],
    decode: Callable[[], Loop],
    scheduler: Callable[[], Loop],
    *,
    rho: float,
    seed: int = 0,
    earlier: float = 1.0,
) -> Table:
    """Poisson requests, served in four ways on two H200: floors, the simulator, and measured.

    Measured with the course's loops; simulated with these. rho, seed: those of a recorded run.
    Raises: ValueError if no such run was recorded.
    """
    rows = recorded_results(f"{RECORD}.jsonl")[RECORD].rows
    wanted = f"Poisson, rho {rho}, seed {seed}, "
    rows = [r for r in rows if r.experiment != "served" or r.setting.startswith(wanted)]
    floors = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
    found = compare(rows, floors, (prefill, decode, scheduler), earlier)
    if not found:
        raise ValueError(f"no run with ρ = {rho} and seed {seed} is recorded")
    lines = []
    for each in found:
        if name := SHOWN.get(each["name"]):
            factor, digits = (1, ",.0f") if each["name"] == "tokens_per_s" else (1e3, ".1f")
            numbers = (factor * each[by] for by in ("floors", "simulated", "measured"))
            words = [f"{number:{digits}}" for number in numbers]
            lines.append([each["run"].split(", ")[3], name, *words, f"{each['error']:+.0%}"])
    title = f"two H200, ρ = {rho}"
    return Table(["way", "number", "floors", "simulated", "measured", "error"], lines, title)
