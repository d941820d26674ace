"""Small random models of transformers for the tests of speculation; fp32, CPU."""

import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, Qwen3Config

SIZES = {
    "vocab_size": 11,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 64,
}


def real(config=None, seed=0):
    """A model of Qwen3's shape unless a config is given, with weights large enough to matter."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config or Qwen3Config(**SIZES))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model.eval()


def windowed():
    """A model of Gemma 3's shape, in which two of three layers see four tokens."""
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    sizes = SIZES | {"layer_types": kinds}
    return real(Gemma3TextConfig(**sizes, sliding_window=4, pad_token_id=0))


REAL = {"qwen3": real(), "gemma3, windows of 4": windowed()}
