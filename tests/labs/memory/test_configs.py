"""Lab 1's counts against transformers: parameters of models it builds, bytes of caches it fills."""

import weakref

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit.labs.memory.peaks import MODEL, peak_of
from labkit.memory import kv_cache_bytes, n_params
from labkit.models.configs import KINDS, ModelConfig, recent_models
from labkit.models.facts import models

transformers = pytest.importorskip("transformers")

FAMILIES = {  # the class of transformers, and the names of its config for our fields
    "qwen3": "Qwen3",
    "llama": "Llama",
    "mixtral": "Mixtral",
    "qwen3_moe": "Qwen3Moe",
    "glm4_moe": "Glm4Moe",
    "qwen2": "Qwen2",
}
EIGHT = [
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-8B",
    "meta-llama/Llama-2-7b-hf",
    "meta-llama/Llama-3.2-1B",
    "mistralai/Mixtral-8x7B-v0.1",
    "Qwen/Qwen3-30B-A3B",
    "zai-org/GLM-4.5-Air",
    "zai-org/GLM-4.5",
]
OTHER_NAMES = {
    "mixtral": {"num_experts": "num_local_experts", "moe_intermediate_size": "intermediate_size"},
    "glm4_moe": {"num_experts": "n_routed_experts", "qk_norm": "use_qk_norm"},
}
TINY = {
    "num_hidden_layers": 3,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "vocab_size": 97,
}


def on_meta(model_type, fields):
    """The model that transformers builds of these fields, without memory."""
    names = OTHER_NAMES.get(model_type, {})
    wanted = {names.get(name, name): value for name, value in fields.items()}
    wanted |= {"mlp_only_layers": []} if model_type == "qwen3_moe" else {}
    config = getattr(transformers, f"{FAMILIES[model_type]}Config")(**wanted)
    with torch.device("meta"):
        return getattr(transformers, f"{FAMILIES[model_type]}ForCausalLM")(config)


def counted(model):
    return sum(parameter.numel() for parameter in model.parameters())


def used_by_a_token(model, n_experts, n_used):
    """The same, with only the experts of one token."""
    experts = sum(p.numel() for name, p in model.named_parameters() if ".experts." in name)
    return counted(model) - experts // n_experts * (n_experts - n_used)


@pytest.mark.parametrize("name", EIGHT)
def test_n_params_equals_what_transformers_builds(name):
    row = recent_models()[name]["config"] if name in recent_models() else models()[name]
    known = {field: row[field] for field in ModelConfig.__dataclass_fields__ if field in row}
    config = ModelConfig.of(name)
    layers = 3  # of many: the others are like the fourth
    fields = {**known, "num_hidden_layers": layers}
    small = on_meta(row["model_type"], fields)
    more = on_meta(row["model_type"], {**fields, "num_hidden_layers": layers + 1})
    per_layer = counted(more) - counted(small)
    n_more = config.num_hidden_layers - layers
    total = counted(small) + n_more * per_layer
    assert n_params(config)[0] == total
    facts = recent_models().get(name) or models()[name]
    assert total == facts["params_exact"]
    assert n_params(config)[1] == facts.get("params_active", total)


TINY_MODELS = [
    ("qwen3", {"tie_word_embeddings": True, "qk_norm": True}),
    ("qwen3", {"qk_norm": True}),
    ("llama", {}),
    ("qwen2", {"attention_bias": True, "head_dim": 6}),
    ("mixtral", {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 40}),
    ("qwen3_moe", {"qk_norm": True, "num_experts": 6, "num_experts_per_tok": 3,
                   "moe_intermediate_size": 12}),
    ("glm4_moe", {"attention_bias": True, "num_experts": 6, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 12, "n_shared_experts": 2, "first_k_dense_replace": 1}),
    ("glm4_moe", {"qk_norm": True, "num_experts": 6, "num_experts_per_tok": 6,
                  "moe_intermediate_size": 12, "n_shared_experts": 1, "first_k_dense_replace": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "changes"), TINY_MODELS)
def test_both_numbers_equal_those_of_tiny_models(model_type, changes):
    model = on_meta(model_type, TINY | changes)
    config = ModelConfig(**(TINY | changes))
    n, used = config.num_experts or 1, config.num_experts_per_tok or 1
    assert n_params(config) == (counted(model), used_by_a_token(model, n, used))


@pytest.mark.parametrize("name", [*models(), *recent_models()])
def test_configs_of_the_tables_give_the_cache_that_their_layers_need(name):
    config = ModelConfig.of(name)
    assert len(config.layer_types) == config.num_hidden_layers
    assert set(config.layer_types) <= {*KINDS}
    assert kv_cache_bytes(config, 2000) > kv_cache_bytes(config, 1000) > 0


PER_TOKEN = {
    "deepseek-ai/DeepSeek-V3": 70_272,
    "moonshotai/Kimi-K2-Instruct": 70_272,
    "google/gemma-3-27b-it": 81_920,
    "openai/gpt-oss-120b": 36_864,
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 24_576,
    "MiniMaxAI/MiniMax-Text-01": 40_960,
    "zai-org/GLM-4.5": 376_832,
}


@pytest.mark.parametrize(("name", "expected"), PER_TOKEN.items())
def test_what_one_more_token_adds_to_a_long_sequence(name, expected):
    config = ModelConfig.of(name)
    assert kv_cache_bytes(config, 32_769) - kv_cache_bytes(config, 32_768) == expected
    assert kv_cache_bytes(config, 32_769, 1, 1) - kv_cache_bytes(config, 32_768, 1, 1) == (
        expected // 2
    )


def bytes_of(cache):
    """All tensors that a cache of transformers holds."""
    found = {}
    for layer in cache.layers:
        for value in vars(layer).values():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                found[value.untyped_storage().data_ptr()] = value.numel() * value.element_size()
    return sum(found.values())


def filled(model, cache, n_tokens, batch_size):
    tokens = torch.zeros(batch_size, n_tokens, dtype=torch.long)
    with torch.no_grad():
        return bytes_of(model(tokens, past_key_values=cache, use_cache=True).past_key_values)


@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated")
@pytest.mark.parametrize("n_tokens", [1, 7, 19])
def test_the_bytes_of_a_dense_cache_are_those_of_its_tensors(n_tokens):
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**TINY)).to(torch.bfloat16)
    in_cache = filled(model, transformers.DynamicCache(), n_tokens, 3)
    assert in_cache == kv_cache_bytes(ModelConfig(**TINY), n_tokens, 3)


@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated")
@pytest.mark.parametrize("n_tokens", [1, 7, 8, 9, 19])
def test_the_bytes_of_a_cache_with_windows_are_those_of_its_tensors(n_tokens):
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    fields = TINY | {"sliding_window": 8, "layer_types": kinds}
    config = transformers.Gemma3TextConfig(**fields)
    model = transformers.Gemma3ForCausalLM(config).to(torch.bfloat16)
    cache = transformers.StaticCache(config=config, max_cache_len=n_tokens)
    in_cache = filled(model, cache, n_tokens, 2)
    assert in_cache == kv_cache_bytes(ModelConfig(**fields), n_tokens, 2)


@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated")
def test_the_bytes_of_a_latent_cache_are_those_of_its_tensors():
    fields = TINY | {"num_key_value_heads": 4, "kv_lora_rank": 16, "qk_rope_head_dim": 4}
    del fields["head_dim"]
    config = transformers.DeepseekV3Config(
        **fields, q_lora_rank=12, qk_nope_head_dim=8, v_head_dim=6, n_routed_experts=4,
        num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=8,
    )  # fmt: skip
    model = transformers.DeepseekV3ForCausalLM(config).to(torch.bfloat16)
    in_cache = filled(model, transformers.DynamicCache(), 19, 2)
    expanded = 2 * 19 * 3 * 4 * (12 + 6) * 2  # older versions keep keys and values of each head
    own = ModelConfig.read(fields)
    assert set(own.layer_types) == {"latent_attention"}
    assert in_cache in (kv_cache_bytes(own, 19, 2), expanded)


class Live(TorchDispatchMode):
    """Adds up the bytes of all tensors that are alive, apart from those given."""

    def __init__(self, apart):
        super().__init__()
        self.sizes = {each.untyped_storage()._cdata: 0 for each in apart}
        self.now = self.peak = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._add(tensor.untyped_storage())
        return out

    def _add(self, storage):
        if storage._cdata not in self.sizes:
            self.sizes[storage._cdata] = storage.nbytes()
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._drop, storage._cdata)

    def _drop(self, key):
        self.now -= self.sizes.pop(key)


def peak_per_token(hidden_size, intermediate_size, n_tokens=500):
    """The peak of one prefill in bytes per token, without weights and cache."""
    fields = TINY | {"hidden_size": hidden_size, "intermediate_size": intermediate_size}
    config = transformers.Qwen3Config(**fields)
    model = transformers.Qwen3ForCausalLM(config).to(torch.bfloat16).eval()
    cache, tokens = transformers.DynamicCache(), torch.zeros(1, n_tokens, dtype=torch.long)
    live = Live([*model.parameters(), *model.buffers()])
    with torch.no_grad(), live:
        model(tokens, past_key_values=cache, logits_to_keep=1)
    return (live.peak - bytes_of(cache)) / n_tokens


@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated")
def test_the_peak_of_a_prefill_has_three_wide_vectors_and_four_of_hidden_size():
    """What section 9 says of the recorded peaks, counted operation by operation on a CPU."""
    start = peak_per_token(64, 640)
    assert peak_per_token(64, 1280) - start == 3 * 640 * 2
    assert peak_per_token(128, 640) - start == 4 * 64 * 2
    facts = models()[MODEL]
    counted = 2 * (3 * facts["intermediate_size"] + 4 * facts["hidden_size"])
    config = ModelConfig.of(MODEL)
    over = [peak_of(n) - kv_cache_bytes(config, n + 64, 8) for n in (8192, 16384)]
    assert (over[1] - over[0]) / (8 * 8192) == pytest.approx(counted, rel=0.01)


GOOD = {name: value for name, value in TINY.items() if name != "head_dim"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_size": None}, "the config has no field 'hidden_size'"),
        ({"vocab_size": None}, "the config has no field 'vocab_size'"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1, got 0"),
        ({"num_key_value_heads": 3}, "4 query heads cannot share 3 KV heads evenly"),
        ({"layer_types": ["full_attention", "mamba", "full_attention"]},
         "layer 1 has the unknown kind 'mamba'; known: full_attention, sliding_attention"),
        ({"layer_types": ["full_attention"]}, "layer_types names 1 layers, but num_hidden_"),
        ({"layer_types": ["sliding_attention"] * 3}, "layer 0 is sliding_attention, but the config"
         " has no sliding_window"),
        ({"kv_lora_rank": 8}, "latent_attention, but the config has no qk_rope_head_dim"),
        ({"layer_types": ["linear_attention"] * 3}, "the config has no state_bytes"),
        ({"num_experts": 8}, "the config has 8 experts, so num_experts_per_tok must be 1 to 8"),
        ({"n_routed_experts": 8, "num_experts_per_tok": 9}, "must be 1 to 8, got 9"),
        ({"num_local_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 4},
         "first_k_dense_replace must be 0 to 3, got 4"),
    ],
)  # fmt: skip
def test_a_bad_config_is_refused_by_a_sentence_that_names_the_field(changes, said):
    with pytest.raises(ValueError, match=said):
        ModelConfig.read(GOOD | changes)


def test_a_config_json_is_read_by_the_names_of_other_families():
    config = ModelConfig.read({"text_config": GOOD | {"num_local_experts": 4},
                               "num_experts_per_tok": 2, "sliding_window_pattern": 2,
                               "sliding_window": 9, "rope_theta": 1e6})  # fmt: skip
    assert (config.num_experts, config.moe_intermediate_size, config.head_dim) == (4, 40, 6)
    assert config.layer_types == ("sliding_attention", "full_attention", "sliding_attention")
    with pytest.raises(ValueError, match="no config of a model called 'GPT-5'"):
        ModelConfig.of("GPT-5")
