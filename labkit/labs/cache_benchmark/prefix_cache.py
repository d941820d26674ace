"""A small prefix-caching engine: keys and values of the blocks that a prefix cache keeps.

The `PrefixCache` of `labkit.cache_benchmark` knows hashes and nothing of models. `Engine` runs a
transformers model with it: it looks up what a prompt shares with earlier ones, computes the rest,
generates, and stores what is kept. Cache and hashes are passed in, so that a notebook can pass its
own.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from labkit import cache_benchmark
from labkit.measuring.device import synchronize
from labkit.models.cached import forward, layers_of, new_cache

Block = list[tuple[Tensor, Tensor]]  # keys and values of every layer, each (1 Hkv block_size D)


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

    def __init__(
        self,
        model: Any,
        cache: Any = None,
        block_size: int = 16,
        block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    ) -> None:
        """cache: an empty `PrefixCache` whose blocks have block_size tokens."""
        self.model, self.cache, self.block_size = model, cache, block_size
        self._hashes, self._blocks, self._n_requests = block_hashes, {}, 0

    @torch.inference_mode()
    def answer(self, tokens: Sequence[int], n_new: int, salt: str = "") -> Answer:
        """n_new tokens after a prompt.

        Raises: ValueError for an empty prompt, for fewer than one new token, and where prompt and
        new tokens exceed the model's context.
        """
        self._check(tokens, n_new)
        synchronize()
        start_s = time.perf_counter()
        n_saved, blocks = (0, []) if self.cache is None else self._found(tokens, salt)
        past = self._filled(blocks)
        new = [self._step(tokens[n_saved:], past)]
        prefill_s = time.perf_counter() - start_s
        while len(new) < n_new:
            new.append(self._step(new[-1:], past))
        n_kept = 0
        if self.cache is not None:
            computed = [*tokens, *new[:-1]]  # the last was never fed
            n_kept = self._keep(computed, layers_of(past), salt)
        return Answer(new, len(tokens), n_saved, n_kept, prefill_s)

    def _found(self, tokens: Sequence[int], salt: str) -> tuple[int, list[Block]]:
        """Ask the cache, and look up the blocks that it found; refuses what cannot be."""
        self._n_requests += 1
        n_saved = int(self.cache.find(self._n_requests, tokens, salt))
        hashes = self._hashes(tokens, self.block_size, salt)[: n_saved // self.block_size]
        is_possible = not n_saved % self.block_size and 0 <= n_saved < max(len(tokens), 1)
        if not is_possible or not all(one in self._blocks for one in hashes):
            raise ValueError(
                f"find gave {n_saved} for a prompt of {len(tokens)} tokens in blocks of "
                f"{self.block_size}: wanted whole blocks that are kept, and a token left to compute"
            )
        return n_saved, [self._blocks[one] for one in hashes]

    def _keep(
        self, tokens: Sequence[int], layers: Sequence[tuple[Tensor, Tensor]], salt: str
    ) -> int:
        """End the request; store what the cache keeps of it, forget what it evicted.

        Returns how many blocks are new.
        """
        self.cache.keep(self._n_requests, tokens, salt)
        self._blocks = {one: each for one, each in self._blocks.items() if self.cache.has(one)}
        n_before = len(self._blocks)
        for i, block_hash in enumerate(self._hashes(tokens, self.block_size, salt)):
            if block_hash not in self._blocks and self.cache.has(block_hash):
                self._blocks[block_hash] = self._block(layers, i)
        return len(self._blocks) - n_before

    def _block(self, layers: Sequence[tuple[Tensor, Tensor]], i: int) -> Block:
        """A copy of keys and values (1 Hkv block_size D) of block i, by layer."""
        place = slice(i * self.block_size, (i + 1) * self.block_size)
        return [tuple(part[..., place, :].clone() for part in layer) for layer in layers]

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
