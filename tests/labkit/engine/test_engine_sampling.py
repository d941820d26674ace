"""Drawing and accepting where the logits are."""

from __future__ import annotations

import pytest
import torch

from labkit.engine.sampling import accept, draw, left_over, warped

LOGITS = torch.tensor([[1.0, 3.0, 2.0, 0.0], [0.5, 0.5, -1.0, 2.0]])


def law(logits):
    return logits.softmax(dim=-1)


def test_warping_is_temperature_then_the_largest_then_the_mass():
    before = LOGITS.clone()
    assert torch.equal(law(warped(LOGITS, 1)), law(LOGITS))
    torch.testing.assert_close(law(warped(LOGITS, 0.5)), law(2 * LOGITS))
    assert law(warped(LOGITS, 0)).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]
    assert (law(warped(LOGITS, 1, top_k=2)) > 0).tolist()[0] == [False, True, True, False]
    kept = law(warped(LOGITS, 1, top_p=0.6))
    assert (kept > 0).sum(dim=-1).tolist() == [1, 1]
    assert (law(warped(LOGITS, 1, top_p=0.65)) > 0).tolist()[0] == [False, True, True, False]
    assert torch.equal(LOGITS, before)


def test_draws_follow_the_law():
    torch.manual_seed(0)
    n = 40_000
    drawn = draw(LOGITS[:1].expand(n, -1)).bincount(minlength=4) / n
    assert (drawn - law(LOGITS[0])).abs().max() < 0.01  # four standard deviations of one cell
    alone = warped(LOGITS, 0)
    assert draw(alone.repeat(50, 1)).tolist() == [1, 3] * 50


@pytest.mark.parametrize("n_kept", [0, 1, 2])
def test_what_is_left_is_what_the_target_has_beyond_the_draft(n_kept):
    generator = torch.Generator().manual_seed(1)
    target, draft = torch.randn(3, 6, generator=generator), torch.randn(2, 6, generator=generator)
    found = law(left_over(torch.tensor([n_kept]), draft, target))[0]
    p = law(target[n_kept])
    beyond = (p - law(draft[n_kept])).clamp_min(0) if n_kept < 2 else p
    torch.testing.assert_close(found, beyond / beyond.sum())


def test_where_nothing_is_left_the_target_is():
    same = LOGITS[:1]
    found = law(left_over(torch.tensor([0]), same, LOGITS))
    torch.testing.assert_close(found, law(same))


def test_greedy_tokens_stay_as_long_as_the_target_says_the_same():
    target = warped(torch.eye(5)[[3, 1, 4]], 0)
    for drafted, n_kept, after in (([3, 1], 2, 4), ([3, 2], 1, 1), ([0, 1], 0, 3)):
        draft = warped(torch.eye(5)[drafted], 0)
        found = accept(torch.tensor(drafted), draft, target)
        assert [each.item() for each in found] == [n_kept, after]


def test_a_draft_of_the_same_law_is_always_kept():
    torch.manual_seed(0)
    for _ in range(50):
        drafted = draw(LOGITS)
        n_kept, _ = accept(drafted, LOGITS, torch.cat([LOGITS, LOGITS[:1]]))
        assert n_kept.item() == 2


def test_blocks_follow_the_law_of_the_target():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(2)
    target, draft = torch.randn(2, 3, generator=generator), torch.randn(1, 3, generator=generator)
    first, n = torch.zeros(3), 6000
    for _ in range(n):
        drafted = draw(draft)
        n_kept, after = accept(drafted, draft, target)
        first[drafted if n_kept else after] += 1 / n
    assert (first - law(target[0])).abs().max() < 0.025
