"""A workload: requests, the model's answers, the servers' capacities, and the time of work.

A run is compared with these true values.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from labkit.measuring.roofline import BYTES, ModelWork, Roofline, pass_floor
from labkit.models.sizes import kv_bytes_per_token

EOS = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One request. All lengths are in tokens.

    max_new: how many new tokens the client wants at most; None if it did not say. stops_after: the
    number of new tokens after which the model ends its text, its end-of-text token included; None
    if it never does. hashes: one for each full block of the prompt (lab 3); without any, no other
    request begins like this one.
    Raises: ValueError for a prompt without tokens, and negative lengths or times.
    """

    id: int
    n_input: int
    max_new: int | None = None
    stops_after: int | None = None
    arrival_s: float = 0.0
    hashes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        negative = self.max_new is not None and self.max_new < 0
        if self.n_input < 1 or negative or self.stops_after == 0 or self.arrival_s < 0:
            raise ValueError(f"no request can be like this: {self}")

    def limit(self, max_length: int) -> int:
        """How many tokens it may be given at most; below 1 if none."""
        room = max_length - self.n_input
        return room if self.max_new is None else min(room, self.max_new)

    def n_output(self, max_length: int) -> int:
        """How many tokens it must be given."""
        limit = max(0, self.limit(max_length))
        return limit if self.stops_after is None else min(limit, self.stops_after)

    def size(self, max_length: int) -> int:
        """The tokens to reserve for it, because it is unknown when it will stop."""
        return self.n_input + max(0, self.limit(max_length))

    def token(self, i: int, eos: int = EOS) -> int:
        """The i-th new token, from 0; `eos` where the text ends, and after it."""
        if self.stops_after is not None and i + 1 >= self.stops_after:
            return eos
        return 1 + (7919 * self.id + 104_729 * i) % 50_000

    def as_request(self) -> dict:
        """The part of the job that a scheduler sees."""
        return {"id": self.id, "input_length": self.n_input, "output_length": self.max_new}


@dataclass(frozen=True, slots=True)
class Setup:
    """The capacities of the servers. Room and lengths in tokens.

    The prompts of a prefill batch are packed: each takes as much room as it has tokens.
    prefill_budget: how many tokens a batch of several prompts may have. storage: room between the
    servers, None for no limit. patience: how many prefill batches may start without the request
    that has waited longest, although it would fit; and how many decode steps may let in newer ones
    before it. eos: the token that ends a text, 0 or above 50,000; all others are between.
    budget: tokens of one pass of a card that does all work; block_size: tokens of one block of its
    KV cache.
    """

    prefill_capacity: int = 4096
    decode_capacity: int = 4096
    prefill_batch: int = 8
    decode_batch: int = 8
    prefill_budget: int = 2048
    max_length: int = 1024
    storage: int | None = None
    patience: int = 3
    eos: int = EOS
    budget: int = 512
    block_size: int = 16

    @property
    def n_blocks(self) -> int:
        """The blocks of the KV cache on a card."""
        return self.decode_capacity // self.block_size

    def refuses_on_card(self, job: Job) -> str:
        """Why a request can never be served on one card; empty if it can."""
        if job.max_new == 0:
            return "it asks for no token"
        if job.limit(self.max_length) < 1:
            return "its prompt leaves no room for a token"
        if job.size(self.max_length) > self.n_blocks * self.block_size:
            return "it does not fit, even alone"
        return ""

    def refuses(self, job: Job) -> str:
        """Why a request can never be served; empty if it can."""
        if job.max_new == 0:
            return "it asks for no token"
        if job.limit(self.max_length) < 1:
            return "its prompt leaves no room for a token"
        if any(size > capacity for size, capacity in self.rooms(job).values()):
            return "it does not fit, even alone"
        return ""

    def rooms(self, job: Job) -> dict[str, tuple[int, int]]:
        """The room of a request in each memory, and the memory's capacity if it has one."""
        rooms = {
            "the prefill server": (job.n_input, self.prefill_capacity),
            "the store": (job.n_input, self.storage),
            "the decode server": (job.size(self.max_length), self.decode_capacity),
        }
        if self.storage is None:
            del rooms["the store"]
        return rooms


def poisson(
    n_jobs: int,
    rate: float,
    rng: random.Random,
    *,
    n_input: Sequence[int] = (64,),
    n_output: Sequence[int] = (32,),
    known: bool = True,
) -> list[Job]:
    """Requests at exponential intervals, `rate` per second; lengths drawn from the sequences.

    known: whether the client says how many tokens it wants; otherwise the model stops by itself.
    """
    jobs, now_s = [], 0.0
    for i in range(n_jobs):
        now_s += rng.expovariate(rate)
        length = rng.choice(n_output)
        ends = {"max_new": length} if known else {"stops_after": length}
        jobs.append(Job(i, rng.choice(n_input), **ends, arrival_s=now_s))
    return jobs


def exponential_lengths(n: int, mean: float, rng: random.Random) -> list[int]:
    """Output lengths, exponential and rounded up: many short ones, a few very long."""
    return [1 + int(rng.expovariate(1 / mean)) for _ in range(n)]


class Costs(Protocol):
    """Seconds that the servers' work takes."""

    def prefill_s(self, lengths: Sequence[int]) -> float:
        """Of a batch of prompts, packed: without padding."""

    def decode_s(self, n_sequences: int, n_cached: int) -> float:
        """Of one step for n_sequences that have n_cached tokens in all."""

    def mixed_s(
        self, n_sequences: int, n_cached: int, pieces: Sequence[tuple[int, int, bool]]
    ) -> float:
        """Of one pass: a step as in `decode_s`, together with pieces of prompts.

        pieces: (tokens, tokens of this prompt before them, whether the prompt ends here).
        """

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

    def mixed_s(
        self, n_sequences: int, n_cached: int, pieces: Sequence[tuple[int, int, bool]]
    ) -> float:
        return self.prefill if pieces else self.decode

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
        return self.mixed_s(0, 0, [(n, 0, True) for n in lengths])

    def decode_s(self, n_sequences: int, n_cached: int) -> float:
        mean = max(1, n_cached // n_sequences)
        floor = pass_floor(self.machine, self.work, 1, mean, n_sequences, self.dtype)
        return max(self.launch_s, floor.seconds)

    def mixed_s(
        self, n_sequences: int, n_cached: int, pieces: Sequence[tuple[int, int, bool]]
    ) -> float:
        """Of one pass: a step as in `decode_s`, together with pieces of prompts.

        pieces: (tokens, tokens of this prompt before them, whether the prompt ends here).
        """
        mean = max(1, n_cached // n_sequences) if n_sequences else 0
        flops = n_sequences * self.work.flops(1, mean, 1)
        flops += sum(self.work.flops(n, n_before, int(ends)) for n, n_before, ends in pieces)
        width = BYTES[self.dtype]
        moved = self.work.moved_bytes(mean + 1 if n_sequences else 0, n_sequences, width)
        kept = sum(n + n_before for n, n_before, _ in pieces)
        moved += kept * kv_bytes_per_token(self.work.shape, width)
        floor_s = max(moved / self.machine.bandwidth, flops / self.machine.peak(self.dtype))
        return max(self.launch_s, floor_s)

    def transfer_s(self, n_tokens: int) -> float:
        width = BYTES[self.dtype]
        return n_tokens * kv_bytes_per_token(self.work.shape, width) / self.link_bandwidth
