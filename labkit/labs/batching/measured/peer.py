"""The process at the other end of a link: it receives KV caches, or sends them, by NCCL.

One process owns one GPU, as in a server. The parent says over a pipe what comes next; the times of
both are read off one clock, that of the machine.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import distributed, multiprocessing

from labkit.engine.weights import DecoderShape
from labkit.labs.batching.measured.cache import GATHERED, SentCache

WAIT_S = 60.0
MOST_MESSAGES = 512  # of a group


class Peer:
    """The parent's end: rank 0, with its own cache. clock: time.perf_counter, of all processes."""

    def __init__(self, pipe: Connection, cache: SentCache) -> None:
        self._pipe, self.cache = pipe, cache

    def send(self, pace: str, n_tokens: int) -> float:
        """Seconds until a cache is at the other end, all of it in its place."""
        self._ask("receive", pace, n_tokens)
        _wait(self.cache)
        start_s = time.perf_counter()
        if pace == GATHERED:
            self.cache.gather(n_tokens)
        for each in _moved(self.cache, pace, n_tokens, "send", 1):
            each.wait()
        _wait(self.cache)
        return self._answer() - start_s

    def begin(self, what: str, pace: str, n_tokens: int, n_times: int) -> list[Any]:
        """Let a cache go out ("send") or come in ("receive") again and again; what to wait for."""
        self._ask("receive" if what == "send" else "send", pace, n_tokens, n_times)
        return [
            work for _ in range(n_times) for work in _moved(self.cache, pace, n_tokens, what, 1)
        ]

    def end(self, works: list[Any]) -> None:
        """Wait for what `begin` began, here and there."""
        for work in works:
            work.wait()
        _wait(self.cache)
        self._answer()

    def _ask(self, what: str, pace: str, n_tokens: int, n_times: int = 1) -> None:
        self._pipe.send((what, pace, n_tokens, n_times))
        self._answer()

    def _answer(self) -> float:
        if not self._pipe.poll(WAIT_S):
            raise RuntimeError(f"the other process has not answered for {WAIT_S:g} s")
        return self._pipe.recv()


@contextmanager
def peer(
    shape: DecoderShape, n_tokens: int, dtype: torch.dtype, devices: tuple[str, str]
) -> Iterator[Peer]:
    """A second process with a cache of its own, on the second device; it ends with the block."""
    backend = "nccl" if devices[0].startswith("cuda") else "gloo"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    context = multiprocessing.get_context("spawn")
    own, other = context.Pipe()
    arguments = (other, address, backend, shape, n_tokens, dtype, devices[1])
    child = context.Process(target=_serve, args=arguments, daemon=True)
    child.start()
    try:
        _join(address, backend, 0, devices[0])
        cache = SentCache.of(shape, n_tokens, dtype, devices[0])
        yield Peer(own, cache)
        own.send(None)
        child.join(WAIT_S)
    finally:
        if child.is_alive():
            child.terminate()
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _join(address: str, backend: str, rank: int, device: str) -> None:
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    if backend == "nccl":
        torch.cuda.set_device(device)
    distributed.init_process_group(backend, init_method=address, rank=rank, world_size=2)


def _serve(
    pipe: Connection,
    address: str,
    backend: str,
    shape: DecoderShape,
    n_tokens: int,
    dtype: torch.dtype,
    device: str,
) -> None:
    """The other process, until it is sent None."""
    _join(address, backend, 1, device)
    cache = SentCache.of(shape, n_tokens, dtype, device)
    while (asked := pipe.recv()) is not None:
        what, pace, n, n_times = asked
        if what == "send" and pace == GATHERED:
            cache.gather(n)
        _wait(cache)
        pipe.send(time.perf_counter())  # it is ready
        for _ in range(n_times):
            for work in _moved(cache, pace, n, what, 0):
                work.wait()
        if what == "receive" and pace == GATHERED:
            cache.scatter(n)
        _wait(cache)
        pipe.send(time.perf_counter())
    distributed.destroy_process_group()


def _moved(cache: SentCache, pace: str, n_tokens: int, what: str, other: int) -> list[Any]:
    """Queue the pieces of a cache, as groups of messages; what to wait for."""
    do, works = distributed.isend if what == "send" else distributed.irecv, []
    pieces = [distributed.P2POp(do, each, other) for each in cache.pieces(pace, n_tokens)]
    for i in range(0, len(pieces), MOST_MESSAGES):
        works += distributed.batch_isend_irecv(pieces[i : i + MOST_MESSAGES])
    return works


def _wait(cache: SentCache) -> None:
    if cache.pool.is_cuda:
        torch.cuda.synchronize(cache.pool.device)
