"""The right numbers of lab 8 by formula, and those that known mistakes give.

By the name of an item: `RIGHT[item](**parameters)` gives every field. The fields that a mistake
gets wrong are given by `SLIPS[item][mistake](**parameters)`.
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from math import ceil, prod
from operator import mul

from autograder.labs.papers.attention import (
    moved_by_first,
    moved_by_standard,
    operations_of_first,
    operations_of_standard,
)
from autograder.labs.papers.newer import NEWER_RIGHT
from labkit.labs.papers.parameters import ITEM_BYTES

Fields = dict[str, float]
BLOCK_SIZE, N_ROUNDS = 16, 3  # of the prefix cache; rounds 2 to 4
# arXiv:2205.14135, figure 2: 64 sequences of 16 heads; tokens and dimension of a head; GB moved
GPT2_HEADS, GPT2_HEAD, GPT2_GB = 64 * 16, (1024, 64), 4.4


def tokens_per_step(alpha: float, gamma: int) -> float:
    """Source: arXiv:2211.17192, equation 1."""
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)


def operations(alpha: float, gamma: int, cost: float) -> Fields:
    """Source: arXiv:2211.17192, theorem 3.11."""
    return {"factor": (gamma * cost + gamma + 1) / tokens_per_step(alpha, gamma)}


def acceptance(target: tuple, draft: tuple) -> Fields:
    """The acceptance of the first drafted token, and of all drafted tokens."""
    return {"top_kept": target[0] / draft[0], "any_kept": sum(map(min, target, draft))}


def tree(expansion: tuple) -> Fields:
    """Tokens below the root, and those of all paths written out one by one."""
    return {
        "tree_tokens": sum(accumulate(expansion, mul)),
        "separate_tokens": len(expansion) * prod(expansion),
    }


def moved_by_gpt2(tile_kv: int, back_gb: float) -> Fields:
    """GB that version 1 moves in GPT-2 medium, and the error against figure 2 of its paper."""
    return off(forward_gb(moved_by_first(*GPT2_HEAD, tile_kv).total) + back_gb, GPT2_GB)


def forward_gb(n_elements: int) -> float:
    """GB of all heads, from the elements of one."""
    return GPT2_HEADS * ITEM_BYTES["float16"] * n_elements / 1e9


def residual_entry(target: tuple, draft: tuple, token: str) -> Fields:
    """Source: arXiv:2211.17192, section 2.3."""
    left = [max(p - q, 0) for p, q in zip(target, draft, strict=True)]
    return {"residual": left[place(token)] / sum(left)}


def reads(length: int, head_dim: int, sram_kib: int, dtype: str) -> Fields:
    """Source: arXiv:2205.14135, algorithm 1, with the size of the SRAM in elements."""
    return reads_holding(length, head_dim, sram_kib * 1024 / ITEM_BYTES[dtype])


def speedup(
    length: int,
    head_dim: int,
    sram_kib: int,
    dtype: str,
    peak_tflops: float,
    bandwidth_gbs: float,
) -> Fields:
    """Version 1 against standard attention; computing and moving take turns."""
    width = ITEM_BYTES[dtype]
    tile_kv = tile_holding(head_dim, sram_kib * 1024 / width)
    return speedup_of_tiles(length, head_dim, tile_kv, rates(peak_tflops, bandwidth_gbs, width))


def prefix(document: int, question: int, params_b: float) -> Fields:
    """Whole blocks of the document are found, in rounds 2, 3 and 4."""
    return prefix_finding(document, question, params_b, document // BLOCK_SIZE * BLOCK_SIZE)


def change(length: int, position: int, block: int) -> Fields:
    """The block of the changed token is the first that misses."""
    return {"first_block": position // block, "found_tokens": position // block * block}


def offloading(offloaded_gb: float, link_gbs: float, n_sequences: int) -> Fields:
    """A step waits for the offloaded bytes and gives one token to each sequence."""
    return {
        "floor_ms": 1e3 * offloaded_gb / link_gbs,
        "tokens_per_s": n_sequences * link_gbs / offloaded_gb,
    }


def reproduction(gamma: int, alpha: float, cost: float, measured: float, **_: object) -> Fields:
    """Source: arXiv:2211.17192, theorem 3.8, and the error against a cell of table 2."""
    return off(tokens_per_step(alpha, gamma) / (gamma * cost + 1), measured)


def off(predicted: float, measured: float) -> Fields:
    """A prediction, and how many percent it is above what was measured."""
    return {"predicted": predicted, "error_percent": 100 * (predicted / measured - 1)}


def place(token: str) -> int:
    """Where a token stands in the tuples of item 11."""
    return "wxyz".index(token)


def rates(peak_tflops: float, bandwidth_gbs: float, width: int) -> tuple[float, float]:
    """Operations and elements per second."""
    return 1e12 * peak_tflops, 1e9 * bandwidth_gbs / width


def tile_holding(d: int, n_elements: float) -> int:
    """Rows of a tile of K for an SRAM of this many elements, rounded up as in the paper."""
    return ceil(n_elements / (4 * d))


def reads_holding(n: int, d: int, n_elements: float) -> Fields:
    """Rows of a tile, and elements read, for an SRAM of this many elements."""
    tile_kv = tile_holding(d, n_elements)
    return {"tile_kv": tile_kv, "reads": moved_by_first(n, d, tile_kv).reads}


def speedup_of_tiles(
    n: int,
    d: int,
    tile_kv: int,
    per_s: tuple[float, float],
    together: Callable[..., float] = sum,
    moved: int | None = None,
) -> Fields:
    """Standard attention's seconds over those of version 1.

    per_s: operations and elements; moved: elements, if not as version 1 does it.
    """
    work = (
        (operations_of_standard(n, d), moved_by_standard(n, d).total),
        (operations_of_first(n, d, tile_kv), moved or moved_by_first(n, d, tile_kv).total),
    )
    standard, flash = (
        together((flops / per_s[0], elements / per_s[1])) for flops, elements in work
    )
    return {"speedup": standard / flash}


def prefix_finding(document: int, question: int, params_b: float, n_saved: int) -> Fields:
    """The prefix cache's numbers if this many tokens of each prompt are found."""
    return {
        "computed_tokens": N_ROUNDS * (document + question - n_saved),
        "saved_flops": 2e9 * params_b * N_ROUNDS * n_saved,
    }


RIGHT: Mapping[str, Callable[..., Fields]] = {
    "q02": operations,
    "q03": acceptance,
    "q05": tree,
    "q08": moved_by_gpt2,
    "q11": residual_entry,
    "q13": reproduction,
    "q16": reads,
    "q17": speedup,
    "q18": prefix,
    "q19": change,
    "q20": offloading,
    **NEWER_RIGHT,
}
