"""Cheapest simple paths through a small directed graph, worked out by always extending the
cheapest open path.

The answer shows the whole search, so that each line follows from the one before it: that is what
makes the problem learnable for a model of a few million parameters. It ends with the tool call
that hands the result in.
"""

import json
from bisect import insort
from dataclasses import dataclass
from random import Random

from training.corpus.document import Document

OpenPath = tuple[int, tuple[int, ...]]  # cost first: the order of open paths is that of the tuples

MAX_SHOWN = 40
ASKED = (
    "Find the {p} from node 0 to node {target} in this directed graph.",
    "In the directed graph below, which are the {p} from node 0 to node {target}?",
    "A traveller wants to go from node 0 to node {target}. List the {p}.",
    "Work out the {p} between node 0 and node {target}, step by step.",
)


@dataclass(frozen=True, slots=True)
class Graph:
    """A directed graph on nodes 0 .. n_nodes - 1 with integer weights, at most one edge a way."""

    n_nodes: int
    weights: dict[tuple[int, int], int]

    def next_nodes(self, node: int) -> list[int]:
        """Where one edge leads from `node`, in ascending order."""
        return sorted(v for u, v in self.weights if u == node)

    @property
    def edges(self) -> list[list[int]]:
        return [[u, v, w] for (u, v), w in sorted(self.weights.items())]

    def __str__(self) -> str:
        lines = (
            f"{node} -> " + ", ".join(f"{v} ({self.weights[node, v]})" for v in reached)
            for node in range(self.n_nodes)
            if (reached := self.next_nodes(node))
        )
        return "\n".join(lines)


def draw(rng: Random) -> Document:
    """A problem whose search shows at most `MAX_SHOWN` paths, so that its answer stays short."""
    while True:
        graph, p = draw_graph(rng), rng.randint(1, 3)
        search = cheapest_first(graph, p)
        if sum(1 + len(opened) for _, opened in search) <= MAX_SHOWN:
            return document(graph, p, search, rng)


def draw_graph(rng: Random) -> Graph:
    """A graph of four to seven nodes and about two edges from each, weights 1 to 9."""
    n_nodes = rng.randint(4, 7)
    weights = {}
    for node in range(n_nodes - 1):
        others = [other for other in range(1, n_nodes) if other != node]
        for other in rng.sample(others, min(len(others), rng.choice((1, 2, 2, 3)))):
            weights[node, other] = rng.randint(1, 9)
    return Graph(n_nodes, weights)


def cheapest_first(graph: Graph, p: int) -> list[tuple[OpenPath, list[OpenPath]]]:
    """Search for the `p` cheapest simple paths from node 0 to the last node.

    Returns the steps: the open path that was taken, and those that are open after it. A path that
    arrives is not extended; ties go to the path that comes first in the order of its nodes.
    """
    steps = []
    opened: list[OpenPath] = [(0, (0,))]
    n_arrived = 0
    while opened and n_arrived < p:
        cost, path = opened.pop(0)
        if path[-1] == graph.n_nodes - 1:
            n_arrived += 1
        else:
            for node in graph.next_nodes(path[-1]):
                if node not in path:
                    insort(opened, (cost + graph.weights[path[-1], node], (*path, node)))
        steps.append(((cost, path), list(opened)))
    return steps


def document(
    graph: Graph, p: int, search: list[tuple[OpenPath, list[OpenPath]]], rng: Random
) -> Document:
    """Word a problem and its search."""
    target = graph.n_nodes - 1
    found = [step[0] for step in search if step[0][1][-1] == target]
    paths = [list(path) for _, path in found]
    costs = [cost for cost, _ in found]
    wanted = "cheapest simple path" if p == 1 else f"{p} cheapest simple paths"
    asked = rng.choice(ASKED).format(p=wanted, target=target)
    if p == 1:
        asked = asked.replace("which are", "which is").replace("List the", "Find the")
    call = {"name": "submit_paths", "arguments": {"paths": paths, "weights": costs}}
    return Document(
        source="graph",
        key=f"{p}:{graph}",
        prompt=f"{asked}\n{graph}\nSearch:",
        answer=f"\n{_worked(search, target)}\n{json.dumps(call)}",
        facts={"n_nodes": graph.n_nodes, "edges": graph.edges, "p": p}
        | {"paths": paths, "weights": costs},
    )


def _worked(search: list[tuple[OpenPath, list[OpenPath]]], target: int) -> str:
    lines = []
    n_arrived = 0
    for (cost, path), opened in search:
        line = f"Take {_shown(cost, path)}."
        if path[-1] == target:
            n_arrived += 1
            line += f" It arrives: path {n_arrived}."
        lines.append(f"{line} Open: {', '.join(_shown(*other) for other in opened) or 'none'}.")
    return "\n".join(lines)


def _shown(cost: int, path: tuple[int, ...]) -> str:
    return f"{'-'.join(map(str, path))} ({cost})"
