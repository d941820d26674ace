"""Cheapest simple paths: the scorer against hand values and against brute force."""

import itertools
import json
from random import Random

import pytest

from training.tasks import items, paths

# 0 -> 1 -> 3 costs 5, 0 -> 2 -> 3 and 0 -> 3 cost 7, 0 -> 1 -> 2 -> 3 costs 9
EDGES = [[0, 1, 2], [1, 3, 3], [0, 2, 4], [2, 3, 3], [0, 3, 7], [1, 2, 4]]


def facts(p, edges=EDGES, n_nodes=4):
    _, weights = brute_force(n_nodes, edges, p)
    return {"n_nodes": n_nodes, "edges": edges, "p": p, "weights": weights}


def value(pairs, p, edges=EDGES, n_nodes=4):
    found, costs = zip(*pairs, strict=True) if pairs else ((), ())
    return paths.score_pairs(found, costs, facts(p, edges, n_nodes)).value


def brute_force(n_nodes, edges, p):
    """Every order of every set of inner nodes, kept if all its steps are edges."""
    weights = {(u, v): w for u, v, w in edges}
    found = []
    for n_inner in range(n_nodes - 1):
        for inner in itertools.permutations(range(1, n_nodes - 1), n_inner):
            path = [0, *inner, n_nodes - 1]
            if all(step in weights for step in itertools.pairwise(path)):
                found.append((sum(weights[step] for step in itertools.pairwise(path)), path))
    best = sorted(found)[:p]
    return [path for _, path in best], [cost for cost, _ in best]


def random_problem(rng):
    n_nodes = rng.randint(2, 7)
    steps = [(u, v) for u in range(n_nodes) for v in range(n_nodes) if u != v]
    share, heaviest = rng.choice((0.15, 0.35, 0.6, 1.0)), rng.choice((0, 1, 3, 20))
    edges = [[u, v, rng.randint(0, heaviest)] for u, v in steps if rng.random() < share]
    return n_nodes, edges, rng.choice((1, 2, 3, 5, 400))


def test_the_references_of_the_corpus_earn_full_marks():
    for item in items("paths", "dev-test"):
        assert paths.score(item.reference, item.facts).value == 1


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([[0, 1, -1]], "a weight of 0, 1, 2"),
        ([[0, 1, 1.5]], "a weight of 0, 1, 2"),
        ([[0, 1, True]], "a weight of 0, 1, 2"),
        ([[0, 1, 1], [0, 1, 2]], "stands twice"),
        ([[0, 0, 1]], "two different nodes"),
        ([[0, 9, 1]], "two different nodes"),
    ],
)
def test_facts_of_no_such_graph_are_refused(edges, words):
    given = {"n_nodes": 3, "edges": edges, "p": 1, "weights": []}
    with pytest.raises(ValueError, match=words):
        paths.score_pairs([], [], given)
    with pytest.raises(ValueError, match="two nodes"):
        paths.score_pairs([], [], {**given, "n_nodes": 1, "edges": []})


@pytest.mark.parametrize(
    ("pairs", "p", "expected"),
    [
        ([([0, 1, 3], 5), ([0, 2, 3], 7), ([0, 3], 7)], 3, 1),
        ([([0, 3], 7), ([0, 2, 3], 7), ([0, 1, 3], 5)], 3, 1),  # order does not matter
        ([([0, 1, 3], 5), ([0, 1, 3], 5), ([0, 1, 3], 5)], 3, 1 / 3),  # duplicates count once
        ([([0, 1, 3], 6), ([0, 2, 3], 7), ([0, 3], 7)], 3, 2 / 3),  # a wrong weight
        ([([0, 1, 3], 5), ([0, 3], 7)], 2, 1),  # either of the two that tie is right ...
        ([([0, 1, 3], 5), ([0, 2, 3], 7)], 2, 1),
        ([([0, 2, 3], 7), ([0, 3], 7)], 2, 1 / 2),  # ... but there is one place for them
        ([([0, 2, 3], 7), ([0, 3], 7), ([0, 1, 3], 5)], 2, 1 / 2),  # the first p are read
        ([([0, 1, 3], 5), ([0, 1, 3], 5), ([0, 3], 7)], 2, 1),  # p different ones
        ([([0, 1, 2, 3], 9)], 1, 0),  # right, but not among the cheapest
        ([([0, 1, 3], 5)], 3, 1 / 3),
        ([], 3, 0),
        ([([0, 1, 0, 1, 3], 5)], 1, 0),  # not simple
        ([([0, 3, 0, 3], 5)], 1, 0),
        ([([1, 3], 5), ([0, 1], 2), ([], 0)], 3, 0),  # not from 0 to the last node
        ([([0, 99, 3], 5), ([0, -3, 3], 5)], 3, 0),  # unknown nodes
        ([([3, 1, 0], 5)], 1, 0),  # against the arrows
        ([([0, 1, 3], 5), ([0, 1, 3], 6), ([0, 1, 3], 7)], 3, 1 / 3),  # guessing at the weight
        ([([0, 1, 3], 5), ([0, 2, 3], 7), ([0, 3], 7), ([0, 1, 2, 3], 9)], 9, 1),  # all there are
        ([([0, 1, 3], 5), ([0, 2, 3], 7), ([0, 3], 7), ([0, 2, 1, 3], 9)], 9, 3 / 4),
        ([([0, 1, 3], 5), ([0, 2, 3], 7)], 9, 1 / 2),
    ],
)
def test_score_equals_hand_values(pairs, p, expected):
    assert value(pairs, p) == pytest.approx(expected)


def test_made_up_paths_cost_where_fewer_exist():
    edges = [[0, 1, 1], [1, 2, 1]]
    right, invented = ([0, 1, 2], 2), ([0, 2], 1)
    assert value([right], 3, edges, 3) == 1
    assert value([right, invented], 3, edges, 3) == 1 / 2
    assert value([invented, right, ([0, 2], 9)], 3, edges, 3) == pytest.approx(1 / 3)


def test_no_path_wants_an_empty_answer():
    assert value([], 2, [[0, 1, 1]], 3) == 1
    assert value([([0, 2], 1)], 2, [[0, 1, 1]], 3) == 0


def test_zero_weights_and_ties_on_every_place():
    complete = [[u, v, 0] for u in range(5) for v in range(5) if u != v]
    assert value([([0, 4], 0), ([0, 3, 4], 0), ([0, 1, 2, 3, 4], 0)], 3, complete, 5) == 1
    assert value([([0, 4], 0)] * 3, 3, complete, 5) == pytest.approx(1 / 3)


def test_every_choice_among_tied_paths_earns_full_marks():
    rng = Random(2)
    for _ in range(100):
        n_nodes, edges, p = random_problem(rng)
        everything = list(zip(*brute_force(n_nodes, edges, 10**6), strict=True))
        rng.shuffle(everything)
        everything.sort(key=lambda pair: pair[1])  # stable: ties stay in random order
        chosen = everything[:p]
        rng.shuffle(chosen)
        assert value(chosen, p, edges, n_nodes) == 1


def test_a_walk_in_circles_is_no_path_even_where_that_costs_nothing():
    circle = [[0, 1, 1], [1, 2, 0], [2, 1, 0], [1, 3, 1], [2, 3, 1]]
    assert value([([0, 1, 3], 2), ([0, 1, 2, 3], 2)], 2, circle) == 1
    assert value([([0, 1, 3], 2), ([0, 1, 2, 1, 3], 2)], 2, circle) == 1 / 2


def test_the_reason_says_what_is_wrong():
    call = {"paths": [[0, 1, 3], [0, 2, 3], [0, 1, 2, 3]], "weights": [6, 7, 9]}
    answer = json.dumps({"name": "submit_paths", "arguments": call})
    scored = paths.score(answer, facts(3))
    assert scored.is_valid
    assert scored.reason == (
        "1 of 3; 0-1-3: costs 5, not 6; 0-1-2-3: right, but not among the cheapest"
    )
    call = {"paths": [[0, 3], [0, 1, 3], [0, 1, 3]], "weights": [7, 5, 5]}
    answer = json.dumps({"name": "submit_paths", "arguments": call})
    assert paths.score(answer, facts(2)).reason == (
        "2 of 2; a pair that stands twice counts once; not sorted by cost, which costs nothing"
    )


def test_a_reason_stays_short_however_wild_the_paths():
    rng = Random(3)
    wild = [[rng.randrange(10**300) for _ in range(50)] for _ in range(200)]
    scored = paths.score_pairs(wild, [10**300] * 200, facts(100))
    assert scored.value == 0 and len(scored.reason) < 500
