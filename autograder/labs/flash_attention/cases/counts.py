"""Hidden cases of lab 07: fresh chips and sizes for the counts, and what is right for them."""

import random
from collections.abc import Callable
from math import ceil
from typing import Any

from labkit import flash_attention as flash
from labkit.checks.answers import AnswerCase
from labkit.checks.tables import Call, call
from labkit.labs.flash_attention.checks.counts import StandardCase
from labkit.labs.flash_attention.checks.gains import SecondsCase
from labkit.labs.flash_attention.checks.operations import OperationsCase
from labkit.labs.flash_attention.checks.tiles import TileCase
from labkit.labs.flash_attention.checks.turns import TurnsCase


def count_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "tile_sizes": _chips(rng),
        "standard_traffic": _standard(rng),
        "flash_1_traffic": _turns(rng, flash.flash_1_traffic),
        "flash_2_traffic": _turns(rng, flash.flash_2_traffic),
        "standard_flops": _operations(rng),
        "run_times": _seconds(rng),
        **{name: [AnswerCase(name, flash)] for name in ("my_head", "homework")},
    }


def hidden_calls(rng: random.Random) -> dict[str, dict[str, list[Call]]]:
    """Short caches and long ones, few parts and many, heads alone and in groups. None is empty."""
    few, many = rng.randint(3, 9), rng.randint(10, 40)
    sizes = [
        (few * rng.randint(60, 90), rng.randint(17, 90), rng.randint(3, 8), few),
        (2 * rng.randint(2, 5), 100, 2, 2),
        (many * rng.randint(2, 4), rng.randint(5, 16), 1, many),
        (2, 1, 1, 2),
    ]
    one = [call(1, 1, 1, 1), *(call(*each[:3], 1) for each in sizes)]
    more = [call(*each) for each in sizes]
    calls = {
        "a_group_reads_each_key_once": one,
        "one_part_stores_its_outputs": one,
        "parts_read_queries_and_all_states_are_read": more,
        "each_part_stores_its_state": more,
    }
    return {"decode_traffic": calls}


def _chips(rng: random.Random) -> list[TileCase]:
    """Rows are multiples of what other numbers of tiles and other widths would divide them by."""

    def case(kind: str, head_dim: int, width: int, rows: int, spare: int = 0) -> TileCase:
        return TileCase(kind, 4 * head_dim * width * rows, head_dim, width, rows, spare)

    def head_dim() -> int:
        return rng.randrange(9, 130)

    short, long = head_dim(), head_dim()
    return [
        *(case("full", head_dim(), 1, rng.randrange(20, 400)) for _ in range(3)),
        *(case("width", head_dim(), 1, 960 * rng.randint(1, 9)) for _ in range(2)),
        case("spare", short, 2, 24 * rng.randint(6, 9), rng.randrange(1, 2 * short)),
        case("spare", long, 4, 24 * rng.randint(1, 9), 2 * long - 1),
        case("queries", short, 4, rng.randint(9, 12) * short),
        case("queries", short, 4, short + 1),
        case("queries", long + 8, 2, rng.randint(2, long)),
    ]


def _sizes(rng: random.Random) -> list[tuple[int, int]]:
    """N and D: more rows, wider rows, and the least that there can be."""
    return [(rng.randint(100, 999), rng.randint(17, 90)), (rng.randint(3, 9), 100), (1, 1)]


def _standard(rng: random.Random) -> list[StandardCase]:
    return [StandardCase(*each, *flash.standard_traffic(*each)) for each in _sizes(rng)]


def _operations(rng: random.Random) -> list[OperationsCase]:
    return [
        OperationsCase(n, d, flash.standard_flops(n, d), flash.standard_flops(n, 2 * d))
        for n, d in _sizes(rng)
    ]


def _turns(rng: random.Random, count: Callable[[int, int, int], Any]) -> list[TurnsCase]:
    """Long and short heads; the last of the ragged tiles is less than half full."""
    cases = []
    for n_turns in (rng.randint(3, 5), 2):
        narrow = rng.randint(4, 20) * n_turns
        n_rows, head_dim = 2 * narrow * n_turns, rng.randint(5, 130)
        ragged = next(
            tile
            for tile in range(narrow + 1, n_rows)
            if ceil(n_rows / tile) == 2 * n_turns and 0 < n_rows % tile < tile / 2
        )
        tiles = (n_rows, 2 * narrow, narrow)
        right = tuple(count(n_rows, head_dim, tile) for tile in tiles)
        cases.append(TurnsCase(n_rows, head_dim, *tiles[1:], ragged, right))
    return cases


def _seconds(rng: random.Random) -> list[SecondsCase]:
    """One that computes for longer, one that moves for longer."""

    def case(computing_s: float, moving_s: float) -> SecondsCase:
        flops_per_s, bytes_per_s = rng.uniform(1e12, 9e14), rng.uniform(1e11, 5e12)
        work = computing_s * flops_per_s, moving_s * bytes_per_s
        times_s = flash.run_times(*work, flops_per_s, bytes_per_s)
        return SecondsCase(*work, flops_per_s, bytes_per_s, computing_s, moving_s, *times_s)

    long_s, short_s = rng.uniform(0.01, 0.02), rng.uniform(0.003, 0.007)
    return [
        case(long_s, short_s),
        case(short_s, long_s),
        case(long_s, 0.9 * long_s),
        case(short_s, short_s),
    ]
