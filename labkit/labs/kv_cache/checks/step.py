"""Checks of `forward_cached`.

It is about what depends on the cache: where the new tokens stand, what is appended, and what the
new tokens attend to.

The model, the store and the `rotate` that a step uses are the check's own, handed to the student's
code: a step is judged apart from other exercises, and what is recorded cannot be forged.
"""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, joined
from labkit.checks.core import Wrong, check
from labkit.checks.tensors import expect_tensor, slip_in_tensors
from labkit.labs.kv_cache.checks.handed import Layer, Recorder, StepCase, Turn
from labkit.labs.kv_cache.checks.stored import expect_pair, is_pair
from labkit.models.transformer import causal_mask, masked_attention, turned

_forward = partial(check, "forward_cached", gate=True)


def turns_of(student: Student, case: StepCase) -> list[Turn]:
    """The student's steps over the chunks of a case, played once for all checks."""

    def play() -> list[Turn]:
        recorder = Recorder(case)
        return [
            recorder.play(student, chunk, n_rewound)
            for chunk, n_rewound in zip(case.chunks_of_tokens, case.rewound, strict=True)
        ]

    return student.once(("forward_cached", case), play)


@_forward(hint="Read `cache.length` once, at the beginning. The positions begin there.")
def positions_begin_at_the_length_of_the_cache(student: Student, case: StepCase) -> None:
    """In every layer, queries and keys are rotated by positions that begin at `cache.length`."""
    turns = turns_of(student, case)
    calls = [(turn, *call) for turn in turns for call in turn.rotations]
    why = joined(
        sentence
        for sentence, slip in POSITION_SLIPS.items()
        if all(positions == _row(slip(turn, n_after), turn) for turn, n_after, positions in calls)
    )
    for turn in turns:
        if not turn.rotations:
            what = "the calls of `rotate` in one step"
            raise Wrong(what, expected=f"{2 * case.n_layers}", got="0")
        for _, positions in turn.rotations:
            what = f"the positions of {_new_tokens(turn)} with length {turn.start}"
            is_of_others = len(positions) != turn.n_new
            cause = "Rotate only the new tokens, before you append them." if is_of_others else why
            expect_equal(positions, _row(turn.start, turn), what, why=cause)


def _new_tokens(turn: Turn) -> str:
    return f"{turn.n_new} new token{'s' * (turn.n_new > 1)}"


def _row(start: int, turn: Turn) -> list[int]:
    return list(range(start, start + turn.n_new))


POSITION_SLIPS: dict[str, Callable[[Turn, int], int]] = {
    "The positions begin at 0 again. Those are the prompt's positions.": lambda turn, _: 0,
    "The positions begin one too high. The first new token has position `length`.": (
        lambda turn, _: turn.start + 1
    ),
    "The positions begin one too low. The first new token has position `length`.": (
        lambda turn, _: turn.start - 1
    ),
    "`length` was read after the last layer has moved it. Read it at the beginning.": (
        lambda turn, n_appended: turn.start + turn.n_new * (n_appended == len(turn.layers))
    ),
}


@_forward(hint="Call `cache.append(layer, ...)` once in each block, with the block's number.")
def each_layer_appends_once_in_order(student: Student, case: StepCase) -> None:
    """In each step layer 0, 1, ... append to the cache, once each."""
    turns, n_layers = turns_of(student, case), case.n_layers
    right, got = list(range(n_layers)), [turn.appended for turn in turns]
    slips = {
        "Every layer appends as layer 0.": [0] * n_layers,
        "The layers are counted from 1. Count from 0.": [i + 1 for i in right],
        "The layers are counted from the last one.": right[::-1],
    }
    why = joined(text for text, slip in slips.items() if all(each == slip for each in got))
    for each in got:
        expect_equal(each, right, "the layers that `append` is called with", why=why)


@_forward(hint="Rotate the keys before you append them. Append the values as they are.")
def rotated_keys_and_plain_values_are_appended(student: Student, case: StepCase) -> None:
    """Each layer appends its new keys, rotated by their positions, and its values as they are."""
    layers = [layer for turn in turns_of(student, case) for layer in turn.layers]
    why = joined(
        sentence
        for sentence, slip in APPEND_SLIPS.items()
        if all(is_pair(layer.appended, slip(layer)) for layer in layers)
    )
    for turn in turns_of(student, case):
        for i, layer in enumerate(turn.layers):
            what = f"that layer {i} appends, at positions from {turn.start}"
            expect_pair(layer.appended, layer.turned_keys, layer.values, what, why=why)


def _twice(layer: Layer) -> tuple[Tensor, Tensor]:
    return turned(layer.turned_keys, layer.positions), layer.values


APPEND_SLIPS: dict[str, Callable[[Layer], tuple[Tensor, Tensor]]] = {
    "The keys are not rotated.": lambda layer: (layer.keys, layer.values),
    "The values are rotated, too. Only queries and keys are rotated.": (
        lambda layer: (layer.turned_keys, turned(layer.values, layer.positions))
    ),
    "The values are rotated, and the keys are not.": (
        lambda layer: (layer.keys, turned(layer.values, layer.positions))
    ),
    "Keys and values are exchanged.": lambda layer: (layer.values, layer.turned_keys),
    "The keys are rotated twice.": _twice,
}


@_forward(hint="Attend with rotated queries, to the keys, values and mask that `append` returns.")
def queries_attend_to_what_append_returns(student: Student, case: StepCase) -> None:
    """Each block merges the attention of its rotated queries to all that `append` has returned."""
    turns = turns_of(student, case)
    layers = [layer for turn in turns for layer in turn.layers]
    why = joined(
        sentence
        for sentence, slip in ATTENTION_SLIPS.items()
        if all(slip_in_tensors(layer.merged, {sentence: slip}, layer) for layer in layers)
    )
    for turn in turns:
        for i, layer in enumerate(turn.layers):
            what = f"the attention that block {i} merges, of {_new_tokens(turn)}"
            expect_tensor(layer.merged, layer.attended, what, why=why, tolerance=1e-4)


def _with_mask(make: Callable[[Tensor], Tensor]) -> Callable[[Layer], Tensor]:
    """The attention with another mask than the one that came back."""
    return lambda layer: masked_attention(
        layer.turned_queries, *layer.seen[:2], make(layer.seen[2])
    )


def _among_new(layer: Layer) -> Tensor:
    mask = causal_mask(layer.keys.shape[2])
    return masked_attention(layer.turned_queries, layer.turned_keys, layer.values, mask)


ATTENTION_SLIPS: dict[str, Callable[[Layer], Tensor]] = {
    "The queries are not rotated.": lambda layer: masked_attention(layer.queries, *layer.seen),
    "The queries are rotated twice.": lambda layer: masked_attention(
        turned(layer.turned_queries, layer.positions), *layer.seen
    ),
    "The mask that `append` returns is not used: a query sees all keys.": _with_mask(
        lambda mask: mask | True
    ),
    "The mask is made anew. Use the one that `append` returns: keys may stand in any order.": (
        _with_mask(lambda mask: (mask | True).tril(mask.shape[1] - mask.shape[0]))
    ),
    "The new tokens attend only to themselves. Use the keys that `append` returns.": _among_new,
}


@_forward(
    hint="Call embed first. In each block, call project, append and merge. Call unembed last.",
)
def logits_are_those_of_the_whole_model(student: Student, case: StepCase) -> None:
    """Each block gets what the block before it gives. All new tokens have logits."""
    for turn in turns_of(student, case):
        what = f"the logits of {_new_tokens(turn)} with length {turn.start}"
        why = slip_in_tensors(turn.logits, LOGIT_SLIPS, turn.right_logits)
        expect_tensor(turn.logits, turn.right_logits, what, why=why, tolerance=1e-4)


LOGIT_SLIPS = {
    "Only the last token has logits. Return those of all Q tokens.": lambda right: right[:, -1:],
    "Only the last token has logits, and the axis Q is missing.": lambda right: right[:, -1],
}


OPEN_CASES = {
    "forward_cached": [
        StepCase(chunks=(4,)),
        StepCase(chunks=(3, 1, 1), n_layers=3, rewinds=(0, 1, 0), seed=1),
        StepCase(chunks=(2, 3), batch=2, n_before=5, seed=2),
        StepCase(chunks=(3, 2), is_plain=False, seed=3),
    ],
}
