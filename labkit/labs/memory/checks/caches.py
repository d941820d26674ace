"""Checks of `kv_cache_bytes`: a claim for each kind of layer, and for the factors of all kinds."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from labkit.checks.tables import CallTable, Claim, Made, Slips, call, made
from labkit.models.configs import ModelConfig

FULL = {
    "num_hidden_layers": 3,
    "hidden_size": 40,
    "intermediate_size": 96,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "vocab_size": 101,
}
WINDOW = {"sliding_window": 16}
LATENT = {"kv_lora_rank": 10, "qk_rope_head_dim": 4}
STATE = {"state_bytes": 1000}
NEEDS = {"sliding_attention": WINDOW, "latent_attention": LATENT, "linear_attention": STATE}


def layered(*kinds: str, **changes: Any) -> Made:
    """A small config with layers of these kinds, given by their first words."""
    names = [f"{kind}_attention" for kind in kinds]
    needed = {key: value for name in names for key, value in NEEDS.get(name, {}).items()}
    fields = {"num_hidden_layers": len(kinds), "layer_types": names} | needed
    return made(ModelConfig, **(FULL | fields | changes))


def plain(**changes: Any) -> Made:
    """A small config whose layers are all full."""
    return made(ModelConfig, **(FULL | changes))


FULL_SLIPS: dict[str, Callable[[ModelConfig, int], float]] = {
    "Only half is counted: both a key and a value are stored.": lambda c, n: (
        n * c.num_key_value_heads * c.head_dim
    ),
    "The factor is 2: a key and a value are stored, but no query.": lambda c, n: (
        3 * n * c.num_key_value_heads * c.head_dim
    ),
    "Query heads were counted. Multiply by num_key_value_heads, not by num_attention_heads.": (
        lambda c, n: 2 * n * c.num_attention_heads * c.head_dim
    ),
    "That is one KV head: multiply by num_key_value_heads.": lambda c, n: 2 * n * c.head_dim,
    "hidden_size / num_attention_heads was taken for the width of a head. Use head_dim.": (
        lambda c, n: 2 * n * c.num_key_value_heads * (c.hidden_size // c.num_attention_heads)
    ),
    "hidden_size was used. Keys and values have num_key_value_heads * head_dim numbers.": (
        lambda c, n: 2 * n * c.hidden_size
    ),
}
WINDOW_SLIPS: dict[str, Callable[[int, int], float]] = {
    "The window was ignored: such a layer stores at most sliding_window tokens.": lambda n, w: n,
    "A whole window was counted, but there may be fewer tokens.": lambda n, w: w,
    "A window of one token less was counted.": lambda n, w: min(n, w - 1),
    "A window of one token more was counted.": lambda n, w: min(n, w + 1),
    "The tokens outside of the window were counted. It keeps the last ones.": lambda n, w: max(
        0, n - w
    ),
}
LATENT_SLIPS: dict[str, Callable[[ModelConfig], float]] = {
    "A latent is one vector, for keys and values together. Do not double it.": lambda c: (
        2 * (c.kv_lora_rank + c.qk_rope_head_dim)
    ),
    "Only kv_lora_rank was counted. Add qk_rope_head_dim.": lambda c: c.kv_lora_rank,
    "A latent layer has no KV heads in its cache. Count kv_lora_rank + qk_rope_head_dim.": (
        lambda c: 2 * c.num_key_value_heads * c.head_dim
    ),
    "A latent is not stored for each head: all heads share it.": lambda c: (
        c.num_attention_heads * (c.kv_lora_rank + c.qk_rope_head_dim)
    ),
}
STATE_SLIPS: dict[str, Callable[[ModelConfig, int, float], float]] = {
    "The state was left out: add config.state_bytes for each linear layer.": lambda c, n, w: 0,
    "The state does not grow: it is the same for every length.": lambda c, n, w: n * c.state_bytes,
    "state_bytes is in bytes already: do not multiply it by bytes_per_number.": lambda c, n, w: (
        w * c.state_bytes
    ),
    "A linear layer has a state, but no keys and values of each token.": lambda c, n, w: (
        2 * n * c.num_key_value_heads * c.head_dim * w
    ),
    "The state is there from the start, also for 0 tokens.": lambda c, n, w: (
        c.state_bytes if n else 0
    ),
}


def cache_slips(n_slips: int) -> Slips:
    """The bytes after this many slips at once, in different kinds of layer or factors."""

    def slips(
        config: ModelConfig, n_tokens: int, batch_size: int = 1, bytes_per_number: float = 2
    ) -> dict[str, float]:
        parts = _parts(config, n_tokens, bytes_per_number)
        wrong = list(_wrong_parts(config, n_tokens, batch_size, bytes_per_number))
        found = {}
        for some in combinations(wrong, n_slips):
            if len({kind for kind, _, _ in some}) == n_slips:
                changed = dict(parts) | {"batch": batch_size, "width": 1}
                changed |= {kind: value for kind, _, value in some}
                batch, width = changed.pop("batch"), changed.pop("width")
                kept = changed.pop("linear")
                text = " ".join(sentence for _, sentence, _ in some)
                found[text] = batch * (sum(changed.values()) * width + kept)
        return found

    return slips


def _parts(c: ModelConfig, n: int, width: float) -> dict[str, float]:
    """The right bytes of one sequence by kind of layer."""
    count = {kind: c.layer_types.count(f"{kind}_attention") for kind in _KINDS}
    token = 2 * c.num_key_value_heads * c.head_dim * width
    return {
        "full": count["full"] * n * token,
        "sliding": count["sliding"] * min(n, c.sliding_window) * token,
        "latent": count["latent"] * n * (c.kv_lora_rank + c.qk_rope_head_dim) * width,
        "linear": count["linear"] * c.state_bytes,
    }


_KINDS = ("full", "sliding", "latent", "linear")


def _wrong_parts(
    c: ModelConfig, n: int, batch_size: int, width: float
) -> Iterator[tuple[str, str, float]]:
    """The kind of layer or the factor, the sentence, and the bytes that the mistake makes of it."""
    count = {kind: c.layer_types.count(f"{kind}_attention") for kind in _KINDS}
    if count["full"]:
        windowed = count["sliding"] * min(n, c.sliding_window)  # one line counts both kinds
        right = 2 * windowed * c.num_key_value_heads * c.head_dim
        for text, numbers in FULL_SLIPS.items():
            yield "full", text, (numbers(c, count["full"] * n + windowed) - right) * width
        one = "That is one layer: each layer stores its own keys and values."
        yield "full", one, 2 * n * c.num_key_value_heads * c.head_dim * width
        square = "It grows with the square of n_tokens, but each token adds the same bytes."
        yield "full", square, count["full"] * 2 * n * n * c.num_key_value_heads * c.head_dim * width
    if count["sliding"]:
        token = 2 * c.num_key_value_heads * c.head_dim * width
        for text, kept in WINDOW_SLIPS.items():
            yield "sliding", text, count["sliding"] * kept(n, c.sliding_window) * token
    if count["latent"]:
        for text, numbers in LATENT_SLIPS.items():
            yield "latent", text, count["latent"] * n * numbers(c) * width
    if count["linear"]:
        for text, kept in STATE_SLIPS.items():
            yield "linear", text, count["linear"] * kept(c, n, width)
    yield "batch", "batch_size was not used: each sequence has a cache.", 1
    yield "batch", "It was multiplied by batch_size twice.", batch_size**2
    yield "width", "bytes_per_number was not used: 2 bytes were taken.", 2 / width
    yield "width", "Numbers were counted: multiply by bytes_per_number.", 1 / width
    yield "width", "Bits were taken for bytes: 16 bits are 2 bytes.", 8
    yield "width", "It was divided by 8, but bytes_per_number is in bytes already.", 1 / 8
    if 0 < width < 1:
        yield "width", "bytes_per_number was rounded down to 0. It may be 0.5.", 0


kv_cache_bytes = CallTable(
    "kv_cache_bytes",
    "the bytes of the cache",
    [
        Claim(
            "full_layers_store_a_key_and_a_value_per_kv_head",
            "A full layer stores keys and values once per KV head, head_dim numbers each.",
            hint="Multiply by num_key_value_heads and head_dim, not by query heads or hidden_size.",
            weight=2,
            rows=[
                call(plain(), 10).gives(1_440),
                call(plain(num_attention_heads=2), 1).gives(144),
                call(plain(num_key_value_heads=4), 10).gives(2_880),
                call(plain(), 0).gives(0),
            ],
        ),
        Claim(
            "a_window_keeps_its_last_tokens",
            "A layer with a window stores at most sliding_window tokens.",
            hint="Count min(n_tokens, config.sliding_window) tokens in such a layer.",
            of=lambda f, config, n: f(config, n) / f(config, 1),
            what="the bytes of many tokens, divided by those of one",
            rows=[
                call(layered("sliding", "sliding"), 10).gives(10),
                call(layered("sliding", "sliding"), 100).gives(16),
            ],
            slips=lambda config, n: {
                text: kept(n, config.sliding_window) / kept(1, config.sliding_window)
                for text, kept in WINDOW_SLIPS.items()
                if kept(1, config.sliding_window)
            },
        ),
        Claim(
            "a_latent_is_one_vector_per_token",
            "A latent layer stores kv_lora_rank + qk_rope_head_dim numbers per token.",
            hint="Do not multiply by 2, by heads or by head_dim in such a layer.",
            rows=[
                call(layered("latent", "latent"), 10).gives(560),
                call(layered("latent"), 3).gives(84),
            ],
        ),
        Claim(
            "a_linear_layer_keeps_one_state",
            "A linear layer takes state_bytes for each sequence, whatever its length.",
            hint="Add config.state_bytes once per linear layer, without bytes_per_number.",
            rows=[
                call(layered("linear", "linear"), 10).gives(2_000),
                call(layered("linear"), 0).gives(1_000),
                call(layered("linear"), 10, bytes_per_number=1).gives(1_000),
            ],
        ),
        Claim(
            "each_layer_counts_by_its_own_kind",
            "In a model with several kinds of layer, each layer counts by its own kind.",
            hint="Go through config.layer_types, and add the bytes of each layer.",
            rows=[
                call(layered("sliding", "full", "full"), 100).gives(10_368),
                call(layered("linear", "full"), 10).gives(1_480),
            ],
        ),
        Claim(
            "every_sequence_has_its_own",
            "Each sequence of the batch has its own cache, also its own states.",
            hint="Multiply everything by batch_size once.",
            of=lambda f, config, n, batch_size, **width: (
                f(config, n, batch_size=batch_size, **width) / f(config, n, **width)
            ),
            what="the bytes of a batch, divided by those of one sequence",
            rows=[
                call(plain(), 10, batch_size=3).gives(3),
                call(layered("linear"), 10, batch_size=5).gives(5),
                call(layered("sliding"), 100, batch_size=2).gives(2),
            ],
            slips=lambda config, n, batch_size, **width: {
                "batch_size was not used: each sequence has a cache.": 1,
                "It was multiplied by batch_size twice.": batch_size**2,
            },
        ),
        Claim(
            "numbers_may_be_wider_or_narrower",
            "The function uses bytes_per_number, which may also be 4, 1 or 0.5.",
            hint="Multiply numbers by bytes_per_number. Do not use // with it.",
            of=lambda f, *sizes, bytes_per_number: (
                f(*sizes, bytes_per_number=bytes_per_number) / f(*sizes)
            ),
            what="the bytes at this width, divided by those at 2 bytes per number",
            rows=[
                call(plain(), 10, bytes_per_number=1).gives(0.5),
                call(plain(), 10, bytes_per_number=0.5).gives(0.25),
            ],
            slips=lambda *sizes, bytes_per_number: {
                "bytes_per_number was not used: 2 bytes were taken.": 1,
                "bytes_per_number was rounded down to 0. It may be 0.5.": int(bytes_per_number) / 2,
            },
        ),
    ],
    slips=[cache_slips(1), cache_slips(2)],  # single slips come before pairs
)
