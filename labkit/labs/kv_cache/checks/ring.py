"""Checks of `RingCache`.

It is about the window: the newest tokens lie in their slots, and a query sees those of its window.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, joined, list_in
from labkit.checks.core import check
from labkit.checks.forms import HeldObject
from labkit.checks.tensors import tensor_in
from labkit.labs.kv_cache.checks.slips import (
    CHUNK_SLIPS,
    MASK_SLIPS,
    POSITION_SLIPS,
    SeesRule,
    left_in_slots,
)
from labkit.labs.kv_cache.checks.stored import dtype_if_given, expect_stored, random_tokens

_ring = partial(check, "RingCache", gate=True)


@dataclass(frozen=True, slots=True)
class RingCase:
    """`n_tokens` tokens arrive one at a time; or in `chunks`, the first longer than the window
    and the next one ending before the last slot or there."""

    window: int
    n_tokens: int
    chunks: tuple[int, ...]
    batch: int = 1
    n_kv_heads: int = 2
    head_dim: int = 3
    dtype: torch.dtype = torch.float32
    seed: int = 0

    def __str__(self) -> str:
        return f"a ring of {self.window} slots, {self.n_tokens} tokens, or chunks of {self.chunks}"

    @property
    def crossing(self) -> tuple[int, ...]:
        """Chunks of which the second goes over the end of the ring."""
        return (max(1, self.window - 1), 2, 3)

    @property
    def long_chunks(self) -> tuple[tuple[int, ...], ...]:
        """Chunks with a longer one than the window, or one as long, at once and after others."""
        return self.chunks, (self.window + 1, 1), (2, self.window + 1), (1, self.window)

    def build(self, student: Student) -> HeldObject:
        sizes = (self.batch, self.n_kv_heads, self.head_dim, self.window)
        return HeldObject(
            hold(student.RingCache, *sizes, **dtype_if_given(self.dtype)), ("append", "mask")
        )

    def tokens(self, n_tokens: int) -> Tensor:
        """Keys and values of a whole sequence: (2 B Hkv n_tokens D)."""
        shape = (2, self.batch, self.n_kv_heads, n_tokens, self.head_dim)
        return random_tokens(self.seed, *shape, dtype=self.dtype)


def append_in_chunks(cache: HeldObject, tokens: Tensor, chunks: tuple[int, ...]) -> None:
    """Append a sequence in pieces of these lengths."""
    parts = zip(*(part.split(chunks, dim=2) for part in tokens), strict=True)
    cache.in_turn(*(("append", *part) for part in parts))


STATE = ("positions", "keys", "values")


def state_of(cache: HeldObject) -> dict[str, Any]:
    """The public state of the ring."""
    return dict(zip(STATE, cache.in_turn(*STATE), strict=True))


def expect_newest(
    state: dict[str, Any], case: RingCase, tokens: Tensor, when: str, *, why: str = ""
) -> None:
    """The newest `window` tokens lie in their slots; an empty slot may hold anything."""
    n_tokens = tokens.shape[-2]
    newest = list(range(max(0, n_tokens - case.window), n_tokens))
    slots = [position % case.window for position in newest]
    shape = [case.batch, case.n_kv_heads, case.window, case.head_dim]
    for name, expected in zip(("keys", "values"), tokens, strict=True):
        stored = tensor_in(state[name], f"`{name}`")
        expect_equal(list(stored.shape), shape, f"the shape of `{name}`")
        expect_stored(
            stored[:, :, slots],
            expected[:, :, newest],
            f"the {name} of positions {newest[0]}..{newest[-1]}, taken from slots {slots}, {when}",
            why=why,
        )


def slots_of(case: RingCase, n_tokens: int) -> list[int]:
    """The position in each slot after `n_tokens` tokens, by replaying them."""
    slots = [-1] * case.window
    for position in range(n_tokens):
        slots[position % case.window] = position
    return slots


def decoded_token_by_token(student: Student, case: RingCase) -> list[dict[str, Any]]:
    """The ring's state when new and after every token, played once for all checks."""

    def play() -> list[dict[str, Any]]:
        cache, tokens = case.build(student), case.tokens(case.n_tokens)
        steps = list(STATE)
        for token in zip(*(part.split(1, dim=2) for part in tokens), strict=True):
            steps += [("append", *token), *STATE]
        shown = cache.in_turn(*steps)
        starts = range(0, len(shown), len(STATE) + 1)
        return [dict(zip(STATE, shown[i : i + len(STATE)], strict=True)) for i in starts]

    return student.once(("RingCache", case), play)


@_ring(hint="Use slot position % window. Give an empty slot position -1.")
def positions_name_the_token_in_each_slot(student: Student, case: RingCase) -> None:
    """`positions` says which token lies in each slot, -1 for none, after every token."""
    states = decoded_token_by_token(student, case)
    got = [list_in(state["positions"], "`positions`", "a list") for state in states]
    why = joined(
        sentence
        for sentence, slip in POSITION_SLIPS.items()
        if got == [slip(n_tokens, case.window) for n_tokens in range(len(states))]
    )
    for n_tokens, state in enumerate(states):
        what = f"the positions after {n_tokens} tokens"
        expect_equal(state["positions"], slots_of(case, n_tokens), what, why=why)


@_ring(hint="Write keys and values of one token to the same slot.")
def decoding_past_the_end_keeps_the_window(student: Student, case: RingCase) -> None:
    """Token by token, the ring holds the keys and values that a sliding window sees."""
    tokens = case.tokens(case.n_tokens)
    for n_tokens, state in enumerate(decoded_token_by_token(student, case)[1:], start=1):
        expect_newest(state, case, tokens[..., :n_tokens, :], f"after {n_tokens}")


@_ring(
    hint="Compute the slot of each token of a chunk from its own position.",
    applies_to=lambda case: case.window > 1,
)
def a_chunk_may_cross_the_end(student: Student, case: RingCase) -> None:
    """A chunk that reaches the last slot continues in the first, over the oldest tokens."""
    cache, chunks = case.build(student), case.crossing
    tokens = case.tokens(sum(chunks))
    append_in_chunks(cache, tokens, chunks)
    expect_newest(state_of(cache), case, tokens, f"after chunks of {chunks}")


@_ring(hint="Drop the tokens that would be overwritten, but count their positions.")
def a_long_prompt_leaves_its_newest_tokens(student: Student, case: RingCase) -> None:
    """If a chunk is longer than the window, its newest tokens remain, each in its slot."""
    states = []
    for chunks in case.long_chunks:
        cache = case.build(student)
        append_in_chunks(cache, case.tokens(sum(chunks)), chunks)
        states.append(state_of(cache))
    why = _slip_of_chunks(states, case)
    for chunks, state in zip(case.long_chunks, states, strict=True):
        when = f"after chunks of {chunks}"
        expect_newest(state, case, case.tokens(sum(chunks)), when, why=why)


def _slip_of_chunks(states: list[dict[str, Any]], case: RingCase) -> str:
    """The sentences if all full rings hold the tokens that a known mistake leaves."""

    def is_left_by(*is_right: bool) -> bool:
        for chunks, state in zip(case.long_chunks, states, strict=True):
            newest = left_in_slots(case.window, chunks, *is_right)
            held = case.tokens(sum(chunks))[..., newest, :]
            stored = [tensor_in(state[name], f"`{name}`") for name in ("keys", "values")]
            if not all(torch.equal(*parts) for parts in zip(stored, held, strict=True)):
                return False
        return True

    return joined(
        sentence
        for sentence, slips in CHUNK_SLIPS.items()
        if any(is_left_by(*slip) for slip in slips)
    )


@_ring(hint="Give each token of a chunk the position after that of the token before it.")
def positions_and_mask_follow_a_chunk(student: Student, case: RingCase) -> None:
    """After a chunk that crosses the end, or is too long, positions and mask are right as well."""
    for chunks in (case.crossing, case.chunks):
        for n_chunks in range(1, len(chunks) + 1):
            n_tokens, when = sum(chunks[:n_chunks]), f"chunks of {chunks[:n_chunks]}"
            shown = [
                _positions_and_mask(student, case, lengths)
                for lengths in (chunks[:n_chunks], (1,) * n_tokens)
            ]
            slots, positions = (
                slots_of(case, n_tokens),
                list_in(shown[0][0], "`positions`", "a list"),
            )
            filled = slice(n_tokens if n_tokens < case.window else None)
            expect_equal(
                positions[filled],
                slots[filled],
                f"the positions after {when}",
                why=_off_by_one(positions[filled], slots[filled]),
            )
            what = f"the mask after {when}, beside the mask after as many single tokens"
            expect_equal(shown[0][1], shown[1][1], what)


def _off_by_one(got: list, right: list) -> str:
    """Whether each position is right or one too low."""
    is_so = len(got) == len(right) and all(
        type(a) is int and b - a in (0, 1) for a, b in zip(got, right, strict=True)
    )
    return "Some positions are one too low." if is_so else ""


def _positions_and_mask(student: Student, case: RingCase, chunks: tuple[int, ...]) -> tuple:
    """The positions, and the mask for the last query, of a ring that was filled in chunks."""
    cache, n_tokens = case.build(student), sum(chunks)
    append_in_chunks(cache, case.tokens(n_tokens), chunks)
    return cache.positions, cache.mask(torch.tensor([n_tokens - 1, n_tokens + 1]))


@_ring(hint="Combine three conditions: the slot is filled, not later than the query, not too old.")
def the_mask_shows_the_window(student: Student, case: RingCase) -> None:
    """A query sees its own slot and those of the `window` - 1 positions before it, if filled."""
    tokens, rows = case.tokens(case.n_tokens), []
    for length in (max(1, case.window - 1), case.n_tokens):
        cache = case.build(student)
        append_in_chunks(cache, tokens[..., :length, :], (1,) * length)
        rows += _mask_rows(cache, case, length)
    _expect_mask(rows)


@dataclass(frozen=True, slots=True)
class MaskRow:
    """What a query may see: `shown` is its row of the student's mask over `slots`."""

    query: int
    length: int
    slots: list[int]
    shown: list

    def seen(self, sees: SeesRule) -> list[int]:
        """The positions that a query sees by a rule, as many times as they are stored."""
        return [one for one in self.slots if sees(one, self.query, len(self.slots))]

    @property
    def got(self) -> list[int]:
        return [one for one, visible in zip(self.slots, self.shown, strict=True) if visible]


def _mask_rows(cache: HeldObject, case: RingCase, length: int) -> list[MaskRow]:
    """The mask of queries around both ends of what is stored."""
    ends = (max(0, end) for end in (length - 2, length - case.window))
    queries = [length - 1, *ends, 0, length, length + case.window - 2]
    got = tensor_in(cache.mask(torch.tensor(queries)), "the mask")
    expect_equal(list(got.shape), [len(queries), case.window], "the shape of the mask")
    expect_equal(str(got.dtype), "torch.bool", "the dtype of the mask")
    slots = slots_of(case, length)
    return [
        MaskRow(query, length, slots, row) for query, row in zip(queries, got.tolist(), strict=True)
    ]


def _expect_mask(rows: list[MaskRow]) -> None:
    """Each row shows the slots of the `window` positions that end with the query's."""
    why = joined(
        sentence
        for sentence, rule in MASK_SLIPS.items()
        if all(row.got == row.seen(rule) for row in rows)
    )
    for row in rows:
        expect_equal(
            sorted(row.got),
            sorted(row.seen(lambda p, q, window: 0 <= p <= q and q - p < window)),
            f"the positions that a query at {row.query} sees after {row.length} tokens",
            why=why,
        )


OPEN_CASES = {
    "RingCache": [
        RingCase(window=4, n_tokens=10, chunks=(6, 2)),
        RingCase(window=5, n_tokens=7, chunks=(12, 3), batch=2, dtype=torch.float16),
    ],
}
