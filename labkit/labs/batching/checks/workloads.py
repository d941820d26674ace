"""The open workloads of both loops of lab 5."""

from dataclasses import replace

from labkit.labs.batching.checks.loads import load_case
from labkit.labs.batching.checks.loops import LoopCase, Together, requests
from labkit.labs.batching.workload import FixedCosts, Setup

SMALL = Setup(
    prefill_capacity=96,
    decode_capacity=96,
    prefill_batch=4,
    decode_batch=4,
    prefill_budget=48,
    max_length=64,
)
WITH_STORE = replace(SMALL, decode_capacity=60, decode_batch=2, prefill_budget=96, storage=40)

WORKLOADS = [
    LoopCase("no requests", (), SMALL),
    LoopCase("equal lengths", requests(*[(12, 4)] * 9), SMALL, "decode first"),
    LoopCase(
        "first tokens that are the last",
        requests(
            (10, 1), (12, 5), (12, 6, 1), (63, 9), (11, 4), (61, 9), (63, None, 1), (10, 3, 2)
        ),
        SMALL,
        "random",
    ),
    LoopCase(
        "short and long prompts",
        requests((5, 3), (40, 4), (6, 2), (7, 8), (42, 3), (5, 5), (9, 2), (41, 6), every_s=0.7),
        SMALL,
    ),
    LoopCase(
        "one long prompt in a crowd of short ones",
        requests(*[(6, 2)] * 5, (40, 3), *[(5, 2)] * 12),
        replace(SMALL, prefill_batch=2),
    ),
    LoopCase(
        "some that can never run",
        requests((32, 5), (128, 3), (18, 0), (33, 6), (70, 40), (31, 4), (97, 2), (60, 36), (9, 3)),
        replace(SMALL, max_length=128),
        "prefill first",
    ),
    LoopCase(
        "a small store and a slow decode server",
        requests((10, 6), (20, 5), (12, 7), (40, 3), (9, 8), (15, 4), (41, 3), (8, 5), (12, 2)),
        WITH_STORE,
        costs=FixedCosts(prefill=0.1, transfer=0.3),
    ),
    LoopCase(
        "no client says when to stop",
        requests(*[(4 + 3 * i % 7, None, 5 + i % 6) for i in range(14)], (4, None)),
        replace(SMALL, max_length=32, decode_batch=8),
        "prefill first",
        FixedCosts(prefill=0.0),
    ),
    LoopCase(
        "one slot",
        requests((12, 4), (9, 3), (11, 5)),
        replace(SMALL, decode_batch=1),
        "prefill first",
        FixedCosts(prefill=0.0),
    ),
    LoopCase(
        "batches that end together",
        requests(*[(12, 4)] * 9),
        replace(SMALL, prefill_capacity=4096, decode_capacity=4096),
        "prefill first",
        FixedCosts(prefill=0.0),
    ),
    LoopCase(
        "one long answer and one short in a crowd",
        requests((40, 20), (3, 2), *[(12 + i % 5, 8 + i % 3) for i in range(20)]),
        replace(SMALL, decode_capacity=4096, decode_batch=2),
        "prefill first",
        FixedCosts(prefill=0.0),
    ),
    LoopCase(
        "a budget that is filled to the token, and one token too few",
        requests(*[(16, 3)] * 3, *[(16, 2), (17, 3), (16, 4)] * 2, (30, 2), (18, 3), (30, 2)),
        SMALL,
    ),
    LoopCase(
        "prompts longer than the budget",
        requests((9, 3), (60, 2), (9, 2), (49, 3), (48, 2), (1, 3), (20, 4)),
        replace(SMALL, max_length=80),
    ),
    LoopCase(
        "less memory than budget",
        requests(*[(20, 2), (21, 3)] * 4, (42, 2), (11, 2), (12, 2)),
        replace(SMALL, prefill_capacity=42),
    ),
]

CROWD = [(1 + 23 * i % 48, 2 + 5 * i % 19) for i in range(48)]
TIGHT = [(1 + 7 * i % 20, 2 + (5 * i + i // 7) % 11) for i in range(30)]

OPEN_CASES = {
    "PrefillLoop": [
        *WORKLOADS,
        Together(tuple(WORKLOADS)),
        load_case("prompts", requests(*CROWD), requests(*CROWD[::-1])),
    ],
    "DecodeLoop": [
        *WORKLOADS,
        Together(tuple(WORKLOADS)),
        load_case("slots", requests(*CROWD), requests(*CROWD[::-1])),
        load_case("memory", requests(*TIGHT), requests(*TIGHT[::-1])),
    ],
}
