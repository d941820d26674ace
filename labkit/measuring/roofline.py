"""How fast can it possibly be? Floors of time, from what must be moved and what must be computed.

A machine has a limit of bytes moved per second and one of FLOPs per second. A pass over a model
takes at least the longer of the two times. Which one is longer depends on the FLOPs per byte moved;
at the machine's ridge point the two are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from labkit.models.facts import gpus
from labkit.models.shapes import ModelShape
from labkit.models.sizes import kv_bytes_per_token, weight_bytes
from labkit.models.tiny import facts_of

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_PEAKS = {  # dtype: its column in the table of GPUs
    "float32": "fp32_TFLOPS",
    "float16": "dense_fp16_tensor_TFLOPS",
    "bfloat16": "dense_bf16_tensor_TFLOPS",
}


@dataclass(frozen=True, slots=True)
class Roofline:
    """The limits of a machine, from a data sheet (`of`) or measured (`hardware`).

    bandwidth: bytes per second between its memory and its processors. peaks: FLOP per second by
    dtype, dense matrices (float32 without TF32); a dtype without hardware is absent.
    Raises: ValueError if a number is not positive.
    """

    name: str
    bandwidth: float
    peaks: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.peaks or min(self.bandwidth, *self.peaks.values()) <= 0:
            raise ValueError(
                f"bandwidth and peaks must be positive, got {self.bandwidth}, {dict(self.peaks)}"
            )

    @classmethod
    def of(cls, gpu: str) -> Roofline:
        """The data sheet of a card of the table, for instance "L40S".

        Raises: ValueError for a card that is not in the table.
        """
        if gpu not in gpus():
            raise ValueError(f"no facts on a GPU called {gpu!r}; there are {', '.join(gpus())}")
        facts = gpus()[gpu]
        peaks = {dtype: facts[column] for dtype, column in _PEAKS.items() if facts[column]}
        return cls(
            name=gpu,
            bandwidth=facts["bandwidth_GBps"] * 1e9,
            peaks={dtype: teraflops * 1e12 for dtype, teraflops in peaks.items()},
        )

    def peak(self, dtype: str) -> float:
        """FLOP per second in a dtype, given by its name ("float16") or as torch's own.

        Raises: ValueError if the machine has no hardware for it.
        """
        dtype = _name_of(dtype)
        if dtype not in self.peaks:
            raise ValueError(
                f"{self.name} has no peak rate for {dtype}, only for {', '.join(self.peaks)}: it "
                "has no hardware for it, or it was not measured"
            )
        return self.peaks[dtype]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.bandwidth / 1e9:,.4g} GB/s"]
        for dtype, peak in self.peaks.items():
            ridge = ridge_point(self, dtype)
            lines.append(f"  {dtype:<9}{peak / 1e12:>9.4g} TFLOP/s, ridge at {ridge:.4g} FLOP/byte")
        return "\n".join(lines)


def ridge_point(machine: Roofline | str, dtype: str = "float16") -> float:
    """FLOPs per byte moved from which on computing, not moving, takes the time.

    machine: a roofline, or the name of a card of the table.
    Source: Williams et al. 2009, "Roofline".
    """
    roofline = as_roofline(machine)
    return roofline.peak(dtype) / roofline.bandwidth


@dataclass(frozen=True, slots=True)
class ModelWork:
    """The bytes that a pass over a model has to move, and the FLOPs that it has to compute.

    n_block_params: parameters of the layers, which every token meets; embeddings and the output
    head are not among them. n_window_layers see only the last `window` tokens.
    """

    shape: ModelShape
    n_block_params: int
    n_window_layers: int = 0
    window: int | None = None

    @classmethod
    def of(cls, name: str) -> ModelWork:
        """From the facts of a model of the kit or of the table.

        Raises: ValueError for a model without facts.
        """
        facts = facts_of(name)
        return cls(
            shape=ModelShape.from_facts(name, facts),
            n_block_params=facts["non_embedding_params"],
            n_window_layers=facts.get("layers_sliding", 0),
            window=facts["sliding_window"],
        )

    def moved_bytes(self, n_tokens: int, batch_size: int, width: int) -> int:
        """Weights once, and the KV cache of a batch whose sequences have n_tokens, once.

        Of the input embeddings a pass looks up a row per token and leaves the rest alone, so they
        count only where they are the output head too.
        """
        head = self.shape.vocab_size * self.shape.d_model
        moved = weight_bytes(self.n_block_params + head, width)
        for n_layers, window in self._layers():
            n_seen = n_tokens if window is None else min(n_tokens, window)
            layers = replace(self.shape, n_layers=n_layers)
            moved += batch_size * n_seen * kv_bytes_per_token(layers, width)
        return moved

    def flops(self, n_new: int, n_cached: int, n_logits: int) -> int:
        """FLOPs for n_new tokens of one sequence after n_cached, and logits for n_logits of them.

        Two for each weight that a token meets, a multiplication and an addition; and in each layer,
        for each query head and each token that a token sees, two for each of the head_dim numbers
        of the key and again of the value.
        """
        shape = self.shape
        products = n_new * self.n_block_params + n_logits * shape.vocab_size * shape.d_model
        for n_layers, window in self._layers():
            n_seen = _n_seen(n_new, n_cached, window)
            products += 2 * n_layers * shape.n_heads * shape.head_dim * n_seen
        return 2 * products

    def _layers(self) -> list[tuple[int, int | None]]:
        """How many layers there are of each kind, and the window of that kind."""
        n_full = self.shape.n_layers - self.n_window_layers
        groups = [(n_full, None), (self.n_window_layers, self.window)]
        return [(n_layers, window) for n_layers, window in groups if n_layers]


@dataclass(frozen=True, slots=True)
class Floor:
    """The least time of a pass: moving and computing can overlap, so the longer of the two."""

    moving_s: float
    computing_s: float

    @property
    def seconds(self) -> float:
        return max(self.moving_s, self.computing_s)

    @property
    def limit(self) -> str:
        """What takes the time: "memory" or "compute"."""
        return "memory" if self.moving_s >= self.computing_s else "compute"


def pass_floor(
    machine: Roofline | str,
    model: ModelWork | str,
    n_new: int,
    n_cached: int = 0,
    batch_size: int = 1,
    dtype: str = "float16",
    n_logits: int = 1,
) -> Floor:
    """The floor of one pass over a model that feeds n_new tokens to each sequence of a batch.

    n_cached tokens of each sequence are in the KV cache already; n_logits of the new ones get
    logits. machine: a roofline or a card of the table; model: its work or its name. A model that
    fits into a processor's cache, such as the tiny pair, can be faster: its weights need not come
    from memory at every step.
    Raises: ValueError for counts below 1 (n_cached: below 0), names without facts, a dtype without
    hardware.
    """
    if min(n_new, batch_size, n_logits) < 1 or n_cached < 0 or n_logits > n_new:
        raise ValueError(
            "wanted at least 1 new token, 1 sequence, 1 to n_new logits, 0 or more cached tokens; "
            f"got {n_new} new, {batch_size} sequences, {n_logits} logits, {n_cached} cached"
        )
    roofline = as_roofline(machine)
    work = as_work(model)
    peak = roofline.peak(dtype)  # refuses a dtype that has no width here either
    moved = work.moved_bytes(n_cached + n_new, batch_size, BYTES[_name_of(dtype)])
    flops = batch_size * work.flops(n_new, n_cached, n_logits)
    return Floor(moved / roofline.bandwidth, flops / peak)


def as_roofline(machine: Roofline | str) -> Roofline:
    """A roofline, or that of a card of the fact table by its name."""
    return Roofline.of(machine) if isinstance(machine, str) else machine


def as_work(model: ModelWork | str) -> ModelWork:
    """A model's work, or that of a model of the fact table by its name."""
    return ModelWork.of(model) if isinstance(model, str) else model


def _name_of(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def _n_seen(n_new: int, n_cached: int, window: int | None) -> int:
    """How many tokens the new ones see in all, each itself included."""
    return _seen_by_first(n_cached + n_new, window) - _seen_by_first(n_cached, window)


def _seen_by_first(n_tokens: int, window: int | None) -> int:
    """How many tokens the first n_tokens of a sequence see in all: 1 + 2 + ... up to the window."""
    n_growing = n_tokens if window is None else min(n_tokens, window)
    return n_growing * (n_growing + 1) // 2 + (n_tokens - n_growing) * (window or 0)
