"""Hidden calls of lab 06's rates: fresh blocks, probabilities and times."""

import random

from labkit.checks.tables import Call, call
from labkit.labs.speculative.checks.gains import blocks
from labkit.labs.speculative.checks.search import NO_CHANCE

Calls = dict[str, list[Call]]


def hidden_calls(rng: random.Random) -> dict[str, Calls]:
    """The calls of one run, by function and claim."""
    return {
        "acceptance_rate": _blocks(rng),
        "speedup": _speedups(rng),
    }


def _blocks(rng: random.Random) -> Calls:
    def some(n: int, n_drafted: int, n_accepted: int, prompt: str) -> list[tuple[int, int, str]]:
        return [(n_drafted, n_accepted, prompt)] * n

    def few() -> int:
        return rng.randint(2, 5)

    n = rng.randint(3, 6)
    full = some(few(), n, n, "a") + some(few(), n, n - 1, "a")
    uneven = some(6 + few(), 1, 0, "a") + some(few(), 3 * n, 3 * n - 1, "b") + some(1, 2, 1, "a")
    counts = {
        "what_was_not_examined_does_not_count": [
            [(n + few(), n, prompt) for prompt in "abcabc"],
            some(few(), 2 * n, 0, "a"),
        ],
        "a_block_accepted_whole_has_no_rejected_token": [
            full,
            some(few(), n, n, "a"),
            [(1, 1, "a")],
        ],
        "every_examined_token_weighs_the_same": [uneven],
        "a_plain_step_examines_nothing": [some(few(), n, n - 1, "a") + some(few(), 0, 0, "a")],
        "without_trials_there_is_no_rate": [
            [],
            some(few(), 0, 0, "a"),
            [(2, 1, "a")],
        ],
    }
    return {
        name: [call(blocks(rng.sample(each, len(each)))) for each in lists]
        for name, lists in counts.items()
    }


def _speedups(rng: random.Random) -> Calls:
    """No time is a multiple of another, and none is of another order.

    From gamma 8 on, all drafts together take longer than the verification.
    """
    drawn = []
    for least, shortest_s in ((8, 0.37), (2, 0.1), (2, 0.1)):
        alpha, gamma = rng.randrange(30, 95) / 100, rng.randint(least, 9)
        times_s = rng.uniform(shortest_s, 0.4), rng.uniform(1.3, 1.8), rng.uniform(2.1, 2.9)
        drawn.append((alpha, gamma, *times_s))
    alpha, gamma, *times_s = drawn[0]
    all_calls = [call(*each) for each in drawn]
    return {
        "a_block_takes_its_drafts_and_one_verification": [
            *(call(0.0, gamma, draft_s, 1.0, verify_s) for _, gamma, draft_s, _, verify_s in drawn),
            call(0.0, 1, times_s[0], 1.0, 0.7),
            call(0.0, 0, times_s[0], 1.0, 1.0),
        ],
        "all_tokens_of_a_block_are_gained": [*all_calls, call(1.0, gamma, *times_s)],
        "plain_decoding_is_what_is_compared_with": all_calls,
        "no_speedup_without_a_probability": [
            *(call(outside, gamma, *times_s) for outside in NO_CHANCE),
            call(alpha, -1, *times_s),
        ],
    }
