"""Decoding and speculation in captured steps: the host looks at the device once per block.

Tokens, lengths of the caches and a block's outcome stay where they were when a step was captured.
"""

from functools import partial

import torch
from torch import Tensor

from labkit.engine import registry
from labkit.engine.captured import replayed
from labkit.engine.decoder import Decoder, check_pair
from labkit.engine.sampling import Warp


def _check(tokens: list[int]) -> None:
    if min(tokens, default=0) < 0:
        raise ValueError("a model gives logits that are not numbers; look at its weights")


class Autoregression:
    """One token after another. last: (1,), the token that is not in the cache yet."""

    def __init__(self, target: Decoder, warp: Warp, n_most: int) -> None:
        self._target, self._warp = target, warp
        self._draw = registry.made("draw", target.weights)
        device = target.weights.device
        self.last = torch.zeros(1, dtype=torch.long, device=device)
        self._made = torch.zeros(n_most, dtype=torch.long, device=device)
        self._n_made = torch.zeros(1, dtype=torch.long, device=device)
        self._replay = replayed(self._step, target)

    def _step(self) -> None:
        target = self._target
        token = self._draw(self._warp(target.forward(self.last[None])[0]))
        target.arena.lengths.add_(1)
        self._made.index_copy_(0, self._n_made, token)
        self._n_made.add_(1)
        self.last.copy_(token)

    def run(self, last: int, n_tokens: int) -> list[int]:
        """Make n_tokens tokens after `last`, the token after those in the cache."""
        self.last.fill_(last)
        self._n_made.zero_()
        for _ in range(n_tokens):
            self._replay()
        tokens = self._made[:n_tokens].tolist()
        _check(tokens)
        return tokens


class Speculation:
    """Blocks of drafted and verified tokens.

    outcome: (gamma + 2,), how many drafted tokens were kept, the drafted ones, the one after them.
    script: (blocks,), how many to keep in each block, to time steps at a given acceptance; None to
    let chance decide.
    """

    def __init__(
        self,
        target: Decoder,
        draft: Decoder,
        gamma: int,
        warp: Warp,
        script: Tensor | None = None,
    ) -> None:
        check_pair(target, draft, gamma)
        self.target, self.draft, self.gamma, self._warp = target, draft, gamma, warp
        self._draw = registry.made("draw", draft.weights)
        self._accept = registry.made("accept", target.weights)
        device = target.weights.device
        self.last = torch.zeros(1, dtype=torch.long, device=device)
        self.outcome = torch.zeros(gamma + 2, dtype=torch.long, device=device)
        self._script = script
        self._n_blocks = torch.zeros(1, dtype=torch.long, device=device)
        self._logits = torch.zeros(gamma, target.shape.vocab_size, device=device)
        self._is_behind = False
        blocks = {n_lacked: partial(self._block, n_lacked) for n_lacked in (1, 2)}
        self._replay = {n_lacked: replayed(block, target) for n_lacked, block in blocks.items()}

    def _block(self, n_lacked: int) -> None:
        """n_lacked: the draft's cache is without the last token, or without the last two."""
        drafted = self._drafted(n_lacked)
        self._ended("draft", n_lacked)
        tokens = torch.cat([self.last, drafted])
        target_logits = self._warp(self.target.forward(tokens[None])[0])
        self._ended("verify", n_lacked)
        n_kept = None
        if self._script is not None:
            n_kept = self._script.index_select(0, self._n_blocks)
            self._n_blocks.add_(1)
        n_kept, after = self._accept(drafted, self._logits, target_logits, n_kept=n_kept)
        self._ended("accept", n_lacked)
        self.target.arena.lengths.add_(n_kept + 1)
        self.draft.arena.lengths.add_((n_kept + 1).clamp_max(self.gamma) - self.gamma)
        self.outcome.copy_(torch.cat([n_kept, drafted, after]))
        self.last.copy_(after)
        self._ended("cache", n_lacked)

    def _ended(self, part: str, n_lacked: int) -> None:
        """A part of such a block has ended: `labkit.engine.profiler` takes its time."""

    def _drafted(self, n_lacked: int) -> Tensor:
        """gamma tokens; the cache of the draft grows with each."""
        lacked = [self.outcome[self.gamma : self.gamma + 1], self.last][-n_lacked:]
        fed, tokens = torch.cat(lacked), []
        for i in range(self.gamma):
            self._logits[i] = self._warp(self.draft.forward(fed[None])[0, -1])
            self.draft.arena.lengths.add_(len(fed))
            fed = self._draw(self._logits[i : i + 1])
            tokens.append(fed)
        return torch.cat(tokens)

    def begin(self, last: int) -> None:
        """Start after the tokens in the caches, with a token that is not in them."""
        self.last.fill_(last)
        self._n_blocks.zero_()
        self._is_behind = False

    @property
    def n_lacked(self) -> int:
        """Tokens of the text that the draft's cache is without."""
        return 2 if self._is_behind else 1

    def block(self) -> list[int]:
        """The next block: the drafted tokens that were kept, and the one after them."""
        self._replay[self.n_lacked]()
        n_kept, *tokens = self.outcome.tolist()  # the one time that the host waits
        _check(tokens)
        self._is_behind = n_kept == self.gamma
        return [*tokens[:n_kept], tokens[-1]]
