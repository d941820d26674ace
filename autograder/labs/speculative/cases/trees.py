"""Hidden cases of `verify_tree`: trees are drawn until they separate right from wrong."""

import random
from collections.abc import Callable, Iterable, Sequence

from autograder.labs.speculative.cases.steps import random_row
from labkit.checks.law import Law
from labkit.labs.speculative.checks.law import Weights
from labkit.labs.speculative.checks.trees.nodes import STOPPED, TreeCase, step_law
from labkit.labs.speculative.checks.trees.slips import depth_slips, sibling_slips

Row = tuple[float, ...]
MakeRow = Callable[[random.Random, int], Row]
N_TARGETS = 200  # tries for one draft, before another is drawn
VOCAB_SIZE = 6  # of siblings
MARGIN = 0.005  # far more than what single precision leaves
DEEP = (
    (-1, 0, 1, 0, 3),  # numbered branch by branch
    (-1, 0, 0, 2, 1, 1),  # level by level, and mixed
    (-1, 0, 1, 2),  # no branches
    (-1, 0, 1, 1, 0),
)


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run."""
    return {"verify_tree": tree_cases(rng)}


def tree_cases(
    rng: random.Random, row: MakeRow = random_row, shapes: Iterable[Sequence[int]] = DEEP
) -> list[TreeCase]:
    """One case or more of each kind. row: makes a distribution of some tokens."""
    return [
        _one(rng, row, 0.3, 0.8),
        _one(rng, row, 0.3, 0.8),
        _one(rng, row, 1.2, 3),
        _order(rng, row),
        *(_siblings(rng, row, *form) for form in ((2, 2, False), (3, 3, True), (3, 2, True))),
        _siblings(rng, row, 2, 1, False),
        *(_deep(rng, row, parents) for parents in shapes),
        _zeros(rng, row),
        TreeCase("plain", (rng.randrange(4),), (-1,), (row(rng, 4),), (row(rng, 4),)),
    ]


def _star(
    kind: str,
    rng: random.Random,
    row: MakeRow,
    tokens: Sequence[int],
    drafts: Sequence[Row],
    target: Row | None = None,
) -> TreeCase:
    """Guesses with these tokens after node 0."""
    n, vocab_size = len(tokens) + 1, len(drafts[0])
    first = rng.randrange(vocab_size)
    rows = tuple(row(rng, vocab_size) for _ in tokens)
    parents = (-1, *[0] * (n - 1))
    return TreeCase(
        kind,
        (first, *tokens),
        parents,
        (row(rng, vocab_size), *drafts),
        (target or row(rng, vocab_size), *rows),
    )


def _one(rng: random.Random, row: MakeRow, low: float, high: float) -> TreeCase:
    """One guess. Its ratio at the parent's row is between the limits, and at its own row not."""
    while True:
        x, draft = rng.randrange(4), row(rng, 4)
        case = _star("one", rng, row, [x], [draft])
        ratio, own = (target[x] / draft[x] for target in case.target)
        if not low < ratio < high or abs(min(own, 1) - min(ratio, 1)) < 0.1 or ratio > own > 1:
            continue
        if case.target[0][x] < max(case.target[0]) and max(step_law(case, 0)[1]) < 0.85:
            return case


def _order(rng: random.Random, row: MakeRow) -> TreeCase:
    """Three guesses that are accepted if they are tried first; by no value is the first an end."""
    while True:
        low, middle, high = sorted(rng.sample(range(5), 3))
        tokens = [middle, *rng.sample([low, high], 2)]
        case = _star("order", rng, row, tokens, [row(rng, 5) for _ in tokens])
        pairs = [
            (case.target[0][x], draft[x]) for x, draft in zip(tokens, case.draft[1:], strict=True)
        ]
        keys = [[p for p, _ in pairs], [q for _, q in pairs], [p / q for p, q in pairs]]
        if min(keys[2]) > 1.1 and all(sorted(key)[1] == key[0] < max(key) for key in keys):
            return case


def _siblings(rng: random.Random, row: MakeRow, n: int, n_tokens: int, has_rows: bool) -> TreeCase:
    """Guesses after node 0, the first token twice if it has fewer. has_rows: of its own each."""
    n_same = 1 + 2 * (n == 2) + (not has_rows)  # slips that no two such children show
    while True:
        kinds = rng.sample(range(VOCAB_SIZE), n_tokens)
        tokens = [kinds[0]] * (n - n_tokens) + kinds
        first, target = row(rng, VOCAB_SIZE), row(rng, VOCAB_SIZE)
        if not 0.3 < target[tokens[0]] / first[tokens[0]] < 0.8:
            continue
        more = [row(rng, VOCAB_SIZE) for _ in tokens[1:]] if has_rows else [first] * (n - 1)
        case = _star("siblings", rng, row, tokens, [first, *more], target)
        law, left = step_law(case, 0)
        new = [tokens.index(x) + 1 for x in kinds]
        if law[STOPPED] < 0.05 or max(left) > 0.9 or min(law[(child,)] for child in new) < 0.02:
            continue
        if n_tokens < n or _far(law, sibling_slips(case).values(), n_same):
            return case


def _far(law: Weights, slips: Iterable[Weights], n_same: int = 0) -> bool:
    """Whether all but a few of these differ from the law by a margin."""
    return sum(Law(dict(law)).deviation(slip) < MARGIN for slip in slips) <= n_same


def _deep(rng: random.Random, row: MakeRow, parents: Sequence[int]) -> TreeCase:
    """A tree of several levels in which each node is reached."""
    n = len(parents)
    while True:
        tokens, drafts = [rng.randrange(3)], [row(rng, 3)]
        for node in range(1, n):
            before = [i for i in range(1, node) if parents[i] == parents[node]]
            taken = [tokens[i] for i in before]
            tokens.append(rng.choice([x for x in range(3) if x not in taken]))
            drafts.append(drafts[before[0]] if before else row(rng, 3))
        target: list[Row] = []
        for _ in range(N_TARGETS):
            rows = (*target, row(rng, 3), *[(1.0, 0.0, 0.0)] * (n - len(target) - 1))
            case = TreeCase("deep", tuple(tokens), tuple(parents), tuple(drafts), rows)
            if _is_open(case, len(target)):
                target.append(rows[len(target)])
            if len(target) == n:
                return case


def _is_open(case: TreeCase, node: int) -> bool:
    """Whether several things can follow the node, and no row before is taken for its own."""
    own, others = case.target[node], case.target[:node]
    if any(max(abs(a - b) for a, b in zip(own, row, strict=True)) < 0.05 for row in others):
        return False
    if not case.children(node):
        return True
    law, left = step_law(case, node)
    if min(law.values()) < 0.03 or (len(law) == 2 and max(left) > 0.95):
        return False
    is_by_depth = len(case.path_to(node)) - 1 == node
    return node == 0 or _far(law, depth_slips(case, node).values(), n_same=is_by_depth)


def _zeros(rng: random.Random, row: MakeRow) -> TreeCase:
    """Two guesses, of which the target excludes the second; and a row without a likely token."""
    while True:
        case = _siblings(rng, row, 2, 2, False)
        x, y = case.tokens[1:]
        target = list(case.target)
        for i, excluded in ((0, y), (1, rng.randrange(VOCAB_SIZE)), (2, y)):
            rest = list(target[i])
            heir = rng.choice([z for z in range(VOCAB_SIZE) if z not in (x, y, excluded)])
            rest[heir] += rest[excluded]
            rest[excluded] = 0.0
            target[i] = tuple(rest)
        case = TreeCase("zeros", case.tokens, case.parents, case.draft, tuple(target))
        if 0.3 < step_law(case, 0)[0][(1,)] < 0.8:
            return case
