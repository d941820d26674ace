"""A random number that is not drawn: a formula of one uniform, which answers only comparisons.

With U uniform on [0, 1), W either U or 1 - U, and E = -log W (which is exponential), a `Number` is

    shift + scale * W ** power       form ROOT: what torch.rand gives, scaled, shifted, its powers
    shift + scale * E ** power       form POWER: log of a uniform, exponential noise, p / noise
    shift + scale * log E            form LOG: Gumbel noise

Each grows or falls with U, so a comparison with a known number is a comparison of U with some
threshold. Which of several is the largest is for labkit.chance.race.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Protocol

ROOT, POWER, LOG = "root", "power", "log"
UNKNOWN = "random numbers that nobody has drawn"
NEGLIGIBLE = 1e-6  # of a number: what people add to keep a logarithm finite
MAX_OUTCOMES = 256  # of a random whole number
FINE_STEPS = 2**20  # a number rounded this finely is treated as not rounded


class CannotFollow(Exception):
    """A random number is used in a way that cannot be followed; the message names the operation."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"this uses a random number in a way that cannot be followed: {operation}")


class Seeded(CannotFollow):
    """A generator is made or seeded where the code draws: each call would draw the same numbers."""

    def __init__(self, operation: str) -> None:
        Exception.__init__(self, f"`{operation}` is called inside")


class Source(Protocol):
    """The source of random choices: three questions with plain numbers (see labkit.checks.law)."""

    def choose(self, weights: list[float]) -> int:
        """An index, each with a probability in proportion to its weight."""

    def uniform(self) -> int:
        """The number of a new uniform on [0, 1), independent of all others."""

    def is_below(self, uniform: int, threshold: float) -> bool:
        """Whether that uniform is below the threshold."""


def pick(source: Source, weights: Sequence[float]) -> int:
    """An index by weight; nothing is asked where only one weight is above zero."""
    possible = [i for i, weight in enumerate(weights) if weight > 0]
    return possible[0] if len(possible) == 1 else int(source.choose(list(weights)))


class Cell:
    """One uniform on [0, 1). `is_spent`: a race has used it, so nothing more can be asked."""

    __slots__ = ("is_spent", "name", "source")

    def __init__(self, source: Source) -> None:
        self.source, self.name, self.is_spent = source, None, False

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was ever asked about it."""
        return self.name is None and not self.is_spent

    def is_below(self, threshold: float) -> bool:
        """Asks the source, unless the threshold is outside (0, 1)."""
        if self.is_spent:
            raise CannotFollow("noise that an argmax has already used")
        if not 0 < threshold < 1:
            return threshold >= 1
        if self.name is None:
            self.name = self.source.uniform()
        return bool(self.source.is_below(self.name, threshold))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number:
    """A formula of one cell's uniform; `reflected` says that W is 1 - U (see the module)."""

    cell: Cell
    form: str = ROOT
    shift: float = 0.0
    scale: float = 1.0
    power: float = 1.0
    reflected: bool = False

    def __lt__(self, other: Any) -> bool:
        if other is self:
            return False
        return self._is_below(other) if _is_known(other, "<") else NotImplemented

    def __gt__(self, other: Any) -> bool:
        if other is self:
            return False
        if not _is_known(other, ">"):
            return NotImplemented
        return not math.isnan(other) and not self._is_below(other)

    def __le__(self, other: Any) -> bool:
        return other is self or self.__lt__(other)  # equality has probability zero

    def __ge__(self, other: Any) -> bool:
        return other is self or self.__gt__(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return UNKNOWN

    def __format__(self, spec: str) -> str:
        return UNKNOWN

    def __eq__(self, other: Any) -> bool:
        if other is self:
            return True
        return False if _is_known(other, "==") else NotImplemented

    def __add__(self, other: Any) -> Number:
        return self._affine(1.0, other) if _is_known(other, "+") else NotImplemented

    def __sub__(self, other: Any) -> Number:
        return self._affine(1.0, -other) if _is_known(other, "-") else NotImplemented

    def __rsub__(self, other: Any) -> Number:
        return self._affine(-1.0, other) if _is_known(other, "-") else NotImplemented

    def __mul__(self, other: Any) -> Number:
        return self._affine(other, 0.0) if _is_known(other, "*") else NotImplemented

    def __truediv__(self, other: Any) -> Number:
        if not _is_known(other, "/"):
            return NotImplemented
        return self._affine(1 / other if other else math.copysign(math.inf, other), 0.0)

    def __rtruediv__(self, other: Any) -> Number:
        return self.reciprocal() * other if _is_known(other, "/") else NotImplemented

    def __pow__(self, other: Any) -> Number:
        if not _is_known(other, "**"):
            return NotImplemented
        if other == 1:
            return self
        one = self._factor("**")
        if one.form == LOG or one.scale <= 0 or other == 0:
            raise CannotFollow("**")
        return replace(one, scale=power_of(one.scale, other), power=one.power * other)

    def __rpow__(self, other: Any) -> Number:
        if not _is_known(other, "**"):
            return NotImplemented
        return (self * math.log(other)).exp()

    def __neg__(self) -> Number:
        return self * -1.0

    __radd__, __rmul__ = __add__, __mul__

    def log(self) -> Number:
        """The natural logarithm."""
        one = self._factor("log")
        if one.form == LOG or one.scale <= 0:
            raise CannotFollow("log")
        if one.form == ROOT:
            factor = -one.power
            return replace(one, form=POWER, shift=math.log(one.scale), scale=factor, power=1.0)
        return replace(one, form=LOG, shift=math.log(one.scale), scale=one.power, power=1.0)

    def exp(self) -> Number:
        """e to the power of this number."""
        factor = exp_of(self.shift)
        if self.form == LOG:
            return replace(self, form=POWER, shift=0.0, scale=factor, power=self.scale)
        if self.form == POWER and self.power == 1:
            return replace(self, form=ROOT, shift=0.0, scale=factor, power=-self.scale)
        raise CannotFollow("exp")

    def log1p(self) -> Number:
        """log(1 + it)."""
        return (self + 1.0).log()

    def sqrt(self) -> Number:
        """The square root."""
        return self**0.5

    def reciprocal(self) -> Number:
        """One over it."""
        one = self._factor("/")
        if one.form == LOG or one.scale == 0:
            raise CannotFollow("/")
        return replace(one, scale=1 / one.scale, power=-one.power)

    def item(self) -> Number:
        """The number itself, like `item()` of NumPy."""
        return self

    def clamp(self, low: float | None = None, high: float | None = None) -> Number:
        """Itself, for limits that it almost never passes; others cannot be followed."""
        for limit, passes in (
            (low, self._share_below),
            (high, lambda at: 1 - self._share_below(at)),
        ):
            if limit is not None and passes(limit) > NEGLIGIBLE:
                raise CannotFollow("clamp")
        return self

    def __floor__(self) -> int | Number:
        ends = sorted((self.shift, self.shift + self.scale))
        if self.form == ROOT and self.power == 1 and ends[1] - ends[0] >= FINE_STEPS:
            return self
        if self.form != ROOT or self.power != 1 or not ends[1] - ends[0] <= MAX_OUTCOMES:
            raise CannotFollow("floor")
        first, last = math.floor(ends[0]), math.ceil(ends[1]) - 1
        return next((i for i in range(first, last) if self._is_below(i + 1)), last)

    def __int__(self) -> int:
        if min(self.shift, self.shift + self.scale) < 0:
            raise CannotFollow("int of what may be negative")
        whole = math.floor(self)
        if whole is self:
            raise CannotFollow(f"a whole number with {self.scale:.0f} outcomes")
        return whole

    def _refuse(self, *_: Any) -> Any:
        raise CannotFollow("its value is needed")

    __float__ = __bool__ = __index__ = __complex__ = __round__ = __abs__ = __ceil__ = _refuse
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = _refuse
    __trunc__ = __int__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise CannotFollow(f"{getattr(func, '__name__', func)}, after the run it was drawn in")

    def _affine(self, factor: float, term: float) -> Number:
        shift = self.shift * factor if self.shift else 0.0  # a factor may be infinite
        return replace(self, shift=shift + term, scale=self.scale * factor)

    def _factor(self, operation: str) -> Number:
        """The same without a shift; raises where a shift is left that matters."""
        if abs(self.shift) <= NEGLIGIBLE * abs(self.scale):
            return replace(self, shift=0.0)
        rest = self.shift + self.scale
        if self.form == ROOT and self.power == 1 and abs(rest) <= NEGLIGIBLE * abs(self.scale):
            return replace(self, shift=0.0, scale=-self.scale, reflected=not self.reflected)
        raise CannotFollow(f"{operation} of a sum")

    def _is_below(self, threshold: float) -> bool:
        if math.isnan(threshold) or self.scale == 0:
            return self.shift < threshold
        edge, when_below = self._edge(threshold)
        return self.cell.is_below(edge) == when_below

    def _share_below(self, threshold: float) -> float:
        edge, when_below = self._edge(threshold)
        edge = min(max(edge, 0.0), 1.0)
        return edge if when_below else 1 - edge

    def _edge(self, threshold: float) -> tuple[float, bool]:
        """The number is below `threshold` where U < edge (True), or where it is not (False)."""
        height = (threshold - self.shift) / self.scale
        rising = self.power > 0
        if self.form == ROOT:
            edge, when_below = power_of(height, 1 / self.power), rising
        elif self.form == POWER:
            edge, when_below = exp_of(-power_of(height, 1 / self.power)), not rising
        else:
            edge, when_below = exp_of(-exp_of(height)), False
        if self.form != LOG and height <= 0:
            edge, when_below = 0.0, True
        if self.reflected:
            edge, when_below = 1 - edge, not when_below
        return edge, when_below == (self.scale > 0)


def _is_known(other: Any, operation: str) -> bool:
    if isinstance(other, Number):
        raise CannotFollow(f"{operation} between two random numbers")
    return isinstance(other, Real)


def exp_of(exponent: float) -> float:
    return math.inf if exponent > 709 else math.exp(exponent)


def power_of(base: float, exponent: float) -> float:
    if base <= 0:
        return 0.0
    try:
        return base**exponent
    except OverflowError:
        return math.inf
