"""Lab 3's experiments on shared prompts and on offloaded weights, as rows of a record."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from labkit import cache_benchmark, zoo
from labkit.labs.cache_benchmark.offload import copy_bandwidth, offloaded
from labkit.labs.cache_benchmark.prefix_cache import Answer, Engine, PrefixCache
from labkit.labs.cache_benchmark.prompts import QUESTIONS, asked, document, edited_prompts
from labkit.labs.cache_benchmark.runs import times_at, tokenize
from labkit.measuring.profiles import Profile
from labkit.measuring.records import IsDone, Row, measured

BLOCK_SIZE = 16
SHORT_DOCUMENT = 1800  # characters, some 360 tokens


def multi_turn(
    profile: Profile,
    *,
    n_characters: int | None = None,
    n_new: int = 16,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    longest_cached_prefix: Callable[..., int] = cache_benchmark.longest_cached_prefix,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Four questions on one document, one after another, without and with a prefix cache.

    A row's time is that of the prefill, until the first of n_new new tokens, so it counts as a row
    of one new token. n_input is what was computed; counts hold the prompt's tokens, those saved
    and those computed. Every answer is part of the next prompt.
    """
    model = zoo.load_for_timing("instruct", profile)
    n_characters = n_characters or (24_000 if profile.device == "cuda" else SHORT_DOCUMENT)
    for use_cache in (False, True):
        conversations = []
        for _ in range(profile.n_warmup + profile.n_repeats):
            cache = _cache(block_hashes, longest_cached_prefix) if use_cache else None
            engine = Engine(model.model, cache)
            tokens = tokenize(model, document(n_characters))[0].tolist()
            answers = []
            for question in QUESTIONS:
                tokens = tokens + tokenize(model, asked(question))[0].tolist()
                answers.append(engine.answer(tokens, n_new))
                tokens = tokens + answers[-1].tokens
            conversations.append(answers)
        for turn, answers in enumerate(zip(*conversations, strict=True), start=1):
            row = _answer_row(
                "multi_turn", model, answers[profile.n_warmup :], use_cache, f"round {turn}"
            )
            if not is_done(row.key):
                yield row


def invalidation(
    profile: Profile,
    *,
    n_characters: int = SHORT_DOCUMENT,
    n_new: int = 1,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    longest_cached_prefix: Callable[..., int] = cache_benchmark.longest_cached_prefix,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """A prompt, and small edits of it after it is cached; "first" is the run that fills the cache.

    Counts as in `multi_turn`; the document has the same length on every machine.
    """
    model = zoo.load_for_timing("instruct", profile)
    prompts = edited_prompts(n_characters)
    for setting, text in {"first": prompts["same"], **prompts}.items():
        answers = []
        for _ in range(profile.n_warmup + profile.n_repeats):
            engine = Engine(model.model, _cache(block_hashes, longest_cached_prefix))
            if setting != "first":
                engine.answer(tokenize(model, prompts["same"])[0].tolist(), n_new)
            answers.append(engine.answer(tokenize(model, text)[0].tolist(), n_new))
        row = _answer_row("invalidation", model, answers[profile.n_warmup :], True, setting)
        if not is_done(row.key):
            yield row


def offload(
    profile: Profile, *, n_steps: int = 16, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Decode steps with no layer, half of the layers and all of them offloaded.

    A row's time is that of n_steps steps. counts: the bytes that each step brings over, and the
    bytes per second at which such a copy alone arrives.
    """
    model = zoo.load_for_timing("instruct", profile)
    layers = range(len(model.model.model.layers))
    plans = {"none": [], "half": list(layers)[::2], "all": list(layers)}
    settings = [(name, picked, False) for name, picked in plans.items()]
    if model.device.startswith("cuda"):
        settings.append(("half, overlapping", plans["half"], True))
    largest = max(_n_bytes(layer) for layer in model.model.model.layers)
    for setting, picked, overlap in settings:
        row = Row("offload", model.name, 1, 1, n_steps, True, outcome="-", setting=setting)
        if is_done(row.key):
            continue
        with offloaded(model.model, picked, overlap) as n_bytes:
            samples = [
                _step_times(model, n_steps) for _ in range(profile.n_warmup + profile.n_repeats)
            ]
        counts = {
            "offloaded_bytes": n_bytes,
            "link_bandwidth": copy_bandwidth(largest, model.device),
        }
        yield measured(row, samples[profile.n_warmup :], counts)


def _step_times(model: zoo.LoadedModel, n_steps: int) -> float:
    """Seconds of n_steps decode steps after a prompt of one token."""
    token = torch.ones(1, 1, dtype=torch.long, device=model.device)
    first, last = times_at(model, token, [1, n_steps + 1], True)
    return last - first


def _answer_row(
    experiment: str,
    model: zoo.LoadedModel,
    answers: Sequence[Answer],
    use_cache: bool,
    setting: str,
) -> Row:
    first = answers[0]
    counts = {
        "prompt_tokens": first.n_prompt,
        "saved_tokens": first.n_saved,
        "prefill_tokens": first.n_computed,
    }
    row = Row(
        experiment, model.name, 1, first.n_computed, 1, use_cache, outcome="-", setting=setting
    )
    return measured(row, [answer.prefill_s for answer in answers], counts)


def _cache(block_hashes: Callable, longest_cached_prefix: Callable) -> PrefixCache:
    return PrefixCache(BLOCK_SIZE, 4096, block_hashes, longest_cached_prefix)


def _n_bytes(layer: Any) -> int:
    return sum(parameter.nbytes for parameter in layer.parameters())
