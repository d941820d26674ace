"""A run of tiled attention as moments, for a picture of each: read off what its memory noted.

Moves that follow each other belong to one moment if they are of one kind and over the same rows,
as those of K and V. Only the log is used, so the pictures show the student's own loops.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from labkit.models.counted_memory import Access, Memory, tile_scores

SCORED = frozenset("QK")  # what must be there before scores are
NEEDED = SCORED | {"V"}


@dataclass(frozen=True, slots=True)
class Moment:
    """The chip after moves of one kind ("load" or "store") over the same rows.

    on_chip: the rows of each array's buffer. stored (N,): which rows of each array were written so
    far. seen (N N): pairs of a query and a key that were on the chip together, and whose query met
    the value too, those to come among causal ones left out; is_new: those of them that came in this
    moment. n_bytes: loaded and stored so far.
    """

    kind: str
    names: tuple[str, ...]
    rows: tuple[int, int]
    on_chip: dict[str, tuple[int, int]]
    stored: dict[str, Tensor]
    seen: Tensor
    is_new: Tensor
    n_bytes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Softmax:
    """The running softmax of one query: the keys it has seen, weights exp(score - maximum).

    weights (N,): 0 for keys not seen. rescaled: the factor of what was there before, 1 if the
    maximum stayed.
    """

    maximum: float
    total: float
    weights: Tensor
    rescaled: float


def moments(memory: Memory, is_causal: bool) -> list[Moment]:
    """The moments of all moves."""
    scored, seen = torch.zeros(2, memory.n_rows, memory.n_rows, dtype=torch.bool)
    stored: dict[str, Tensor] = {}
    on_chip: dict[str, tuple[int, int]] = {}
    n_bytes = {"load": 0, "store": 0}
    groups = list(_groups(memory.accesses))
    found, is_waiting = [], False
    for i, group in enumerate(groups):
        kind, rows = group[0].kind, (group[0].start, group[0].stop)
        names = tuple(access.name for access in group)
        on_chip |= dict.fromkeys(names, rows)
        n_bytes = n_bytes | {kind: n_bytes[kind] + sum(access.n_bytes for access in group)}
        if kind == "store":
            stored = stored | {name: _with(stored.get(name), rows, memory.n_rows) for name in names}
        before = seen
        if kind == "load" and SCORED & set(names):
            is_waiting = not is_waiting and _waits(names, groups[i + 1 : i + 2])
            if not is_waiting and set(on_chip) >= SCORED:
                scored = scored | _pairs(on_chip, "K", memory.n_rows, is_causal)
        if kind == "load" and set(on_chip) >= NEEDED:
            seen = seen | scored & _pairs(on_chip, "V", memory.n_rows, is_causal)
        found.append(
            Moment(kind, names, rows, dict(on_chip), stored, seen, seen & ~before, n_bytes)
        )
    return found


def all_scores(memory: Memory) -> Tensor:
    """Of every query and key (N N), without a mask."""
    return tile_scores(memory.arrays["Q"], memory.arrays["K"], 0, 0, is_causal=False)


def softmax_of(scores: Tensor, moment: Moment, query: int) -> Softmax | None:
    """The running softmax of a query at a moment; None while it has seen no key."""
    seen, earlier = moment.seen[query], moment.seen[query] & ~moment.is_new[query]
    if not seen.any():
        return None
    maximum = scores[query, seen].max()
    weights = (scores[query] - maximum).exp().where(seen, torch.zeros(()))
    rescaled = (scores[query, earlier].max() - maximum).exp().item() if earlier.any() else 1.0
    return Softmax(maximum.item(), weights.sum().item(), weights, rescaled)


def _groups(accesses: Sequence[Access]) -> Iterator[list[Access]]:
    for _, same in groupby(accesses, key=lambda each: (each.kind, each.start, each.stop)):
        group: list[Access] = []
        for access in same:
            if access.name in [each.name for each in group]:
                yield group
                group = []
            group.append(access)
        yield group


def _waits(names: Sequence[str], coming: list[list[Access]]) -> bool:
    """Whether a tile of Q or of K waits for the other, which is loaded next.

    Loading the same again is the next turn of a loop, which says that this one is over.
    """
    more = {access.name for group in coming for access in group if access.kind == "load"}
    return bool((more & SCORED) - set(names))


def _with(rows: Tensor | None, new: tuple[int, int], n_rows: int) -> Tensor:
    marked = torch.zeros(n_rows, dtype=torch.bool) if rows is None else rows.clone()
    marked[slice(*new)] = True
    return marked


def _pairs(on_chip: dict[str, tuple[int, int]], name: str, n_rows: int, is_causal: bool) -> Tensor:
    """The queries on the chip with the rows of K or V there: (N N)."""
    marked = torch.zeros(n_rows, n_rows, dtype=torch.bool)
    marked[slice(*on_chip["Q"]), slice(*on_chip[name])] = True
    return marked.tril() if is_causal else marked
