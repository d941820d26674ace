"""The life of a store with layers, append by append, and how its `length` moves.

In each step every layer appends once, in order. `length` moves when the last one has appended.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_number, joined
from labkit.checks.forms import HeldObject, shown_by
from labkit.checks.slips import is_number


@dataclass(frozen=True)
class Append:
    """One layer's append: which step, which layer, what came back, and `length` after it.

    got: the error, if it or the look at `length` raised one.
    """

    step: int
    layer: int
    got: Any
    length: Any

    def expect_no_error(self) -> None:
        """Raises: StudentError if the append or the look at `length` did."""
        if isinstance(self.got, StudentError):
            raise self.got


LengthRule = Callable[[Append, Sequence[int], int], int]


def appends_of(
    student: Student, case: Any, build: Callable[[], HeldObject], steps: Sequence[Tensor]
) -> list[Append]:
    """All appends to a new store, played once for all checks, up to one that raises.

    steps: keys and values of the new tokens of all layers, (2 n_layers B Hkv T D) for each step.
    """

    def play() -> list[Append]:
        turns, calls, appends = [], [], []
        for step, tokens in enumerate(steps):
            for layer, (keys, values) in enumerate(tokens.unbind(1)):
                turns.append((step, layer))
                calls += [("append", layer, keys, values), "length"]
        _, shown = shown_by(build, *calls)
        for turn in turns:
            try:
                appends.append(Append(*turn, next(shown), next(shown)))
            except StudentError as error:
                return [*appends, Append(*turn, error, None)]
        return appends

    return student.once((case, sizes_of(steps)), play)


def sizes_of(steps: Sequence[Tensor]) -> tuple[int, ...]:
    """How many tokens each step appends."""
    return tuple(tokens.shape[-2] for tokens in steps)


def has_lengths(
    appends: Sequence[Append], sizes: Sequence[int], n_layers: int, rule: LengthRule | None = None
) -> bool:
    """Whether `length` moves by a rule after each append; if none is given, as it should."""
    rule = rule or right_length
    lengths = [one for one in appends if not isinstance(one.got, StudentError)]
    return bool(lengths) and all(
        is_number(one.length, rule(one, sizes, n_layers)) for one in lengths
    )


def length_slip(appends: Sequence[Append], sizes: Sequence[int], n_layers: int) -> str:
    """The sentences of the mistakes that give all lengths; "" if they are right."""
    if has_lengths(appends, sizes, n_layers):
        return ""
    return joined(
        sentence
        for sentence, rule in LENGTH_SLIPS.items()
        if has_lengths(appends, sizes, n_layers, rule)
    )


def expect_lengths(
    appends: Sequence[Append], sizes: Sequence[int], n_layers: int, why: str = ""
) -> None:
    """After each append `length` is the number of tokens that all layers have appended."""
    why = why or length_slip(appends, sizes, n_layers)
    for one in appends:
        one.expect_no_error()
        what = f"the length when layer {one.layer} of {n_layers} has appended its part of "
        expected = right_length(one, sizes, n_layers)
        expect_number(one.length, expected, f"{what}step {one.step}", why=why)


def right_length(one: Append, sizes: Sequence[int], n_layers: int) -> int:
    """The tokens that all layers have appended."""
    return sum(sizes[: one.step + (one.layer == n_layers - 1)])


LENGTH_SLIPS: dict[str, LengthRule] = {
    "Every layer moves `length`. Only the last layer may move it.": (
        lambda one, sizes, n_layers: (
            sum(sizes[: one.step]) * n_layers + sizes[one.step] * (one.layer + 1)
        )
    ),
    "The first layer moves `length`. The others do not hold the new tokens yet.": (
        lambda one, sizes, n_layers: sum(sizes[: one.step + 1])
    ),
    "`length` does not move.": lambda one, sizes, n_layers: 0,
}
