"""Speculative sampling has the target's law, outcome by outcome; caches, ends, errors, costs."""

import pytest
import torch
from every_outcome import deviation, exact_law
from hypothesis import given
from hypothesis import strategies as st

from labkit.labs.speculative.models import Counted, TableModel
from labkit.models.sampling import Block, sample
from labkit.speculative import (
    autoregressive,
    distribution,
    ngram_draft,
    residual,
    speculative,
    verify,
)


def table(seed, vocab_size=3, spread=1.0):
    return TableModel.random(vocab_size, torch.Generator().manual_seed(seed), spread)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def laws(monkeypatch, target, draft, prompt, n_new, gamma, **settings):
    """The exact laws of speculative and of autoregressive sampling."""

    def play():
        target.rewind(0)
        draft.rewind(0)
        return tuple(speculative(target, draft, prompt, n_new, gamma, **settings))

    def play_alone():
        target.rewind(0)
        return tuple(autoregressive(target, prompt, n_new, **settings))

    return exact_law(play, monkeypatch), exact_law(play_alone, monkeypatch)


@pytest.mark.parametrize(
    ("prompt", "n_new", "gamma", "settings"),
    [
        ([0, 1], 3, 2, {}),
        ([2], 3, 1, {"eos": 1}),
        ([2, 2, 1], 3, 2, {"eos": 0, "temperature": 0.6}),
        ([1], 3, 2, {"top_k": 2}),
        ([1, 0], 3, 2, {"top_p": 0.7, "temperature": 1.5}),
    ],
)
def test_the_law_is_the_targets(monkeypatch, prompt, n_new, gamma, settings):
    law, alone = laws(monkeypatch, table(1), table(2), prompt, n_new, gamma, **settings)
    assert deviation(law, alone) < 1e-12


def test_the_law_holds_through_several_blocks_and_full_acceptances(monkeypatch):
    law, alone = laws(monkeypatch, table(3, 2), table(4, 2), [1, 0], 6, 2)
    assert len(alone) == 64
    assert deviation(law, alone) < 1e-12


def test_the_law_holds_where_supports_are_disjoint_or_the_same(monkeypatch):
    target, draft = torch.zeros(4, 4, 3).double(), torch.zeros(4, 4, 3).double()
    target[:] = torch.tensor([0.5, 0.5, 0])
    draft[:] = torch.tensor([0, 0, 1.0])
    draft[0] = target[0]
    models = TableModel(target), TableModel(draft)
    law, alone = laws(monkeypatch, *models, [2], 3, 2)
    assert deviation(law, alone) < 1e-12
    assert all(2 not in text for text in law)


@given(
    target=st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
    draft=st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
)
def test_one_verified_token_has_the_targets_probabilities(target, draft):
    target_probs = torch.tensor([target, target]).double()
    target_probs /= target_probs.sum(-1, keepdim=True)
    draft_probs = torch.tensor([draft]).double() / sum(draft)

    def play():
        token = int(torch.multinomial(draft_probs[0], 1))
        n_kept, after = verify([token], draft_probs, target_probs)
        return token if n_kept else after

    with pytest.MonkeyPatch.context() as patch:
        law = exact_law(play, patch)
    assert deviation(law, dict(enumerate(target_probs[0].tolist()))) < 1e-12


def test_a_plain_step_draws_from_the_target(monkeypatch):
    target_probs = torch.tensor([[0.5, 0.2, 0.3]])
    law = exact_law(lambda: verify([], target_probs[:0], target_probs), monkeypatch)
    assert law == pytest.approx({(0, 0): 0.5, (0, 1): 0.2, (0, 2): 0.3})


def test_rejected_tokens_are_replaced_from_the_residual():
    left = residual(torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5]))
    assert left.tolist() == [1, 0, 0]
    same = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    assert residual(same, same).equal(same)


@pytest.mark.parametrize("gamma", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_speculation_writes_what_the_target_writes(gamma, seed):
    target, draft = table(seed, 5), table(seed + 10, 5)
    written = speculative(target, draft, [1, 4, 2], 30, gamma, temperature=0)
    assert written == autoregressive(table(seed, 5), [1, 4, 2], 30, temperature=0)


@given(gamma=st.integers(1, 6), n_new=st.integers(0, 14), n_prompt=st.integers(1, 4))
def test_caches_calls_and_lengths(gamma, n_new, n_prompt):
    target, draft = Counted(table(5, 4)), Counted(table(5 + n_new % 2, 4))
    prompt, blocks, fed = [3, 1, 0, 2][:n_prompt], [], []
    target.feed = lambda tokens, feed=target.feed: fed.append(len(tokens)) or feed(tokens)
    new = speculative(target, draft, prompt, n_new, gamma, rng=seeded(n_new), blocks=blocks)
    assert len(new) == n_new == sum(block.n_accepted + 1 for block in blocks)
    text, n_kept = prompt + new, max(0, n_prompt + n_new - 1) if n_new else 0
    assert target._model.tokens == text[:n_kept]
    n_in_draft = draft.n_cached()
    assert draft._model.tokens == text[:n_in_draft] and n_in_draft <= n_kept
    prefills = [n_prompt - 1] if n_new and n_prompt > 1 else []
    assert fed == prefills + [block.n_drafted + 1 for block in blocks]
    assert target.n_feeds == len(fed) and target.n_fed == sum(fed)
    position = n_prompt
    for block in blocks:
        assert block.position == position
        assert block.n_drafted == min(gamma, n_prompt + n_new - position - 1)
        position += block.n_accepted + 1


def test_after_a_full_acceptance_the_draft_gets_its_missing_token_with_the_next():
    draft, fed = table(6), []
    draft.feed = lambda tokens, feed=draft.feed: fed.append(len(tokens)) or feed(tokens)
    blocks = []
    speculative(table(6), draft, [0, 1, 2], 8, 2, rng=seeded(), blocks=blocks)
    assert [block.n_accepted for block in blocks] == [2, 2, 1]
    assert fed == [2, 1, 1, 2, 1, 2]


@pytest.mark.parametrize("gamma", [1, 3])
def test_the_text_ends_at_the_first_end_of_text_token(gamma):
    found = set()
    for seed in range(30):
        target = table(7, 4)
        new = speculative(target, table(8, 4), [2], 9, gamma, eos=2, rng=seeded(seed))
        assert 2 not in new[:-1] and len(new) <= 9
        assert len(new) == 9 or new[-1] == 2
        assert target.n_cached() == len(new)
        found.add(len(new))
    assert 1 in found and len(found) > 3


def test_gamma_may_be_asked_for_before_each_block():
    wanted, blocks = iter([2, 0, 1, 9, 9]), []
    speculative(table(1), table(1), [0], 9, lambda: next(wanted), rng=seeded(), blocks=blocks)
    assert [block.n_drafted for block in blocks] == [2, 0, 1, 2]


def test_a_gamma_that_learns_from_the_text_keeps_the_law(monkeypatch):
    chosen, blocks = set(), []

    def gamma():
        """The draft's part of the text so far, doubled after a block that was accepted in full."""
        return 2 if blocks and blocks[-1].n_accepted == blocks[-1].n_drafted else len(blocks) % 2

    def play():
        target.rewind(0)
        draft.rewind(0)
        blocks.clear()
        text = speculative(target, draft, [1, 0], 6, gamma, blocks=blocks)
        chosen.add(tuple(block.n_drafted for block in blocks))
        return tuple(text)

    def play_alone():
        target.rewind(0)
        return tuple(autoregressive(target, [1, 0], 6))

    target, draft = table(1, 2), table(2, 2)
    law = exact_law(play, monkeypatch)
    assert deviation(law, exact_law(play_alone, monkeypatch)) < 1e-12
    assert len(chosen) > 4


def test_a_block_that_is_drafted_again_after_a_rejection_loses_the_law(monkeypatch):
    def verify_again(drafted, draft_probs, target_probs, rng=None):
        n_kept, token = verify(drafted, draft_probs, target_probs, rng)
        if drafted and n_kept == 0:
            other = sample(draft_probs[0], rng)
            n_kept_then, token = verify([other], draft_probs, target_probs, rng)
            return 0, other if n_kept_then else token
        return n_kept, token

    monkeypatch.setattr("labkit.speculative.verify", verify_again)
    law, alone = laws(monkeypatch, table(1), table(2), [1, 0], 2, 1)
    assert deviation(law, alone) > 0.01
    draft = table(2)
    draft.feed([1])
    preferred = int(draft.feed([0])[-1].argmax())
    share, right = (
        sum(chance for text, chance in each.items() if text[0] == preferred)
        for each in (law, alone)
    )
    assert share > right + 0.01


def test_the_same_stream_gives_the_same_text_and_another_another():
    texts = [speculative(table(1), table(2), [0], 20, 3, rng=seeded(seed)) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 0}, "gamma must be at least 1"),
        ({"n_new": -1}, "n_new must be at least 0"),
        ({"prompt": []}, "prompt is empty"),
        ({"draft": table(1, 4)}, "the target has 3, the draft 4"),
        ({"temperature": -1.0}, "temperature must be at least 0"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"top_p": 2.0}, r"top_p must lie in \(0, 1\]"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    arguments = {"target": table(1), "draft": table(2), "prompt": [0], "n_new": 4, "gamma": 2}
    with pytest.raises(ValueError, match=message):
        speculative(**arguments | change)
    assert arguments["target"].n_cached() == arguments["draft"].n_cached() == 0


@pytest.mark.parametrize("who", ["target", "draft"])
def test_a_cache_of_another_text_is_refused(who):
    models = {"target": table(1), "draft": table(2)}
    models[who].feed([1, 2])
    with pytest.raises(ValueError, match=rf"{who}'s cache holds 2 tokens.*{who}.rewind\(0\)"):
        speculative(**models, prompt=[0], n_new=2, gamma=1)


def test_nothing_is_wanted_nothing_is_fed():
    target, draft = Counted(table(1)), Counted(table(2))
    assert speculative(target, draft, [0, 1], 0, 2) == [] == autoregressive(target, [0, 1], 0)
    assert target.n_feeds == draft.n_feeds == 0


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=6), st.sampled_from([0.1, 1, 30]))
def test_a_distribution_by_its_definition(numbers, temperature):
    logits = torch.tensor(numbers, dtype=torch.float64) / 4
    before = logits.clone()
    weights = torch.exp(logits / temperature)
    expected = weights / weights.sum()
    torch.testing.assert_close(distribution(logits, temperature), expected)
    greedy = distribution(logits, 0)
    assert greedy.sum() == 1 and greedy[numbers.index(max(numbers))] == 1
    top = distribution(logits, temperature, top_k=2)
    kept = sorted(range(len(numbers)), key=lambda i: -numbers[i])[:2]
    assert top.nonzero().flatten().tolist() == sorted(kept)
    torch.testing.assert_close(top[kept], expected[kept] / expected[kept].sum())
    assert logits.equal(before)


def test_top_p_keeps_the_fewest_that_reach_it_after_top_k():
    logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log()
    kept = [distribution(logits, top_p=p).count_nonzero().item() for p in (0.01, 0.5, 0.75, 1)]
    assert kept == [1, 2, 3, 4]
    both = distribution(logits, top_k=2, top_p=0.55)  # of 4/7 and 3/7 the first is enough
    assert both.tolist() == [0, 1, 0, 0]


def test_distributions_of_rows_types_and_extremes():
    rows = distribution(torch.randn(2, 3, 5).to(torch.bfloat16), 0.7, top_p=0.9)
    assert rows.shape == (2, 3, 5) and rows.dtype == torch.float32
    torch.testing.assert_close(rows.sum(-1), torch.ones(2, 3))
    assert distribution(torch.randn(4).double()).dtype == torch.float64
    assert distribution(torch.tensor([1e4, 1e4 - 1, -torch.inf]), 1e-9).tolist() == [1, 0, 0]
    assert distribution(torch.tensor([1.0, 1.0]), 0).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("logits", "settings"),
    [
        ([0.0, float("nan")], {}),
        ([0.0, float("inf")], {}),
        ([-float("inf")] * 2, {}),
        ([0.0, 1.0], {"temperature": -0.1}),
        ([0.0, 1.0], {"temperature": float("nan")}),
        ([0.0, 1.0], {"top_k": 0}),
        ([0.0, 1.0], {"top_p": 0.0}),
        ([0.0, 1.0], {"top_p": 1.1}),
    ],
)
def test_no_distribution_is_made_up(logits, settings):
    with pytest.raises(ValueError):
        distribution(torch.tensor(logits), **settings)


def test_shapes_that_do_not_belong_together_are_refused():
    probs = torch.full((3, 4), 0.25)
    with pytest.raises(ValueError, match=r"2 drafted tokens need .*\(2, 4\).*\(3, 4\)"):
        verify([1, 2], probs, probs)


def test_a_block_that_accepts_more_than_was_drafted_is_refused():
    assert [Block(3, n).examined for n in range(4)] == [1, 2, 3, 3]
    assert Block(0, 0).examined == 0
    with pytest.raises(ValueError, match="the token that the target adds does not count"):
        Block(3, 4)


def test_ngrams_are_looked_up_longest_first_and_earliest():
    assert ngram_draft([1, 2, 3, 9, 2, 3, 7, 1, 2, 3], 2) == [9, 2]
    assert ngram_draft([2, 3, 7, 5, 1, 2, 3, 9, 1, 2, 3], 4) == [9, 1, 2, 3]
    assert ngram_draft([2, 3, 7, 5, 1, 2, 3, 9, 1, 2, 3], 1, longest=2) == [7]
    assert ngram_draft([5, 5], 4) == [5]
    assert ngram_draft([1, 2, 3], 4) == [] == ngram_draft([1], 4)
    with pytest.raises(ValueError):
        ngram_draft([1, 1], 0)
