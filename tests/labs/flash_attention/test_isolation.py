"""One fault, one check: masks, smaller tiles and the parts of other exercises are kept apart."""

import random
from itertools import combinations, product

import pytest
from instances import some_of

from autograder.builder.source import find_lab
from autograder.labs.flash_attention.cases.kernels import kernel_cases
from autograder.proof.matrix import findings_for
from labkit.labs.flash_attention.checks.runs import is_near
from labkit.labs.flash_attention.checks.slips import slipped_outputs
from labkit.models.counted_memory import tiles
from tests.known import mutants_of

LAB = find_lab("flash_attention")
SEEDS = range(200)
WRONG_STEPS = {
    each.title: each.source for each in mutants_of(LAB) if each.exercise == "online_softmax"
}


def edges(case):
    """Where tiles of queries end, and tiles of keys begin."""
    rows, columns = (tiles(case.n_rows, tile) for tile in (case.tile_q, case.tile_kv))
    return [(stop, first) for (_, stop), (first, _) in product(rows, list(columns))]


@pytest.mark.parametrize("exercise", ["flash_attention_1", "flash_attention_2"])
def test_every_seed_meets_every_edge_of_the_mask_with_even_tiles(exercise):
    for seed in SEEDS:
        cases = [c for c in kernel_cases(random.Random(seed))[exercise] if c.kind == "causal"]
        assert all(c.n_rows % c.tile_q == c.n_rows % c.tile_kv == 0 for c in cases)
        met = [edge for case in cases for edge in edges(case)]
        assert {stop - first for stop, first in met} >= {0, 1, -1}
        assert {c.tile_q > c.tile_kv for c in cases} == {True, False}


def test_the_known_mistakes_of_a_case_give_outputs_of_their_own():
    """Otherwise a wrong cause would be named beside the right one; left-out pairs may be both."""
    for seed in SEEDS[:20]:
        for case in kernel_cases(random.Random(seed))["flash_attention_1"]:
            if case.kind not in ("even", "causal"):
                continue
            for (one, first), (other, second) in combinations(slipped_outputs(case).items(), 2):
                alike = first.isfinite().all(-1) & second.isfinite().all(-1)
                if alike.any() and not one.startswith("Pairs"):
                    assert not is_near(first[alike], second[alike]), (case, one, other)


@pytest.mark.parametrize("exercise", ["flash_attention_1", "flash_attention_2"])
@pytest.mark.parametrize("title", some_of(WRONG_STEPS, *[*WRONG_STEPS][::9]))
def test_a_wrong_softmax_costs_its_own_points_alone(exercise, title):
    findings = findings_for(LAB, exercise, {"online_softmax": WRONG_STEPS[title]})
    assert [finding.check.name for finding in findings if not finding.passed] == []


@pytest.mark.parametrize("stub", ["def online_softmax(*parts):\n    raise NotImplementedError", ""])
def test_a_softmax_that_is_missing_costs_its_own_points_alone(stub):
    findings = findings_for(
        LAB, "flash_attention_2", {"online_softmax": stub or "online_softmax = 0"}
    )
    assert all(finding.passed for finding in findings)
