"""Local answers: batched as alone, stopped where they should, and told the form if need be."""

from dataclasses import dataclass
from typing import Any

import pytest
import random_models
import small_models
from transformers import PreTrainedTokenizerFast

from labkit.zoo import load
from training.tasks.generate import (
    INSTRUCTIONS,
    MAX_NEW_TOKENS,
    fingerprint,
    generate,
    local,
)
from training.tasks.items import TASKS
from training.tasks.tool_calls import holds_call

END = "<|endoftext|>"
PROMPTS = [
    "A",
    "Which plant heals grey cough?\nReasoning:",
    "Once upon a time, " * 20,
    "0 -> 1 (2)",
]


@dataclass
class Loaded:
    """The part of a loaded model that is used."""

    model: Any
    tokenizer: Any
    name: str = "random"
    weights: str = "folder"


@pytest.fixture(scope="module")
def tokenizer():
    return small_models.tokenizer()


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Models this small only wait for each other's threads."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(
    params=[random_models.qwen, random_models.gpt2], ids=["rotary", "learned positions"]
)
def model(request):
    return request.param()


def by_hand(model, tokenizer, prompt, n_new):
    """Greedy, one token at a time, without padding or cache."""
    import torch

    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    length = ids.shape[1]
    with torch.inference_mode():
        for _ in range(n_new):
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], dim=1)
    return ids[0, length:].tolist()


def test_batched_equals_alone_equals_by_hand(model, tokenizer):
    model.generation_config.eos_token_id = None  # a random model seldom ends by itself
    tokenizer.eos_token = None
    expected = [tokenizer.decode(by_hand(model, tokenizer, prompt, 24)) for prompt in PROMPTS]
    tokenizer.eos_token = END
    model.generation_config.eos_token_id = 0
    together = generate(model, tokenizer, PROMPTS, 24)
    alone = [generate(model, tokenizer, [prompt], 24)[0] for prompt in PROMPTS]
    assert together == alone
    assert together == [text.split(END)[0] for text in expected]
    assert len(set(together)) == len(PROMPTS)


def test_each_answer_ends_at_its_own_end_token(model, tokenizer):
    tokens = [by_hand(model, tokenizer, prompt, 24) for prompt in PROMPTS]
    end = tokens[1][5]
    model.generation_config.eos_token_id = [0, end]
    for made, answer in zip(tokens, generate(model, tokenizer, PROMPTS, 24), strict=True):
        n_kept = next((i for i, token in enumerate(made) if token in (0, end)), 24)
        assert answer == tokenizer.decode(made[:n_kept])


@pytest.mark.parametrize("has_end", [True, False])
def test_an_answer_ends_behind_its_tool_call(has_end):
    """Braces before the call do not end it, and nothing behind it is kept."""
    tokenizer = small_models.tokenizer()
    call = '{"name": "submit_paths", "arguments": {"paths": [[0, 3]], "weights": [7]}}'
    texts = [call, f" \\frac{{{{1}}}} and {{}}:\n{call}"]
    scripts = [tokenizer(f"{text} and so on")["input_ids"] for text in texts]
    model = random_models.Scripted(*scripts)
    if not has_end:
        model.generation_config.eos_token_id = None
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer)
    assert generate(model, tokenizer, ["A", "A longer one"], 300, holds_call) == texts
    model = random_models.Scripted(scripts[0] + [0])
    assert generate(model, small_models.tokenizer(), ["A"], 300) == [f"{call} and so on"]


def test_a_prompt_must_fit_and_have_a_token(model, tokenizer):
    with pytest.raises(ValueError, match="do not fit the model's context"):
        generate(model, tokenizer, ["A", "long " * 3000], 24)
    with pytest.raises(ValueError, match="no tokens"):
        generate(model, tokenizer, [""], 24)


def test_a_fingerprint_tells_weights_and_shapes_apart():
    marks = [
        fingerprint(make(seed))
        for make in (random_models.qwen, random_models.gpt2)
        for seed in (0, 1)
    ]
    assert len(set(marks)) == 4
    assert fingerprint(random_models.qwen(0)) == marks[0]


def test_a_fingerprint_does_not_depend_on_the_folder(tmp_path):
    model = random_models.qwen()
    marks = set()
    for name in ("here", "there"):
        model.save_pretrained(tmp_path / name)
        small_models.tokenizer().save_pretrained(tmp_path / name)
        marks.add(fingerprint(load(tmp_path / name, device="cpu", dtype="float32").model))
    assert len(marks) == 1
    changed = load(tmp_path / "here", device="cpu", dtype="bfloat16").model
    assert fingerprint(changed) not in marks


def test_a_plain_model_sees_the_prompt_and_a_chat_model_a_turn(tokenizer):
    model = random_models.qwen()
    shown = []
    real = type(tokenizer).__call__

    class Spy(type(tokenizer)):
        def __call__(self, text, **kwargs):
            shown.extend(text if isinstance(text, list) else [])
            return real(self, text, **kwargs)

    spy = Spy(tokenizer_object=tokenizer.backend_tokenizer, eos_token=END)
    limits = dict.fromkeys(TASKS, 4)
    plain = local(Loaded(model, spy), max_new_tokens=limits)
    plain.answer("choice", ["Which plant?"])
    assert shown == ["Which plant?"]
    spy.chat_template = (
        "{% for tool in tools or [] %}[{{ tool.function.name }}]{% endfor %}"
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
    )
    for task in TASKS:
        plain.answer(task, ["Which plant?"])
    assert shown[1] == f"[submit_paths]<user>Which plant?\n\n{INSTRUCTIONS['paths']}<assistant>"
    assert shown[2] == f"<user>Which plant?\n\n{INSTRUCTIONS['choice']}<assistant>"
    assert shown[3] == "<user>Which plant?<assistant>"


def test_a_candidate_is_known_by_weights_and_limits(tokenizer):
    loaded = Loaded(random_models.qwen(), tokenizer)
    longer = {task: n + 1 for task, n in MAX_NEW_TOKENS.items()}
    marks = {
        local(loaded).fingerprint,
        local(loaded, max_new_tokens=longer).fingerprint,
        local(Loaded(random_models.qwen(1), tokenizer)).fingerprint,
    }
    assert len(marks) == 3
    assert local(loaded, batch_size=3).fingerprint in marks


def test_too_large_a_batch_says_what_to_do(tokenizer):
    import torch

    class Full(type(random_models.qwen())):
        def generate(self, **_):
            raise torch.OutOfMemoryError("CUDA out of memory")

    loaded = Loaded(Full(random_models.qwen_config()), tokenizer)
    with pytest.raises(ValueError, match="for 2 answers at once: lower --batch-size"):
        local(loaded).answer("choice", ["A", "B"])


def test_random_weights_are_not_evaluated(tokenizer):
    for loaded in (
        Loaded(random_models.qwen(), tokenizer, weights="random"),
        Loaded(random_models.qwen(), None),
    ):
        with pytest.raises(ValueError, match="--weights hub"):
            local(loaded)
    for name in ("tiny-untrained", "tiny-mha"):
        with pytest.raises(ValueError, match="take tiny-target"):
            local(Loaded(random_models.qwen(), tokenizer, name, "random"))
