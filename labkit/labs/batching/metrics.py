"""Metrics of a run for users and operators, from its log alone, and bounds for any run.

Users see when tokens come: TTFT and TPOT (DistServe, arXiv:2401.09670, section 2). Operators see
tokens per second, wasted computation, and how full the servers were.

Steps are decode steps. A request with o new tokens takes part in o - 1 of them, for the prefill
makes its first; while it does, it holds `Job.size` tokens of the decode server's room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from labkit.labs.batching.log import DECODE, PREFILL, Run
from labkit.labs.batching.workload import Job, Setup
from labkit.measuring.tables import Table


def latencies(
    arrival_s: float,
    token_times_s: Sequence[float],
) -> tuple[float, float]:
    """Time to the first token, and mean time of each further one (0 for one token).

    token_times_s: the time of each new token, in order, at least one. Returns
    (TTFT, TPOT) in seconds. Source: DistServe (arXiv:2401.09670), section 2.
    """
    first_s, last_s = token_times_s[0], token_times_s[-1]
    n_further = len(token_times_s) - 1
    return first_s - arrival_s, (last_s - first_s) / n_further if n_further else 0.0


def goodput(
    served: Collection[tuple[float, float]],
    ttft_s: float,
    tpot_s: float,
    seconds: float,
) -> float:
    """Requests per second that met both limits.

    served: a pair (TTFT, TPOT) for each request that was served, in any order.
    ttft_s, tpot_s: the limits. seconds: how long the run took.
    """
    n_good = sum(first <= ttft_s and further <= tpot_s for first, further in served)
    return n_good / seconds


def alike(lengths: Sequence[int], tolerance: int, n_most: int) -> list[list[int]]:
    """Batches of prompts whose lengths differ by at most `tolerance`, n_most in each.

    Each begins with the first prompt that is left, and takes later ones in order.
    """
    left, batches = list(lengths), []
    while left:
        batch, others = [], []
        for length in left:
            together = [*batch, length]
            is_alike = max(together) - min(together) <= tolerance
            (batch if is_alike and len(batch) < n_most else others).append(length)
        batches.append(batch)
        left = others
    return batches


def padding_waste(batches: Sequence[Sequence[int]]) -> float:
    """The share of padding in the computed prompt tokens; 0 without any batch.

    batches: for each prefill batch, the lengths of its prompts. They are padded
    to the longest prompt of the batch.
    """
    lengths = [list(batch) for batch in batches]
    computed = sum(max(batch) * len(batch) for batch in lengths)
    return 1 - sum(map(sum, lengths)) / computed if computed else 0.0


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean, the middle one, and what nine of ten do not exceed; all 0 for no numbers."""

    mean: float
    median: float
    p90: float

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Spread:
        ordered = sorted(numbers)
        if not ordered:
            return cls(0.0, 0.0, 0.0)
        return cls(fmean(ordered), median(ordered), ordered[-(-9 * len(ordered) // 10) - 1])

    def __str__(self) -> str:
        return f"mean {self.mean:.4g} s, median {self.median:.4g} s, 9 of 10 in {self.p90:.4g} s"


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole run. Rates are per second of the whole run, sizes in tokens.

    seconds: until the last thing ended. prefill_tokens: the mean number of tokens of a prefill
    batch. n_steps: decode steps; least_steps: their lower bound.
    occupancy: mean part of the decode slots that is taken in a step. prefill_idle_s, decode_idle_s:
    seconds of the run in which a server computed nothing. prefill_peak, store_peak, decode_peak:
    the most KV cache that was reserved at one time.
    """

    n_requests: int
    n_served: int
    n_refused: int
    n_tokens: int
    seconds: float
    tokens_per_s: float
    requests_per_s: float
    ttft_s: Spread
    tpot_s: Spread
    goodput: float
    limits_s: tuple[float, float] | None
    prefill_tokens: float
    n_steps: int
    least_steps: int
    occupancy: float
    prefill_idle_s: float
    decode_idle_s: float
    prefill_peak: int
    store_peak: int
    decode_peak: int

    @property
    def table(self) -> Table:
        """The run in numbers: its work, and its speed."""
        return Table(["what", "value"], [*self._rows().items()])

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{row}" for name, row in self._rows().items())

    def _rows(self) -> dict[str, str]:
        n_left = self.n_requests - self.n_served - self.n_refused
        rows = {
            "requests": f"{self.n_served:,} served, {self.n_refused:,} refused, {n_left:,} left",
            "time": f"{self.seconds:.4g} s",
            "throughput": f"{self.tokens_per_s:.4g} tokens/s, {self.requests_per_s:.4g} requests/s",
            "TTFT": str(self.ttft_s),
            "TPOT": str(self.tpot_s),
            "prefill": f"{self.prefill_tokens:.4g} tokens per batch, "
            f"idle for {self.prefill_idle_s:.4g} s",
            "decode": f"{self.n_steps:,} steps (at least {self.least_steps:,}), "
            f"{self.occupancy:.1%} of the slots taken, idle for {self.decode_idle_s:.4g} s",
            "KV peaks": f"prefill {self.prefill_peak:,}, store {self.store_peak:,}, "
            f"decode {self.decode_peak:,} tokens",
        }
        if self.limits_s is not None:
            ttft_s, tpot_s = self.limits_s
            within = f"TTFT up to {ttft_s:g} s and TPOT up to {tpot_s:g} s"
            rows["goodput"] = f"{self.goodput:.4g} requests/s with {within}"
        return rows


def summarize(run: Run, limits_s: tuple[float, float] | None = None) -> Summary:
    """All figures of a run. limits_s: what TTFT and TPOT may be for a request to count as good."""
    times, finished = _token_times(run), {i for event in run.events("finish") for i in event.ids}
    served = [job for job in run.arriving if job.id in finished & times.keys()]
    n_tokens, seconds = sum(len(times[job.id]) for job in served), run.makespan_s
    waited = [latencies(job.arrival_s, times[job.id]) for job in served]
    good = goodput(waited, *limits_s, seconds) if limits_s and seconds else 0.0
    batches = [sum(run.jobs[i].n_input for i in event.ids) for event in run.events("prefill")]
    steps = [len(event.ids) for event in run.events("decode")]
    return Summary(
        n_requests=len(run.jobs),
        n_served=len(served),
        n_refused=len({i for event in run.events("refuse") for i in event.ids}),
        n_tokens=n_tokens,
        seconds=seconds,
        tokens_per_s=n_tokens / seconds if seconds else 0.0,
        requests_per_s=len(served) / seconds if seconds else 0.0,
        ttft_s=Spread.of(ttft_s for ttft_s, _ in waited),
        tpot_s=Spread.of(tpot_s for _, tpot_s in waited),
        goodput=good,
        limits_s=limits_s,
        prefill_tokens=fmean(batches) if batches else 0.0,
        n_steps=len(steps),
        least_steps=_least_steps(run),
        occupancy=fmean(steps) / run.setup.decode_batch if steps else 0.0,
        prefill_idle_s=seconds - _busy_s(run, PREFILL),
        decode_idle_s=seconds - _busy_s(run, DECODE),
        prefill_peak=_peak(run, "prefill", "free", server=PREFILL),
        store_peak=_peak(run, "save", "free stored"),
        decode_peak=_peak(run, "load", "free", server=DECODE),
    )


def _least_steps(run: Run) -> int:
    """The least steps for the decode tokens that were made so far."""
    n_steps = Counter(i for event in run.events("decode") for i in event.ids)
    sizes = [run.jobs[i].size(run.setup.max_length) for i in n_steps]
    return least_for([*n_steps.values()], sizes, run.setup)


def _token_times(run: Run) -> dict[int, list[float]]:
    """When each of a request's tokens was there: at the end of the step that made it."""
    times: dict[int, list[float]] = {}
    for event in run.events("prefill", "decode"):
        for i in event.ids:
            times.setdefault(i, []).append(event.end_s)
    return times


def _busy_s(run: Run, server: str) -> float:
    return sum(event.end_s - event.begin_s for event in run.log if event.server == server)


def _peak(run: Run, takes: str, frees: str, server: str | None = None) -> int:
    """The most tokens that were held at one time, between events that take and that free."""
    held: dict[int, int] = {}
    total = peak = 0
    for event in run.events(takes, frees, server=server):
        for i in event.ids:
            own = run.jobs[i].n_input if event.what == "prefill" else event.tokens
            each = own if event.what == takes else 0
            total += each - held.get(i, 0)
            held[i] = each
        peak = max(peak, total)
    return peak


def least_steps(jobs: Sequence[Job], setup: Setup) -> int:
    """No schedule needs fewer: not the longest request, nor all slots, nor all memory, allow it."""
    return least_for(*_steps_and_sizes(jobs, setup), setup)


def least_for(steps: Sequence[int], sizes: Sequence[int], setup: Setup) -> int:
    """A lower bound on steps, from each request's number of steps and its reserved tokens."""
    held = sum(n * size for n, size in zip(steps, sizes, strict=True))
    by_slots = -(-sum(steps) // setup.decode_batch)
    by_memory = -(-held // setup.decode_capacity)
    return max(max(steps, default=0), by_slots, by_memory)


def most_steps(jobs: Sequence[Job], setup: Setup) -> int:
    """An upper bound on steps for schedules that let in the oldest request that fits.

    All requests are there from the start. In each step, all slots are taken; or the oldest request
    does not fit, so at least capacity + 1 - the largest size is taken; or no request waits. The
    needs of all requests together bound each of these kinds.
    """
    steps, sizes = _steps_and_sizes(jobs, setup)
    if not steps:
        return 0
    held = sum(n * size for n, size in zip(steps, sizes, strict=True))
    crowded = held // (setup.decode_capacity + 1 - max(sizes))
    return crowded + sum(steps) // setup.decode_batch + max(steps)


def _steps_and_sizes(jobs: Sequence[Job], setup: Setup) -> tuple[list[int], list[int]]:
    """Of the requests that the decode server gets."""
    decoded = [job for job in jobs if not setup.refuses(job) and job.n_output(setup.max_length) > 1]
    steps = [job.n_output(setup.max_length) - 1 for job in decoded]
    return steps, [job.size(setup.max_length) for job in decoded]


def mean_ttft_md1(rate: float, service_s: float) -> float:
    """Mean seconds to the first token: Poisson arrivals, one prefill at a time, all equally long.

    rate: requests per second. Raises: ValueError for a load of 1 or more, which has no mean.
    Source: DistServe (arXiv:2401.09670), equation 1; the M/D/1 queue.
    """
    load = rate * service_s
    if not 0 <= load < 1:
        raise ValueError(f"{rate} requests per second of {service_s} s each are a load of {load:g}")
    return service_s + rate * service_s**2 / (2 * (1 - load))


def harmonic(n_slots: int) -> float:
    """1 + 1/2 + ... + 1/n: the mean of the longest of n exponential lengths, in units of the mean.

    Static batches take this many times more steps than continuous ones.
    """
    return sum(1 / i for i in range(1, n_slots + 1))
