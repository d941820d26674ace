"""Weights that wait in a slower memory and are brought over, layer by layer, in every step.

On a GPU the slower memory is the host's: pinned, and copied over the link before a layer runs, or,
with overlap, while the layer before it runs. On a CPU there is only one memory: an offloaded layer
is copied from one place in it to another, at the rate at which this machine copies.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from labkit.measuring.device import synchronize


class LayerStore:
    """A layer's weights in host memory, flat; points the layer at the buffer they come to."""

    def __init__(self, layer: nn.Module) -> None:
        self.parameters = list(layer.parameters())
        flat = torch.cat([parameter.data.reshape(-1) for parameter in self.parameters]).cpu()
        self.flat = flat.pin_memory() if self.parameters[0].is_cuda else flat

    @property
    def n_bytes(self) -> int:
        return self.flat.nbytes

    def point_to(self, buffer: Tensor) -> None:
        """Let the layer read its weights from the front of a buffer, and give up its own memory."""
        start = 0
        for parameter in self.parameters:
            n_items = parameter.numel()
            parameter.data = buffer[start : start + n_items].view(parameter.shape)
            start += n_items

    def restore(self, device: torch.device) -> None:
        """Back into memory of its own."""
        self.point_to(self.flat.to(device, copy=True))


@contextmanager
def offloaded(model: Any, layers: Sequence[int], overlap: bool = False) -> Iterator[int]:
    """Keep these layers of a transformers model in host memory while the block runs.

    Yields the bytes that every pass brings over. Afterwards all layers are back. With overlap, the
    next offloaded layer is copied while the present one computes; that needs a GPU.
    Raises: ValueError for layers that the model does not have, or named twice, for layers of
    different sizes, and for overlap without a GPU.
    """
    blocks = model.model.layers
    device = next(model.parameters()).device
    if len(set(layers)) != len(layers) or not set(layers) <= set(range(len(blocks))):
        raise ValueError(f"wanted different layers of 0 to {len(blocks) - 1}, got {list(layers)}")
    if overlap and device.type != "cuda":
        raise ValueError("copying while computing needs a GPU: leave overlap out")
    stores = [LayerStore(blocks[i]) for i in sorted(layers)]
    if len({store.n_bytes for store in stores}) > 1:
        raise ValueError("the layers have different sizes, one buffer cannot serve them all")
    if not stores:
        yield 0
        return
    mover = _Mover(stores, device, overlap)
    hooks = [
        blocks[i].register_forward_pre_hook(lambda *_, place=place: mover.bring(place))
        for place, i in enumerate(sorted(layers))
    ]
    try:
        yield sum(store.n_bytes for store in stores)
    finally:
        for hook in hooks:
            hook.remove()
        synchronize()
        for store in stores:
            store.restore(device)


class _Mover:
    """Brings layers into one buffer, or into two in turns where copying overlaps."""

    def __init__(self, stores: Sequence[LayerStore], device: torch.device, overlap: bool) -> None:
        self._stores, self._overlap = stores, overlap
        n_buffers = 2 if overlap else 1
        like = stores[0].flat
        self._buffers = [
            torch.empty(like.shape, dtype=like.dtype, device=device) for _ in range(n_buffers)
        ]
        for place, store in enumerate(stores):
            store.point_to(self._buffers[place % n_buffers])
        if overlap:
            self._stream = torch.cuda.Stream(device)
            self._arrived: dict[int, torch.cuda.Event] = {}

    def bring(self, place: int) -> None:
        """Make sure that a layer's weights are in its buffer before it runs."""
        if not self._overlap:
            self._buffers[0].copy_(self._stores[place].flat, non_blocking=True)
            return
        if place not in self._arrived:
            self._fetch(place)
        torch.cuda.current_stream().wait_event(self._arrived.pop(place))
        if place + 1 < len(self._stores):
            self._fetch(place + 1)

    def _fetch(self, place: int) -> None:
        """Start copying, once all that is queued so far (and reads that buffer) is done.

        The layer before the present one was the last to read the buffer, and is queued already.
        """
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            buffer = self._buffers[place % len(self._buffers)]
            buffer.copy_(self._stores[place].flat, non_blocking=True)
            event = torch.cuda.Event()
            event.record()
        self._arrived[place] = event


def copy_bandwidth(n_bytes: int, device: str | torch.device, n_repeats: int = 5) -> float:
    """Bytes per second at which offloaded weights arrive: host to device, or memory to memory.

    n_bytes: of one copy, best as large as a layer. The fastest of a few copies counts.
    """
    place = torch.device(device)
    host = torch.ones(n_bytes, dtype=torch.uint8)
    host = host.pin_memory() if place.type == "cuda" else host
    buffer = torch.empty(n_bytes, dtype=torch.uint8, device=place)
    samples_s = []
    for _ in range(n_repeats + 1):  # the first one finds its pages
        synchronize()
        start_s = time.perf_counter()
        buffer.copy_(host, non_blocking=True)
        synchronize()
        samples_s.append(time.perf_counter() - start_s)
    return n_bytes / min(samples_s[1:])
