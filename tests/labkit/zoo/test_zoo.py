"""Models by name and role: shapes with random weights, the tiny pair, what is refused and why."""

import subprocess
import sys

import pytest
import torch
from instances import some_of
from small_models import write_model, write_pair
from transformers import AutoModelForCausalLM

from labkit import zoo
from labkit.measuring.profiles import PROFILES
from labkit.models import folder
from labkit.models.cached import forward, new_cache
from labkit.models.facts import models
from labkit.models.shapes import ModelShape
from labkit.models.tiny import KIT_MODELS, facts_of
from labkit.zoo import choose, shape

FAMILIES = {  # one small relative of each architecture of the table, with all its peculiarities
    "qwen3": "Qwen/Qwen3-4B",
    "llama": "meta-llama/Llama-3.2-1B",
    "olmo": "allenai/OLMo-7B-0724-hf",
    "gemma3": "google/gemma-3-1b-it",
    "gpt2": "gpt2-xl",
}


@pytest.fixture(scope="module")
def pair_folder(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    write_pair(data)
    return data


@pytest.fixture
def data(pair_folder, monkeypatch):
    """The kit's data folder is one with a random pair, and the hub's cache is empty."""
    monkeypatch.setattr(folder, "data_path", lambda name: pair_folder / name)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(pair_folder / "hub"))
    return pair_folder


@pytest.fixture
def small(monkeypatch):
    """Adds a small relative of a model to the fact table for one test, and returns its name."""

    def add(name):
        facts = models()[name]
        n_kv_heads = {"MHA": 4, "GQA": 2, "MQA": 1}[facts["attention_kind"]]
        smaller = {"num_hidden_layers": 7, "vocab_size": 301, "intermediate_size": 64}
        smaller |= {"num_attention_heads": 4, "num_key_value_heads": n_kv_heads}
        smaller |= {"hidden_size": 4 * facts["head_dim"]}
        monkeypatch.setitem(models(), "small", facts | smaller)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(shape.config_of("small"))
        n_params = sum(parameter.numel() for parameter in model.parameters())
        monkeypatch.setitem(models()["small"], "params_exact", n_params)
        return "small"

    return add


# --- shapes


@pytest.mark.parametrize("name", some_of([*models(), *KIT_MODELS], *FAMILIES.values()))
def test_every_model_of_the_table_is_built_with_its_exact_sizes(name):
    model = shape.build(name, "meta", torch.bfloat16)
    assert type(model).__name__ == facts_of(name)["architecture"]
    assert shape.differences(name, model) == []
    if name in models():
        assert ModelShape.from_model(model, name) == ModelShape.of(name)
    dtypes = {parameter.dtype for parameter in model.parameters()}
    assert dtypes == {torch.bfloat16}
    head = facts_of(name)["vocab_size"] * facts_of(name)["hidden_size"]
    tied = facts_of(name)["tie_word_embeddings"]
    rest = facts_of(name)["non_embedding_params"] + facts_of(name).get(
        "position_embedding_params", 0
    )
    assert facts_of(name)["params_exact"] == rest + (head if tied else 2 * head)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_random_model_has_the_buffers_of_one_that_transformers_builds(family, small):
    name = small(FAMILIES[family])
    ours = shape.build(name, "cpu", torch.bfloat16)
    theirs = AutoModelForCausalLM.from_config(shape.config_of(name), dtype=torch.bfloat16)
    expected = dict(theirs.named_buffers())
    assert {name for name, _ in ours.named_buffers()} == set(expected)
    for name, buffer in ours.named_buffers():
        assert buffer.dtype == expected[name].dtype
        assert torch.equal(buffer, expected[name]), name


@pytest.mark.parametrize("family", FAMILIES)
def test_random_weights_start_as_the_architecture_s_own(family, small):
    name = small(FAMILIES[family])
    ours = dict(shape.build(name, "cpu", torch.float32).named_parameters())
    theirs = AutoModelForCausalLM.from_config(shape.config_of(name), dtype=torch.float32)
    for name, expected in theirs.named_parameters():
        assert torch.isfinite(ours[name]).all()
        # both are draws from one normal law, or the same constant; five standard deviations
        tolerance = 5 * expected.std(correction=0) / expected.numel() ** 0.5 + 1e-9
        assert (ours[name].mean() - expected.mean()).abs() < 2 * tolerance, name
        assert (ours[name].std(correction=0) - expected.std(correction=0)).abs() < 2 * tolerance


@pytest.mark.parametrize("family", FAMILIES)
def test_a_random_model_runs_and_caches_as_its_architecture_does(family, small):
    model = shape.build(small(FAMILIES[family]), "cpu", torch.float32)
    tokens = torch.randint(301, (2, 9), generator=torch.Generator().manual_seed(0))
    whole = model(tokens).logits
    assert whole.shape == (2, 9, 301)
    assert torch.isfinite(whole).all()
    past = new_cache(config=model.config)
    forward(model, tokens[:, :8], past)
    last = forward(model, tokens[:, 8:], past).logits
    torch.testing.assert_close(last[:, 0], whole[:, 8], rtol=1e-4, atol=1e-5)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_configs_keep_what_makes_an_architecture_different():
    llama = shape.config_of("meta-llama/Llama-3.2-1B")
    assert llama.rope_parameters["rope_type"] == "llama3"
    assert llama.rope_parameters["factor"] == 32
    assert (llama.rope_parameters["rope_theta"], llama.rms_norm_eps) == (500_000, 1e-5)
    olmo = shape.config_of("allenai/OLMo-7B-0724-hf")
    assert (olmo.clip_qkv, olmo.max_position_embeddings) == (8, 4096)
    for name in ("google/gemma-3-1b-it", "google/gemma-3-270m-it"):
        gemma = shape.config_of(name)
        assert gemma.sliding_window == 512
        assert gemma.layer_types.count("full_attention") == models()[name]["layers_full"]
        assert gemma.layer_types.count("sliding_attention") == models()[name]["layers_sliding"]
        assert gemma.rope_parameters["sliding_attention"]["rope_theta"] == 10_000
    assert shape.config_of("Qwen/Qwen3-8B").rms_norm_eps == 1e-6
    assert shape.config_of("gpt2").layer_norm_epsilon == 1e-5


def test_one_seed_gives_one_model_and_leaves_the_global_random_state_alone():
    before = torch.random.get_rng_state()
    first, again, other = (
        shape.build("tiny-draft", "cpu", torch.float32, seed=s) for s in (3, 3, 4)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    weights = [model.model.embed_tokens.weight for model in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_real_shape_is_built_in_16_bits_without_tokenizer():
    loaded = zoo.load("distilgpt2", weights="random", device="cpu", dtype="bfloat16")
    assert loaded.n_params == models()["distilgpt2"]["params_exact"]
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.bfloat16}
    assert (loaded.tokenizer, loaded.weights, loaded.vocab_size) == (None, "random", 50257)
    assert torch.isfinite(loaded.model(torch.zeros(1, 4, dtype=torch.long)).logits).all()
    assert repr(loaded).startswith("distilgpt2: 81,912,576 parameters, random weights, bfloat16")


def test_nothing_stops_a_random_model_before_its_last_token():
    loaded = zoo.load("tiny-untrained", device="cpu")
    prompt = torch.zeros(1, 4, dtype=torch.long)
    generated = loaded.model.generate(prompt, max_new_tokens=20, do_sample=False)
    assert generated.shape == (1, 24)


def test_attention_is_the_one_asked_for():
    assert zoo.load("tiny-mha", device="cpu").model.config._attn_implementation == "sdpa"
    eager = zoo.load("tiny-mha", device="cpu", attention="eager")
    assert eager.model.config._attn_implementation == "eager"


# --- the tiny pair


def test_the_tiny_pair_loads_in_float32_on_a_cpu_with_its_tokenizer(data):
    pair = zoo.load_pair("tiny", device="cpu")
    assert [one.name for one in (pair.target, pair.draft)] == ["tiny-target", "tiny-draft"]
    for loaded in (pair.target, pair.draft):
        assert (loaded.weights, loaded.dtype, loaded.note) == ("shipped", "float32", "")
        assert next(loaded.model.parameters()).dtype == torch.float32
        assert loaded.vocab_size == len(loaded.tokenizer) == 4096
        assert loaded.shape.n_layers == KIT_MODELS[loaded.name]["num_hidden_layers"]
    saved = shape.build("tiny-target", "cpu", torch.bfloat16, seed=0).float()
    tokens = torch.tensor([pair.target.tokenizer("the quick brown fox")["input_ids"]])
    assert torch.equal(pair.target.model(tokens).logits, saved(tokens).logits)


@pytest.mark.parametrize("name", ["tiny-untrained", "tiny-self"])
def test_other_drafts_for_the_tiny_target_speak_its_tokens(name, data):
    pair = zoo.load_pair(name, device="cpu")
    assert pair.draft.tokenizer.get_vocab() == pair.target.tokenizer.get_vocab()
    assert pair.draft.weights == ("random" if name == "tiny-untrained" else "shipped")


def test_a_role_is_the_model_that_the_profile_gives_it(data):
    for role in ("draft", "sweep-small", "cache-older"):
        loaded = zoo.load(role, profile="cpu")
        assert loaded.name == PROFILES["cpu"].roles[role]
        assert (loaded.device, loaded.dtype) == ("cpu", "float32")
    assert "never trained" in zoo.load("sweep-older", profile="cpu").note


def test_a_folder_loads_by_its_path(data, tmp_path):
    write_model(tmp_path / "mine", "tiny-draft", seed=9)
    for path in (tmp_path / "mine", str(tmp_path / "mine")):
        loaded = zoo.load(path, device="cpu")
        assert (loaded.name, loaded.weights) == ("mine", "folder")
        assert zoo.Pair(zoo.load("tiny-target", device="cpu"), loaded).draft is loaded
    with pytest.raises(ValueError, match="leave weights out"):
        zoo.load(tmp_path / "mine", weights="random")


# --- what load decides


def test_a_hub_model_that_is_not_here_gets_random_weights_and_a_note(data, small):
    name = small("meta-llama/Llama-3.2-1B")
    loaded = zoo.load(name, device="cpu")
    assert loaded.weights == "random"
    for words in ("not in the hub's cache", "noise", 'weights="hub"', "gated"):
        assert words in loaded.note
    assert loaded.note in repr(loaded)


def test_dtype_and_device_follow_request_then_profile_then_machine():
    cpu = choose.setting(None, "cpu", None)
    assert (cpu.device, cpu.dtype, cpu.torch_dtype) == ("cpu", "float32", torch.float32)
    assert choose.setting("cpu", None, torch.bfloat16).dtype == "bfloat16"
    assert choose.setting("gpu80", "cpu", None).dtype == "float32"  # another device's dtype
    detected = choose.setting(zoo.profile(), None, None)
    assert (detected.device, detected.dtype) == (zoo.profile().device, zoo.profile().dtype)


def test_a_model_larger_than_the_free_memory_is_refused_with_one_that_fits(monkeypatch):
    monkeypatch.setattr(choose, "available_memory_bytes", lambda device: 15e9)
    choose.check_room("Qwen/Qwen3-4B", choose.Setting("cpu", "bfloat16"))
    with pytest.raises(zoo.UnavailableModel, match=r"take 16\.4 GB in bfloat16, and cpu has 15\.0"):
        choose.check_room("Qwen/Qwen3-8B", choose.Setting("cpu", "bfloat16"))
    with pytest.raises(zoo.UnavailableModel, match=r'load\("Qwen/Qwen3-1\.7B"\)'):
        choose.check_room("Qwen/Qwen3-4B", choose.Setting("cpu", "float32"))
    with pytest.raises(zoo.UnavailableModel, match="does not fit"):  # and nothing is downloaded
        zoo.load("Qwen/Qwen3-8B", weights="hub", device="cpu")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zoo.load("Qwen3-8B"), "did you mean Qwen/Qwen3-8B"),
        (lambda: zoo.load("gtp2"), "did you mean .*gpt2"),
        (lambda: zoo.load("no such thing at all"), r"describe\(\) lists all"),
        (lambda: zoo.load(""), "no model is called ''"),
        (lambda: zoo.load("tiny-draft", "shipped"), "one of auto, hub, random; got 'shipped'"),
        (lambda: zoo.load("tiny-draft", "hub"), "not on the hub"),
        (lambda: zoo.load("tiny-mha", dtype="int8"), "float32, float16, bfloat16; got 'int8'"),
        (lambda: zoo.load("tiny-mha", device="gpu"), "'gpu' is no device"),
        (lambda: zoo.load("tiny-mha", attention="fast"), "one of sdpa, eager, .* got 'fast'"),
        (lambda: zoo.load("tiny-mha", profile="m1"), "there are cpu, t4, gpu80"),
        (lambda: zoo.load_pair("tiny-pair"), "no pair is called 'tiny-pair'; there are tiny,"),
        (lambda: zoo.load_pair(("Qwen/Qwen3-32B", "gpt2")), "tokenizer_family is qwen3 of the one"),
        (lambda: zoo.open_pair("none"), "no pair is called"),
        (lambda: zoo.substitute("Qwen3-8B"), "did you mean"),
    ],
)
def test_a_call_that_means_nothing_is_refused_with_what_would(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_profile_for_a_gpu_is_refused_where_there_is_none():
    script = """
from labkit import zoo
try:
    zoo.load("tiny-mha", profile="t4")
except ValueError as error:
    print(error)
"""
    found = _python(script, CUDA_VISIBLE_DEVICES="")
    assert "profile t4 runs on a CUDA GPU, and torch sees none here" in found
    assert 'profile="cpu"' in found


def test_open_models_stand_in_for_gated_ones_alone_and_in_pairs():
    assert zoo.substitute("meta-llama/Llama-3.2-3B-Instruct") == "Qwen/Qwen3-4B"
    assert zoo.substitute("Qwen/Qwen3-8B") == "Qwen/Qwen3-8B"
    expected = {
        "gemma-1b-270m": "qwen3-1.7b-0.6b",
        "llama-3b-1b": "qwen3-4b-1.7b",
        "llama-8b-1b": "qwen3-8b-1.7b",
    }
    for name in zoo.PAIRS:
        assert zoo.open_pair(name) == expected.get(name, name)


def test_the_table_of_models_says_how_each_would_load_here(data):
    table = zoo.describe().splitlines()
    rows = {line.split()[0]: line for line in table if line}
    assert rows["tiny-target"].endswith("shipped")
    assert rows["tiny-mha"].endswith("random weights")
    assert "15,574,336" in rows["tiny-target"]
    assert " yes " in rows["meta-llama/Llama-3.1-8B"]
    assert " yes " not in rows["Qwen/Qwen3-8B"]
    assert set(rows) >= set(models()) | set(KIT_MODELS)
    assert max(map(len, table)) <= 120


def test_importing_the_zoo_and_the_hardware_is_light():
    script = """
import sys
import labkit.measuring.machine.hardware, labkit.measuring.profiles
import labkit.measuring.roofline, labkit.zoo
print([name for name in ("torch", "transformers", "huggingface_hub") if name in sys.modules])
"""
    assert _python(script).strip() == "[]"


def _python(script, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
