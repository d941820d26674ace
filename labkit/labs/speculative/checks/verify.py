"""Checks of `verify`: what is kept and put in has together the target's distribution.

All random choices are enumerated, so what is compared are probabilities, not samples. Each check
looks at one part of them, given what the student's code does in the others: a wrong acceptance is
no wrong residual.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise

import torch

from labkit.bridge.student import Student
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusals
from labkit.checks.law import Law, Outcome
from labkit.labs.speculative.checks.blocks import (
    FALLING,
    ONE,
    PLAIN,
    TWO,
    VerifyCase,
    counted_law,
    kept_slips,
    leading_law,
    rejected_counted,
)
from labkit.labs.speculative.checks.calling import call
from labkit.labs.speculative.checks.cases import residual_row
from labkit.labs.speculative.checks.law import TOLERANCE, Claim, Weights, row_law, token_slips

COUNTED = "The rejected token is counted. Return how many come before it."
SURE = replace(ONE, drafted=(2,), kept=(1.0,))
ALWAYS = "The result is always the same here. Compare the ratio with a random number."
ORDINALS = ("first", "second", "third", "fourth")


def n_kept(outcome: Outcome) -> Outcome:
    """How many tokens were kept."""
    return outcome[:1]


def token(outcome: Outcome) -> Outcome:
    """The token after them."""
    return outcome[1:]


_verify = partial(check, "verify", gate=True, parts=("residual",))


@_verify(
    hint="Divide target_probs[i, x] by draft_probs[i, x]. Above 1 means always accept.",
    applies_to=lambda case: case.k == 1,
)
def a_token_is_kept_by_the_ratio(student: Student, case: VerifyCase) -> None:
    """A drafted token is accepted with probability min(1, target / draft)."""
    found = case.found(student)
    is_sure = len(found.of(n_kept)) == 1
    claim = Claim(
        "the probability that {} of 1 drafted tokens are accepted",
        case.n_kept_law,
        {COUNTED: {(1,): 1.0}} if is_counted(student, case) else kept_slips(case),
        ALWAYS if is_sure else "It should be min(1, target / draft) of the drafted token.",
        partial(fits_in, student, {each: kept_slips(each) for each in (ONE, SURE)}),
    )
    claim.expect(found.of(n_kept))


def fits_in(student: Student, slips: Mapping[VerifyCase, Mapping[str, Weights]], slip: str) -> bool:
    """Whether a mistake gives in these cases, too, how many tokens are kept."""
    laws = ((Law(case.found(student).of(n_kept)), slips[case].get(slip)) for case in slips)
    return all(right is None or law.deviation(right) <= TOLERANCE for law, right in laws)


def is_counted(student: Student, case: VerifyCase) -> bool:
    """Whether a rejected token of a block of one is counted as an accepted one."""
    return case.found(student).deviation(rejected_counted(case)) <= TOLERANCE


@_verify(
    hint="Draw a new uniform number for each token, and stop at the first rejection.",
    applies_to=lambda case: case.k > 1 and not case.has_zeros,
)
def each_token_has_a_uniform_of_its_own(student: Student, case: VerifyCase) -> None:
    """Each token is accepted by a random number of its own, up to the first rejection."""
    found = case.found(student)
    alone = [case.alone(i).found(student) for i in range(case.k)]  # as another check asks it
    chances = tuple(one.share(lambda outcome: outcome[0] == 1) for one in alone)
    if all(chance in (0, 1) for chance in chances):
        by_chance = "Accept a token if a uniform random number is below the ratio."
        why = COUNTED if is_counted(student, case.alone(0)) else by_chance
        raise Wrong("accepting a token", expected="chance", got="always the same", why=why)
    claim = Claim(
        f"the probability that {{}} of {case.k} drafted tokens are accepted",
        leading_law(chances),
        block_slips(chances),
        "The probabilities of blocks of one token should multiply here.",
        partial(fits_in, student, {each: block_slips(each.kept) for each in (TWO, FALLING)}),
    )
    claim.expect(found.of(n_kept))


def block_slips(chances: tuple[float, ...]) -> dict[str, Weights]:
    """What known mistakes give if the tokens, each alone, are accepted with these probabilities."""
    shared = [*accumulate(chances, min, initial=1.0), 0.0]
    return {
        "That is one uniform for the whole block: draw one for each token.": {
            (n,): here - further for n, (here, further) in enumerate(pairwise(shared))
        },
        "A token after a rejected one was counted. The first rejection ends the block.": (
            counted_law(chances)
        ),
    }


@_verify(
    hint="Use `residual(target_probs[i], draft_probs[i])` at the rejected position i.",
    applies_to=lambda case: case.k > 0 and min(case.kept) < 1,
)
def a_rejected_token_is_replaced_by_the_residual(student: Student, case: VerifyCase) -> None:
    """After a rejection, the token is drawn from the residual at that position."""
    found = case.found(student)
    for i in range(case.k):
        is_rare = found.share(lambda outcome, i=i: outcome[0] == i) < TOLERANCE
        if case.n_kept_law[(i,)] < TOLERANCE or (i > 0 and is_rare):
            continue  # another check looks at how many are kept
        target, draft = case.target[i], case.draft[i]
        gaps = [abs(a - b) for a, b in zip(target, draft, strict=True)]
        slips = token_slips(case.drafted[i], target, draft, case.after[i])
        slips["That is |target - draft|. Negative differences count as 0."] = row_law(
            gap / sum(gaps) for gap in gaps
        )
        which = ORDINALS[i] if i < len(ORDINALS) else f"{i + 1}th"
        claim = Claim(
            f"the probability that token {{}} comes after the {which} drafted token is rejected",
            row_law(case.after[i]),
            slips,
            "Draw it from `residual` of the two rows at the rejected token.",
        )
        claim.expect(found.of(token, lambda outcome, i=i: outcome[0] == i))


@_verify(
    hint="Draw from `target_probs[-1]`, the row after the last drafted token.",
    applies_to=lambda case: case.k > 0 and min(case.kept) > 0,
)
def a_full_acceptance_gives_one_token_more(student: Student, case: VerifyCase) -> None:
    """If all are accepted, the next token is drawn from the target's last row."""
    found = case.found(student)
    claim = Claim(
        f"the probability that token {{}} comes after all {case.k} are accepted",
        row_law(case.after[-1]),
        {
            "That is the target's row before the last one.": row_law(case.target[-2]),
            "That is the draft's last row. This token comes from the target.": row_law(
                case.draft[-1]
            ),
            "That is the last drafted token once more.": {(case.drafted[-1],): 1.0},
            "That is the residual of the last rows. It is only for rejected tokens.": row_law(
                residual_row(case.target[-1], case.draft[-1])
            ),
            "That is always the most likely token.": {
                (max(range(case.vocab_size), key=case.after[-1].__getitem__),): 1.0
            },
        },
    )
    claim.expect(found.of(token, lambda outcome: outcome[0] == case.k))


@_verify(
    weight=0.5,
    hint="With k = 0, return 0 and a token drawn from `target_probs[-1]`.",
    applies_to=lambda case: case.k == 0,
)
def without_drafts_it_is_a_plain_step(student: Student, case: VerifyCase) -> None:
    """With no drafted token, the result is 0 and a token from the only row."""
    found = case.found(student)
    expected = row_law(case.after[0])
    claim = Claim("the probability of token {} if nothing was drafted", expected)
    claim.expect(found.of(token))


@_verify(
    weight=0.5,
    hint="Add nothing to a probability, and compare with `<`, not `<=`.",
    applies_to=lambda case: case.has_zeros,
)
def what_the_target_excludes_never_comes(student: Student, case: VerifyCase) -> None:
    """A token with target probability 0 never gets into the text."""

    def excluded(text: Outcome) -> bool:
        return any(row[x] == 0 for x, row in zip(text, case.target, strict=False))

    def accepted(outcome: Outcome) -> bool:
        return excluded(case.drafted[: outcome[0]])

    def is_excluded(outcome: Outcome) -> bool:
        return excluded((*case.drafted[: outcome[0]], outcome[1]))

    found = case.found(student)
    tiny = "The probability is tiny. Such a token comes after the accepted ones."
    if found.share(accepted) > found.share(is_excluded) / 2:
        tiny = "The probability is tiny. Such a token is accepted."
    case.expect_never(student, is_excluded, tiny)


@_verify(
    weight=0.5,
    hint="Call `check_rows` first.",
    applies_to=lambda case: case.k > 1 and not case.has_zeros,
    gate=False,
)
def shapes_that_do_not_fit_are_refused(student: Student, case: VerifyCase) -> None:
    """Too few rows, too many rows, or rows of two vocabularies raise ValueError."""
    drafted, draft, target = case.given()
    call(student, "verify", drafted, draft, target, None)
    wider = torch.cat([target, torch.zeros_like(target[:, :1])], dim=1)
    refused = {
        "a drafted token without its row": (draft[:-1], target),
        "no row of the target for the token after them": (draft, target[:-1]),
        "a row of the target too many": (draft, torch.cat([target, target[:1]])),
        "a row of the draft too many": (torch.cat([draft, draft[:1]]), target),
        "two vocabularies": (draft, wider),
    }
    calls = {f"what happens with {what}": (drafted, *rows, None) for what, rows in refused.items()}
    expect_refusals(partial(call, student, "verify"), calls)


@_verify(
    weight=0.5,
    hint="Avoid `-=`, `pop` and methods that end in `_`: they change their argument.",
    applies_to=lambda case: case.k > 1,
)
def what_was_passed_stays_as_it_is(student: Student, case: VerifyCase) -> None:
    """The call changes none of its arguments."""
    case.expect_given_unchanged(student)


@_verify(
    weight=0.5,
    hint="Pass rng on: `torch.rand(..., generator=rng)` and `sample(..., rng)`.",
    applies_to=lambda case: case.k > 1 and not case.has_zeros,
    gate=False,
)
def rng_decides_what_chance_decides(student: Student, case: VerifyCase) -> None:
    """The same state of `rng` gives the same result, and another state another result."""
    case.expect_rng_decides(student, "the numbers kept and the tokens after them")


OPEN_CASES = {
    "verify": [
        SURE,
        ONE,
        TWO,
        VerifyCase(
            (2, 1),
            ((0.25, 0.25, 0.5), (0.25, 0.5, 0.25)),
            ((0.5, 0.25, 0.25), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)),
            (0.5, 0.0),
            ((1.0, 0.0, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)),
        ),
        PLAIN,
    ],
}
