"""What simulating costs: seconds by number of requests, to `build/bench/batching.json`.

The reference loops serve requests that all wait from the beginning, with 64 slots, 32 new tokens on
average and a store with a limit, on one core. Sizes take turns and the quickest run of each counts,
for whatever else the machine does can only add to it.
"""

import random
import time
from pathlib import Path

from benchmarks.report import report
from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.driver import serve
from labkit.labs.batching.log import Run
from labkit.labs.batching.workload import Job, Setup, exponential_lengths
from labkit.measuring.machine import use_one_thread
from labkit.measuring.timing import machine

OUT = Path("build/bench/batching.json")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
N_ROUNDS = 3
MEAN_NEW = 32
SETUP = Setup(decode_batch=64, decode_capacity=64 * 128, storage=4096)


def main(*, quick: bool = False) -> None:
    """Measure, write the record, print it."""
    use_one_thread()
    sizes, n_rounds = (SIZES[:1], 1) if quick else (SIZES, N_ROUNDS)
    rows: dict[int, list[dict]] = {n: [] for n in sizes}
    for _ in range(n_rounds):
        for n in sizes:
            n_runs = 1 if quick else max(1, SIZES[2] // n)
            rows[n] += [measured(workload(n)) for _ in range(n_runs)]
    quickest = {n: min(found, key=lambda row: row["cpu_seconds"]) for n, found in rows.items()}
    each = {n: row["cpu_seconds"] / n for n, row in quickest.items()}
    record = {
        "machine": machine("cpu"),
        "n_slots": SETUP.decode_batch,
        "storage_tokens": SETUP.storage,
        "mean_new_tokens": MEAN_NEW,
        "by_requests": {str(n): row for n, row in quickest.items()},
        "cpu_microseconds_per_request": {str(n): round(1e6 * s, 1) for n, s in each.items()},
        "largest_to_smallest_per_request": round(each[sizes[-1]] / each[sizes[0]], 2),
    }
    report(OUT, record, quick=quick)


def measured(jobs: list[Job]) -> dict:
    """One run: its seconds by the clock and of the processor, and how much happened in it."""
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    run = serve(jobs, SETUP, PrefillLoop(), DecodeLoop())
    cpu_s, wall_s = time.process_time() - begin_cpu_s, time.perf_counter() - begin_s
    check(run)
    return {
        "seconds": round(wall_s, 3),
        "cpu_seconds": round(cpu_s, 4),
        "n_events": len(run.log),
        "n_decode_steps": sum(1 for _ in run.events("decode")),
    }


def check(run: Run) -> None:
    """Raises: RuntimeError if not every request was finished, for then the time says nothing."""
    n_finished = sum(1 for _ in run.events("finish"))
    if run.stopped or n_finished != len(run.jobs):
        raise RuntimeError(f"{n_finished} of {len(run.jobs)} requests finished; {run.stopped}")


def workload(n_jobs: int, seed: int = 0) -> list[Job]:
    """Requests that are all there at the beginning, with exponential output lengths."""
    rng = random.Random(seed)
    lengths = exponential_lengths(n_jobs, MEAN_NEW, rng)
    return [Job(i, rng.randrange(16, 128), max_new=length) for i, length in enumerate(lengths)]
