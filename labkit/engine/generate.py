"""Generation step by step, on any device: the lean loops, without graphs.

The last token of the text is in no cache: it is fed with the next step. On a GPU each step waits
for its token here; `captured` does without that.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from labkit.engine.decoder import Decoder
from labkit.engine.sampling import Warp, accept, draw


@torch.inference_mode()
def autoregressive(
    target: Decoder, prompt: Sequence[int], n_new: int, warp: Warp, eos: int | None = None
) -> list[int]:
    """The new tokens, up to n_new of them or to the end-of-text token, which is among them.

    What the arena held is forgotten.
    Raises: ValueError for a prompt without tokens, or one for which there is no room; for logits
    that are not numbers.
    """
    text = _begin([target], prompt, n_new)
    while len(text) < len(prompt) + n_new:
        text.append(_drawn(warp(_fed(target, text[-1:]))))
        if text[-1] == eos:
            break
    return text[len(prompt) :]


@torch.inference_mode()
def speculative(
    target: Decoder,
    draft: Decoder,
    prompt: Sequence[int],
    n_new: int,
    gamma: int,
    warp: Warp,
    eos: int | None = None,
    blocks: list[tuple[int, int]] | None = None,
) -> list[int]:
    """As `autoregressive`, by the same law: the draft proposes, the target verifies in one step.

    blocks: gets, for each block, how many tokens were drafted and how many of them kept.
    Raises: ValueError as there, for gamma below 1, and for models of different vocabularies.
    """
    if gamma < 1:
        raise ValueError(f"wanted at least 1 drafted token in a block, got gamma = {gamma}")
    if target.shape.vocab_size != draft.shape.vocab_size:
        raise ValueError(
            f"the target has {target.shape.vocab_size:,} tokens and the draft "
            f"{draft.shape.vocab_size:,}; wanted a pair with one vocabulary"
        )
    text = _begin([target, draft], prompt, n_new)
    end = len(prompt) + n_new
    n_in_draft = len(text) - 1  # tokens that the draft has in its cache
    while len(text) < end:
        lacked, rows, drafted = text[n_in_draft:], [], []
        for _ in range(min(gamma, end - len(text) - 1)):
            rows.append(warp(_fed(draft, drafted[-1:] or lacked)))
            drafted.append(_drawn(rows[-1]))
        verified = warp(_fed(target, [*text[-1:], *drafted], len(drafted) + 1))
        n_kept, after = _verdict(drafted, rows, verified)
        if blocks is not None:
            blocks.append((len(drafted), n_kept))
        if drafted:
            n_in_draft = len(text) + min(n_kept, len(drafted) - 1)
        text += [*drafted[:n_kept], after]
        target.arena.rewind(len(text) - 1)
        draft.arena.rewind(n_in_draft)
        if eos in text[-n_kept - 1 :]:
            return text[len(prompt) : text.index(eos, len(text) - n_kept - 1) + 1]
    return text[len(prompt) :]


def _begin(decoders: Sequence[Decoder], prompt: Sequence[int], n_new: int) -> list[int]:
    """Fill empty arenas with all of the prompt but its last token; returns the text so far."""
    if not len(prompt) or n_new < 0:
        raise ValueError(
            f"wanted a prompt and 0 or more new tokens, got {len(prompt)} tokens and {n_new} new"
        )
    for decoder in decoders:
        if len(prompt) + n_new > decoder.arena.n_positions:
            raise ValueError(
                f"{len(prompt)} tokens and {n_new} new ones do not fit into an arena of "
                f"{decoder.arena.n_positions} positions; make the decoder with more"
            )
    for decoder in decoders:
        decoder.arena.rewind(0)
        if len(prompt) > 1:
            _fed(decoder, prompt[:-1])
    return list(prompt)


def _fed(decoder: Decoder, tokens: Sequence[int], n_rows: int = 1) -> Tensor:
    """The logits (n_rows V) after the last of these tokens, which are in the arena then."""
    place = decoder.weights.device
    logits = decoder.forward(torch.tensor([list(tokens)], device=place))[0, -n_rows:]
    decoder.arena.lengths.add_(len(tokens))
    return logits


def _drawn(logits: Tensor) -> int:
    token = draw(logits)
    if not logits[0, token].isfinite().item():
        raise ValueError("the model gives logits that are not numbers; look at its weights")
    return int(token)


def _verdict(drafted: list[int], rows: list[Tensor], verified: Tensor) -> tuple[int, int]:
    if not drafted:
        return 0, _drawn(verified)
    if verified.isnan().any():
        raise ValueError("the target gives logits that are not numbers; look at its weights")
    n_kept, after = accept(torch.tensor(drafted, device=verified.device), torch.cat(rows), verified)
    return int(n_kept), int(after)
