"""Hidden workloads of the scheduler of lab 05: fresh lengths, times, beginnings and blocks."""

import random
from dataclasses import replace

from labkit.labs.batching.checks.loops import LoopCase, Together
from labkit.labs.batching.workload import FixedCosts, Job, Setup

SIZES = (1, 2, 4, 8)  # tokens of a block
PACES = (FixedCosts(), FixedCosts(prefill=2.0, decode=0.5), FixedCosts(prefill=0.25, decode=0.25))
OTHER_EOS = 50_256


def card_cases(rng: random.Random) -> dict[str, list]:
    """The cases; the same state of `rng` gives the same cases."""
    workloads = [
        _nothing(rng),
        *(_ample(rng, kind) for kind in ("at once", "coming", "one slot")),
        *(_long_prompts(rng) for _ in range(2)),
        _least_budget(rng),
        *(_growing(rng) for _ in range(3)),
        _exactly_full(rng),
        *(_alike(rng, ample) for ample in (True, True, False, False)),
        _whole_blocks(rng),
        _before_it_is_computed(rng),
        _one_user_leaves(rng),
        _begins_again(rng),
    ]
    return {"Scheduler": [*workloads, Together(tuple(workloads))]}


def _setup(rng: random.Random, n_blocks: int, **more: int) -> Setup:
    """Blocks of any size, and up to a block's tokens that are left over."""
    size = more.pop("block_size", 0) or rng.choice(SIZES)
    capacity = n_blocks * size + rng.randrange(size)
    slots = more.pop("decode_batch", 0) or rng.randint(3, 6)
    budget = more.pop("budget", 0) or rng.randint(max(size, slots) + 2, 24)
    return Setup(
        decode_capacity=capacity, decode_batch=slots, budget=budget, block_size=size,
        max_length=more.pop("max_length", 64), eos=rng.choice((0, OTHER_EOS)),
    )  # fmt: skip


def _jobs(
    rng: random.Random, lengths: list[tuple], every_s: float = 0.0, setup: Setup | None = None
) -> tuple[Job, ...]:
    """Requests from (n_input, max_new, stops_after); ids say nothing of the order.

    setup: for hashes of their own, for each full block.
    """
    ids = rng.sample(range(10, 1000), len(lengths))
    now_s, jobs = 0.0, []
    for i, each in zip(ids, lengths, strict=True):
        n_full = each[0] // setup.block_size if setup else 0
        hashes = tuple(rng.getrandbits(60) for _ in range(n_full))
        jobs.append(Job(i, *each, arrival_s=now_s, hashes=hashes))
        now_s += rng.uniform(0, 2 * every_s)
    return tuple(jobs)


def _answer(rng: random.Random, most: int) -> tuple[int | None, int | None]:
    """What a client wants, and where the model stops: one of both, or both."""
    wanted, stops = rng.randint(1, most), rng.randint(1, most)
    return rng.choice(((wanted, None), (None, stops), (wanted, stops)))


def _nothing(rng: random.Random) -> LoopCase:
    return LoopCase("no requests", (), _setup(rng, rng.randint(8, 20)))


def _ample(rng: random.Random, kind: str) -> LoopCase:
    """Short prompts and blocks for all; some requests can never run."""
    slots = 1 if kind == "one slot" else rng.randint(3, 5)
    n = 64 if kind == "at once" else rng.randint(66, 90)
    setup = _setup(rng, 400, decode_batch=slots, max_length=n)
    lengths = [(rng.randint(2, 8), *_answer(rng, 12)) for _ in range(rng.randint(7, 9))]
    never = [(rng.randint(2, 9), 0), (n, 3), (rng.randint(n + 1, n + 26), 5)]
    just = [(n - 1, rng.randint(2, 9))]
    lengths += rng.sample(never, 2) + just if kind != "one slot" else []
    order = rng.sample(lengths, len(lengths))
    every_s = rng.uniform(0.5, 2) if kind == "coming" else 0.0
    return LoopCase(kind, _jobs(rng, order, every_s, setup), setup, costs=rng.choice(PACES))


def _long_prompts(rng: random.Random) -> LoopCase:
    """Prompts of several passes, and short ones between them."""
    setup = _setup(rng, 400)
    long = [(rng.randint(setup.budget, 52), *_answer(rng, 8)) for _ in range(4)]
    short = [(rng.randint(1, 9), *_answer(rng, 12)) for _ in range(5)]
    lengths = [each for pair in zip(long, short, strict=False) for each in pair] + short[4:]
    every_s = rng.choice((0.0, 1.5))
    return LoopCase("long prompts", _jobs(rng, lengths, every_s, setup), setup)


def _least_budget(rng: random.Random) -> LoopCase:
    """A budget of one block, and as many slots, or one more."""
    size = rng.choice((2, 4))
    setup = _setup(rng, 100, block_size=size, budget=size, decode_batch=size + rng.randint(0, 1))
    lengths = [(rng.randint(2, 9), *_answer(rng, 7)) for _ in range(6)]
    return LoopCase("a budget of one block", _jobs(rng, lengths, 0.0, setup), setup)


def _growing(rng: random.Random) -> LoopCase:
    """Answers that outgrow the blocks: somebody has to be preempted."""
    size = rng.choice(SIZES[1:])
    setup = _setup(rng, rng.randint(64 // size + 2, 80 // size + 2), block_size=size)
    lengths = [(rng.randint(4, 24), None, rng.randint(14, 30)) for _ in range(rng.randint(6, 8))]
    every_s = rng.choice((0.0, 3.0))
    return LoopCase("growing answers", _jobs(rng, lengths, every_s, setup), setup)


def _exactly_full(rng: random.Random) -> LoopCase:
    """Requests that may fill all blocks, and those that may need one token more."""
    size, n = rng.choice(SIZES[1:]), rng.randint(5, 8)
    setup = _setup(rng, n, block_size=size, decode_batch=3)
    room, lengths = n * size, []
    for more in (0, 1, 0, 1):
        n_input = rng.randint(2, room - 2)
        lengths.append((n_input, room + more - n_input))
    lengths.append((rng.randint(2, size), *_answer(rng, 6)))
    return LoopCase("all blocks", _jobs(rng, rng.sample(lengths, 5), 0.0, setup), setup)


def _alike(rng: random.Random, ample: bool) -> LoopCase:
    """Two kinds of beginnings, at once and one after the other; with few blocks, some are lost."""
    size = rng.choice((2, 4))
    setup = _setup(rng, 300 if ample else rng.randint(56, 72) // size, block_size=size)
    common = [[rng.getrandbits(60) for _ in range(12)] for _ in range(2)]
    lengths = [
        (rng.randint(4 * size, 9 * size), *_answer(rng, 14)) for _ in range(rng.randint(9, 12))
    ]
    jobs = _jobs(rng, lengths, rng.choice((0.7, 3.0)), setup)
    return LoopCase("alike", tuple(_shared(rng, jobs, common)), setup, costs=rng.choice(PACES))


def _shared(rng: random.Random, jobs: tuple[Job, ...], common: list[list[int]]) -> list[Job]:
    """The jobs, most with the first blocks of one of two beginnings."""
    found = []
    for job in jobs:
        n = rng.choice((0, 2, 4, len(job.hashes), len(job.hashes)))
        begins = rng.choice(common)[: min(n, len(job.hashes))]
        found.append(replace(job, hashes=(*begins, *job.hashes[len(begins) :])))
    return found


def _whole_blocks(rng: random.Random) -> LoopCase:
    """Equal prompts that end with a block: a token is left to compute. The last one differs."""
    size = rng.choice((2, 4))
    setup = _setup(rng, 200, block_size=size)
    n = rng.randint(3, 6)
    jobs = _jobs(rng, [(n * size, rng.randint(3, 9)) for _ in range(4)], 4.0, setup)
    same = [replace(job, hashes=jobs[0].hashes) for job in jobs[:3]]
    differs = (*jobs[0].hashes[:-1], rng.getrandbits(60))
    return LoopCase("equal prompts", (*same, replace(jobs[3], hashes=differs)), setup)


def _before_it_is_computed(rng: random.Random) -> LoopCase:
    """Twins: the first pass ends inside of a block; in the second pass, the second one begins."""
    size = rng.choice((4, 8))
    n_over = rng.randint(1, size - 1)
    budget = 2 * size + n_over
    n_input = budget + size - n_over + rng.randint(1, size)
    setup = _setup(rng, 200, block_size=size, budget=budget, decode_batch=4)
    lengths = [(n_input, rng.randint(3, 6)) for _ in range(2)]
    first, second = _jobs(rng, lengths, 0.0, setup)
    twins = (first, replace(second, hashes=first.hashes))
    return LoopCase("twins at once", twins, setup)


def _one_user_leaves(rng: random.Random) -> LoopCase:
    """Two have the same beginning; one ends, and a third takes all blocks that are free then."""
    size, n_common = rng.choice((4, 8)), rng.randint(2, 4)
    n_input, n_more = n_common * size + 1, rng.randint(3, 5)
    n_blocks = n_common + 1 + n_more
    setup = _setup(rng, n_blocks, block_size=size, budget=n_blocks * size, decode_batch=3)
    lengths = [(n_input, 4), (n_input, 3 * size), (n_more * size - 1, size + rng.randint(1, size))]
    jobs = _jobs(rng, lengths, 0.0, setup)
    times = (0.0, 1.5, 4.5)
    jobs = tuple(replace(job, arrival_s=when) for job, when in zip(jobs, times, strict=True))
    return LoopCase(
        "one user leaves", (jobs[0], replace(jobs[1], hashes=jobs[0].hashes), jobs[2]), setup
    )


def _begins_again(rng: random.Random) -> LoopCase:
    """One of two that begin alike is preempted, and its whole prompt is found again.

    Its prompt ends with a block. At last somebody needs all blocks.
    """
    size, n_common = rng.choice((8, 12)), rng.randint(2, 4)
    n_blocks = n_common + 3
    setup = _setup(
        rng, n_blocks, block_size=size, budget=n_blocks * size, decode_batch=3,
        max_length=n_blocks * size,
    )  # fmt: skip
    lengths = [
        (n_common * size + 1, size + rng.randint(2, 4)),
        ((n_common + 1) * size, size),
        (n_blocks * size - rng.randint(2, 4), 2),
    ]
    jobs, times = _jobs(rng, lengths, 0.0, setup), (0.0, 1.5, 200.0)
    old, new, last = (replace(job, arrival_s=when) for job, when in zip(jobs, times, strict=True))
    alike = replace(new, hashes=(*old.hashes, new.hashes[-1]))
    return LoopCase("one begins again", (old, alike, last), setup)
