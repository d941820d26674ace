"""Lab 3's experiments with a prefix cache: a conversation, edited prompts, and a guessed prompt."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from labkit import cache_benchmark, zoo
from labkit.labs.cache_benchmark.prefix_cache import Answer, Engine
from labkit.labs.cache_benchmark.prompts import NAMES, QUESTIONS, asked, document, edited_prompts
from labkit.labs.cache_benchmark.runs import tokenize
from labkit.measuring.device import rows_in_room
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import with_time_left

SIZES = (4096, 16)  # of the prefix cache: blocks, and tokens per block
SHORT_DOCUMENT = 1800  # characters, some 360 tokens


def multi_turn(
    profile: MachineProfile,
    *,
    n_characters: int | None = None,
    n_new: int = 16,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    prefix_cache: Callable[..., Any] = cache_benchmark.PrefixCache,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Four questions on one document, one after another, without and with a prefix cache.

    A row's time is that of the prefill, until the first of n_new new tokens, so it counts as a row
    of one new token. n_input is what was computed; counts hold the prompt's tokens, those saved
    and those computed. Every answer is part of the next prompt.
    """
    n_characters = n_characters or _long_enough(profile)
    name, n_runs = profile.roles["instruct"], profile.n_warmup + profile.n_repeats

    def conversation(model: zoo.LoadedModel, use_cache: bool) -> list[Answer]:
        cache = prefix_cache(*SIZES) if use_cache else None
        engine = Engine(model.model, cache, SIZES[1], block_hashes)
        tokens, answers = tokenize(document(n_characters)), []
        for question in QUESTIONS:
            tokens = tokens + tokenize(asked(question))
            answers.append(engine.answer(tokens, n_new))
            tokens = tokens + answers[-1].tokens
        return answers

    def measure(use_cache: bool) -> Iterator[Row]:
        model = zoo.load_for_timing("instruct", profile)
        title = "with a prefix cache" if use_cache else "without"
        rounds = with_time_left(range(n_runs), title, "conversation")
        conversations = [conversation(model, use_cache) for _ in rounds]
        for row, answers in zip(rows[use_cache], zip(*conversations, strict=True), strict=True):
            row = _answered(row, answers[profile.n_warmup :])
            if not is_done(row.key):
                yield row

    words = {"outcome": "-"}
    rows = {
        use_cache: [
            Row("multi_turn", name, 1, 0, 1, use_cache, setting=f"round {i + 1}", **words)
            for i in range(len(QUESTIONS))
        ]
        for use_cache in (False, True)
    }
    for use_cache in rows:
        yield from rows_in_room(rows[use_cache], partial(measure, use_cache))


def invalidation(
    profile: MachineProfile,
    *,
    n_characters: int = SHORT_DOCUMENT,
    n_new: int = 1,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    prefix_cache: Callable[..., Any] = cache_benchmark.PrefixCache,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """A prompt, and small edits of it after it is cached; "first" is the run that fills the cache.

    Counts as in `multi_turn`; the document has the same length on every machine.
    """
    prompts = edited_prompts(n_characters)
    texts = {"first": prompts["same"], **prompts}
    row = Row("invalidation", profile.roles["instruct"], 1, 0, 1, True, outcome="-")
    rows = [replace(row, setting=setting) for setting in texts]

    def measure() -> Iterator[Row]:
        model = zoo.load_for_timing("instruct", profile)
        for row in with_time_left(rows, "edited prompts", "prompt"):
            answers = []
            for _ in range(profile.n_warmup + profile.n_repeats):
                engine = Engine(model.model, prefix_cache(*SIZES), SIZES[1], block_hashes)
                if row.setting != "first":
                    engine.answer(tokenize(prompts["same"]), n_new)
                answers.append(engine.answer(tokenize(texts[row.setting]), n_new))
            row = _answered(row, answers[profile.n_warmup :])
            if not is_done(row.key):
                yield row

    yield from rows_in_room(rows, measure)


def leak(
    profile: MachineProfile,
    *,
    n_characters: int | None = None,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    prefix_cache: Callable[..., Any] = cache_benchmark.PrefixCache,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Another user's prompt is guessed from the time to the first token, without and with salts.

    One user sends the document, with the first of `NAMES`. Another one sends it with each name. In
    rows "NAME, salted" every user has a salt. A row's time is that of the guess's prefill.
    """
    n_characters = n_characters or _long_enough(profile)
    texts = {name: document(n_characters).replace(NAMES[0], name) for name in sorted(NAMES)}
    row = Row("leak", profile.roles["instruct"], 1, 0, 1, True, outcome="-")
    rows = [replace(row, setting=name + more) for more in ("", ", salted") for name in texts]

    def measure() -> Iterator[Row]:
        model = zoo.load_for_timing("instruct", profile)
        for row in with_time_left(rows, "guesses", "guess"):
            name, _, is_salted = row.setting.partition(", ")
            salts = ("the user", "the attacker") if is_salted else ("", "")
            answers = []
            for _ in range(profile.n_warmup + profile.n_repeats):
                engine = Engine(model.model, prefix_cache(*SIZES), SIZES[1], block_hashes)
                engine.answer(tokenize(texts[NAMES[0]]), 1, salts[0])
                answers.append(engine.answer(tokenize(texts[name]), 1, salts[1]))
            row = _answered(row, answers[profile.n_warmup :])
            if not is_done(row.key):
                yield row

    yield from rows_in_room(rows, measure)


def _long_enough(profile: MachineProfile) -> int:
    """Characters of a document whose prefill takes longer than the launches of one pass."""
    return 24_000 if profile.device == "cuda" else SHORT_DOCUMENT


def _answered(row: Row, answers: Sequence[Answer]) -> Row:
    """The row of requests that were alike; of what they computed, that of the first."""
    first = answers[0]
    counts = {
        "prompt_tokens": first.n_prompt,
        "saved_tokens": first.n_saved,
        "prefill_tokens": first.n_computed,
    }
    row = replace(row, n_input=first.n_computed)
    return measured(row, [answer.prefill_s for answer in answers], counts)
