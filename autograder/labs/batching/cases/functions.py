"""Hidden calls of lab 5's pure functions."""

import random

from labkit import batching
from labkit.batching import STATES
from labkit.checks.tables import Call, call
from labkit.labs.batching.checks.predicates import SUBSETS, decode_cases, prefill_cases

Calls = dict[str, list[Call]]


def hidden_calls(rng: random.Random) -> dict[str, Calls]:
    """The calls of one run, by function and claim."""
    return {
        "has_prefill_requests": _called(prefill_cases(SUBSETS + _states(rng))),
        "has_decode_requests": _called(decode_cases(SUBSETS + _states(rng))),
        "does_fit": _rooms(rng),
        "transfer_s": _transfers(rng),
        "latencies": _latencies(rng),
        "goodput": _goodputs(rng),
        "padding_waste": _paddings(rng),
    }


def _called(cases: dict[str, list[list[str]]]) -> Calls:
    return {name: [call(states) for states in cases[name]] for name in cases}


def _states(rng: random.Random) -> list[list[str]]:
    """Some of several states each, in any order: each subset, a few times over."""
    several = [[*some, *rng.choices(some, k=rng.randint(1, 4))] for some in SUBSETS if some]
    mixed = [rng.sample(states, len(states)) for states in several]
    late = [["done"] * rng.randint(9, 12) + [state] for state in STATES]
    return mixed + late + [[state] * rng.randint(2, 5) for state in STATES]


def _rooms(rng: random.Random) -> Calls:
    def rooms(spare: int, *held: int, size: int = 0) -> list[Call]:
        """Calls with `spare` tokens more than all take, and with one too few."""
        size = size or rng.randrange(10, 10_000)
        return [call(size, [*held], size + sum(held) + n) for n in (spare, -1)]

    some = rng.sample(range(10, 10_000), rng.randint(9, 12))
    crowds = rooms(1, *some[:2]) + rooms(1, *some) + rooms(1, 64, 64, 64, 64, size=64)
    return {
        "the_last_token_of_room_is_used": (
            rooms(0, rng.randrange(10, 10_000)) + rooms(0, rng.randrange(10**5, 10**6))
        ),
        "everyone_in_memory_takes_its_own_room": crowds,
        "an_empty_memory_is_not_endless": rooms(0),
        "asking_reserves_nothing": [
            call(*each.args[:2], capacity) for each in crowds[::2] for capacity in (10**8, 0)
        ],
    }


def _transfers(rng: random.Random) -> Calls:
    """The latency is of the order of the rest, so that neither hides the other; each is longer."""
    calls = []
    for shortest, longest in ((0.3, 0.8), (1.2, 2), (0.3, 2)):
        n_tokens, per_token = rng.randrange(50, 5000), rng.choice((28_672, 131_072, 147_456))
        link = (n_tokens, per_token, rng.choice((1e9, 12.5e9, 50e9, 450e9)))
        calls.append(call(*link, batching.transfer_s(*link, 0.0) * rng.uniform(shortest, longest)))
    return {
        "every_byte_passes_the_link": [call(*each.args[:3], 0.0) for each in calls],
        "the_latency_comes_once": calls,
    }


def _latencies(rng: random.Random) -> Calls:
    """In 64ths of seconds, which single precision has exactly; gaps that differ."""

    def served(n_tokens: int) -> Call:
        arrival = rng.randrange(64, 6400)
        gaps = [rng.randrange(70, 400), *rng.sample(range(1, 60), n_tokens - 1)]
        return call(arrival / 64, [(arrival + sum(gaps[: i + 1])) / 64 for i in range(n_tokens)])

    several, one = [served(n) for n in (rng.randint(4, 9), rng.randint(4, 9), 2)], served(1)
    return {
        "ttft_begins_with_the_arrival": [*several, one],
        "tpot_is_the_mean_after_the_first": several,
        "a_single_token_has_none_after_it": [one],
    }


def _goodputs(rng: random.Random) -> Calls:
    """Times in 64ths of seconds; how many requests of each sort is drawn, at least two good.

    Fewer are good (3 to 7) than exactly meet a limit (8 or more): a count is no constant.
    """
    limits = rng.randrange(40, 90) / 64, rng.randrange(5, 20) / 64

    def some(n: int, *parts: float) -> list[tuple[float, float]]:
        return [tuple(part * limit for part, limit in zip(parts, limits, strict=True))] * n

    n_good, n_on = rng.randint(2, 6), rng.randint(3, 5)
    good = some(n_good, 0.5, 0.75) + some(1, 0.75, 0.0)
    late = some(rng.randint(1, 4), 1.5, 0.5) + some(rng.randint(5, 8), 0.5, 2.0)
    mixed = good + late + some(rng.randint(1, 3), 3.0, 2.0)
    edge = some(n_on, 1.0, 0.5) + some(n_on + 1, 0.5, 1.0) + some(1, 1.0, 1.0)
    seconds = rng.randrange(100, 900) / 64
    mixed, edge, good = (rng.sample(each, len(each)) for each in (mixed, edge, good))
    return {
        "both_limits_have_to_be_met": [call(mixed, *limits, 1.0)],
        "a_limit_just_met_is_met": [call(edge, *limits, 1.0)],
        "good_requests_are_counted_per_second": [
            call(good, *limits, each) for each in (seconds, seconds / 1024)
        ],
        "nobody_served_is_no_goodput": [call([], *limits, seconds)],
    }


def _paddings(rng: random.Random) -> Calls:
    def batch(longest: int, n: int) -> list[int]:
        """`n` lengths, of which one is the longest and the others are well below it."""
        others = [rng.randrange(longest * 11 // 20, longest * 4 // 5) for _ in range(n - 1)]
        return rng.sample([longest, *others], n)

    length, n = 10 * rng.randrange(3, 40), rng.randint(2, 4)
    small = batch(length, 2)
    return {
        "each_batch_is_padded_to_its_own_longest": [
            call([batch(length, rng.randint(3, 8))]),
            call([batch(length, 2 * n), batch(2 * length, n)]),
            call([small, small, [2 * length]]),
            call([[1], [1, 3]]),
        ],
        "batches_count_by_their_tokens": [
            call([small, [*small, *[length] * rng.randint(3, 9)]]),
        ],
        "without_batches_nothing_is_wasted": [call([]), call([[5, 5, 5]])],
    }
