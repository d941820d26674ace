"""The pair before its training, and how a trained model is stored."""

import json
from pathlib import Path

import torch
from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

from labkit.models.folder import SHIPPED
from labkit.models.tiny import facts_of

SIZES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "max_position_embeddings",
)
SHAPES = {name: {size: facts_of(name)[size] for size in SIZES} for name in SHIPPED}
N_CONTEXT = facts_of("tiny-target")["max_position_embeddings"]


def new_model(name: str, vocab_size: int, seed: int) -> Qwen3ForCausalLM:
    """An untrained model of the pair, float32, on the CPU."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        **SHAPES[name],
        vocab_size=vocab_size,
        rope_parameters={"rope_type": "default", "rope_theta": facts_of(name)["rope_theta"]},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    return Qwen3ForCausalLM(config)


def store(model: Qwen3ForCausalLM, folder: Path) -> None:
    """Write weights in bfloat16; the config asks for float32, which is what a CPU is fast in."""
    half = Qwen3ForCausalLM(model.config).to(torch.bfloat16)
    half.load_state_dict(model.state_dict())
    half.generation_config = GenerationConfig(eos_token_id=0, pad_token_id=0, do_sample=False)
    half.save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["dtype"] = "float32"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
