"""The parts of a decoder: its sizes, its weights as a few large matrices, its rotary angles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

KNOWN = ("qwen3", "llama")


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """Sizes of a Qwen3- or Llama-shaped model. has_head_norms: queries and keys are normalized."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_model: int
    d_feedforward: int
    vocab_size: int
    eps: float
    has_head_norms: bool
    is_tied: bool

    @classmethod
    def of(cls, config: Any) -> DecoderShape:
        """The shape that a transformers config describes.

        Raises: ValueError for another architecture, or for a part of it that is not built here.
        """
        if config.model_type not in KNOWN:
            raise ValueError(
                f"the engine runs {' and '.join(KNOWN)} models, this one is {config.model_type!r}; "
                "run it with transformers"
            )
        unusual = [
            name
            for name in ("attention_bias", "mlp_bias", "use_sliding_window")
            if getattr(config, name, False)
        ]
        if unusual or config.hidden_act != "silu":
            raise ValueError(
                f"the engine has no {', '.join(unusual) or config.hidden_act}; run this model with "
                "transformers"
            )
        return cls(
            n_layers=config.num_hidden_layers,
            n_heads=config.num_attention_heads,
            n_kv_heads=config.num_key_value_heads,
            head_dim=getattr(config, "head_dim", 0)
            or config.hidden_size // config.num_attention_heads,
            d_model=config.hidden_size,
            d_feedforward=config.intermediate_size,
            vocab_size=config.vocab_size,
            eps=config.rms_norm_eps,
            has_head_norms=config.model_type == "qwen3",
            is_tied=config.tie_word_embeddings,
        )


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer. Matrices are (out, in): qkv and gate_up hold several, below each other.

    The scales of the norms before qkv and gate_up are multiplied into those. head_norms: scales
    (H + Hkv, D) of the queries' norms, then of the keys'.
    """

    qkv: Tensor
    head_norms: Tensor | None
    output: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class Weights:
    """A whole model. cos, sin: (positions, head_dim / 2), float32.

    of_states: of a draft head, the matrix (d, d) for the target's states; else None.
    """

    shape: DecoderShape
    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    head: Tensor
    cos: Tensor
    sin: Tensor
    of_states: Tensor | None = None

    @property
    def step_bytes(self) -> int:
        """Bytes of the weights that every step has to read."""
        layers = sum(
            tensor.nbytes
            for layer in self.layers
            for tensor in (layer.qkv, layer.output, layer.gate_up, layer.down)
        )
        of_states = 0 if self.of_states is None else self.of_states.nbytes
        return layers + self.head.nbytes + of_states

    @property
    def dtype(self) -> torch.dtype:
        """Of the matrices."""
        return self.head.dtype

    @property
    def device(self) -> torch.device:
        """Where the matrices are."""
        return self.head.device

    def check_positions(self, n_positions: int) -> None:
        """Raise ValueError for more positions than there are angles for."""
        if n_positions > len(self.cos):
            raise ValueError(
                f"the weights have angles for {len(self.cos)} positions, wanted {n_positions}"
            )


def weights_of(model: Any, n_positions: int) -> Weights:
    """The weights of a transformers model, in its dtype and on its device; the model may go then.

    Raises: ValueError for an architecture that the engine does not have.
    """
    shape, state = DecoderShape.of(model.config), model.state_dict()
    embedding = state["model.embed_tokens.weight"]
    head = embedding if shape.is_tied else state["lm_head.weight"]
    head = laid_out(scaled(head, state["model.norm.weight"]))
    layers = tuple(layer_of(state, f"model.layers.{i}", shape) for i in range(shape.n_layers))
    cos, sin = _angles(model, n_positions)
    return Weights(shape, embedding, layers, head, cos, sin)


def layer_of(state: Mapping[str, Tensor], prefix: str, shape: DecoderShape) -> LayerWeights:
    """The layer whose tensors in a state dict have names that begin so."""

    def get(*names: str) -> Tensor:
        found = [state[f"{prefix}.{name}.weight"] for name in names]
        return found[0] if len(found) == 1 else torch.cat(found)

    norms = None
    if shape.has_head_norms:
        of_query, of_key = get("self_attn.q_norm"), get("self_attn.k_norm")
        norms = torch.cat([of_query.expand(shape.n_heads, -1), of_key.expand(shape.n_kv_heads, -1)])
    return LayerWeights(
        qkv=laid_out(
            scaled(
                get("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
                get("input_layernorm"),
            )
        ),
        head_norms=norms,
        output=laid_out(get("self_attn.o_proj")),
        gate_up=laid_out(
            scaled(get("mlp.gate_proj", "mlp.up_proj"), get("post_attention_layernorm"))
        ),
        down=laid_out(get("mlp.down_proj")),
    )


def scaled(matrix: Tensor, scale: Tensor) -> Tensor:
    """The matrix that does to x what `matrix` does to x * scale; itself if all scales are one."""
    if bool((scale == 1).all()):
        return matrix
    return (matrix.float() * scale.float()).to(matrix.dtype)


def laid_out(matrix: Tensor) -> Tensor:
    """The matrix in its fastest layout: on a CPU column by column, for MKL with few vectors."""
    return matrix if matrix.is_cuda else matrix.t().contiguous().t()


def _angles(model: Any, n_positions: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines (positions, head_dim / 2) of every position, by the model's own rule."""
    rotary, positions = model.base_model.rotary_emb, torch.arange(n_positions, device=model.device)
    both = rotary(torch.empty(0, device=model.device), positions[None])  # float32, each half twice
    cos, sin = (part[0].chunk(2, dim=-1)[0].contiguous() for part in both)
    return cos, sin


MOST_VECTORS = 16  # that the Triton kernels take at once
