"""Checks of `rotate`.

It is about which numbers form a pair, and by which angle each pair is turned.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import pi
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import place, value_of
from labkit.bridge.student import Student
from labkit.checks.compare import joined
from labkit.checks.core import NotJudged, Wrong, check
from labkit.checks.tensors import (
    FULL_PRECISION_TOLERANCE,
    TOLERANCE,
    expect_tensor,
    expect_unchanged,
    slip_in_tensors,
    tensor_in,
)
from labkit.labs.kv_cache.checks.stored import random_tokens
from labkit.models.transformer import turned

BASE = 10_000.0
WHAT = "the rotated numbers"

_rotate = partial(check, "rotate", gate=True)


@dataclass(frozen=True, slots=True)
class RotateCase:
    """Vectors of tokens at some positions. base: None leaves it out."""

    positions: tuple[int, ...]
    head_dim: int = 8
    base: float | None = None
    dtype: torch.dtype = torch.float32
    n_heads: int = 2
    batch: int = 1
    seed: int = 0

    def __str__(self) -> str:
        base = "" if self.base is None else f", base {self.base:,.0f}"
        return (
            f"positions {', '.join(map(str, self.positions))} and head_dim {self.head_dim}{base}, "
            f"{self.dtype}, batch of {self.batch}"
        )

    @property
    def kind(self) -> str:
        if self.dtype is not torch.float32:
            return "half"
        if self.base is not None:
            return "base"
        return "first" if self.positions == tuple(range(len(self.positions))) else "positions"

    @property
    def x(self) -> Tensor:
        shape = (self.batch, self.n_heads, len(self.positions), self.head_dim)
        return random_tokens(self.seed, *shape, dtype=self.dtype)

    @property
    def arguments(self) -> tuple:
        """What `rotate` gets."""
        base = () if self.base is None else (self.base,)
        return (self.x, torch.tensor(self.positions), *base)

    def expected(self) -> Tensor:
        return turned(self.x, torch.tensor(self.positions), self.base or BASE)


def _expect_turned(student: Student, case: RotateCase, tolerance: float) -> None:
    got, right = student.rotate(*case.arguments), case.expected()
    if is_near(got, right, tolerance):
        return
    why = _cause(student, case)
    if not why and case.kind == "half" and _is_right_in_float32(student, case):
        why = "In float32 the result is right. The angles were computed in half precision."
    expect_tensor(got, right, WHAT, why=why, tolerance=tolerance)


def is_near(got: Any, right: Tensor, tolerance: float) -> bool:
    """Whether the answer is this tensor."""
    try:
        expect_tensor(got, right, WHAT, tolerance=tolerance)
    except Wrong:
        return False
    return True


def _is_right_in_float32(student: Student, case: RotateCase) -> bool:
    case = replace(case, dtype=torch.float32)
    return is_near(student.rotate(*case.arguments), case.expected(), 1e-2)


@_rotate("first", hint="Split x into its two halves. Write down cos and sin of D/2 angles.")
def pairs_of_halves_are_turned_by_their_angles(student: Student, case: RotateCase) -> None:
    """Pair i, of both halves, is turned by position * base ** (-2i/D), from x to y."""
    _expect_turned(student, case, FULL_PRECISION_TOLERANCE)


@_rotate("positions", hint="Multiply the D/2 frequencies by `positions`, not by 0, 1, 2, ...")
def each_token_is_turned_by_its_own_position(student: Student, case: RotateCase) -> None:
    """Positions may begin anywhere, leave some out, and stand in any order."""
    _expect_turned(student, case, 1e-4)


@_rotate("base", hint="Use the argument `base` in place of 10,000.")
def the_base_decides_how_slowly_pairs_turn(student: Student, case: RotateCase) -> None:
    """Another `base` gives other angles, for all pairs but the first."""
    _expect_turned(student, case, 1e-4)


@_rotate("half", hint="Compute the angles, cos and sin in float32. Then convert.")
def angles_are_exact_at_large_positions(student: Student, case: RotateCase) -> None:
    """Half precision would round a large position, so the angles are computed in float32."""
    _expect_turned(student, case, TOLERANCE[case.dtype])


@_rotate("half", hint="Convert the result, or cos and sin, to `x.dtype`.", weight=0.5)
def the_dtype_is_that_of_x(student: Student, case: RotateCase) -> None:
    """Keys in half precision stay in half precision."""
    got = tensor_in(student.rotate(*case.arguments), WHAT)
    _refuse_unturned(got, case)
    if got.dtype != case.dtype:
        why = "float32 times a half precision is float32. The cache stores half precision."
        why *= got.dtype is torch.float32
        raise Wrong(f"the dtype of {WHAT}", expected=str(case.dtype), got=str(got.dtype), why=why)


@_rotate(
    "first",
    hint="Search your code for operations that end in an underscore, and for `x[...] = ...`.",
    weight=0.5,
)
def x_stays_as_it_is(student: Student, case: RotateCase) -> None:
    """The tensor that was passed in is the same after the call."""
    x, *more = case.arguments
    placed = place(student, x)
    got = tensor_in(student.rotate(placed, *more), WHAT)
    expect_unchanged(value_of(placed), x, "x after the call")
    _refuse_unturned(got, case)


def _refuse_unturned(got: Tensor, case: RotateCase) -> None:
    """Raises: NotJudged if these are no rotated numbers at all."""
    if got.shape != case.x.shape or torch.allclose(got.float(), case.x.float()):
        raise NotJudged("`rotate` returns nothing that is rotated")


def _cause(student: Student, case: RotateCase) -> str:
    """The sentences of the mistakes that give the student's numbers, here and on all open cases."""
    fitting = list(SLIPS)
    for each in (case, *OPEN_CASES["rotate"]):
        if not fitting:
            break
        got = student.rotate(*each.arguments)
        within = max(1e-3, 2 * TOLERANCE.get(each.dtype, 0))
        parts = (each.x.float(), torch.tensor(each.positions), each.base or BASE)
        got = got.float() if isinstance(got, Tensor) else got
        fitting = [
            one for one in fitting if slip_in_tensors(got, {one: SLIPS[one]}, *parts, within=within)
        ]
    return joined(fitting)


def _angles(positions: Tensor, rates: Tensor) -> Tensor:
    return positions.float()[:, None] * rates


def _rates(x: Tensor, base: float) -> Tensor:
    steps = torch.arange(0, x.shape[-1], 2)
    return base ** (-steps / x.shape[-1])


def _turn(x: Tensor, angles: Tensor) -> Tensor:
    """The pairs of both halves of x turned by angles (Q D/2)."""
    pairs = torch.complex(*x.chunk(2, dim=-1)) * torch.exp(1j * angles)
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def _by_rates(rates: Callable[[int], Tensor]) -> Callable[..., Tensor]:
    """x turned with base ** rates(D/2) as frequencies."""
    return lambda x, positions, base: _turn(x, _angles(positions, base ** rates(x.shape[-1] // 2)))


def _by_positions(other: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """x turned as if its tokens stood at other positions."""
    return lambda x, positions, base: turned(x, other(positions), base)


def _neighbours(x: Tensor, positions: Tensor, base: float) -> Tensor:
    apart = torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)
    return turned(apart, positions, base).unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)


def _neighbours_taken_apart(x: Tensor, positions: Tensor, base: float) -> Tensor:
    return turned(torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1), positions, base)


def _same_sign(x: Tensor, positions: Tensor, base: float) -> Tensor:
    angles = _angles(positions, _rates(x, base))
    return x * angles.cos().repeat(1, 2) + x.roll(x.shape[-1] // 2, -1) * angles.sin().repeat(1, 2)


NEIGHBOURS = "Neighbours, 2i and 2i + 1, were paired. Take number i of both halves."
SLIPS: dict[str, Callable[..., Tensor]] = {
    NEIGHBOURS: _neighbours,
    NEIGHBOURS + " The results stand in halves.": _neighbours_taken_apart,
    "The pairs turn the wrong way: the signs of the sines are exchanged.": (
        lambda x, positions, base: turned(x, -positions, base)
    ),
    "Both sines have the same sign. In the first half, b sin w is subtracted.": _same_sign,
    "Sine and cosine are exchanged.": (
        lambda x, positions, base: _turn(x, pi / 2 - _angles(positions, _rates(x, base)))
    ),
    "The exponent is -i/D. It should be -2i/D, for i from 0 to D/2 - 1.": _by_rates(
        lambda half: -torch.arange(half) / (2 * half)
    ),
    "The exponent is 2i/D. With a minus, later pairs turn more slowly.": _by_rates(
        lambda half: torch.arange(half) / half
    ),
    "The exponents go from 0 to -1. The last one is -(D - 2)/D.": _by_rates(
        lambda half: -torch.linspace(0, 1, half)
    ),
    "The exponents begin at -2/D. The first pair has exponent 0.": _by_rates(
        lambda half: -torch.arange(1, half + 1) / half
    ),
    "All pairs turn by the same angle.": _by_rates(torch.zeros),
    "The positions were counted from 0. Use those that are passed in.": _by_positions(
        lambda positions: torch.arange(len(positions))
    ),
    "The positions were counted from the first one. Some may be left out.": _by_positions(
        lambda positions: torch.arange(len(positions)) + positions[0]
    ),
    "The positions are one too high.": _by_positions(lambda positions: positions + 1),
    "`base` is not used: it is not always 10,000.": (
        lambda x, positions, base: turned(x, positions, BASE)
    ),
    "x is returned as it came.": lambda x, positions, base: x,
}


OPEN_CASES = {
    "rotate": [
        RotateCase((0, 1, 2)),
        RotateCase((5, 6, 9), head_dim=4, batch=2, seed=1),
        RotateCase((7, 2), head_dim=6, base=500_000.0, seed=2),
        RotateCase((3001, 4003), dtype=torch.bfloat16, seed=3),
    ],
}
