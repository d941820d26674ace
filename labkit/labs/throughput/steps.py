"""A pass of a real architecture, to count what it launches and to time it: whole, thin, as a graph.

A thin model has the same layers with a width of 16. It dispatches the same operations, and moves
and computes next to nothing. So its time is what dispatching costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from labkit.models.cached import forward, layers_of, new_cache
from labkit.models.tiny import facts_of
from labkit.zoo.shape import build

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WIDTH, HEADS, VOCABULARY = 16, 2, 64  # of a thin model
# They give another shape to the same numbers, and launch nothing.
VIEWS = frozenset(
    "view _unsafe_view t transpose permute unsqueeze squeeze expand slice select narrow split "
    "split_with_sizes as_strided alias detach lift_fresh".split()
)


def launched(counts: Mapping[str, int]) -> tuple[int, int]:
    """How many of the operations compute or copy something, and how many only make views."""
    n_views = sum(n for name, n in counts.items() if name.split(".")[-2] in VIEWS)
    return sum(counts.values()) - n_views, n_views


def thin_model(
    name: str, n_layers: int | None = None, device: str = "cpu", dtype: str = "float32"
) -> PreTrainedModel:
    """A model of the fact table with a width of 16, all its layers or n_layers, random weights."""
    facts = facts_of(name)
    shares_heads = facts["num_key_value_heads"] != facts["num_attention_heads"]
    return build(
        name,
        device,
        getattr(torch, dtype),
        num_hidden_layers=n_layers or facts["num_hidden_layers"],
        hidden_size=WIDTH,
        intermediate_size=WIDTH,
        num_attention_heads=HEADS,
        num_key_value_heads=1 if shares_heads else HEADS,
        head_dim=WIDTH // HEADS,
        vocab_size=VOCABULARY,
    )


def pass_of(
    model: Any, batch_size: int = 1, n_fed: int = 1, n_cached: int = 64
) -> Callable[[], Any]:
    """A function that feeds n_fed tokens to each sequence of a batch, after n_cached, always anew.

    With n_cached = 0 it is a prefill without a cache. It gives logits of the last token.
    """
    vocab_size, device = model.config.vocab_size, model.device
    rng = torch.Generator("cpu").manual_seed(0)
    tokens = torch.randint(vocab_size, (batch_size, n_cached + n_fed), generator=rng).to(device)
    if not n_cached:
        return lambda: _without_cache(model, tokens)
    past = new_cache()
    with torch.no_grad():
        forward(model, tokens[:, :n_cached], past, logits_to_keep=1)
    before, fed = layers_of(past), tokens[:, n_cached:]

    @torch.no_grad()
    def run() -> Any:
        for layer, (keys, values) in zip(past.layers, before, strict=True):
            layer.keys, layer.values = keys, values
        return forward(model, fed, past, logits_to_keep=1).logits

    return run


@torch.no_grad()
def _without_cache(model: Any, tokens: torch.Tensor) -> Any:
    return model(tokens, use_cache=False, logits_to_keep=1).logits
