"""What a prefill, a decode step and a transfer take, on the virtual clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from labkit.measuring.roofline import BYTES, ModelWork, Roofline
from labkit.memory import kv_bytes_per_token


class Costs(Protocol):
    """Seconds that the servers' work takes."""

    def prefill_s(self, lengths: Sequence[int]) -> float:
        """Of a batch of prompts, padded to the longest."""

    def decode_s(self, n_sequences: int, n_cached: int) -> float:
        """Of one step for n_sequences that have n_cached tokens in all."""

    def transfer_s(self, n_tokens: int) -> float:
        """Of the KV cache of n_tokens from one server to the other."""


@dataclass(frozen=True, slots=True)
class FixedCosts:
    """The same for every batch: for runs that can be computed by hand."""

    prefill: float = 1.0
    decode: float = 1.0
    transfer: float = 0.0

    def prefill_s(self, lengths: Sequence[int]) -> float:
        return self.prefill

    def decode_s(self, n_sequences: int, n_cached: int) -> float:
        return self.decode

    def transfer_s(self, n_tokens: int) -> float:
        return self.transfer


@dataclass(frozen=True, slots=True)
class RooflineCosts:
    """Floors of a model on a machine, and never less than launching a pass takes.

    link_bandwidth: bytes per second between the servers.
    Source: Williams et al. 2009 for the floor; DistServe (arXiv:2401.09670) for the terms.
    """

    machine: Roofline
    work: ModelWork
    dtype: str = "bfloat16"
    launch_s: float = 0.0
    link_bandwidth: float = 50e9

    def prefill_s(self, lengths: Sequence[int]) -> float:
        n_longest = max(lengths)
        flops = len(lengths) * self.work.flops(n_longest, 0, 1)
        moved = self.work.moved_bytes(n_longest, len(lengths), BYTES[self.dtype])
        return self._pass_s(flops, moved)

    def decode_s(self, n_sequences: int, n_cached: int) -> float:
        mean = max(1, n_cached // n_sequences)
        flops = n_sequences * self.work.flops(1, mean, 1)
        moved = self.work.moved_bytes(mean + 1, n_sequences, BYTES[self.dtype])
        return self._pass_s(flops, moved)

    def transfer_s(self, n_tokens: int) -> float:
        width = BYTES[self.dtype]
        return n_tokens * kv_bytes_per_token(self.work.shape, width) / self.link_bandwidth

    def _pass_s(self, flops: float, moved_bytes: float) -> float:
        floor_s = max(moved_bytes / self.machine.bandwidth, flops / self.machine.peak(self.dtype))
        return max(self.launch_s, floor_s)
