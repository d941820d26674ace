"""Acceptance from one text and two passes, against speculative sampling carried out."""

import pytest
import torch

from training.acceptance import Acceptance, acceptance_probs, measure, walk

TARGET = torch.tensor([0.5, 0.3, 0.2])
DRAFT = torch.tensor([0.2, 0.3, 0.5])


def test_at_temperature_0_the_best_tokens_must_agree():
    target = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    draft = torch.tensor([[0.0, 9.0], [1.0, 2.0]])
    assert acceptance_probs(target, draft, torch.tensor([1, 0]), 0.0).tolist() == [1.0, 0.0]


def test_the_mean_over_the_targets_texts_is_the_overlap_of_the_two_laws():
    each = acceptance_probs(
        TARGET.log().expand(3, 3), DRAFT.log().expand(3, 3), torch.arange(3), 1.0
    )
    assert (each * TARGET).sum() == pytest.approx(torch.minimum(TARGET, DRAFT).sum())


def test_temperature_sharpens_both_laws():
    logits = TARGET.log()[None], DRAFT.log()[None]
    sharp = acceptance_probs(*logits, torch.tensor([0]), 0.5)
    target, draft = ((p**2 / (p**2).sum())[0] for p in (TARGET, DRAFT))
    assert sharp.item() == pytest.approx((draft / target).item())


def test_blocks_end_at_a_rejection_or_after_gamma_and_a_token_of_the_target():
    yes, no = True, False
    assert walk([yes, yes, yes, no], gamma=2) == Acceptance(3, 2)  # third is the target's own
    assert walk([no, no, yes], gamma=2) == Acceptance(3, 1)
    assert walk([yes] * 6, gamma=2) == Acceptance(4, 4)
    assert walk([], gamma=3) == Acceptance(0, 0)


class Fixed:
    """A model that predicts one law whatever it has read."""

    device = torch.device("cpu")

    def __init__(self, probs):
        self.logits_of = probs.log()

    def __call__(self, tokens):
        return type("Output", (), {"logits": self.logits_of.expand(1, tokens.shape[1], 3)})


def test_the_count_agrees_with_speculative_sampling_carried_out():
    gamma, n_tokens, rng = 3, 60_000, torch.Generator().manual_seed(5)
    sampled = torch.multinomial(TARGET, n_tokens, replacement=True, generator=rng)
    short_cut = measure(Fixed(TARGET), Fixed(DRAFT), sampled, 1, 1.0, gamma, rng)
    proposed = torch.multinomial(DRAFT, n_tokens, replacement=True, generator=rng)
    kept = torch.rand(n_tokens, generator=rng) < TARGET[proposed] / DRAFT[proposed]
    carried_out = walk(kept.tolist(), gamma)
    # Overlap 0.7; the error of either rate is 0.002, so five of their joint deviations are 0.015.
    assert short_cut.rate == pytest.approx(0.7, abs=0.015)
    assert carried_out.rate == pytest.approx(short_cut.rate, abs=0.015)
