"""Prefix caching: the uncached run's tokens, counts of what was saved, the order of leaving."""

import pytest
import torch
from instances import some_of

from labkit import zoo
from labkit.cache_benchmark import block_hashes, longest_cached_prefix
from labkit.labs.cache_benchmark.prefix_cache import Engine, PrefixCache
from labkit.labs.cache_benchmark.prompts import EDITS, QUESTIONS, asked, document, edited_prompts


@pytest.fixture(scope="module")
def target():
    return zoo.load("tiny-target", profile="cpu")


def cache(block_size=16, n_blocks=512):
    return PrefixCache(block_size, n_blocks, block_hashes, longest_cached_prefix)


def encode(model, text):
    return model.tokenizer(text)["input_ids"]


@pytest.mark.parametrize("block_size", some_of([1, 7, 16], 7))
def test_a_conversation_gives_the_tokens_of_the_uncached_run(target, block_size):
    kept, plain = Engine(target.model, cache(block_size)), Engine(target.model)
    tokens = encode(target, document(700))
    for question in QUESTIONS:
        tokens = tokens + encode(target, asked(question))
        got, expected = kept.answer(tokens, 8), plain.answer(tokens, 8)
        assert got.tokens == expected.tokens
        tokens = tokens + got.tokens
    assert expected.n_saved == 0
    assert got.n_computed < 2 * block_size + 30


def test_after_the_first_round_only_what_is_new_is_computed(target):
    engine = Engine(target.model, cache())
    tokens = encode(target, document(700))
    computed, lengths = [], []
    for question in QUESTIONS:
        tokens = tokens + encode(target, asked(question))
        answer = engine.answer(tokens, 8)
        computed.append(answer.n_computed)
        lengths.append(len(tokens))
        tokens = tokens + answer.tokens
    fed = [length + 8 - 1 for length in lengths]  # the last new token is never fed
    expected = [now - before // 16 * 16 for now, before in zip(lengths[1:], fed, strict=False)]
    assert computed == [lengths[0], *expected]


def test_blocks_of_generated_text_are_kept_too(target):
    tokens = encode(target, "Once upon a time,")
    answer = Engine(target.model, store := cache(4)).answer(tokens, 10)
    assert answer.n_kept_blocks == len(store) == (len(tokens) + 9) // 4


def test_small_edits_keep_what_lies_before_them(target):
    prompts = {name: encode(target, text) for name, text in edited_prompts().items()}
    assert tuple(prompts) == EDITS
    found = {}
    for name, tokens in prompts.items():
        engine = Engine(target.model, cache())
        engine.answer(prompts["same"], 1)
        found[name] = engine.answer(tokens, 1).n_saved
    n_equal = next(
        i
        for i, pair in enumerate(zip(prompts["same"], prompts["one name"], strict=False))
        if pair[0] != pair[1]
    )
    assert found["space before"] == 0
    assert found["same"] == (len(prompts["same"]) - 1) // 16 * 16
    assert found["space after"] == len(prompts["same"]) // 16 * 16
    assert found["one name"] == n_equal // 16 * 16 > 0


def test_users_with_salts_of_their_own_share_nothing(target):
    engine = Engine(target.model, cache(4))
    tokens = list(range(10, 30))
    engine.answer(tokens, 1, salt="anna")
    assert engine.answer(tokens, 1, salt="bert").n_saved == 0
    assert engine.answer(tokens, 1, salt="anna").n_saved == 16


def layers(n_tokens):
    return [(torch.zeros(1, 2, n_tokens, 4), torch.zeros(1, 2, n_tokens, 4))]


def test_without_room_the_end_of_the_oldest_prompt_leaves_first():
    store = cache(block_size=2, n_blocks=5)
    first, second = [1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]
    assert store.keep(first, layers(6)) == 3
    assert store.keep(second, layers(6)) == 3
    assert len(store) == 5
    hashes = block_hashes(first, 2)
    assert [one in store for one in hashes] == [True, True, False]
    assert store.find([*first, 0])[0] == 4
    assert store.find([*second, 0])[0] == 6


def test_a_block_that_was_just_found_stays():
    store = cache(block_size=1, n_blocks=2)
    store.keep([1], layers(1))
    store.keep([2], layers(1))
    assert store.find([1, 0])[0] == 1
    store.keep([3], layers(1))
    assert [store.find([token, 0])[0] for token in (1, 2, 3)] == [1, 0, 1]


def test_a_prompt_longer_than_the_cache_keeps_its_beginning():
    store = cache(block_size=1, n_blocks=3)
    store.keep([1, 2, 3, 4, 5], layers(5))
    assert store.find([1, 2, 3, 4, 5])[0] == 3


def test_what_is_kept_does_not_hold_on_to_the_whole_cache():
    store = cache(block_size=2)
    whole = layers(100)
    store.keep(list(range(100)), whole)
    _, (block, *_) = store.find(list(range(100)))
    assert block[0][0].untyped_storage().nbytes() == 2 * 2 * 4 * 4


@pytest.mark.parametrize("n_saved", [3, 20, -4])
def test_a_function_that_saves_too_much_is_named(n_saved):
    store = PrefixCache(4, 8, block_hashes, lambda *_: n_saved)
    with pytest.raises(ValueError, match=f"gave {n_saved} for a prompt of 16 tokens"):
        store.find(list(range(16)))


def test_callers_mistakes_are_refused(target):
    engine = Engine(target.model)
    with pytest.raises(ValueError, match="at least 1 new token"):
        engine.answer([], 3)
    with pytest.raises(ValueError, match="at least 1 new token"):
        engine.answer([1], 0)
    with pytest.raises(ValueError, match="take a shorter document"):
        engine.answer([1] * 4096, 1)
    with pytest.raises(ValueError, match="1 token per block"):
        cache(block_size=0)
    with pytest.raises(ValueError, match="no paragraph ends"):
        document(10)
