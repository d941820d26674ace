"""Polls of lab 6: what speculation gains."""

from functools import partial

from labkit.labs.polls import Poll, Records
from labkit.labs.speculative.records import gains


def _speedup(experiment: str, records: Records) -> float:
    found = gains(records["speculative-h200"], experiment=experiment)
    (gain,) = [each for each in found if (each.row.model, each.gamma) == ("qwen3-8b-0.6b", 7)]
    return gain.speedup[0]


QUESTION = (
    "Qwen3-0.6B drafts 7 tokens a block for Qwen3-8B, on an H200. The acceptance rate α is about "
    "0.8. How many times as fast is this as the target alone, {}?"
)
POLLS = (
    Poll(
        "poll-speculation-eager",
        QUESTION.format("in the transformers library"),
        "times",
        partial(_speedup, "eager_speculation"),
    ),
    Poll(
        "poll-speculation-captured",
        QUESTION.format("if each step is one CUDA graph"),
        "times",
        partial(_speedup, "speculation"),
    ),
)
