"""The kit's trained model speaks through a student's arena, also with three classic bugs."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labkit.models.cached import cache_that_calls, forward
from labkit.models.transformer import LayerCache

BUGS = {
    "": "no bug",
    "rows": "the mask has the first rows, not the last ones",
    "offset": "each step begins at position 0",
    "layer": "each layer reads the cache of the layer before it",
}


@torch.inference_mode()
def speak(
    loaded: Any, arena_cache: Callable[..., Any], text: str, n_new: int, bug: str = ""
) -> str:
    """The most likely n_new tokens after a text, with keys and values in an arena; bug: of `BUGS`.

    loaded: a model of `labkit.zoo` with a tokenizer. Its keys are rotated by their positions before
    they are cached.
    """
    config = loaded.model.config
    sizes = (config.num_hidden_layers, 1, config.num_key_value_heads, config.head_dim)
    fed = loaded.tokenizer(text, return_tensors="pt").input_ids.to(loaded.model.device)
    arena = arena_cache(*sizes, fed.shape[1] + n_new, device=fed.device)

    def update(keys: Tensor, values: Tensor, layer: int) -> LayerCache:
        own = arena.append(layer, keys, values)
        if bug == "layer" and layer:
            n_tokens = own[0].shape[2]
            return tuple(part[layer - 1, :, :, :n_tokens] for part in (arena.keys, arena.values))
        return own

    past, made = cache_that_calls(update), []
    for _ in range(n_new):
        n_past, n_fed = arena.length, fed.shape[1]
        start = 0 if bug == "offset" else n_past
        logits = forward(
            loaded.model,
            fed,
            past,
            attention_mask=_mask(n_past, n_fed, bug == "rows", fed.device),
            position_ids=torch.arange(start, start + n_fed, device=fed.device)[None],
        ).logits
        fed = logits[:, -1:].argmax(dim=-1)
        made.append(int(fed))
    return loaded.tokenizer.decode(made)


def _mask(n_past: int, n_fed: int, has_first_rows: bool, device: torch.device) -> Tensor:
    """What is added to the scores (1 1 Q S): 0 where a query sees a key."""
    rows = torch.arange(n_fed, device=device) + (0 if has_first_rows else n_past)
    hidden = torch.arange(n_past + n_fed, device=device) > rows[:, None]
    return torch.zeros(hidden.shape, device=device).masked_fill(hidden, -1e9)[None, None]
