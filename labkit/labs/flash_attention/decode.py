"""Lab 7's second experiment as rows of a record: one query over a long cache, split in parts."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import torch
from torch import Tensor
from torch.nn import functional

from labkit.engine.captured import captured
from labkit.engine.registry import choose
from labkit.engine.weights import DecoderShape
from labkit.measuring.device import rows_in_room
from labkit.measuring.machine.hardware import roofline_rows
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns, with_time_left

SAMPLE_S = 4e-3  # a sample has as many passes as take this long
MOST_PASSES = 50
PARTS = (1, 8, 32)
Attention = Callable[[int], Tensor]  # by the number of a layer


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured. lengths: tokens in a cache, the new one included."""

    lengths: tuple[int, ...]
    n_heads: int = 32
    n_kv_heads: int = 8
    head_dim: int = 128
    n_layers: int = 32
    n_samples: int = 10

    @property
    def shape(self) -> DecoderShape:
        """The decoder that the kit's kernel belongs to, as far as it looks at it."""
        return DecoderShape(
            self.n_layers, self.n_heads, self.n_kv_heads, self.head_dim, d_model=1,
            d_feedforward=1, vocab_size=1, eps=1e-5, has_head_norms=False, is_tied=True,
        )  # fmt: skip


ON_GPU = Sizes(tuple(2**i for i in range(10, 18)))
ON_CPU = Sizes((1024, 4096), n_layers=4, n_samples=3)


def decode_split(
    profile: MachineProfile, sizes: Sizes | None = None, *, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Seconds of a layer's attention for one new token of one sequence, by the cache's length.

    model: "pytorch" is `scaled_dot_product_attention` with the back end of its choice; "labkit" is
    `labkit.engine.triton_attention` with the cache in some parts (setting), on GPUs that can run
    it. It stores the new key and value too. n_input: tokens in the cache. counts: heads, parts,
    programs, the bytes of a layer's cache, error: of labkit's output, relative to pytorch's.
    A pass goes through the caches of all layers, so that most come from the large memory. On a GPU
    it is a CUDA graph.
    """
    sizes = sizes or (ON_GPU if profile.device == "cuda" else ON_CPU)
    yield from roofline_rows(profile, is_done)
    ways = [("pytorch", 0), *(("labkit", n) for n in PARTS if _has_kernel(profile))]
    for n_tokens in with_time_left(sizes.lengths, "one query", "length"):
        row = Row("decode_split", "-", 1, n_tokens, 1, True, outcome="-")
        rows = [replace(row, model=name, setting=setting(n), counts=_counts(sizes, n_tokens, n))
                for name, n in ways]  # fmt: skip
        rows = [row for row in rows if not is_done(row.key)]
        yield from rows_in_room(rows, partial(_measured, profile, sizes, rows))


def setting(n_parts: int) -> str:
    """Of the rows of a record; 0: PyTorch chooses the parts."""
    return f"{n_parts} part{'s' * (n_parts != 1)}" if n_parts else ""


def _has_kernel(profile: MachineProfile) -> bool:
    """Whether the engine's own kernel runs here."""
    like = SimpleNamespace(device=torch.device(profile.device), dtype=getattr(torch, profile.dtype))
    return choose("attention", like).backend == "triton"


def _counts(sizes: Sizes, n_tokens: int, n_parts: int) -> dict[str, float]:
    heads = {name: getattr(sizes, name) for name in ("n_heads", "n_kv_heads", "head_dim")}
    n_programs = n_parts * sizes.n_kv_heads
    return {**heads, "n_layers": sizes.n_layers, "n_parts": n_parts, "n_programs": n_programs}


def _measured(profile: MachineProfile, sizes: Sizes, rows: list[Row]) -> Iterator[Row]:
    """The rows of one length, timed in turns."""
    if not rows:
        return
    layers = _Layers(profile, sizes, rows[0].n_input)
    ways = {row.setting: layers.way(int(row.counts["n_parts"])) for row in rows}
    errors = {name: layers.error(way) for name, way in ways.items()}
    passes = {name: layers.as_pass(way) for name, way in ways.items()}
    once = time_in_turns(passes, 1)
    n_passes = {
        name: min(MOST_PASSES, math.ceil(SAMPLE_S / each.median_s)) for name, each in once.items()
    }
    repeated = {name: partial(_repeat, run, n_passes[name]) for name, run in passes.items()}
    timings = time_in_turns(repeated, sizes.n_samples, n_warmup=1)
    for row in rows:
        n = n_passes[row.setting] * sizes.n_layers
        samples_s = [sample / n for sample in timings[row.setting].samples_s]
        counts = {"cache_bytes": layers.cache_bytes, "error": errors[row.setting]}
        yield measured(row, samples_s, {**row.counts, **counts})


class _Layers:
    """The queries of one new token, and the caches of all layers: keys and values (1 Hkv S D)."""

    def __init__(self, profile: MachineProfile, sizes: Sizes, n_tokens: int) -> None:
        self._sizes, self._n_tokens, device = sizes, n_tokens, profile.device
        self._is_cuda = device == "cuda"
        made = {"device": device, "dtype": getattr(torch, profile.dtype)}
        generator = torch.Generator(device).manual_seed(0)
        half = sizes.head_dim // 2
        n_rows = sizes.n_heads + 2 * sizes.n_kv_heads
        self._qkv = torch.randn(1, n_rows * sizes.head_dim, generator=generator, **made)
        shape = (sizes.n_layers, 2, 1, sizes.n_kv_heads, n_tokens, sizes.head_dim)
        self._caches = torch.empty(shape, **made)
        for cache in self._caches:
            cache.normal_(generator=generator)
        heads = self._qkv.view(n_rows, 1, sizes.head_dim)
        self._queries = heads[None, : sizes.n_heads]
        new = heads[sizes.n_heads :].view(2, 1, sizes.n_kv_heads, 1, sizes.head_dim)
        self._caches[:, :, :, :, -1:] = new
        self._places = (
            torch.tensor([n_tokens - 1], dtype=torch.int32, device=device),
            torch.ones(n_tokens, half, device=device),  # no rotation: keys are as they are stored
            torch.zeros(n_tokens, half, device=device),
        )

    @property
    def cache_bytes(self) -> int:
        """Of one layer."""
        return self._caches[0].nbytes

    def way(self, n_parts: int) -> Attention:
        """The attention of a layer; n_parts is 0 for PyTorch's."""
        if not n_parts:
            return lambda layer: functional.scaled_dot_product_attention(
                self._queries, *self._caches[layer], enable_gqa=True
            )
        from labkit.engine.triton_attention import Attention as Kernel

        kernel = Kernel(self._sizes.shape, 1, self._qkv.device, n_parts)
        return lambda layer: kernel(self._qkv, *self._caches[layer], self._places, None)

    def error(self, way: Attention) -> float:
        """Of the output of a layer, relative to PyTorch's in float32."""
        keys, values = self._caches[0].float()
        right = functional.scaled_dot_product_attention(
            self._queries.float(), keys, values, enable_gqa=True
        ).flatten()
        return float((way(0).float().flatten() - right).norm() / right.norm())

    def as_pass(self, way: Attention) -> Callable[[], None]:
        """The attention of all layers, one after the other."""

        def run() -> None:
            for layer in range(self._sizes.n_layers):
                way(layer)

        return captured(run) if self._is_cuda else run


def _repeat(run: Callable[[], None], n_passes: int) -> None:
    for _ in range(n_passes):
        run()
