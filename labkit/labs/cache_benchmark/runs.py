"""What lab 3's experiments share: text as tokens, and generations timed at several lengths."""

import math
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from labkit import zoo
from labkit.measuring.device import synchronize
from labkit.models.cached import forward, new_cache


def tokenize(text: str) -> list[int]:
    """Text as tokens, as the tiny pair's tokenizer cuts it: random weights have none."""
    return _tokenizer()(text, verbose=False)["input_ids"]


@cache
def _tokenizer() -> Any:
    from labkit.zoo.choose import kit_tokenizer

    return kit_tokenizer("tiny-target")


@torch.inference_mode()
def times_at(
    model: zoo.LoadedModel,
    tokens: Tensor,
    lengths: Sequence[int],
    use_cache: bool,
    longest_s: float = math.inf,
) -> Iterator[float]:
    """Seconds from the start of a greedy generation until it has each of these lengths, rising.

    Ends early where reaching the next length, at the present rate, would take over longest_s.
    """
    past = new_cache(config=model.model.config) if use_cache else None
    fed = tokens
    n_made, time_s = 0, 0.0
    synchronize()
    start_s = time.perf_counter()
    for n_new in lengths:
        if n_made and time_s * n_new / n_made > longest_s:
            break
        while n_made < n_new:
            logits = forward(model.model, fed, past, logits_to_keep=1).logits
            new = logits[:, -1:].argmax(dim=-1)
            fed = new if use_cache else torch.cat([fed, new], dim=1)
            n_made += 1
        synchronize()
        time_s = time.perf_counter() - start_s
        yield time_s
