"""The serving engine's cards, as the servers of lab 5 use them: slots, prompts, KV caches moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from labkit.engine.serving.decoder import BUCKETS, MOST_CAPTURED, N_CHUNKS, PagedDecoder
from labkit.engine.serving.pages import PAGE, rows_of
from labkit.labs.batching.workload import Job

Tokens = dict[int, list[int]]


class Engine:
    """A decoder and its slots. tokens: what each request was given, most likely tokens all."""

    def __init__(self, decoder: PagedDecoder) -> None:
        self.decoder, self.pages = decoder, decoder.pages
        self.device = decoder.weights.device
        self.slot_of: dict[int, int] = {}
        self._free = list(range(decoder.pages.nobody - 1, -1, -1))

    def clear(self) -> None:
        """Forget all requests, also those of a run that was broken off."""
        for request_id in [*self.slot_of]:
            self.free(request_id)

    def take(self, request_id: int) -> int:
        """A slot for a request, or the one that it has. Raises: ValueError if none is free."""
        if request_id not in self.slot_of:
            if not self._free:
                raise ValueError(f"this card has {self.pages.nobody} slots, and all are taken")
            self.slot_of[request_id] = self._free.pop()
        return self.slot_of[request_id]

    def free(self, request_id: int) -> None:
        """Give a request's slot and pages back, if it has any."""
        if (slot := self.slot_of.pop(request_id, None)) is not None:
            self.pages.release(slot)
            self._free.append(slot)

    def prefill(self, prompts: Mapping[int, Tensor]) -> list[int]:
        """The next token of each prompt, all of them packed into one pass."""
        for request_id, prompt in prompts.items():
            self.pages.reserve(self.take(request_id), len(prompt))
        return self.decoder.step({}, {self.slot_of[i]: each for i, each in prompts.items()})

    def decode(self, last: Mapping[int, int]) -> list[int]:
        """The next token of each request, after its last one."""
        return self.decoder.step({self.slot_of[i]: token for i, token in last.items()})

    def warm_up(self, n_running: int, n_tokens: int, prompts: Sequence[int] = ()) -> None:
        """Make all graphs for up to so many running requests and tokens of prompts beside them.

        Nothing is captured later, while another thread uses its own GPU. prompts: their numbers in
        longer passes, whose kernels are made.
        """
        if not self.decoder._do.can_capture:
            return
        batches = [n for n in BUCKETS if n <= n_running]
        slots = [self.take(-1 - i) for i in range(max(1, *batches, *prompts) + N_CHUNKS)]
        self.pages.reserve(slots[0], 2 * MOST_CAPTURED)
        for slot in slots[1:]:
            self.pages.reserve(slot, PAGE)
        run = dict.fromkeys(slots[N_CHUNKS:], 1)
        for n_batch in batches:
            for n in (0, *range(64, min(n_tokens, MOST_CAPTURED) + 1, 64)):
                if n or n_batch:
                    chunks = {slots[0]: torch.ones(n, dtype=torch.int64)} if n else {}
                    self.decoder.step(dict(islice(run.items(), n_batch)), chunks)
                    self._forget()
        long = torch.ones(MOST_CAPTURED + 1, dtype=torch.int64)
        for n in prompts:
            chunks = {slot: torch.ones(1, dtype=torch.int64) for slot in slots[1:n]}
            for n_batch in (0, *batches[2:]):
                self.decoder.step(dict(islice(run.items(), n_batch)), {slots[0]: long, **chunks})
                self._forget()
        self.clear()

    def _forget(self) -> None:
        self.pages.rewind_all(dict.fromkeys(self.slot_of.values(), 0))


def prompt_of(job: Job, vocab_size: int) -> Tensor:
    """Random tokens, the same each time."""
    generator = torch.Generator("cpu").manual_seed(job.id)
    return torch.randint(0, vocab_size, (job.n_input,), generator=generator)


class Parcel:
    """A KV cache on its way to another card, or there. here: until it has left the first card."""

    def __init__(self, here: Tensor, there: Tensor, event: Any) -> None:
        self.here: Tensor | None = here
        self.there, self._event = there, event

    def has_come(self) -> bool:
        """Whether all of it is on the other card."""
        if self._event is None or self._event.query():
            self.here = None
            return True
        return False


class Link:
    """Takes KV caches from one card to another by peer copy, beside the passes of both.

    The pages of a cache are gathered into one piece, which is copied, and scattered on arrival.
    """

    def __init__(self, source: Engine, target: Engine) -> None:
        self.source, self.target = source, target
        self._streams = []
        if source.device.type == "cuda":
            self._streams = [torch.cuda.Stream(each.device) for each in (source, target)]

    @torch.inference_mode()
    def send(self, request_id: int, n_tokens: int) -> Parcel:
        """Let a cache leave; its pages can be used by later passes at once."""
        pages = self.source.pages
        rows = rows_of(pages.table[self.source.slot_of[request_id]], n_tokens)
        here = torch.stack([each.index_select(1, rows) for each in (pages.keys, pages.values)])
        if not self._streams:
            return Parcel(here, here.clone(), None)
        self._streams[0].wait_event(torch.cuda.current_stream(self.source.device).record_event())
        with self._current():
            there = torch.empty(here.shape, dtype=here.dtype, device=self.target.device)
            there.copy_(here, non_blocking=True)
            event = self._streams[1].record_event()
        return Parcel(here, there, event)

    @torch.inference_mode()
    def take_in(self, request_id: int, parcel: Parcel, n_positions: int) -> None:
        """Put a cache that has come into pages; the slot has room for n_positions."""
        n_tokens, pages = parcel.there.shape[2], self.target.pages
        slot = self.target.take(request_id)
        pages.reserve(slot, max(n_positions, n_tokens))
        rows = rows_of(pages.table[slot], n_tokens)
        for pool, new in zip((pages.keys, pages.values), parcel.there, strict=True):
            pool.index_copy_(1, rows, new)
        pages.rewind(slot, n_tokens)
        if self._streams:
            torch.cuda.current_stream(self.target.device).synchronize()

    @contextmanager
    def _current(self) -> Iterator[None]:
        with ExitStack() as stack:
            for stream in reversed(self._streams):
                stack.enter_context(torch.cuda.stream(stream))
            yield
