"""What comes out of a student's random function, and how often, exactly."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any

from labkit.bridge.student import Student, StudentError
from labkit.chance.paths import NotRepeatable
from labkit.checks.core import Undecided, Wrong
from labkit.checks.law import Law, Outcome, RandomSource, exact_law

MAX_PATHS, MAX_CHOICES = 3_000, 6_000  # three times what the most wasteful right sampler needs
TOLERANCE = 2e-5  # what single precision leaves of a small residual
N_PLAIN = 4  # runs with real random numbers, where none was seen to be drawn
HOW_TO_DRAW = (
    "Draw with `torch.rand`, `torch.multinomial`, exponential or Gumbel noise, and no more than "
    "the text needs. Then every outcome can be followed."
)

Weights = Mapping[Outcome, float]
Play = Callable[[RandomSource | None], Outcome]


class Unfollowed(Wrong):
    """What the student's code draws cannot be followed, so its distribution is not known."""


class TooManyWays(Unfollowed, Undecided):
    """It can be followed, but not to its end: a loop that draws until a token is accepted."""


def followed(play: Play, **limits: float) -> Law:
    """The exact distribution of `play(source)`, over all answers of the source; None: real ones.

    limits: as those of `exact_law`. Raises: Unfollowed where it cannot be had; what `play` raises.
    """
    try:
        law = exact_law(play, max_paths=MAX_PATHS, max_choices=MAX_CHOICES, **limits)
    except NotRepeatable as problem:
        raise Unfollowed(
            "your code remembers random numbers of an earlier call", why=f"{problem}."
        ) from None
    except StudentError as error:
        raise _unfollowed(error) from None
    if law.n_paths == 1 and any(play(None) not in law.probabilities for _ in range(N_PLAIN)):
        seen = "no random number of torch, numpy or `random` is drawn, but chance decides"
        raise Unfollowed(seen, why=HOW_TO_DRAW)
    return law


def _unfollowed(error: StudentError) -> Exception:
    if error.is_a("Seeded"):
        why = "With a seed each call draws the same numbers. Draw from `rng`."
        return Unfollowed(error.message, why=why)
    if error.is_a("CannotFollow"):
        return Unfollowed(error.message, why=HOW_TO_DRAW)
    return error


@dataclass(frozen=True, slots=True)
class Claim:
    """What a distribution should be. what: in words, with {} for what the outcome consists of.

    slips: laws of known mistakes, by their sentences. fits: whether one gives other cases, too.
    """

    what: str
    law: Weights
    slips: Mapping[str, Weights] = field(default_factory=dict)
    why: str = ""
    fits: Callable[[str], bool] = lambda _: True

    def expect(self, weights: Weights) -> None:
        """Raise Wrong unless the weights go by the distribution."""
        total = math.fsum(weights.values())
        if total < TOLERANCE:
            often, share = max(self.law.items(), key=lambda item: item[1])
            wanted, seen = f"probability {share:.4g}", "that this never happens"
            raise Wrong(self.what.format(*often), expected=wanted, got=seen)
        found = Law({outcome: weight / total for outcome, weight in weights.items()})
        worst, surplus = found.worst(self.law)
        if abs(surplus) <= TOLERANCE:
            return
        fitting = [slip for slip, law in self.slips.items() if found.deviation(law) <= TOLERANCE]
        why = " Or: ".join(filter(self.fits, fitting)) or self.why
        raise Wrong(
            self.what.format(*worst),
            expected=f"probability {self.law.get(worst, 0.0):.4g}",
            got=f"{found.probabilities.get(worst, 0.0):.4g}",
            why=why,
            cause=why or self.what,
        )


def found_law(play: Play) -> Law:
    """What `play(source)` returns, over all that the source may say.

    Raises: as `followed`.
    """
    law = followed(play)
    if not law.is_complete:
        raise too_many_paths()
    return law


def found_once(student: Student, key: Hashable, play: Play) -> Law:
    """The same, once for all checks of a case, also where it cannot be followed."""
    return student.once(key, lambda: found_law(play), keep=(Unfollowed,))


def too_many_paths() -> TooManyWays:
    """The message about code with more possible paths than are followed."""
    seen = "the random numbers of your code can fall in too many ways to follow"
    return TooManyWays(seen, why=HOW_TO_DRAW)


def row_law(probs: Any) -> dict[Outcome, float]:
    """The distribution of one token, from its probabilities."""
    return {(token,): float(share) for token, share in enumerate(probs)}


def token_slips(
    x: int, target: Sequence[float], draft: Sequence[float], left: Sequence[float]
) -> dict[str, dict[Outcome, float]]:
    """What may come after token x is rejected by known mistakes, each with its sentence."""
    likely = max(range(len(left)), key=left.__getitem__)
    return {
        "That is the rejected token itself.": {(x,): 1.0},
        "That is the target alone. Draw from the residual.": row_law(target),
        "That is the draft again. Draw from the residual.": row_law(draft),
        "That is always the most likely token.": {(likely,): 1.0},
    }


def independent(laws: Sequence[Weights]) -> Weights:
    """The distribution of all rows together if they do not depend on each other."""
    totals = [math.fsum(law.values()) for law in laws]
    return {
        tuple(chain.from_iterable(one for one, _ in rows)): math.prod(
            weight / total for (_, weight), total in zip(rows, totals, strict=True)
        )
        for rows in product(*(law.items() for law in laws))
    }
