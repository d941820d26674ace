"""A cache in parts: states merge in any order, and what moves is what the count says."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit import flash_attention as flash
from labkit.labs import flash_attention as lab
from labkit.labs.flash_attention.checks.steps import level_after

EXACT = {"atol": 1e-6, "rtol": 1e-6}
SEEDS = st.integers(0, 10**6)


def keys_of(seed, n_keys):
    """Scores (4 S), of which some are -inf and one row is empty, and values (S 3)."""
    rng = torch.Generator().manual_seed(seed)
    scores = 5 * torch.randn(4, n_keys, generator=rng)
    scores[torch.rand(4, n_keys, generator=rng) < 0.3] = -torch.inf
    scores[0] = -torch.inf
    return scores, torch.randn(n_keys, 3, generator=rng)


def state_of(scores, values):
    """The state over these keys, which may be none."""
    return tuple(part.float() for part in level_after(scores, values))


def assert_same(found, wanted):
    for part, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(part, right.to(part.dtype), **EXACT)


@given(SEEDS, st.lists(st.integers(0, 5), min_size=3, max_size=3))
def test_merging_is_associative_has_no_order_and_gives_the_state_of_all_keys(seed, sizes):
    scores, values = keys_of(seed, sum(sizes))
    parts = zip(scores.split(sizes, 1), values.split(sizes), strict=True)
    a, b, c = (state_of(*part) for part in parts)
    left = flash.merge(flash.merge(a, b), c)
    assert_same(flash.merge(a, flash.merge(b, c)), left)
    assert_same(flash.merge(c, flash.merge(b, a)), left)
    assert_same(left, level_after(scores, values))


@given(SEEDS, st.integers(1, 9))
def test_an_empty_state_is_neutral(seed, n_keys):
    state, empty = state_of(*keys_of(seed, n_keys)), state_of(*keys_of(seed, 0))
    assert all(torch.equal(*pair) for pair in zip(flash.merge(state, empty), state, strict=True))
    assert all(torch.equal(*pair) for pair in zip(flash.merge(empty, state), state, strict=True))


def test_merging_one_tile_is_a_step_of_the_online_softmax():
    scores, values = keys_of(1, 9)
    state = state_of(scores[:, :5], values[:5])
    wanted = flash.online_softmax(*state, scores[:, 5:], values[5:])
    assert_same(flash.merge(state, state_of(scores[:, 5:], values[5:])), wanted)


@given(st.tuples(*(st.integers(1, most) for most in (40, 12, 5, 50, 9))))
def test_a_cache_in_parts_gives_the_same_and_moves_what_the_count_says(sizes):
    n_tokens, head_dim, group_size, n_parts, tile_kv = sizes
    rng = torch.Generator().manual_seed(sum(sizes))
    queries = torch.randn(group_size, head_dim, generator=rng)
    keys, values = torch.randn(2, n_tokens, head_dim, generator=rng)
    memory = lab.decode_memory(queries, keys, values, n_parts)
    lab.flash_decode(memory, n_parts, tile_kv, flash.online_softmax, flash.merge)
    right = (queries @ keys.T * head_dim**-0.5).softmax(-1) @ values
    torch.testing.assert_close(memory.arrays["O"], right, atol=1e-5, rtol=1e-5)
    counted = flash.decode_traffic(n_tokens, head_dim, group_size, n_parts)
    assert (memory.n_read, memory.n_written) == counted


def test_heads_of_a_group_share_the_tiles():
    alone, group = (flash.decode_traffic(8192, 128, n, 8) for n in (1, 4))
    assert 3.9 * alone.reads < 4 * group.reads < 4.1 * alone.reads


def test_other_shapes_of_a_cache_are_refused():
    for shapes in (((4, 3), (5, 2), (5, 2)), ((4, 3), (5, 3), (6, 3)), ((4, 3), (0, 3), (0, 3))):
        with pytest.raises(ValueError, match="wanted Q"):
            lab.decode_memory(*map(torch.zeros, shapes))
    with pytest.raises(ValueError, match="and a part"):
        lab.decode_memory(torch.zeros(1, 2), *torch.zeros(2, 3, 2), n_parts=0)


def test_the_table_of_parts_says_how_many_multiprocessors_work():
    table = lab.tables.parts_table(flash.decode_traffic)
    assert [line[:4] for line in table.lines] == [
        ["1", "8", "8", "8,192"], ["4", "32", "32", "2,048"], ["8", "64", "64", "1,024"],
        ["16", "128", "128", "512"], ["32", "256", "132", "512"],
    ]  # fmt: skip
    assert [line[-1] for line in table.lines] == ["0.0 %", "0.3 %", "0.6 %", "1.2 %", "2.3 %"]


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 40), st.integers(0, 99))
def test_keys_in_blocks_give_the_same_and_move_as_much(n_blocks, block_size, tile_kv, seed):
    rng = torch.Generator().manual_seed(seed)
    parts = torch.randn(3, n_blocks * block_size, 4, generator=rng)
    table = torch.randperm(n_blocks, generator=rng).tolist()
    whole, paged = lab.attention_memory(*parts), lab.attention_memory(*parts, block_table=table)
    for memory in (whole, paged):
        flash.flash_attention_2(memory, 3, tile_kv, True)
    assert torch.equal(paged.arrays["O"], whole.arrays["O"])
    assert paged.accesses == whole.accesses
    block = paged.arrays["K"][table[0] * block_size : (table[0] + 1) * block_size]
    assert torch.equal(block, parts[1][:block_size])


def test_narrow_keys_and_values_halve_two_counts():
    rng = torch.Generator().manual_seed(0)
    parts = [each.half() for each in torch.randn(3, 96, 16, generator=rng)]
    narrow = [parts[0], *(each.to(torch.float8_e4m3fn) for each in parts[1:])]
    wide, fp8 = lab.attention_memory(*parts), lab.attention_memory(*narrow)
    moved = []
    for memory in (wide, fp8):
        flash.flash_attention_2(memory, 32, 24)
        bytes_of = dict.fromkeys("QKVOL", 0)
        for each in memory.accesses:
            bytes_of[each.name] += each.n_bytes
        moved.append(bytes_of)
    assert fp8.n_read == wide.n_read
    for name, n_bytes in moved[0].items():
        assert moved[1][name] == n_bytes / (2 if name in "KV" else 1)
    difference = (wide.arrays["O"].float() - fp8.arrays["O"].float()).abs().max()
    assert 1e-3 < difference < 0.1


def test_blocks_that_do_not_hold_the_rows_are_refused():
    for table in ((0, 0, 1), (1, 2, 3), (0, 1, 2, 3)):
        with pytest.raises(ValueError, match="each block from 0"):
            lab.attention_memory(*torch.zeros(3, 6, 2), block_table=table)
    memory = lab.attention_memory(*torch.zeros(3, 6, 2), block_table=(1, 0))
    with pytest.raises(ValueError, match="can only be loaded"):
        memory.store("K", 0, torch.zeros(2, 2))
    with pytest.raises(ValueError, match="which has 6"):
        memory.load("V", 4, 7)
