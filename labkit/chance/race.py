"""The largest of several random numbers that are not drawn: the exponential race.

Of independent exponentials E_i divided by weights w_i, the smallest is number i with a probability
in proportion to w_i. So argmax(probs / E) draws from probs, and so does argmax(logits + Gumbel
noise), for Gumbel noise is -log E; both are the same race seen through a monotone function.
"""

import math
from collections.abc import Sequence

from labkit.chance.numbers import LOG, POWER, ROOT, CannotFollow, Number, exp_of, pick


def race(numbers: Sequence[Number], largest: bool) -> int:
    """The index of the largest (or smallest) of independent numbers, chosen by the source.

    Their cells are spent by it. Raises: CannotFollow unless the one with the smallest c * E wins,
    where c is each number's own positive factor; it wins with a probability in proportion to 1 / c.
    """
    what = "argmax" if largest else "argmin"
    cells = {id(number.cell): number.cell for number in numbers}
    if len(cells) < len(numbers) or not all(cell.is_fresh for cell in cells.values()):
        raise CannotFollow(f"{what} over random numbers that are used twice")
    rates = _log_rates(numbers, largest, what)
    highest = max(rates)
    if not math.isfinite(highest):
        raise CannotFollow(f"{what} over infinite numbers")
    for cell in cells.values():
        cell.is_spent = True
    return pick(numbers[0].cell.source, [exp_of(rate - highest) for rate in rates])


def _log_rates(numbers: Sequence[Number], largest: bool, what: str) -> list[float]:
    """log(1 / c) of each number, where all are the same monotone function of c * E."""
    leader = max(numbers, key=lambda number: abs(number.scale) if number.scale else -1.0)
    sign = math.copysign(1, leader.scale)
    form, power = leader.form, leader.power
    if any(one.form != form or one.scale * sign < 0 for one in numbers):
        raise CannotFollow(f"{what} over unlike numbers")
    alike = {ROOT: ("shift", "scale"), POWER: ("shift", "power"), LOG: ("scale",)}[form]
    for field in alike:
        first = getattr(leader, field)
        if not all(math.isclose(getattr(one, field), first, rel_tol=1e-6) for one in numbers):
            raise CannotFollow(f"{what} over numbers of unlike {field}")
    rising = {ROOT: sign * power < 0, POWER: sign * power > 0, LOG: sign > 0}[form]
    if rising == largest or (form == ROOT and any(one.power * power <= 0 for one in numbers)):
        raise CannotFollow(f"{what} that the slowest of a race wins")
    if form == ROOT:
        return [-math.log(abs(one.power)) for one in numbers]
    if form == POWER:
        return [-(math.log(abs(one.scale)) if one.scale else -math.inf) / power for one in numbers]
    return [-one.shift / leader.scale for one in numbers]
