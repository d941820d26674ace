"""Passes while a KV cache comes or goes, and requests that are prefilled here and decoded there."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch

from labkit.engine.serving.decoder import PagedDecoder
from labkit.engine.serving.pages import PAGE
from labkit.labs.batching.measured.cache import WHOLE, SentCache
from labkit.labs.batching.measured.costs import steps, token_bytes
from labkit.labs.batching.measured.link import COPY, NCCL
from labkit.labs.batching.measured.peer import peer
from labkit.labs.batching.measured.sizes import Models
from labkit.measuring.device import free_device_memory, rows_in_room, synchronize
from labkit.measuring.records import IsDone, Row, measured

ALONE, HERE = "alone", "on one GPU"
AFTER, DURING = "sent after the last layer", "sent layer by layer"
N_TIMES = {"decode": 10, "prefill": 40}  # caches on their way, so that the pass ends before them
Begin = Callable[[str, int], Callable[[], None]]  # (decode or prefill, times): what ends it


def overlap_rows(models: Models) -> list[Row]:
    """The points of the experiment overlap: a step of running requests, and a prefill."""
    n_prompt, n_running = models.sizes.overlap
    decode = Row("overlap", models.name, n_running, 1, 0, True, outcome="-")
    prefill = replace(decode, batch_size=1, n_input=n_prompt, use_cache=False)
    rows = []
    for row, what, way in ((decode, "decode", "arriving"), (prefill, "prefill", "leaving")):
        rows.append(replace(row, setting=f"{what}, {ALONE}"))
        rows += [replace(row, setting=f"{what}, a cache {way} by {each}") for each in (COPY, NCCL)]
    return rows


def overlap(models: Models, n_samples: int, is_done: IsDone, devices: list[str],
            way: str) -> Iterator[Row]:  # fmt: skip
    """The rows without a transfer or by `way`, as far as there is one and they are not done yet."""
    wanted = [row for row in overlap_rows(models) if row.setting.endswith((ALONE, way))]
    rows = [row for row in wanted if not is_done(row.key)]
    if len(devices) < 2:
        rows = [row for row in rows if row.setting.endswith(ALONE)]
    if not rows:
        return
    n_prompt, n_running = models.sizes.overlap
    n_cached, n_sent = models.sizes.beside, max(models.sizes.caches)
    dtype = getattr(torch, models.profile.dtype)
    n_room = n_running * (n_cached + 2 * PAGE) + n_prompt + PAGE

    def measure() -> Iterator[Row]:
        with models.decoder(devices[0], n_room) as decoder:
            if way == NCCL:
                with peer(models.shape, n_sent, dtype, (devices[0], devices[1])) as other:
                    yield from _timed(decoder, rows, by_nccl(other, n_sent))
            else:
                far = [SentCache.of(models.shape, n_sent, dtype, each) for each in devices[:2]]
                yield from _timed(decoder, rows, by_copies(far))

    def _timed(decoder: PagedDecoder, rows: list[Row], begin: Begin) -> Iterator[Row]:
        runs = {
            "decode": steps(decoder, n_running, n_cached, []),
            "prefill": None,
        }
        for row in rows:
            what = row.setting.partition(",")[0]
            if what == "prefill" and runs["prefill"] is None:
                for slot in range(n_running):
                    decoder.pages.release(slot)
                runs["prefill"] = steps(decoder, 0, 0, [n_prompt])
            is_alone = row.setting.endswith(ALONE)
            samples_s = []
            for _ in range(n_samples + 2):
                synchronize()
                end = None if is_alone else begin(what, N_TIMES[what])
                start_s = time.perf_counter()
                runs[what]()
                samples_s.append(time.perf_counter() - start_s)
                if end:
                    end()
            yield measured(row, samples_s[2:], {"n_cached": n_cached if what == "decode" else 0})

    yield from rows_in_room(rows, measure)
    free_device_memory()


def by_copies(ends: list[SentCache]) -> Begin:
    """What begins to copy a cache to the first end (decode) or from it, on streams of its own."""
    streams = [torch.cuda.Stream(each.pool.device) for each in ends if each.pool.is_cuda]

    def begin(what: str, n_times: int) -> Callable[[], None]:
        to, source = ends if what == "decode" else reversed(ends)
        with ExitStack() as current:
            for stream in streams:
                current.enter_context(torch.cuda.stream(stream))
            for _ in range(n_times):
                to.whole.copy_(source.whole, non_blocking=True)

        def end() -> None:
            for stream in streams:
                stream.synchronize()

        return end

    return begin


def by_nccl(other: Any, n_tokens: int) -> Begin:
    """As `by_copies`, by NCCL."""

    def begin(what: str, n_times: int) -> Callable[[], None]:
        direction = "receive" if what == "decode" else "send"
        works = other.begin(direction, WHOLE, n_tokens, n_times)
        return lambda: other.end(works)

    return begin


def second_token_rows(models: Models) -> list[Row]:
    """The points of the experiment second_token, by prompt (n_input) and by when it is sent."""
    row = Row("second_token", models.name, 1, 1, 0, True, outcome="-")
    return [
        replace(row, n_input=n, setting=setting)
        for n in models.sizes.handed_over
        for setting in (HERE, AFTER, DURING)
    ]


def second_tokens(
    models: Models, n_samples: int, is_done: IsDone, devices: list[str]
) -> Iterator[Row]:
    """The rows that are not done yet: from the prompt until its second token is on the host.

    With one device, only those of a request that stays there.
    """
    rows = [row for row in second_token_rows(models) if not is_done(row.key)]
    if len(devices) < 2:
        rows = [row for row in rows if row.setting == HERE]
    if not rows:
        return
    n_room = max(models.sizes.handed_over) + 2 * PAGE
    width = getattr(torch, models.profile.dtype).itemsize
    each_bytes = token_bytes(models.shape, width)

    def measure() -> Iterator[Row]:
        with models.decoder(devices[0], n_room) as here, models.decoder(devices[-1], n_room) as far:
            move = HandOver(here, far)
            for row in rows:
                tokens = torch.randint(0, here.shape.vocab_size, (row.n_input,))
                runs = [move(tokens, row.setting)[1] for _ in range(n_samples + 2)]
                yield measured(row, runs[2:], {"bytes": row.n_input * each_bytes})

    yield from rows_in_room(rows, measure)
    free_device_memory()


class HandOver:
    """Prefills a request on one decoder and makes its second token on another.

    Both have it in slot 0, in pages that follow each other, so a layer goes in one copy.
    """

    def __init__(self, here: PagedDecoder, far: PagedDecoder) -> None:
        self._here, self._far = here, far
        self._devices = [each.weights.device for each in (here, far)]
        self._streams = []
        if here is not far and self._devices[0].type == "cuda":
            self._streams = [torch.cuda.Stream(device) for device in self._devices]

    def __call__(self, tokens: torch.Tensor, setting: str) -> tuple[list[int], float]:
        """Two tokens, and the seconds until the second."""
        n, here = len(tokens), self._here
        there = here if setting == HERE else self._far
        for decoder in {id(each): each for each in (here, there)}.values():
            decoder.pages.release(0)
            decoder.pages.reserve(0, n + 1)
        for device in self._devices:
            if device.type == "cuda":
                torch.cuda.synchronize(device)

        def on_layer(i: int) -> None:  # always there, so that no prefill is a captured one
            if setting == DURING:
                self._send(i, n)

        start_s = time.perf_counter()
        (first,) = here.forward({}, {0: tokens}, on_layer).argmax(dim=-1).tolist()
        if setting == AFTER:
            for i in range(here.shape.n_layers):
                self._send(i, n)
        if there is not here:
            there.pages.rewind(0, n)
            if self._streams:
                torch.cuda.current_stream(self._devices[1]).wait_stream(self._streams[1])
        (second,) = there.step({0: first})
        return [first, second], time.perf_counter() - start_s

    def _send(self, layer: int, n_tokens: int) -> None:
        """Copy the keys and values of a layer, as soon as they are written, beside what follows."""
        ends = [each.pages for each in (self._here, self._far)]
        if self._streams:
            written = torch.cuda.current_stream(self._devices[0]).record_event()
            self._streams[0].wait_event(written)
        with ExitStack() as current:
            for stream in self._streams:
                current.enter_context(torch.cuda.stream(stream))
            self._copy(ends, layer, n_tokens)

    def _copy(self, ends: list[Any], layer: int, n_tokens: int) -> None:
        (first, far) = (each.pages_of(0) for each in ends)
        for name in ("keys", "values"):
            source, place = (getattr(each, name)[layer] for each in ends)
            new, old = far[0] * PAGE, first[0] * PAGE
            place[new : new + n_tokens].copy_(source[old : old + n_tokens], non_blocking=True)
