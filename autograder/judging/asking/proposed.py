"""The changes of one exercise that may become questions, before and after the survey."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random

from autograder.judging.asking.candidates import (
    BrokenClaim,
    Candidate,
    OtherResult,
    SwapOfLines,
    Trace,
)
from autograder.judging.asking.edits import Stop, Swap, stops_of, swaps_of
from autograder.judging.asking.stage import Exercise
from autograder.judging.child.survey import is_telling
from labkit.checks.why.changes import Change, changes_of

MOST_WRONG = 3  # changes that are played for wrong options
MOST_SWAPS = 3  # that do harm, beside one that does none


@dataclass(frozen=True)
class Proposed:
    """Changes, swaps and stops of a definition, in an order of the student's own.

    played: what the survey plays, in its order. ending: changes after which it came to an end.
    runs: for each check, lines that run in it, as the survey says.
    """

    changes: tuple[Change, ...]
    swaps: tuple[Swap, ...]
    stops: tuple[Stop, ...]
    played: tuple[Change | Swap, ...]
    ending: tuple[Change, ...] = ()
    runs: tuple[Sequence, ...] = ()

    @classmethod
    def of(cls, exercise: Exercise, rng: Random, n_played: int) -> "Proposed":
        """All that a definition gives; nothing if it is nested too deep for Python."""
        source, name = exercise.source, exercise.name
        try:
            changes, swaps = changes_of(source, name), swaps_of(source, name)
            stops = stops_of(source, name)
        except RecursionError:
            changes, swaps, stops = [], [], []
        changes = [each for each in changes if not each.says_itself]
        played: list[Change | Swap] = [*changes, *swaps]
        rng.shuffle(played)
        rng.shuffle(stops)
        return cls((), (), tuple(stops), tuple(played[:n_played]))

    def told(self, signs: Sequence[str], runs: Sequence[Sequence] = ()) -> "Proposed":
        """Those of which the survey says that they break some claims and not all; of the swaps, one
        that breaks nothing, beside some that break a claim.
        """
        pairs = [*zip(self.played, signs, strict=False)]
        edits = [(each, sign) for each, sign in pairs if isinstance(each, Change) and sign]
        changes = [each for each, sign in edits if is_telling(sign)]
        swaps = [(each, sign) for each, sign in pairs if isinstance(each, Swap)]
        harmless = [each for each, sign in swaps if sign and not sign.strip("p")]
        harmful = [each for each, sign in swaps if "f" in sign and "t" not in sign]
        asked = (*harmless[:1], *harmful[:MOST_SWAPS]) if harmless and harmful else ()
        ending = tuple(each for each, _ in edits)
        return replace(self, changes=tuple(changes), swaps=asked, ending=ending, runs=(*runs,))

    def candidates(self, exercise: Exercise, rng: Random) -> list[Candidate]:
        """What to ask about, of one kind after the other."""
        broken = [BrokenClaim(self._running(exercise, each.line), each) for each in self.changes]
        kinds: list[Sequence[Candidate]] = [
            [each for each in broken if not each.change.instead],
            [each for each in broken if each.change.instead],
            [SwapOfLines(exercise, self.swaps)] if self.swaps else [],
        ]
        if exercise.calls:
            others = [each for each in self.ending if each.instead]
            kinds.append([
                OtherResult(exercise, each, tuple(_without(others, each))) for each in others
            ])  # fmt: skip
            kinds.append([
                Trace(exercise, each, tuple(_without(self.stops, each))) for each in self.stops
            ])  # fmt: skip
        rng.shuffle(kinds)
        return [each for turn in zip_longest(*kinds) for each in turn if each is not None]

    def _running(self, exercise: Exercise, line: int) -> Exercise:
        """The exercise with those checks alone that run a line: no other claim could fail."""
        pairs = zip(exercise.checks, self.runs, strict=True)
        return replace(exercise, checks=[check for check, lines in pairs if line in lines])


def _without(several: Sequence, one: object) -> Sequence:
    return [each for each in several if each is not one][:MOST_WRONG]
