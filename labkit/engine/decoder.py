"""The decoder: tokens in, logits out, keys and values into the arena."""

from collections.abc import Callable, Collection, Mapping

import torch
from torch import Tensor

from labkit.engine import registry
from labkit.engine.arena import Arena
from labkit.engine.weights import MOST_VECTORS, Weights


class Decoder:
    """A model and its arena. without: backends of `registry` that it must not use.

    states: what the last layer gave for each token of the last call, (B T, d); None before it.
    """

    def __init__(
        self,
        weights: Weights,
        n_positions: int,
        n_sequences: int = 1,
        without: Collection[str] = (),
    ) -> None:
        weights.check_positions(n_positions)
        self.weights, self.shape = weights, weights.shape
        self.states: Tensor | None = None
        self.arena = Arena.empty(
            weights.shape, n_positions, n_sequences, dtype=weights.dtype, device=weights.device
        )
        self.kernels = {
            name: registry.choose(name, weights, without) for name in ("linear", "attention")
        }
        self._few = self._many = self._made(self.kernels)
        left_out = ("triton", "graph", *without)
        plain = {name: registry.choose(name, weights, left_out) for name in self.kernels}
        if plain != self.kernels:  # for more tokens than the kernels for decoding take
            self._many = self._made(plain)

    @property
    def can_capture(self) -> bool:
        """Whether its steps never wait for the device, so that they can be a CUDA graph."""
        return self.kernels["attention"].backend != "torch"

    def _made(self, kernels: Mapping[str, registry.Kernel]) -> dict[str, Callable]:
        place = (self.shape, self.arena.n_sequences, self.weights.device)
        return {name: kernel.make(*place) for name, kernel in kernels.items()}

    @torch.inference_mode()
    def forward(self, tokens: Tensor, before: Tensor | None = None) -> Tensor:
        """Logits (B T V), float32, after each of some new tokens (B T) of every sequence.

        before: for a draft head, the target's states (B T, d) at the tokens before these.

        Their keys and values are in the arena then; `arena.lengths` stay as they were, for it is
        the caller who knows which of the tokens stay. Positions beyond the arena are lost.
        """
        linear, attention = (
            (self._few if n <= MOST_VECTORS else self._many)[name]
            for name, n in (("linear", tokens.numel()), ("attention", tokens.shape[1]))
        )
        weights, arena, eps = self.weights, self.arena, self.shape.eps
        x = weights.embedding[tokens.flatten()]
        if before is not None:
            x = linear(before, weights.of_states, normed=True, eps=eps, residual=x)
        places = attention.places(arena.lengths, tokens.shape[1], weights.cos, weights.sin)
        for layer, keys, values in zip(weights.layers, arena.keys, arena.values, strict=True):
            qkv = linear(x, layer.qkv, normed=True, eps=eps)
            mixed = attention(qkv, keys, values, places, layer.head_norms)
            x = linear(mixed, layer.output, residual=x)
            inner = linear(x, layer.gate_up, normed=True, eps=eps, gated=True)
            x = linear(inner, layer.down, residual=x)
        self.states = x
        logits = linear(x, weights.head, normed=True, eps=eps, dtype=torch.float32)
        return logits.view(*tokens.shape, -1)

    def feed(self, tokens: Tensor, before: Tensor | None = None) -> Tensor:
        """As `forward`, and the tokens stay.

        Raises: ValueError if a sequence has no room for them; nothing has been fed then.
        """
        n_longest = int(self.arena.lengths.max()) + tokens.shape[1]
        if n_longest > self.arena.n_positions:
            raise ValueError(
                f"wanted room for {n_longest} tokens, the arena has {self.arena.n_positions} "
                "positions; make the decoder with more"
            )
        logits = self.forward(tokens, before)
        self.arena.lengths.add_(tokens.shape[1])
        return logits


def check_pair(target: Decoder, draft: Decoder, gamma: int) -> None:
    """Raise ValueError for gamma below 1, and for models of different vocabularies."""
    if gamma < 1:
        raise ValueError(f"wanted at least 1 drafted token in a block, got gamma = {gamma}")
    if target.shape.vocab_size != draft.shape.vocab_size:
        raise ValueError(
            f"the target has {target.shape.vocab_size:,} tokens and the draft "
            f"{draft.shape.vocab_size:,}; wanted a pair with one vocabulary"
        )
