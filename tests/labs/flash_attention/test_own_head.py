"""Every student's head: what common slips in counting give is never what is right."""

from math import ceil, isclose

import pytest

from labkit import flash_attention as flash
from labkit.labs.flash_attention.own_head import FORMATS, LENGTHS, Head, head_of, own_head

HEADS = [
    Head(n_rows, head_dim, sram_kib, dtype, width)
    for (head_dim, sram_kib, width), lengths in LENGTHS.items()
    for n_rows in lengths
    for dtype in FORMATS[width]
]
TOLERANCE = {"megabytes": 0.005}  # of the checks; counts are exact


def answers(head):
    tile_q, tile_kv = flash.tile_sizes(1024 * head.sram_kib, head.head_dim, head.bytes_per_number)
    moved = flash.flash_1_traffic(head.n_rows, head.head_dim, tile_kv)
    return {
        "tile_kv": tile_kv,
        "tile_q": tile_q,
        "reads": moved.reads,
        "writes": moved.writes,
        "megabytes": head.bytes_per_number * moved.total / 1e6,
    }


def wrong_tiles(head):
    """Rows of a tile of K if the bytes are misread, or other numbers of tiles should fit."""
    d, width, n_bytes = head.head_dim, head.bytes_per_number, 1024 * head.sram_kib
    return [
        *(n_bytes // (n_tiles * d * width) for n_tiles in (1, 2, 3, 5, 6, 8)),
        *(n_bytes // (4 * d * wrong) for wrong in (1, 6 - width, 8 * width, width**2)),
        1000 * head.sram_kib // (4 * d * width),
        min(d, n_bytes // (4 * d * width)),
    ]


def wrong_turns(head):
    """Turns of the outer loop with a wrong tile, with none at all, or not rounded up."""
    tile_kv = answers(head)["tile_kv"]
    turns = [ceil(head.n_rows / tile) for tile in wrong_tiles(head)]
    return [*turns, 1, head.n_rows // tile_kv, head.n_rows / tile_kv]


def slips(head):
    """Pairs of a field and a number that is wrong in it."""
    n, d, width, right = head.n_rows, head.head_dim, head.bytes_per_number, answers(head)
    n_turns, first = ceil(n / right["tile_kv"]), n * (d + 2)
    yield from (("tile_kv", tile) for tile in wrong_tiles(head))
    yield "tile_kv", ceil(1024 * head.sram_kib / (4 * d * width))
    yield from (("tile_q", tile) for tile in (right["tile_kv"], d * width, d // 4))
    for turns in wrong_turns(head):
        reads, writes = 2 * n * d + turns * n * (2 * d + 2), (turns + 1) * n * (d + 2)
        yield "reads", reads
        yield "writes", writes
        yield "megabytes", width * (reads + writes) / 1e6
    for wrong in (2 * d, 4 * d + 2, d, 2 * d + 1, 3 * d + 4):
        yield "reads", 2 * n * d + n_turns * n * wrong
    yield "reads", n_turns * n * (2 * d + 2)
    yield "reads", flash.flash_2_traffic(n, d, right["tile_q"]).reads
    yield "reads", flash.standard_traffic(n, d).reads
    for wrong in (d, 2, d + 1):
        yield "writes", (n_turns + 1) * n * wrong
    yield "writes", n_turns * n * (d + 2)
    yield "writes", n_turns * n * (d + 2) + n * d
    yield "writes", n * d + n
    for field in ("reads", "writes"):
        yield field, width * right[field]
        yield "megabytes", width * right[field] / 1e6
    total = right["reads"] + right["writes"]
    yield from (("megabytes", each) for each in (
        total / 1e6, width * total / 2**20, width * total, 8 * width * total / 1e6,
        width * (total - first) / 1e6, width * (total - 4 * n * n_turns) / 1e6,
        (6 - width) * total / 1e6, width * total / 1e9,
    ))  # fmt: skip


def is_safe(head):
    """Whether no slip gives what is right, nor the megabytes with l and m in float32."""
    right, n_bytes = answers(head), head.bytes_per_number
    n_turns = ceil(head.n_rows / right["tile_kv"])
    vectors = (4 * n_turns + 2) * head.n_rows
    more = {"megabytes": right["megabytes"] + (4 - n_bytes) * vectors / 1e6}
    return not any(
        isclose(wrong, known[field], rel_tol=1.1 * TOLERANCE.get(field, 0))
        for field, wrong in slips(head)
        for known in (right, more)
        if field in known
    )


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_no_slip_gives_what_is_right(head):
    assert is_safe(head)


def test_an_id_has_one_head_however_it_is_written():
    assert own_head("R12922001") == own_head(" r12922001 ") == head_of("R12922001")
    assert own_head(12922001) == own_head("12922001")
    assert len({own_head(f"student {i}") for i in range(100)}) > 60


def test_two_ids_have_other_numbers():
    first, second = answers(own_head("instructor")), answers(own_head("b"))
    assert all(first[field] != second[field] for field in first)


@pytest.mark.parametrize("nothing", ["", "  ", None, ..., 1.5, ["a"], "\ud800"], ids=ascii)
def test_without_an_id_a_stand_in_says_so(nothing):
    assert not own_head(nothing).is_own
    assert str(own_head(nothing)).startswith("Write your student id into the cell at the top first")
    with pytest.raises(ValueError):
        head_of(nothing)
    assert not own_head(10**5000).is_own


def test_a_head_says_all_that_is_needed():
    assert str(Head(1310, 40, 64, "float32", 4)) == (
        "Your head: N = 1,310 tokens, D = 40, all numbers in float32 (4 bytes each), "
        "on a chip with 64 KiB (1 KiB is 1,024 bytes)."
    )
