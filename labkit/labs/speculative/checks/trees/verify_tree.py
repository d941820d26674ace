"""Checks of `verify_tree`: the path that is accepted, and the token after it.

All random choices are enumerated, as for `verify`. Each check looks at one part of the
probabilities, given what the student's code does in the others.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations

import torch

from labkit.bridge.student import Student
from labkit.checks.compare import show
from labkit.checks.core import NotJudged, Wrong, check
from labkit.checks.forms import expect_refusals
from labkit.checks.law import Law, Outcome
from labkit.labs.speculative.checks.calling import call
from labkit.labs.speculative.checks.cases import residual_row
from labkit.labs.speculative.checks.law import TOLERANCE, Claim, Weights, row_law, token_slips
from labkit.labs.speculative.checks.trees.nodes import (
    STOPPED,
    TreeCase,
    is_close,
    step_law,
    token,
)
from labkit.labs.speculative.checks.trees.open_cases import OPEN_CASES
from labkit.labs.speculative.checks.trees.slips import (
    LEFT,
    SAME_TOKEN,
    depth_slips,
    normal,
    ratio_slips,
    sibling_slips,
    without_token,
)

_tree = partial(check, "verify_tree", gate=True, parts=("residual",))


@_tree(
    "one",
    hint="Divide the target's row of the parent by the draft's row of the child, both at x.",
)
def an_only_child_is_accepted_by_the_ratio(student: Student, case: TreeCase) -> None:
    """An only child is accepted with probability min(1, target / draft)."""
    others = [each for each in OPEN_CASES["verify_tree"] if each.kind == "one"]
    slips = {
        slip: {(1,): chance, STOPPED: 1 - chance} for slip, chance in ratio_slips(case).items()
    }
    what = "the probability that child {} of node 0 is accepted (0: none is)"
    claim = Claim(
        what,
        step_law(case, 0)[0],
        slips,
        "It should be min(1, target / draft) of the child's token.",
        lambda slip: all(
            abs(each.found(student).share(each.passes(1)) - ratio_slips(each)[slip]) <= TOLERANCE
            for each in others
        ),
    )
    claim.expect(case.found(student).of(case.step_after(0)))


@_tree(
    "order",
    hint="Go through the nodes in the order of their numbers. Sort nothing.",
    weight=0.5,
)
def children_are_tried_in_the_order_of_their_numbers(student: Student, case: TreeCase) -> None:
    """Of siblings that are all accepted if they are tried first, the first is accepted."""
    first, *_, last = case.children(0)
    alone = case.alone(0, first)
    chance, chance_alone = (
        tree.found(student).share(tree.passes(child)) for tree, child in ((case, first), (alone, 1))
    )
    if abs(chance - chance_alone) > TOLERANCE:
        is_last = case.found(student).share(case.passes(last)) > 1 - TOLERANCE
        why = "The last child is tried first." if is_last else "The children are sorted."
        raise Wrong(
            f"the probability that node {first}, the first child of node 0, is accepted",
            expected=f"{chance_alone:.4g}, as if it were the only child",
            got=f"{chance:.4g}",
            why=why,
        )


@_tree(
    "siblings",
    hint="After a rejection, set `left = residual(left, draft_probs[child])`.",
    weight=2,
)
def each_rejection_changes_what_the_next_child_is_compared_with(
    student: Student, case: TreeCase
) -> None:
    """After each rejection, the residual takes the place of the target's distribution."""
    first, *_ = children = case.children(0)
    alone = case.alone(0, first)
    found, found_alone = case.found(student), alone.found(student)
    if not is_close(found_alone.of(alone.step_after(0)), step_law(alone, 0)[0]):
        raise NotJudged("an only child is not accepted by the ratio. Correct that first")
    left_alone = found_alone.of(token, alone.ends_at(0))

    def fits(slip: str) -> bool:
        """Whether an only child that is rejected leaves what this mistake leaves."""
        subtract = LEFT.get(slip, residual_row)
        return is_close(left_alone, row_law(step_law(alone, 0, subtract=subtract)[1]))

    law, left = step_law(case, 0, tried_order(student, case))
    what = "the probability that child {} of node 0 is accepted (0: none is)"
    why = "Compare each child with what the rejections before it have left."
    slips = sibling_slips(case)
    Claim(what, law, slips, why, fits).expect(found.of(case.step_after(0)))
    if not is_close(left_alone, row_law(step_law(alone, 0)[1])):
        return  # another check asks for that
    slips = {slip: row_law(step_law(case, 0, subtract=how)[1]) for slip, how in LEFT.items()}
    last = residual_row(case.target[0], case.draft[children[-1]])
    slips["That is the residual of the last child alone."] = row_law(last)
    slips[SAME_TOKEN] = row_law(step_law(case, 0, case.first_of_each_token(0))[1])
    what = f"the probability that token {{}} comes after all {len(children)} are rejected"
    why = "Draw it from what all rejections have left."
    if law[STOPPED] > TOLERANCE:
        Claim(what, row_law(left), slips, why).expect(found.of(token, case.ends_at(0)))


def tried_order(student: Student, case: TreeCase) -> Sequence[int]:
    """The order of the children that fits what is found; another check asks for the right one."""
    found, children = case.found(student), case.children(0)
    step, at_end = found.of(case.step_after(0)), found.of(token, case.ends_at(0))
    fitting = [
        order for order in permutations(children) if is_close(step, step_law(case, 0, order)[0])
    ]
    if not fitting or tuple(children) in fitting:
        return children
    ends = (order for order in fitting if is_close(at_end, row_law(step_law(case, 0, order)[1])))
    return next(ends, fitting[0])


@_tree(
    "one",
    hint="Draw from `left`, which `residual` has changed.",
)
def after_a_rejection_the_token_is_drawn_from_what_is_left(
    student: Student, case: TreeCase
) -> None:
    """If the only child is rejected, the token is drawn from the residual."""
    law, left = step_law(case, 0)
    at_end = case.found(student).of(token, case.ends_at(0))
    if law[STOPPED] < TOLERANCE:
        return
    target, draft, x = case.target[0], case.draft[1], case.tokens[1]
    slips = token_slips(x, target, draft, left)
    slips["Only the rejected token is removed. Subtract the draft's whole row."] = row_law(
        without_token(target, x)
    )
    what = "the probability that token {} comes after the only child is rejected"
    Claim(what, row_law(left), slips, "Draw it from `residual`.").expect(at_end)


@_tree(
    "deep",
    hint="An accepted child is the next node: only its own children are tried from there on.",
    weight=0.5,
    gate=False,
)
def the_path_goes_from_parent_to_child(student: Student, case: TreeCase) -> None:
    """The path begins at node 0, and each further node is a child of the node before."""
    for outcome in case.found(student).probabilities:
        path = outcome[:-1]
        if path == case.branch(outcome):
            continue
        got = show(list(path))
        if path[:1] != (0,):
            expected, why = "node 0 first", "The path begins with node 0."
        else:
            expected = "each node after its parent"
            skipped = case.parents[path[len(case.branch(outcome))]]
            why = (
                "A sibling of an accepted node is not tried any more."
                if skipped in path
                else "After a rejected child, its children are not tried."
            )
        raise Wrong("the path", expected=expected, got=got, why=why, cause=why)


def branches_found(student: Student, case: TreeCase) -> Law:
    """What is found. Raises: NotJudged if some paths do not go from parent to child."""
    found = case.found(student)
    if any(outcome[:-1] not in case.forms_of(outcome) for outcome in found.probabilities):
        raise NotJudged("the path does not go from parent to child. Correct that first")
    return found


@_tree(
    "deep",
    hint="After an acceptance, go on with the target's row of the accepted node.",
)
def from_an_accepted_child_it_goes_on_as_from_node_0(student: Student, case: TreeCase) -> None:
    """What happens at a node deeper in the tree is what happens if it is node 0."""
    found = branches_found(student, case)
    for node in range(len(case.tokens)):
        children = case.children(node)
        if not children or found.share(case.passes(node)) < TOLERANCE:
            continue
        alone = case.alone(node, *children)
        found_alone = alone.found(student)
        numbers = dict(zip(range(len(children) + 1), (0, *children), strict=True))
        right = {
            (numbers[child],): share
            for (child,), share in found_alone.of(alone.step_after(0)).items()
        }
        step = found.of(case.step_after(node), case.passes(node))
        what = f"the probability that child {{}} of node {node} is accepted (0: none is)"
        why = f"It should be as in a tree that begins at node {node}."
        Claim(what, right, depth_slips(case, node), why).expect(step)
        at_end, at_end_alone = (
            one.of(token, each.ends_at(place))
            for one, each, place in ((found, case, node), (found_alone, alone, 0))
        )
        if not at_end or sum(at_end_alone.values()) < TOLERANCE:
            continue
        what = f"the probability that token {{}} comes after the path ends at node {node}"
        why = "Only the path's node and its own children decide about it."
        Claim(what, normal(at_end_alone), why=why).expect(at_end)


@_tree(
    "deep",
    hint="Draw from the target's row of the last node of the path.",
)
def a_node_without_children_gives_one_token_more(student: Student, case: TreeCase) -> None:
    """If the path ends at a node without children, the token is drawn from its target's row."""
    found = branches_found(student, case)
    for node in range(1, len(case.tokens)):
        at_end = found.of(token, case.ends_at(node))
        if case.children(node) or sum(at_end.values()) < TOLERANCE:
            continue
        depth, parent = len(case.path_to(node)) - 1, case.parents[node]
        others = {
            "That is the target's row of the parent.": case.target[parent],
            "That is the target's last row. Take the row of the path's last node.": (
                case.target[-1]
            ),
            "That is the target's row of node 0.": case.target[0],
            "The row is chosen by depth. Take the row with the node's number.": case.target[depth],
            "That is the draft's row. This token comes from the target.": case.draft[node],
            "That is a residual. No child was rejected at this node.": residual_row(
                case.target[node], case.draft[node]
            ),
        }
        what = f"the probability that token {{}} comes after node {node}, which has no children"
        slips: Mapping[str, Weights] = {slip: row_law(row) for slip, row in others.items()}
        Claim(what, row_law(case.target[node]), slips).expect(at_end)


@_tree(
    "plain",
    weight=0.5,
    hint="With node 0 alone, return [0] and a token drawn from `target_probs[0]`.",
)
def without_guesses_it_is_a_plain_step(student: Student, case: TreeCase) -> None:
    """With node 0 alone, the token comes from the only row."""
    what = "the probability of token {} if node 0 is alone"
    Claim(what, row_law(case.target[0])).expect(case.found(student).of(token))


@_tree(
    "zeros",
    weight=0.5,
    hint="Add nothing to a probability, and compare with `<`, not `<=`.",
)
def what_the_target_excludes_never_gets_into_the_text(student: Student, case: TreeCase) -> None:
    """A token with target probability 0 is neither accepted nor drawn."""

    def excluded(outcome: Outcome) -> bool:
        path = case.branch(outcome)
        texts = [(case.parents[node], case.tokens[node]) for node in path[1:]]
        return any(case.target[row][x] == 0 for row, x in (*texts, (path[-1], outcome[-1])))

    case.expect_never(student, excluded, "The probability is tiny, but not 0.")


@_tree(
    "deep",
    weight=0.5,
    hint="Call `check_tree` first.",
    gate=False,
)
def what_is_no_tree_is_refused(student: Student, case: TreeCase) -> None:
    """Shapes that do not fit, and nodes that do not come after a parent, raise ValueError."""
    tokens, parents, draft, target = case.given()
    call(student, "verify_tree", tokens, parents, draft, target, None)
    wider = torch.cat([target, torch.zeros_like(target[:, :1])], dim=1)
    last = len(tokens) - 1
    refused = {
        "no node": ([], [], draft[:0], target[:0]),
        "a parent too few": (tokens, parents[:-1], draft, target),
        "a parent too many": (tokens, [*parents, 0], draft, target),
        "a node without its row of the draft": (tokens, parents, draft[:-1], target),
        "a row of the draft too many": (tokens, parents, torch.cat([draft, draft[:1]]), target),
        "a node without its row of the target": (tokens, parents, draft, target[:-1]),
        "a row of the target too many": (tokens, parents, draft, torch.cat([target, target[:1]])),
        "two vocabularies": (tokens, parents, draft, wider),
        "a parent after its child": (tokens, [-1, last, *parents[2:]], draft, target),
        "two nodes that are parents of each other": (
            tokens,
            [-1, last, *parents[2:-1], 1],
            draft,
            target,
        ),
        "a node that is its own parent": (tokens, [*parents[:-1], last], draft, target),
        "a second node without a parent": (tokens, [-1, -1, *parents[2:]], draft, target),
        "node 0 with a parent": (tokens, [0, *parents[1:]], draft, target),
        "a parent of -2": (tokens, [*parents[:-1], -2], draft, target),
    }
    calls = {f"what happens with {what}": (*rows, None) for what, rows in refused.items()}
    expect_refusals(partial(call, student, "verify_tree"), calls)


@_tree(
    "deep",
    weight=0.5,
    hint="Avoid `-=`, `pop` and methods that end in `_`: they change their argument.",
)
def the_tree_stays_as_it_is(student: Student, case: TreeCase) -> None:
    """The call changes none of its arguments."""
    case.expect_given_unchanged(student)


@_tree(
    "deep",
    weight=0.5,
    hint="Pass rng on: `torch.rand(..., generator=rng)` and `sample(..., rng)`.",
    gate=False,
)
def rng_decides_about_the_tree(student: Student, case: TreeCase) -> None:
    """The same state of `rng` gives the same result, and another state another result."""
    case.expect_rng_decides(student, "the paths and the tokens after them")
