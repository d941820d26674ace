"""Hidden calls of lab 5's pure functions."""

import random

from labkit.checks.tables import Call, call

Calls = dict[str, list[Call]]


def hidden_calls(rng: random.Random) -> dict[str, Calls]:
    """The calls of one run, by function and claim."""
    return {
        "does_fit": _rooms(rng),
    }


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
