"""Whole runs on GPUs: the loops and the scheduler serve Poisson and bursty requests, four ways."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise, product
from math import ceil
from statistics import fmean, median

import torch

from labkit.batching import DecodeLoop, PrefillLoop, Scheduler
from labkit.labs.batching.log import Run
from labkit.labs.batching.measured.sizes import Models
from labkit.labs.batching.real.cards import serve_on_gpu_card, serve_on_gpus
from labkit.labs.batching.real.engine import Engine
from labkit.labs.batching.traffic import at_load, code_like
from labkit.labs.batching.workload import Job, Setup, exponential_lengths, poisson
from labkit.measuring.device import free_device_memory
from labkit.measuring.records import IsDone, Row

SEPARATE, TOGETHER, SMALL, LARGE = "separate", "together", "chunked 512", "chunked 8192"
WAYS_TO_SERVE = (SEPARATE, TOGETHER, SMALL, LARGE)
POISSON, BURSTY = "Poisson", "bursty"
LIMITS_S = 0.5, 0.01  # to the first token, and mean to each further one
RHOS, SEEDS = (0.5, 0.7, 0.9), (0, 1, 2)
GPU_SETUP = Setup(
    prefill_capacity=20_000, decode_capacity=320_000, prefill_batch=4, decode_batch=64,
    max_length=10_240, prefill_budget=4096, block_size=64,
)  # fmt: skip
CPU_SETUP = Setup(
    prefill_capacity=256, decode_capacity=1024, prefill_batch=4, decode_batch=4, max_length=100,
    prefill_budget=128, block_size=16,
)  # fmt: skip
N_REQUESTS = {POISSON: 60, BURSTY: 120}
TIMEOUT_S = 60.0
COUNTED = "counted"  # one run each, whose numbers are its row's counts
SHARED_OUT = 2  # cards that each get every second request, where one card does all work


def jobs_of(workload: str, seed: int, n: int, rate: float, shrink: int = 1) -> list[Job]:
    """The requests of a run. rate: tokens of prompts a second. shrink: divides all lengths."""
    rng = random.Random(seed)
    if workload == POISSON:
        answers = exponential_lengths(1000, 200, rng)
        lengths = {"n_input": range(3000, 5001), "n_output": answers}
        jobs = poisson(n, rate / 4000, rng, **lengths, known=False)
    else:
        jobs, seconds = [], 300.0
        while len(jobs) < n:
            jobs, seconds = code_like(seconds, random.Random(seed))[:n], 2 * seconds
        jobs = at_load(jobs, 1.0, lambda job: job.n_input / rate)
    if shrink > 1:
        jobs = [
            replace(j, n_input=1 + j.n_input // shrink, stops_after=1 + j.stops_after // shrink)
            for j in jobs
        ]
    return jobs


def setup_of(way: str, is_gpu: bool) -> Setup:
    """What the cards hold, and the budget of a pass of a way that has one."""
    setup = GPU_SETUP if is_gpu else CPU_SETUP
    budget = int(way.partition(" ")[2] or setup.budget)
    return replace(setup, budget=budget if is_gpu else max(16, budget // 64))


def share_of(way: str, jobs: Sequence[Job]) -> list[Job]:
    """The requests that the measured cards get: all, or those of one of two equal cards."""
    return list(jobs) if way == SEPARATE else [job for job in jobs if job.id % SHARED_OUT == 0]


def served_rows(models: Models, rate: float = 1.0) -> list[Row]:
    """The points, seed by seed. rate: tokens of prompts that one card computes in a second."""
    is_gpu = models.profile.device == "cuda"
    row, found = Row("served", models.name, 1, 1, 0, True, outcome="-"), []
    rhos, seeds = (RHOS, SEEDS) if is_gpu else (RHOS[-1:], SEEDS[:1])
    for seed, workload, rho, way in product(seeds, N_REQUESTS, rhos, WAYS_TO_SERVE):
        n = N_REQUESTS[workload] if is_gpu else 8
        counts = {"seed": seed, "rho": rho, "rate": rho * rate, "n_jobs": n}
        setting = f"{workload}, rho {rho}, seed {seed}, {way}"
        found.append(replace(row, batch_size=n, setting=setting, counts=counts))
    return found


def served(
    models: Models, is_done: IsDone, devices: list[str], loops: tuple | None = None
) -> Iterator[Row]:
    """The rows that are not done yet; with one device, those of one card.

    loops: classes of the prefill loop, the decode loop and the scheduler.
    """
    loops, is_gpu = loops or (PrefillLoop, DecodeLoop, Scheduler), models.profile.device == "cuda"
    rows = [row for row in served_rows(models) if not is_done(row.key)]
    if len(devices) < 2:
        rows = [row for row in rows if not row.setting.endswith(SEPARATE)]
    if not rows:
        return
    n_room = setup_of(SEPARATE, is_gpu).decode_capacity + 4096
    with ExitStack() as stack:
        decoders = [stack.enter_context(models.decoder(each, n_room)) for each in devices]
        engines = [Engine(decoder) for decoder in decoders]
        n_batch = setup_of(SEPARATE, is_gpu).decode_batch
        engines[0].warm_up(n_batch, 2048, (1, 2, 3, 5, 9, 16))
        for engine in engines[1:]:
            engine.warm_up(n_batch, 0)
        tokens_per_s = _tokens_per_s(engines[0], 4096 if is_gpu else 32)
        known = {row.setting: row for row in served_rows(models, tokens_per_s)}
        for row in rows:
            gc.collect()
            gc.disable()
            try:
                yield _measured(known[row.setting], engines, loops, 1 if is_gpu else 100)
            finally:
                gc.enable()
    free_device_memory()


def _tokens_per_s(engine: Engine, n_tokens: int) -> float:
    """Tokens of prompts that a card computes in a second, one prompt after the other."""
    prompt, seconds = torch.ones(n_tokens, dtype=torch.int64), []
    for _ in range(8):
        begin_s = time.perf_counter()
        engine.prefill({0: prompt})
        seconds.append(time.perf_counter() - begin_s)
        engine.free(0)
    return n_tokens / median(seconds[3:])


def _measured(row: Row, engines: list[Engine], loops: tuple, shrink: int) -> Row:
    workload, _, _, way = row.setting.split(", ")
    count = row.counts
    jobs = jobs_of(workload, int(count["seed"]), int(count["n_jobs"]), count["rate"], shrink)
    jobs, setup = share_of(way, jobs), setup_of(way, shrink == 1)
    prefill, decode, scheduler = loops
    if way in (SMALL, LARGE):
        run, _ = serve_on_gpu_card(jobs, setup, scheduler(), engines[0], timeout_s=TIMEOUT_S)
    else:
        cards = engines if way == SEPARATE else engines[:1]
        run, _ = serve_on_gpus(jobs, setup, prefill(), decode(), cards, timeout_s=TIMEOUT_S)
    counts = {**count, "seconds": run.makespan_s, **numbers(run, way)}
    return replace(row, outcome=COUNTED, note=run.stopped, counts=counts)


def numbers(run: Run, way: str) -> dict[str, float]:
    """What a run gave, by name. Rates are those of two cards: of a half they count twice.

    Seconds: ttft_*, itl_* between tokens, decode_ttft_* if the decode server sends the first token
    too. good: the share of requests within `LIMITS_S`. step_s, step_beside_s: medians of decode
    steps while no prompt is computed, and while one is.
    """
    times: dict[int, list[float]] = {}
    stepped: dict[int, float] = {}
    for event in run.events("prefill", "decode"):
        for i in event.ids:
            times.setdefault(i, []).append(event.end_s)
            if event.what == "decode":
                stepped.setdefault(i, event.end_s)
    finished = {i for event in run.events("finish") for i in event.ids}
    served_ids = sorted(finished & times.keys())
    arrival_s = {i: run.jobs[i].arrival_s for i in served_ids}
    ttft = [times[i][0] - arrival_s[i] for i in served_ids]
    later = [stepped.get(i, times[i][0]) - arrival_s[i] for i in served_ids]
    itl = [b - a for i in served_ids for a, b in pairwise(times[i])] or [0.0]
    means = [fmean([b - a for a, b in pairwise(times[i])] or [0.0]) for i in served_ids]
    n_good = sum(a <= LIMITS_S[0] and b <= LIMITS_S[1] for a, b in zip(ttft, means, strict=True))
    n_times = 1 if way == SEPARATE else SHARED_OUT
    n_tokens = sum(len(times[i]) for i in served_ids)
    found = {
        "n_served": len(served_ids), "good": n_good / len(served_ids),
        "goodput": n_times * n_good / run.makespan_s,
        "tokens_per_s": n_times * n_tokens / run.makespan_s,
        "ttft_p50_s": rank(ttft, 0.5), "ttft_p99_s": rank(ttft, 0.99),
        "itl_p50_s": rank(itl, 0.5), "itl_p99_s": rank(itl, 0.99), "itl_max_s": max(itl),
    }  # fmt: skip
    if way == SEPARATE:
        found |= {"decode_ttft_p50_s": rank(later, 0.5), "decode_ttft_p99_s": rank(later, 0.99)}
        found |= _steps_beside(run)
    return found


def rank(values: Sequence[float], share: float) -> float:
    """What this share of the values does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _steps_beside(run: Run) -> dict[str, float]:
    """Whether one card's passes slow the other's steps: per step of up to 8 requests."""
    spans = [(event.begin_s, event.end_s) for event in run.events("prefill")]
    steps: dict[bool, list[float]] = {False: [], True: []}
    for event in run.events("decode"):
        if len(event.ids) <= 8:
            is_beside = any(a < event.end_s and event.begin_s < b for a, b in spans)
            steps[is_beside].append(event.end_s - event.begin_s)
    names = {False: "step_s", True: "step_beside_s"}
    return {names[is_beside]: median(each) for is_beside, each in steps.items() if each}
