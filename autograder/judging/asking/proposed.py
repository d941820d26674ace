"""The changes of one exercise that may become questions, before and after the survey."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random

from autograder.judging.asking.candidates import (
    N_OPTIONS,
    BrokenClaim,
    Candidate,
    OtherResult,
    SameResult,
    SwapOfLines,
    Trace,
)
from autograder.judging.asking.edits import Spot, Swap, slips_of, swaps_of
from autograder.judging.asking.stage import Exercise
from autograder.judging.child.survey import is_telling
from labkit.checks.why.changes import Change

MOST_SLIPS = 16  # that are played for wrong options, and asked about
SETS = re.compile(r"\w+(, \w+)*(: [^=]+)? = ")  # without it, the next line finds no such name
MOST_SWAPS = 4  # of one kind, beside one of the other


@dataclass(frozen=True)
class Proposed:
    """Changes, swaps and places of values of a definition, in an order of the student's own.

    slips: those that are played for wrong options. played: what the survey plays, in its order.
    changes, swaps: what it says gives a question. runs: for each check, lines that run in it.
    """

    slips: tuple[Change | Swap, ...]
    spots: tuple[Spot, ...]
    played: tuple[Change | Swap, ...]
    changes: tuple[Change, ...] = ()
    swaps: tuple[Swap, ...] = ()
    runs: tuple[Sequence, ...] = ()

    @classmethod
    def of(cls, exercise: Exercise, rng: Random, n_played: int) -> "Proposed":
        """All that a definition gives; nothing if it is nested too deep for Python."""
        source, name = exercise.source, exercise.name
        try:
            changes, swaps = slips_of(source, name), swaps_of(source, name)
            spots = [*exercise.noted[0]]
        except RecursionError:
            changes, swaps, spots = [], [], []
        edits = [each for each in changes if not each.says_itself and _is_plain(each)]
        played: list[Change | Swap] = [*edits, *swaps]
        slips: list[Change | Swap] = [
            each for each in edits if each.instead or not SETS.match(each.text)
        ]
        slips += [each for each in swaps if each.are_neighbours]
        for each in (slips, spots, played):
            rng.shuffle(each)
        return cls(tuple(slips[:MOST_SLIPS]), tuple(spots), tuple(played[:n_played]))

    def told(self, signs: Sequence[str], runs: Sequence[Sequence] = ()) -> "Proposed":
        """With those of which the survey says that they break some claims and not all; of the
        swaps, some that break nothing and some that break a claim.
        """
        pairs = [*zip(self.played, signs, strict=False)]
        changes = [each for each, sign in pairs if isinstance(each, Change) and is_telling(sign)]
        swaps = [(each, sign) for each, sign in pairs if isinstance(each, Swap)]
        harmless = [each for each, sign in swaps if sign and not sign.strip("p")]
        harmful = [each for each, sign in swaps if "f" in sign and "t" not in sign]
        few, many = sorted([harmless, harmful], key=len)
        asked = (*few[:1], *many[:MOST_SWAPS]) if few and len(many) >= N_OPTIONS - 1 else ()
        return replace(self, changes=tuple(changes), swaps=asked, runs=(*runs,))

    def candidates(self, exercise: Exercise, rng: Random) -> list[Candidate]:
        """What to ask about, of one kind after the other; claims last, for they are guessed."""
        kinds: list[Sequence[Candidate]] = [
            [SwapOfLines(exercise, self.swaps)] if self.swaps else []
        ]
        if exercise.plays:
            edits = [each for each, _ in exercise.slips]
            cuts = [each for each in edits if isinstance(each, Change) and not each.instead]
            kinds += [
                [OtherResult(exercise, each) for each in edits],
                [SameResult(exercise, each) for each in cuts if not exercise.plays[0].lines],
                [Trace(exercise, each) for each in self.spots],
            ]
        rng.shuffle(kinds)
        broken = [BrokenClaim(self._running(exercise, each.line), each) for each in self.changes]
        return [
            *(each for turn in zip_longest(*kinds) for each in turn if each is not None),
            *broken,
        ]

    def _running(self, exercise: Exercise, line: int) -> Exercise:
        """The exercise with those checks alone that run a line: no other claim could fail."""
        pairs = zip(exercise.checks, self.runs, strict=True)
        return replace(exercise, checks=[check for check, lines in pairs if line in lines])


def _is_plain(change: Change) -> bool:
    """Whether its expression stands once in the line, so that a question can name it alone."""
    old = re.escape("".join(change.slip[:1]))
    return not change.instead or len(re.findall(rf"(?<!\w){old}(?!\w)", change.text)) == 1
