"""Generation step by step, on any device: the lean loops, without graphs.

The last token of the text is in no cache: it is fed with the next step. On a GPU each step waits
for its token here; `captured` does without that.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labkit.engine.decoder import Decoder, check_pair
from labkit.engine.profiler import Profile, Stopwatch
from labkit.engine.sampling import Warp, accept, draw
from labkit.models.sampling import Block


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
    n_prompt = len(text)
    for _number in range(n_new):
        text.append(_drawn(warp(_fed(target, text[-1:]))))
        if eos in text[-1:]:
            break
    return text[n_prompt:]


@torch.inference_mode()
def speculative(
    target: Decoder,
    draft: Decoder,
    prompt: Sequence[int],
    n_new: int,
    gamma: int | Callable[[], int],
    warp: Warp,
    eos: int | None = None,
    records: list[Block] | None = None,
    profile: Profile | None = None,
) -> list[int]:
    """As `autoregressive`, by the same law: the draft proposes, the target verifies in one step.

    gamma: a number, or a function that is asked for one before each block, such as a policy of
    `labkit.labs.speculative.speculation.adaptive`. records: gets every block. profile: gets the
    times of its parts. Raises: ValueError as there, for gamma below 1, and for models of different
    vocabularies.
    """
    check_pair(target, draft, 1 if callable(gamma) else gamma)
    watch = Stopwatch(profile, target.weights.device)
    text = _begin([target, draft], prompt, n_new)
    n_prompt, n_most = len(text), len(text) + n_new
    n_in_draft = n_prompt - 1  # tokens that the draft has in its cache
    while len(text) < n_most:
        watch.begin()
        lacked, rows, drafted = text[n_in_draft:], [], []
        n_wanted = gamma() if callable(gamma) else gamma
        for _ in range(min(n_wanted, n_most - len(text) - 1)):
            rows.append(warp(_fed(draft, drafted[-1:] or lacked)))
            drafted.append(_drawn(rows[-1]))
        watch.mark("draft")
        verified = warp(_fed(target, [*text[-1:], *drafted], len(drafted) + 1))
        watch.mark("verify")
        n_kept, after = _verdict(drafted, rows, verified)
        watch.mark("accept")
        if records is not None:
            records.append(Block(len(drafted), n_kept, len(text)))
        if drafted:
            n_in_draft = len(text) + min(n_kept, len(drafted) - 1)
        text += [*drafted[:n_kept], after]
        target.arena.rewind(len(text) - 1)
        draft.arena.rewind(n_in_draft)
        watch.mark("cache")
        watch.end(len(drafted), n_kept)
        if eos in text[-n_kept - 1 :]:
            return text[n_prompt : text.index(eos, len(text) - n_kept - 1) + 1]
    return text[n_prompt:]


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
    return _known(draw(logits))


def _verdict(drafted: list[int], rows: list[Tensor], verified: Tensor) -> tuple[int, int]:
    if not drafted:
        return 0, _drawn(verified)
    n_kept, after = accept(torch.tensor(drafted, device=verified.device), torch.cat(rows), verified)
    return int(n_kept), _known(after, "target")


def _known(token: Tensor, model: str = "model") -> int:
    if token < 0:
        raise ValueError(f"the {model} gives logits that are not numbers; look at its weights")
    return int(token)
