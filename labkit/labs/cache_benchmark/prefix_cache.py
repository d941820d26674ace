"""A small prefix-caching engine: keys and values of a prompt's blocks, kept by the block's hash.

`PrefixCache` keeps blocks and knows nothing of models; `Engine` runs a transformers model with it:
it looks up what a prompt shares with earlier ones, computes the rest, generates, and keeps what it
has computed. The functions that name blocks and count hits are passed in, so that a notebook can
pass its own.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from labkit.measuring.device import synchronize
from labkit.models.cached import forward, layers_of, new_cache

Block = list[tuple[Tensor, Tensor]]  # keys and values of every layer, each (1 Hkv block_size D)


class PrefixCache:
    """Blocks by hash; where there is no room for another, the least recently used one goes.

    Of blocks that were used together, the last goes first: without its beginning a block cannot be
    found. block_hashes(tokens, block_size, salt) and longest_cached_prefix(hashes, cached,
    n_tokens, block_size) are as in `labkit.cache_benchmark`.
    Raises: ValueError for sizes below 1.
    """

    def __init__(
        self,
        block_size: int,
        n_blocks: int,
        block_hashes: Callable[..., Sequence],
        longest_cached_prefix: Callable[..., int],
    ) -> None:
        if min(block_size, n_blocks) < 1:
            raise ValueError(
                f"wanted at least 1 token per block and 1 block, got {block_size} and {n_blocks}"
            )
        self.block_size, self.n_blocks = block_size, n_blocks
        self._hashes, self._longest = block_hashes, longest_cached_prefix
        self._blocks: OrderedDict[Any, Block] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def __contains__(self, block_hash: object) -> bool:
        return block_hash in self._blocks

    def find(self, tokens: Sequence[int], salt: str = "") -> tuple[int, list[Block]]:
        """How many tokens at the front of a prompt are saved, and their blocks, in order."""
        hashes = self._hashes(tokens, self.block_size, salt)
        n_saved = int(self._longest(hashes, self._blocks, len(tokens), self.block_size))
        if n_saved % self.block_size or not 0 <= n_saved < max(len(tokens), 1):
            raise ValueError(
                f"longest_cached_prefix gave {n_saved} for a prompt of {len(tokens)} tokens in "
                f"blocks of {self.block_size}: wanted whole blocks, and a token left to compute"
            )
        found = hashes[: n_saved // self.block_size]
        self._touch(found)
        return n_saved, [self._blocks[block_hash] for block_hash in found]

    def keep(
        self, tokens: Sequence[int], layers: Sequence[tuple[Tensor, Tensor]], salt: str = ""
    ) -> int:
        """Keep the full blocks of a sequence that are not here yet; returns how many are new.

        layers: per layer keys and values (1 Hkv S D), where S is at least the tokens' number.
        """
        hashes = self._hashes(tokens, self.block_size, salt)[: self.n_blocks]
        n_new = 0
        for i, block_hash in enumerate(hashes):
            if block_hash in self._blocks:
                continue
            place = slice(i * self.block_size, (i + 1) * self.block_size)
            self._blocks[block_hash] = [
                (keys[..., place, :].clone(), values[..., place, :].clone())
                for keys, values in layers
            ]
            n_new += 1
        self._touch(hashes)
        while len(self._blocks) > self.n_blocks:
            self._blocks.popitem(last=False)
        return n_new

    def _touch(self, hashes: Sequence) -> None:
        """Count as used just now, the first block last."""
        for block_hash in reversed(hashes):
            self._blocks.move_to_end(block_hash)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request gave and took. prefill_s: until the first new token."""

    tokens: list[int]
    n_prompt: int
    n_saved: int
    n_kept_blocks: int
    prefill_s: float

    @property
    def n_computed(self) -> int:
        """Tokens of the prompt that went through the model."""
        return self.n_prompt - self.n_saved


class Engine:
    """Greedy generation by a transformers model, one request after another, with a prefix cache.

    Without a cache every prompt is computed whole.
    """

    def __init__(self, model: Any, cache: PrefixCache | None = None) -> None:
        self.model, self.cache = model, cache

    @torch.inference_mode()
    def answer(self, tokens: Sequence[int], n_new: int, salt: str = "") -> Answer:
        """n_new tokens after a prompt.

        Raises: ValueError for an empty prompt, for fewer than one new token, and where prompt and
        new tokens exceed the model's context.
        """
        self._check(tokens, n_new)
        synchronize()
        start_s = time.perf_counter()
        n_saved, blocks = (0, []) if self.cache is None else self.cache.find(tokens, salt)
        past = self._filled(blocks)
        new = [self._step(tokens[n_saved:], past)]
        prefill_s = time.perf_counter() - start_s
        while len(new) < n_new:
            new.append(self._step(new[-1:], past))
        n_kept = 0
        if self.cache is not None:
            computed = [*tokens, *new[:-1]]  # the last was never fed
            n_kept = self.cache.keep(computed, layers_of(past), salt)
        return Answer(new, len(tokens), n_saved, n_kept, prefill_s)

    def _step(self, tokens: Sequence[int], past: Any) -> int:
        """Feed these tokens; the most likely next one."""
        fed = torch.tensor([list(tokens)], device=self.model.device)
        logits = forward(self.model, fed, past, logits_to_keep=1).logits
        return int(logits[0, -1].argmax())  # waits for the device

    def _filled(self, blocks: Sequence[Block]) -> Any:
        """A transformers cache that holds these blocks."""
        layers = [zip(*parts, strict=True) for parts in zip(*blocks, strict=True)]
        return new_cache((torch.cat(keys, 2), torch.cat(values, 2)) for keys, values in layers)

    def _check(self, tokens: Sequence[int], n_new: int) -> None:
        if not len(tokens) or n_new < 1:
            raise ValueError(
                f"wanted a prompt and at least 1 new token, got {len(tokens)} tokens and {n_new}"
            )
        n_context = getattr(self.model.config, "max_position_embeddings", None)
        if n_context and len(tokens) + n_new > n_context:
            raise ValueError(
                f"{len(tokens)} tokens and {n_new} new ones exceed the model's context of "
                f"{n_context}: take a shorter document"
            )
