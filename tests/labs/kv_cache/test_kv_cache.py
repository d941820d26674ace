"""Cached equals uncached, and each store equals plain storage, through random lives."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.cache_benchmark import block_hashes
from labkit.kv_cache import (
    ArenaCache,
    GrowingCache,
    PagedCache,
    RingCache,
    forward_cached,
    generate,
    rotate,
    tokens_processed,
)
from labkit.labs.kv_cache.paged_rows import PagedRows
from labkit.models.transformer import (
    Transformer,
    TransformerConfig,
    generate_uncached,
    greedy,
    sampler,
)

CONFIG = TransformerConfig(
    n_layers=3, n_heads=4, n_kv_heads=2, d_model=16, vocab_size=31, n_context=24
)
MODEL = Transformer.random(CONFIG, torch.Generator().manual_seed(0))


def _paged(batch):
    return PagedRows(PagedCache(8 * batch, 4, 2, 4) for _ in range(CONFIG.n_layers))


STORES = {
    "grows": lambda batch: GrowingCache(CONFIG.n_layers),
    "arena": lambda batch: ArenaCache(CONFIG.n_layers, batch, 2, 4, 24),
    "ring": lambda batch: RingCache(CONFIG.n_layers, batch, 2, 4, 24),
    "pages": _paged,
}
every_store = pytest.mark.parametrize("make_store", STORES.values(), ids=STORES)


def model_with(store):
    return lambda tokens: forward_cached(MODEL, tokens, store, rotate)


def prompt(batch, n_prompt, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(31, (batch, n_prompt), generator=rng)


@every_store
@given(chunks=st.lists(st.integers(1, 6), min_size=1, max_size=4), batch=st.integers(1, 2))
def test_a_sequence_fed_in_chunks_has_the_logits_of_one_forward(make_store, chunks, batch):
    tokens, store, found = prompt(batch, sum(chunks)), make_store(batch), []
    for chunk in tokens.split(chunks, dim=1):
        found.append(model_with(store)(chunk))
        assert store.length == sum(logits.shape[1] for logits in found)
    torch.testing.assert_close(torch.cat(found, 1), MODEL(tokens), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("window", [1, 3, 8])
@given(chunks=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_on_a_ring_the_model_has_a_sliding_window_also_with_chunks(window, chunks):
    tokens, step = prompt(1, sum(chunks)), model_with(RingCache(CONFIG.n_layers, 1, 2, 4, window))
    found = torch.cat([step(chunk) for chunk in tokens.split(chunks, dim=1)], 1)
    torch.testing.assert_close(found, MODEL(tokens, window), rtol=1e-5, atol=1e-5)


def test_what_a_growing_cache_returned_stays_as_it_was():
    cache, keys = GrowingCache(2), torch.randn(1, 2, 3, 4)
    first = cache.append(0, keys, keys)[0]
    cache.append(0, -keys, -keys)
    assert torch.equal(first, keys)
    assert cache.length == 0


def test_rotated_scores_depend_on_the_distance_alone():
    queries, keys = torch.randn(2, 1, 1, 1, 32)
    scores = [
        (rotate(queries, torch.tensor([p + 7])) * rotate(keys, torch.tensor([p]))).sum()
        for p in (0, 1, 100)
    ]
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(scores[0], scores[2], rtol=1e-4, atol=1e-4)


@every_store
@pytest.mark.parametrize("make_pick", [lambda: greedy, lambda: sampler(_seeded(3), 1.5)])
@pytest.mark.parametrize(("batch", "n_prompt", "n_new"), [(1, 1, 12), (3, 5, 9), (2, 4, 1)])
def test_cached_generation_gives_the_uncached_tokens(make_store, make_pick, batch, n_prompt, n_new):
    tokens, step = prompt(batch, n_prompt), model_with(make_store(batch))
    expected = generate_uncached(MODEL, tokens, n_new, make_pick())
    assert torch.equal(generate(step, tokens, n_new, make_pick()), expected)


def _seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_rows_of_a_batch_equal_single_runs():
    tokens = prompt(3, 4)
    together = generate(model_with(GrowingCache(3)), tokens, 8)
    alone = [generate(model_with(GrowingCache(3)), row[None], 8) for row in tokens]
    assert torch.equal(together, torch.cat(alone))


def test_generation_fills_the_context_and_refuses_one_more():
    tokens, step = prompt(1, 5), model_with(GrowingCache(3))
    assert generate(step, tokens, 20, n_context=24).shape == (1, 25)
    with pytest.raises(ValueError, match=r"5 \+ 21 tokens need 25 positions of 24"):
        generate(step, tokens, 21, n_context=24)
    assert torch.equal(generate(step, tokens, 0), tokens)


@given(n_prompt=st.integers(1, 8), n_new=st.integers(0, 12))
def test_counted_tokens_equal_those_that_were_fed(n_prompt, n_new):
    fed = {"cached": 0, "uncached": 0}

    def cached_forward(tokens):
        fed["cached"] += tokens.shape[1]
        return torch.zeros(1, tokens.shape[1], 5)

    def uncached_forward(tokens):
        fed["uncached"] += tokens.shape[1]
        return torch.zeros(1, tokens.shape[1], 5)

    generate(cached_forward, prompt(1, n_prompt), n_new)
    generate_uncached(uncached_forward, prompt(1, n_prompt), n_new)
    assert tokens_processed(n_prompt, n_new, cached=True) == fed["cached"]
    assert tokens_processed(n_prompt, n_new, cached=False) == fed["uncached"]


@given(life=st.lists(st.integers(-6, 6), max_size=12))
def test_an_arena_equals_concatenation_and_never_moves(life):
    arena, held = ArenaCache(2, 1, 2, 3, capacity=10), torch.zeros(2, 2, 1, 2, 0, 3)
    address = arena.keys.data_ptr(), arena.values.data_ptr()
    for n_tokens in life:
        if n_tokens <= 0:
            if -n_tokens > arena.length:
                with pytest.raises(ValueError, match=f"cannot rewind {-n_tokens} of"):
                    arena.rewind(-n_tokens)
                continue
            arena.rewind(-n_tokens)
            held = held[..., : held.shape[-2] + n_tokens, :]
            continue
        tokens = torch.randn(2, 2, 1, 2, n_tokens, 3)
        if arena.length + n_tokens > 10:
            with pytest.raises(ValueError, match=f"{n_tokens} tokens do not fit: .* of 10"):
                arena.append(0, tokens[0, 0], tokens[1, 0])
            continue
        held = torch.cat([held, tokens], dim=-2)
        for layer in range(2):
            keys, values, mask = arena.append(layer, tokens[0, layer], tokens[1, layer])
            n_seen = range(held.shape[-2] - n_tokens + 1, held.shape[-2] + 1)
            assert mask.sum(1).tolist() == list(n_seen)
            assert torch.equal(keys, held[0, layer])
            assert torch.equal(values, held[1, layer])
        assert arena.length == held.shape[-2]
        assert (arena.keys.data_ptr(), arena.values.data_ptr()) == address
        assert keys.untyped_storage().data_ptr() == arena.keys.untyped_storage().data_ptr()


def test_a_rewound_model_on_an_arena_continues_like_a_fresh_run():
    arena = ArenaCache(CONFIG.n_layers, 1, 2, 4, capacity=24)
    tokens, step = prompt(1, 12), model_with(arena)
    step(tokens[:, :8])
    step(prompt(1, 4, seed=1))
    arena.rewind(4)
    torch.testing.assert_close(step(tokens[:, 8:]), MODEL(tokens)[:, 8:], rtol=1e-5, atol=1e-5)


def test_views_of_an_arena_show_what_is_written_later():
    arena = ArenaCache(1, 1, 1, 2, capacity=4, dtype=torch.bfloat16)
    keys, _, _ = arena.append(0, torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    arena.rewind(2)
    arena.append(0, torch.full((1, 1, 2, 2), 7.0), torch.ones(1, 1, 2, 2))
    assert keys.dtype == torch.bfloat16
    assert (keys == 7).all()


@given(window=st.integers(1, 6), chunks=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_a_ring_holds_the_newest_tokens_in_their_slots(window, chunks):
    ring, n_tokens = RingCache(1, 1, 2, 3, window), sum(chunks)
    keys, values = torch.randn(2, 1, 2, n_tokens, 3)
    n_seen = 0
    for n_new in chunks:
        chunk = slice(n_seen, n_seen + n_new)
        ring.append(0, keys[:, :, chunk], values[:, :, chunk])
        n_seen += n_new
        assert ring.length == n_seen
        for position in range(max(0, n_seen - window), n_seen):
            slot = position % window
            assert torch.equal(ring.keys[0, :, :, slot], keys[:, :, position])
            assert torch.equal(ring.values[0, :, :, slot], values[:, :, position])


def owned_blocks(cache):
    return [block for sequence_id in cache.tables for block in cache.block_table(sequence_id)]


operations = st.tuples(
    st.sampled_from(["append", "append", "rewind", "free"]), st.integers(0, 2), st.integers(1, 7)
)


@given(life=st.lists(operations, max_size=25), block_size=st.integers(1, 4))
def test_paged_sequences_equal_contiguous_ones_and_no_block_is_lost(life, block_size):
    cache, held = PagedCache(8, block_size, 2, 3), {}
    for operation, one, n_tokens in life:
        before = {i: cache.block_table(i) for i in held}
        mine = held.get(one, torch.zeros(2, 2, 0, 3))
        if operation == "append":
            tokens = torch.randn(2, 2, n_tokens, 3)
            others = sum(math.ceil(held[i].shape[2] / block_size) for i in held if i != one)
            if math.ceil((mine.shape[2] + n_tokens) / block_size) + others > 8:
                with pytest.raises(MemoryError, match="are free"):
                    cache.append(one, *tokens)
                assert {i: cache.block_table(i) for i in held} == before
            else:
                cache.append(one, *tokens)
                held[one] = torch.cat([mine, tokens], dim=2)
        elif one in held and operation == "free":
            cache.free(one)
            del held[one]
        elif one in held:
            if n_tokens > mine.shape[2]:
                with pytest.raises(ValueError, match=f"cannot rewind {n_tokens} of"):
                    cache.rewind(one, n_tokens)
            else:
                cache.rewind(one, n_tokens)
                held[one] = mine[:, :, : mine.shape[2] - n_tokens]
        owned = owned_blocks(cache)
        assert len(set(owned)) == len(owned) == 8 - cache.n_free_blocks
        for sequence_id, tokens in held.items():
            n_blocks = math.ceil(tokens.shape[2] / block_size)
            assert len(cache.block_table(sequence_id)) == n_blocks
            assert torch.equal(torch.stack(cache.gather(sequence_id)), tokens)


def test_freed_blocks_are_used_again():
    cache = PagedCache(2, 4, 1, 1)
    for sequence_id in range(5):
        cache.append(sequence_id, torch.full((1, 8, 1), float(sequence_id)), torch.zeros(1, 8, 1))
        assert cache.n_free_blocks == 0
        assert (cache.gather(sequence_id)[0] == sequence_id).all()
        cache.free(sequence_id)
    assert cache.n_free_blocks == 2


family = st.tuples(
    st.sampled_from(["append", "append", "rewind", "free", "fork"]),
    st.integers(0, 3),
    st.integers(0, 7),
)


@given(life=st.lists(family, max_size=30), block_size=st.integers(1, 4))
def test_sequences_that_share_blocks_keep_their_tokens_and_no_block_is_lost(life, block_size):
    cache, held = PagedCache(8, block_size, 2, 3), {}
    for operation, one, n in life:
        mine = held.get(one, torch.zeros(2, 2, 0, 3))
        before = {i: cache.block_table(i) for i in held}, cache.n_free_blocks
        try:
            if operation == "append":
                tokens = torch.randn(2, 2, n + 1, 3)
                cache.append(one, *tokens)
                held[one] = torch.cat([mine, tokens], dim=2)
            elif operation == "fork":
                cache.fork(one, n % 4)
                held[n % 4] = mine
            elif one in held and operation == "rewind":
                cache.rewind(one, n)
                held[one] = mine[:, :, : mine.shape[2] - n]
            elif one in held:
                cache.free(one)
                del held[one]
        except (MemoryError, ValueError):
            assert ({i: cache.block_table(i) for i in held}, cache.n_free_blocks) == before
        users = owned_blocks(cache)
        assert len(set(users)) == 8 - cache.n_free_blocks
        assert cache.n_references == [users.count(block) for block in range(8)]
        for sequence_id, tokens in held.items():
            assert torch.equal(torch.stack(cache.gather(sequence_id)), tokens)


def test_a_prompt_begins_with_the_blocks_that_lab_3_hashes_find():
    cache, prompts = (
        PagedCache(16, 4, 1, 1),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 0, 7, 8]),
    )
    keys = torch.arange(9.0).view(1, 9, 1)
    cache.append(0, keys, keys)
    cache.name_blocks(0, block_hashes(prompts[0], 4))
    assert cache.begin(1, block_hashes(prompts[1], 4)) == 4
    assert cache.block_table(1) == cache.block_table(0)[:1]
    cache.append(1, keys[:, :4], keys[:, :4])
    assert cache.gather(0)[0].flatten().tolist() == list(range(9))
    assert cache.n_free_blocks == 16 - 4


def test_stores_lie_on_the_device_that_is_asked_for():
    stores = ArenaCache(1, 1, 2, 4, 8, device="meta"), PagedCache(2, 4, 2, 4, device="meta")
    assert {part.device.type for each in stores for part in (each.keys, each.values)} == {"meta"}
