"""Tiled attention gives the same numbers, and moves what the closed forms say."""

from functools import partial
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from labkit import flash_attention as flash
from labkit.labs.flash_attention import backward
from labkit.labs.flash_attention.figures import _least_tile
from labkit.labs.flash_attention.flops import flash_flops
from labkit.models.counted_memory import SramOverflow, Traffic, attention_memory, tiles

SHAPES = st.tuples(*(st.integers(1, most) for most in (40, 12, 45, 45)), st.booleans())
TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def matrices(n_rows, head_dim, dtype=torch.float32, n=3):
    generator = torch.Generator().manual_seed(n_rows * 1000 + head_dim)
    return [torch.randn(n_rows, head_dim, generator=generator).to(dtype) for _ in range(n)]


def right_output(queries, keys, values, is_causal):
    return functional.scaled_dot_product_attention(
        *(each.float()[None, None] for each in (queries, keys, values)), is_causal=is_causal
    )[0, 0]


def moved(memory):
    return Traffic(memory.n_read, memory.n_written)


def rows_met(n_rows, tile_q, tile_kv):
    """Rows of Q, and of K, over all pairs of tiles in which a query sees a key."""
    pairs = product(tiles(n_rows, tile_q), tiles(n_rows, tile_kv))
    met = [(stop - start, last - first) for (start, stop), (first, last) in pairs if first < stop]
    return map(sum, zip(*met, strict=True))


@given(SHAPES)
def test_every_order_gives_the_same_and_moves_what_it_should(shape):
    n_rows, head_dim, tile_q, tile_kv, is_causal = shape
    parts = matrices(n_rows, head_dim)
    wanted = right_output(*parts, is_causal)
    standard, first, second = (attention_memory(*parts) for _ in range(3))
    flash.standard_attention(standard, is_causal)
    flash.flash_attention_1(first, tile_q, tile_kv, is_causal)
    flash.flash_attention_2(second, tile_q, tile_kv, is_causal)
    for memory in (standard, first, second):
        torch.testing.assert_close(memory.arrays["O"], wanted, atol=1e-5, rtol=1e-5)
    assert moved(standard) == flash.standard_traffic(n_rows, head_dim)
    if is_causal:
        n_queries, n_keys = rows_met(n_rows, tile_q, tile_kv)
        assert first.n_read == 2 * n_rows * head_dim + n_queries * (2 * head_dim + 2)
        assert first.n_written == (n_rows + n_queries) * (head_dim + 2)
        assert moved(second) == ((n_rows + 2 * n_keys) * head_dim, n_rows * (head_dim + 1))
    else:
        assert moved(first) == flash.flash_1_traffic(n_rows, head_dim, tile_kv)
        assert moved(second) == flash.flash_2_traffic(n_rows, head_dim, tile_q)
    assert first.n_bytes == 4 * moved(first).total


@given(SHAPES)
def test_every_way_back_gives_the_same_and_moves_what_it_should(shape):
    n_rows, head_dim, tile_q, tile_kv, is_causal = shape
    parts = [each.requires_grad_() for each in matrices(n_rows, head_dim)]
    d_output = matrices(n_rows, head_dim, n=4)[3]
    right_output(*parts, is_causal).backward(d_output)
    queries, keys, values = (each.detach() for each in parts)
    ways = {
        backward.standard_backward: lambda memory: flash.standard_attention(memory, is_causal),
        backward.flash_backward_1: lambda memory: flash.flash_attention_1(
            memory, tile_q, tile_kv, is_causal
        ),
        backward.flash_backward_2: lambda memory: flash.flash_attention_2(
            memory, tile_q, tile_kv, is_causal
        ),
    }
    n_turns = -(-n_rows // tile_kv)
    traffic = {
        backward.standard_backward: backward.standard_backward_traffic(n_rows, head_dim),
        backward.flash_backward_1: backward.flash_1_backward_traffic(n_rows, head_dim, tile_kv),
        backward.flash_backward_2: (
            n_rows * (4 * head_dim + n_turns * (4 * head_dim + 2)),
            n_rows * ((n_turns + 3) * head_dim + 1),
        ),
    }
    for way, forward in ways.items():
        memory = attention_memory(queries, keys, values, more={"dO": d_output})
        forward(memory)
        memory.accesses.clear()
        if way is backward.standard_backward:
            way(memory)
        else:
            way(memory, tile_q, tile_kv, is_causal)
        for part, name in zip(parts, ("dQ", "dK", "dV"), strict=True):
            torch.testing.assert_close(memory.arrays[name], part.grad, atol=2e-5, rtol=2e-5)
        if not is_causal or way is backward.standard_backward:
            assert moved(memory) == traffic[way]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_all_number_formats(dtype, is_causal):
    parts = matrices(70, 16, dtype)
    wanted = right_output(*parts, is_causal)
    for way in (flash.flash_attention_1, flash.flash_attention_2):
        memory = attention_memory(*parts)
        way(memory, 16, 24, is_causal)
        got = memory.arrays["O"]
        assert got.dtype == dtype
        torch.testing.assert_close(got.float(), wanted, atol=TOLERANCE[dtype], rtol=0.02)
        if dtype != torch.float32:
            vectors = sum(
                memory.numbers(kind)[name] for kind in ("load", "store") for name in "lmL"
            )
            assert memory.n_bytes == 2 * moved(memory).total + 2 * vectors


def test_a_query_that_has_seen_no_key_stays_as_it_was():
    scores = torch.tensor([[-torch.inf, -torch.inf], [1.0, -torch.inf]])
    values = torch.tensor([[1.0], [2.0]])
    start = torch.full((2,), -torch.inf), torch.zeros(2), torch.zeros(2, 1)
    maximum, total, output = flash.online_softmax(*start, scores, values)
    assert maximum.tolist() == [-torch.inf, 1.0]
    assert total.tolist() == [0.0, 1.0] and output.tolist() == [[0.0], [1.0]]


def test_large_scores_do_not_overflow():
    scores, values = torch.tensor([[1e4, -1e4]]), torch.tensor([[1.0], [2.0]])
    state = torch.full((1,), -torch.inf), torch.zeros(1), torch.zeros(1, 1)
    state = flash.online_softmax(*state, scores[:, :1], values[:1])
    maximum, total, output = flash.online_softmax(*state, scores[:, 1:], values[1:])
    assert (maximum.item(), total.item(), output.item()) == (1e4, 1.0, 1.0)


@pytest.mark.parametrize(
    "sram_bytes, bytes_per_number, wanted",
    [(64_000 * 4, 4, (64, 250)), (65_536 * 4, 4, (64, 256)), (65_536, 4, (64, 64)),
     (65_536, 2, (64, 128)), (1_023, 1, (3, 3)), (1_024, 4, (1, 1))],
)  # fmt: skip
def test_tile_sizes(sram_bytes, bytes_per_number, wanted):
    assert flash.tile_sizes(sram_bytes, 64, bytes_per_number) == wanted


def test_a_chip_too_small_for_one_row_is_refused():
    with pytest.raises(ValueError, match="four rows of 256 bytes do not fit into 1,023"):
        flash.tile_sizes(1023, 64, 4)


@given(st.integers(1, 64), st.sampled_from([1, 2, 4, 8]), st.integers(1, 4096))
def test_tiles_of_that_size_fit_and_larger_ones_do_not(head_dim, bytes_per_number, n_rows):
    sram_bytes = 4 * head_dim * bytes_per_number * n_rows
    for spare in (0, 4 * head_dim * bytes_per_number - 1):
        tile_q, tile_kv = flash.tile_sizes(sram_bytes + spare, head_dim, bytes_per_number)
        assert tile_kv == n_rows and tile_q == min(n_rows, head_dim)


@pytest.mark.parametrize("way", [flash.flash_attention_1, flash.flash_attention_2])
def test_the_chip_refuses_what_does_not_fit(way):
    parts = matrices(64, 8)
    tile_q, tile_kv = flash.tile_sizes(1024, 8, 4)
    fitting, tight = attention_memory(*parts, 1024), attention_memory(*parts, 1024)
    way(fitting, tile_q, tile_kv)
    with pytest.raises(SramOverflow, match="make the tiles smaller"):
        way(tight, tile_q + 8, tile_kv)


@pytest.mark.parametrize(
    "start, stop", [(0, 6), (5, 6), (-1, 2), (3, 3), (4, 2)]
)  # fmt: skip
def test_rows_that_are_not_there_are_refused(start, stop):
    with pytest.raises(ValueError, match="which has 5"):
        attention_memory(*matrices(5, 2)).load("K", start, stop)


def test_what_memory_refuses():
    memory = attention_memory(*matrices(5, 2))
    with pytest.raises(KeyError, match="there is no array 'R'; there are Q, K, V"):
        memory.load("R")
    with pytest.raises(ValueError, match="wanted rows of"):
        memory.store("O", 0, torch.zeros(5, 3))
    with pytest.raises(ValueError, match="at least 1 row in a tile"):
        list(tiles(4, 0))
    with pytest.raises(ValueError, match="of one shape"):
        attention_memory(torch.zeros(0, 4), torch.zeros(0, 4), torch.zeros(0, 4))
    assert not memory.accesses


def test_what_is_loaded_is_a_copy():
    memory = attention_memory(*matrices(5, 2))
    memory.load("Q").zero_()
    assert memory.arrays["Q"].abs().min() > 0


HOMEWORK = [(1024, 796_672, 1.835511), (2048, 2_658_304, 1.899839), (4096, 9_576_448, 1.934696),
            (8192, 36_192_256, 1.952866)]  # fmt: skip


@pytest.mark.parametrize("n_rows, reads, speedup", HOMEWORK)
def test_the_table_of_the_homework(n_rows, reads, speedup):
    _, tile_kv = flash.tile_sizes(4 * 64_000, 64, 4)
    flash_1, standard = (
        flash.flash_1_traffic(n_rows, 64, tile_kv),
        flash.standard_traffic(n_rows, 64),
    )
    assert flash_1.reads == reads
    card = (8.1e12, 320e9)
    slow, _ = flash.run_times(flash.standard_flops(n_rows, 64), 4 * standard.total, *card)
    fast, _ = flash.run_times(flash_flops(n_rows, 64, tile_kv), 4 * flash_1.total, *card)
    assert round(slow / fast, 6) == speedup


@pytest.mark.parametrize("n_numbers, reads", [(65_536, 663_552), (16_384, 2_260_992)])
def test_the_unit_of_the_chip_decides(n_numbers, reads):
    _, tile_kv = flash.tile_sizes(4 * n_numbers, 64, 4)
    assert flash.flash_1_traffic(1024, 64, tile_kv).reads == reads


def test_more_facts_of_the_homework():
    assert flash.flash_1_traffic(1024, 64, 64).total == 3_409_920
    assert round(_speedup(2048, 16_384), 3) == 1.165
    assert round(_speedup(2048, 65_536), 6) == 1.953441
    assert [round(_speedup(2048, n, overlaps=True), 2) for n in (64_000, 16_384)] == [1.61, 1.31]


def _speedup(n_rows, n_numbers, overlaps=False):
    _, tile_kv = flash.tile_sizes(4 * n_numbers, 64, 4)
    card = (8.1e12, 320e9)
    traffic = flash.standard_traffic(n_rows, 64), flash.flash_1_traffic(n_rows, 64, tile_kv)
    flops = flash.standard_flops(n_rows, 64), flash_flops(n_rows, 64, tile_kv)
    slow, fast = (
        flash.run_times(n_flops, 4 * each.total, *card)[overlaps]
        for n_flops, each in zip(flops, traffic, strict=True)
    )
    return slow / fast


@pytest.mark.parametrize("head_dim", [64, 128])
def test_below_some_tile_flash_attention_moves_more(head_dim):
    find = partial(_least_tile, flash.standard_traffic, flash.flash_1_traffic)
    least = find(4096, head_dim)
    assert abs(least - (3 * head_dim + 4) / 4) <= 2
    standard = flash.standard_traffic(4096, head_dim).total
    assert flash.flash_1_traffic(4096, head_dim, least).total < standard
    assert flash.flash_1_traffic(4096, head_dim, least - 1).total >= standard
    assert find(2, head_dim) is None
