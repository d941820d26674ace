"""Checks of `n_params`: each claim is about some fields, so that one slip fails one claim."""

from collections.abc import Iterator, Sequence
from typing import Any

from labkit.checks.tables import CallTable, Claim, Made, call, made
from labkit.models.configs import ModelConfig

SMALL = {  # heads that are together wider than the model, and an odd vocabulary
    "num_hidden_layers": 3,
    "hidden_size": 20,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "vocab_size": 101,
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 12}


def small(**changes: Any) -> Made:
    """A small config with these changes, as a student would write it."""
    return made(ModelConfig, **(SMALL | changes))


def counting_slips(config: ModelConfig, *, right: Sequence[int]) -> dict[str, Any]:
    """All parameters and the used ones by known mistakes, from what is right."""
    total, used = right
    found: dict[str, Any] = {text: [total + n, used + n] for text, n in _same_in_both(config) if n}
    found |= {
        "That is one number. Return two: (all, used).": total,
        "Those are billions: return parameters.": [total / 1e9, used / 1e9],
        "A token uses the embedding too: count it in both numbers.": [
            total, used - config.vocab_size * config.hidden_size],
        "The second number has what a token does not use.": [total, total - used],
    }  # fmt: skip
    c, n_moe = config, _n_moe(config)
    if n_moe:
        expert = 3 * c.moe_intermediate_size * c.hidden_size
        wide = 3 * c.hidden_size * c.intermediate_size - expert
        routed = n_moe * expert * (c.num_experts - c.num_experts_per_tok)
        n_shared = c.n_shared_experts
        counted = c.num_experts + n_shared, c.num_experts_per_tok + n_shared
        found |= {
            "The second number counts all experts. A token uses num_experts_per_tok of them.": [
                total, total],
            "The first number counts the experts of one token. All experts are stored.": [
                used, used],
            "The two numbers are swapped: return (all, used).": [used, total],
            "One expert was counted as used. A token uses num_experts_per_tok of them.": [
                total, used - n_moe * expert * (c.num_experts_per_tok - 1)],
            "The router was counted by the used experts. A token uses all of its rows.": [
                total, used - n_moe * c.hidden_size * (c.num_experts - c.num_experts_per_tok)],
            "The router is missing from the used ones. Every token uses it.": [
                total, used - n_moe * c.hidden_size * c.num_experts],
            "An expert was counted with intermediate_size. Its width is moe_intermediate_size.": [
                n + n_moe * wide * k for n, k in zip(right, counted, strict=True)],
            "The experts of one layer were counted.": [
                n - (n_moe - 1) * expert * k for n, k in zip(right, counted, strict=True)],
        }  # fmt: skip
        if n_shared:
            found["num_experts_per_tok does not include the shared experts. Add them."] = [
                total, used - n_moe * expert * n_shared]  # fmt: skip
        if c.first_k_dense_replace:
            each = c.num_experts * c.hidden_size - 3 * c.hidden_size * c.intermediate_size
            found["The first first_k_dense_replace layers have the dense MLP, and no experts."] = [
                n + c.first_k_dense_replace * (each + expert * k)
                for n, k in zip(right, counted, strict=True)
            ]
        if routed == 0:
            found = {}
    return found


def _n_moe(c: ModelConfig) -> int:
    return c.num_hidden_layers - c.first_k_dense_replace if c.num_experts else 0


def _same_in_both(c: ModelConfig) -> Iterator[tuple[str, int]]:
    """Mistakes, and how many parameters each adds to both numbers."""
    layers, d, heads, shared = (
        c.num_hidden_layers, c.hidden_size, c.num_attention_heads, c.num_key_value_heads,
    )  # fmt: skip
    table, n_moe = c.vocab_size * d, _n_moe(c)
    projections = 2 * (heads + shared) * d
    if c.tie_word_embeddings:
        yield "The head was counted, but tie_word_embeddings says that it is the embedding.", table
    else:
        yield "The output head is missing: without tie_word_embeddings it has its own.", -table
    slim = d // heads - c.head_dim
    biases = (heads + 2 * shared) * slim if c.attention_bias else 0
    norms = 2 * slim if c.qk_norm else 0
    yield (
        "hidden_size / num_attention_heads was taken for the width of a head. Use head_dim.",
        layers * (projections * slim + biases + norms),
    )
    more = 2 * (heads - shared) * c.head_dim
    yield (
        "Keys and values were counted for every query head. Use num_key_value_heads.",
        layers * more * (d + (1 if c.attention_bias else 0)),
    )
    yield "The output projection is missing.", -layers * heads * c.head_dim * d
    yield "The last norm is missing, the one after all layers.", -d
    yield (
        "The norms are missing: each layer has two, and one follows all layers.",
        -(2 * layers + 1) * d,
    )
    yield "One norm per layer was counted. Each layer has two.", -layers * d
    if not n_moe:
        yield (
            "Two matrices were counted for an MLP. It has three: gate, up and down.",
            -layers * d * c.intermediate_size,
        )
        yield "One layer was counted: multiply by num_hidden_layers.", -(layers - 1) * (
            d * c.head_dim * 2 * (heads + shared) + 3 * d * c.intermediate_size + 2 * d
            + ((heads + 2 * shared) * c.head_dim if c.attention_bias else 0)
            + (2 * c.head_dim if c.qk_norm else 0)
        )  # fmt: skip
    if c.qk_norm:
        yield "The norms of queries and keys are missing (qk_norm).", -2 * c.head_dim * layers
        yield (
            "Queries and keys have a norm each: two of head_dim numbers per layer.",
            -(c.head_dim * layers),
        )
        yield (
            "The norms of queries and keys were counted for each head. All heads share one.",
            (heads + shared - 2) * c.head_dim * layers,
        )
    if c.attention_bias is True:
        n_biases = (heads + 2 * shared) * c.head_dim * layers
        yield "The biases of queries, keys and values are missing (attention_bias).", -n_biases
        yield "The output projection has no bias. Count those of queries, keys, values.", d * layers
    if n_moe:
        yield (
            "The router is missing: one row of hidden_size per expert.",
            -(n_moe * c.num_experts * d),
        )
        yield (
            "A layer with experts was counted with the dense MLP too. It has experts instead.",
            n_moe * 3 * d * c.intermediate_size,
        )
    if n_moe and c.n_shared_experts:
        shared_expert = 3 * d * c.moe_intermediate_size
        yield "The shared experts are missing.", -n_moe * c.n_shared_experts * shared_expert
        yield (
            "The router has no rows for the shared experts.",
            n_moe * c.n_shared_experts * d,
        )
        yield (
            "One shared expert was counted. There are n_shared_experts.",
            -n_moe * (c.n_shared_experts - 1) * shared_expert,
        )


n_params = CallTable(
    "n_params",
    "the parameters, all and used",
    [
        Claim(
            "counts_every_matrix_of_a_dense_model",
            "Embedding, head, projections, MLPs and norms of a dense model are counted exactly.",
            hint="Write down the shape of each matrix of one layer, and multiply.",
            weight=2,
            rows=[call(small()).gives([17_140, 17_140])],
        ),
        Claim(
            "a_tied_head_counts_once",
            "A head that is the embedding is not counted again.",
            hint="Count vocab_size * hidden_size once if tie_word_embeddings, else twice.",
            rows=[call(small(tie_word_embeddings=True)).gives([15_120, 15_120])],
        ),
        Claim(
            "norms_of_heads_and_biases_count",
            "Norms of queries and keys count if qk_norm, and biases if attention_bias.",
            hint="Add 2 * head_dim per layer for the norms, one number per output for a bias.",
            rows=[
                call(small(qk_norm=True)).gives([17_176, 17_176]),
                call(small(attention_bias=True)).gives([17_284, 17_284]),
            ],
        ),
        Claim(
            "all_experts_are_stored_and_few_are_used",
            "All experts count in the first number, num_experts_per_tok of them in the second.",
            hint="Count a router and num_experts MLPs of width moe_intermediate_size per layer.",
            weight=2,
            rows=[call(small(**EXPERTS)).gives([26_260, 13_300])],
        ),
        Claim(
            "first_layers_are_dense_and_some_experts_are_shared",
            "The first layers may have a dense MLP, and every token uses the shared experts.",
            hint="Only num_hidden_layers - first_k_dense_replace layers have experts.",
            rows=[
                call(small(**EXPERTS, first_k_dense_replace=1)).gives([23_220, 14_580]),
                call(small(**EXPERTS, n_shared_experts=2)).gives([30_580, 17_620]),
            ],
        ),
        Claim(
            "refuses_layers_with_other_projections",
            "With a latent or linear layer, the function raises ValueError.",
            hint="Look at config.layer_types first.",
            what="a config with a layer of another kind",
            weight=0.5,
            gate=False,
            rows=[
                call(
                    small(
                        layer_types=["full_attention", "full_attention", "latent_attention"],
                        kv_lora_rank=10,
                        qk_rope_head_dim=2,
                    )
                ).gives(ValueError)
            ],
        ),
    ],
    slips=counting_slips,
    relative=0,
)
