"""The way from the corpus to a published pair, walked once in miniature."""

import json
from functools import cache
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from labkit.models.facts import data_path
from training import measure, publish, train
from training.corpus import END_OF_TEXT, documents
from training.model import SHAPES
from training.tokens import rows, texts
from training.train import Settings, schedule, train_pair

CONTEXT = 512  # an eighth of the pair's own
SMALL = Settings(
    n_steps=5,
    batch_tokens=512,
    row_length=64,
    long_share=0.2,
    n_warmup=1,
    n_sample=150,
    n_workers=1,
)


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """A pair trained for five small steps: four of short rows, one of a whole context."""
    folder = tmp_path_factory.mktemp("pair")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "N_CONTEXT", CONTEXT)
        train_pair(folder, SMALL)
    return folder


def test_training_lowers_the_loss_and_records_what_was_done(out):
    record = json.loads((out / "training.json").read_text())
    for name in SHAPES:
        run = record["models"][name]
        assert run["n_tokens"] == SMALL.n_steps * SMALL.batch_tokens
        assert run["losses"][-1][1] < run["losses"][0][1] - 0.2
    assert record["settings"]["n_steps"] == SMALL.n_steps


def test_what_is_stored_loads_with_plain_transformers(out):
    for name, shape in SHAPES.items():
        model = AutoModelForCausalLM.from_pretrained(out / name)
        assert model.dtype == torch.float32
        assert {key: getattr(model.config, key) for key in shape} == shape
        assert AutoTokenizer.from_pretrained(out / name).eos_token == END_OF_TEXT


def test_measuring_and_publishing_fill_the_data_folder(out, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "N_ANSWER", 8)
    monkeypatch.setattr(measure, "N_NEW", 8)
    monkeypatch.setattr(publish, "DATA", tmp_path)
    monkeypatch.setattr("sys.argv", ["measure", str(out), "--n", "1"])
    measure.main()
    monkeypatch.setattr("sys.argv", ["publish", str(out)])
    publish.main()
    record = json.loads((tmp_path / "pair.json").read_text())
    assert set(record["files"]) == {f"{name}/{file}" for name in SHAPES for file in publish.FILES}
    for name in SHAPES:
        text = (tmp_path / name / "README.md").read_text()
        assert f"{record['training']['models'][name]['n_params']:,} parameters" in text
        assert "{" not in text


def test_rows_begin_with_a_document_and_depend_on_the_seed_alone(out):
    tokenizer_file = out / "tokenizer.json"
    made = rows(tokenizer_file, 4, 200, "a")
    assert (made == rows(tokenizer_file, 4, 200, "a")).all()
    assert (made != rows(tokenizer_file, 4, 200, "b")).any()
    starts = [Tokenizer.from_file(str(tokenizer_file)).decode(row[:4]) for row in made]
    assert all(start[0].isupper() or start[0].isdigit() for start in starts)


def test_no_held_out_question_is_trained_on():
    held_out = {document.prompt.splitlines()[0] for document in documents("choice", "hidden", 200)}
    plain = {question for question in held_out if not question.startswith(("A ", "After "))}
    assert len(plain) > 20  # those without a patient, whose trade and town vary
    source = texts(Random(0))
    trained = {next(source).splitlines()[0] for _ in range(20_000)}
    assert len(trained) > 10_000
    assert not plain & trained


def test_the_rate_rises_then_falls():
    rates = [schedule(step, 100, 10) for step in range(100)]
    assert max(rates) == rates[9] == 1.0
    assert rates[:10] == sorted(rates[:10]) and rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.02, abs=0.001)


@given(text=st.text() | st.sampled_from(["a\r\n  b\t", " \n\n ", END_OF_TEXT, "\x00\ufeffé́字🙂"]))
def test_any_text_comes_back_from_the_shipped_tokenizer(text):
    tokenizer = shipped_tokenizer()
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@cache
def shipped_tokenizer():
    """The tokenizer in `data/`, read once."""
    return AutoTokenizer.from_pretrained(data_path("tiny-target"))
