"""What known mistakes make of a tree: which child is accepted, each with its sentence."""

from collections.abc import Sequence
from functools import partial

from labkit.checks.law import Outcome, gathered
from labkit.labs.speculative.checks.cases import residual_row
from labkit.labs.speculative.checks.law import Weights
from labkit.labs.speculative.checks.trees.nodes import (
    STOPPED,
    Subtract,
    TreeCase,
    accepted,
    step_law,
)

ONE_UNIFORM = "One uniform number decides about several children. Draw one for each child."


def without_token(row: Sequence[float], x: int) -> list[float]:
    """The distribution with one token's probability set to 0."""
    rest = [0.0 if i == x else share for i, share in enumerate(row)]
    return [share / (sum(rest) or 1.0) for share in rest]


SAME_TOKEN = "A child with the token of an earlier one is tried, too, and changes what is left."
LEFT = {
    "The rejected child changed nothing. Put the residual in the target's place.": (
        lambda left, draft, x: left
    ),
    "Only the rejected token is removed. Subtract the draft's whole row: use `residual`.": (
        lambda left, draft, x: without_token(left, x)
    ),
}


def ratio_slips(case: TreeCase) -> dict[str, float]:
    """How probable an only child's acceptance is by known mistakes, each with its sentence."""
    parent, child = (row[case.tokens[1]] for row in case.target)
    draft = case.draft[1][case.tokens[1]]
    return {
        "The child is always accepted. Compare the ratio with a random number.": 1.0,
        "The child is never accepted.": 0.0,
        "The ratio is inverted: divide target by draft.": accepted(draft, parent),
        "Accepted and rejected are exchanged.": 1 - accepted(parent, draft),
        "That is the target's probability alone. Divide it by the draft's.": parent,
        "That is the target's row of the child. Take the row of its parent.": accepted(
            child, draft
        ),
        "A child is accepted if the target gives it more. Compare with a random number.": float(
            parent >= draft
        ),
    }


def sibling_slips(case: TreeCase) -> dict[str, Weights]:
    """Which child is accepted by known mistakes, each with its sentence."""
    anew = partial(anew_from, case.target[0])
    first = case.draft[case.children(0)[0]]
    return {
        **{slip: step_law(case, 0, subtract=how)[0] for slip, how in LEFT.items()},
        "Each residual begins anew from the target's row. Subtract from what is left.": (
            step_law(case, 0, subtract=anew)[0]
        ),
        "The draft's row of the first child is used for all. Each child has its own.": (
            step_law(of_one_draft(case, first), 0)[0]
        ),
        "A tried token is taken out of the draft. Siblings are drawn with replacement: "
        "take the draft's row as it is.": replaced_law(case),
        SAME_TOKEN: step_law(case, 0, case.first_of_each_token(0))[0],
        ONE_UNIFORM: step_of(one_uniform_law(case), case, 0),
    }


def anew_from(
    target: Sequence[float], left: Sequence[float], draft: Sequence[float], x: int
) -> Sequence[float]:
    """What is left if the target's own row is taken after each rejection."""
    return residual_row(target, draft)


def of_one_draft(case: TreeCase, row: Sequence[float]) -> TreeCase:
    """The tree with this draft's row for all nodes."""
    draft = tuple(tuple(row) for _ in case.draft)
    return TreeCase(case.kind, case.tokens, case.parents, draft, case.target)


def replaced_law(case: TreeCase) -> Weights:
    """Which child of node 0 is accepted, if a tried token cannot be drawn again."""
    left, open_share, tried = case.target[0], 1.0, []
    law = {}
    for child in case.children(0):
        x, draft = case.tokens[child], case.draft[child]
        for each in tried:
            draft = without_token(draft, each)
        kept = accepted(left[x], draft[x])
        law[(child,)] = open_share * kept
        open_share *= 1 - kept
        left = residual_row(left, draft)
        tried.append(x)
    return {**law, STOPPED: open_share}


def one_uniform_law(case: TreeCase, subtract: Subtract = residual_row) -> Weights:
    """The paths, if one uniform number decides about all nodes."""
    law: dict[Outcome, float] = {}

    def follow(path: Outcome, low: float, high: float) -> None:
        """All that becomes of the uniforms from low to high at the end of a path."""
        left = case.target[path[-1]]
        for child in case.children(path[-1]):
            x, draft = case.tokens[child], case.draft[child]
            limit = min(max(accepted(left[x], draft[x]), low), high)
            if limit > low:
                follow((*path, child), low, limit)
            low, left = limit, subtract(left, draft, x)
        law[path] = law.get(path, 0.0) + high - low

    follow((0,), 0.0, 1.0)
    return law


def step_of(paths: Weights, case: TreeCase, node: int) -> Weights:
    """Which child follows a node, from the probabilities of paths."""
    given = {(*path, 0): share for path, share in paths.items() if node in path}
    return gathered(given, case.step_after(node))


def normal(weights: Weights) -> Weights:
    """The same with sum 1."""
    total = sum(weights.values())
    return {outcome: share / total for outcome, share in weights.items()}


def depth_slips(case: TreeCase, node: int) -> dict[str, Weights]:
    """Which child of a node is accepted by known mistakes, each with its sentence."""
    depth = len(case.path_to(node)) - 1

    def by_row(row: int) -> Weights:
        target = list(case.target)
        target[node] = case.target[row]
        return step_law(
            TreeCase(case.kind, case.tokens, case.parents, case.draft, tuple(target)), node
        )[0]

    return {
        "That is the target's row of node 0. Take the row of the node itself.": by_row(0),
        "The target's row is chosen by depth. Take the row with the node's number.": by_row(depth),
        ONE_UNIFORM: normal(step_of(one_uniform_law(case), case, node)),
    }
