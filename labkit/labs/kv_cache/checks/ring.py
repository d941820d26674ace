"""Checks of `RingCache`."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Student, hold
from labkit.checks.compare import expect_equal, tensor_in
from labkit.checks.core import check
from labkit.checks.forms import Store
from labkit.labs.kv_cache.checks.stored import expect_stored, random_tokens


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

    def build(self, student: Student) -> Store:
        sizes = (self.batch, self.n_kv_heads, self.head_dim, self.window)
        return Store(hold(student.RingCache, *sizes, dtype=self.dtype), ("append", "mask"))

    def tokens(self, n_tokens: int) -> Tensor:
        """Keys and values of a whole sequence: (2 B Hkv n_tokens D)."""
        shape = (2, self.batch, self.n_kv_heads, n_tokens, self.head_dim)
        return random_tokens(self.seed, *shape, dtype=self.dtype)


def append_in_chunks(cache: Store, tokens: Tensor, chunks: tuple[int, ...]) -> None:
    """Append a sequence in pieces of these lengths."""
    parts = zip(*(part.split(chunks, dim=2) for part in tokens), strict=True)
    cache.in_turn(*(("append", *part) for part in parts))


STATE = ("positions", "keys", "values")


def state_of(cache: Store) -> dict[str, Any]:
    """What the ring shows."""
    return dict(zip(STATE, cache.in_turn(*STATE), strict=True))


def expect_newest(state: dict[str, Any], case: RingCase, tokens: Tensor, when: str) -> None:
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


@check("RingCache", hint="Slot = position % window; an empty slot has position -1.")
def positions_name_the_token_in_each_slot(student: Student, case: RingCase) -> None:
    """`positions` says which token lies in each slot, -1 for none, after every token."""
    for n_tokens, state in enumerate(decoded_token_by_token(student, case)):
        what = f"the positions after {n_tokens} tokens"
        expect_equal(state["positions"], slots_of(case, n_tokens), what)


@check("RingCache", hint="Keys and values of one token go to the same slot.")
def decoding_past_the_end_keeps_the_window(student: Student, case: RingCase) -> None:
    """Token by token, the ring holds the keys and values that a sliding window sees."""
    tokens = case.tokens(case.n_tokens)
    for n_tokens, state in enumerate(decoded_token_by_token(student, case)[1:], start=1):
        expect_newest(state, case, tokens[..., :n_tokens, :], f"after {n_tokens}")


@check("RingCache", hint="Where does the second half of a chunk go when the first reaches the end?")
def a_chunk_may_cross_the_end(student: Student, case: RingCase) -> None:
    """A chunk that reaches the last slot continues in the first, over the oldest tokens."""
    cache, chunks = case.build(student), (case.window - 1, 2, 3)
    tokens = case.tokens(sum(chunks))
    append_in_chunks(cache, tokens, chunks)
    expect_newest(state_of(cache), case, tokens, f"after chunks of {chunks}")


@check("RingCache", hint="Drop what will be overwritten; where does the first kept token stand?")
def a_long_prompt_leaves_its_newest_tokens(student: Student, case: RingCase) -> None:
    """Of a chunk longer than the window the newest tokens remain, each in its slot."""
    cache, tokens = case.build(student), case.tokens(sum(case.chunks))
    append_in_chunks(cache, tokens, case.chunks)
    expect_newest(state_of(cache), case, tokens, f"after chunks of {case.chunks}")


@check("RingCache", hint="Three conditions: filled, not later than the query, not too old for it.")
def the_mask_shows_the_window(student: Student, case: RingCase) -> None:
    """A query sees filled slots of its past, itself included, `window` positions in all."""
    tokens, n_first = case.tokens(case.n_tokens), case.window - 1
    for length in (n_first, case.n_tokens):
        cache = case.build(student)
        append_in_chunks(cache, tokens[..., :length, :], (n_first, *[1] * (length - n_first)))
        queries = [length - 1, length - 2, length, length + case.window - 2]
        got = tensor_in(cache.mask(torch.tensor(queries)), "the mask")
        expect_equal(list(got.shape), [len(queries), case.window], "the shape of the mask")
        expect_equal(str(got.dtype), "torch.bool", "the dtype of the mask")
        for row, query in zip(got.tolist(), queries, strict=True):
            _expect_seen(case, length, query, row)


def _expect_seen(case: RingCase, length: int, query: int, row: list) -> None:
    """One row of the mask shows the slots of the `window` positions that end with the query's."""
    slots = slots_of(case, length)
    in_window = range(max(0, query - case.window + 1), query + 1)
    seen = [slots[i] for i, visible in enumerate(row) if visible]
    expect_equal(
        sorted(seen),
        sorted(position for position in slots if position in in_window),
        f"the positions that a query at position {query} sees after {length} tokens",
        why="-1 is an empty slot." if -1 in seen else "",
    )


OPEN_CASES = {
    "RingCache": [
        RingCase(window=4, n_tokens=10, chunks=(6, 2)),
        RingCase(window=5, n_tokens=7, chunks=(12, 3), batch=2, dtype=torch.float16),
    ],
}
