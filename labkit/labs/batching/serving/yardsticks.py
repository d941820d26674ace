"""Bounds and laws that any run can be held against.

Steps are decode steps. A request with o new tokens takes part in o - 1 of them, for the prefill
makes its first; while it does, it holds `Job.size` tokens of the decode server's room.
"""

from collections.abc import Sequence
from itertools import pairwise

from labkit.labs.batching.serving.log import Run
from labkit.labs.batching.serving.workload import Job, Setup


def least_steps(jobs: Sequence[Job], setup: Setup) -> int:
    """No schedule needs fewer: not the longest request, nor all slots, nor all memory, allow it."""
    return least_for(*_steps_and_sizes(jobs, setup), setup)


def least_for(steps: Sequence[int], sizes: Sequence[int], setup: Setup) -> int:
    """The least steps for requests that take part in so many, and hold so many tokens meanwhile."""
    held = sum(n * size for n, size in zip(steps, sizes, strict=True))
    by_slots = -(-sum(steps) // setup.decode_batch)
    by_memory = -(-held // setup.decode_capacity)
    return max(max(steps, default=0), by_slots, by_memory)


def most_steps(jobs: Sequence[Job], setup: Setup) -> int:
    """No schedule that lets in whoever is oldest and fits needs more, if all are there at once.

    A step has all its slots taken; or so little room that the oldest does not fit, and so at least
    capacity + 1 - the largest size taken; or nobody waits any longer. Each kind is bounded by what
    all requests together need.
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

    So many times more steps static batches take than continuous ones.
    """
    return sum(1 / i for i in range(1, n_slots + 1))


def littles_law_gap(run: Run) -> float:
    """How far a run is from Little's law: mean in system = throughput x mean time in system.

    Returns the relative difference; 0 up to rounding. Requests without an end stay to the last.
    Source: Little 1961, https://doi.org/10.1287/opre.9.3.383.
    """
    ends_s = {i: e.end_s for e in run.events("finish", "refuse") for i in e.ids}
    last_s = run.makespan_s
    stays = [
        (job.arrival_s, max(job.arrival_s, ends_s.get(job.id, last_s))) for job in run.jobs.values()
    ]
    total_s = max((end_s for _, end_s in stays), default=0.0)
    if not total_s:
        return 0.0
    throughput = len(stays) / total_s
    mean_stay_s = sum(end_s - begin_s for begin_s, end_s in stays) / len(stays)
    wanted = throughput * mean_stay_s
    return abs(_mean_in_system(stays, total_s) - wanted) / wanted if wanted else 0.0


def _mean_in_system(stays: Sequence[tuple[float, float]], total_s: float) -> float:
    """Counted along the time axis, at each coming and going."""
    changes = sorted([(begin_s, 1) for begin_s, _ in stays] + [(end_s, -1) for _, end_s in stays])
    n_inside, area = 0, 0.0
    for (when_s, change), (next_s, _) in pairwise([*changes, (total_s, 0)]):
        n_inside += change
        area += n_inside * (next_s - when_s)
    return area / total_s
