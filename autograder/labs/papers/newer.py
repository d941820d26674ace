"""Numbers of the questions on newer papers: the right ones, and those that known mistakes give.

By the name of the question's file in `data/papers/rotating`. `numbers` and `slips` take them over.
"""

from collections.abc import Callable
from math import ceil

Fields = dict[str, float]
HEAD_DIM, ITEM_BYTES = 128, 2


def tile_cycles(tile_q: int, tile_kv: int, head_dim: int, exp_rate: int) -> Fields:
    """Source: arXiv:2603.05451, section 3.1."""
    return {
        "product_cycles": 4 * tile_q * tile_kv * head_dim // 8192,
        "exp_cycles": tile_q * tile_kv // exp_rate,
    }


def drafted(tau: float, check: float, draft: float, alone: float) -> Fields:
    """A step writes tau tokens in the time of check + draft passes of the target alone."""
    return {"speedup": tau / (check + draft), "tokens_per_s": alone * tau / (check + draft)}


def one_more(accepted: float, main_b: float, module_b: float, n_tokens: int) -> Fields:
    """A module that drafts one token in each pass of the main model."""
    return {
        "passes": n_tokens / (1 + accepted),
        "speedup": (1 + accepted) * main_b / (main_b + module_b),
    }


def moving(
    n_layers: int, n_kv_heads: int, n_tokens: int, moved_gbs: float, prefill_rate: float
) -> Fields:
    """A cache that another server reads, and the network that is as fast as reading again."""
    token_bytes = 2 * n_layers * n_kv_heads * HEAD_DIM * ITEM_BYTES
    return {
        "move_ms": n_tokens * token_bytes / moved_gbs / 1e6,
        "least_gbs": token_bytes * prefill_rate / 1e9,
    }


def between_cards(n_layers: int, width: int, n_tokens: int, rate: float) -> Fields:
    """The caches that go from the cards that read prompts to those that write answers."""
    cache_bytes = 2 * n_layers * width * ITEM_BYTES * n_tokens
    return {"cache_bytes": cache_bytes, "gbit_per_s": 8 * cache_bytes * rate / 1e9}


def chunks(n_tokens: int, budget: int, answers: int) -> Fields:
    """A prompt in pieces that leave room in each pass for the tokens of answers."""
    return chunks_of(budget - answers, ceil(n_tokens / (budget - answers)))


def chunks_of(chunk: int, n_chunks: int) -> Fields:
    """Chunks of so many tokens; each reads all before it."""
    return {"passes": n_chunks, "read_tokens": chunk * n_chunks * (n_chunks - 1) // 2}


def _scaled(right: Callable[..., Fields], **factors: float) -> Callable[..., Fields]:
    """The right numbers, with these fields so many times as large."""

    def wrong(**given: float) -> Fields:
        found = right(**given)
        return {name: found[name] * factor for name, factor in factors.items()}

    return wrong


def _of_one_layer(right: Callable[..., Fields]) -> Callable[..., Fields]:
    return lambda **given: right(**given | {"n_layers": 1})


NEWER_RIGHT = {
    "deepseek_v3": one_more,
    "distserve": between_cards,
    "eagle_3": drafted,
    "flash_attention_4": tile_cycles,
    "mooncake": moving,
    "sarathi_serve": chunks,
}
NEWER_SLIPS = {
    "deepseek_v3": {
        "rejected": lambda accepted, n_tokens, **_: {"passes": n_tokens * (1 - accepted)},
        "always_two": lambda **given: one_more(**given | {"accepted": 1}),
        "free_module": lambda accepted, **_: {"speedup": 1 + accepted},
        "no_module": lambda n_tokens, **_: {"passes": n_tokens},
    },
    "distserve": {
        "keys_only": _scaled(between_cards, cache_bytes=1 / 2, gbit_per_s=1 / 2),
        "one_layer": _of_one_layer(between_cards),
        "gigabytes": _scaled(between_cards, gbit_per_s=1 / 8),
        "gibi": _scaled(between_cards, gbit_per_s=1e9 / 2**30),
    },
    "eagle_3": {
        "tokens": lambda tau, alone, **_: {"speedup": tau, "tokens_per_s": tau * alone},
        "free_drafts": lambda **given: drafted(**given | {"draft": 0}),
        "own_token": lambda **given: drafted(**given | {"tau": given["tau"] - 1}),
        "inverse": lambda **given: {"speedup": 1 / drafted(**given)["speedup"]},
    },
    "flash_attention_4": {
        "one_product": _scaled(tile_cycles, product_cycles=1 / 2),
        "backward": _scaled(tile_cycles, product_cycles=10 / 4),
        "with_heads": lambda head_dim, **given: {
            "exp_cycles": head_dim * tile_cycles(head_dim=head_dim, **given)["exp_cycles"]
        },
        "old_card": lambda tile_q, tile_kv, **_: {"exp_cycles": tile_q * tile_kv // 16},
    },
    "mooncake": {
        "keys_only": _scaled(moving, move_ms=1 / 2, least_gbs=1 / 2),
        "one_layer": _of_one_layer(moving),
        "seconds": _scaled(moving, move_ms=1e-3),
        "bits": _scaled(moving, move_ms=8),
    },
    "sarathi_serve": {
        "whole_budget": lambda **given: chunks(**given | {"answers": 0}),
        "rounded_down": lambda n_tokens, budget, answers: chunks_of(
            budget - answers, n_tokens // (budget - answers)
        ),
        "once": lambda n_tokens, **_: {"read_tokens": n_tokens},
        "with_own": lambda n_tokens, **given: {
            "read_tokens": chunks(n_tokens, **given)["read_tokens"] + n_tokens
        },
    },
}
