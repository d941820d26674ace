"""One pass over chunks of prompts and over running requests, and steps of decoding as CUDA graphs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate

import torch
from torch import Tensor

from labkit.engine import registry
from labkit.engine.captured import captured
from labkit.engine.serving.pages import Pages
from labkit.engine.serving.plain import Packed, Running
from labkit.engine.weights import Weights

NAME = "serving"
KERNELS = (
    registry.Kernel(NAME, "triton", registry.why_no_tensor_cores, "serving.fast", "Fast"),
    registry.Kernel(NAME, "torch", registry.always, "serving.plain", "Plain"),
)
BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)  # batches that a step is captured for
OnLayer = Callable[[int], None]


class PagedDecoder:
    """A model with its pages. without: backends of `KERNELS` that it must not use."""

    def __init__(
        self,
        weights: Weights,
        n_pages: int,
        n_slots: int,
        n_positions: int,
        without: Collection[str] = (),
    ) -> None:
        """n_positions: of the longest request. Raises: ValueError for more than have angles."""
        if n_positions > len(weights.cos):
            raise ValueError(
                f"the weights have angles for {len(weights.cos)} positions, wanted {n_positions}"
            )
        self.weights, self.shape = weights, weights.shape
        place = {"dtype": weights.dtype, "device": weights.device}
        self.pages = Pages(weights.shape, n_pages, n_slots, n_positions, **place)
        self.kernel = registry.choose(NAME, weights, without, KERNELS)
        self._do = self.kernel.make(weights.shape, n_slots, weights.device)
        self._steps: dict[int, _Step] = {}

    @torch.inference_mode()
    def forward(
        self,
        running: Mapping[int, int],
        prompts: Mapping[int, Sequence[int] | Tensor] | None = None,
        on_layer: OnLayer | None = None,
    ) -> Tensor:
        """Logits (B + P, V): after the last token of each running request, and after each chunk.

        running: the last token of a request, which is not in the cache yet, by slot. prompts: the
        next tokens of a prompt, by slot. All of them are in the cache then. on_layer: called with
        the number of each layer when all of its keys and values are queued to be written.
        Raises: ValueError for no token, a slot twice, a slot without room; nothing has changed then.
        """
        prompts = prompts or {}
        self._check({slot: 1 for slot in running} | {s: len(t) for s, t in prompts.items()})
        if twice := running.keys() & prompts.keys():
            raise ValueError(f"slot {min(twice)} both runs and has a prompt; wanted one of them")
        with self._on_device():
            if running and not prompts and not on_layer and self._do.can_capture:
                logits = self._replayed(running)
            else:
                n_cached = tuple(self.pages.n_cached[slot] for slot in running)
                batch = Running(self._tensor(running), n_cached)
                logits = self._pass(self._tensor(running.values()), batch, prompts, on_layer)
        for slot in running:
            self.pages.n_cached[slot] += 1
        for slot, tokens in prompts.items():
            self.pages.n_cached[slot] += len(tokens)
        return logits

    def step(
        self,
        running: Mapping[int, int],
        prompts: Mapping[int, Sequence[int] | Tensor] | None = None,
    ) -> list[int]:
        """As `forward`: the most likely tokens, on the host."""
        return self.forward(running, prompts).argmax(dim=-1).tolist()

    def _on_device(self) -> AbstractContextManager:
        """Kernels go to the GPU of the weights, whichever is the current one."""
        device = self.weights.device
        return torch.cuda.device(device) if device.type == "cuda" else nullcontext()

    def _check(self, n_new: Mapping[int, int]) -> None:
        if not n_new or not all(n_new.values()):
            raise ValueError("wanted at least one token, and at least one in each chunk")
        for slot, n in n_new.items():
            if not 0 <= slot < self.pages.nobody:
                raise ValueError(f"there are slots 0 to {self.pages.nobody - 1}, got {slot}")
            self.pages.check_room(slot, self.pages.n_cached[slot] + n)

    def _tensor(self, numbers: Collection[int]) -> Tensor:
        return torch.tensor(list(numbers), dtype=torch.int64).to(self.weights.device)

    def _pass(
        self,
        tokens: Tensor,
        running: Running,
        prompts: Mapping[int, Sequence[int] | Tensor],
        on_layer: OnLayer | None = None,
    ) -> Tensor:
        """The pass itself, which also counts the new tokens into the lengths on the device."""
        pages, device = self.pages, self.weights.device
        slots, positions = [running.slots], [pages.lengths[running.slots].long()]
        fed, n_new = [tokens], [len(each) for each in prompts.values()]
        for slot, chunk in prompts.items():
            n_cached = pages.n_cached[slot]
            fed.append(torch.as_tensor(chunk, device=device))
            slots.append(torch.full((len(chunk),), slot, device=device))
            positions.append(torch.arange(n_cached, n_cached + len(chunk), device=device))
        fed, slots, positions = (torch.cat(each) for each in (fed, slots, positions))
        n_running = len(running.slots)
        last = [*range(n_running), *(n_running + n - 1 for n in accumulate(n_new))]
        x = self._layers(fed, positions, pages.rows(slots, positions), running,
                         self._packed(prompts), on_layer)  # fmt: skip
        pages.lengths.index_add_(0, slots, torch.ones_like(slots, dtype=torch.int32))
        pages.lengths[pages.nobody :].zero_()
        return self._do.norm(x if len(last) == len(x) else x[self._tensor(last)]) @ (
            self.weights.head.t()
        )

    def _layers(
        self,
        tokens: Tensor,
        positions: Tensor,
        rows: Tensor,
        running: Running,
        packed: Packed | None,
        on_layer: OnLayer | None,
    ) -> Tensor:
        """What the layers make of all tokens (N,): (N, d_model)."""
        weights, pages, do, n_running = self.weights, self.pages, self._do, len(running.slots)
        angles, width = (weights.cos, weights.sin), self.shape.n_heads * self.shape.head_dim
        x = weights.embedding[tokens]
        for i, layer in enumerate(weights.layers):
            keys, values = pages.keys[i], pages.values[i]
            qkv = do.norm(x) @ layer.qkv.t()
            queries = do.place(qkv, layer.head_norms, angles, positions, rows, keys, values)
            if on_layer:
                on_layer(i)
            mixed = torch.empty(len(x), width, dtype=x.dtype, device=x.device)
            if n_running:
                do.decode(
                    queries[:n_running], keys, values, pages.table, pages.lengths, running,
                    mixed[:n_running],
                )  # fmt: skip
            if packed:
                do.packed(queries[n_running:], keys, values, packed, mixed[n_running:])
            x.addmm_(mixed, layer.output.t())
            x.addmm_(do.gate(do.norm(x) @ layer.gate_up.t()), layer.down.t())
        return x

    def _packed(self, prompts: Mapping[int, Sequence[int] | Tensor]) -> Packed | None:
        """Where the chunks lie, and all keys that they see."""
        if not prompts:
            return None
        device, n_cached = self.weights.device, self.pages.n_cached
        n_new = tuple(len(chunk) for chunk in prompts.values())
        n_keys = tuple(n_cached[slot] + n for slot, n in zip(prompts, n_new, strict=True))
        slots = [torch.full((n,), slot, device=device) for slot, n in zip(prompts, n_keys)]
        positions = [torch.arange(n, device=device) for n in n_keys]
        ends = (
            torch.tensor([0, *accumulate(each)], dtype=torch.int32).to(device)
            for each in (n_new, n_keys)
        )
        return Packed(n_new, n_keys, *ends, self.pages.rows(torch.cat(slots), torch.cat(positions)))

    def _replayed(self, running: Mapping[int, int]) -> Tensor:
        """A step of running requests by a captured graph, filled up with nobody's slot."""
        bucket = next((size for size in BUCKETS if size >= len(running)), len(running))
        if bucket not in self._steps:
            self._steps[bucket] = _Step(self, bucket)
        return self._steps[bucket].run(running)


class _Step:
    """A step of up to `size` running requests as a CUDA graph. All that it reads stays in place."""

    def __init__(self, decoder: PagedDecoder, size: int) -> None:
        self._decoder, device = decoder, decoder.weights.device
        self._nobody = decoder.pages.nobody
        self._tokens = torch.zeros(size, dtype=torch.int64, device=device)
        self._slots = torch.full_like(self._tokens, self._nobody)
        self._logits: Tensor | None = None
        self._replay = captured(self._make)  # with nobody's slots alone, so nothing is written over

    def _make(self) -> None:
        self._logits = self._decoder._pass(self._tokens, Running(self._slots, None), {})

    def run(self, running: Mapping[int, int]) -> Tensor:
        """The logits of the requests; they hold until the next step of this size."""
        n_more = len(self._slots) - len(running)
        slots, tokens = [*running, *[self._nobody] * n_more], [*running.values(), *[0] * n_more]
        both = torch.tensor([slots, tokens], dtype=torch.int64).to(self._slots.device)
        self._slots.copy_(both[0])
        self._tokens.copy_(both[1])
        self._replay()
        return self._logits[: len(running)]
