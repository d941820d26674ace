"""How far the sweeps go: on a GPU, and on a CPU, where they show that they run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from labkit.engine.serving.decoder import PagedDecoder
from labkit.engine.serving.pages import PAGE
from labkit.engine.weights import DecoderShape, Weights, weights_of
from labkit.measuring.device import free_device_memory
from labkit.measuring.machine.device_memory import available_memory_bytes
from labkit.measuring.profiles import MachineProfile
from labkit.zoo.shape import build, config_of

SPARE_BYTES = 8e9  # of a GPU, for what a pass makes on its way
ROLE = "cache-baseline"


@dataclass(frozen=True, slots=True)
class Sizes:
    """All in tokens, but batches and running: requests. beside: the contexts of those that run.

    prompts: numbers of prompts that make up packed_tokens. overlap: of a prefill that a cache
    leaves, and of the requests that decode while one comes.
    """

    prefill: tuple[int, ...]
    prompts: tuple[int, ...]
    packed_tokens: int
    batches: tuple[int, ...]
    contexts: tuple[int, ...]
    mixed: tuple[int, ...]
    running: tuple[int, ...]
    beside: int
    caches: tuple[int, ...]
    by_page: int  # of the longest cache that is sent page by page, by copies
    by_page_nccl: int  # and by NCCL
    overlap: tuple[int, int]
    handed_over: tuple[int, ...]
    room: int  # of a pool on a CPU


GPU = Sizes(
    prefill=tuple(2**i for i in range(7, 15)),
    prompts=(4, 16),
    packed_tokens=8192,
    batches=tuple(2**i for i in range(8)),
    contexts=(512, 2048, 8192),
    mixed=(128, 512, 2048, 8192),
    running=(0, 16, 64),
    beside=2048,
    caches=(16, 64, 256, 1024, 4096, 16_384),
    by_page=4096,
    by_page_nccl=1024,
    overlap=(4096, 64),
    handed_over=(512, 2048, 8192),
    room=0,
)
CPU = Sizes(
    prefill=(16, 32),
    prompts=(4,),
    packed_tokens=32,
    batches=(1, 2),
    contexts=(16,),
    mixed=(16,),
    running=(0, 2),
    beside=16,
    caches=(16, 48),
    by_page=16,
    by_page_nccl=16,
    overlap=(32, 2),
    handed_over=(16,),
    room=256,
)


def sizes_of(profile: MachineProfile) -> Sizes:
    """Of this kind of machine."""
    return GPU if profile.device == "cuda" else CPU


class Models:
    """The model of a profile with random weights, on each device that asks for it."""

    def __init__(self, profile: MachineProfile) -> None:
        self.profile, self.sizes = profile, sizes_of(profile)
        self.name = profile.roles[ROLE]
        self._weights: dict[str, Weights] = {}

    @property
    def shape(self) -> DecoderShape:
        """Of the model, which need not be made for it."""
        return DecoderShape.of(config_of(self.name))

    def weights(self, device: str) -> Weights:
        """Made when they are first wanted."""
        if device not in self._weights:
            longest = max(*self.sizes.prefill, *self.sizes.caches, *self.sizes.contexts) + 64
            dtype = getattr(torch, self.profile.dtype)
            self._weights[device] = weights_of(build(self.name, device, dtype), longest)
        return self._weights[device]

    @contextmanager
    def decoder(self, device: str, n_tokens: int | None = None) -> Iterator[PagedDecoder]:
        """With room for n_tokens, or for as many as fit; its pages hold random numbers."""
        weights, shape = self.weights(device), self.weights(device).shape
        free_device_memory()
        if n_tokens is None:
            free_bytes = available_memory_bytes(device) or 0
            token_bytes = 4 * shape.n_layers * shape.n_kv_heads * shape.head_dim
            n_tokens = self.sizes.room or max(PAGE, int((free_bytes - SPARE_BYTES) / token_bytes))
        slots = max(*self.sizes.batches, *self.sizes.prompts, *self.sizes.running) + 1
        decoder = PagedDecoder(weights, n_tokens // PAGE, slots, len(weights.cos))
        for each in (decoder.pages.keys, decoder.pages.values):
            each.normal_()
        yield decoder
