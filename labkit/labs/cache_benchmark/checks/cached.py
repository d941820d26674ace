"""Checks of what lab 3's `PrefixCache` finds, and what the checks of its budget share.

They ask `find`, `keep`, `has` and `n_kept`. How blocks are stored is the student's choice.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in
from labkit.checks.core import check
from labkit.checks.forms import HeldObject, expect_refusal

METHODS = ("find", "keep", "has")
PROBE = 1_000_000  # the ids of requests that only look what is kept

cache_check = partial(check, "PrefixCache", parts=("block_hashes",))
_found = partial(cache_check, "short", gate=True)


@dataclass(frozen=True, slots=True)
class CacheCase:
    """Prompts of some blocks, and a tail: tokens that do not fill a block."""

    block_size: int
    n_full: int  # blocks of a prompt, at least 3
    tail: int
    seed: int = 0
    kind: str = "short"

    def __str__(self) -> str:
        return f"prompts of {self.n_full} blocks of {self.block_size} tokens, and {self.tail} more"

    def prompt(self, number: int, n_blocks: int = 0, tail: int = 0) -> list[int]:
        """Tokens of a prompt; each number has its own, and begins with another token."""
        rng = random.Random(f"{self.seed} {number}")
        n_tokens = (n_blocks or self.n_full) * self.block_size + tail
        return [number, *(rng.randrange(60_000) for _ in range(1, n_tokens))]

    def build(self, student: Student, n_blocks: int) -> HeldObject:
        return HeldObject(hold(student.PrefixCache, n_blocks, self.block_size), METHODS)


def whole(request_id: int, tokens: Sequence[int], *salt: str) -> list[tuple]:
    """The steps of a request that runs alone."""
    return [("find", request_id, list(tokens), *salt), ("keep", request_id, list(tokens), *salt)]


def findable(case: CacheCase, cache: HeldObject, *prompts: Sequence[int]) -> list[int]:
    """How many blocks are found of each prompt, if one more token follows: a look at the end."""
    steps = [("find", PROBE + i, [*tokens, 7]) for i, tokens in enumerate(prompts)]
    got = cache.in_turn(*steps)
    return [number_in(one, "the tokens that are found") // case.block_size for one in got]


def _expect_found(
    case: CacheCase,
    cache: HeldObject,
    request_id: int,
    tokens: list[int],
    n_blocks: int,
    what: str = "",
    slips: dict[float, str] | None = None,
) -> None:
    """`find` counts so many blocks."""
    what = what or f"the tokens found of a prompt of {len(tokens)}"
    in_blocks = {n_blocks: "Those are blocks. Return tokens."} if case.block_size > 1 else {}
    got = cache.find(request_id, tokens)
    expect_number(got, n_blocks * case.block_size, what, slips=in_blocks | (slips or {}))


@_found(hint="Multiply the number of blocks that are found by block_size.")
def whole_blocks_are_found(student: Student, case: CacheCase) -> None:
    """`find` counts the tokens of whole kept blocks, and stops at the first that is not kept."""
    cache, size = case.build(student, 4 * case.n_full), case.block_size
    tokens = case.prompt(1, tail=case.tail)
    _expect_found(case, cache, 1, tokens, 0, what="the tokens found in an empty cache")
    cache.keep(1, tokens)
    partial_block = "A block that is not full can still change. It is not kept."
    slips = dict.fromkeys((len(tokens), (case.n_full + 1) * size), partial_block)
    more = case.prompt(2, 2)
    _expect_found(case, cache, 2, [*tokens, *more], case.n_full, slips=slips)
    if case.tail:
        shorter = tokens[: 2 * size + case.tail]
        slips = dict.fromkeys((len(shorter), len(shorter) - 1, 3 * size), partial_block)
        _expect_found(case, cache, 3, shorter, 2, slips=slips)
    other_end = [*tokens[: 2 * size], *more]
    _expect_found(
        case, cache, 4, other_end, 2, what="the tokens found where the third block differs"
    )
    cache.keep(4, other_end)
    _expect_found(case, cache, 5, [*other_end, 7], 4, what="the tokens found of a second ending")
    _expect_found(case, cache, 6, [*tokens, 7], case.n_full, what="the tokens found of the first")


@_found(hint="Look up only the first (len(tokens) - 1) // block_size blocks.")
def one_token_is_left_to_compute(student: Student, case: CacheCase) -> None:
    """If all blocks of a prompt are kept, its last block is still computed."""
    cache, size = case.build(student, 4 * case.n_full), case.block_size
    tokens = case.prompt(1)
    cache.in_turn(*whole(1, tokens))
    for n_blocks in (case.n_full, 1):
        n_tokens = n_blocks * size
        slips = {n_tokens: "The cache keeps no logits. The model has to compute the last token."}
        if size > 1:
            slips[n_tokens - 1] = "Only whole blocks are found. Leave out the last block."
        _expect_found(case, cache, 1 + n_blocks, tokens[:n_tokens], n_blocks - 1, slips=slips)


@_found(hint="Use the hashes of block_hashes: each covers all blocks before it.")
def another_beginning_finds_nothing(student: Student, case: CacheCase) -> None:
    """A block is found only after the same beginning, and at the same place."""
    cache, size = case.build(student, 4 * case.n_full), case.block_size
    tokens = case.prompt(1)
    cache.in_turn(*whole(1, tokens))
    why = "The same block after another beginning has other keys and values."
    slips = dict.fromkeys(((case.n_full - 1) * size, case.n_full * size), why)
    changed = [tokens[0] + 1, *tokens[1:], 7]
    what = "the tokens found after the first token has changed"
    _expect_found(case, cache, 2, changed, 0, what, slips)
    changed = [*tokens[:size], tokens[size] + 1, *tokens[size + 1 :], 7]
    what = "the tokens found after a token of the second block has changed"
    _expect_found(case, cache, 3, changed, 1, what, slips)
    what = "the tokens found without the first block"
    _expect_found(case, cache, 4, [*tokens[size:], 7], 0, what, slips)


@_found(hint="Pass salt to block_hashes, in find and in keep.")
def another_salt_finds_nothing(student: Student, case: CacheCase) -> None:
    """Requests share blocks only if their salts are equal."""
    tokens, why = case.prompt(1), "Another user's prompt is found. Use the salt."
    for kept, asked in (("ann", "bob"), ("ann", ""), ("", "ann")):
        cache = case.build(student, 4 * case.n_full)
        steps = [*whole(1, tokens, kept), ("find", 2, [*tokens, 7], asked)]
        got = cache.in_turn(*steps, ("find", 3, [*tokens, 7], kept))[2:]
        what = f'the tokens found with salt "{asked}" after keep with salt "{kept}"'
        expect_number(got[0], 0, what, why=why)
        what = f'the tokens found with the same salt "{kept}"'
        expect_number(got[1], case.n_full * case.block_size, what)


@cache_check("short", hint="Raise ValueError before you change anything.")
def calls_out_of_order_are_refused(student: Student, case: CacheCase) -> None:
    """`find` starts a request once, `keep` ends one that is running; a budget is at least 1."""
    for n_blocks, size in ((0, case.block_size), (-1, case.block_size), (4, 0), (4, -2)):
        what = f"a cache of {n_blocks} blocks of {size} tokens"
        expect_refusal(lambda n=n_blocks, s=size: student.PrefixCache(n, s), "ValueError", what)
    cache, tokens = case.build(student, 2 * case.n_full), case.prompt(1)
    refused = partial(expect_refusal, kind="ValueError")
    refused(lambda: cache.keep(5, tokens), what="keep(5, ...) before find(5, ...)")
    cache.find(5, tokens)
    refused(lambda: cache.find(5, tokens), what="find(5, ...) while request 5 is running")
    cache.keep(5, tokens)
    refused(lambda: cache.keep(5, tokens), what="keep(5, ...) for the second time")
    cache.in_turn(*whole(5, tokens))  # its id is free again
