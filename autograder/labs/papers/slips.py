"""Wrong numbers of lab 8 that known mistakes give: the fields that each of them gets wrong."""

from collections.abc import Callable, Mapping
from math import ceil, prod
from operator import mul
from statistics import fmean

from autograder.labs.papers.attention import moved_by_first
from autograder.labs.papers.newer import NEWER_SLIPS
from autograder.labs.papers.numbers import (
    BLOCK_SIZE,
    GPT2_GB,
    GPT2_HEAD,
    Fields,
    acceptance,
    change,
    forward_gb,
    moved_by_gpt2,
    off,
    offloading,
    operations,
    place,
    prefix,
    prefix_finding,
    rates,
    reads,
    reads_holding,
    reproduction,
    residual_entry,
    speedup,
    speedup_of_tiles,
    tile_holding,
    tokens_per_step,
    tree,
)
from labkit.labs.papers.parameters import ITEM_BYTES

Slip = Callable[..., Fields]
KIB = 1024


def _operations() -> dict[str, Slip]:
    right = operations
    return {
        "inverse": lambda **given: {"factor": 1 / right(**given)["factor"]},
        "time": lambda alpha, gamma, cost: {
            "factor": (gamma * cost + 1) / tokens_per_step(alpha, gamma)
        },
        "no_bonus": lambda alpha, gamma, cost: {
            "factor": (gamma * cost + gamma + 1) / tokens_per_step(alpha, gamma - 1)
        },
        "no_draft": lambda alpha, gamma, cost: right(alpha, gamma, 0),
        "goes_on": lambda alpha, gamma, cost: {
            "factor": (gamma * cost + gamma + 1) / (1 + gamma * alpha)
        },
    }


def _acceptance() -> dict[str, Slip]:
    return {
        "agreement": lambda **_: {"any_kept": 1},
        "both_sample": lambda target, draft: {"any_kept": sum(map(mul, target, draft))},
        "rejected": lambda **given: {"any_kept": 1 - acceptance(**given)["any_kept"]},
        "inverse": lambda **_: {"top_kept": 1},
        "target_alone": lambda target, draft: {"top_kept": target[0]},
        "unweighted": lambda target, draft: {
            "any_kept": fmean(min(1, p / q) for p, q in zip(target, draft, strict=True))
        },
    }


def _tree() -> dict[str, Slip]:
    return {
        "root": lambda expansion: {"tree_tokens": tree(expansion)["tree_tokens"] + 1},
        "leaves": lambda expansion: {"tree_tokens": prod(expansion)},
        "sum": lambda expansion: {"tree_tokens": sum(expansion)},
        "sequences": lambda expansion: {"separate_tokens": prod(expansion)},
    }


def _moved() -> dict[str, Slip]:
    def moved(n_elements: int, back_gb: float) -> Fields:
        return off(forward_gb(n_elements) + back_gb, GPT2_GB)

    def first(tile_kv: int) -> int:
        return moved_by_first(*GPT2_HEAD, tile_kv).total

    def turned(**given: float) -> Fields:
        predicted = moved_by_gpt2(**given)["predicted"]
        return {"error_percent": 100 * (GPT2_GB / predicted - 1)}

    return {
        "elements": lambda tile_kv, back_gb: off(forward_gb(first(tile_kv)) / 2 + back_gb, GPT2_GB),
        "once": lambda tile_kv, back_gb: moved(first(GPT2_HEAD[0]), back_gb),
        "reads_only": lambda tile_kv, back_gb: moved(
            moved_by_first(*GPT2_HEAD, tile_kv).reads, back_gb
        ),
        "no_back": lambda tile_kv, back_gb: moved(first(tile_kv), 0),
        "sequence": lambda tile_kv, back_gb: off(
            forward_gb(first(tile_kv)) / 64 + back_gb, GPT2_GB
        ),
        "turned": turned,
        "share": lambda **given: {"error_percent": moved_by_gpt2(**given)["error_percent"] / 100},
    }


def _residual() -> dict[str, Slip]:
    def gain(target: tuple, draft: tuple, token: str) -> float:
        return target[place(token)] - draft[place(token)]

    def absolute(target: tuple, draft: tuple, token: str) -> Fields:
        distance = sum(abs(p - q) for p, q in zip(target, draft, strict=True))
        return {"residual": gain(target, draft, token) / distance}

    return {
        "unnormalised": lambda **given: {"residual": gain(**given)},
        "absolute": absolute,
        "swapped": lambda target, draft, token: residual_entry(draft, target, token),
        "target": lambda target, draft, token: {"residual": target[place(token)]},
        "conditional": lambda target, draft, token: {
            "residual": gain(target, draft, token) / sum(map(min, target, draft))
        },
    }


def _reproduction() -> dict[str, Slip]:
    def operations_not_time(gamma: int, alpha: float, cost: float, **rest: float) -> Fields:
        return off(tokens_per_step(alpha, gamma) / (gamma * cost + gamma + 1), rest["measured"])

    def no_bonus(gamma: int, alpha: float, cost: float, **rest: float) -> Fields:
        tokens = tokens_per_step(alpha, gamma) - 1
        return off(tokens / (gamma * cost + 1), rest["measured"])

    def turned(**given: float) -> Fields:
        predicted = reproduction(**given)["predicted"]
        return {"error_percent": 100 * (given["measured"] / predicted - 1)}

    return {
        "operations": operations_not_time,
        "no_bonus": no_bonus,
        "free_drafts": lambda **given: reproduction(**given | {"cost": 0}),
        "turned": turned,
        "share": lambda **given: {"error_percent": reproduction(**given)["error_percent"] / 100},
    }


def _reads() -> dict[str, Slip]:
    def with_writes(length: int, head_dim: int, sram_kib: int, dtype: str) -> Fields:
        right = reads(length, head_dim, sram_kib, dtype)
        n_tiles = ceil(length / right["tile_kv"])
        return {"reads": right["reads"] + n_tiles * length * (head_dim + 2)}

    def no_statistics(length: int, head_dim: int, sram_kib: int, dtype: str) -> Fields:
        n_tiles = ceil(length / reads(length, head_dim, sram_kib, dtype)["tile_kv"])
        return {"reads": 2 * length * head_dim * (1 + n_tiles)}

    return {
        "m_in_bytes": lambda length, head_dim, sram_kib, dtype: reads_holding(
            length, head_dim, sram_kib * KIB
        ),
        "once": lambda length, head_dim, **_: {"reads": length * (4 * head_dim + 2)},
        "with_writes": with_writes,
        "no_statistics": no_statistics,
        "bytes": lambda dtype, **given: {
            "reads": ITEM_BYTES[dtype] * reads(dtype=dtype, **given)["reads"]
        },
        "kibi": lambda length, head_dim, sram_kib, dtype: reads_holding(
            length, head_dim, sram_kib * 1000 / ITEM_BYTES[dtype]
        ),
    }


def _speedup() -> dict[str, Slip]:
    def another(
        length: int,
        head_dim: int,
        sram_kib: int,
        dtype: str,
        peak_tflops: float,
        bandwidth_gbs: float,
        *,
        held_width: int = 0,
        moved_width: int = 0,
        kib: int = KIB,
        **changed: object,
    ) -> Fields:
        width = ITEM_BYTES[dtype]
        tile_kv = tile_holding(head_dim, sram_kib * kib / (held_width or width))
        per_s = rates(peak_tflops, bandwidth_gbs, moved_width or width)
        return speedup_of_tiles(length, head_dim, tile_kv, per_s, **changed)

    def no_start(length: int, head_dim: int, sram_kib: int, dtype: str, **given: float) -> Fields:
        tile_kv = tile_holding(head_dim, sram_kib * KIB / ITEM_BYTES[dtype])
        moved = moved_by_first(length, head_dim, tile_kv).total - length * (head_dim + 2)
        return another(length, head_dim, sram_kib, dtype, **given, moved=moved)

    return {
        "overlap": lambda **given: another(**given, together=max),
        "elements": lambda **given: another(**given, moved_width=1),
        "m_in_bytes": lambda **given: another(**given, held_width=1),
        "once": lambda length, head_dim, **given: another(
            length, head_dim, **given, moved=length * (5 * head_dim + 4)
        ),
        "inverse": lambda **given: {"speedup": 1 / speedup(**given)["speedup"]},
        "no_start": no_start,
        "kibi": lambda **given: another(**given, kib=1000),
    }


def _prefix() -> dict[str, Slip]:
    def flops(document: int, params_b: float, share: float) -> Fields:
        right = prefix(document, 0, params_b)["saved_flops"]
        return {"saved_flops": share * right}

    return {
        "partial": lambda document, question, params_b: prefix_finding(
            document, question, params_b, document
        ),
        "round_one": lambda document, question, params_b: {
            **flops(document, params_b, 4 / 3),
            "computed_tokens": prefix(document, question, params_b)["computed_tokens"] * 4 / 3,
        },
        "with_first": lambda document, question, params_b: {
            "computed_tokens": document
            + question
            + prefix(document, question, params_b)["computed_tokens"]
        },
        "no_two": lambda document, params_b, **_: flops(document, params_b, 1 / 2),
        "one_round": lambda document, question, params_b: {
            **flops(document, params_b, 1 / 3),
            "computed_tokens": document + question - document // BLOCK_SIZE * BLOCK_SIZE,
        },
    }


def _change() -> dict[str, Slip]:
    return {
        "from_one": lambda **given: {"first_block": change(**given)["first_block"] + 1},
        "up_to_token": lambda position, **_: {"found_tokens": position},
        "one_block": lambda length, block, **_: {"found_tokens": (length // block - 1) * block},
    }


def _offloading() -> dict[str, Slip]:
    def floor(factor: float, **given: float) -> Fields:
        return {"floor_ms": factor * offloading(**given)["floor_ms"]}

    return {
        "seconds": lambda **given: floor(1e-3, **given),
        "per_sequence": lambda offloaded_gb, link_gbs, **_: {
            "tokens_per_s": link_gbs / offloaded_gb
        },
        "per_token_copy": lambda n_sequences, **given: floor(
            n_sequences, n_sequences=n_sequences, **given
        ),
        "bits": lambda **given: floor(8, **given),
    }


SLIPS: Mapping[str, Mapping[str, Slip]] = {
    "q02": _operations(),
    "q03": _acceptance(),
    "q05": _tree(),
    "q08": _moved(),
    "q11": _residual(),
    "q13": _reproduction(),
    "q16": _reads(),
    "q17": _speedup(),
    "q18": _prefix(),
    "q19": _change(),
    "q20": _offloading(),
    **NEWER_SLIPS,
}
