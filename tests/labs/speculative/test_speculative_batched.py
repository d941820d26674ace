"""Rows of a batch: each has the law, and when greedy the text, that it has alone."""

from itertools import product

import pytest
import torch
from every_outcome import deviation, exact_law
from hypothesis import given
from hypothesis import strategies as st
from instances import some_of
from rows_model import RowsModel

from labkit import zoo
from labkit.engine.cached import EngineBatch, EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.labs.speculative.batched import speculative_batch
from labkit.labs.speculative.models import CopyDraft, TableModel
from labkit.speculative import autoregressive, ngram_draft, speculative, verify_batch

PROMPTS = [[1], [0, 1, 1], [1, 0]]


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def table(seed, vocab_size=2):
    return TableModel.random(vocab_size, seeded(seed))


def rows(seed, n_rows, vocab_size=2):
    return RowsModel([table(seed, vocab_size) for _ in range(n_rows)])


def law_alone(monkeypatch, prompt, n_new, **settings):
    target = table(1)

    def play():
        target.rewind(0)
        return tuple(autoregressive(target, prompt, n_new, **settings))

    return exact_law(play, monkeypatch)


@pytest.mark.parametrize("settings", some_of([{}, {"eos": 1}, {"temperature": 0.5}], {"eos": 1}))
def test_rows_are_independent_and_each_has_the_targets_law(monkeypatch, settings):
    target, draft, prompts = rows(1, 2), rows(2, 2), PROMPTS[:2]

    def play():
        target.rewind([0, 0])
        draft.rewind([0, 0])
        texts = speculative_batch(target, draft, prompts, 3, 2, **settings)
        return tuple(map(tuple, texts))

    alone = [law_alone(monkeypatch, prompt, 3, **settings) for prompt in prompts]
    expected = {
        (first, second): alone[0][first] * alone[1][second]
        for first, second in product(alone[0], alone[1])
    }
    assert deviation(exact_law(play, monkeypatch), expected) < 1e-12


@given(
    n_new=st.integers(0, 12),
    gamma=st.integers(1, 5),
    prompts=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=4),
    eos=st.sampled_from([None, 2]),
)
def test_greedy_texts_blocks_and_caches_are_those_of_batch_1(n_new, gamma, prompts, eos):
    models = rows(1, len(prompts), 4), rows(2, len(prompts), 4)
    blocks = []
    texts = speculative_batch(
        *models, prompts, n_new, gamma, temperature=0, eos=eos, blocks=blocks
    )  # fmt: skip
    for row, prompt in enumerate(prompts):
        own, target = [], table(1, 4)
        alone = speculative(
            target, table(2, 4), prompt, n_new, gamma, temperature=0, eos=eos, blocks=own
        )
        assert texts[row] == alone
        found = [block for block in blocks if block.prompt_id == str(row)]
        shapes = [[(b.n_drafted, b.n_accepted, b.position) for b in many] for many in (found, own)]
        assert shapes[0] == shapes[1]
        assert models[0].n_cached()[row] == target.n_cached()


@given(st.integers(0, 10**6))
def test_verified_rows_keep_what_their_uniforms_say(seed):
    """The vectorised rule against the sentence: keep until u >= target / draft, row by row."""
    rng = seeded(seed)
    n_rows, k, vocab_size = 6, 4, 5
    target = torch.rand(n_rows, k + 1, vocab_size, generator=rng).double()
    draft = torch.rand(n_rows, k, vocab_size, generator=rng).double()
    drafted = torch.randint(vocab_size, (n_rows, k), generator=rng)
    n_drafted = torch.randint(k + 1, (n_rows,), generator=rng)
    state = rng.get_state()
    uniforms = torch.rand(n_rows, k, generator=rng, dtype=torch.float64)
    rng.set_state(state)
    n_kept, token = verify_batch(drafted, n_drafted, draft, target, rng)
    for row in range(n_rows):
        expected = 0
        while expected < n_drafted[row]:
            x = drafted[row, expected]
            if uniforms[row, expected] >= target[row, expected, x] / draft[row, expected, x]:
                break
            expected += 1
        assert n_kept[row] == expected
        if expected < n_drafted[row]:
            assert (
                target[row, expected, token[row]] > draft[row, expected, token[row]]
                or (target[row, expected] <= draft[row, expected]).all()
            )


def test_what_stands_behind_a_rows_drafts_is_not_looked_at(monkeypatch):
    target = torch.tensor([[[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]])
    for garbage, padding in (([0.2, 0.8], 1), ([0.0, 0.0], -1), ([torch.nan, torch.nan], 99)):
        draft = torch.tensor([[[0.9, 0.1], garbage]])

        def play(draft=draft, padding=padding):
            first = int(torch.multinomial(draft[0, 0], 1))
            drafted, n_drafted = torch.tensor([[first, padding]]), torch.tensor([1])
            (n_kept,), (token,) = verify_batch(drafted, n_drafted, draft, target)
            return (first, int(token)) if n_kept else (int(token),)

        expected = {(0, 0): 0.18, (0, 1): 0.42, (1, 0): 0.03, (1, 1): 0.07, (1,): 0.3}
        assert exact_law(play, monkeypatch) == pytest.approx(expected)


def test_a_batch_of_copying_drafts_and_rows_without_a_draft():
    prompts = [[3, 4, 3, 4, 3], [5], [1, 1, 1, 1]]
    draft, blocks = RowsModel([CopyDraft(ngram_draft, 11) for _ in prompts]), []
    target = RowsModel([table(4, 11) for _ in prompts])
    texts = speculative_batch(target, draft, prompts, 9, 3, temperature=0, blocks=blocks)
    alone = [autoregressive(table(4, 11), prompt, 9, temperature=0) for prompt in prompts]
    assert texts == alone
    first = {block.prompt_id: block.n_drafted for block in reversed(blocks)}
    assert first == {"0": 3, "1": 0, "2": 3}


def test_rows_that_end_early_are_left_alone():
    """A row that has met its end-of-text token is fed nothing more, by either model."""
    target, draft = rows(1, 2, 3), rows(2, 2, 3)
    for seed in range(20):
        target.rewind([0, 0])
        draft.rewind([0, 0])
        blocks = []
        texts = speculative_batch(
            target, draft, [[1], [0, 2]], 8, 3, eos=0, rng=seeded(seed), blocks=blocks
        )  # fmt: skip
        for row, (prompt, text) in enumerate(zip([[1], [0, 2]], texts, strict=True)):
            assert 0 not in text[:-1] and (len(text) == 8 or text[-1] == 0)
            assert target.n_cached()[row] == len(prompt) + len(text) - 1
            own = [block for block in blocks if block.prompt_id == str(row)]
            assert len(text) <= sum(block.n_accepted + 1 for block in own)
            assert own[-1].position < len(prompt) + len(text)


@pytest.mark.parametrize("where", ["target", "draft"])
def test_a_model_gone_wrong_is_an_error_in_any_row(where):
    models = {"target": rows(1, 2), "draft": rows(2, 2)}
    models[where]._models[1]._logits[:] = torch.nan
    with pytest.raises(ValueError, match="finite"):
        speculative_batch(*models.values(), PROMPTS[:2], 3, 2)


def test_batches_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="the target has 2 rows, but there are 3 prompts"):
        speculative_batch(rows(1, 2), rows(2, 3), PROMPTS, 2, 1)
    with pytest.raises(ValueError, match="prompt is empty"):
        speculative_batch(rows(1, 2), rows(2, 2), [[1], []], 2, 1)
    with pytest.raises(ValueError, match="the target has 2, the draft 3"):
        speculative_batch(rows(1, 1), rows(2, 1, 3), [[1]], 2, 1)
    used = rows(1, 1)
    used.feed([[1]])
    with pytest.raises(ValueError, match="target's cache holds other texts"):
        speculative_batch(used, rows(2, 1), [[1]], 2, 1)


def on_engine(n_rows, name="tiny-target"):
    return EngineBatch(Decoder(weights_of(zoo.load(name).model, 64), 64, n_rows))


def test_a_batch_on_the_engine_writes_greedily_what_each_row_writes_alone():
    prompts = [[3, 1, 4, 1, 5, 9, 2], [6], [5, 3, 5], [8, 9, 7, 9]]
    texts = speculative_batch(
        on_engine(4), on_engine(4, "tiny-draft"), prompts, 15, 3, temperature=0
    )
    target = EngineModel(Decoder(weights_of(zoo.load("tiny-target").model, 64), 64))
    for prompt, text in zip(prompts, texts, strict=True):
        target.rewind(0)
        assert text == autoregressive(target, prompt, 15, temperature=0)


def test_a_feed_or_a_rewind_that_one_row_cannot_do_is_done_by_none():
    batch = on_engine(2)
    batch.feed([[1, 2, 3], [4]])
    for wrong, message in (([1, 2], "cannot rewind to 2"), ([1], "zip")):
        with pytest.raises(ValueError, match=message):
            batch.rewind(wrong)
    for wrong, message in (
        ([[], []], "feed at least one token"),
        ([[1]], "2 are wanted, 1 came"),
        ([[1] * 62, [1]], "wanted room for 65 tokens, the arena has 64"),
    ):
        with pytest.raises(ValueError, match=message):
            batch.feed(wrong)
    assert batch.n_cached() == [3, 1]
