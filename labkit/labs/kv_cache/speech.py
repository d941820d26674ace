"""The kit's trained model speaks through a student's store, also with three classic bugs."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labkit.models.transformer import Seen, causal_mask, masked_attention

BUGS = {
    "": "no bug",
    "rows": "the mask has the first rows, not the last ones",
    "offset": "each step begins at position 0",
    "layer": "each layer reads the cache of the layer before it",
}


@torch.inference_mode()
def speak(loaded: Any, make_store: Callable[..., Any], text: str, n_new: int, bug: str = "") -> str:
    """The most likely n_new tokens after a text, with keys and values in a store; bug: of `BUGS`.

    loaded: a Qwen3 model of `labkit.zoo` with a tokenizer. `make_store(sizes, n_tokens, device)`
    makes a store with `append` and `length` for at most n_tokens tokens; sizes: (layers, batch, KV
    heads, head_dim).
    """
    config, device = loaded.model.config, loaded.model.device
    sizes = (config.num_hidden_layers, 1, config.num_key_value_heads, config.head_dim)
    fed = loaded.tokenizer(text, return_tensors="pt").input_ids.to(device)
    store, made = make_store(sizes, fed.shape[1] + n_new, device), []
    for _ in range(n_new):
        fed = _step(loaded.model, fed, store, bug)[:, -1:].argmax(dim=-1)
        made.append(int(fed))
    return loaded.tokenizer.decode(made)


def _step(model: Any, tokens: Tensor, store: Any, bug: str) -> Tensor:
    """The logits (1 T V) of new tokens (1 T): as `forward_cached`, with the parts of Qwen3."""
    decoder, start = model.base_model, 0 if bug == "offset" else store.length
    positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
    x, before = decoder.embed_tokens(tokens), None
    cos, sin = (part[:, None] for part in decoder.rotary_emb(x, positions[None]))

    def rotated(heads: Tensor) -> Tensor:
        a, b = heads.chunk(2, dim=-1)
        return heads * cos + torch.cat([-b, a], dim=-1) * sin

    for i, layer in enumerate(decoder.layers):
        part, normed = layer.self_attn, layer.input_layernorm(x)
        queries, keys, values = (
            project(normed).unflatten(-1, (-1, part.head_dim)).transpose(1, 2)
            for project in (part.q_proj, part.k_proj, part.v_proj)
        )
        queries, keys = part.q_norm(queries), part.k_norm(keys)
        own = store.append(i, rotated(keys), values)
        seen = before if bug == "layer" and before is not None else own
        attended = masked_attention(rotated(queries), *_with_bug(seen, bug))
        x = x + part.o_proj(attended.transpose(1, 2).flatten(2))
        x, before = x + layer.mlp(layer.post_attention_layernorm(x)), own
    return model.get_output_embeddings()(decoder.norm(x))


def _with_bug(seen: Seen, bug: str) -> Seen:
    """What `append` returned; with the bug "rows", the mask has the first rows."""
    keys, values, mask = seen
    if bug == "rows":
        mask = causal_mask(keys.shape[2], keys.device)[: len(mask)]
    return keys, values, mask
