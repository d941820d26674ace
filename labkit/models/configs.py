"""The config of a decoder-only model: the numbers that its parameters and its cache follow from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any

from labkit.models.facts import data_path, models

KINDS = ("full_attention", "sliding_attention", "latent_attention", "linear_attention")
NEEDED = (
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "vocab_size",
)
OTHER_NAMES = {  # of the same number in the config.json of other families
    "num_experts": ("num_local_experts", "n_routed_experts"),
}


@dataclass(frozen=True)
class ModelConfig:
    """What a config.json says of a model's shape, by the names that it has there.

    layer_types: the kind of each layer, one of KINDS; without them, all are "full_attention".
    qk_norm: whether each head has a norm with weights for its queries and one for its keys.
    attention_bias: whether the projections of queries, keys and values have biases. state_bytes:
    what one "linear_attention" layer keeps for one sequence. What a model does not need is 0.
    Raises: ValueError naming the field or the layer that cannot be.
    """

    num_hidden_layers: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    qk_norm: bool = False
    num_experts: int = 0
    num_experts_per_tok: int = 0
    moe_intermediate_size: int = 0
    n_shared_experts: int = 0
    first_k_dense_replace: int = 0
    layer_types: tuple[str, ...] = ()
    sliding_window: int = 0
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    state_bytes: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.default is MISSING and getattr(self, field.name) < 1:
                raise ValueError(
                    f"{field.name} must be at least 1, got {getattr(self, field.name)}"
                )
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"{self.num_attention_heads} query heads cannot share "
                f"{self.num_key_value_heads} KV heads evenly"
            )
        kinds = tuple(self.layer_types) or (KINDS[0],) * self.num_hidden_layers
        object.__setattr__(self, "layer_types", kinds)
        self._check_layers()
        self._check_experts()

    def _check_layers(self) -> None:
        if len(self.layer_types) != self.num_hidden_layers:
            raise ValueError(
                f"layer_types names {len(self.layer_types)} layers, "
                f"but num_hidden_layers is {self.num_hidden_layers}"
            )
        needs = {
            "sliding_attention": ("sliding_window",),
            "latent_attention": ("kv_lora_rank", "qk_rope_head_dim"),
            "linear_attention": ("state_bytes",),
        }
        for i, kind in enumerate(self.layer_types):
            if kind not in KINDS:
                raise ValueError(
                    f"layer {i} has the unknown kind {kind!r}; known: {', '.join(KINDS)}"
                )
            for name in needs.get(kind, ()):
                if getattr(self, name) < 1:
                    raise ValueError(f"layer {i} is {kind}, but the config has no {name}")

    def _check_experts(self) -> None:
        n, chosen = self.num_experts, self.num_experts_per_tok
        if n and not 1 <= chosen <= n:
            raise ValueError(
                f"the config has {n} experts, so num_experts_per_tok must be 1 to {n}, got {chosen}"
            )
        if n and not self.moe_intermediate_size:
            raise ValueError(f"the config has {n} experts, but no moe_intermediate_size")
        if not 0 <= self.first_k_dense_replace <= self.num_hidden_layers:
            raise ValueError(
                f"first_k_dense_replace must be 0 to {self.num_hidden_layers}, "
                f"got {self.first_k_dense_replace}"
            )

    @classmethod
    def of(cls, name: str, **changes: Any) -> ModelConfig:
        """The config of a model of the tables, such as "Qwen/Qwen3-14B", with changes.

        Raises: ValueError for a model that is in no table.
        """
        known = {**models(), **{each: row["config"] for each, row in recent_models().items()}}
        if name not in known:
            raise ValueError(f"no config of a model called {name!r}; there are {', '.join(known)}")
        return cls.read(known[name] | changes)

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> ModelConfig:
        """The config that a config.json holds, already parsed; fields of no use here are left out.

        Raises: ValueError naming the field that is missing, or the layer that has no known kind.
        """
        given = {**config.get("text_config", {}), **config}
        for name, others in OTHER_NAMES.items():
            for other in others:
                if given.get(name) is None:
                    given[name] = given.get(other)
        given = {name: value for name, value in given.items() if value is not None}
        if given.get("num_experts"):  # some families have one name for both widths
            widths = "intermediate_size", "moe_intermediate_size"
            for one, other in (widths, widths[::-1]):
                given |= {one: given[other]} if one not in given and other in given else {}
        for name in NEEDED:
            if name not in given:
                raise ValueError(f"the config has no field {name!r}")
        given.setdefault("num_key_value_heads", given["num_attention_heads"])
        given.setdefault("head_dim", given["hidden_size"] // given["num_attention_heads"])
        if kinds := _kinds(given):
            given["layer_types"] = kinds
        return cls(**{each.name: given[each.name] for each in fields(cls) if each.name in given})


def _kinds(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of the layers, in the ways that configs have for it; () if all are full."""
    n = given["num_hidden_layers"]
    if "layer_types" in given:
        return tuple(given["layer_types"])
    if given.get("kv_lora_rank"):
        return ("latent_attention",) * n
    if step := given.get("sliding_window_pattern"):
        return tuple(KINDS[0] if (i + 1) % step == 0 else KINDS[1] for i in range(n))
    return ()


@cache
def recent_models() -> dict[str, dict]:
    """Configs, exact counts and years of models with experts and other kinds of layer, by name."""
    return json.loads(data_path("configs.json").read_text(encoding="utf-8"))["models"]
