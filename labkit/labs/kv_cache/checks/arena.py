"""Checks of `ArenaCache`.

It is about memory that is allocated once: what `append` returns are views of it, through appends
and rewinds. What is not about layers is played with one layer.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import hold, hold_item, values_of
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, expect_number
from labkit.checks.core import check
from labkit.checks.forms import HeldObject, expect_refusal
from labkit.checks.slips import is_number
from labkit.checks.tensors import expect_unchanged, tensor_in
from labkit.labs.kv_cache.checks.lengths import (
    Append,
    appends_of,
    expect_lengths,
    length_slip,
)
from labkit.labs.kv_cache.checks.masks import Shown, expect_masks
from labkit.labs.kv_cache.checks.stored import (
    dtype_if_given,
    expect_pair,
    expect_stored,
    is_pair,
    n_tokens_in,
    random_tokens,
    triple_in,
)

_arena = partial(check, "ArenaCache", gate=True)


@dataclass(frozen=True, slots=True)
class ArenaCase:
    """`life`: tokens appended per step, or, if negative, tokens rewound."""

    life: tuple[int, ...]
    capacity: int
    n_layers: int = 2
    batch: int = 1
    n_kv_heads: int = 2
    head_dim: int = 3
    dtype: torch.dtype = torch.float32
    seed: int = 0

    def __str__(self) -> str:
        steps = ", ".join(f"append {n}" if n > 0 else f"rewind {-n}" for n in self.life)
        return f"an arena for {self.capacity} tokens, {self.n_layers} layers: {steps}"

    @property
    def appends(self) -> tuple[int, ...]:
        """The steps of `life` that append, as many as fit with a place to spare."""
        n_fit = self.capacity - 1
        return tuple(n for n in self.life if n > 0 and (n_fit := n_fit - n) >= 0)

    @property
    def steps(self) -> list[Tensor]:
        """The tokens of `appends`."""
        return [self.step_tokens(step, n_tokens) for step, n_tokens in enumerate(self.appends)]

    @property
    def of_one_layer(self) -> "ArenaCase":
        """The same with one layer, where a step is complete with one append."""
        return replace(self, n_layers=1)

    def build(self, student: Student) -> HeldObject:
        sizes = (self.n_layers, self.batch, self.n_kv_heads, self.head_dim, self.capacity)
        return HeldObject(
            hold(student.ArenaCache, *sizes, **dtype_if_given(self.dtype)), ("append", "rewind")
        )

    def step_tokens(self, step: int, n_tokens: int) -> Tensor:
        """Keys and values of one step for all layers: (2 n_layers B Hkv T D)."""
        shape = (2, self.n_layers, self.batch, self.n_kv_heads, n_tokens, self.head_dim)
        return random_tokens(self.seed * 100 + step, *shape, dtype=self.dtype)


def in_full_precision(case: ArenaCase) -> bool:
    """Whether the case leaves the rounding to others."""
    return case.dtype is torch.float32


def append_step(cache: HeldObject, tokens: Tensor) -> list[Any]:
    """Every layer appends its part, in order; returns what each call returned."""
    layers = enumerate(zip(*tokens, strict=True))
    return cache.in_turn(*(("append", i, keys, values) for i, (keys, values) in layers))


def arenas(cache: HeldObject) -> list[Tensor]:
    """Both arenas as they are now."""
    keys, values = cache.in_turn("keys", "values")
    return [tensor_in(keys, "`keys`"), tensor_in(values, "`values`")]


def appends_in(student: Student, case: ArenaCase) -> list[Append]:
    """All appends of a case, layer by layer, played once for all checks, up to one that raises."""
    return appends_of(student, case, lambda: case.build(student), case.steps)


@_arena(hint="Write at length to length+T of that layer. Return its slices from 0 to length+T.")
def append_returns_everything_cached(student: Student, case: ArenaCase) -> None:
    """`append` returns all that the layer holds, old tokens first, stored in the arena's dtype."""
    appends, steps = appends_in(student, case), case.steps
    slip = length_slip(appends, case.appends, case.n_layers)
    for append in appends:
        append.expect_no_error()
        held = torch.cat(steps[: append.step + 1], dim=-2)[:, append.layer]
        what = f"that layer {append.layer} gets back in step {append.step}"
        keys, values, _ = triple_in(append.got, f"what is returned to layer {append.layer}")
        is_whole = n_tokens_in(append.got) == case.capacity
        why = "That is the whole arena, with its free room." if is_whole else slip
        expect_pair((keys, values), *held, what, why=why)


@_arena(hint="Compare positions: a new token sees those up to its own, which begin at length.")
def the_mask_shows_what_is_not_later(student: Student, case: ArenaCase) -> None:
    """In the mask, a new token sees all cached tokens, itself, and the new tokens before it."""
    appends, shown = appends_in(student, case), []
    for one in appends:
        one.expect_no_error()
        mask = triple_in(one.got, f"what is returned to layer {one.layer}")[2]
        n_past, is_last = sum(case.appends[: one.step]), one.layer == case.n_layers - 1
        shown.append(Shown(mask, n_past, case.appends[one.step], is_last))
    slip = length_slip(appends, case.appends, case.n_layers)
    if case.capacity > 3 and not slip:
        shown.append(Shown(_mask_after_a_rewind(student, case.of_one_layer), 1, 2))
    expect_masks(shown, why=slip)


def _mask_after_a_rewind(student: Student, case: ArenaCase) -> Any:
    """The mask of two tokens after one that a rewind has left of two."""
    cache, tokens = case.build(student), [case.step_tokens(i, 2)[:, 0] for i in range(2)]
    got = cache.in_turn(*(("append", 0, *tokens[0]), ("rewind", 1), ("append", 0, *tokens[1])))
    return triple_in(got[2], "what `append` returns after a rewind")[2]


@_arena(hint="Change `length` only when the last layer has appended.")
def length_moves_once_per_step(student: Student, case: ArenaCase) -> None:
    """`length` counts tokens, not appends: it moves when the last layer has appended."""
    expect_number(case.build(student).length, 0, "the length of a new cache")
    expect_lengths(appends_in(student, case), case.appends, case.n_layers)


@_arena(
    hint="Return slices of the arena, never a copy. Allocate only in __init__.",
    applies_to=in_full_precision,
)
def views_show_the_arena_itself(student: Student, case: ArenaCase) -> None:
    """`append` returns views of the arena's own memory, and the arena is never replaced."""
    shape = (case.n_layers, case.batch, case.n_kv_heads, case.capacity, case.head_dim)
    for arena, name in zip(arenas(case.build(student)), ("keys", "values"), strict=True):
        expect_equal(list(arena.shape), list(shape), f"the shape of the arena `{name}`")
    case = case.of_one_layer
    cache, n_tokens = case.build(student), case.appends[0]
    before, after = case.step_tokens(0, n_tokens), case.step_tokens(1, n_tokens)
    arenas_at_first = [cache.held(name) for name in ("keys", "values")]
    returned = hold(cache.append, 0, before[0, 0], before[1, 0])
    views = [hold_item(returned, i) for i in (0, 1)]
    cache.rewind(n_tokens)
    expect_number(cache.length, 0, f"the length after {n_tokens} tokens and rewind({n_tokens})")
    append_step(cache, after)
    shown, why = values_of(student, views), ""
    if is_pair(shown, before[:, 0]):
        why = "It does not show later writes. It is a copy, or the arena was replaced."
    where = "in a view taken before a rewind and an append in the same place"
    expect_pair(shown, *after[:, 0], where, why=why)
    for arena, appended, name in zip(
        values_of(student, arenas_at_first), after, ("keys", "values"), strict=True
    ):
        expect_stored(
            tensor_in(arena, f"`{name}`")[..., :n_tokens, :],
            appended,
            f"what lies in the arena `{name}` that was made in __init__",
        )


@_arena(hint="Subtract n_tokens from `length`. Change nothing else.")
def rewind_moves_only_the_pointer(student: Student, case: ArenaCase) -> None:
    """`rewind` lowers `length` and touches no number in the arena."""
    case = case.of_one_layer
    cache, n_tokens = case.build(student), case.appends[0]
    append_step(cache, case.step_tokens(0, n_tokens))
    before = arenas(cache)
    length_before, _, length = cache.in_turn("length", ("rewind", n_tokens - 1), "length")
    expect_number(length_before, n_tokens, f"the length after {n_tokens} tokens")
    what = f"the length after {n_tokens} tokens and rewind({n_tokens - 1})"
    slips = {n_tokens - 1: "rewind(n) takes n tokens off. It does not leave n tokens."}
    expect_number(length, 1, what, slips=slips if _leaves_one(student, case) else {})
    cache.rewind(1)
    why = "Forgotten tokens stay where they are until others are written over them."
    for got, old in zip(arenas(cache), before, strict=True):
        expect_unchanged(got, old, "the arena after a rewind", why=why)


def _leaves_one(student: Student, case: ArenaCase) -> bool:
    """Whether rewind(1) leaves one of many tokens."""
    cache = case.build(student)
    append_step(cache, case.step_tokens(0, case.capacity - 1))
    cache.rewind(1)
    return is_number(cache.length, 1)


@_arena(
    hint="Begin the next append at the new length. Return nothing beyond it.",
    weight=2,
    applies_to=in_full_precision,
)
def a_life_of_appends_and_rewinds_equals_concatenation(student: Student, case: ArenaCase) -> None:
    """Through appends and rewinds every layer holds what a concatenating cache would hold."""
    cache, held = case.build(student), case.step_tokens(0, 0)
    for step, n_tokens in enumerate(case.life):
        if n_tokens <= 0:
            cache.rewind(-n_tokens)
            held = held[..., : held.shape[-2] + n_tokens, :]
            continue
        tokens = case.step_tokens(step, n_tokens)
        held = torch.cat([held, tokens], dim=-2)
        for layer, got in enumerate(append_step(cache, tokens)):
            what = f"of layer {layer} after operation {step}"
            keys, values, _ = triple_in(got, f"what layer {layer} gets back")
            why = _what_is_there(got, held.shape[-2])
            expect_pair((keys, values), *held[:, layer], what, why=why)


def _what_is_there(got: Any, n_held: int) -> str:
    """Whether there are more or fewer tokens than are held."""
    n_tokens = n_tokens_in(got)
    if n_tokens in (None, n_held):
        return ""
    return f"There are too {'many' if n_tokens > n_held else 'few'} tokens."


@_arena(hint="Compare with the capacity before you write. Raise ValueError.", gate=False)
def a_full_arena_refuses_and_keeps_what_it_has(student: Student, case: ArenaCase) -> None:
    """An append that does not fit raises ValueError and changes nothing; a full arena is fine."""
    layered, case = case, case.of_one_layer
    cache, n_tokens = case.build(student), case.capacity - 1
    append_step(cache, case.step_tokens(0, n_tokens))
    before = arenas(cache)
    too_many = case.step_tokens(1, 2)
    expect_refusal(
        lambda: append_step(cache, too_many),
        "ValueError",
        f"appending 2 tokens with {n_tokens} of {case.capacity} cached",
    )
    slips = {case.capacity: "The tokens that fit were counted. Compare before you write."}
    expect_number(cache.length, n_tokens, "the length after a refused append", slips=slips)
    for got, old in zip(arenas(cache), before, strict=True):
        expect_unchanged(got, old, "the arena after a refused append")
    append_step(cache, case.step_tokens(2, 1))
    expect_number(cache.length, case.capacity, "the length of an arena filled to the last token")
    for n_tokens in (layered.capacity + 1, 2 * layered.capacity):
        keys, values = layered.step_tokens(3, n_tokens)[:, 0]
        expect_refusal(
            lambda first=(keys, values): layered.build(student).append(0, *first),
            "ValueError",
            f"appending {n_tokens} tokens to {layered.n_layers} layers of {layered.capacity}",
        )


@_arena(hint="Raise ValueError if n_tokens is negative or above length.", gate=False)
def a_rewind_out_of_range_is_refused(student: Student, case: ArenaCase) -> None:
    """`rewind` accepts 0 to `length` tokens. Any other number raises ValueError."""
    case = case.of_one_layer
    cache, n_tokens = case.build(student), case.appends[0]
    append_step(cache, case.step_tokens(0, n_tokens))
    whys = {n_tokens + 1: "There are not so many tokens.", -1: "A rewind only goes back."}
    for n_rewound, why in whys.items():
        what = f"rewind({n_rewound}) with {n_tokens} tokens cached"
        expect_refusal(lambda n=n_rewound: cache.rewind(n), "ValueError", what, why=why)
        expect_number(cache.length, n_tokens, f"the length after the refused {what}")
    cache.rewind(n_tokens)
    expect_number(cache.length, 0, "the length after everything was rewound")
    cache.rewind(0)
    expect_refusal(lambda: cache.rewind(1), "ValueError", "rewind(1) of an empty arena")


OPEN_CASES = {
    "ArenaCache": [
        ArenaCase(life=(3, 1, -2, 0, 2, 1, -4, 3), capacity=8),
        ArenaCase(life=(2, -1, 3), capacity=5, n_layers=3, batch=2, dtype=torch.bfloat16),
    ],
}
