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

from labkit.engine.serving.plain import MOST_FED, Packed, Running

Prompts = Mapping[int, Sequence[int] | Tensor]  # the next tokens of prompts, by slot
Fed = Mapping[int, int | Sequence[int]]  # the next tokens of running requests, by slot
Sizes = tuple[int, int, int, int]  # running requests, tokens of each, chunks, tokens of chunks


@dataclass(frozen=True, slots=True)
class Batch:
    """Tokens of running requests, then of chunks. tokens, slots, positions: (N,), int64.

    last: (B T + C,), int64, the places of the tokens whose logits are wanted.
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
        running: Fed,
        prompts: Prompts,
        n_cached: Sequence[int],
        nobody: int,
        sizes: Sizes | None = None,
    ) -> Batch:
        """On the CPU. sizes: what it is filled up to with tokens of the slot nobody."""
        n_new = [len(chunk) for chunk in prompts.values()]
        own = (len(running), n_fed_to(running), len(prompts), sum(n_new))
        n_running, n_fed, n_chunks, n_tokens = sizes or own
        no_more = (n_fed * (n_running - len(running)), n_tokens - sum(n_new))
        chunks = [torch.as_tensor(chunk).cpu() for chunk in prompts.values()]
        before = [n_cached[slot] for slot in running]
        ahead = [n_cached[slot] for slot in prompts]
        spans = zip(prompts, ahead, n_new, strict=True)
        parts = [_rows(running, before), _filling(no_more[0], nobody)]
        for chunk, (slot, start, n) in zip(chunks, spans, strict=True):
            slots, positions = torch.full((n,), slot), torch.arange(start, start + n)
            parts.append(torch.stack([chunk.long(), slots, positions]))
        both = torch.cat([*parts, _filling(no_more[1], nobody)], dim=1)
        ends = [0, *accumulate(n_new)]
        n_decoded = n_running * n_fed
        last = [*range(n_decoded), *(n_decoded + end - 1 for end in ends[1:])]
        n_empty, known = n_chunks - len(n_new), sizes is None
        packed_slots = torch.tensor([*prompts, *[nobody] * n_empty], dtype=torch.int64)
        ends = torch.tensor([*ends, *ends[-1:] * n_empty], dtype=torch.int32)
        return cls(
            *both,
            torch.tensor([*last, *[0] * n_empty], dtype=torch.int64),
            Running(both[1, :n_decoded], n_fed, tuple(before) if known else None),
            Packed(packed_slots, ends, tuple(ahead) if known else None) if n_chunks else None,
        )

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        rows = torch.stack([self.tokens, self.slots, self.positions]).to(device)
        packed, running = self.packed, self.running
        if packed:
            slots, ends = packed.slots.to(device), packed.ends.to(device)
            packed = Packed(slots, ends, packed.n_cached)
        running = Running(rows[1, : len(running.slots)], running.n_fed, running.n_cached)
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


def n_fed_to(running: Fed) -> int:
    """How many tokens each running request is fed; 1 if none runs.

    Raises: ValueError for unequal numbers, and for more than MOST_FED.
    """
    found = sorted({len(_tokens_of(fed)) for fed in running.values()} or {1})
    if len(found) > 1 or found[0] > MOST_FED:
        raise ValueError(
            f"wanted up to {MOST_FED} tokens of each running request, of all as many; "
            f"got {', '.join(map(str, found))}"
        )
    return found[0]


def _tokens_of(fed: int | Sequence[int]) -> Sequence[int]:
    return (fed,) if isinstance(fed, int) else fed


def _rows(running: Fed, n_cached: Sequence[int]) -> Tensor:
    """Tokens, slots and positions of running requests."""
    rows = [
        (token, slot, n + i)
        for (slot, fed), n in zip(running.items(), n_cached, strict=True)
        for i, token in enumerate(_tokens_of(fed))
    ]
    return torch.tensor(rows, dtype=torch.int64).view(len(rows), 3).t()


def _filling(n: int, nobody: int) -> Tensor:
    return torch.tensor([[0], [nobody], [0]]).expand(3, n)
