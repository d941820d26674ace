"""All that the kit asks of the transformers library's KV caches: to make, use, read and cut one.

The library renames arguments from version to version. What depends on its version stands here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    Pair = tuple[Tensor, Tensor]  # keys and values of a layer, each (B Hkv T D)


def forward(model: Any, tokens: Tensor, past: Any, **settings: Any) -> Any:
    """One pass of a model over tokens (B T); their keys and values join `past`, unless it is None.

    settings: further arguments of the model's own call, such as `position_ids`.
    """
    word = _word_for_a_cache(type(model))
    return model(tokens, use_cache=past is not None, **{word: past}, **settings)


@cache
def _word_for_a_cache(kind: type) -> str:
    """What models of a class call that argument: since transformers 5.24, "cache"."""
    return "cache" if "cache" in inspect.signature(kind.forward).parameters else "past_key_values"


def new_cache(layers: Iterable[Pair] = (), config: Any = None) -> Any:
    """A cache that holds these layers.

    It keeps all tokens, or with a model's config the tokens that the model needs.
    """
    from transformers import DynamicCache

    past = DynamicCache(config=config)
    for i, (keys, values) in enumerate(layers):
        past.update(keys, values, i)
    return past


def cache_that_calls(update: Callable[[Tensor, Tensor, int], Pair]) -> Any:
    """A cache that keeps nothing: attention reads what update(keys, values, layer) returns."""
    past = new_cache()
    past.update = lambda keys, values, layer, *_, **__: update(keys, values, layer)
    return past


def layers_of(past: Any) -> list[Pair]:
    """Keys and values of each layer of a cache; no copies."""
    return [(layer.keys, layer.values) for layer in past.layers]


def as_if_eager(run: Callable[[], Any]) -> Callable[[], Any]:
    """The run with the masks that it has outside of the capture of a CUDA graph.

    While one is captured, transformers before 5.24 gives attention a mask that hides nothing, and
    so a slower kernel. The run has no padding and no packed sequences.
    """

    def with_its_masks() -> Any:
        from transformers import masking_utils

        own = {"is_tracing": lambda *_: False, "find_packed_sequence_indices": lambda *_: None}
        before = {name: getattr(masking_utils, name, None) for name in own}
        try:
            vars(masking_utils).update(own)
            return run()
        finally:
            vars(masking_utils).update(before)

    return with_its_masks


def cut(past: Any, kept: slice | torch.Tensor) -> None:
    """Keep these tokens alone, in every layer; a slice makes views and copies nothing."""
    for layer in past.layers:
        layer.keys, layer.values = layer.keys[:, :, kept], layer.values[:, :, kept]
