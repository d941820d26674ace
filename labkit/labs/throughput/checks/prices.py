"""Checks of `cheapest_batch`: the price of a token, and the batches that are fast enough."""

from collections.abc import Callable, Mapping

from labkit.checks.tables import CallTable, Claim, call

Steps = Mapping[int, float]


def the_batch(choose: Callable, *arguments: object) -> int:
    """The first of the two results."""
    return choose(*arguments)[0]


def relative_price(choose: Callable, step_s: Steps, dollars_per_hour: float, most_s: float) -> list:
    """The price, and the price if an hour costs twice as much, as a multiple of it."""
    price = choose(step_s, dollars_per_hour, most_s)[1]
    return [price, choose(step_s, 2 * dollars_per_hour, most_s)[1] / price]


def price_slips(
    step_s: Steps, dollars_per_hour: float, most_s: float, right: list
) -> dict[str, list]:
    """The price by known mistakes."""
    best = min((n for n in step_s if step_s[n] <= most_s), key=lambda n: (step_s[n] / n, n))
    factors = {
        "That is the price for one user alone. Divide by the batch size.": best,
        "That is for one token. Give the price of a million.": 1e-6,
        "That is for a thousand tokens. Give the price of a million.": 1e-3,
        "The price is per hour, the step in seconds. Divide by 3600.": 3600,
        "The price is per hour. Divide by 3600, not by 60.": 60,
        "You multiplied by the batch size. Divide by it.": best * best,
    }
    return {text: [right[0] * factor, 2] for text, factor in factors.items() if factor != 1}


def batch_slips(
    step_s: Steps, dollars_per_hour: float, most_s: float, right: int
) -> dict[str, int]:
    """The batch by known mistakes."""
    fast = {n: step_s[n] for n in step_s if step_s[n] <= most_s}
    if not fast:
        return {}
    every = {
        "That is the batch with the shortest step. Take the cheapest tokens.": (
            min(fast, key=lambda n: fast[n])
        ),
        "That is the largest batch. Compare the prices.": max(fast),
        "That is the cheapest batch of all. Leave out those that are too slow.": (
            min(step_s, key=lambda n: (step_s[n] / n, n))
        ),
        "That is the smallest batch. Compare the prices.": min(fast),
        "That is the most expensive batch.": max(fast, key=lambda n: fast[n] / n),
        "Two batches are equally cheap. Take the smaller one.": (
            max(fast, key=lambda n: (-fast[n] / n, n))
        ),
    }
    return {text: n for text, n in every.items() if n != right}


# The shortest step is that of 4, the most expensive tokens are those of 2, the cheapest those of 8.
FIVE = {1: 0.625, 2: 1.375, 4: 0.5625, 8: 1.0, 16: 4.0}

cheapest_batch = CallTable(
    "cheapest_batch",
    "the batch size",
    [
        Claim(
            "the_cheapest_tokens_win",
            "Of the batch sizes that are fast enough, the one with the cheapest tokens is chosen.",
            hint="For each batch size, divide the seconds of the step by the batch size.",
            of=the_batch,
            rows=[call(FIVE, 2.0, 5.0).gives(8)],
            slips=batch_slips,
        ),
        Claim(
            "slow_batches_are_left_out",
            "A batch size with a step longer than most_tpot_s is left out, one with an equal step "
            "is not.",
            hint="Keep the batch sizes with step_s[n] <= most_tpot_s. Look at each of them.",
            of=the_batch,
            rows=[
                call(FIVE, 2.0, 1.0).gives(8),
                call(FIVE, 2.0, 0.75).gives(4),
                call({1: 0.0625, 4: 0.125, 16: 0.25}, 2.0, 0.125).gives(4),
            ],
            slips=batch_slips,
        ),
        Claim(
            "of_equally_cheap_ones_the_smaller_is_taken",
            "Of two batch sizes with equally cheap tokens, the smaller one is chosen.",
            hint="A small batch answers each user sooner. Compare the batch sizes of a tie.",
            weight=0.5,
            gate=False,
            of=the_batch,
            rows=[call({8: 0.5, 2: 0.125, 4: 0.25, 1: 0.125}, 2.0, 1.0).gives(2)],
            slips=batch_slips,
        ),
        Claim(
            "the_price_is_that_of_a_million_tokens",
            "The second result is the price of a million new tokens of all users.",
            hint="Dollars per second, times seconds per step, by tokens per step, times a million.",
            of=relative_price,
            what="dollars per million tokens, and how they grow if an hour costs twice as much",
            rows=[call({2: 0.018}, 2.0, 1.0).gives([5, 2])],
            slips=price_slips,
        ),
        Claim(
            "no_batch_is_fast_enough",
            "If no batch size is fast enough, the function raises ValueError.",
            hint="Raise ValueError if nothing is left.",
            weight=0.5,
            gate=False,
            what="the batch size, where every step takes too long",
            rows=[
                call({1: 0.25, 2: 0.5}, 2.0, 0.125).gives(ValueError),
                call({}, 2.0, 0.125).gives(ValueError),
            ],
        ),
    ],
)
