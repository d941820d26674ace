"""Models by their shape alone: the real architecture, built from facts, with random weights.

Time and memory of a model do not depend on what its weights say. So for timing and memory a random
model of the right shape is as good as the real one, and needs no download.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labkit.models.errors import DamagedModel
from labkit.models.tiny import facts_of, has_facts

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel

_FIELDS = {  # the fact table's word: the config's word; GPT-2 has words of its own
    "num_hidden_layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "num_attention_heads": "num_attention_heads",
    "num_key_value_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "vocab_size": "vocab_size",
    "tie_word_embeddings": "tie_word_embeddings",
    "max_position_embeddings": "max_position_embeddings",
    "norm_eps": "rms_norm_eps",
    "rope_theta": "rope_theta",
    "rope_scaling": "rope_scaling",
    "rope_local_base_freq": "rope_local_base_freq",
    "sliding_window": "sliding_window",
    "sliding_window_pattern": "sliding_window_pattern",
    "clip_qkv": "clip_qkv",
}
_GPT2_FIELDS = {
    "num_hidden_layers": "n_layer",
    "hidden_size": "n_embd",
    "intermediate_size": "n_inner",
    "num_attention_heads": "n_head",
    "vocab_size": "vocab_size",
    "max_position_embeddings": "n_positions",
    "norm_eps": "layer_norm_epsilon",
}
_OLMO_FIELDS = {fact: word for fact, word in _FIELDS.items() if fact != "norm_eps"}  # fixed in code
_FIELDS_OF = {"gpt2": _GPT2_FIELDS, "olmo": _OLMO_FIELDS}
_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
)


def config_of(name: str, **sizes: int) -> PreTrainedConfig:
    """The transformers config of a model of the table, from its facts.

    It names no end-of-text token: nothing should stop a random model early. sizes: other facts.
    Raises: ValueError for a model without facts.
    """
    from transformers import AutoConfig

    facts = {**facts_of(name), **sizes}
    fields = _FIELDS_OF.get(facts["model_type"], _FIELDS)
    given = {word: facts[fact] for fact, word in fields.items() if facts.get(fact) is not None}
    return AutoConfig.for_model(
        facts["model_type"], **given, bos_token_id=None, eos_token_id=None, pad_token_id=None
    )


def build(
    name: str, device: str, dtype: torch.dtype, attention: str = "sdpa", seed: int = 0, **sizes: int
) -> PreTrainedModel:
    """The model of this shape with random weights, made on the device and in the dtype.

    No copy in another dtype or on the host is made on the way. The weights are those that the
    architecture starts its training from (normal, standard deviation 0.02, norms at one); they
    depend on the seed, the device's kind and the dtype. The global random state stays as it was.
    sizes: as in `config_of`.
    """
    import torch
    from transformers import AutoModelForCausalLM

    place = torch.device(device)
    cuda_devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda_devices), torch.no_grad():
        _seed(place, seed)
        with place:
            model = AutoModelForCausalLM.from_config(
                config_of(name, **sizes), dtype=dtype, attn_implementation=attention
            )
    return model.eval().requires_grad_(False)


def _seed(place: torch.device, seed: int) -> None:
    """Seed the generator that fills tensors of this device, and no other."""
    import torch

    if place.type == "cuda":
        with torch.cuda.device(place):
            torch.cuda.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def check_facts(name: str, model: PreTrainedModel, folder: Path) -> None:
    """Refuse a model whose sizes are not what the fact table says: sums in the labs rest on them.

    Raises: DamagedModel with the differences.
    """
    if wrong := differences(name, model):
        raise DamagedModel(
            f"the model in {folder} is not {name} as the facts have it: {'; '.join(wrong)}. "
            "Either the folder holds another model, or the facts are wrong: tell the course staff."
        )


def differences(name: str, model: PreTrainedModel) -> list[str]:
    """A sentence for each difference between a loaded model and the facts, if it has facts."""
    if not has_facts(name):
        return []
    facts = facts_of(name)
    config = model.config
    found = {field: getattr(config, field, None) for field in _SIZES}
    found["head_dim"] = found["head_dim"] or config.hidden_size // config.num_attention_heads
    found["num_key_value_heads"] = found["num_key_value_heads"] or config.num_attention_heads
    found["params_exact"] = sum(parameter.numel() for parameter in model.parameters())
    return [
        f"{field} is {value:,}, the facts say {facts[field]:,}"
        for field, value in found.items()
        if value != facts[field]
    ]
