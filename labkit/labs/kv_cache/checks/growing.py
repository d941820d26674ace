"""Checks of `GrowingCache`.

It is about joining old and new tokens, layer by layer, and about the mask: each new token sees all
that is cached, and no later token. What is not about layers is played with one layer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import hold, hold_item, place_all, values_of
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, expect_number, joined
from labkit.checks.core import NotJudged, check
from labkit.checks.forms import HeldObject
from labkit.checks.tensors import expect_unchanged, tensor_in
from labkit.labs.kv_cache.checks.lengths import Append, appends_of, expect_lengths, length_slip
from labkit.labs.kv_cache.checks.masks import Shown, expect_masks
from labkit.labs.kv_cache.checks.seen import NO_TOKEN, positions_in
from labkit.labs.kv_cache.checks.stored import expect_pair, is_pair, random_tokens, triple_in

RETURNED = "what `append` returns"
NEW_ONLY = "Only the new tokens come back. The cached ones come before them."

_growing = partial(check, "GrowingCache", gate=True)


@dataclass(frozen=True, slots=True)
class GrowingCase:
    """`sizes`: the tokens of each step, which every layer appends."""

    sizes: tuple[int, ...]
    n_layers: int = 2
    batch: int = 1
    n_kv_heads: int = 2
    head_dim: int = 4
    seed: int = 0

    def __str__(self) -> str:
        sizes = " + ".join(map(str, self.sizes))
        heads = f"{self.n_kv_heads} KV head{'s' * (self.n_kv_heads > 1)}"
        layers = f"{self.n_layers} layer{'s' * (self.n_layers > 1)}"
        return f"{sizes} tokens in {layers} with {heads}, batch of {self.batch}"

    @property
    def of_one_layer(self) -> "GrowingCase":
        """The same with one layer, where a step is complete with one append."""
        return replace(self, n_layers=1)

    def build(self, student: Student) -> HeldObject:
        return HeldObject(hold(student.GrowingCache, self.n_layers), ("append",))

    @property
    def steps(self) -> list[Tensor]:
        """Keys and values of all layers for each step: (2 n_layers B Hkv T D)."""
        shapes = [
            (2, self.n_layers, self.batch, self.n_kv_heads, size, self.head_dim)
            for size in self.sizes
        ]
        return [random_tokens(self.seed * 100 + i, *shape) for i, shape in enumerate(shapes)]


def appends_in(student: Student, case: GrowingCase, only: int | None = None) -> list[Append]:
    """All appends of a case, played once for all checks. only: a layer, alone in a cache.

    Raises: StudentError if one of them did.
    """
    alone = case if only is None else case.of_one_layer
    steps = case.steps if only is None else [step[:, only : only + 1] for step in case.steps]
    appends = appends_of(student, (case, only), partial(alone.build, student), steps)
    for one in appends:
        one.expect_no_error()
    return appends


def _slip(appends: list[Append], case: GrowingCase) -> str:
    """The sentence of a mistake that shows in what comes back, in the mask and in `length`."""
    for one in appends:
        of_all = torch.cat(case.steps[: one.step + 1], dim=-2)[0]
        others = [each for layer, each in enumerate(of_all) if layer != one.layer]
        keys = tensor_in(triple_in(one.got, RETURNED)[0], RETURNED)
        is_alike = keys.ndim == 4 and (*keys.shape[:2], keys.shape[3]) == (
            *of_all.shape[1:3],
            of_all.shape[4],
        )
        if others and is_alike and {*positions_in(keys, torch.cat(others, -2))} - {NO_TOKEN}:
            return "Tokens of another layer come back. Each layer has its own."
    if all(is_pair(_pair(one), ORDER_SLIPS[NEW_ONLY](case.steps, one)) for one in appends):
        return NEW_ONLY
    return length_slip(appends, case.sizes, case.n_layers)


def _held(steps: list[Tensor], append: Append) -> Tensor:
    """Keys and values that the layer holds after that append."""
    return torch.cat(steps[: append.step + 1], dim=-2)[:, append.layer]


def _pair(append: Append) -> tuple[Any, Any]:
    return triple_in(append.got, RETURNED)[:2]


@_growing(hint="Join keys, and values, along the token axis with `torch.cat`: cached tokens first.")
def new_tokens_follow_the_cached_ones(student: Student, case: GrowingCase) -> None:
    """`append` returns the cached tokens of the layer and then the new ones."""
    case = case.of_one_layer
    steps, appends = case.steps, appends_in(student, case)
    pairs = [_once_per_head(_pair(one), case.n_kv_heads) for one in appends]
    why = joined(
        sentence
        for sentence, slip in ORDER_SLIPS.items()
        if all(is_pair(pair, slip(steps, one)) for pair, one in zip(pairs, appends, strict=True))
    )
    for pair, one in zip(pairs, appends, strict=True):
        expect_pair(pair, *_held(steps, one), f"that come back in step {one.step}", why=why)


def _once_per_head(pair: tuple[Any, Any], n_kv_heads: int) -> tuple[Any, Any]:
    """One of each repeated head: whether heads are repeated is for another check."""
    parts = [tensor_in(part, RETURNED) for part in pair]
    if any(part.ndim != 4 or part.shape[1] % n_kv_heads for part in parts):
        return pair
    return tuple(part[:, :: max(1, part.shape[1] // n_kv_heads)] for part in parts)


ORDER_SLIPS: dict[str, Callable[[list[Tensor], Append], tuple[Tensor, Tensor]]] = {
    NEW_ONLY: lambda steps, one: tuple(steps[one.step][:, one.layer]),
    "The new tokens stand before the cached ones.": lambda steps, one: tuple(
        torch.cat(steps[one.step :: -1], dim=-2)[:, one.layer]
    ),
    "Keys and values are swapped.": lambda steps, one: tuple(_held(steps, one).flip(0)),
    "Only the newest step was kept for the next one.": lambda steps, one: tuple(
        torch.cat(steps[max(0, one.step - 1) : one.step + 1], dim=-2)[:, one.layer]
    ),
}


@_growing(
    hint="Keep a pair of keys and values for each layer. Use the argument `layer` to find it.",
    applies_to=lambda case: case.n_layers > 1,
)
def each_layer_has_tokens_of_its_own(student: Student, case: GrowingCase) -> None:
    """Among other layers, a layer gets back what it would get back in a cache of its own."""
    appends = appends_in(student, case)
    why = _slip(appends, case)
    for layer in range(case.n_layers):
        of_layer = [one for one in appends if one.layer == layer]
        for one, alone in zip(of_layer, appends_in(student, case, layer), strict=True):
            keys, values = (tensor_in(part, RETURNED) for part in _pair(alone))
            if keys.ndim != 4 or keys.shape[2] != sum(case.sizes[: one.step + 1]):
                raise NotJudged("a cache with one layer does not return all its tokens")
            what = f"that layer {layer} of {case.n_layers} gets back in step {one.step}"
            expect_pair(_pair(one), keys, values, what, why=why)


@_growing(hint="Compare positions: a new token sees those up to its own, which begin at length.")
def a_new_token_sees_no_later_one(student: Student, case: GrowingCase) -> None:
    """In the mask, a new token sees all cached tokens, itself, and the new tokens before it."""
    appends = appends_in(student, case)
    shown = [
        Shown(
            triple_in(one.got, RETURNED)[2],
            sum(case.sizes[: one.step]),
            case.sizes[one.step],
            one.layer == case.n_layers - 1,
        )
        for one in appends
    ]
    expect_masks(shown, why=_slip(appends, case))


@_growing(hint="Change `length` only when the last layer has appended.")
def length_moves_with_the_last_layer(student: Student, case: GrowingCase) -> None:
    """`length` counts tokens, not appends: it moves when the last layer has appended."""
    expect_number(case.build(student).length, 0, "the length of a new cache")
    appends = appends_in(student, case)
    expect_lengths(appends, case.sizes, case.n_layers, why=_slip(appends, case))


@_growing(
    hint="Store keys and values as they come. Do not repeat them for the query heads.",
    weight=0.5,
)
def each_kv_head_is_cached_once(student: Student, case: GrowingCase) -> None:
    """The cache has n_kv_heads heads, not one for each query head."""
    case = case.of_one_layer
    for one in appends_in(student, case):
        for part, name in zip(_pair(one), ("keys", "values"), strict=True):
            got = list(tensor_in(part, RETURNED).shape)
            if len(got) != 4 or got[2] != sum(case.sizes[: one.step + 1]):
                raise NotJudged("`append` does not return all tokens")
            is_more = got[1] > case.n_kv_heads
            why = "`masked_attention` shares each KV head. Heads that are repeated cost memory."
            what = f"the number of heads in the {name}"
            expect_equal(got[1], case.n_kv_heads, what, why=why * is_more)


@_growing(
    hint="Search your code for operations that end in an underscore, for `+=` and for `out=`.",
    weight=0.5,
    applies_to=lambda case: len(case.sizes) > 1,
)
def no_tensor_is_changed(student: Student, case: GrowingCase) -> None:
    """Later appends change nothing that was passed in or returned before."""
    case = case.of_one_layer
    cache, held, before = case.build(student), [], []
    for step, tokens in enumerate(case.steps):
        passed = place_all(student, tokens[:, 0].unbind())
        returned = hold(cache.append, 0, *passed)
        parts = [hold_item(returned, i) for i in range(3)]
        held += [*passed, *parts]
        now = values_of(student, parts)
        if list(tensor_in(now[0], RETURNED).shape)[2:3] != [sum(case.sizes[: step + 1])]:
            raise NotJudged("`append` does not return all tokens")
        before += [*tokens[:, 0].unbind(), *now]
    names = [f"the {name} that {way}" for way in ("were passed in", "came back") for name in PAIR]
    for i, (old, got) in enumerate(zip(before, values_of(student, held), strict=True)):
        step, place = divmod(i, 5)
        what = [*names, "the mask that came back"][place]
        expect_unchanged(got, tensor_in(old, RETURNED), f"{what} in step {step}")


PAIR = ("keys", "values")

OPEN_CASES = {
    "GrowingCache": [
        GrowingCase((3, 1)),
        GrowingCase((2, 3, 1), n_layers=3, batch=2, seed=1),
        GrowingCase((4, 1, 1), n_layers=1, n_kv_heads=1, seed=2),
    ],
}
