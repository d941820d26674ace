"""Weights that are missing, cut short, changed or of another model: each says so, with the fix."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import write_hub_cache, write_model, write_pair, write_record

from labkit import zoo
from labkit.models import folder
from labkit.models.facts import models
from labkit.models.tiny import KIT_MODELS
from labkit.zoo import hub

HUB_NAME = "kit/small"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    data = tmp_path_factory.mktemp("pristine")
    write_pair(data)
    return data


@pytest.fixture
def data(pristine, tmp_path, monkeypatch):
    """A data folder of one's own to damage, and an empty hub cache."""

    def data_path(name):
        if not (tmp_path / "data" / name).exists():
            raise FileNotFoundError(name)
        return tmp_path / "data" / name

    shutil.copytree(pristine, tmp_path / "data")
    monkeypatch.setattr(folder, "data_path", data_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "data"


@pytest.fixture
def cached(data, monkeypatch):
    """A hub cache with a complete model that the fact table knows; returns its snapshot."""
    monkeypatch.setitem(models(), HUB_NAME, KIT_MODELS["tiny-draft"] | {"gated": False})
    return write_hub_cache(data.parent / "hub", HUB_NAME, data / "tiny-draft")


def flip_one_bit(path, at=-1000):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


# --- shipped weights


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: flip_one_bit(data / "tiny-draft/model.safetensors"), "model.safetensors was"),
        (lambda data: cut_in_half(data / "tiny-draft/model.safetensors"), "model.safetensors was"),
        (lambda data: (data / "tiny-draft/model.safetensors").unlink(), "tensors is missing"),
        (lambda data: (data / "tiny-draft/tokenizer.json").write_text("{}"), "tokenizer.json was"),
        (lambda data: (data / "tiny-draft/config.json").unlink(), "config.json is missing"),
        (lambda data: (data / "pair.json").unlink(), "data/pair.json is missing"),
        (lambda data: (data / "pair.json").write_text("{"), "data/pair.json cannot be read"),
        (lambda data: (data / "pair.json").write_text("{}"), "data/pair.json cannot be read"),
        (lambda data: (data / "pair.json").write_text('{"files": {}}'), "lists no file of it"),
    ],
)
def test_a_shipped_file_that_is_not_as_recorded_stops_the_load(damage, message, data):
    damage(data)
    with pytest.raises(zoo.DamagedModel, match=message) as caught:
        zoo.load("tiny-draft", device="cpu")
    for fix in ("Install labkit again", "git checkout", 'load("tiny-draft", weights="random")'):
        assert fix in str(caught.value)
    assert zoo.load("tiny-draft", weights="random", device="cpu").weights == "random"
    assert "damaged" in zoo.describe()


def test_a_damaged_draft_does_not_stop_the_target(data):
    flip_one_bit(data / "tiny-draft/model.safetensors")
    assert zoo.load("tiny-target", device="cpu").weights == "shipped"


def test_a_pair_that_was_recorded_in_another_shape_is_not_taken_for_the_kit_s(data):
    write_model(data / "tiny-draft", "tiny-untrained")
    config = json.loads((data / "tiny-draft/config.json").read_text())
    (data / "tiny-draft/config.json").write_text(json.dumps(config | {"num_attention_heads": 1}))
    write_record(data)
    with pytest.raises(zoo.DamagedModel):
        zoo.load("tiny-draft", device="cpu")


# --- any folder


def rewrite_weights(change):
    def damage(path):
        tensors = load_file(path / "model.safetensors")
        change(tensors)
        save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: cut_in_half(path / "model.safetensors"), "cut short or overwritten"),
        (lambda path: (path / "model.safetensors").write_bytes(b""), "cut short or overwritten"),
        (lambda path: (path / "model.safetensors").unlink(), "lacks model.safetensors"),
        (lambda path: (path / "config.json").write_text("{"), "not a valid JSON"),
        (lambda path: (path / "config.json").write_text('{"model_type": "nosuch"}'), "nosuch"),
        (
            lambda path: (path / "config.json").write_text(
                '{"model_type": "own", "auto_map": {"AutoConfig": "evil.Config"}}'
            ),
            "contains custom code",
        ),
        (lambda path: (path / "tokenizer.json").write_text("{}"), "tokenizer is unreadable"),
        (lambda path: (path / "tokenizer.json").write_text("no JSON"), "tokenizer is unreadable"),
        (lambda path: (path / "tokenizer.json").unlink(), "lacks tokenizer.json"),
        (
            rewrite_weights(lambda tensors: tensors.pop("model.norm.weight")),
            "weights lack 1 tensors, such as model.norm.weight",
        ),
        (
            rewrite_weights(lambda tensors: tensors.update({"model.norm.weight": torch.ones(3)})),
            "other sizes than its config.json says",
        ),
    ],
)
def test_a_folder_that_cannot_be_loaded_says_what_is_wrong_with_it(damage, message, data):
    damage(data / "tiny-draft")
    with pytest.raises(zoo.DamagedModel, match=message) as caught:
        zoo.load(data / "tiny-draft", device="cpu")
    assert str(data / "tiny-draft") in str(caught.value)
    assert "again" in str(caught.value)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(zoo.DamagedModel, match=r"lacks config\.json, tokenizer\.json, model"):
        zoo.load(tmp_path / "nothing", device="cpu")


def test_weights_in_several_files_load_and_a_missing_one_is_named(tmp_path):
    saved = write_model(tmp_path / "parts", "tiny-draft", max_shard_size="300KB")
    parts = sorted(path.name for path in (tmp_path / "parts").glob("model-*.safetensors"))
    assert len(parts) > 1
    loaded = zoo.load(tmp_path / "parts", device="cpu")
    for ours, theirs in zip(loaded.model.parameters(), saved.parameters(), strict=True):
        assert torch.equal(ours, theirs.float())
    (tmp_path / "parts" / parts[1]).unlink()
    with pytest.raises(zoo.DamagedModel, match=parts[1]):
        zoo.load(tmp_path / "parts", device="cpu")
    (tmp_path / "parts/model.safetensors.index.json").write_text("[]")
    with pytest.raises(zoo.DamagedModel, match=r"index\.json \(unreadable\)"):
        zoo.load(tmp_path / "parts", device="cpu")


# --- the hub's cache


def test_a_model_in_the_hub_s_cache_is_loaded_without_being_asked_for(cached):
    loaded = zoo.load(HUB_NAME, device="cpu")
    assert (loaded.weights, loaded.note) == ("hub", "")
    assert zoo.load(HUB_NAME, weights="hub", device="cpu").weights == "hub"
    assert zoo.load(HUB_NAME, weights="random", device="cpu").weights == "random"
    assert "in the hub's cache" in zoo.describe()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_half_downloaded_model_counts_as_absent_and_the_note_says_so(name, cached):
    (cached / name).resolve().unlink()  # the link stays and dangles
    assert (cached / name).is_symlink()
    loaded = zoo.load(HUB_NAME, device="cpu")
    assert loaded.weights == "random"
    assert f"only a part of it ({name} is missing)" in loaded.note
    (cached / name).unlink()
    assert f"({name} is missing)" in zoo.load(HUB_NAME, device="cpu").note


def test_a_cached_file_that_was_cut_short_is_an_error_that_names_what_to_delete(cached):
    cut_in_half((cached / "model.safetensors").resolve())
    with pytest.raises(zoo.DamagedModel, match="cut short") as caught:
        zoo.load(HUB_NAME, device="cpu")
    assert f"Delete {cached.parents[1]} and load it" in str(caught.value)


def test_a_cached_model_that_is_not_what_the_facts_say_is_refused(cached, monkeypatch):
    monkeypatch.setitem(models()[HUB_NAME], "num_key_value_heads", 2)
    with pytest.raises(zoo.DamagedModel, match="num_key_value_heads is 1, the facts say 2"):
        zoo.load(HUB_NAME, device="cpu")


def test_names_that_the_hub_could_not_have_are_in_no_cache(data):
    for name in ("../secret", "a/b/c", "tiny target"):
        assert hub.cached_folder(name)[0] is None
