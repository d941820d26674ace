"""The kit's trained model in the parts that `forward_cached` calls, and three classic bugs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from labkit.models.transformer import Seen, causal_mask

BUGS = {
    "": "no bug",
    "rows": "the mask has the first rows, not the last ones",
    "offset": "each step begins at position 0",
    "layer": "each layer reads the cache of the layer before it",
}


class QwenParts:
    """A Qwen3 model as `Transformer` offers itself: `embed`, `blocks`, `unembed`.

    blocks: a layer each, with `project(x)` and `merge(x, attended)`. sizes: (layers, batch of 1, KV
    heads, head_dim), as the stores take them. Keys and queries are not rotated yet.
    """

    def __init__(self, model: Any) -> None:
        config = model.config
        self.model, self.decoder = model, model.base_model
        self.blocks: Sequence[_Block] = [_Block(layer) for layer in self.decoder.layers]
        self.sizes = (config.num_hidden_layers, 1, config.num_key_value_heads, config.head_dim)

    @torch.no_grad()
    def embed(self, tokens: Tensor) -> Tensor:
        """Hidden states (B Q d_model) of tokens (B Q)."""
        return self.decoder.embed_tokens(tokens)

    @torch.no_grad()
    def unembed(self, x: Tensor) -> Tensor:
        """Logits (B Q V) of hidden states (B Q d_model)."""
        return self.model.get_output_embeddings()(self.decoder.norm(x))


class _Block:
    """A layer of Qwen3, which normalises each head of queries and keys."""

    def __init__(self, layer: Any) -> None:
        self.layer, self.attention = layer, layer.self_attn

    @torch.no_grad()
    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B H Q D), and keys and values (B Hkv Q D), of hidden states (B Q d_model)."""
        part, normed = self.attention, self.layer.input_layernorm(x)
        queries, keys, values = (
            project(normed).unflatten(-1, (-1, part.head_dim)).transpose(1, 2)
            for project in (part.q_proj, part.k_proj, part.v_proj)
        )
        return part.q_norm(queries), part.k_norm(keys), values

    @torch.no_grad()
    def merge(self, x: Tensor, attended: Tensor) -> Tensor:
        """The hidden states after what was attended (B H Q D) and after the MLP."""
        x = x + self.attention.o_proj(attended.transpose(1, 2).flatten(2))
        return x + self.layer.mlp(self.layer.post_attention_layernorm(x))


class WithBug:
    """A store whose user makes one of the mistakes in `BUGS`."""

    def __init__(self, store: Any, bug: str) -> None:
        self.store, self.bug = store, bug
        self.before: Seen | None = None

    @property
    def length(self) -> int:
        """The position of the next token, as the model takes it."""
        return 0 if self.bug == "offset" else self.store.length

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """As the store's own; what comes back has the bug."""
        own = self.store.append(layer, keys, values)
        seen = self.before if self.bug == "layer" and layer else own
        self.before = own
        if self.bug == "rows":
            keys, values, mask = own
            seen = keys, values, causal_mask(keys.shape[2], keys.device)[: len(mask)]
        return seen
