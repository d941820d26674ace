"""The kit's own small models: their shapes, in the words of the fact table.

The first two are trained and ship with the kit. The other two exist to be compared with them and
only ever have random weights.
"""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from labkit.models.facts import models

_TARGET = {
    "architecture": "Qwen3ForCausalLM",
    "model_type": "qwen3",
    "num_hidden_layers": 12,
    "hidden_size": 320,
    "intermediate_size": 896,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 4096,
    "tie_word_embeddings": True,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "norm_eps": 1e-6,
    "sliding_window": None,
    "params_exact": 15_574_336,
    "non_embedding_params": 14_263_616,
    "tokenizer_family": "tiny",
    "gated": False,
    "substitute": None,
}
_DRAFT = _TARGET | {
    "num_hidden_layers": 1,
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "params_exact": 311_552,
    "non_embedding_params": 49_408,
}
_ONE_KV_HEAD_EACH = _TARGET | {
    "num_key_value_heads": 6,
    "params_exact": 17_540_416,
    "non_embedding_params": 16_229_696,
}

KIT_MODELS: Mapping[str, dict] = MappingProxyType(
    {
        "tiny-target": _TARGET,
        "tiny-draft": _DRAFT,
        "tiny-untrained": _DRAFT,  # the draft before its training
        "tiny-mha": _ONE_KV_HEAD_EACH,  # the target as it would have been built before GQA
    }
)


def has_facts(name: str) -> bool:
    """Whether this is a model of the kit or of the fact table."""
    return name in KIT_MODELS or name in models()


def facts_of(name: str) -> Mapping[str, Any]:
    """The facts of a model of the kit or of the fact table.

    Raises: ValueError for another name; the message has those that look like it.
    """
    if has_facts(name):
        return KIT_MODELS[name] if name in KIT_MODELS else models()[name]
    known = [*KIT_MODELS, *models()]
    meant = [other for other in known if name and name.lower() in other.lower()]
    meant = meant or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(meant[:3])}? " if meant else ""
    raise ValueError(
        f"no model is called {name!r}; {hint}labkit.zoo.describe() lists all. Another model of the "
        'hub loads with weights="hub", one on disk by the path of its folder'
    )
