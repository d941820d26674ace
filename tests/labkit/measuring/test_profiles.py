"""Which models and ranges a machine gets."""

from dataclasses import replace

import pytest

from labkit.measuring import profiles
from labkit.measuring.profiles import PAIRS, PROFILES, ROLES, for_card, profile, sixteen_bit_dtype
from labkit.measuring.roofline import BYTES
from labkit.models.facts import gpus, models
from labkit.models.tiny import KIT_MODELS, facts_of

GIB = 2**30


@pytest.mark.parametrize("name", PROFILES)
def test_every_role_and_pair_of_a_profile_is_a_model_with_facts(name):
    chosen = profile(name)
    assert list(chosen.roles) == list(ROLES)
    for model in [*chosen.roles.values(), *(one for pair in chosen.pairs for one in PAIRS[pair])]:
        assert facts_of(model)["params_exact"] > 0


def test_the_cpu_profile_needs_nothing_but_the_kit():
    cpu = profile("cpu")
    assert set(cpu.roles.values()) <= set(KIT_MODELS)
    assert all(set(PAIRS[pair]) <= set(KIT_MODELS) for pair in cpu.pairs)


@pytest.mark.parametrize("name", PROFILES)
def test_no_sweep_runs_past_a_model_s_context(name):
    chosen = profile(name)

    def context(role):
        return facts_of(chosen.roles[role])["max_position_embeddings"]

    assert chosen.input_lengths[-1] + 64 <= context("sweep-medium")
    assert 64 + chosen.output_lengths[-1] <= context("sweep-medium")
    assert min(context("sweep-small"), context("sweep-older")) >= 64 + 64
    for role in ("cache-baseline", "cache-smaller", "cache-older"):
        assert chosen.cache_lengths[-1] + 16 <= context(role)
    longest = max(chosen.cache_lengths[-1], chosen.long_uncached_lengths[-1])
    assert chosen.long_prompt_length + longest <= context("cache-baseline")


@pytest.mark.parametrize(("name", "gpu"), [("t4", "T4"), ("gpu80", "A100-SXM-80GB")])
def test_weights_and_the_largest_cache_of_a_sweep_fit_the_card(name, gpu):
    chosen = profile(name)
    card_bytes = min(gpus()[gpu]["usable"]["torch_total_GiB_seen"]) * GIB
    for role, model in chosen.roles.items():
        facts = facts_of(model)
        per_token = 2 * facts["num_hidden_layers"] * facts["num_key_value_heads"]
        per_token *= facts["head_dim"] * BYTES[chosen.dtype]
        n_tokens = {
            "sweep-medium": chosen.sweep_batch_size * (chosen.input_lengths[-1] + 64),
            "cache-baseline": chosen.long_prompt_length + chosen.cache_lengths[-1],
        }.get(role, chosen.sweep_batch_size * 128)
        needed = facts["params_exact"] * BYTES[chosen.dtype] + n_tokens * per_token
        assert needed < 0.9 * card_bytes, role
    for pair in chosen.pairs:
        assert sum(facts_of(one)["params_exact"] for one in PAIRS[pair]) * 2 < 0.9 * card_bytes


def test_the_models_of_the_80_gb_profile_are_the_handout_s():
    roles = profile("gpu80").roles
    assert [roles[f"sweep-{size}"] for size in ("small", "medium", "older")] == [
        "Qwen/Qwen3-1.7B",
        "Qwen/Qwen3-8B",
        "allenai/OLMo-7B-0724-hf",
    ]
    assert roles["forward"] == "Qwen/Qwen3-4B"
    assert facts_of(roles["cache-older"])["attention_kind"] == "MHA"
    assert profile("gpu80").input_lengths == tuple(2**n for n in range(16))
    assert profile("gpu80").output_lengths == tuple(2**n for n in range(9))


def test_an_older_model_has_a_kv_head_per_query_head_in_every_profile():
    for chosen in PROFILES.values():
        for role in ("sweep-older", "cache-older"):
            facts = facts_of(chosen.roles[role])
            assert facts["num_key_value_heads"] == facts["num_attention_heads"]


@pytest.mark.parametrize(
    ("gib", "capability", "name", "dtype"),
    [
        (14.7, (7, 5), "t4", "float16"),  # T4
        (22.1, (8, 9), "t4", "bfloat16"),  # L4
        (31.7, (7, 0), "gpu80", "float16"),  # V100
        (44.4, (8, 9), "gpu80", "bfloat16"),  # L40S
        (139.8, (9, 0), "gpu80", "bfloat16"),  # H200
    ],
)
def test_a_card_s_memory_picks_the_profile_and_its_age_the_dtype(gib, capability, name, dtype):
    found = for_card(int(gib * GIB), capability)
    assert (found.name, found.dtype) == (name, dtype)


def test_sixteen_bits_without_hardware_for_bfloat16_are_float16():
    assert [sixteen_bit_dtype(sm) for sm in [(7, 0), (7, 5), (8, 0), (12, 0)]] == [
        "float16",
        "float16",
        "bfloat16",
        "bfloat16",
    ]
    for facts in gpus().values():
        capability = tuple(int(part) for part in facts["compute_capability"].split("."))
        has_hardware = facts["dense_bf16_tensor_TFLOPS"] is not None
        assert (sixteen_bit_dtype(capability) == "bfloat16") == has_hardware


def test_without_a_name_the_machine_decides():
    assert profile() == profiles.detect()
    assert profile().name in PROFILES


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'a100'; there are cpu, t4, gpu80"):
        profile("a100")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"roles": {"target": "gpt2"}}, "roles missing or unknown: cache-baseline"),
        ({"pairs": ("tiny", "huge")}, "no pair is called huge"),
        ({"device": "tpu"}, "'tpu'"),
        ({"dtype": "int8"}, "'int8'"),
        ({"input_lengths": ()}, "input_lengths must rise"),
        ({"output_lengths": (0, 1)}, "output_lengths must rise"),
        ({"cache_lengths": (4, 2)}, r"cache_lengths must rise from at least 1, got \(4, 2\)"),
        ({"n_repeats": 0}, "n_repeats"),
    ],
)
def test_a_profile_that_cannot_be_run_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(profile("cpu"), **change)


def test_each_gated_model_has_an_open_one_in_the_table_to_stand_in_for_it():
    gated = {name: facts for name, facts in models().items() if facts["gated"]}
    assert {name.partition("/")[0] for name in gated} == {"meta-llama", "google"}
    for facts in gated.values():
        assert not models()[facts["substitute"]]["gated"]
    assert all(facts["substitute"] is None for name, facts in models().items() if name not in gated)


def test_the_gemma_pair_has_26_and_18_layers():
    target, draft = (facts_of(model) for model in PAIRS["gemma-1b-270m"])
    assert (target["num_hidden_layers"], draft["num_hidden_layers"]) == (26, 18)
    assert (target["layers_full"], draft["layers_full"]) == (4, 3)
