"""Prefix caching: the uncached run's tokens, counts of what was saved, the order of leaving."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import some_of

from labkit import zoo
from labkit.cache_benchmark import PrefixCache, block_hashes
from labkit.labs.cache_benchmark.prefix_cache import Engine
from labkit.labs.cache_benchmark.prompts import EDITS, QUESTIONS, asked, document, edited_prompts


@pytest.fixture(scope="module")
def target():
    return zoo.load("tiny-target", profile="cpu")


def caching(model, block_size=16, n_blocks=512):
    return Engine(model.model, PrefixCache(n_blocks, block_size), block_size)


def encode(model, text):
    return model.tokenizer(text)["input_ids"]


@pytest.mark.parametrize("block_size", some_of([1, 7, 16], 7))
def test_a_conversation_gives_the_tokens_of_the_uncached_run(target, block_size):
    kept, plain = caching(target, block_size), Engine(target.model)
    tokens = encode(target, document(700))
    for question in QUESTIONS:
        tokens = tokens + encode(target, asked(question))
        got, expected = kept.answer(tokens, 8), plain.answer(tokens, 8)
        assert got.tokens == expected.tokens
        tokens = tokens + got.tokens
    assert expected.n_saved == 0
    assert got.n_computed < 2 * block_size + 30


def test_after_the_first_round_only_what_is_new_is_computed(target):
    engine = caching(target)
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
    engine = caching(target, 4)
    answer = engine.answer(tokens, 10)
    assert answer.n_kept_blocks == engine.cache.n_kept == (len(tokens) + 9) // 4


def test_small_edits_keep_what_lies_before_them(target):
    prompts = {name: encode(target, text) for name, text in edited_prompts().items()}
    assert tuple(prompts) == EDITS
    found = {}
    for name, tokens in prompts.items():
        engine = caching(target)
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
    engine = caching(target, 4)
    tokens = list(range(10, 30))
    engine.answer(tokens, 1, salt="anna")
    assert engine.answer(tokens, 1, salt="bert").n_saved == 0
    assert engine.answer(tokens, 1, salt="anna").n_saved == 16


def request(store, request_id, tokens, salt=""):
    found = store.find(request_id, tokens, salt)
    store.keep(request_id, tokens, salt)
    return found


def test_without_room_the_end_of_the_oldest_prompt_leaves_first():
    store = PrefixCache(5, 2)
    first, second = [1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]
    request(store, 1, first)
    request(store, 2, second)
    assert store.n_kept == 5
    assert [store.has(one) for one in block_hashes(first, 2)] == [True, True, False]
    assert store.find(3, [*first, 0]) == 4
    assert store.find(4, [*second, 0]) == 6


def test_a_prompt_longer_than_the_cache_keeps_its_beginning():
    store = PrefixCache(3, 1)
    request(store, 1, [1, 2, 3, 4, 5])
    assert store.find(2, [1, 2, 3, 4, 5]) == 3


@given(st.randoms(use_true_random=False), st.integers(1, 12), st.integers(1, 3))
def test_through_any_life_kept_blocks_have_their_beginning_and_used_ones_stay(rng, n_blocks, size):
    store, running, known = PrefixCache(n_blocks, size), {}, set()
    prompts = [[rng.randrange(2) for _ in range(size * rng.randrange(1, 6) + 1)] for _ in range(5)]
    parent = {}
    for tokens in prompts:
        hashes = block_hashes(tokens, size)
        parent |= dict(zip(hashes, [None, *hashes[:-1]], strict=True))
        known |= set(hashes)
    for i in range(40):
        if running and rng.random() < 0.5:
            store.keep(*running.popitem()[1][:2])
        else:
            tokens = rng.choice(prompts)
            n_found = store.find(i, tokens)
            running[i] = (i, tokens, block_hashes(tokens, size)[: n_found // size])
        kept = {one for one in known if store.has(one)}
        assert len(kept) == store.n_kept <= n_blocks
        assert all(parent[one] is None or parent[one] in kept for one in kept)
        assert all(one in kept for _, _, found in running.values() for one in found)


def test_an_engine_forgets_what_its_cache_evicts_and_copies_what_it_keeps(target):
    engine = caching(target, 4, n_blocks=3)
    engine.answer(list(range(10, 30)), 1)
    engine.answer(list(range(40, 52)), 1)
    assert len(engine._blocks) == engine.cache.n_kept == 3
    (keys, _), *_ = next(iter(engine._blocks.values()))
    assert keys.untyped_storage().nbytes() == keys.nbytes


class Claims:
    n_kept = 0

    def __init__(self, n_found):
        self.n_found = n_found

    def find(self, *_):
        return self.n_found

    def keep(self, *_):
        return None

    def has(self, block_hash):
        return False


@pytest.mark.parametrize("n_found", [3, 20, -4, 4])
def test_a_cache_that_finds_what_cannot_be_is_named(target, n_found):
    engine = Engine(target.model, Claims(n_found), 4)
    with pytest.raises(ValueError, match=f"gave {n_found} for a prompt of 16 tokens"):
        engine.answer(list(range(10, 26)), 1)


def test_callers_mistakes_are_refused(target):
    engine = Engine(target.model)
    with pytest.raises(ValueError, match="at least 1 new token"):
        engine.answer([], 3)
    with pytest.raises(ValueError, match="at least 1 new token"):
        engine.answer([1], 0)
    with pytest.raises(ValueError, match="take a shorter document"):
        engine.answer([1] * 4096, 1)
    with pytest.raises(ValueError, match="at least 1 block of at least 1 token, got 3 blocks of 0"):
        PrefixCache(3, 0)
    with pytest.raises(ValueError, match="request 1 is not running"):
        PrefixCache(3, 4).keep(1, [1])
    with pytest.raises(ValueError, match="no paragraph ends"):
        document(10)
