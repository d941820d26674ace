"""The pair that ships: what its card promises holds of the files in `data/`."""

import hashlib
import json
from collections import Counter

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from labkit import zoo
from labkit.models import prompts
from labkit.models.facts import data_path
from training import measure
from training import prompts as built
from training.corpus import SOURCES, documents
from training.model import SHAPES
from training.publish import card
from training.tasks.generate import generate

RECORD = json.loads(data_path("pair.json").read_text())
N_QUESTIONS = 40


@pytest.fixture(scope="module")
def pair():
    return zoo.load_pair("tiny")


def test_every_file_is_the_recorded_one_and_all_are_small():
    sizes = 0
    for name, digest in RECORD["files"].items():
        content = data_path(name).read_bytes()
        sizes += len(content)
        assert hashlib.sha256(content).hexdigest() == digest, name
    assert sizes < 60_000_000


@pytest.mark.parametrize("name", SHAPES)
def test_plain_transformers_load_it(name):
    model = AutoModelForCausalLM.from_pretrained(data_path(name))
    assert type(model).__name__ == "Qwen3ForCausalLM" and model.dtype == torch.float32
    assert {key: getattr(model.config, key) for key in SHAPES[name]} == SHAPES[name]
    tokenizer = AutoTokenizer.from_pretrained(data_path(name))
    assert len(tokenizer) == model.config.vocab_size == 4096


@pytest.mark.parametrize("name", SHAPES)
def test_the_card_says_what_the_record_says(name):
    text = data_path(f"{name}/README.md").read_text(encoding="utf-8")
    assert text == card(name, RECORD["training"], RECORD["measured"])


def test_the_recorded_acceptance_differs_by_source():
    rates = {source: row["rate"] for source, row in RECORD["measured"]["acceptance"]["1.0"].items()}
    overall = rates.pop("all")
    assert set(rates) == set(SOURCES)
    assert 0.6 < overall < 0.9
    assert max(rates.values()) - min(rates.values()) > 0.15


@pytest.mark.parametrize("n", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_acceptance_comes_out_again_on_other_documents(pair, monkeypatch, n):
    monkeypatch.setattr(measure, "TEMPERATURES", (1.0,))
    asked = {source: [d.prompt for d in documents(source, "hidden", n)] for source in SOURCES}
    table = measure.acceptance(pair.target.model, pair.draft.model, pair.target.tokenizer, asked)
    again = table["1.0"]["all"]["rate"]
    assert again == pytest.approx(RECORD["measured"]["acceptance"]["1.0"]["all"]["rate"], abs=0.08)


def test_the_target_answers_questions_that_it_never_saw_and_the_draft_guesses(pair):
    asked = documents("choice", "hidden", N_QUESTIONS)
    texts = [document.prompt for document in asked]
    hits = {}
    for loaded in (pair.target, pair.draft):
        answers = generate(loaded.model, loaded.tokenizer, texts, 40)
        hits[loaded.name] = sum(
            answer.endswith(f"Answer: {document.facts['correct']}")
            for answer, document in zip(answers, asked, strict=True)
        )
    assert hits["tiny-target"] >= 0.6 * N_QUESTIONS
    assert hits["tiny-draft"] < 0.5 * hits["tiny-target"]


def test_the_twenty_prompts_and_the_book_are_what_the_corpus_gives():
    assert data_path("prompts.jsonl").read_text(encoding="utf-8") == built.prompts_jsonl()
    assert prompts.long_prompt() == built.long_prompt()
    assert len(prompts.long_prompt()) >= 135_000
    everything = prompts.prompts()
    assert Counter(prompt.source for prompt in everything) == dict.fromkeys(SOURCES, 5)
    assert len({prompt.id for prompt in everything}) == 20
    assert prompts.prompts("graph") == everything[:5]
    with pytest.raises(ValueError, match="no prompts of source 'poems'; there are choice, graph"):
        prompts.prompts("poems")


def test_a_prompt_s_tokens_begin_the_tokens_of_prompt_and_answer(pair):
    tokenizer = pair.target.tokenizer
    for source in SOURCES:
        for document in documents(source, "dev", 20):
            alone = tokenizer(document.prompt)["input_ids"]
            assert tokenizer(document.text)["input_ids"][: len(alone)] == alone
