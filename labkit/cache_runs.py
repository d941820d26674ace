"""What lab 3's experiments share: text as tokens, and generations timed at several lengths."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from labkit import zoo
from labkit.device import synchronize


def tokenize(model: zoo.LoadedModel, text: str) -> Tensor:
    """Text as tokens (1 S); for a model without a tokenizer, as the tiny pair's cuts it."""
    from labkit.zoo.choose import kit_tokenizer

    tokenizer = model.tokenizer or kit_tokenizer("tiny-target")
    return torch.tensor([tokenizer(text, verbose=False)["input_ids"]], device=model.device)


@torch.inference_mode()
def times_at(
    model: zoo.LoadedModel, tokens: Tensor, lengths: Sequence[int], use_cache: bool, budget_s: float
) -> list[float]:
    """Seconds from the start of a greedy generation until it has each of these lengths.

    Stops early where reaching the next length, at the present rate, would exceed the budget.
    """
    past, fed, times_s = None, tokens, []
    synchronize()
    start_s = time.perf_counter()
    for n_made in range(1, max(lengths, default=0) + 1):
        out = model.model(fed, past_key_values=past, use_cache=use_cache, logits_to_keep=1)
        new = out.logits[:, -1:].argmax(dim=-1)
        past = out.past_key_values if use_cache else None
        fed = new if use_cache else torch.cat([fed, new], dim=1)
        if n_made in lengths:
            synchronize()
            times_s.append(time.perf_counter() - start_s)
            longer = [n for n in lengths if n > n_made]
            if longer and times_s[-1] * longer[0] / n_made > budget_s:
                break
    return times_s
