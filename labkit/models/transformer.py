"""A transformer small enough to read: GPT-2's blocks with rotary positions and shared KV heads.

It has no cache and holds no decoding state. `forward` runs it over whole sequences; the pieces that
forward is made of (`embed`, the blocks' `project` and `merge`, `unembed`) are what a forward with a
cache is made of too.

Letters in shapes: B batch, H query heads, Hkv KV heads, Q query length, S key length, D head_dim,
V vocab; E is d_model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

Pick = Callable[[Tensor], Tensor]
LayerCache = tuple[Tensor, Tensor]
Seen = tuple[Tensor, Tensor, Tensor]  # keys, values and a mask


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """The sizes of a model. `n_kv_heads` below `n_heads` is grouped-query attention.

    n_context: the positions that the model is made for. The model itself refuses none.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    vocab_size: int
    n_context: int

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads or self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"d_model {self.d_model} must be a multiple of n_heads {self.n_heads}, and that of "
                f"n_kv_heads {self.n_kv_heads}"
            )

    @property
    def head_dim(self) -> int:
        return self.d_model // self.n_heads


GPT2_XL = TransformerConfig(
    n_layers=48, n_heads=25, n_kv_heads=25, d_model=1600, vocab_size=50257, n_context=1024
)


def causal_mask(
    n_tokens: int, device: torch.device | str | None = None, window: int | None = None
) -> Tensor:
    """Who sees whom in a sequence: row i is True for the tokens that token i attends to, 0..i.

    With a window these are only the newest `window` tokens, i included.
    Shape: (n_tokens, n_tokens), bool.
    """
    mask = torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=device).tril()
    return mask if window is None else mask.triu(1 - window)


def turned(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """x with rotary positions, by complex numbers: i of both halves of a head are one number.

    Shapes: x (B H Q D), positions (Q,); returns (B H Q D) of x's dtype.
    Source: Su et al. (arXiv:2104.09864), equation 12.
    """
    halves = x.float().unflatten(-1, (2, -1)).transpose(-1, -2)
    rates = base ** -torch.linspace(0, 1, halves.shape[-2] + 1, device=x.device)[:-1]
    turns = torch.polar(torch.ones_like(rates), positions.float()[:, None] * rates)
    turned = torch.view_as_real(torch.view_as_complex(halves.contiguous()) * turns)
    return turned.transpose(-1, -2).flatten(-2).to(x.dtype)


def masked_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Scaled dot-product attention; consecutive query heads share a KV head when H > Hkv.

    Shapes: queries (B H Q D), keys and values (B Hkv S D), mask (Q S), True where a query sees a
    key; returns (B H Q D).
    Raises: ValueError if the shapes do not fit.
    """
    n_kv_heads, n_key = keys.shape[1], keys.shape[2]
    if keys.shape != values.shape or queries.shape[1] % n_kv_heads:
        raise ValueError(
            f"queries {tuple(queries.shape)}, keys {tuple(keys.shape)} and values "
            f"{tuple(values.shape)} do not fit; wanted (B H Q D) and twice (B Hkv S D)"
        )
    if mask.shape != (queries.shape[2], n_key):
        raise ValueError(
            f"the mask is {tuple(mask.shape)}; {queries.shape[2]} queries and {n_key} keys need "
            f"{(queries.shape[2], n_key)}"
        )
    grouped = queries.unflatten(1, (n_kv_heads, -1))  # B Hkv G Q D: one KV head per group
    scores = grouped @ keys[:, :, None].transpose(-2, -1) * queries.shape[-1] ** -0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return (weights @ values[:, :, None]).flatten(1, 2)


class TransformerBlock(nn.Module):
    """One layer, in two halves with the attention left out between them."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.head_dim = config.head_dim
        self.heads = (config.n_heads, config.n_kv_heads, config.n_kv_heads)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.qkv = nn.Linear(config.d_model, sum(self.heads) * config.head_dim)
        self.out = nn.Linear(config.d_model, config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.up = nn.Linear(config.d_model, 4 * config.d_model)
        self.down = nn.Linear(4 * config.d_model, config.d_model)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of the tokens in x.

        Shapes: x (B Q E); returns (B H Q D) and twice (B Hkv Q D).
        """
        projected = self.qkv(self.norm_1(x)).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        return projected.split(self.heads, dim=1)

    def merge(self, x: Tensor, attended: Tensor) -> Tensor:
        """The layer's output: x plus what attention found, then plus the MLP's part.

        Shapes: x (B Q E), attended (B H Q D); returns (B Q E).
        """
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate="tanh"))

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        queries, keys, values = self.project(x)
        queries, keys = turned(queries, positions), turned(keys, positions)
        return self.merge(x, masked_attention(queries, keys, values, mask))


class Transformer(nn.Module):
    """Blocks with rotary positions, and one matrix that embeds tokens and scores the next.

    Its parameters need no gradient: this is a model for inference.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList(TransformerBlock(config) for _ in range(config.n_layers))
        self.norm = nn.LayerNorm(config.d_model)
        self.requires_grad_(False)

    @classmethod
    def random(cls, config: TransformerConfig, rng: torch.Generator) -> Transformer:
        """A model with random weights; the same `rng` state gives the same model."""
        with torch.random.fork_rng(devices=[]), torch.device(rng.device):
            model = cls(config)  # PyTorch's own first values come from the global generator
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                parameter.normal_(std=2 * config.d_model**-0.5, generator=rng)
        return model

    @property
    def n_params(self) -> int:
        """All parameters: rotary positions have none."""
        return sum(parameter.numel() for parameter in self.parameters())

    def embed(self, tokens: Tensor) -> Tensor:
        """What enters the first block. Shapes: tokens (B Q); returns (B Q E)."""
        return self.token_embedding(tokens)

    def unembed(self, x: Tensor) -> Tensor:
        """The logits of the next token. Shapes: x (B Q E); returns (B Q V)."""
        return functional.linear(self.norm(x), self.token_embedding.weight)

    def forward(self, tokens: Tensor, window: int | None = None) -> Tensor:
        """Logits at every position, from scratch. Shapes: tokens (B S); returns (B S V).

        window: how many tokens a query sees, itself included; None for all before it.
        """
        n_tokens = tokens.shape[1]
        positions = torch.arange(n_tokens, device=tokens.device)
        x, mask = self.embed(tokens), causal_mask(n_tokens, tokens.device, window)
        for block in self.blocks:
            x = block(x, positions, mask)
        return self.unembed(x)


def greedy(logits: Tensor) -> Tensor:
    """The most likely token of each row. Shapes: logits (B V); returns (B,)."""
    return logits.argmax(dim=-1)


def sampler(rng: torch.Generator, temperature: float = 1.0) -> Pick:
    """A `pick` like `greedy` that samples instead, drawing from `rng` once per call."""
    if temperature <= 0:
        raise ValueError(f"the temperature must be above 0, got {temperature}; 0 is `greedy`")

    def pick(logits: Tensor) -> Tensor:
        probs = (logits / temperature).softmax(dim=-1)
        return torch.multinomial(probs, 1, generator=rng)[:, 0]

    return pick


def generate_uncached(
    forward: Callable[[Tensor], Tensor], tokens: Tensor, n_new: int, pick: Pick = greedy
) -> Tensor:
    """The baseline: for each new token, run the model over everything so far.

    Shapes: tokens (B, n_prompt); returns (B, n_prompt + n_new).
    """
    n_tokens = tokens.shape[1] + n_new
    while tokens.shape[1] < n_tokens:
        picked = pick(forward(tokens)[:, -1])
        tokens = torch.cat((tokens, picked.unsqueeze(1)), dim=1)
    return tokens
