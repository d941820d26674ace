"""Models with a cache: a rewound cache is a fresh one, a tree is its paths, copies propose."""

from functools import partial

import pytest
import torch
from cached_models import REAL, real
from every_outcome import deviation, exact_law
from hypothesis import given
from hypothesis import strategies as st

from labkit.labs.speculative.models import CopyDraft, Counted, TableModel, TransformersModel
from labkit.labs.speculative.trees import ancestor_mask, depths
from labkit.speculative import autoregressive, distribution, ngram_draft, speculative


def table(seed, vocab_size=3):
    return TableModel.random(vocab_size, torch.Generator().manual_seed(seed))


def fresh(kind):
    return table(0, 11) if kind == "table" else TransformersModel(REAL[kind])


def uncached(kind, text):
    """The logits of a text in one forward pass, without a cache."""
    if kind == "table":
        return fresh(kind).feed(text)
    with torch.inference_mode():
        return REAL[kind](torch.tensor([text]), use_cache=False).logits[0]


KINDS = ["table", *REAL]
tokens = st.lists(st.integers(0, 10), min_size=1, max_size=5)


@pytest.mark.parametrize("kind", KINDS)
@given(life=st.lists(st.tuples(tokens, st.integers(0, 8)), min_size=1, max_size=5))
def test_through_feeds_and_rewinds_the_logits_are_those_of_the_text(kind, life):
    model, text = fresh(kind), []
    for fed, n_back in life:
        found = model.feed(fed)
        text += fed
        assert model.n_cached() == len(text) and found.shape == (len(fed), 11)
        expected = uncached(kind, text)[-len(fed) :]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        text = text[: max(0, len(text) - n_back)]
        model.rewind(len(text))
        assert model.n_cached() == len(text)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_cached_can_be_kept(kind):
    model = fresh(kind)
    with pytest.raises(ValueError, match="feed"):
        model.feed([])
    model.feed([1, 2, 3])
    for n_cached in (4, -1):
        with pytest.raises(ValueError, match=f"cannot rewind to {n_cached} tokens: 3 are cached"):
            model.rewind(n_cached)


PARENTS = [-1, 0, 0, 1, 1, 2, 5]
NODES = [4, 7, 7, 2, 9, 0, 3]


def path_to(node):
    return [] if node < 0 else [*path_to(PARENTS[node]), node]


@pytest.mark.parametrize("kind", ["table", "qwen3"])
def test_a_tree_in_one_call_has_the_logits_of_its_paths(kind):
    model = fresh(kind)
    model.feed([5, 1, 8])
    found = model.feed_tree(NODES, PARENTS)
    for node in range(len(NODES)):
        path = [NODES[i] for i in path_to(node)]
        expected = uncached(kind, [5, 1, 8, *path])[-1]
        torch.testing.assert_close(found[node], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["table", "qwen3"])
def test_a_path_of_a_tree_is_kept_as_if_it_had_been_fed_alone(kind):
    model = fresh(kind)
    model.feed([5, 1])
    model.feed_tree(NODES, PARENTS)
    model.keep(2, path_to(6))
    assert model.n_cached() == 6
    expected = uncached(kind, [5, 1, *(NODES[i] for i in path_to(6)), 10])[-1]
    torch.testing.assert_close(model.feed([10])[-1], expected, rtol=1e-4, atol=1e-4)


def test_a_tree_is_refused_where_layers_see_only_a_window():
    with pytest.raises(ValueError, match="sliding_attention"):
        fresh("gemma3, windows of 4").feed_tree([1, 2], [-1, 0])


def test_a_tree_that_is_larger_than_the_context_is_refused_and_nothing_is_cached(monkeypatch):
    model = fresh("qwen3")
    monkeypatch.setattr(model._model.config, "max_position_embeddings", 8)
    model.feed([5, 1])
    with pytest.raises(ValueError, match="7 nodes does not fit after 2 cached tokens"):
        model.feed_tree(NODES, PARENTS)
    assert model.n_cached() == 2
    assert len(model.feed_tree(NODES[:6], PARENTS[:6])) == 6


def test_masks_and_depths():
    assert ancestor_mask([-1, 0, 1]).equal(torch.ones(3, 3).tril().bool())
    seen = [[j for j in range(7) if row[j]] for row in ancestor_mask(PARENTS)]
    assert seen == [path_to(node) for node in range(7)]
    assert depths(PARENTS) == [0, 1, 1, 2, 2, 2, 3]
    with pytest.raises(ValueError, match="node 1 must come after its parent, which is node 1"):
        ancestor_mask([-1, 1])


@pytest.mark.parametrize("gamma", [1, 3, 7])
@pytest.mark.parametrize("kind", REAL)
def test_greedy_speculation_on_real_models(kind, gamma):
    prompt = [3, 1, 4, 1, 5]
    alone = autoregressive(fresh(kind), prompt, 24, temperature=0)
    drafts = [fresh(kind), TransformersModel(real(seed=1)), CopyDraft(ngram_draft, 11)]
    for draft in drafts:
        assert speculative(fresh(kind), draft, prompt, 24, gamma, temperature=0) == alone


def test_a_model_accepts_its_own_drafts():
    blocks = []
    rng = torch.Generator().manual_seed(0)
    speculative(fresh("qwen3"), fresh("qwen3"), [1, 2], 21, 4, rng=rng, blocks=blocks)
    assert [block.n_accepted for block in blocks] == [4, 4, 4, 4, 0]


def test_calls_are_counted():
    model = Counted(table(1))
    model.feed([1, 2])
    model.rewind(1)
    model.feed_tree([0, 1, 2], [-1, 0, 0])
    model.keep(1, [0, 2])
    assert (model.n_feeds, model.n_fed, model.n_cached()) == (2, 5, 3)


def test_a_table_says_what_is_wrong_with_it():
    with pytest.raises(ValueError, match=r"\(V\+1 V\+1 V\), not \(3, 3, 3\)"):
        TableModel(torch.full((3, 3, 3), 1 / 3))
    with pytest.raises(ValueError, match="distribution"):
        TableModel(torch.full((4, 4, 3), 0.5))
    with pytest.raises(ValueError, match="from 0 to 2"):
        table(0).feed([-1])


@given(st.lists(st.integers(0, 2), min_size=2, max_size=12), st.integers(1, 4))
def test_a_copying_draft_proposes_what_the_lookup_finds(text, longest):
    draft = CopyDraft(partial(ngram_draft, longest=longest), 3)
    expected = ngram_draft(text, 5, longest)
    logits, proposed = draft.feed(text)[-1], []
    while len(proposed) < len(expected):
        assert distribution(logits).max() == 1
        proposed.append(int(logits.argmax()))
        logits = draft.feed(proposed[-1:])[-1]
    assert proposed == expected
    draft.rewind(len(text) - 1)
    again = draft.feed(text[-1:])[-1]
    assert again.argmax() == expected[0] if expected else torch.isneginf(again).all()


def test_a_copy_goes_on_until_the_text_goes_elsewhere():
    asked = []

    def propose(tokens, n_most):
        asked.append(tokens)
        return [1, 2, 1]

    draft = CopyDraft(propose, 3)
    assert draft.feed([0])[-1].argmax() == 1
    assert draft.feed([1, 2])[-1].argmax() == 1 and len(asked) == 1
    draft.feed([0])
    assert asked == [[0], [0, 1, 2, 0]]
    draft.rewind(4)
    assert len(asked) == 2
    draft.rewind(3)
    draft.feed([1])
    assert asked[-1] == [0, 1, 2, 1]


def after_reference(tokens, n_most):
    """A reference is text that stands before the prompt, and is looked up as that."""
    return ngram_draft([0, 1, 1, 2, 0, *tokens], n_most)


def test_a_reference_is_copied_where_it_goes_on_from_the_text():
    assert after_reference([2, 1, 1], 2) == [2, 0]
    assert CopyDraft(after_reference, 3).feed([2, 2, 1, 1])[-1].argmax() == 2


@pytest.mark.parametrize("propose", [ngram_draft, after_reference])
def test_the_law_is_the_targets_whatever_is_copied(monkeypatch, propose):
    target, prompt, blocks = table(1), [0, 1, 0, 2, 0], []
    draft = CopyDraft(propose, 3)

    def play():
        target.rewind(0)
        draft.rewind(0)
        return tuple(speculative(target, draft, prompt, 4, 2, eos=2, blocks=blocks))

    def play_alone():
        target.rewind(0)
        return tuple(autoregressive(target, prompt, 4, eos=2))

    law, alone = exact_law(play, monkeypatch), exact_law(play_alone, monkeypatch)
    assert deviation(law, alone) < 1e-12
    assert {block.n_accepted for block in blocks} == {0, 1, 2}
