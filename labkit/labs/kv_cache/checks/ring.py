"""Checks of `RingCache`.

It is about the window: each new token sees its own, and the newest tokens lie in their slots. What
is not about layers is played with one layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import torch
from torch import Tensor

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, expect_number, joined
from labkit.checks.core import check
from labkit.checks.forms import HeldObject
from labkit.checks.tensors import tensor_in
from labkit.labs.kv_cache.checks.lengths import (
    Append,
    appends_of,
    expect_lengths,
    has_lengths,
    length_slip,
    right_length,
)
from labkit.labs.kv_cache.checks.seen import (
    NO_TOKEN,
    Row,
    expect_windows,
    positions_in,
    rows_in,
)
from labkit.labs.kv_cache.checks.slips import SLOT_SLIPS, SlotRule, in_slots
from labkit.labs.kv_cache.checks.stored import dtype_if_given, random_tokens

_ring = partial(check, "RingCache", gate=True)
Chunks = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RingCase:
    """`n_tokens` tokens arrive one at a time; or in `chunks`, the first longer than the window
    and the next one ending before the last slot or there."""

    window: int
    n_tokens: int
    chunks: Chunks
    n_layers: int = 2
    batch: int = 1
    n_kv_heads: int = 2
    head_dim: int = 3
    dtype: torch.dtype = torch.float32
    seed: int = 0

    def __str__(self) -> str:
        return (
            f"a ring of {self.window} slots, {self.n_layers} layers, {self.n_tokens} tokens, or "
            f"chunks of {self.chunks}"
        )

    @property
    def crossing(self) -> Chunks:
        """Chunks of which the second goes over the end of the ring; none is longer than it."""
        return max(1, self.window - 1), min(2, self.window), min(3, self.window)

    @property
    def short_chunks(self) -> tuple[Chunks, ...]:
        """Chunks that end with one of any length; none is longer than the window before that."""
        first, last = min(2, self.window), (self.window + 1, self.chunks[0])
        full = (self.window, first), (self.window, self.window)
        return self.crossing, *full, *((first, n) for n in last)

    @property
    def long_chunks(self) -> tuple[Chunks, ...]:
        """Chunks with a longer one than the window, or one as long, at once and after others."""
        return self.chunks, (self.window + 1, 1), (2, self.window + 1), (1, self.window)

    @property
    def of_one_layer(self) -> "RingCase":
        """The same with one layer, where a step is complete with one append."""
        return replace(self, n_layers=1)

    def build(self, student: Student) -> HeldObject:
        sizes = (self.n_layers, self.batch, self.n_kv_heads, self.head_dim, self.window)
        return HeldObject(
            hold(student.RingCache, *sizes, **dtype_if_given(self.dtype)), ("append",)
        )

    def tokens(self, n_tokens: int) -> Tensor:
        """Keys and values of a whole sequence: (2 n_layers B Hkv n_tokens D)."""
        shape = (2, self.n_layers, self.batch, self.n_kv_heads, n_tokens, self.head_dim)
        return random_tokens(self.seed, *shape, dtype=self.dtype)


def has_layers(case: RingCase) -> bool:
    """Whether there are layers to tell apart."""
    return case.n_layers > 1


def appends_in(student: Student, case: RingCase, chunks: Chunks) -> list[Append]:
    """All appends of a sequence in chunks, to all layers."""
    steps = case.tokens(sum(chunks)).split(chunks, dim=-2)
    return appends_of(student, case, lambda: case.build(student), steps)


def rows_of(
    student: Student, case: RingCase, chunks: Chunks, layer: int = 0, when: str = ""
) -> list[Row]:
    """What each token sees of a sequence in chunks, in one layer."""
    rows, ends = [], list(accumulate(chunks))
    for one in appends_in(student, case, chunks):
        one.expect_no_error()
        if one.layer == layer:
            tokens, end = case.tokens(ends[-1])[:, layer], ends[one.step]
            place = f"after chunks of {chunks[: one.step + 1]}{when}"
            rows += rows_in(one.got, tokens, end - chunks[one.step], end, place)
    return rows


@_ring(hint="Return the old keys that are in the window, and the new one. Hide empty slots.")
def a_new_token_sees_its_window(student: Student, case: RingCase) -> None:
    """Token by token, each new token sees itself and the `window` - 1 tokens before it."""
    case = case.of_one_layer
    rows = rows_of(student, case, (1,) * case.n_tokens)
    expect_windows(rows, case.window, "when it is appended alone")


@_ring(hint="Read the old keys before you write. Hide keys that are later, or too old.")
def each_token_of_a_chunk_sees_its_window(student: Student, case: RingCase) -> None:
    """In a chunk, each token sees its own window, also keys that lose their slot to the chunk."""
    case = case.of_one_layer
    rows = [
        row
        for chunks in case.short_chunks
        for row in rows_of(student, case, chunks)
        if row.end - row.start > 1
    ]
    expect_windows(rows, case.window, "in a chunk")


def slots_after(student: Student, case: RingCase, chunks: Chunks) -> list[list[list[int]]]:
    """For each layer the positions of the tokens whose keys, and whose values, lie in the slots."""
    cache, tokens = case.build(student), case.tokens(sum(chunks))
    steps = tokens.split(chunks, dim=-2)
    calls = [("append", i, *part[:, i]) for part in steps for i in range(case.n_layers)]
    shown = cache.in_turn(*calls, "keys", "values")[-2:]
    found: list[list[list[int]]] = [[] for _ in range(case.n_layers)]
    for part, of, name in zip(shown, tokens, ("keys", "values"), strict=True):
        stored, shape = tensor_in(part, f"`{name}`"), list(of.shape)
        n_slots = list(stored.shape)[3:4]
        expect_equal(list(stored.shape), [*shape[:3], *n_slots, shape[4]], f"the shape of `{name}`")
        expect_equal(str(stored.dtype), str(of.dtype), f"the dtype of `{name}`")
        for i in range(case.n_layers):
            found[i].append(positions_in(stored[i], of[i]))
    return found


def expect_slots(student: Student, case: RingCase, plans: Sequence[Chunks]) -> None:
    """After each of these sequences the newest tokens lie in the slots of a ring of one layer."""
    found = [slots_after(student, case, chunks)[0] for chunks in plans]
    why = _slot_slip(found, plans, case.window)
    for chunks, both in zip(plans, found, strict=True):
        right = in_slots(case.window, chunks)
        filled = [slot for slot, position in enumerate(right) if position != NO_TOKEN]
        for name, got in zip(("keys", "values"), both, strict=True):
            what = f"the positions whose {name} lie in slots {filled} after chunks of {chunks}"
            none = f" ({NO_TOKEN}: of no token)" * (NO_TOKEN in got)
            held = [got[slot] if slot < len(got) else NO_TOKEN for slot in filled]
            expect_equal(held, [right[slot] for slot in filled], f"{what}{none}", why=why)


def _slot_slip(found: list, plans: Sequence[Chunks], window: int) -> str:
    """The sentences of the mistakes that leave what is found in all slots, keys and values."""

    def gives(rule: SlotRule) -> bool:
        return found == [[rule(window, chunks)] * 2 for chunks in plans]

    return joined(
        sentence
        for sentence, rules in SLOT_SLIPS.items()
        if any(map(gives, rules)) and not gives(in_slots)
    )


@_ring(hint="Write keys and values of position p to slot p % window, and allocate no other slots.")
def the_newest_tokens_lie_in_their_slots(student: Student, case: RingCase) -> None:
    """The token at position p lies in slot p % window, also if its chunk crosses the end."""
    case = case.of_one_layer
    cache = case.build(student)
    for name, arena in zip(("keys", "values"), cache.in_turn("keys", "values"), strict=True):
        n_slots = list(tensor_in(arena, f"`{name}`").shape)[3:4]
        expect_equal(n_slots, [case.window], f"the number of slots in `{name}`")
    single = [(1,) * n for n in range(1, case.n_tokens + 1)]
    crossing = [case.crossing[:n] for n in range(1, len(case.crossing) + 1)]
    expect_slots(student, case, [*single, *crossing])


@_ring(hint="Leave out the tokens that would be replaced, but count them.")
def a_long_prompt_leaves_its_newest_tokens(student: Student, case: RingCase) -> None:
    """Of a chunk longer than the window, the newest tokens remain, and the next tokens see them."""
    case = case.of_one_layer
    expect_slots(student, case, case.long_chunks)
    plans = (case.chunks[0], 1), (case.window + 1, 1)
    rows = [rows_of(student, case, chunks)[-1] for chunks in plans]
    expect_windows(rows, case.window, "after a long prompt")


@_ring(hint="Read and write `self.keys[layer]` and `self.values[layer]`.", applies_to=has_layers)
def each_layer_has_its_own_tokens(student: Student, case: RingCase) -> None:
    """Each of several layers sees and stores its own tokens, as a ring of one layer does."""
    alone = case.of_one_layer
    for chunks in (case.crossing, (1,) * (case.window + 2)):
        appends = appends_in(student, case, chunks)
        cause = length_slip(appends, chunks, case.n_layers)
        right = [row.seen for row in rows_of(student, alone, chunks)]
        for layer in range(case.n_layers):
            rows = rows_of(student, case, chunks, layer, f", in layer {layer}")
            why = cause or _other_layer(appends, case, chunks, layer)
            for row, seen in zip(rows, right, strict=True):
                what = f"that the token at position {row.query} sees in layer {layer} of "
                beside = f"{case.n_layers}, beside those in a ring of one layer"
                for got, expected, name in zip(row.seen, seen, ("keys", "values"), strict=True):
                    parts = f"the positions of the {name} {what}{beside}"
                    expect_equal(got, expected, parts, why=why)
        stored = slots_after(student, alone, chunks)[0]
        for layer, got in enumerate(slots_after(student, case, chunks)):
            what = f"the positions of the keys and values in the slots of layer {layer}"
            expect_equal(got, stored, f"{what}, beside those in a ring of one layer", why=cause)


def _other_layer(appends: list[Append], case: RingCase, chunks: Chunks, layer: int) -> str:
    """The sentence if something that comes back in the last step is of another layer."""
    last, ends = [one for one in appends if one.layer == layer][-1], list(accumulate(chunks))
    for other in {*range(case.n_layers)} - {layer}:
        tokens = case.tokens(ends[-1])[:, other]
        rows = rows_in(last.got, tokens, ends[-2], ends[-1], "")
        if any(position != NO_TOKEN for row in rows for position in (*row.keys, *row.values)):
            return "A layer sees the tokens of another layer."
    return ""


@_ring(hint="Add T to `length` when the last layer has appended, also if T is above the window.")
def length_counts_all_tokens(student: Student, case: RingCase) -> None:
    """`length` counts every token once: it moves when the last layer has appended."""
    expect_number(case.build(student).length, 0, "the length of a new ring")
    for chunks in (case.chunks, case.crossing):
        appends = appends_in(student, case, chunks)
        kept = [min(n, case.window) for n in chunks]
        is_short = kept != [*chunks] and has_lengths(appends, kept, case.n_layers)
        why = "The tokens of a long chunk that left the window are not counted." * is_short
        if has_lengths(appends, chunks, case.n_layers, partial(_filled, case.window)):
            why = why or "`length` is the number of filled slots. Count all tokens."
        expect_lengths(appends, chunks, case.n_layers, why)


def _filled(window: int, one: Append, sizes: Chunks, n_layers: int) -> int:
    """The slots that hold a token."""
    return min(window, right_length(one, sizes, n_layers))


OPEN_CASES = {
    "RingCache": [
        RingCase(window=4, n_tokens=10, chunks=(6, 2)),
        RingCase(window=5, n_tokens=7, chunks=(12, 3), n_layers=3, batch=2, dtype=torch.float16),
    ],
}
