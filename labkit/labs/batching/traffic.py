"""Traffic as two services had it: bursts of code completion, and chats whose rate drifts.

Poisson arrivals have neither. All is fitted to an hour of each service; `data/traffic.json`
names the traces and says what is left out.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from labkit.labs.batching.workload import Job
from labkit.models.traffic import by_shares, fitted


def code_like(seconds: float, rng: random.Random, speed: float = 1.0) -> list[Job]:
    """Bursts of requests with long prompts and short answers, and silence between them.

    seconds: of the service, at its own rate of about 2.6 requests a second. speed: how much faster
    they come here, so that the last arrives after seconds / speed.
    Raises: ValueError if seconds or speed is not above 0.
    """
    fit = fitted()["code"]
    return _jobs(_bursts(fit, seconds, rng), seconds, speed, lambda _: _code_lengths(fit, rng))


def chat_like(seconds: float, rng: random.Random, speed: float = 1.0) -> list[Job]:
    """Requests whose rate and prompts drift over minutes; an hour repeats after its end.

    Arguments and errors as in `code_like`; its own rate is about 5.5 requests a second.
    """
    fit = fitted()["chat"]
    arrivals = _drifting(fit, seconds, rng)
    return _jobs(arrivals, seconds, speed, lambda at_s: _chat_lengths(fit, at_s, rng))


def at_load(jobs: Sequence[Job], load: float, seconds_of: Callable[[Job], float]) -> list[Job]:
    """The same requests, faster or slower: what they take is this part of all the time.

    seconds_of: what a request takes of the card whose load it is.
    Raises: ValueError for a load that is not above 0, and if all requests arrive at once.
    """
    last_s = max((job.arrival_s for job in jobs), default=0.0)
    if not (0 < load < math.inf and last_s):
        raise ValueError(f"wanted a load above 0 and requests at several times, got {load}")
    factor = sum(map(seconds_of, jobs)) / load / last_s
    return [replace(job, arrival_s=job.arrival_s * factor) for job in jobs]


def evenly(jobs: Sequence[Job], rng: random.Random) -> list[Job]:
    """The same requests in the same time, at independent times: Poisson arrivals."""
    last_s = max((job.arrival_s for job in jobs), default=0.0)
    times_s = sorted(rng.uniform(0, last_s) for _ in jobs)
    return [replace(job, arrival_s=at_s) for job, at_s in zip(jobs, times_s, strict=True)]


def _jobs(
    arrivals: Iterator[float],
    seconds: float,
    speed: float,
    lengths_at: Callable[[float], tuple[int, int]],
) -> list[Job]:
    if not (0 < seconds < math.inf and 0 < speed < math.inf):
        raise ValueError(f"wanted seconds and speed above 0, got {seconds} and {speed}")
    jobs = []
    for at_s in arrivals:
        if at_s >= seconds:
            break
        n_input, n_output = lengths_at(at_s)
        jobs.append(Job(len(jobs), n_input, stops_after=n_output, arrival_s=at_s / speed))
    return jobs


def _bursts(fit: dict, seconds: float, rng: random.Random) -> Iterator[float]:
    """Arrivals: bursts, and silence from the last request of one to the first of the next."""
    size, silence, at_s = fit["requests_in_burst"], fit["silence_s"], 0.0
    while at_s < seconds:
        n = min(size["most"], max(1, round(rng.lognormvariate(size["log_mean"], size["log_sd"]))))
        for gap_s in _gaps(fit, n, rng):
            yield at_s
            at_s += gap_s
        pause_s = 0.0
        while not silence["least"] <= pause_s <= silence["most"]:
            pause_s = rng.lognormvariate(silence["log_mean"], silence["log_sd"])
        at_s += pause_s


def _gaps(fit: dict, n: int, rng: random.Random) -> Iterator[float]:
    """The n gaps after the requests of a burst: tiny ones in a clump, longer ones between clumps.

    Gaps between clumps remember the last one, so a burst is faster at some times than at others.
    """
    clump, between = fit["clump"], fit["gap_between_clumps"]
    slowness, state = _around_one(fit["slowness_of_burst"]["log_sd"], rng), 0.0
    n_in_clump = 0
    for _ in range(n):
        n_in_clump += 1
        if n_in_clump < clump["most"] and rng.random() < clump["p_next"]:
            yield rng.expovariate(1 / clump["gap_s"])
            continue
        n_in_clump = 0
        memory, log_sd = between["memory"], between["log_sd"]
        state = memory * state + math.sqrt(1 - memory**2) * rng.gauss(0, log_sd)
        gap_s = between["mean_s"] * slowness * math.exp(state - log_sd**2 / 2)
        yield min(between["most_s"], gap_s * _around_one(between["noise_log_sd"], rng))


def _drifting(fit: dict, seconds: float, rng: random.Random) -> Iterator[float]:
    """Poisson arrivals whose rate is the hour's slow course, times a fast random drift."""
    log_sd, memory = fit["drift"]["log_sd"], math.exp(-1 / fit["drift"]["seconds"])
    state = rng.gauss(0, log_sd)
    for second in range(math.ceil(seconds)):
        rate = _course(fit["rate_by_part"], (second + 0.5) / fit["part_s"])
        rate *= math.exp(state - log_sd**2 / 2)
        at_s = rng.expovariate(rate)
        while at_s < 1:
            yield second + at_s
            at_s += rng.expovariate(rate)
        state = memory * state + math.sqrt(1 - memory**2) * rng.gauss(0, log_sd)


def _course(values: Sequence[float], part: float) -> float:
    """The value at a time in parts, on straight lines between the middles of the parts."""
    before = math.floor(part - 0.5)
    share = part - 0.5 - before
    a, b = (values[i % len(values)] for i in (before, before + 1))
    return a + share * (b - a)


def _code_lengths(fit: dict, rng: random.Random) -> tuple[int, int]:
    prompt, answer = (by_shares(fit["shares"], fit[name], rng) for name in ("prompt", "answer"))
    return round(prompt), round(answer)


def _chat_lengths(fit: dict, at_s: float, rng: random.Random) -> tuple[int, int]:
    """The length of an answer depends on the prompt; both lengths are correlated nearly by 0."""
    prompt = by_shares(fit["shares"], fit["prompt"], rng)
    answers = fit["answer_by_prompt"][sum(prompt > bound for bound in fit["prompt_bounds"])]
    factor = fit["prompt_factor_by_part"][int(at_s // fit["part_s"]) % len(fit["rate_by_part"])]
    return max(1, round(prompt * factor)), round(by_shares(fit["answer_shares"], answers, rng))


def _around_one(log_sd: float, rng: random.Random) -> float:
    """A random factor with mean 1."""
    return rng.lognormvariate(-(log_sd**2) / 2, log_sd)
