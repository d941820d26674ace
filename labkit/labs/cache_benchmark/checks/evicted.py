"""Checks of the budget of lab 3's `PrefixCache`: which blocks it evicts, and which never."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, expect_number, list_in, number_in, truth_in
from labkit.checks.core import Wrong
from labkit.checks.forms import HeldObject
from labkit.labs.cache_benchmark.checks.cached import (
    METHODS,
    CacheCase,
    cache_check,
    findable,
    whole,
)

_evicted = partial(cache_check, "short", gate=True)


def _left(
    case: CacheCase, cache: HeldObject, prompts: dict[str, list[int]], names: Iterable[str]
) -> dict[str, int]:
    """The blocks that are found of these prompts; the cache can be asked once."""
    return dict(zip(names, findable(case, cache, *(prompts[one] for one in names)), strict=True))


def _expect_left(left: dict[str, int], wanted: dict[str, int], what: str, why: str) -> None:
    if left != wanted:
        what = f"the blocks found of each prompt {what}"
        raise Wrong(what, expected=str(wanted), got=str(left), why=why)


@_evicted(hint="Evict a block before you keep one more than n_blocks.")
def the_budget_is_used_and_never_exceeded(student: Student, case: CacheCase) -> None:
    """At most n_blocks blocks are kept; while there is room, no block is evicted."""
    budget = 2 * case.n_full - 1
    cache = case.build(student, budget)
    expect_number(cache.n_kept, 0, "n_kept of a new cache")
    tokens = case.prompt(1, tail=case.tail)
    *_, n_kept = cache.in_turn(*whole(1, tokens), "n_kept")
    expect_number(n_kept, case.n_full, f"n_kept after a prompt of {case.n_full} blocks")
    *_, n_kept = cache.in_turn(*whole(2, tokens), "n_kept")
    expect_number(n_kept, case.n_full, "n_kept after the same prompt again")
    *_, n_kept = cache.in_turn(*whole(3, case.prompt(2)), "n_kept")
    what = f"n_kept after {2 * case.n_full} blocks with a budget of {budget}"
    expect_number(n_kept, budget, what)
    cache, long = case.build(student, 2), case.prompt(3)
    *_, n_kept = cache.in_turn(*whole(1, long), "n_kept")
    expect_number(n_kept, 2, "n_kept after a prompt that is longer than the budget of 2")
    why = "Keep its beginning. Without its beginning, a block cannot be found."
    expect_equal(findable(case, cache, long), [2], "the blocks found of that prompt", why=why)


@_evicted(hint="In keep, put all kept blocks of these tokens at the end of the order.")
def the_least_recently_used_block_goes(student: Student, case: CacheCase) -> None:
    """A block that was used again stays longer than one that was kept later."""
    prompts = {name: case.prompt(i, 1) for i, name in enumerate("abcd")}
    cache, steps = case.build(student, 3), []
    for i, name in enumerate("abcad"):
        steps += whole(i, [*prompts[name], 7] if case.block_size > 1 else prompts[name])
    cache.in_turn(*steps)
    left, why = _left(case, cache, prompts, "abcd"), ""
    if left == {"a": 0, "b": 1, "c": 1, "d": 1}:
        why = "Prompt a was used after b and c. It must stay."
    what = "after a, b, c, a, d with a budget of 3"
    _expect_left(left, {"a": 1, "b": 0, "c": 1, "d": 1}, what, why)
    cache, longer = case.build(student, 3), [*prompts["a"], *prompts["b"]]
    a, c, d = (prompts[name] for name in "acd")
    cache.in_turn(*whole(1, a), *whole(2, c), *whole(3, longer), *whole(4, d))
    left = _left(case, cache, prompts | {"b": longer}, "abcd")
    what = "after a, c, a longer prompt b that begins with a, and d, with a budget of 3"
    _expect_left(left, {"a": 1, "b": 2, "c": 0, "d": 1}, what, "")
    if case.block_size > 1:  # else, one more token is one more block
        _expect_used_at_the_end(student, case, prompts)


def _expect_used_at_the_end(
    student: Student, case: CacheCase, prompts: dict[str, list[int]]
) -> None:
    """A block counts as used when its request ends, not when it starts."""
    again, cache = [*prompts["a"], 7], case.build(student, 3)
    during = [("find", 9, again), *whole(2, prompts["b"]), ("keep", 9, again)]
    cache.in_turn(
        *whole(1, prompts["a"]), *during, *whole(3, prompts["c"]), *whole(4, prompts["d"])
    )
    left, why = _left(case, cache, prompts, "abcd"), ""
    if left["b"] and not left["a"]:
        why = "A block counts as used when its request ends."
    what = "after a, a and b that run together (a ends last), c and d"
    _expect_left(left, {"a": 1, "b": 0, "c": 1, "d": 1}, f"{what}, with a budget of 3", why)


@_evicted(hint="Evict the last block of a prompt before its first.")
def every_kept_block_can_be_found(student: Student, case: CacheCase) -> None:
    """Of one prompt the last block is evicted first, so no block stays without its beginning."""
    n_full, lost = case.n_full, "Kept blocks cannot be found: their beginning was evicted."
    prompts = {"a": case.prompt(1), "b": case.prompt(2, 1), "c": case.prompt(3, n_full - 1)}
    plays = {"ab": {"a": n_full - 1, "b": 1}, "abc": {"a": 0, "b": 1, "c": n_full - 1}}
    for names, wanted in plays.items():
        cache = case.build(student, n_full)
        steps = [step for i, name in enumerate(names) for step in whole(i, prompts[name])]
        n_kept = cache.in_turn(*steps, "n_kept")[-1]
        left = _left(case, cache, prompts, names)
        is_lost = sum(left.values()) < number_in(n_kept, "n_kept")
        what = f"after {', '.join(names)}, with a budget of {n_full}"
        _expect_left(left, wanted, what, lost * is_lost)


@_evicted(weight=2, hint="Count the running requests of each block. Evict only blocks with none.")
def a_block_in_use_is_never_evicted(student: Student, case: CacheCase) -> None:
    """Blocks that a running request has found stay until all such requests have ended."""
    prompts = {name: case.prompt(i, 2) for i, name in enumerate("abcd")}
    a, longer = prompts["a"], [*prompts["a"], 7]
    others = [*whole(10, prompts["b"]), *whole(11, prompts["c"]), *whole(12, prompts["d"])]
    begun = [*whole(1, a), ("find", 2, longer)]
    one_ended = [*begun, ("find", 3, longer), ("keep", 2, longer)]
    both_ended = [*one_ended, ("keep", 3, longer)]
    found_nothing = [("find", 4, a), *begun, ("keep", 4, a)]
    plays = [
        ("while a running request uses a", begun, {"a": 2, "d": 1}),
        ("after one of two running requests has ended", one_ended, {"a": 2, "d": 1}),
        ("after both requests that used a have ended", both_ended, {"a": 0, "d": 2}),
        ("after a request that had found nothing has ended", found_nothing, {"a": 2, "d": 1}),
    ]
    for what, steps, wanted in plays:
        cache = case.build(student, 3)
        n_kept = cache.in_turn(*steps, *others, "n_kept")[-1]
        left, why = _left(case, cache, prompts, wanted), ""
        if left["a"] < wanted["a"]:
            why = "A running request still reads these blocks."
        elif left["a"] > wanted["a"]:
            why = "No running request uses a. Its blocks can be evicted."
        _expect_left(left, wanted, f"{what}; b, c and d came later", why)
        expect_number(n_kept, 3, f"n_kept {what}, with a budget of 3")
    _expect_others_evicted(student, case, prompts, others)
    _expect_full_of_running(student, case, prompts)


def _expect_others_evicted(
    student: Student, case: CacheCase, prompts: dict[str, list[int]], others: list[tuple]
) -> None:
    """A block that is kept, and computed again by a running request, can be evicted."""
    cache, a = case.build(student, 3), prompts["a"]
    n_found = cache.in_turn(*whole(1, a), ("find", 2, a))[-1]
    if n_found != case.block_size:
        return  # another check is about the block that must be left to compute
    cache.in_turn(*others)
    why = (
        "The request computes the second block of a again. Only blocks that it counted are in use."
    )
    what = "while a request for exactly a runs; b, c and d came later"
    _expect_left(_left(case, cache, prompts, "ad"), {"a": 1, "d": 2}, what, why)


def _expect_full_of_running(
    student: Student, case: CacheCase, prompts: dict[str, list[int]]
) -> None:
    """If every kept block is in use, nothing more is kept, and nothing is evicted."""
    cache = case.build(student, 2)
    steps = [*whole(1, prompts["a"]), ("find", 2, [*prompts["a"], 7]), *whole(3, prompts["b"])]
    n_kept = cache.in_turn(*steps, "n_kept")[-1]
    what = "while all kept blocks are in use, with a budget of 2"
    expect_number(n_kept, 2, f"n_kept {what}")
    why = "If no block can be evicted, keep no more blocks."
    _expect_left(_left(case, cache, prompts, "ab"), {"a": 2, "b": 0}, what, why)


@cache_check("short", hint="Look the hash up. Change nothing.")
def has_says_which_blocks_are_kept(student: Student, case: CacheCase) -> None:
    """`has` is true for the hash of a kept block, and false for all others; it is no use."""
    a, b, c = (case.prompt(i, 1) for i in range(3))
    hash_a, hash_b = (_only_hash(student, one, case) for one in (a, b))
    cache, what = case.build(student, 2), "what has returns"
    got = cache.in_turn(("has", hash_a), *whole(1, a), ("has", hash_a), ("has", hash_b))
    told = [truth_in(got[i], what) for i in (0, 3, 4)]
    expect_equal(told, [False, True, False], "has(a) before a is kept, has(a) after it, has(b)")
    got = cache.in_turn(*whole(2, b), ("has", hash_a), *whole(3, c), ("has", hash_a))
    told = [truth_in(got[i], what) for i in (2, 5)]
    expect_equal(told, [True, False], "has(a) before and after its eviction, with a budget of 2")


def _only_hash(student: Student, tokens: list[int], case: CacheCase) -> Any:
    """The hash of a prompt of one block."""
    got = student.block_hashes(tokens, case.block_size)
    return list_in(got, "the hashes of one full block", "a list with one hash", 1)[0]


@dataclass(frozen=True, slots=True)
class LifeCase:
    """Many requests, of which some run at the same time.

    steps: ("find" or "keep", id, number of the prompt, its tokens). found: what each find gives.
    """

    n_blocks: int
    block_size: int
    prompts: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[str, int, int, int], ...]
    found: tuple[int, ...]
    kind: str = "life"

    def __str__(self) -> str:
        return f"{len(self.steps)} calls with a budget of {self.n_blocks} blocks"


@cache_check("life", weight=2, gate=True, hint="Play the calls by hand, with a list of blocks.")
def many_requests_find_what_is_left(student: Student, case: LifeCase) -> None:
    """Through many requests, of which some run together, each finds what the rules leave."""
    made = hold(student.PrefixCache, case.n_blocks, case.block_size)
    calls = [(do, i, list(case.prompts[one][:n])) for do, i, one, n in case.steps]
    results = HeldObject(made, METHODS).in_turn(*calls)
    got = [one for one, (do, *_) in zip(results, case.steps, strict=True) if do == "find"]
    for i, (one, expected) in enumerate(zip(got, case.found, strict=True)):
        expect_number(one, expected, f"the tokens found by call {i + 1} of find")


OPEN_CASES = {
    "PrefixCache": [
        CacheCase(block_size=4, n_full=3, tail=3),
        CacheCase(block_size=1, n_full=5, tail=0, seed=1),
        LifeCase(
            5,
            2,
            (
                (42, 29, 0, 25, 16, 17),
                (42, 16, 32, 46),
                (25, 48, 0, 16),
                (12, 46, 35, 16, 42, 29, 0, 25, 16, 17),
                (12, 46, 35, 16, 42, 16, 32, 46),
                (12, 46, 35, 16, 25, 48, 0, 16),
                (12, 46, 42, 29, 0, 25, 16, 17),
            ),
            (
                ("find", 0, 3, 10),
                ("keep", 0, 3, 10),
                ("find", 1, 2, 3),
                ("find", 2, 5, 6),
                ("find", 3, 5, 4),
                ("keep", 3, 5, 4),
                ("find", 4, 0, 2),
                ("keep", 4, 0, 4),
                ("find", 5, 3, 10),
                ("keep", 1, 2, 4),
                ("find", 6, 5, 7),
                ("keep", 6, 5, 7),
                ("keep", 5, 3, 10),
                ("find", 7, 3, 9),
                ("find", 8, 0, 1),
                ("keep", 7, 3, 10),
                ("keep", 2, 5, 8),
                ("keep", 8, 0, 4),
            ),
            (0, 0, 4, 2, 0, 6, 4, 8, 0),
        ),
    ],
}
