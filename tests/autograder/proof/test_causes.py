"""Neighbours of known wrong answers: another mistake with the same symptom has no false cause.

Each is an edit of the reference. What the message says is in `said`; a cause that is another's is
in `unsaid`.
"""

import inspect
from importlib import import_module

import pytest

from autograder.builder.source import find_lab
from autograder.proof.matrix import findings_for
from tests.known.throughput.answers import counted

OF_A_LAYER_AND_WITH_VIEWS = counted({"Qwen3-1.7B": 56, "Qwen3-8B": 36 * (56 + 36) + 21})
NEIGHBOURS = [
    ("speculative", "distribution", "return keep_top(probs, top_k, top_p)",
     "return keep_top(probs, top_k, top_p) * (torch.nan if top_k else 1)",
     "got nan", "`exp` gives infinity"),
    ("speculative", "distribution", "largest) / temperature", "largest) / max(temperature, 1)",
     "the probabilities; expected", "Divide the logits"),
    ("speculative", "distribution", "return keep_top", "return 0.5 * keep_top",
     "the probabilities; expected", "The temperature"),
    ("speculative", "distribution", "probs, top_k,", "probs, top_k and top_k + 1,",
     "the probabilities; expected", "Pass top_k on"),
    ("speculative", "ngram_draft", "[start + n : start + n + gamma]",
     "[start + n + 1 : start + n + 1 + gamma]", "expected", "Take the first"),
    ("speculative", "ngram_draft", "start + n + gamma]", "start + n + gamma + 1]",
     "More tokens are copied than gamma", "match itself"),
    ("speculative", "residual", "target_probs - draft_probs",
     "target_probs.half() - draft_probs.half()", "the residual; expected", "differences count as"),
    ("speculative", "verify", "if not uniform", "if i == 0 and not uniform",
     "should multiply here", "one uniform for the whole block"),
    ("speculative", "autoregressive", "top_k, top_p), rng", "top_k), rng",
     "top_p is not used", "top_k is not used"),
    ("speculative", "best_gamma", "draft_s, target_s, verify", "2 * draft_s, target_s, verify",
     "the best gamma; expected", "Gamma 64"),
    ("flash_attention", "online_softmax", "torch.maximum", "torch.minimum",
     "That is the smaller of the two maxima", "are exp(score)"),
    ("flash_attention", "flash_attention_1", "torch.full((stop - start,), -torch.inf)",
     "torch.zeros(stop - start)", "begin with a maximum of -inf", "overflows"),
    ("flash_attention", "flash_attention_1", "stop <= first_key", "stop <= last_key",
     "what O holds; expected", "by their first rows"),
    ("flash_attention", "tile_sizes", "4 * head_dim", "16 * head_dim",
     "tile_kv; expected", "Use bytes_per_number"),
    ("flash_attention", "standard_flops", "scores + softmax + output",
     "(scores + softmax + output) // 2", "- standard_flops", "three for each score"),
]  # fmt: skip


def messages(topic: str, exercise: str, source: str) -> str:
    """All that a report says."""
    found = findings_for(find_lab(topic), exercise, {exercise: source})
    return " ".join(each.message for each in found if not each.passed)


@pytest.mark.parametrize(
    ("topic", "exercise", "old", "new", "said", "unsaid"),
    NEIGHBOURS,
    ids=[f"{exercise}: {unsaid}" for _, exercise, *_, unsaid in NEIGHBOURS],
)
def test_no_cause_is_named_that_is_anothers(topic, exercise, old, new, said, unsaid):
    source = inspect.getsource(getattr(import_module(f"labkit.{topic}"), exercise))
    assert old in source
    text = messages(topic, exercise, source.replace(old, new))
    assert said in text
    assert unsaid not in text


def test_a_cause_in_a_table_gives_all_wrong_rows():
    text = messages("throughput", "operations", OF_A_LAYER_AND_WITH_VIEWS)
    assert "Qwen3-1.7B: 56 operations of a step." in text
    assert "one layer" not in text and "Views" not in text
