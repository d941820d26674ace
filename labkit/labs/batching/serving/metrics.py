"""What users and operators see of a run, computed from its log alone.

Users see when tokens come: TTFT and TPOT (DistServe, arXiv:2401.09670, section 2). Operators see
tokens per second, what was computed for nothing, and how full the servers were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean, median

from labkit import batching
from labkit.labs.batching.serving.log import DECODE, PREFILL, Run
from labkit.labs.batching.serving.yardsticks import least_for


@dataclass(frozen=True, slots=True)
class Formulas:
    """The lab's three formulas; a notebook puts its own in."""

    latencies: Callable[..., tuple[float, float]] = batching.latencies
    goodput: Callable[..., float] = batching.goodput
    padding_waste: Callable[..., float] = batching.padding_waste


@dataclass(frozen=True, slots=True)
class Served:
    """One request that was finished. Times in seconds since the beginning of the run.

    ttft_s: from its arrival to its first token. tpot_s: mean time of each further token, 0 if there
    is none.
    """

    id: int
    n_input: int
    n_tokens: int
    arrival_s: float
    first_s: float
    last_s: float
    ttft_s: float
    tpot_s: float


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

    seconds: until the last thing ended. padding_waste: the part of the computed prompt tokens that
    is padding. n_steps: decode steps; least_steps: their lower bound.
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
    padding_waste: float
    n_steps: int
    least_steps: int
    occupancy: float
    prefill_idle_s: float
    decode_idle_s: float
    prefill_peak: int
    store_peak: int
    decode_peak: int

    def __str__(self) -> str:
        n_left = self.n_requests - self.n_served - self.n_refused
        rows = {
            "requests": f"{self.n_served:,} served, {self.n_refused:,} refused, {n_left:,} left",
            "time": f"{self.seconds:.4g} s",
            "throughput": f"{self.tokens_per_s:.4g} tokens/s, {self.requests_per_s:.4g} requests/s",
            "TTFT": str(self.ttft_s),
            "TPOT": str(self.tpot_s),
            "prefill": f"{self.padding_waste:.1%} padding, idle for {self.prefill_idle_s:.4g} s",
            "decode": f"{self.n_steps:,} steps (at least {self.least_steps:,}), "
            f"{self.occupancy:.1%} of the slots taken, idle for {self.decode_idle_s:.4g} s",
            "KV peaks": f"prefill {self.prefill_peak:,}, store {self.store_peak:,}, "
            f"decode {self.decode_peak:,} tokens",
        }
        if self.limits_s is not None:
            ttft_s, tpot_s = self.limits_s
            within = f"TTFT up to {ttft_s:g} s and TPOT up to {tpot_s:g} s"
            rows["goodput"] = f"{self.goodput:.4g} requests/s with {within}"
        return "\n".join(f"{name:<12}{row}" for name, row in rows.items())


def served(run: Run, formulas: Formulas | None = None) -> list[Served]:
    """Every request that was finished, in the order of arrival.

    A token is there when the prefill or the decode step that made it ends.
    """
    formulas, times = formulas or Formulas(), _token_times(run)
    found, finished = [], {i for event in run.events("finish") for i in event.ids}
    for job in run.arriving:
        if job.id not in finished or job.id not in times:
            continue
        times_s = times[job.id]
        latencies = formulas.latencies(job.arrival_s, times_s)
        ends = job.arrival_s, times_s[0], times_s[-1]
        found.append(Served(job.id, job.n_input, len(times_s), *ends, *latencies))
    return found


def summarize(
    run: Run, limits_s: tuple[float, float] | None = None, formulas: Formulas | None = None
) -> Summary:
    """All figures of a run. limits_s: what TTFT and TPOT may be for a request to count as good."""
    formulas = formulas or Formulas()
    requests, seconds = served(run, formulas), run.makespan_s
    n_tokens = sum(each.n_tokens for each in requests)
    latencies = [(each.ttft_s, each.tpot_s) for each in requests]
    good = formulas.goodput(latencies, *limits_s, seconds) if limits_s and seconds else 0.0
    batches = [[run.jobs[i].n_input for i in event.ids] for event in run.events("prefill")]
    steps = [len(event.ids) for event in run.events("decode")]
    return Summary(
        n_requests=len(run.jobs),
        n_served=len(requests),
        n_refused=len({i for event in run.events("refuse") for i in event.ids}),
        n_tokens=n_tokens,
        seconds=seconds,
        tokens_per_s=n_tokens / seconds if seconds else 0.0,
        requests_per_s=len(requests) / seconds if seconds else 0.0,
        ttft_s=Spread.of(ttft_s for ttft_s, _ in latencies),
        tpot_s=Spread.of(tpot_s for _, tpot_s in latencies),
        goodput=good,
        limits_s=limits_s,
        padding_waste=formulas.padding_waste(batches),
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
    """For the decode tokens that were made, whatever else was still to come."""
    n_steps = Counter(i for event in run.events("decode") for i in event.ids)
    sizes = [run.jobs[i].size(run.setup.max_length) for i in n_steps]
    return least_for([*n_steps.values()], sizes, run.setup)


def _token_times(run: Run) -> dict[int, list[float]]:
    """When each of a request's tokens was there; requests without a token are left out."""
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
        each = event.tokens // len(event.ids) if event.what == takes else 0
        for i in event.ids:
            total += each - held.get(i, 0)
            held[i] = each
        peak = max(peak, total)
    return peak


__all__ = ["Formulas", "Served", "Spread", "Summary", "served", "summarize"]
