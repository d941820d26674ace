"""Hidden cases of lab 05: fresh requests, queues, links and times; right answers for the cells."""

import random

from autograder.labs.batching.cases.loops import loop_cases, one_ends_at_once
from labkit import batching
from labkit.batching import STATES
from labkit.checks.answers import AnswerCase
from labkit.labs.batching.checks.answers import SETTINGS
from labkit.labs.batching.checks.buckets import BucketCase
from labkit.labs.batching.checks.moving import (
    GoodputCase,
    LatencyCase,
    TransferCase,
)
from labkit.labs.batching.checks.padding import PaddingCase
from labkit.labs.batching.checks.predicates import TRUTH_TABLE, RoomCase, StatesCase
from labkit.labs.batching.checks.queues import QueueCase
from labkit.labs.batching.checks.requests import RequestCase
from labkit.labs.batching.metrics import harmonic
from labkit.labs.batching.workload import Job

RIGHT_KINDS = dict(
    zip("ABCDEF", "static dynamic continuous dynamic static continuous".split(), strict=True)
)
RIGHT_PARTS = {
    "A": "paged cache",
    "B": "prefix cache",
    "C": "chunked prefill",
    "D": "CUDA graph",
    "E": "quantization",
    "F": "speculative decoding",
}
RIGHT_RATIOS = dict(zip(SETTINGS, (1.0, harmonic(8), harmonic(32)), strict=True))


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    cases = {
        **loop_cases(rng),
        "Request": _requests(rng),
        "has_prefill_requests": TRUTH_TABLE + _states(rng),
        "has_decode_requests": TRUTH_TABLE + _states(rng),
        "does_fit": _rooms(rng),
        "RequestQueue": [_queue(rng, 6), _queue(rng, rng.randint(7, 9))],
        "BucketQueue": _buckets(rng),
        "transfer_s": [_transfer(rng) for _ in range(3)],
        "latencies": [_latency(rng, n) for n in (rng.randint(4, 9), rng.randint(4, 9), 2, 1)],
        "goodput": _goodputs(rng),
        "padding_waste": _paddings(rng),
        "which_batching": [AnswerCase("which_batching", RIGHT_KINDS)],
        "engine_parts": [AnswerCase("engine_parts", RIGHT_PARTS)],
        "predicted_ratio": [AnswerCase("predicted_ratio", RIGHT_RATIOS)],
    }
    cases["PrefillLoop"].append(one_ends_at_once(rng))
    return cases


def _requests(rng: random.Random) -> list[RequestCase]:
    def case(n_input: int, wanted: int | None, room: int, stops_after: int | None = None):
        max_length = n_input + room
        limit = Job(0, n_input, wanted).limit(max_length)
        eos = rng.choice((0, 1, 2, 50_256))
        return RequestCase(
            n_input, wanted, max_length, limit, stops_after, eos, rng.randrange(10**6)
        )

    def few() -> int:
        return rng.randint(4, 9)

    n_input = rng.randrange(20, 900)
    return [
        case(n_input, few(), 20 + few()),
        case(few(), few(), 10_000),
        case(n_input, few(), 50, stops_after=3),
        case(n_input, 10 + few(), few()),
        case(n_input, 10 + few(), 1),
        case(n_input, 10, 10),
        case(n_input, 1, 20 + few()),
        case(n_input, few(), 50, stops_after=1),
        case(n_input, 0, 20 + few()),
        case(n_input, few(), -few()),
        case(n_input, None, few()),
        case(n_input, None, 1),
        case(n_input, None, 40 + few(), stops_after=few()),
        case(n_input, None, 0),
    ]


def _states(rng: random.Random) -> list[StatesCase]:
    """Some of several states each, in any order: each subset, a few times over."""
    cases = []
    for table in TRUTH_TABLE:
        if table.states:
            states = [*table.states, *rng.choices(table.states, k=rng.randint(1, 4))]
            cases.append(StatesCase(tuple(rng.sample(states, len(states)))))
    return cases + [StatesCase((state,) * rng.randint(2, 5)) for state in STATES]


def _rooms(rng: random.Random) -> list[RoomCase]:
    def size() -> int:
        return rng.randrange(10, 10_000)

    def several(n: int) -> tuple[int, ...]:
        return tuple(rng.sample(range(10, 10_000), n))

    return [
        RoomCase(size(), (size(),)),
        RoomCase(size(), (rng.randrange(10**5, 10**6),)),
        RoomCase(size(), several(2)),
        RoomCase(size(), several(rng.randint(3, 12))),
        RoomCase(64, (64,) * 4),
        RoomCase(size(), ()),
    ]


def _queue(rng: random.Random, n: int) -> QueueCase:
    """Neither ids nor lengths rise or fall with the order of arrival."""
    ids, lengths = rng.sample(range(100), n), rng.sample(range(10, 900), n)
    while sorted(ids) in (ids, ids[::-1]) or sorted(lengths) in (lengths, lengths[::-1]):
        ids, lengths = rng.sample(ids, n), rng.sample(lengths, n)
    return QueueCase(tuple(zip(ids, lengths, strict=True)))


def _buckets(rng: random.Random) -> list[BucketCase]:
    width = rng.randrange(12, 60)
    edges = [i * width + where for i in (1, 2, 3) for where in (0, 1, width - 1)]
    edges += [1, width - 1]

    def within(i: int) -> int:
        return i * width + rng.randrange(width // 3, width // 2)

    oldest, fullest, shortest = rng.choice((4, 5, 6)), 7, 1
    middle = rng.sample([oldest, fullest, fullest, shortest], 4)
    many = [within(i) for i in (oldest, *middle, fullest)]
    one = rng.sample(range(3 * width + 1, 3 * width + width // 2), 5)
    while one in (sorted(one), sorted(one)[::-1]):
        rng.shuffle(one)
    common, n_more = rng.choice((3, 4)), 16
    turns = rng.choice(((2, 2, 3, 3), (5, 5, 4, 4)))
    return [
        BucketCase("edges", width, tuple(rng.sample(edges, len(edges)))),
        BucketCase("edges", 1, (3, 2, 3, 1, 2)),
        BucketCase("many", width, tuple(many)),
        BucketCase("turns", width, tuple(map(within, turns))),
        BucketCase("one", width, tuple(one)),
        *(
            BucketCase("rare", width, tuple(within(i) for i in (common, rare, *[common] * n_more)))
            for rare in (1, 6)
        ),
    ]


def _transfer(rng: random.Random) -> TransferCase:
    """The latency is of the order of the rest, so that neither hides the other."""
    n_tokens, per_token = rng.randrange(50, 5000), rng.choice((28_672, 131_072, 147_456))
    bandwidth = rng.choice((1e9, 12.5e9, 50e9, 450e9))
    moving_s = batching.transfer_s(n_tokens, per_token, bandwidth, 0.0)
    return TransferCase(n_tokens, per_token, bandwidth, moving_s * rng.uniform(0.3, 2), moving_s)


def _latency(rng: random.Random, n_tokens: int) -> LatencyCase:
    """In 64ths of seconds, which single precision has exactly; gaps that differ."""
    arrival = rng.randrange(64, 6400)
    gaps = [rng.randrange(70, 400), *rng.sample(range(1, 60), n_tokens - 1)]
    times = [(arrival + sum(gaps[: i + 1])) / 64 for i in range(n_tokens)]
    return LatencyCase(arrival / 64, tuple(times), *batching.latencies(arrival / 64, times))


def _goodputs(rng: random.Random) -> list[GoodputCase]:
    """Times in 64ths of seconds; how many requests of each sort is drawn, at least two good."""
    limits = rng.randrange(40, 90) / 64, rng.randrange(5, 20) / 64

    def some(n: int, *parts: float) -> list[tuple[float, float]]:
        return [tuple(part * limit for part, limit in zip(parts, limits, strict=True))] * n

    n_good, n_on = rng.randint(2, 6), rng.randint(2, 4)
    good = some(n_good, 0.5, 0.75)
    late = some(rng.randint(1, 4), 1.5, 0.5) + some(rng.randint(5, 8), 0.5, 2.0)
    mixed = good + late + some(rng.randint(1, 3), 3.0, 2.0)
    edge = some(n_on, 1.0, 0.5) + some(n_on + 1, 0.5, 1.0) + some(1, 1.0, 1.0)
    seconds = rng.randrange(100, 900) / 64
    shuffled = [tuple(rng.sample(each, len(each))) for each in (mixed, edge, good)]
    return [
        GoodputCase("mixed", shuffled[0], *limits, 1.0, n_good),
        GoodputCase("edge", shuffled[1], *limits, 1.0, 2 * n_on + 2),
        GoodputCase("time", shuffled[2], *limits, seconds, n_good),
        GoodputCase("none", (), *limits, seconds, 0),
    ]


def _paddings(rng: random.Random) -> list[PaddingCase]:
    def batch(longest: int, n: int) -> tuple[int, ...]:
        """`n` lengths, of which one is the longest and the others are well below it."""
        others = [rng.randrange(longest * 11 // 20, longest * 4 // 5) for _ in range(n - 1)]
        return tuple(rng.sample([longest, *others], n))

    length, n = 10 * rng.randrange(3, 40), rng.randint(2, 4)
    small = batch(length, 2)
    batches = {
        "longest": [batch(length, 2 * n), batch(2 * length, n)],
        "weights": [small, (*small, *[length] * rng.randint(3, 9))],
        "none": [],
    }
    single = (batch(length, rng.randint(3, 8)),)
    return [
        PaddingCase("longest", single, batching.padding_waste(single)),
        *(
            PaddingCase(kind, tuple(each), batching.padding_waste(each))
            for kind, each in batches.items()
        ),
    ]
