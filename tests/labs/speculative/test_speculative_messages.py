"""What the checks of lab 6 say of wrong answers: the mistake's own sentence, and no wrong cause."""

import random

import pytest

from autograder.builder.source import find_lab, solved_text
from autograder.labs.speculative.cases.loops import loop_cases
from autograder.proof.matrix import findings_for
from labkit.checks.core import share_of_points
from labkit.checks.law import Law
from labkit.labs.speculative.checks.cases import (
    BLOCK_SLIPS,
    _law_of_blocks,
    _ratio,
    residual_row,
    slips_in,
)
from tests.known import mutants_of

LAB = find_lab("speculative")
DRAFTED = [
    case
    for case in loop_cases(random.Random(5))["speculative"]
    if getattr(case, "kind", "") in ("law", "settings")
]


@pytest.mark.parametrize("case", DRAFTED, ids=str)
def test_blocks_that_are_verified_rightly_give_the_targets_distribution(case):
    law = Law(_law_of_blocks(case, _ratio, residual_row))
    assert law.deviation(case.law()) < 1e-9


@pytest.mark.parametrize("slip", BLOCK_SLIPS)
def test_the_first_case_tells_each_mistake_of_a_block_from_the_others(slip):
    law = Law(_law_of_blocks(DRAFTED[0], *BLOCK_SLIPS[slip]))
    assert slips_in(law, DRAFTED[0], 1e-4) == slip


@pytest.mark.parametrize(
    ("exercise", "title", "said", "unsaid"),
    [
        ("verify", "kept always", "All drafted tokens are accepted", "Draw it from"),
        ("verify", "the ratio upside down", "The ratio is inverted", "are accepted. Compare"),
        ("verify", "eps in the residual", "comes after the accepted ones", "is accepted"),
        (
            "verify_tree",
            "the residual is not taken",
            "rejected child changed nothing",
            "is removed",
        ),
        ("verify_tree", "the rejected token alone is removed", "is removed", "changed nothing"),
        (
            "verify_tree",
            "each residual from the target's own row",
            "of the last child alone",
            "changed nothing",
        ),
        ("verify_tree", "one uniform for all siblings", "One uniform number decides", "begins"),
        ("verify_tree", "the same token is tried once", "the token of an earlier one", "uniform"),
        ("verify_tree", "the last child first", "The last child is tried first", "rejected"),
        ("verify_tree", "always accepted", "The child is always accepted", "inverted"),
        ("verify_tree", "the ratio upside down", "The ratio is inverted", "always accepted"),
        ("verify_tree", "siblings of an accepted node are tried, too", "A sibling of", "uniform"),
        ("verify_tree", "the bonus from the last row", "the target's last row", "the parent"),
        ("acceptance_rate", "whole blocks left out", "accepted whole count", "no token is rej"),
        ("verify_batch", "a full acceptance draws from a residual too", "", "row 0 was subtracted"),
        ("distribution", "temperature last", "temperature comes last", "top-k has cut"),
    ],
)
def test_a_cause_is_named_only_where_it_is_so(exercise, title, said, unsaid):
    (mutant,) = (
        each for each in mutants_of(LAB) if (each.exercise, each.title) == (exercise, title)
    )
    findings = findings_for(LAB, exercise, {exercise: mutant.source})
    text = " ".join(found.message for found in findings if not found.passed)
    assert said in text
    assert unsaid not in text


def test_siblings_drawn_without_replacement_are_named_and_keep_at_most_half():
    title = "a tried token is taken out of the draft, as if drawn without replacement"
    (mutant,) = (each for each in mutants_of(LAB) if each.title == title)
    findings = findings_for(LAB, "verify_tree", {"verify_tree": mutant.source})
    (failed,) = (found for found in findings if not found.passed)
    assert "Siblings are drawn with replacement" in failed.message
    assert sum(share_of_points(findings, 1.5)) == pytest.approx(0.75, abs=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "model"),
    [
        ("target.rewind(len(text) - 1)", "pass", "target"),
        ("target.rewind(len(text) - 1)", "target.rewind(len(text))", "target"),
        ("draft.rewind(min(draft.n_cached(), len(text) - 1))", "pass", "draft"),
    ],
)
def test_one_forgotten_rewind_fails_the_check_that_names_it(old, new, model):
    source = solved_text(next(cell for cell in LAB.cells if cell.name == "speculative"))
    assert old in source
    findings = findings_for(LAB, "speculative", {"speculative": source.replace(old, new)})
    (failed,) = (found for found in findings if not found.passed)
    assert failed.check.name == "caches_hold_the_text_and_nothing_else"
    assert f"Call `{model}.rewind` after each block" in failed.message


def test_a_greedy_draft_keeps_at_most_half():
    source = solved_text(next(cell for cell in LAB.cells if cell.name == "speculative"))
    source = source.replace("sample(draft_probs[-1], rng)", "int(draft_probs[-1].argmax())")
    findings = findings_for(LAB, "speculative", {"speculative": source})
    assert sum(share_of_points(findings, 4)) <= 2
