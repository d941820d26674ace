"""Random models of a few thousand parameters, for the tokenizer of `small_models`."""

from __future__ import annotations

import torch
from small_models import N_TOKENS
from transformers import GPT2Config, GPT2LMHeadModel, Qwen3Config, Qwen3ForCausalLM


def qwen_config() -> Qwen3Config:
    """Rotary positions, grouped heads; weights large enough that the output varies."""
    return Qwen3Config(
        vocab_size=N_TOKENS,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        initializer_range=0.5,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
    )


def qwen(seed: int = 0) -> Qwen3ForCausalLM:
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(qwen_config()).eval()


def gpt2(seed: int = 0) -> GPT2LMHeadModel:
    """Learned positions, which show at once when padding shifts them."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=N_TOKENS,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=512,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config).eval()


class Scripted(Qwen3ForCausalLM):
    """Writes one script per row whatever it is asked, its last token for ever."""

    def __init__(self, *scripts: list[int]):
        super().__init__(qwen_config())
        self.scripts, self.n_written = scripts, 0

    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        tokens = [script[min(self.n_written, len(script) - 1)] for script in self.scripts]
        self.n_written += 1
        output.logits[:, -1] = torch.nn.functional.one_hot(torch.tensor(tokens), N_TOKENS).float()
        return output
