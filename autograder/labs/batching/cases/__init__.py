"""Hidden cases of lab 05: fresh requests, queues, links and times; right answers for the cells."""

import random

from autograder.labs.batching.cases.cards import card_cases
from autograder.labs.batching.cases.loops import loop_cases, one_ends_at_once
from labkit.checks.answers import AnswerCase
from labkit.labs.batching.checks.answers import (
    N_SLOTS,
    N_TOKENS,
    PROMPT_S,
    RATES,
    SETTINGS,
    STEP_S,
)
from labkit.labs.batching.checks.queues import QueueCase
from labkit.labs.batching.checks.requests import RequestCase
from labkit.labs.batching.metrics import harmonic
from labkit.labs.batching.workload import Job

RIGHT_PARTS = {
    "A": "static batches",
    "B": "dynamic batches",
    "C": "continuous batching",
    "D": "paged cache",
    "E": "prefix cache",
    "F": "chunked prefill",
    "G": "CUDA graph",
    "H": "speculative decoding",
}
PREFILL_RATE, DECODE_RATE = 1 / PROMPT_S, N_SLOTS / ((N_TOKENS - 1) * STEP_S)
RIGHT_RATES = dict(
    zip(
        RATES,
        (PREFILL_RATE, DECODE_RATE, DECODE_RATE / PREFILL_RATE, 2 / 3 * PREFILL_RATE),
        strict=True,
    )
)
RIGHT_RATIOS = dict(zip(SETTINGS, (1.0, harmonic(8), harmonic(32)), strict=True))


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    cases = {
        **loop_cases(rng),
        "Request": _requests(rng),
        "RequestQueue": [_queue(rng, 6), _queue(rng, rng.randint(7, 9))],
        "card_ratio": [AnswerCase("card_ratio", RIGHT_RATES)],
        "engine_parts": [AnswerCase("engine_parts", RIGHT_PARTS)],
        "predicted_ratio": [AnswerCase("predicted_ratio", RIGHT_RATIOS)],
    }
    cases["PrefillLoop"].append(one_ends_at_once(rng))
    return cases | card_cases(rng)


def _requests(rng: random.Random) -> list[RequestCase]:
    def case(
        n_input: int,
        wanted: int | None,
        room: int,
        stops_after: int | None = None,
        eos: int = 2,
    ) -> RequestCase:
        max_length = n_input + room
        limit = Job(0, n_input, wanted).limit(max_length)
        return RequestCase(
            n_input, wanted, max_length, limit, stops_after, eos, rng.randrange(10**6)
        )

    def few() -> int:
        return rng.randint(4, 9)

    n_input = rng.randrange(20, 900)
    return [
        case(n_input, few(), 20 + few()),
        case(few(), few(), 10_000),
        case(1, few(), 20 + few()),
        case(n_input, few(), 50, stops_after=3, eos=0),
        case(n_input, 4, 50, stops_after=4, eos=1),
        case(n_input, 10 + few(), few()),
        case(n_input, 10 + few(), 1),
        case(n_input, 10, 10),
        case(n_input, 1, 20 + few()),
        case(n_input, few(), 50, stops_after=1, eos=50_256),
        case(n_input, 0, 20 + few()),
        case(n_input, few(), -few()),
        case(n_input, None, few()),
        case(n_input, None, 1),
        case(n_input, None, 40 + few(), stops_after=few(), eos=rng.choice((0, 1, 50_256))),
        case(n_input, None, 0),
    ]


def _queue(rng: random.Random, n: int) -> QueueCase:
    """Neither ids nor lengths rise or fall with the order of arrival."""
    ids, lengths = rng.sample(range(100), n), rng.sample(range(10, 900), n)
    while sorted(ids) in (ids, ids[::-1]) or sorted(lengths) in (lengths, lengths[::-1]):
        ids, lengths = rng.sample(ids, n), rng.sample(lengths, n)
    return QueueCase(tuple(zip(ids, lengths, strict=True)))
