"""Checks of `PagedCache` where sequences share blocks: forks, copies, blocks found by hash."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_equal, expect_number
from labkit.checks.core import check
from labkit.checks.forms import HeldObject, expect_refusal
from labkit.labs.kv_cache.checks.paged import (
    PagedCase,
    blocks_after,
    expect_tokens_in_blocks,
    in_full_precision,
)

PARENT, CHILD, THIRD = 5, 8, 2

_shared = partial(check, "PagedCache", gate=True, applies_to=in_full_precision)


def _forked(student: Student, case: PagedCase, n_tokens: int) -> tuple[HeldObject, Tensor]:
    """A cache with a sequence of so many tokens, and its fork."""
    cache, tokens = case.build(student), case.tokens(n_tokens)
    cache.in_turn(("append", PARENT, *tokens), ("fork", PARENT, CHILD))
    return cache, tokens


@_shared(hint="Give the new sequence the same blocks, in a table of its own.")
def a_fork_has_the_tokens_and_takes_no_block(student: Student, case: PagedCase) -> None:
    """After `fork` both sequences have the same tokens, in the same blocks."""
    for n_tokens in (2 * case.block_size + 1, 2 * case.block_size):
        cache, tokens = _forked(student, case, n_tokens)
        blocks = blocks_after(cache, case, [PARENT, CHILD])
        when = f"after a fork of {n_tokens} tokens"
        expect_tokens_in_blocks(cache, case, {PARENT: tokens, CHILD: tokens}, which=f" {when}")
        expect_equal(
            blocks.tables[CHILD], blocks.tables[PARENT], f"the block table of the fork {when}"
        )
        n_free = case.n_blocks - case.n_blocks_for(n_tokens)
        slips = {n_free - case.n_blocks_for(n_tokens): "The fork copied every block."}
        expect_number(blocks.n_free, n_free, f"n_free_blocks {when}", slips=slips)


@_shared(
    hint="If the last block has empty places and another sequence has it, copy it first.",
    weight=2,
)
def a_write_into_a_shared_block_is_made_in_a_copy(student: Student, case: PagedCase) -> None:
    """Of two sequences that share a block, each can append, and the other keeps its tokens."""
    if case.block_size == 1:
        return
    for writer, n_tokens in ((PARENT, case.block_size + 1), (CHILD, 2 * case.block_size - 1)):
        other = CHILD if writer == PARENT else PARENT
        cache, tokens = _forked(student, case, n_tokens)
        lives = {PARENT: tokens, CHILD: tokens}
        for one, kept in ((writer, other), (other, writer)):
            new = case.tokens(1, of=one)
            lives[one] = torch.cat([lives[one], new], dim=-2)
            tables, n_free = _tables_after(cache, case, ("append", one, *new))
            when = f"after fork({PARENT}, {CHILD}) at {n_tokens} tokens, and append({one}, 1 token)"
            why = "The token went into a block that both sequences have. Copy the block first."
            expect_tokens_in_blocks(cache, case, {kept: lives[kept]}, which=f" {when}", why=why)
            expect_tokens_in_blocks(cache, case, {one: lives[one]}, which=f" {when}")
            why = "A full block needs no copy: nobody writes into it."
            expect_equal(tables[0][0], tables[1][0], f"the first block of both {when}", why=why)
            n_used = len({*tables[0], *tables[1]})
            slips = {case.n_blocks - n_used - 1: "A block is in no table, and it is not free."}
            expect_number(n_free, case.n_blocks - n_used, f"n_free_blocks {when}", slips=slips)
        why = "The second writer is the only one that still has the block. It needs no copy."
        expect_equal(n_used, 3, "the blocks of both, after each appended one token", why=why)
    cache, _ = _forked(student, case, 2 * case.block_size)
    tables, n_free = _tables_after(cache, case, ("append", CHILD, *case.tokens(1, of=1)))
    when = "after a fork of two full blocks, and append(8, 1 token)"
    why = "A full block needs no copy: nobody writes into it."
    expect_equal(tables[0], tables[1][:2], f"the first two blocks of both {when}", why=why)
    expect_number(n_free, case.n_blocks - 3, f"n_free_blocks {when}")


def _tables_after(cache: HeldObject, case: PagedCase, step: tuple) -> tuple[list[list[int]], int]:
    blocks = blocks_after(cache, case, [PARENT, CHILD], step)
    return list(blocks.tables.values()), blocks.n_free


@_shared(hint="A block becomes free when it leaves the last block table that has it.")
def a_shared_block_is_freed_by_its_last_sequence(student: Student, case: PagedCase) -> None:
    """`free` and `rewind` of one sequence keep blocks that another has; the last frees them."""
    n_tokens, size = 2 * case.block_size + 1, case.block_size
    n_left = case.n_blocks - 3
    for first, last in ((PARENT, CHILD), (CHILD, PARENT)):
        for step in (("free", first), ("rewind", first, n_tokens)):
            cache, tokens = _forked(student, case, n_tokens)
            left = [last] if step[0] == "free" else [last, first]
            blocks = blocks_after(cache, case, left, step)
            what = f"n_free_blocks after a fork and `{step[0]}` of one of the two"
            slips = {case.n_blocks: "Another sequence still has these blocks."}
            expect_number(blocks.n_free, n_left, what, slips=slips)
            filler = case.tokens(n_left * size, of=1)
            cache.in_turn(("append", THIRD, *filler), ("free", THIRD))
            expect_tokens_in_blocks(
                cache, case, {last: tokens}, which=f" after `{step[0]}` of the other one"
            )
            _, n_free = cache.in_turn(("free", last), "n_free_blocks")
            slips = {n_left: "The blocks of the last sequence did not become free."}
            what = f"n_free_blocks after `{step[0]}` of one and `free` of the other"
            expect_number(n_free, case.n_blocks, what, slips=slips)


@_shared(hint="Check both ids before you change anything. Raise ValueError.")
def a_fork_that_cannot_be_is_refused(student: Student, case: PagedCase) -> None:
    """`fork` of no sequence, `fork` or `begin` with an id that exists: ValueError, no change."""
    cache, tokens = _forked(student, case, case.block_size + 1)
    cache.in_turn(("append", THIRD, *case.tokens(1, of=1)), ("free", THIRD))
    before = blocks_after(cache, case, [PARENT, CHILD])
    refused = {
        "fork(2, 3) after free(2)": lambda: cache.fork(THIRD, 3),
        "fork(77, 3), and there never was a sequence 77": lambda: cache.fork(77, 3),
        "fork(5, 8) where 8 exists": lambda: cache.fork(PARENT, CHILD),
        "fork(5, 5)": lambda: cache.fork(PARENT, PARENT),
        "begin(8, []) where 8 exists": lambda: cache.begin(CHILD, []),
    }
    for what, call in refused.items():
        expect_refusal(call, "ValueError", what)
        after = blocks_after(cache, case, [PARENT, CHILD])
        expect_equal(after.tables, before.tables, f"the block tables after the refused {what}")
        expect_number(after.n_free, before.n_free, f"n_free_blocks after the refused {what}")
    expect_tokens_in_blocks(
        cache, case, {PARENT: tokens, CHILD: tokens}, which=" after refused forks"
    )
    cache.fork(CHILD, THIRD)  # an id that was freed is an id like any other
    expect_tokens_in_blocks(
        cache, case, {THIRD: tokens}, which=" with the id of a freed one, after a fork"
    )
    *_, n_free = cache.in_turn(*(("free", one) for one in (PARENT, CHILD, THIRD)), "n_free_blocks")
    slips = {before.n_free: "Some blocks still count as used, and no sequence has them."}
    what = "n_free_blocks after all sequences were freed"
    expect_number(n_free, case.n_blocks, what, slips=slips)
    cache = case.build(student)
    too_long = case.tokens(case.n_blocks * case.block_size + 1, of=2)
    try:
        cache.append(THIRD, *too_long)
    except StudentError as error:
        if not error.is_a("MemoryError"):
            return  # another check is about what is raised
    else:
        return
    what = "fork(2, 3) after a refused append(2, ...), so there is no sequence 2"
    expect_refusal(lambda: cache.fork(THIRD, 3), "ValueError", what)


@_shared(hint="Count one more block if the last one has to be copied.")
def a_copy_needs_a_free_block(student: Student, case: PagedCase) -> None:
    """With no free block for the copy, `append` raises MemoryError and changes nothing."""
    size = case.block_size
    if size == 1:
        return
    n_tokens = (case.n_blocks - 1) * size + 1  # all blocks are taken, the last has room
    cache, tokens = _forked(student, case, n_tokens)
    new, lives = case.tokens(1, of=1), {PARENT: tokens, CHILD: tokens}
    for one in (PARENT, CHILD):
        what = "appending 1 token to a shared block with no free block"
        expect_refusal(lambda i=one: cache.append(i, *new), "MemoryError", what)
        expect_tokens_in_blocks(cache, case, lives, which=f" after a refused append to {one}")
        expect_number(cache.n_free_blocks, 0, "n_free_blocks after a refused append")
    cache.rewind(CHILD, 1)
    lives[CHILD] = tokens[..., :-1, :]
    lives[PARENT] = torch.cat([tokens, new], dim=-2)
    cache.append(PARENT, *new)
    expect_tokens_in_blocks(
        cache, case, lives, which=" after the fork left the shared block by rewind(8, 1)"
    )
    cache.rewind(CHILD, 1)  # into the middle of a block that both have
    lives[CHILD] = lives[CHILD][..., :-1, :]
    what = "appending to the fork, which was rewound into a shared block, with no free block"
    expect_refusal(lambda: cache.append(CHILD, *new), "MemoryError", what)
    expect_tokens_in_blocks(
        cache, case, lives, which=" after a rewind into a shared block and a refused append"
    )
    _expect_both_counted(student, case)


def _expect_both_counted(student: Student, case: PagedCase) -> None:
    """With one free block, an append that needs a copy and a new block changes nothing."""
    size = case.block_size
    cache, tokens = _forked(student, case, size + 1)
    cache.append(THIRD, *case.tokens((case.n_blocks - 3) * size, of=1))
    what = f"appending {size} tokens to a shared block with one free block: a copy and a new block"
    expect_refusal(lambda: cache.append(CHILD, *case.tokens(size, of=2)), "MemoryError", what)
    expect_number(cache.n_free_blocks, 1, "n_free_blocks after a refused append")
    which = " after a refused append that needed a copy and a new block"
    expect_tokens_in_blocks(cache, case, {PARENT: tokens, CHILD: tokens}, which=which)


@_shared(hint="Look up the hashes in order, and stop at the first that names no block.")
def a_new_sequence_begins_with_the_blocks_found(student: Student, case: PagedCase) -> None:
    """`begin` takes the named blocks up to the first unknown hash, and returns the length."""
    size, cache = case.block_size, case.build(student)
    tokens = case.tokens(3 * size + (size > 1))
    names = [f"hash {i} of case {case.seed}" for i in range(3)]
    cache.in_turn(("append", PARENT, *tokens), ("name_blocks", PARENT, [*names, "too many"]))
    asked = {
        (): 0,
        ("unknown", *names): 0,
        (names[0],): 1,
        (names[0], "unknown", names[2]): 1,
        (*names, "too many"): 3,
    }
    for i, (hashes, n_found) in enumerate(asked.items()):
        one, what = 100 + i, f"begin({100 + i}, {list(hashes)})"
        length, n_free = cache.in_turn(("begin", one, list(hashes)), "n_free_blocks")
        why = ""
        if n_found == 1 and len(hashes) == 3:
            why = "A block after an unknown hash was taken. Its tokens follow other tokens."
        if n_found == 3:
            why = "Only full blocks have a name."
        expect_number(length, n_found * size, f"what {what} returns, in tokens", why=why)
        expect_tokens_in_blocks(
            cache, case, {one: tokens[..., : n_found * size, :]}, which=f" after {what}"
        )
        expect_number(n_free, case.n_blocks - case.n_blocks_for(tokens.shape[-2]), "n_free_blocks")
    new = case.tokens(1, of=1)
    cache.append(104, *new)
    grown = torch.cat([tokens[..., : 3 * size, :], new], dim=-2)
    expect_tokens_in_blocks(
        cache, case, {104: grown, PARENT: tokens}, which=" after the new sequence grew"
    )


@_shared(hint="Forget the name of a block when it becomes free, and when you write into it.")
def a_name_ends_with_the_tokens_it_stands_for(student: Student, case: PagedCase) -> None:
    """A block that became free, or was written again, is not found by its old hash."""
    size, cache = case.block_size, case.build(student)
    tokens, names = case.tokens(2 * size), ["first", "second"]
    cache.in_turn(("append", PARENT, *tokens), ("name_blocks", PARENT, names))
    cache.in_turn(("begin", CHILD, names[:1]), ("free", PARENT))
    length = cache.begin(THIRD, names)
    why = "The second block is free. Others may write into it, so its name has to go."
    slips = {2 * size: why, 0: "The first block is still in a table, so it keeps its name."}
    expect_number(length, size, "what begin returns, the second block being free", slips=slips)
    cache.in_turn(("free", CHILD), ("free", THIRD))
    expect_number(cache.begin(THIRD, names), 0, "what begin returns, all blocks being free")
    if size == 1:
        return
    cache = case.build(student)
    cache.in_turn(
        ("append", PARENT, *tokens), ("name_blocks", PARENT, names), ("rewind", PARENT, 1)
    )
    length = cache.begin(CHILD, names)
    expect_number(length, 2 * size, "what begin returns after a rewind that wrote nothing")
    cache.in_turn(("free", CHILD), ("append", PARENT, *case.tokens(1, of=1)))
    why = "Another token was written into the second block. Its hash stands for the old one."
    length = cache.begin(CHILD, names)
    what = "what begin returns after a rewind and an append into the second block"
    expect_number(length, size, what, slips={2 * size: why})
    _expect_name_stays(student, case)
    _expect_ends_of_names(student, case)


def _expect_name_stays(student: Student, case: PagedCase) -> None:
    """A copy has no name. The block that was copied keeps its own, with its tokens."""
    size, names = case.block_size, ["first", "second"]
    cache, tokens = _forked(student, case, 2 * size)
    cache.in_turn(("name_blocks", PARENT, names), ("rewind", CHILD, 1))
    table, copied = _tables_after(cache, case, ("append", CHILD, *case.tokens(1, of=1)))[0]
    if table[-1] == copied[-1]:
        return  # another check is about the copy
    length, when = cache.begin(THIRD, names), "after the fork was rewound and wrote into a copy"
    slips = {size: "The parent still has the block that was copied, so its name stays."}
    expect_number(length, 2 * size, f"what begin returns {when}", slips=slips)
    why = "The name went to the copy, which has other tokens."
    expect_tokens_in_blocks(cache, case, {THIRD: tokens}, which=f" {when}", why=why)


def _expect_ends_of_names(student: Student, case: PagedCase) -> None:
    """A hash stays with the block that it names. All names of a free block end."""
    cache = case.build(student)
    first, other = (case.tokens(case.block_size, of=i) for i in (0, 1))
    steps = [("append", PARENT, *first), ("name_blocks", PARENT, ["one"])]
    steps += [("append", CHILD, *other), ("name_blocks", CHILD, ["one"]), ("begin", THIRD, ["one"])]
    cache.in_turn(*steps)
    why = "The hash names the first block already, so it stays with that block."
    which = " that began with a hash which was given to two blocks"
    expect_tokens_in_blocks(cache, case, {THIRD: first}, which=which, why=why)
    cache = case.build(student)
    cache.in_turn(*steps[:2], ("name_blocks", PARENT, ["two"]), ("free", PARENT))
    for one, name in enumerate(("one", "two")):
        what = f"what begin returns for {name!r}, one of two names of a block that is free now"
        expect_number(cache.begin(one, [name]), 0, what)


@dataclass
class Ledger:
    """What blocks hold which tokens, by the rules: tables of numbers that are never used again."""

    size: int
    tables: dict[int, list[int]] = field(default_factory=dict)
    lives: dict[int, Tensor] = field(default_factory=dict)
    n_made: int = 0

    @property
    def n_used(self) -> int:
        return len({block for table in self.tables.values() for block in table})

    def n_needed(self, one: int, n_tokens: int) -> int:
        """How many free blocks an append takes."""
        length = self.lives[one].shape[-2] if one in self.lives else 0
        n_new = -(-(length + n_tokens) // self.size) - len(self.tables.get(one, []))
        return n_new + self._copies(one, length)

    def _copies(self, one: int, length: int) -> bool:
        if length % self.size == 0:
            return False
        last = self.tables[one][-1]
        return sum(last in table for table in self.tables.values()) > 1

    def append(self, one: int, new: Tensor) -> None:
        held = self.lives.get(one, new[..., :0, :])
        if self._copies(one, held.shape[-2]):
            self.tables[one][-1] = self._next()
        self.lives[one] = torch.cat([held, new], dim=-2)
        table = self.tables.setdefault(one, [])
        while len(table) * self.size < self.lives[one].shape[-2]:
            table.append(self._next())

    def _next(self) -> int:
        self.n_made += 1
        return self.n_made

    def rewind(self, one: int, n_tokens: int) -> None:
        n_left = self.lives[one].shape[-2] - n_tokens
        self.lives[one] = self.lives[one][..., :n_left, :]
        self.tables[one] = self.tables[one][: -(-n_left // self.size)]

    def fork(self, one: int, new: int) -> None:
        self.lives[new], self.tables[new] = self.lives[one], list(self.tables[one])

    def free(self, one: int) -> None:
        del self.lives[one], self.tables[one]


@_shared(hint="Play the operations on paper with one count of tables for each block.", weight=2)
def a_family_of_forks_keeps_its_tokens(student: Student, case: PagedCase) -> None:
    """Through forks, appends, rewinds, frees each sequence keeps its tokens; no block is lost."""
    cache, ledger = case.build(student), Ledger(case.block_size)
    for i, (name, *arguments) in enumerate(_life(case, ledger)):
        if name == "append":
            arguments[1] = case.tokens(arguments[1], of=i)
            step = (name, arguments[0], *arguments[1])
        else:
            step = (name, *arguments)
        getattr(ledger, name)(*arguments)
        blocks = blocks_after(cache, case, ledger.lives, step)
        when = f"after operation {i + 1}, `{name}` of sequence {arguments[0]}"
        expect_number(blocks.n_free, case.n_blocks - ledger.n_used, f"n_free_blocks {when}")
        expect_tokens_in_blocks(cache, case, ledger.lives, which=f" {when}")


def _life(case: PagedCase, ledger: Ledger) -> Iterator[tuple]:
    """Operations that fit: with a fork of a fork, a rewind into a shared block, and an id anew."""
    size, rng, ids = case.block_size, random.Random(case.seed + 1), range(4)
    yield from [("append", 0, size + 1), ("fork", 0, 1), ("fork", 1, 2), ("rewind", 1, 2)]
    yield from [("append", 1, 2), ("append", 0, 1), ("free", 0), ("append", 2, 1)]
    yield from [("append", 0, 1), ("free", 0), ("fork", 2, 0)]
    yield "rewind", 1, 1  # it empties a block, and leaves a full one
    for _ in range(case.n_operations):
        alive = [one for one in ids if one in ledger.lives]
        gone = [one for one in ids if one not in ledger.lives]
        one, kind = rng.choice(alive) if alive else 0, rng.random()
        n_tokens = rng.randint(1, size + 1)
        if kind < 0.25 and alive and gone:
            yield "fork", one, rng.choice(gone)
        elif kind < 0.45 and alive:
            yield "rewind", one, rng.randint(0, ledger.lives[one].shape[-2])
        elif kind < 0.55 and alive:
            yield "free", one
        elif ledger.n_needed(one, n_tokens) <= case.n_blocks - ledger.n_used:
            yield "append", one, n_tokens
