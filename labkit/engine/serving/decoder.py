"""One pass over chunks of prompts and over running requests; small passes as CUDA graphs."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import torch
from torch import Tensor

from labkit.engine import registry
from labkit.engine.captured import captured
from labkit.engine.serving.batch import Batch, Fed, Prompts, Sizes, n_fed_to
from labkit.engine.serving.pages import Pages
from labkit.engine.weights import Weights

NAME = "serving"
KERNELS = (
    registry.Kernel(NAME, "triton", registry.why_no_tensor_cores, "serving.fast", "Fast"),
    registry.Kernel(NAME, "torch", registry.always, "serving.plain", "Plain"),
)
BUCKETS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)  # running requests that a pass is captured for
MOST_CAPTURED = 2048  # tokens of prompts: more keep a GPU busy while the host launches its kernels
N_CHUNKS = 16  # of a captured pass
OnLayer = Callable[[int], None]


def captured_sizes(n_running: int, n_chunks: int, n_tokens: int, n_fed: int = 1) -> Sizes | None:
    """The sizes of the smallest captured pass for so much; None if there is none.

    Tokens of chunks are filled up to a multiple of 64, 128 or 256: by less than a quarter from 256
    tokens on.
    """
    bucket = next((size for size in BUCKETS if size >= n_running), None)
    if bucket is None or n_chunks > N_CHUNKS or n_tokens > MOST_CAPTURED:
        return None
    step = 64 if n_tokens <= 512 else 128 if n_tokens <= 1024 else 256
    return bucket, n_fed, N_CHUNKS if n_chunks else 0, -(-n_tokens // step) * step


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
        weights.check_positions(n_positions)
        self.weights, self.shape = weights, weights.shape
        place = {"dtype": weights.dtype, "device": weights.device}
        self.pages = Pages(weights.shape, n_pages, n_slots, n_positions, **place)
        self.kernel = registry.choose(NAME, weights, without, KERNELS)
        self._do = self.kernel.make(weights.shape, n_slots, weights.device)
        self._captured: dict[Sizes, _Captured] = {}
        self._memory = torch.cuda.graph_pool_handle() if self._do.can_capture else None

    @torch.inference_mode()
    def forward(
        self,
        running: Fed,
        prompts: Prompts | None = None,
        on_layer: OnLayer | None = None,
    ) -> Tensor:
        """Logits (B T + P, V): after each token of the running requests, and after each chunk.

        running: the last token of a request, which is not in the cache yet, by slot; or that and
        drafted ones, as many for each request. prompts: the next tokens of a prompt, by slot. All
        of them are in the cache then: `pages.rewind` takes rejected ones back. on_layer: called
        with the number of each layer when all of its keys and values are queued to be written.
        The logits hold until the next pass.
        Raises: ValueError for no token, a slot twice, no room in a slot, more than MOST_FED tokens
        of a running request or unequal numbers; nothing has changed then.
        """
        prompts = prompts or {}
        n_fed = n_fed_to(running)
        self._check(dict.fromkeys(running, n_fed) | {s: len(t) for s, t in prompts.items()})
        if twice := running.keys() & prompts.keys():
            raise ValueError(f"slot {min(twice)} both runs and has a prompt; wanted one of them")
        n_new = [len(chunk) for chunk in prompts.values()]
        sizes = captured_sizes(len(running), len(n_new), sum(n_new), n_fed)
        if on_layer or not self._do.can_capture:
            sizes = None
        pages = self.pages
        batch = Batch.of(running, prompts, pages.n_cached, pages.nobody, sizes)
        with self._on_device():
            if sizes:
                if sizes not in self._captured:
                    self._captured[sizes] = _Captured(self, sizes)
                logits = self._captured[sizes].run(batch, n_fed * len(running), len(prompts))
            else:
                logits = self._pass(batch.to(self.weights.device), on_layer)
        for slot in running:
            self.pages.n_cached[slot] += n_fed
        for slot, tokens in prompts.items():
            self.pages.n_cached[slot] += len(tokens)
        return logits

    def repeated(self, running: Fed) -> Callable[[], object]:
        """What makes such a pass again, without the host's part of it: to be timed.

        The lengths on the device grow with each; `pages.rewind_all` takes all of them back.
        """
        self.forward(running)
        if self._do.can_capture:
            return self._captured[captured_sizes(len(running), 0, 0, n_fed_to(running))].replay
        pages = self.pages
        return partial(self._pass, Batch.of(running, {}, pages.n_cached, pages.nobody))

    def step(
        self,
        running: Fed,
        prompts: Prompts | None = None,
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

    def _pass(self, batch: Batch, on_layer: OnLayer | None = None) -> Tensor:
        """The pass itself, which also counts the new tokens into the lengths on the device."""
        pages = self.pages
        x = self._layers(batch, pages.rows(batch.slots, batch.positions), on_layer)
        pages.lengths.index_add_(0, batch.slots, torch.ones_like(batch.slots, dtype=torch.int32))
        pages.lengths[pages.nobody :].zero_()
        return self._do.norm(x[batch.last]) @ self.weights.head.t()

    def _layers(self, batch: Batch, rows: Tensor, on_layer: OnLayer | None) -> Tensor:
        """What the layers make of all tokens: (N, d_model). rows: (N,), of keys and values."""
        weights, pages, do = self.weights, self.pages, self._do
        angles, width = (weights.cos, weights.sin), self.shape.n_heads * self.shape.head_dim
        n_running = len(batch.running.slots)
        x = weights.embedding[batch.tokens]
        for i, layer in enumerate(weights.layers):
            cache = (pages.keys[i], pages.values[i])
            qkv = do.norm(x) @ layer.qkv.t()
            queries = do.place(qkv, layer.head_norms, angles, batch.positions, rows, *cache)
            if on_layer:
                on_layer(i)
            mixed = torch.empty(len(x), width, dtype=x.dtype, device=x.device)
            place = (*cache, pages.table, pages.lengths)
            if n_running:
                do.decode(queries[:n_running], *place, batch.running, mixed[:n_running])
            if batch.packed:
                do.packed(queries[n_running:], *place, batch.packed, mixed[n_running:])
            x.addmm_(mixed, layer.output.t())
            x.addmm_(do.gate(do.norm(x) @ layer.gate_up.t()), layer.down.t())
        return x


class _Captured:
    """A pass of these sizes as a CUDA graph. All that it reads stays in place."""

    def __init__(self, decoder: PagedDecoder, sizes: Sizes) -> None:
        """It is captured with nobody's tokens alone, so that nothing is written over."""
        self._decoder, self._n_decoded = decoder, sizes[0] * sizes[1]
        empty = Batch.of({}, {}, decoder.pages.n_cached, decoder.pages.nobody, sizes)
        self._batch = empty.to(decoder.weights.device)
        self._logits: Tensor | None = None
        self.replay = captured(self._make, decoder._memory)

    def _make(self) -> None:
        self._logits = self._decoder._pass(self._batch)

    def run(self, batch: Batch, n_decoded: int, n_chunks: int) -> Tensor:
        """The logits of the requests; they hold until the next pass. n_decoded: running tokens."""
        self._batch.copy_(batch)
        self.replay()
        if not n_chunks:
            return self._logits[:n_decoded]
        chunks = self._logits[self._n_decoded : self._n_decoded + n_chunks]
        return torch.cat([self._logits[:n_decoded], chunks]) if n_decoded else chunks
