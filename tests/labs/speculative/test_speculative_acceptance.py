"""Estimates of acceptance and predictions: published tables, closed forms, known truths."""

import random
from dataclasses import replace
from itertools import product

import pytest
import torch
from every_outcome import exact_law
from hypothesis import given
from hypothesis import strategies as st

from autograder.labs.speculative.cases.gains import right_rules
from labkit import kit
from labkit.labs.speculative.models import TableModel
from labkit.labs.speculative.records import alpha_of_ratio, counts_of, student_quantile
from labkit.labs.speculative.rules import one_token, toy_probs
from labkit.models.sampling import Block
from labkit.speculative import (
    acceptance_rate,
    best_gamma,
    speculative,
    speedup,
    verify,
)

alphas = st.floats(0, 1)


def tokens_per_block(alpha, gamma):
    """The speedup where drafts are free and a verification is as fast as a step."""
    return speedup(alpha, gamma, 0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("alpha", "gamma", "speed"),
    [
        (0.6, 2, 1.96),
        (0.7, 3, 2.53),
        (0.8, 2, 2.44),
        (0.8, 5, 3.69),
        (0.9, 2, 2.71),
        (0.9, 10, 6.86),
    ],
)
def test_table_1_of_leviathan(alpha, gamma, speed):
    assert round(speedup(alpha, gamma, 0, 1, 1), 2) == speed


@pytest.mark.parametrize(
    ("gamma", "alpha", "cost", "theory"),
    [
        (7, 0.75, 0.02, 3.2),
        (7, 0.80, 0.04, 3.3),
        (7, 0.82, 0.11, 2.5),
        (7, 0.62, 0.02, 2.3),
        (5, 0.68, 0.04, 2.4),
        (3, 0.71, 0.11, 2.0),
        (5, 0.65, 0.02, 2.4),
        (5, 0.73, 0.04, 2.6),
        (3, 0.74, 0.11, 2.0),
        (5, 0.53, 0.02, 1.9),
        (3, 0.55, 0.04, 1.8),
        (3, 0.56, 0.11, 1.6),
    ],
)
def test_table_4_of_leviathan(gamma, alpha, cost, theory):
    """To 0.1: three of the twelve were computed from less rounded alpha and cost."""
    assert speedup(alpha, gamma, cost, 1, 1) == pytest.approx(theory, abs=0.1)


@pytest.mark.parametrize(
    ("ms_per_token", "speed", "tokens"), [(7.52, 1.92, 2.83), (7.0, 2.01, 3.04), (5.73, 2.46, 3.72)]
)
def test_table_1_of_chen(ms_per_token, speed, tokens):
    """14.1 ms per step of the target, 1.8 of the draft, four drafted tokens."""
    found = (4 * 1.8 + 14.1) / ms_per_token
    assert found == pytest.approx(tokens, abs=0.006)
    alpha = alpha_of_ratio((found - 1) / 4, 4)
    assert tokens_per_block(alpha, 4) == pytest.approx(found)
    assert 14.1 / ms_per_token == pytest.approx(speed, abs=0.05)
    assert speedup(alpha, 4, 1.8, 14.1, 14.1) == pytest.approx(14.1 / ms_per_token)


BEST = {  # by alpha: gamma and speedup for the cost of a draft step, in steps of the target
    0.5: [(4, 1.79), (3, 1.63), (2, 1.46), (1, 1.25), (1, 1.15), (0, 1), (0, 1)],
    0.6: [(6, 2.17), (4, 1.92), (3, 1.67), (2, 1.40), (1, 1.23), (1, 1.07), (0, 1)],
    0.7: [(8, 2.76), (6, 2.35), (4, 1.98), (3, 1.58), (2, 1.37), (1, 1.13), (0, 1)],
    0.8: [(11, 3.82), (8, 3.09), (6, 2.47), (4, 1.87), (3, 1.55), (2, 1.22), (1, 1.01)],
    0.9: [(19, 6.37), (13, 4.67), (10, 3.43), (7, 2.37), (5, 1.87), (3, 1.38), (1, 1.07)],
    0.95: [(31, 9.95), (21, 6.60), (15, 4.48), (10, 2.87), (8, 2.18), (5, 1.51), (2, 1.11)],
}


@pytest.mark.parametrize("alpha", BEST)
def test_the_best_gamma(alpha):
    costs = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.78]
    for cost, (gamma, speed) in zip(costs, BEST[alpha], strict=True):
        assert best_gamma(alpha, cost, 1, lambda k: 1) == gamma
        assert round(speedup(alpha, gamma, cost, 1, 1), 2) == speed


@pytest.mark.parametrize(
    ("alpha", "cost", "slope", "gamma", "speed"),
    [(0.8, 0.1, 0.05, 5, 2.11), (0.8, 0.3, 0.05, 3, 1.44), (0.9, 0.1, 0.05, 8, 2.78),
     (0.8, 0.1, 0.1, 4, 1.87)],
)  # fmt: skip
def test_the_best_gamma_where_verifying_more_takes_longer(alpha, cost, slope, gamma, speed):
    assert best_gamma(alpha, cost, 1, lambda k: 1 + slope * k) == gamma
    assert round(speedup(alpha, gamma, cost, 1, 1 + slope * gamma), 2) == speed


@given(alphas, st.floats(0.01, 1.5))
def test_speculation_helps_if_and_only_if_alpha_exceeds_the_cost(alpha, cost):
    """Leviathan et al., Corollary 3.9; not asked within rounding of equality."""
    if abs(alpha - cost) > 1e-9:
        assert (best_gamma(alpha, cost, 1, lambda k: 1) > 0) == (alpha > cost)


@given(alphas, st.integers(0, 12))
def test_the_tokens_of_a_block_are_the_average_over_where_the_rejection_falls(alpha, gamma):
    average = sum(alpha**n * (1 - alpha) * (n + 1) for n in range(gamma))
    average += alpha**gamma * (gamma + 1)
    assert tokens_per_block(alpha, gamma) == pytest.approx(average)


def test_what_is_no_chance_is_refused():
    for alpha in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="alpha is a probability"):
            tokens_per_block(alpha, 2)
    with pytest.raises(ValueError, match="gamma"):
        tokens_per_block(0.5, -1)
    with pytest.raises(ValueError, match="no drafted token was examined"):
        acceptance_rate([Block(0, 0)])


def ratio_of_alpha(alpha, gamma):
    return (tokens_per_block(alpha, gamma) - 1) / gamma


def test_accepted_over_drafted_falls_with_gamma_and_converts_back():
    assert [round(ratio_of_alpha(0.8, gamma), 3) for gamma in (2, 3, 5, 7)] == [
        0.720, 0.651, 0.538, 0.452,
    ]  # fmt: skip
    published = {2: 0.685, 3: 0.620, 5: 0.525, 7: 0.467}
    found = [alpha_of_ratio(ratio, gamma) for gamma, ratio in published.items()]
    assert max(found) - min(found) < 0.04
    for alpha, gamma in product([0, 0.3, 0.999, 1], [1, 2, 9]):
        assert alpha_of_ratio(ratio_of_alpha(alpha, gamma), gamma) == pytest.approx(alpha, abs=1e-9)


def simulated(alpha, gamma, n_blocks, rng, prompt_id=""):
    for _ in range(n_blocks):
        n = next((i for i in range(gamma) if rng.random() >= alpha), gamma)
        yield Block(gamma, n, prompt_id=prompt_id)


def interval(blocks):
    counts = counts_of(blocks)
    return counts["alpha_low"], counts["alpha_high"]


def test_intervals_hold_the_truth_as_often_as_they_say():
    """600 runs at 95 %: the count is within 5 standard errors (27 runs) of 570."""
    rng, held = random.Random(0), 0
    for _ in range(600):
        low, high = interval(simulated(0.7, 4, 80, rng))
        held += low <= 0.7 <= high
    assert abs(held - 570) < 27


def test_intervals_at_the_ends_stay_inside_and_are_no_points():
    none, every = interval([Block(2, 0)] * 10), interval([Block(2, 2)] * 10)
    assert none[0] == pytest.approx(0) and 0.2 < none[1] < 0.4
    assert every[1] == pytest.approx(1) and 0.8 < every[0] < 0.9


def as_one_prompt(blocks):
    return [replace(block, prompt_id="") for block in blocks]


def test_prompts_of_unlike_difficulty_widen_the_interval():
    rng = random.Random(1)
    chances = [0.5, 0.9] * 10
    unlike = [
        block for i, chance in enumerate(chances) for block in simulated(chance, 3, 40, rng, str(i))
    ]  # fmt: skip
    alike = [block for i in range(20) for block in simulated(0.7, 3, 40, rng, str(i))]
    widths = []
    for blocks in (unlike, alike):
        (low, high), (least, most) = interval(blocks), interval(as_one_prompt(blocks))
        widths.append((high - low) / (most - least))
    assert widths[0] > 2 and 1 <= widths[1] < 1.5


def test_a_few_prompts_of_unlike_difficulty_hold_the_truth_as_often_as_they_say():
    """600 runs of five prompts at 95 %: the count is within 5 standard errors (27 runs) of 570."""
    rng, held = random.Random(0), 0
    for _ in range(600):
        blocks = []
        for i in range(5):
            blocks += simulated(rng.uniform(0.5, 0.9), 1, 40, rng, str(i))
        low, high = interval(blocks)
        held += low <= 0.7 <= high
    assert abs(held - 570) < 27


def test_prompts_that_are_alike_by_chance_leave_an_interval():
    blocks = [Block(2, 2, prompt_id=name) for name in "abab"]
    low, high = interval(blocks)
    assert high == 1 and low == interval(as_one_prompt(blocks))[0] < 0.7


def test_quantiles_of_students_t():
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 19: 2.093, 100: 1.984}
    for n_degrees, quantile in table.items():
        assert student_quantile(n_degrees) == pytest.approx(quantile, abs=6e-4)


def overlap(target_probs, draft_probs):
    return float(target_probs.minimum(draft_probs).sum())


def test_the_overlap_is_the_chance_of_acceptance(monkeypatch):
    target = torch.tensor([[0.5, 0.3, 0.2], [1, 0, 0]]).double()
    draft = torch.tensor([[0.1, 0.3, 0.6]]).double()

    def play():
        return verify([int(torch.multinomial(draft[0], 1))], draft, target)[0]

    law = exact_law(play, monkeypatch)
    assert law[1] == pytest.approx(overlap(target[0], draft[0])) == pytest.approx(0.6)


def test_blocks_of_a_real_run_agree_with_the_overlap_of_its_models():
    """One context only, so alpha is its overlap; within 4 standard errors of 3,000 trials."""
    rows = torch.rand(2, 5, generator=torch.Generator().manual_seed(3)).double()
    rows /= rows.sum(-1, keepdim=True)
    target, draft = (TableModel(row.expand(6, 6, 5)) for row in rows)
    alpha, blocks = overlap(rows[0], rows[1]), []
    rng = torch.Generator().manual_seed(0)
    speculative(target, draft, [0], 4000, 3, rng=rng, blocks=blocks)
    assert counts_of(blocks)["examined"] > 3000
    assert abs(acceptance_rate(blocks) - alpha) < 4 * (alpha * (1 - alpha) / 3000) ** 0.5


def outcomes_of(rule, draft_probs, target_probs):
    def play(source):
        with kit.scripted(source):
            return one_token(rule, draft_probs, target_probs)

    return kit.exact_law(play)


def is_lossless(rule, draft_probs, target_probs):
    found = outcomes_of(rule, draft_probs, target_probs).of(lambda outcome: outcome[1:])
    tokens = [found.get((token,), 0.0) for token in range(len(target_probs))]
    return tokens == pytest.approx(target_probs.tolist(), abs=1e-9)


def test_three_of_five_rules_keep_the_targets_distribution():
    rows = torch.rand(20, 2, 4, generator=torch.Generator().manual_seed(5)).double()
    pairs = (rows / rows.sum(-1, keepdim=True)).unbind()
    for rule, right in right_rules().items():
        assert all(is_lossless(rule, *pair) for pair in pairs) == right["lossless"], rule
        assert is_lossless(rule, *toy_probs(1.0)) == right["lossless"], rule
        assert is_lossless(rule, *toy_probs(0.2)) == right["lossless"], rule


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_what_a_rule_keeps_by_every_outcome_is_its_closed_form(temperature):
    for rule, right in right_rules().items():
        outcomes = outcomes_of(rule, *toy_probs(temperature))
        assert outcomes.share(lambda outcome: outcome[0]) == pytest.approx(
            right["kept"][temperature]
        )


def test_the_lossless_rule_that_keeps_most_is_another_at_a_low_temperature():
    lossless = {rule: right for rule, right in right_rules().items() if right["lossless"]}
    most = {t: max(lossless, key=lambda rule: lossless[rule]["kept"][t]) for t in (1.0, 0.2)}
    assert most == {1.0: "ratio", 0.2: "one_hot"}


def test_a_rule_without_a_name_is_refused():
    with pytest.raises(ValueError, match=r"one of ratio, one_hot, .* not 'typical'"):
        one_token("typical", *toy_probs(1.0))
