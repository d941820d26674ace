"""Checks of `PagedCache`.

It is about ownership: here each block is free or in one sequence, which gets its tokens back.
`paged_shared` has the checks of blocks that sequences share.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import hold, values_of
from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_equal, expect_number, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import HeldObject, expect_refusal
from labkit.checks.tensors import tensor_in
from labkit.labs.kv_cache.checks.slips import slip_of_rewind
from labkit.labs.kv_cache.checks.stored import (
    dtype_if_given,
    expect_pair,
    expect_stored,
    n_tokens_in,
    random_tokens,
)

METHODS = ("append", "gather", "block_table", "rewind", "free", "fork", "name_blocks", "begin")

_paged = partial(check, "PagedCache", gate=True)


@dataclass(frozen=True, slots=True)
class PagedCase:
    """`appends`: tokens per append, taken in turn by two sequences where two are played."""

    n_blocks: int
    block_size: int
    appends: tuple[int, ...]
    n_kv_heads: int = 2
    head_dim: int = 3
    dtype: torch.dtype = torch.float32
    seed: int = 0
    n_operations: int = 12

    def __str__(self) -> str:
        return f"{self.n_blocks} blocks of {self.block_size} tokens, appends of {self.appends}"

    def build(self, student: Student) -> HeldObject:
        sizes = (self.n_blocks, self.block_size, self.n_kv_heads, self.head_dim)
        return HeldObject(hold(student.PagedCache, *sizes, **dtype_if_given(self.dtype)), METHODS)

    def tokens(self, n_tokens: int, of: int = 0) -> Tensor:
        """Keys and values of a sequence: (2 Hkv n_tokens D)."""
        shape = (2, self.n_kv_heads, n_tokens, self.head_dim)
        return random_tokens(self.seed * 100 + of, *shape, dtype=self.dtype)

    def n_blocks_for(self, n_tokens: int) -> int:
        return math.ceil(n_tokens / self.block_size)


def in_full_precision(case: PagedCase) -> bool:
    """Whether the case leaves the rounding to others."""
    return case.dtype is torch.float32


@dataclass(frozen=True, slots=True)
class Blocks:
    """The owners of blocks: block tables by sequence, and the n_free that the cache reports."""

    tables: dict[int, list[int]]
    n_free: Any


def blocks_after(cache: HeldObject, case: PagedCase, ids: Collection[int], *steps: tuple) -> Blocks:
    """The blocks of these sequences, and how many are free, once these steps have been taken."""
    *got, n_free = cache.in_turn(*steps, *_looks(ids), "n_free_blocks")[len(steps) :]
    return Blocks(_tables(got, ids, case), n_free)


def _looks(ids: Iterable[int]) -> list[tuple[str, int]]:
    return [("block_table", one) for one in ids]


def _tables(got: list, ids: Iterable[int], case: PagedCase) -> dict[int, list[int]]:
    return {one: _table(table, one, case) for one, table in zip(ids, got, strict=True)}


def _table(got: Any, sequence_id: int, case: PagedCase) -> list[int]:
    """A block table, made sure of: a list of different blocks that exist."""
    table = tensor_in(got, "the block table").reshape(-1).tolist()
    if not all(block in range(case.n_blocks) for block in table):
        raise Wrong(
            f"the block table of sequence {sequence_id}",
            expected=f"numbers from 0 to {case.n_blocks - 1}",
            got=show(table),
        )
    if len(set(table)) < len(table):
        raise Wrong("a block table with different blocks", expected="no repeats", got=show(table))
    return [int(block) for block in table]


def expect_tokens_in_blocks(
    cache: HeldObject,
    case: PagedCase,
    lives: dict[int, Tensor],
    storage: list | None = None,
    which: str = "",
    why: str = "",
) -> None:
    """Each sequence's tokens lie where its block table says: in the storage of now, or in this."""
    names = ("keys", "values")
    stored = {
        name: _storage(got, name, case)
        for name, got in zip(names, storage or cache.in_turn(*names), strict=True)
    }
    tables = _tables(cache.in_turn(*_looks(lives)), lives, case)
    for sequence_id, tokens in lives.items():
        table, length = tables[sequence_id], tokens.shape[-2]
        if len(table) < case.n_blocks_for(length):
            expect_equal(len(table), case.n_blocks_for(length), f"the blocks for {length} tokens")
        for name, expected in zip(stored, tokens, strict=True):
            blocks = [stored[name][block] for block in table]
            found = torch.cat([*blocks, expected[:, :0]], dim=1)[:, :length]
            what = f"the {name} of sequence {sequence_id}{which}, read from its blocks {table}"
            expect_stored(found, expected, what, why=why)


def _storage(got: Any, name: str, case: PagedCase) -> Tensor:
    if isinstance(got, list | tuple) and all(isinstance(block, Tensor) for block in got):
        expect_equal(len({block.shape for block in got}), 1, f"the number of shapes in `{name}`")
        got = torch.stack(list(got))
    stored = tensor_in(got, f"`{name}`")
    shape = [case.n_blocks, case.n_kv_heads, case.block_size, case.head_dim]
    expect_equal(list(stored.shape), shape, f"the shape of the storage `{name}`")
    return stored


@_paged(
    hint="Collect the blocks in the order of the table. Cut off the empty places of the last.",
    applies_to=in_full_precision,
)
def gather_returns_the_tokens_in_order(student: Student, case: PagedCase) -> None:
    """`gather` returns exactly the tokens of its sequence, in order, also beside another one."""
    cache, lives = case.build(student), {7: case.tokens(0), 3: case.tokens(0)}
    for i, n_tokens in enumerate(case.appends):
        sequence_id = (7, 3)[i % 2]
        tokens = case.tokens(n_tokens, of=i)
        append = ("append", sequence_id, *tokens)
        lives[sequence_id] = torch.cat([lives[sequence_id], tokens], dim=-2)
        _, got = cache.in_turn(append, ("gather", sequence_id))
        n_places = case.block_size * case.n_blocks_for(lives[sequence_id].shape[-2])
        is_whole = n_tokens_in(got) == n_places > lives[sequence_id].shape[-2]
        why = "Those are whole blocks. Cut off the empty places of the last one." * is_whole
        expect_pair(got, *lives[sequence_id], f"gathered after append {i}", why=why)
    _, got = cache.in_turn(("rewind", 7, 1), ("gather", 7))
    expect_pair(got, *lives[7][..., :-1, :], "gathered after rewind(7, 1)")
    _expect_order_of_table(student, replace(case, n_blocks=5))


def _expect_order_of_table(student: Student, case: PagedCase) -> None:
    """A sequence that grows block by block, while another one takes and frees the blocks between.

    So its blocks are not in the order of their numbers, even where the longest free one is next.
    """
    size, steps = case.block_size, []
    tokens, other = case.tokens(3 * size), case.tokens(size, of=1)
    for i, n_turns in enumerate((3, 2, 0)):
        steps.append(("append", 1, *tokens[..., i * size : (i + 1) * size, :]))
        steps += n_turns * [("append", 2, *other), ("free", 2)]
    try:
        *_, got = case.build(student).in_turn(*steps, ("gather", 1))
    except StudentError:
        return  # other checks are about blocks that are freed, and that run out
    expect_pair(got, *tokens, "gathered after another sequence came and went")


@_paged(hint="Take a new block only if the last one is full and a token comes.")
def a_sequence_takes_just_enough_blocks(student: Student, case: PagedCase) -> None:
    """A sequence owns ceil(length / block_size) blocks; the others are free."""
    cache, length = case.build(student), 0
    expect_number(cache.n_free_blocks, case.n_blocks, "the free blocks of a new cache")
    for i, n_tokens in enumerate(case.appends):
        append = ("append", 0, *case.tokens(n_tokens, of=i))
        blocks = blocks_after(cache, case, [0], append)
        length += n_tokens
        n_owned = len(blocks.tables[0])
        if n_owned != case.n_blocks_for(length):
            why = _rule_of_blocks(student, case)
            expect_equal(
                n_owned, case.n_blocks_for(length), f"the blocks for {length} tokens", why=why
            )
        expect_number(blocks.n_free, case.n_blocks - n_owned, "n_free_blocks beside them")


def _rule_of_blocks(student: Student, case: PagedCase) -> str:
    """The wrong rule that gives the number of blocks after each append, if one does."""
    cache, owned = case.build(student), []
    for i, n_tokens in enumerate(case.appends):
        append = ("append", 0, *case.tokens(n_tokens, of=i))
        owned.append(len(blocks_after(cache, case, [0], append).tables[0]))
    new_ones = list(accumulate(map(case.n_blocks_for, case.appends)))
    next_ones = [length // case.block_size + 1 for length in accumulate(case.appends)]
    if owned == new_ones != next_ones:
        return "Each append takes new blocks. First fill the last block."
    if owned == next_ones != new_ones:
        return "You take a new block too early. Wait until a token needs it."
    return ""


@_paged(hint="Write token i to block table[i // block_size], place i % block_size.", gate=False)
def the_block_table_says_where_tokens_lie(student: Student, case: PagedCase) -> None:
    """In the blocks of its table, in order, the storage of __init__ holds a sequence."""
    cache, tokens = case.build(student), case.tokens(sum(case.appends))
    made_first = [cache.held(name) for name in ("keys", "values")]
    parts = zip(*(part.split(case.appends, dim=1) for part in tokens), strict=True)
    sequence_id = 1_000_003
    cache.in_turn(("append", 0, *case.tokens(1, of=1)), ("free", 0))
    cache.in_turn(*(("append", sequence_id, *part) for part in parts))
    expect_tokens_in_blocks(cache, case, {sequence_id: tokens})
    at_first = values_of(student, made_first)
    expect_tokens_in_blocks(cache, case, {sequence_id: tokens}, at_first, " made in __init__")


@_paged(hint="Count the blocks that the remaining tokens need.")
def rewind_gives_emptied_blocks_back(student: Student, case: PagedCase) -> None:
    """`rewind` frees only the blocks that it empties; too many tokens raise ValueError."""
    length = case.block_size * 2 + 1
    cache = case.build(student)
    table = blocks_after(cache, case, [1], ("append", 1, *case.tokens(length))).tables[1]
    for n_tokens in (length + 1, 3 * length, -1):
        what = f"rewind(1, {n_tokens}) with {length} tokens"
        expect_refusal(lambda n=n_tokens: cache.rewind(1, n), "ValueError", what)
    for n_rewound in (0, 1, case.block_size - 1, 1):
        blocks = blocks_after(cache, case, [1], ("rewind", 1, n_rewound))
        length -= n_rewound
        kept = table[: case.n_blocks_for(length)]
        what = f"the block table with {length} tokens left of {table}"
        why = slip_of_rewind(blocks.tables[1], table, length, case.block_size)
        expect_equal(blocks.tables[1], kept, what, why=why)
        n_free = case.n_blocks - len(kept)
        expect_number(blocks.n_free, n_free, f"n_free_blocks with {length} left")
    _, n_free = cache.in_turn(("rewind", 1, length), "n_free_blocks")
    expect_number(n_free, case.n_blocks, "n_free_blocks when all was rewound")
    _expect_empty(cache, case)


def _expect_empty(cache: HeldObject, case: PagedCase) -> None:
    """Sequence 1, of which all tokens were rewound, is there, and grows again."""
    what = "the block table when all was rewound"
    try:
        blocks = blocks_after(cache, case, [1])
    except StudentError as error:
        why = "The sequence is empty now, but it is still there. Only `free` forgets it."
        raise Wrong(what, expected="[]", got=str(error), why=why) from None
    expect_equal(blocks.tables[1], [], what)
    blocks = blocks_after(cache, case, [1], ("append", 1, *case.tokens(1)))
    expect_equal(len(blocks.tables[1]), 1, "the blocks for 1 token after all was rewound")
    _, _, n_free = cache.in_turn(("rewind", 1, 1), ("free", 1), "n_free_blocks")
    expect_number(n_free, case.n_blocks, "n_free_blocks after an empty sequence was freed")


@_paged(
    hint="Count the missing blocks before you take the first one.",
    applies_to=in_full_precision,
)
def running_out_of_blocks_changes_nothing(student: Student, case: PagedCase) -> None:
    """If too few blocks are free, `append` raises MemoryError and changes nothing."""
    cache = case.build(student)
    tokens = case.tokens((case.n_blocks - 2) * case.block_size + 1)
    too_many = case.tokens(case.block_size * 3, of=1)
    table = blocks_after(cache, case, [1], ("append", 1, *tokens)).tables[1]
    for sequence_id in (1, 2):
        expect_refusal(
            lambda i=sequence_id: cache.append(i, too_many[0], too_many[1]),
            "MemoryError",
            f"appending {case.block_size * 3} tokens with one free block",
        )
        blocks = blocks_after(cache, case, [1])
        expect_number(blocks.n_free, 1, "n_free_blocks after a refused append")
        expect_equal(blocks.tables[1], table, "the block table after a refused append")
    one = too_many[..., :1, :]
    cache.append(2, one[0], one[1])
    expect_tokens_in_blocks(cache, case, {1: tokens, 2: one})
    cache, every_place = case.build(student), case.tokens(case.n_blocks * case.block_size)
    _, n_free = cache.in_turn(("append", 1, *every_place), "n_free_blocks")
    expect_number(n_free, 0, "n_free_blocks when one sequence fills all blocks")
    what = "appending 1 token with no free block"
    expect_refusal(lambda: cache.append(2, one[0], one[1]), "MemoryError", what)


OPEN_CASES = {
    "PagedCache": [
        PagedCase(n_blocks=9, block_size=4, appends=(3, 1, 1, 5), n_operations=24),
        PagedCase(n_blocks=8, block_size=2, appends=(1, 2, 3), dtype=torch.float16, seed=1),
    ],
}
