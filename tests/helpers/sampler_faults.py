"""Speculative samplers with one fault each (right_samplers.py has right ones).

All run on `TableModel`, whose distributions come from its own cache, so that a wrong cache is a
wrong law. A sampler is `sampler(target, draft, prompt, n_new, gamma, eos) -> new tokens`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Verdict = tuple[int, list[int]]  # how many drafted tokens are kept, the tokens after them
Verify = Callable[[list[int], list[Tensor], Tensor], Verdict]


class TableModel:
    """A model whose next token depends on the last two tokens of its own cache.

    table: probabilities (V+1 V+1 V), by the token before the last and the last one; index V stands
    for none.
    """

    def __init__(self, table: Tensor) -> None:
        self.vocab_size = table.shape[-1]
        self.logits = table.log()
        self.cache: list[int] = []

    def n_cached(self) -> int:
        return len(self.cache)

    def feed(self, tokens: Sequence[int]) -> Tensor:
        if not len(tokens):
            raise ValueError("feed wants at least one token, got none")
        rows = []
        for token in tokens:
            self.cache.append(int(token))
            before, last = [self.vocab_size, *self.cache][-2:]
            rows.append(self.logits[before, last])
        return torch.stack(rows)

    def rewind(self, n_cached: int) -> None:
        if not 0 <= n_cached <= len(self.cache):
            raise ValueError(f"cannot rewind to {n_cached} of {len(self.cache)} cached tokens")
        del self.cache[n_cached:]


def random_table(vocab_size: int, seed: int, least: float = 0.04) -> Tensor:
    """Distributions for every context, all entries at least `least`."""
    rng = torch.Generator().manual_seed(seed)
    shape = (vocab_size + 1, vocab_size + 1, vocab_size)
    raw = torch.rand(shape, generator=rng, dtype=torch.float64) ** 2
    return least + (1 - vocab_size * least) * raw / raw.sum(-1, keepdim=True)


def cut_at(new: list[int], eos: int | None, n_block: int) -> list[int] | None:
    """The finished text, up to the first end-of-text; None while there is none."""
    return new[: new.index(eos) + 1] if eos in new else None


def draw(probs: Tensor) -> int:
    return int(torch.multinomial(probs, 1))


def residual(target: Tensor, draft: Tensor) -> Tensor:
    left = (target - draft).clamp(min=0)
    return left / left.sum() if left.sum() > 0 else target


def is_kept(token: int, target: Tensor, draft: Tensor) -> bool:
    return bool(torch.rand(()) < target[token] / draft[token])


def verify(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
    return verify_with()(drafted, draft, target)


def verify_with(
    keep: Callable[[int, Tensor, Tensor], bool] = is_kept,
    replace_by: Callable[[Tensor, Tensor], int] = lambda p, q: draw(residual(p, q)),
    bonus: Callable[[Tensor, list[Tensor]], list[int]] = lambda p, q: [draw(p[-1])],
) -> Verify:
    """A verification step with some of its parts replaced."""

    def verify(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
        for i, token in enumerate(drafted):
            if not keep(token, target[i], draft[i]):
                return i, [replace_by(target[i], draft[i])]
        return len(drafted), bonus(target, draft)

    return verify


@dataclass(frozen=True)
class Parts:
    """What a sampler is made of; a fault replaces one part."""

    verify: Verify = verify
    n_drafts: Callable[[int, int], int] = lambda gamma, n_left: min(gamma, n_left - 1)
    target_extra: int | None = 0  # tokens that the target's cache keeps too many; None: all
    bonus_from_draft: bool = False
    end: Callable[[list[int], int | None, int], list[int] | None] = cut_at


def assembled(parts: Parts) -> Callable:
    """The sampler that these parts make."""

    def sampler(target, draft, prompt, n_new, gamma, eos=None):
        new, finished = [], None
        for model in (target, draft):
            model.feed(prompt[:-1])
        while len(new) < n_new and finished is None:
            text = [*prompt, *new]
            n_drafts = parts.n_drafts(gamma, n_new - len(new))
            drafted, draft_probs = draft_tokens(draft, text, n_drafts)
            target_probs = target.feed([text[-1], *drafted]).softmax(-1)
            n_kept, tail = parts.verify(drafted, draft_probs, target_probs)
            if parts.bonus_from_draft and n_kept == n_drafts > 0:
                tail = [draw(draft.feed(drafted[-1:])[-1].softmax(-1))]
            block = [*drafted[:n_kept], *tail]
            new += block
            crop(target, draft, len(prompt) + len(new) - 1, parts)
            finished = parts.end(new, eos, len(block))
        return new if finished is None else finished

    return sampler


def draft_tokens(draft, text: list[int], n_drafts: int) -> tuple[list, list]:
    drafted, probs = [], []
    lacking = text[draft.n_cached() :]
    for _ in range(n_drafts):
        fed = drafted[-1:] or lacking
        probs.append(draft.feed(fed)[-1].softmax(-1))
        drafted.append(draw(probs[-1]))
    return drafted, probs


def crop(target, draft, n_wanted: int, parts: Parts) -> None:
    if parts.target_extra is not None:
        target.rewind(min(n_wanted + parts.target_extra, target.n_cached()))
    draft.rewind(min(n_wanted, draft.n_cached()))


def one_uniform(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
    shared = torch.rand(())
    return verify_with(lambda token, p, q: bool(shared < p[token] / q[token]))(
        drafted, draft, target
    )


def residual_elsewhere(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
    n_kept, tail = verify(drafted, draft, target)
    if n_kept < len(drafted):
        tail = [draw(residual(target[n_kept + 1], draft[min(n_kept + 1, len(draft) - 1)]))]
    return n_kept, tail


def rejected_is_kept(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
    n_kept, tail = verify(drafted, draft, target)
    return n_kept, tail if n_kept == len(drafted) else drafted[n_kept : n_kept + 1]


def rejected_is_dropped(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
    n_kept, tail = verify(drafted, draft, target)
    return n_kept, tail if n_kept == len(drafted) else []


def shifted_target(drafted: list[int], draft: list[Tensor], target: Tensor) -> Verdict:
    return verify(drafted, draft, torch.cat([target[1:], target[-1:]]))


def inverse_cdf(weights: Tensor) -> int:
    above = (weights.cumsum(0) > torch.rand(())).nonzero()
    return int(above[0]) if len(above) else len(weights) - 1


def absolute(target: Tensor, draft: Tensor) -> Tensor:
    left = (target - draft).abs()
    return left / left.sum() if left.sum() > 0 else target


def keeping(keep: Callable[[int, Tensor, Tensor], bool]) -> Parts:
    return Parts(verify=verify_with(keep=keep))


def replacing(replace_by: Callable[[Tensor, Tensor], int]) -> Parts:
    return Parts(verify=verify_with(replace_by=replace_by))


def with_bonus(bonus: Callable[[Tensor, list[Tensor]], list[int]]) -> Parts:
    return Parts(verify=verify_with(bonus=bonus))


LAW_FAULTS: dict[str, Parts] = {
    "residual from p": replacing(lambda p, q: draw(p)),
    "residual max(q - p, 0)": replacing(lambda p, q: draw(residual(q, p))),
    "residual abs(p - q)": replacing(lambda p, q: draw(absolute(p, q))),
    "residual at the wrong position": Parts(verify=residual_elsewhere),
    "residual not normalised, inverse CDF": replacing(
        lambda p, q: inverse_cdf((p - q).clamp(min=0))
    ),
    "argmax of the residual": replacing(lambda p, q: int(residual(p, q).argmax())),
    "one uniform per block": Parts(verify=one_uniform),
    "ratio q / p": keeping(lambda x, p, q: bool(torch.rand(()) < q[x] / p[x])),
    "lenient ratio p / (0.8 q)": keeping(
        lambda x, p, q: bool(torch.rand(()) < p[x] / (0.8 * q[x]))
    ),
    "accept if p >= q": keeping(lambda x, p, q: bool(p[x] >= q[x])),
    "accept if p / q >= 0.5": keeping(lambda x, p, q: bool(p[x] / q[x] >= 0.5)),
    "accept with probability p": keeping(lambda x, p, q: bool(torch.rand(()) < p[x])),
    "accept only the argmax": keeping(lambda x, p, q: x == int(p.argmax())),
    "rejected token kept": Parts(verify=rejected_is_kept),
    "rejected position dropped": Parts(verify=rejected_is_dropped),
    "target shifted by one": Parts(verify=shifted_target),
    "bonus from the draft": Parts(bonus_from_draft=True),
    "bonus from the position before": with_bonus(lambda p, q: [draw(p[max(len(p) - 2, 0)])]),
    "target cache not cropped": Parts(target_extra=None),
    "target cache one too long": Parts(target_extra=1),
    "target cache one too short": Parts(target_extra=-1),
    "gamma not capped": Parts(n_drafts=lambda gamma, n_left: gamma),
}
EOS_FAULTS: dict[str, Parts] = {
    "end of text only at a block's end": Parts(
        end=lambda new, eos, n_block: new if new[-1] == eos else None
    ),
    "tail after the end of text kept": Parts(
        end=lambda new, eos, n_block: new if eos in new[-n_block:] else None
    ),
    "end of text ignored": Parts(end=lambda new, eos, n_block: None),
}
