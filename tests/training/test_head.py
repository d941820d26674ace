"""The head that ships: trained in miniature, and what its card promises of the files in `data/`."""

import hashlib
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.draft_head import HEAD, HeadDraft, head_weights
from labkit.engine.weights import weights_of
from labkit.models.facts import data_path
from training import head as training_head
from training import measure
from training.corpus import SOURCES
from training.head import Settings, card_text, shifted, train
from training.model import SHAPES

CARD = json.loads(data_path(f"{HEAD}/config.json").read_text(encoding="utf-8"))
SMALL = Settings(n_rows=8, row_length=64, n_solved=4, drafted=(1, 2), n_warmup=1, n_measured=1)


@pytest.fixture(scope="module")
def target():
    path = data_path("tiny-target")
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def trained(target):
    return train(target, SMALL)


def test_a_training_lowers_each_loss_and_comes_out_the_same_twice(target):
    (head, losses), (again, same) = trained(target), trained(target)
    assert losses == same
    for name, tensor in head.trained().items():
        assert torch.equal(tensor, again.trained()[name])
    first, last = losses[0][1:], losses[-1][1:]
    assert (len(first), len(last)) == SMALL.drafted
    assert last[0] < first[0] - 0.1


def test_the_engine_computes_what_was_trained(target):
    head, tokens = trained(target)[0].requires_grad_(False), torch.arange(5, 25)[None]
    model = EngineModel(Decoder(weights_of(target, 32), 32))
    draft = HeadDraft(Decoder(head_weights(head.trained(), target, 32), 32), model)
    model.feed(tokens[0, :-1].tolist())
    states = model.states[None, :19]
    own = head(shifted(states), tokens[:, :-1])
    found = draft.feed(tokens[0, :-1].tolist())
    torch.testing.assert_close(found, head.logits(own)[0], rtol=1e-3, atol=1e-3)
    after = head(shifted(torch.cat([states, states[:, :1]], dim=1)), tokens)
    torch.testing.assert_close(
        draft.feed([int(tokens[0, -1])])[-1], head.logits(after)[0, -1], rtol=1e-3, atol=1e-3
    )


def test_a_published_head_has_its_card_and_its_hashes(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "N_NEW", 8)
    shutil.copy(data_path("pair.json"), tmp_path)
    training_head.publish(tmp_path / HEAD, SMALL)
    text = (tmp_path / HEAD / "README.md").read_text(encoding="utf-8")
    assert "512 in rows of 64, each read 2 times" in text
    assert "{" not in text
    files = json.loads((tmp_path / "pair.json").read_text(encoding="utf-8"))["files"]
    assert "tiny-target/config.json" in files
    for name in (f"{HEAD}/config.json", f"{HEAD}/model.safetensors"):
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == files[name]


def test_the_card_says_what_the_record_says():
    text = data_path(f"{HEAD}/README.md").read_text(encoding="utf-8")
    assert text == card_text(CARD)


def test_the_head_was_trained_for_the_target_that_ships():
    weights = data_path("tiny-target/model.safetensors").read_bytes()
    assert CARD["target_sha256"] == hashlib.sha256(weights).hexdigest()
    assert CARD["hidden_size"] == SHAPES["tiny-target"]["hidden_size"]
    shipped = load_file(data_path(f"{HEAD}/model.safetensors"))
    assert sum(tensor.numel() for tensor in shipped.values()) == CARD["n_params"]


def test_the_recorded_acceptance_is_far_above_chance_in_each_source():
    rates = CARD["acceptance"]["1.0"]
    assert set(rates) == {*SOURCES, "all"}
    assert min(each["rate"] for each in rates.values()) > 0.75
