"""The shape of a decoder-only transformer: the numbers that its memory and its time depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.models.facts import models


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The numbers of a decoder-only transformer that memory depends on.

    n_heads counts query heads; each group of n_heads / n_kv_heads of them shares one head of keys
    and values. head_dim is a number of its own: n_heads * head_dim need not be d_model.
    """

    name: str
    n_params: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_model: int
    vocab_size: int

    def __post_init__(self) -> None:
        for field in self.__slots__[1:]:
            if getattr(self, field) < 1:
                raise ValueError(f"{field} must be at least 1, got {getattr(self, field)}")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"{self.n_heads} query heads cannot share {self.n_kv_heads} KV heads evenly"
            )

    @classmethod
    def of(cls, name: str) -> ModelShape:
        """The shape of a model of the fact table, for instance "Qwen/Qwen3-14B".

        Raises: ValueError for a model that is not in the table.
        """
        if name not in models():
            raise ValueError(
                f"no facts on a model called {name!r}; there are {', '.join(models())}"
            )
        return cls.from_facts(name, models()[name])

    @classmethod
    def from_facts(cls, name: str, facts: Mapping[str, Any]) -> ModelShape:
        """The shape that one row of the fact table describes."""
        return cls(
            name=name,
            n_params=facts["params_exact"],
            n_layers=facts["num_hidden_layers"],
            n_heads=facts["num_attention_heads"],
            n_kv_heads=facts["num_key_value_heads"],
            head_dim=facts["head_dim"],
            d_model=facts["hidden_size"],
            vocab_size=facts["vocab_size"],
        )

    @classmethod
    def from_model(cls, model: Any, name: str) -> ModelShape:
        """The shape of a loaded transformers model, to hold against the fact table.

        Shared tensors (tied embeddings) count once. A config without head_dim or KV heads means
        equal slices of d_model and one KV head per query head.
        """
        config = model.config
        n_heads, d_model = config.num_attention_heads, config.hidden_size
        return cls(
            name=name,
            n_params=sum(parameter.numel() for parameter in model.parameters()),
            n_layers=config.num_hidden_layers,
            n_heads=n_heads,
            n_kv_heads=getattr(config, "num_key_value_heads", None) or n_heads,
            head_dim=getattr(config, "head_dim", None) or d_model // n_heads,
            d_model=d_model,
            vocab_size=config.vocab_size,
        )
