"""How long a KV cache takes to another GPU of the host: by a copy, by NCCL, by pinned memory."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from labkit.engine.weights import DecoderShape
from labkit.labs.batching.measured.cache import (
    BY_LAYER,
    BY_PAGE,
    GATHERED,
    PACES,
    WHOLE,
    SentCache,
)
from labkit.labs.batching.measured.costs import token_bytes
from labkit.labs.batching.measured.peer import peer
from labkit.labs.batching.measured.sizes import Models
from labkit.measuring.device import free_device_memory, rows_in_room, synchronize
from labkit.measuring.records import IsDone, Row, measured

COPY, NCCL, PINNED = "peer copy", "NCCL", "pinned host memory"
WAYS = {COPY: PACES, NCCL: PACES, PINNED: (WHOLE, BY_LAYER)}
Send = Callable[[str, int], float]


def link_rows(models: Models) -> list[Row]:
    """The points of the experiment kv_transfer: by way and pace, and by tokens (n_input)."""
    sizes = models.sizes
    by_page = {COPY: sizes.by_page, NCCL: sizes.by_page_nccl}
    row = Row("kv_transfer", f"KV cache of {models.name}", 1, 1, 0, True, outcome="-")
    return [
        replace(row, n_input=n, setting=f"{way}, {pace}")
        for way, paces in WAYS.items()
        for pace in paces
        for n in sizes.caches
        if pace != BY_PAGE or n <= by_page[way]
    ]


def link(
    models: Models, n_samples: int, is_done: IsDone, devices: list[str], ways: tuple[str, ...]
) -> Iterator[Row]:
    """The rows of some ways that are not done yet, if there are such ways between the devices."""
    shape, dtype = models.shape, getattr(torch, models.profile.dtype)
    n_most, rows = max(models.sizes.caches), link_rows(models)
    for way in ways:
        lacking = [row for row in rows if row.setting.startswith(way) and not is_done(row.key)]
        if not lacking or (way != PINNED and len(devices) < 2):
            continue

        def measure(way: str = way, rows: list[Row] = lacking) -> Iterator[Row]:
            if way == NCCL:
                with peer(shape, n_most, dtype, (devices[0], devices[1])) as other:
                    yield from _timed(other.send, rows, shape, dtype, n_samples)
            else:
                ends = [SentCache.of(shape, n_most, dtype, each) for each in devices[:2]]
                send = Copied(ends[0], ends[-1], way == PINNED)
                yield from _timed(send, rows, shape, dtype, n_samples)

        yield from rows_in_room(lacking, measure)
        free_device_memory()


def _timed(
    send: Send, rows: list[Row], shape: DecoderShape, dtype: torch.dtype, n_samples: int
) -> Iterator[Row]:
    for row in rows:
        pace = row.setting.partition(", ")[2]
        samples_s = [send(pace, row.n_input) for _ in range(n_samples + 2)][2:]
        yield measured(row, samples_s, {"bytes": row.n_input * token_bytes(shape, dtype.itemsize)})


class Copied:
    """Sends a cache by copies from end to end, or by pinned memory of the host between them."""

    def __init__(self, source: SentCache, target: SentCache, is_pinned: bool) -> None:
        self._source, self._target, self._host = source, target, None
        if is_pinned:
            self._host = torch.empty_like(
                source.whole, device="cpu", pin_memory=source.whole.is_cuda
            )

    def __call__(self, pace: str, n_tokens: int) -> float:
        """Seconds until all of a cache is in its place."""
        pieces = (each.pieces(pace, n_tokens) for each in (self._source, self._target))
        pairs = list(zip(*pieces, strict=True))
        self._wait()
        start_s = time.perf_counter()
        if pace == GATHERED:
            self._source.gather(n_tokens)
        if self._host is None:
            for piece, place in pairs:
                place.copy_(piece, non_blocking=True)
        else:
            self._by_host(pairs)
        if pace == GATHERED:
            self._target.scatter(n_tokens)
        self._wait()
        return time.perf_counter() - start_s

    def _by_host(self, pairs: list[tuple[Tensor, Tensor]]) -> None:
        """A piece goes on as soon as it is on the host, while the next one comes."""
        begin = 0
        for piece, place in pairs:
            kept = self._host[begin : begin + piece.numel()].view(piece.shape)
            kept.copy_(piece, non_blocking=True)
            if piece.is_cuda:
                there = torch.cuda.current_stream(piece.device).record_event()
                torch.cuda.current_stream(place.device).wait_event(there)
            place.copy_(kept, non_blocking=True)
            begin += piece.numel()

    def _wait(self) -> None:
        for each in (self._source, self._target):
            if each.pool.is_cuda:
                torch.cuda.synchronize(each.pool.device)
        synchronize()
