"""A draft from the target's own state: one layer that reads what the target's last layer gave.

At position t the head gets the target's state of position t - 1 and the embedding of token t. One
layer like the target's follows, then the target's own output matrix. So it drafts one token after
the next one. For the tokens after that, the target's state does not exist yet, and the head goes on
from what its own layer gave.

Sources: EAGLE (arXiv:2401.15077), Figure 6; multi-token prediction in DeepSeek-V3
(arXiv:2412.19437), section 2.2, equations 21 to 23.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from labkit.engine.decoder import Decoder
from labkit.engine.operations import rms_norm
from labkit.engine.weights import Weights, laid_out, layer_of, weights_of
from labkit.models.arguments import check_rewind
from labkit.models.sampling import on_cpu

if TYPE_CHECKING:
    from labkit.zoo import LoadedModel

HEAD = "tiny-head"  # that ships with the kit


def load_head(target: LoadedModel, n_positions: int = 1024) -> Decoder:
    """The head that ships with the kit, ready to draft for this target.

    Raises: ValueError for a target that it was not trained for; DamagedModel for changed files.
    """
    from safetensors.torch import load_file

    from labkit.models.folder import shipped_folder

    folder = shipped_folder(HEAD)
    card = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    check_target(card, target)
    trained = load_file(folder / "model.safetensors")
    return Decoder(head_weights(trained, target.model, n_positions), n_positions)


def check_target(card: dict[str, Any], target: LoadedModel) -> None:
    """Raise ValueError for a target that has not the name, weights and sizes on a head's card."""
    config = target.model.config
    sizes = (config.vocab_size, config.hidden_size)
    wanted = (card["vocab_size"], card["hidden_size"])
    if target.name != card["target"] or target.weights == "random" or sizes != wanted:
        raise ValueError(
            f"this head reads the states of {card['target']} as trained ({wanted[0]:,} tokens, "
            f"width {wanted[1]}), not of {target.name} with {target.weights} weights "
            f"({sizes[0]:,} tokens, width {sizes[1]})"
        )


def head_weights(trained: dict[str, Tensor], target: Any, n_positions: int) -> Weights:
    """A head's tensors as the engine's weights; embedding and output matrix are the target's.

    The embeddings are normalized and go through their half of the input matrix here, once.
    """
    whole = weights_of(target, n_positions)
    shape = replace(whole.shape, n_layers=1)
    kind = {"dtype": whole.dtype, "device": whole.device}
    trained = {name: tensor.to(**kind) for name, tensor in trained.items()}
    of_states, of_tokens = trained["input.weight"].chunk(2, dim=1)
    return replace(
        whole,
        shape=shape,
        embedding=rms_norm(whole.embedding, None, shape.eps) @ of_tokens.t(),
        layers=(layer_of(trained, "layer", shape),),
        of_states=laid_out(of_states.contiguous()),
    )


class HeadDraft:
    """A head as `labkit.models.sampling.CachedModel`, beside the target whose states it reads.

    The target must be the one that verifies: `EngineModel` or `TransformersModel`, cache empty.
    What the head computed from its own states is computed again, with the next call, once the
    target's are there. A state that is missing makes a worse draft, never a wrong text.
    """

    def __init__(self, head: Decoder, target: Any) -> None:
        """Start with an empty cache. feeds_s: seconds of each call; the first: the prompt.

        One draft at a time may use a head. Raises: ValueError for a target of another width or
        vocabulary, without states, or whose cache has tokens.
        """
        if not hasattr(target, "keep_states"):
            raise ValueError(
                "a head needs a target that keeps its states, such as TransformersModel; "
                f"{type(target).__name__} does not"
            )
        target.keep_states()
        sizes = (target.vocab_size, target.states.shape[1])
        wanted = (head.shape.vocab_size, head.shape.d_model)
        if sizes != wanted:
            target.states = None
            raise ValueError(
                f"this head reads states of width {wanted[1]} and drafts {wanted[0]:,} tokens; "
                f"the target has width {sizes[1]} and {sizes[0]:,} tokens"
            )
        self.vocab_size: int = wanted[0]
        self.feeds_s: list[float] = []
        self._head, self._target = head, target
        self._tokens: list[int] = []
        self._n_exact = 0  # tokens that were computed from the target's states
        n_rows = head.arena.n_positions + 1
        self._own = head.weights.of_states.new_zeros(n_rows, wanted[1])  # row i: before token i

    def n_cached(self) -> int:
        """Tokens in the cache."""
        return len(self._tokens)

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V). Raises: ValueError for none, or without room for them."""
        if len(tokens) == 0:
            raise ValueError("feed at least one token")
        start_s = time.perf_counter()
        text = [*self._tokens, *tokens]
        n_exact = min(len(text), self._target.n_cached() + 1)  # the target has what they need
        first = self._n_exact if n_exact > self._n_exact else len(self._tokens)
        self._head.arena.rewind(first)
        parts = []
        if n_exact > first:
            states = self._target.states[max(first - 1, 0) : n_exact - 1]
            nothing = self._own[: first == 0]  # before token 0
            parts.append(self._step(text, first, torch.cat([nothing, states])))
        for i in range(max(first, n_exact), len(text)):
            parts.append(self._step(text, i, self._own[i : i + 1]))
        self._tokens, self._n_exact = text, max(self._n_exact, n_exact)
        logits = on_cpu(torch.cat(parts)[-len(tokens) :])
        self.feeds_s.append(time.perf_counter() - start_s)
        return logits

    def _step(self, text: Sequence[int], first: int, before: Tensor) -> Tensor:
        """Logits (T V) from token `first` of the text on, by the states (T, d) before them."""
        end = first + len(before)
        fed = torch.tensor([text[first:end]], device=before.device)
        logits = self._head.feed(fed, before)[0]
        self._own[first + 1 : end + 1] = self._head.states
        return logits

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens. Raises: ValueError if there are fewer."""
        check_rewind(n_cached, len(self._tokens))
        del self._tokens[n_cached:]
        self._n_exact = min(self._n_exact, n_cached)
