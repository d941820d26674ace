"""The open workloads of the scheduler of one card, by its four stages."""

from collections.abc import Sequence
from dataclasses import replace

from labkit.labs.batching.checks.loops import LoopCase, Together, requests
from labkit.labs.batching.workload import FixedCosts, Job, Setup

CARD = Setup(decode_capacity=160, decode_batch=4, max_length=64, budget=16, block_size=4)
TIGHT = replace(CARD, decode_capacity=40)
QUICK = FixedCosts(prefill=0.5, decode=0.25)


def alike(jobs: Sequence[Job], shared: Sequence[tuple[int, int]], block_size: int) -> tuple:
    """The jobs with hashes: (family, n) each; the first n full blocks are those of the family."""
    found = []
    for job, (family, n_shared) in zip(jobs, shared, strict=True):
        n = job.n_input // block_size
        own = (10**6 * (100 + job.id) + k for k in range(n))
        hashes = [10**6 * family + k for k in range(min(n, n_shared))]
        found.append(replace(job, hashes=(*hashes, *list(own)[len(hashes) :])))
    return tuple(found)


WORKLOADS = [
    LoopCase("no requests", (), CARD),
    LoopCase("stage 1: three short prompts", requests((5, 3), (3, 4), (7, 2)), CARD),
    LoopCase(
        "stage 1: more requests than slots, and answers that end early",
        requests((5, 9), (3, 4, 1), (7, 2), (4, 1), (6, 8, 3), (2, 9), (8, 5)),
        CARD,
    ),
    LoopCase(
        "stage 1: some come while others run, and some can never run",
        requests(
            *((6, 20), (9, 0), (63, 4), (64, 4), (5, 8), (70, 2), (8, 3), (4, 6)), every_s=0.6
        ),
        replace(CARD, budget=64),
        costs=QUICK,
    ),
    LoopCase("stage 1: one slot", requests((5, 3), (9, 1), (7, 4)), replace(CARD, decode_batch=1)),
    LoopCase(
        "stage 2: a prompt of three passes between answers",
        requests((6, 12), (40, 3), (5, 4), (17, 6)),
        CARD,
    ),
    LoopCase("stage 2: prompts share a pass", requests(*[(10, 3)] * 6, (3, 2)), CARD),
    LoopCase(
        "stage 2: a budget of one block",
        requests((6, 5), (4, 3), (9, 4)),
        replace(CARD, budget=4, decode_batch=3),
    ),
    LoopCase("stage 3: answers outgrow the blocks", requests(*[(5, None, 22)] * 4), TIGHT),
    LoopCase(
        "stage 3: long prompts, and blocks for two",
        requests((18, 14), (17, 9), (20, 6), (8, 12), (25, 10), every_s=1.5),
        TIGHT,
    ),
    LoopCase(
        "stage 3: requests that fill all blocks, or one token more",
        requests((36, 4), (30, 11), (20, 20), (37, 4), (3, 37)),
        TIGHT,
    ),
    LoopCase(
        "stage 4: the same beginning, one after the other",
        alike(requests(*[(22, 4)] * 4, every_s=8), [(1, 5), (1, 5), (2, 5), (1, 3)], 4),
        CARD,
    ),
    LoopCase(
        "stage 4: the same beginning, while others run",
        alike(
            requests((24, 15), (24, 9), (21, 6), (24, 3), every_s=2.5),
            [(1, 6), (1, 6), (1, 5), (1, 2)],
            4,
        ),
        CARD,
        costs=QUICK,
    ),
    LoopCase(
        "stage 4: the same beginning, before it is computed",
        alike(
            requests((18, 3), (17, 2), (7, 4), (22, 3), (19, 3)),
            [(1, 4), (1, 4), (2, 1), (3, 5), (3, 4)],
            4,
        ),
        replace(CARD, budget=11),
    ),
    LoopCase(
        "stage 4: one of two users leaves",
        alike(requests((9, 4), (9, 12), (15, 6), every_s=1.5), [(1, 2), (1, 2), (2, 0)], 4),
        replace(CARD, decode_capacity=28, budget=28),
    ),
    LoopCase(
        "stage 4: blocks of old prompts are taken again",
        alike(
            requests(*[(17 + i % 3, 6 + i % 4) for i in range(9)], every_s=2),
            [(1 + i % 2, 4) for i in range(9)],
            4,
        ),
        replace(TIGHT, decode_capacity=52),
        costs=QUICK,
    ),
    LoopCase(
        "blocks of one token",
        alike(requests((5, 4), (5, 3), (8, 6), every_s=1.2), [(1, 5), (1, 5), (1, 4)], 1),
        replace(CARD, decode_capacity=21, block_size=1, budget=7),
    ),
]
OPEN_CASES = {"Scheduler": [*WORKLOADS, Together(tuple(WORKLOADS))]}
