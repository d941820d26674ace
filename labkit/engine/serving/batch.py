"""What one pass is about, as tensors: tokens with their slots and positions, and where they lie.

A batch may be larger than its tokens, so that one captured pass holds for many: nobody's tokens
fill it up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from labkit.engine.serving.plain import Packed, Running

Prompts = Mapping[int, Sequence[int] | Tensor]  # the next tokens of prompts, by slot
Sizes = tuple[int, int, int]  # of a batch: running requests, chunks, tokens of chunks


@dataclass(frozen=True, slots=True)
class Batch:
    """Tokens of running requests, then of chunks. tokens, slots, positions: (N,), int64.

    last: (B + C,), int64, the places of the tokens whose logits are wanted.
    """

    tokens: Tensor
    slots: Tensor
    positions: Tensor
    last: Tensor
    running: Running
    packed: Packed | None

    @classmethod
    def of(
        cls,
        running: Mapping[int, int],
        prompts: Prompts,
        n_cached: Sequence[int],
        nobody: int,
        sizes: Sizes | None = None,
    ) -> Batch:
        """On the CPU. sizes: what it is filled up to with tokens of the slot nobody."""
        n_new = [len(chunk) for chunk in prompts.values()]
        n_running, n_chunks, n_tokens = sizes or (len(running), len(prompts), sum(n_new))
        no_more = (n_running - len(running), n_tokens - sum(n_new))
        chunks = [torch.as_tensor(chunk).cpu() for chunk in prompts.values()]
        before = [n_cached[slot] for slot in running]
        ahead = [n_cached[slot] for slot in prompts]
        spans = zip(prompts, ahead, n_new, strict=True)
        parts = [_rows([*running.values()], [*running], before), _filling(no_more[0], nobody)]
        for chunk, (slot, start, n) in zip(chunks, spans, strict=True):
            slots, positions = torch.full((n,), slot), torch.arange(start, start + n)
            parts.append(torch.stack([chunk.long(), slots, positions]))
        both = torch.cat([*parts, _filling(no_more[1], nobody)], dim=1)
        ends = [0, *accumulate(n_new)]
        last = [*range(n_running), *(n_running + end - 1 for end in ends[1:])]
        n_empty, known = n_chunks - len(n_new), sizes is None
        packed_slots = torch.tensor([*prompts, *[nobody] * n_empty], dtype=torch.int64)
        ends = torch.tensor([*ends, *ends[-1:] * n_empty], dtype=torch.int32)
        return cls(
            *both,
            torch.tensor([*last, *[0] * n_empty], dtype=torch.int64),
            Running(both[1, :n_running], tuple(before) if known else None),
            Packed(packed_slots, ends, tuple(ahead) if known else None) if n_chunks else None,
        )

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        rows = torch.stack([self.tokens, self.slots, self.positions]).to(device)
        packed, n_running = self.packed, len(self.running.slots)
        if packed:
            slots, ends = packed.slots.to(device), packed.ends.to(device)
            packed = Packed(slots, ends, packed.n_cached)
        running = Running(rows[1, :n_running], self.running.n_cached)
        return Batch(*rows, self.last.to(device), running, packed)

    def copy_(self, other: Batch) -> None:
        """Take the tokens of another batch of the same sizes."""
        names = ("tokens", "slots", "positions", "last")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        if self.packed:
            pairs += [
                (self.packed.slots, other.packed.slots),
                (self.packed.ends, other.packed.ends),
            ]
        for own, new in pairs:  # the running slots are the first of all slots
            own.copy_(new, non_blocking=True)


def _rows(tokens: list[int], slots: list[int], positions: list[int]) -> Tensor:
    return torch.tensor([tokens, slots, positions], dtype=torch.int64).view(3, len(tokens))


def _filling(n: int, nobody: int) -> Tensor:
    return torch.tensor([[0], [nobody], [0]]).expand(3, n)
