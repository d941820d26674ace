"""Top-P cheapest simple paths: the scorer.

The task is eq. 1-3 of the homework: in a directed graph with non-negative integer weights, list the
`p` simple paths from node 0 to node n_nodes - 1 of least cost, with their costs. Score (eq. 3): the
number of handed-in pairs (path, cost) that are among the best, divided by `p`. What eq. 3 leaves
open is settled so:

* Where several paths tie for the last places, any of them counts, but no more than have a place.
* Pairs are a set: their order does not matter and one that stands twice counts once.
* Only the first `p` different pairs are read, so that listing every path earns nothing extra.
* Where fewer than `p` paths exist, the divisor is their number; but made-up extra pairs cost: it is
  then the number of pairs read. A graph without a path wants an empty list, which scores 1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from training.tasks.items import Score
from training.tasks.tool_calls import ToolCallError, read_call

_N_FAULTS_SHOWN = 4

Edges = Mapping[tuple[int, int], int]


def path_cost(weights: Edges, path: Sequence[int]) -> int:
    """Sum of the weights along a path (eq. 1).

    Raises: KeyError for a step that is not an edge.
    """
    return sum(weights[step] for step in pairwise(path))


def score(answer: str | Mapping[str, Any], facts: Mapping[str, Any]) -> Score:
    """Score an answer that hands its paths in by tool call.

    answer: as `read_call` takes it. facts: "n_nodes", "edges", "p" and the best "weights", sorted.
    """
    try:
        paths, costs = read_call(answer)
    except ToolCallError as error:
        return Score(0.0, str(error), is_valid=False)
    return score_pairs(paths, costs, facts)


def score_pairs(
    paths: Sequence[Sequence[int]], costs: Sequence[int], facts: Mapping[str, Any]
) -> Score:
    """Eq. 3 for paths and the costs claimed for them, by the rules at the top of this file."""
    weights = _edge_weights(facts["n_nodes"], facts["edges"])
    places = Counter(facts["weights"])  # how many of the best paths have which cost
    n_best = len(facts["weights"])
    pairs = list(
        dict.fromkeys((tuple(path), cost) for path, cost in zip(paths, costs, strict=True))
    )
    n_read = min(len(pairs), facts["p"])
    notes = []
    n_hits = 0
    for path, cost in pairs[:n_read]:
        fault = _fault(path, cost, weights, facts["n_nodes"])
        if fault is None and places[cost] > 0:
            places[cost] -= 1
            n_hits += 1
        else:
            notes.append(f"{_shown(path)}: {fault or 'right, but not among the cheapest'}")
    notes = [*notes[:_N_FAULTS_SHOWN], *["..."] * (len(notes) > _N_FAULTS_SHOWN)]
    if len(pairs) < len(paths):
        notes.append("a pair that stands twice counts once")
    if len(pairs) > n_read:
        notes.append(f"only the first {n_read} of {len(pairs)} different pairs are read")
    if list(costs) != sorted(costs):
        notes.append("not sorted by cost, which costs nothing")
    divisor = max(n_best, n_read)
    value = n_hits / divisor if divisor else 1.0
    return Score(value, "; ".join([f"{n_hits} of {divisor}" if divisor else "no path", *notes]))


def _fault(path: tuple[int, ...], cost: int, weights: Edges, n_nodes: int) -> str | None:
    """What is wrong with one pair, or None."""
    if not path or path[0] != 0 or path[-1] != n_nodes - 1:
        return f"does not lead from 0 to {n_nodes - 1}"
    if len(set(path)) < len(path):
        return "visits a node twice"
    for step in pairwise(path):
        if step not in weights:
            return f"there is no edge from {_shown(step[:1])} to {_shown(step[1:])}"
    right = path_cost(weights, path)
    return None if cost == right else f"costs {right}, not {_shown((cost,))}"


def _shown(nodes: Sequence[int]) -> str:
    text = "-".join(map(str, nodes[:20]))
    return text if len(text) <= 60 and len(nodes) <= 20 else f"{text[:60]}..."


def _edge_weights(n_nodes: int, edges: Iterable[Sequence[int]]) -> dict[tuple[int, int], int]:
    if n_nodes < 2:
        raise ValueError(f"a path needs two nodes or more, got n_nodes = {n_nodes}")
    weights: dict[tuple[int, int], int] = {}
    for u, v, weight in edges:
        if not (0 <= u < n_nodes and 0 <= v < n_nodes) or u == v:
            raise ValueError(f"edge {u} -> {v}: wanted two different nodes of 0 to {n_nodes - 1}")
        if (u, v) in weights:
            raise ValueError(f"edge {u} -> {v} stands twice; keep the cheaper one")
        if type(weight) is not int or weight < 0:
            raise ValueError(f"edge {u} -> {v}: wanted a weight of 0, 1, 2 ..., got {weight!r}")
        weights[u, v] = weight
    return weights
