"""Checks of lab 3's block hashes.

What a hash is made of is the student's choice: the checks compare hashes with each other only.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from labkit.bridge.student import Proxy, Student
from labkit.checks.compare import list_in, show
from labkit.checks.core import Wrong, check

LARGEST_HASH_BYTES = 128

_hash = partial(check, "block_hashes", gate=True)


@dataclass(frozen=True, slots=True)
class HashCase:
    """A prompt of full blocks, and a few tokens more."""

    tokens: tuple[int, ...]
    block_size: int

    @property
    def n_blocks(self) -> int:
        return len(self.tokens) // self.block_size

    def __str__(self) -> str:
        return f"{len(self.tokens)} tokens in blocks of {self.block_size}"


def _hashes(student: Student, tokens: Sequence[int], case: HashCase, salt: str = "") -> list:
    """Hashes as plain values that can be compared."""
    more = {"salt": salt} if salt else {}
    got = student.block_hashes(list(tokens), case.block_size, **more)
    return [_plain(one) for one in list_in(got, "the hashes", "a list")]


def _plain(one: Any) -> Hashable:
    if hasattr(one, "tolist"):
        one = one.tolist()
    if isinstance(one, list | tuple):
        return tuple(_plain(part) for part in one)
    if isinstance(one, Proxy):
        raise Wrong("a hash", expected="an int, bytes or text", got=show(one))
    usual = isinstance(one, int | str | bytes) and not isinstance(one, bool)
    if not usual and not (isinstance(one, float) and math.isfinite(one)):
        raise Wrong("a hash", expected="an int, bytes or text", got=show(one))
    return one


def _full(student: Student, tokens: Sequence[int], case: HashCase, salt: str = "") -> list:
    """The hashes of the full blocks; one more, of the end, is another check's matter."""
    n_full = len(tokens) // case.block_size
    got = _hashes(student, tokens, case, salt)
    if not n_full <= len(got) <= n_full + 1:
        raise Wrong(f"the hashes of {n_full} full blocks", expected=str(n_full), got=str(len(got)))
    return got[:n_full]


def _expect_repeatable(student: Student, case: HashCase) -> None:
    """Hashes that differ from call to call differ between prompts for no reason."""
    if _full(student, case.tokens, case) != _full(student, case.tokens, case):
        why = "The hash contains something that changes between calls."
        raise Wrong(
            "the hashes, computed again", expected="the same", got="different ones", why=why
        )


def _expect_all_differ(got: list, others: list, what: str, why: str) -> None:
    """Hash by hash, the two prompts have nothing in common."""
    for i, (one, other) in enumerate(zip(got, others, strict=True)):
        if one == other:
            raise Wrong(
                f"the hash of block {i}, {what}", expected="a different one", got="equal", why=why
            )


def _changed(tokens: Sequence[int], at: int, by: int = 1) -> list[int]:
    changed = list(tokens)
    changed[at] += by
    return changed


@_hash(hint="Make len(tokens) // block_size hashes, in a list that may be empty.")
def each_full_block_has_a_hash(student: Student, case: HashCase) -> None:
    """There is one hash for each full block, and none for the tokens at the end."""
    size = case.block_size
    for n_tokens in (len(case.tokens), size * case.n_blocks, size, size - 1, 0):
        got = _hashes(student, case.tokens[:n_tokens], case)
        n_full = n_tokens // size
        if len(got) != n_full:
            why = "A block that is not full can still change, so it has no hash."
            if not n_tokens:
                why = "Without tokens there is no block. Return an empty list."
            raise Wrong(
                f"the number of hashes of {n_tokens} tokens",
                expected=str(n_full),
                got=str(len(got)),
                why=why if len(got) == n_full + 1 and (n_tokens % size or not n_tokens) else "",
            )


@_hash(hint="Use only the block, the hash before it and the salt.")
def equal_beginnings_have_equal_hashes(student: Student, case: HashCase) -> None:
    """Prompts with equal first blocks have equal hashes for these blocks."""
    whole = _full(student, case.tokens, case)
    why = "The hash may contain something that changes between calls, or later tokens."
    for n_tokens in (case.block_size * (case.n_blocks - 1) + 1, len(case.tokens)):
        again = _full(student, case.tokens[:n_tokens], case)
        if not again or again != whole[: len(again)]:
            what = f"the hashes of the first {n_tokens} tokens"
            wanted = "the first of those of the whole prompt"
            raise Wrong(what, expected=wanted, got="different ones", why=why)
    longer = _full(student, [*case.tokens, *case.tokens], case)
    if longer[: len(whole)] != whole:
        what = "the hashes of a longer prompt"
        raise Wrong(what, expected="equal at the front", got="different ones", why=why)
    if _full(student, _changed(case.tokens, 0), case) == whole:
        raise Wrong("the hashes of a different prompt", expected="different", got="the same")


@_hash(weight=2, hint="Hash a block together with the hash of the block before it.")
def a_hash_covers_everything_before_it(student: Student, case: HashCase) -> None:
    """A hash depends on all tokens before its block: a new first token changes every hash."""
    _expect_repeatable(student, case)
    size = case.block_size
    whole = _full(student, case.tokens, case)
    why = "After a different beginning, the same block has different keys and values."
    other = _full(student, _changed(case.tokens, 0), case)
    reach = _reach(whole, other)
    _expect_all_differ(whole, other, "after a change of the first token", f"{reach}{why}")
    for i in range(1, case.n_blocks - 1):
        other = _full(student, _changed(case.tokens, i * size + size // 2), case)
        _expect_all_differ(whole[i:], other[i:], f"after a change in block {i}", why)
    block = list(case.tokens[:size])
    if len(set(_full(student, block * 3, case))) < 3:
        raise Wrong("the hashes of one block three times", expected="three", got="equal", why=why)
    swapped = [*case.tokens[size : 2 * size], *block, *case.tokens[2 * size :]]
    if swapped != list(case.tokens):
        other = _full(student, swapped, case)
        _expect_all_differ(whole[1:], other[1:], "after two blocks were swapped", why)


def _reach(whole: list, other: list) -> str:
    """The sentence if a new first token changes the hashes of one or two blocks alone."""
    changed = [i for i, (one, new) in enumerate(zip(whole, other, strict=True)) if one != new]
    if changed == [0]:
        return "Only the hash of its own block changed. "
    return "Only its own hash and the next one changed. " * (changed == [0, 1])


@_hash(hint="Hash every token of the block, in order, with a separator between numbers.")
def every_token_of_a_block_counts(student: Student, case: HashCase) -> None:
    """Each token of a block changes the hash: its place counts, and all bits of its number."""
    _expect_repeatable(student, case)
    size = case.block_size
    tokens = list(case.tokens[: size * case.n_blocks])
    last = _full(student, tokens, case)[-1]
    others = {"the block in reverse": ([*tokens[:-size], *reversed(tokens[-size:])], "")}
    for at in range(len(tokens) - size, len(tokens)):
        place = f"at place {at % size} of the block"
        others[f"a different token {place}"] = _changed(tokens, at), ""
        for by, part in {256: "byte", 65_536: "two bytes"}.items():
            why = f"You lose part of the number: the lowest {part} cannot tell these tokens apart."
            others[f"a token {place} that is larger by {by:,}"] = _changed(tokens, at, by), why
    for what, (changed, why) in others.items():
        if changed != tokens and _full(student, changed, case)[-1] == last:
            raise Wrong(f"the hash with {what}", expected="a different one", got="equal", why=why)
    if size > 1:
        start = tokens[:-size] + [7] * (size - 2)
        pair = [_full(student, [*start, *end], case)[-1] for end in ((1, 23), (12, 3))]
        if pair[0] == pair[1]:
            why = "Without a separator both are 123."
            raise Wrong("the hashes of 1, 23 and of 12, 3", expected="two", got="one", why=why)


@_hash(
    hint="Use a longer hash, for example hashlib.sha256. 16 bits are not enough.",
    applies_to=lambda case: 1 < case.block_size <= 3,
)
def many_blocks_are_told_apart(student: Student, case: HashCase) -> None:
    """1,200 different blocks have 1,200 different hashes."""
    _expect_repeatable(student, case)
    n_blocks = 1200
    n_tokens = n_blocks * case.block_size
    tokens = [(7919 * i + case.tokens[0]) % 150_001 for i in range(n_tokens)]
    n_different = len(set(_full(student, tokens, case)))
    if n_different < n_blocks:
        raise Wrong("different hashes", expected=str(n_blocks), got=str(n_different))


@_hash(hint="Pass only the hash of the block before, not all earlier tokens.", gate=False)
def hashes_stay_small(student: Student, case: HashCase) -> None:
    """Each hash has at most 128 bytes, also the last one of a long prompt."""
    _expect_repeatable(student, case)
    hashes = _full(student, list(range(200 * case.block_size)), case)
    n_first, n_bytes = _n_bytes(hashes[0]), _n_bytes(hashes[-1])
    if n_bytes > LARGEST_HASH_BYTES:
        why = "It grows with each block before it." if n_first < n_bytes else ""
        what = "the hash of the 200th block"
        raise Wrong(what, expected="at most 128 bytes", got=f"{n_bytes:,} bytes", why=why)


def _n_bytes(one: Any) -> int:
    if isinstance(one, tuple):
        return sum(map(_n_bytes, one))
    if isinstance(one, str | bytes):
        return len(one)
    return (one.bit_length() + 7) // 8 if isinstance(one, int) else 8


@_hash(hint="Put the salt into the hash of the first block.")
def salts_keep_users_apart(student: Student, case: HashCase) -> None:
    """With a different salt all hashes differ. With the same salt all are equal."""
    why = "A user could measure how fast an answer comes, and learn what another user sent."
    salted = {salt: _full(student, case.tokens, case, salt) for salt in SALTS}
    for one, other in combinations(SALTS, 2):
        _expect_all_differ(salted[one], salted[other], f"with the salts {one!r} and {other!r}", why)
    rest = list(case.tokens[1:])
    pair = [_full(student, [token, *rest], case, salt) for salt, token in (("1", 23), ("12", 3))]
    why = "Without a separator the salt and the first token are 123 both times."
    _expect_all_differ(*pair, "with the salts '1' and '12' before the tokens 23 and 3", why)
    if _full(student, case.tokens, case, SALTS[-1]) != salted[SALTS[-1]]:
        raise Wrong("the hashes with the same salt", expected="the same", got="different ones")


SALTS = ("", "anna", "Anna", "anne", "annas")
OPEN_CASES = {
    "block_hashes": [
        HashCase((5, 9, 5, 9, 5, 9, 2), block_size=2),
        HashCase(tuple(range(40, 56)), block_size=4),
    ]
}
