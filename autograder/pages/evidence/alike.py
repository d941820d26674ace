"""Students with similar answers, in groups: eight with one text are one group, not 28 pairs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

PUBLISHED = "the kit's own answer"


@dataclass(frozen=True)
class SharedText:
    """What two students share in one exercise. share: of the rarer text of the two."""

    exercise: str
    weight: float
    share: float


@dataclass(frozen=True)
class Pair:
    """Two students whose answers are alike, exercise by exercise."""

    students: tuple[str, str]
    matches: list[SharedText]

    @property
    def weight(self) -> float:
        return sum(match.weight for match in self.matches)


@dataclass(frozen=True)
class AlikeGroup:
    """Students whose answers are alike. pairs: the closest ones that hold it together."""

    pairs: list[Pair]

    @property
    def is_published(self) -> bool:
        return PUBLISHED in self.pairs[0].students

    @property
    def students(self) -> list[str]:
        return sorted({name for pair in self.pairs for name in pair.students} - {PUBLISHED})

    @property
    def weight(self) -> float:
        return max(pair.weight for pair in self.pairs)

    @property
    def exercises(self) -> list[tuple[str, int, float]]:
        """Each exercise with the students who are alike in it, and the largest share."""
        students: dict[str, set[str]] = defaultdict(set)
        shares: dict[str, float] = defaultdict(float)
        for pair in self.pairs:
            for match in pair.matches:
                students[match.exercise] |= {*pair.students} - {PUBLISHED}
                shares[match.exercise] = max(shares[match.exercise], match.share)
        return [(name, len(students[name]), shares[name]) for name in students]


def groups_of(pairs: Sequence[Pair]) -> list[AlikeGroup]:
    """The groups, the one of the kit's own answer first, then by weight.

    What two students have from the kit's own answer makes them no pair.
    """
    readers: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if PUBLISHED in pair.students:
            for match in pair.matches:
                readers[match.exercise] |= {*pair.students}
    published = [pair for pair in pairs if PUBLISHED in pair.students]
    others = [_without(pair, readers) for pair in pairs if PUBLISHED not in pair.students]
    groups = _joined([pair for pair in others if pair.matches])
    first = [AlikeGroup(sorted(published, key=_order))] if published else []
    return first + sorted(groups, key=lambda group: (-group.weight, group.students))


def _without(pair: Pair, readers: dict[str, set[str]]) -> Pair:
    own = [match for match in pair.matches if not {*pair.students} <= readers[match.exercise]]
    return replace(pair, matches=own)


def _joined(pairs: Sequence[Pair]) -> list[AlikeGroup]:
    """Each group by as few pairs as hold it together, closest first."""
    group_of: dict[str, list[Pair]] = {}
    for pair in sorted(pairs, key=_order):
        first, second = (group_of.get(name, []) for name in pair.students)
        if first and first is second:
            continue
        joined = [*first, *second, pair]
        for each in joined:
            group_of |= dict.fromkeys(each.students, joined)
    distinct = {id(group): group for group in group_of.values()}
    return [AlikeGroup(sorted(group, key=_order)) for group in distinct.values()]


def _order(pair: Pair) -> tuple:
    return (-pair.weight, pair.students)
