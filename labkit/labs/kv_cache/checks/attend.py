"""Checks of `attend_cached`.

It is about the mask: each new token sees all that is cached, and no later token.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from labkit.bridge.requests import place_all, values_of
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, joined
from labkit.checks.core import check
from labkit.checks.forms import pair_in
from labkit.checks.tensors import (
    FULL_PRECISION_TOLERANCE,
    TOLERANCE,
    expect_tensor,
    slip_in_tensors,
    tensor_in,
)
from labkit.labs.kv_cache.checks.stored import expect_pair, is_pair, random_tokens
from labkit.models.transformer import causal_mask, masked_attention

_attend = partial(check, "attend_cached", gate=True)


def attention_by_hand(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention of the last queries of a sequence, one by one: each ignores later tokens."""
    n_query, found = queries.shape[2], torch.empty_like(queries)
    for i in range(n_query):
        n_seen = keys.shape[2] - n_query + 1 + i
        parts = (queries[:, :, i : i + 1], keys[:, :, :n_seen], values[:, :, :n_seen])
        sees_all = torch.ones(1, n_seen, dtype=torch.bool)
        found[:, :, i : i + 1] = masked_attention(*parts, sees_all)
    return found


@dataclass(frozen=True, slots=True)
class AttendCase:
    """New tokens that attend to cached ones and to themselves."""

    n_past: int
    n_query: int
    n_heads: int = 2
    n_kv_heads: int = 2
    head_dim: int = 4
    batch: int = 1
    seed: int = 0

    def __str__(self) -> str:
        return (
            f"{self.n_query} new tokens after {self.n_past} cached, {self.n_heads} query heads on "
            f"{self.n_kv_heads} KV heads, batch of {self.batch}"
        )

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor] | None]:
        """queries, keys, values and past, as they are passed to `attend_cached`."""
        n_key, seed = self.n_past + self.n_query, self.seed * 10
        queries = random_tokens(seed, self.batch, self.n_heads, self.n_query, self.head_dim)
        keys, values = random_tokens(seed + 1, 2, self.batch, self.n_kv_heads, n_key, self.head_dim)
        past = (keys[:, :, : self.n_past], values[:, :, : self.n_past]) if self.n_past else None
        return queries, keys[:, :, self.n_past :], values[:, :, self.n_past :], past

    def everything(self) -> tuple[Tensor, Tensor]:
        """Keys and values of cached and new tokens, in order."""
        _, keys, values, past = self.tensors()
        if past is None:
            return keys, values
        return torch.cat((past[0], keys), 2), torch.cat((past[1], values), 2)


@_attend(
    hint="Concatenate keys, and values, along the token axis: cached tokens first.",
    applies_to=lambda case: case.n_heads == case.n_kv_heads,
)
def new_keys_follow_the_cached_ones(student: Student, case: AttendCase) -> None:
    """The cache that comes back holds the cached tokens and then the new ones."""
    _, cache = pair_in(student.attend_cached(*case.tensors()), "what attend_cached returns")
    _, keys, values, _ = case.tensors()
    right = case.everything()
    slips = {
        "Only the new tokens are in it.": (keys, values),
        "The new tokens stand before the cached ones.": _new_first(*right, case.n_query),
        "Keys and values are swapped.": right[::-1],
    }
    why = joined(sentence for sentence, pair in slips.items() if is_pair(cache, pair))
    expect_pair(cache, *right, "of the new cache", why=why)


@_attend(
    hint="For each new token, take the row of the causal mask at its position in the sequence.",
)
def queries_see_the_past_and_not_their_future(student: Student, case: AttendCase) -> None:
    """Each new token attends to all cached tokens, to itself, and to no later token."""
    attended, _ = pair_in(student.attend_cached(*case.tensors()), "what attend_cached returns")
    queries, what = case.tensors()[0], "the output of the attention"
    expected = attention_by_hand(queries, *case.everything())
    why = joined(_fitting(student, case))
    if getattr(attended, "dtype", None) in TOLERANCE and not why:
        expect_tensor(attended, expected, what)
        why = f"It was computed in {attended.dtype}, which rounds it; the queries are float32."
    expect_tensor(attended, expected, what, why=why, tolerance=FULL_PRECISION_TOLERANCE)


def _fitting(student: Student, case: AttendCase) -> list[str]:
    """The sentences of the slips that give the student's output on this and all open cases."""
    fitting = list(SLIPS)
    for each in (case, *OPEN_CASES["attend_cached"]) if fitting else ():
        attended, _ = pair_in(student.attend_cached(*each.tensors()), "what attend_cached returns")
        parts = each.tensors()[0], *each.everything()
        fitting = [one for one in fitting if slip_in_tensors(attended, {one: SLIPS[one]}, *parts)]
    return fitting


def _masked_by(rule: Callable[[Tensor, Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """Attention with the mask rule(rows, columns, n_past): rows are indices of new tokens."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        n_query, n_key = queries.size(2), keys.size(2)
        rows, columns = torch.arange(n_query)[:, None], torch.arange(n_key)
        mask = rule(rows, columns, n_key - n_query).expand(n_query, n_key)
        return masked_attention(queries, keys, values, mask)

    return attend


def _new_only(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    n_query = queries.shape[2]
    new = (part[:, :, -n_query:] for part in (keys, values))
    return masked_attention(queries, *new, causal_mask(n_query))


def _in_turns(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    group_size = queries.shape[1] // keys.shape[1]
    tiled = (part.repeat(1, group_size, 1, 1) for part in (keys, values))
    return attention_by_hand(queries, *tiled)


def _new_first(keys: Tensor, values: Tensor, n_new: int) -> tuple[Tensor, Tensor]:
    return keys.roll(n_new, 2), values.roll(n_new, 2)


def _masked_in_other_order(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return attention_by_hand(queries, *_new_first(keys, values, queries.shape[2]))


def _unscaled(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return attention_by_hand(queries * queries.shape[-1] ** 0.5, keys, values)


SLIPS = {
    "The cached tokens were not attended to.": _new_only,
    "There is no mask: the new tokens see those that come after them.": _masked_by(
        lambda rows, columns, n_past: columns >= 0
    ),
    "The mask has the rows of tokens 0, 1, ... These belong to cached tokens.": _masked_by(
        lambda rows, columns, n_past: columns <= rows
    ),
    "A new token does not see itself.": _masked_by(
        lambda rows, columns, n_past: columns <= (rows + n_past - 1).clamp(min=0)
    ),
    "The new tokens come first among the keys, but last in the mask.": (_masked_in_other_order),
    "The query heads take the KV heads in turn. Consecutive query heads share one.": _in_turns,
    "The scores are not divided by the square root of head_dim.": _unscaled,
}


@_attend(
    hint="Store keys and values as they come. Do not repeat them for the query heads.",
    weight=0.5,
    applies_to=lambda case: case.n_heads > case.n_kv_heads,
)
def heads_are_cached_once_per_group(student: Student, case: AttendCase) -> None:
    """With grouped queries the cache has n_kv_heads heads, not n_heads."""
    _, cache = pair_in(student.attend_cached(*case.tensors()), "what attend_cached returns")
    for part, name in zip(pair_in(cache, "the cache"), ("keys", "values"), strict=True):
        got = list(tensor_in(part, f"the {name}").shape)[1:2]
        why = "Heads repeated before caching make the cache group_size times too large."
        expect_equal(
            got,
            [case.n_kv_heads],
            f"the number of heads in the cached {name}",
            why=why * (got == [case.n_heads]),
        )


@_attend(
    hint="Search your code for operations that end in an underscore, and for `x *= ...`.",
    weight=0.5,
)
def nothing_passed_in_is_changed(student: Student, case: AttendCase) -> None:
    """Queries, keys, values and the past are the same numbers after the call."""
    queries, keys, values, past = case.tensors()
    parts = [queries, keys, values, *(past or ())]
    placed = place_all(student, parts)
    got = student.attend_cached(*placed[:3], (placed[3], placed[4]) if past else None)
    what = "the output of the attention"
    attended = tensor_in(pair_in(got, "what attend_cached returns")[0], what)
    expect_equal(list(attended.shape), list(queries.shape), f"the shape of {what}")
    names = ("queries", "keys", "values", "cached keys", "cached values")
    for part, after, name in zip(parts, values_of(student, placed), names, strict=False):
        expect_tensor(after, part, f"the {name} after the call", tolerance=1e-7)


OPEN_CASES = {
    "attend_cached": [
        AttendCase(n_past=0, n_query=3),
        AttendCase(n_past=5, n_query=1, seed=1),
        AttendCase(n_past=3, n_query=4, batch=2, seed=2),
        AttendCase(n_past=4, n_query=2, n_heads=4, n_kv_heads=2, seed=3),
    ],
}
