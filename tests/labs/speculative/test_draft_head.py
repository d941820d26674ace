"""A head that drafts from the target's states: same drafts by any way, and the target's own law."""

import pytest
import torch
from cached_models import SIZES, real
from every_outcome import deviation, exact_law
from hypothesis import given
from hypothesis import strategies as st
from transformers import Qwen3Config

from labkit import zoo
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.draft_head import HeadDraft, head_weights, load_head
from labkit.engine.weights import weights_of
from labkit.labs.speculative.experiments import drafts
from labkit.labs.speculative.models import TableModel, TransformersModel
from labkit.labs.speculative.records import OWN, gains
from labkit.labs.speculative.sampled import texts_of
from labkit.labs.speculative.tables import drafts_table
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import Record
from labkit.speculative import acceptance_rate, autoregressive, speculative

N_POSITIONS = 64
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
TOY = real(Qwen3Config(**SIZES | {"vocab_size": 3}), seed=1)
KINDS = ("engine", "transformers")


def toy_head():
    """A head with random weights for the toy."""
    generator = torch.Generator().manual_seed(0)
    layer = {f"layer.{name}": each for name, each in TOY.model.layers[0].state_dict().items()}
    tensors = {"input.weight": torch.empty(16, 32), **layer}
    drawn = {
        name: 0.4 * torch.randn(each.shape, generator=generator) for name, each in tensors.items()
    }
    return Decoder(head_weights(drawn, TOY, N_POSITIONS), N_POSITIONS)


def toy_target(kind):
    if kind == "transformers":
        return TransformersModel(TOY)
    return EngineModel(Decoder(weights_of(TOY, N_POSITIONS), N_POSITIONS))


def exact(text):
    """What a head gives after each token of a text whose states the target has."""
    target = toy_target("engine")
    draft = HeadDraft(toy_head(), target)
    target.feed(text)
    return draft.feed(text)


tokens = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@pytest.mark.parametrize("kind", KINDS)
@given(blocks=st.lists(st.tuples(tokens, tokens, st.integers(0, 4)), min_size=1, max_size=4))
def test_a_token_after_known_states_is_drafted_as_in_one_call(kind, blocks):
    """A block: both are fed, the draft goes on alone, some of that is taken back."""
    target = toy_target(kind)
    draft, text = HeadDraft(toy_head(), target), []
    for fed, drafted, n_kept in blocks:
        target.feed(fed)
        text += fed
        found = draft.feed(text[draft.n_cached() :])
        torch.testing.assert_close(found, exact(text)[-len(found) :], **CLOSE)
        for token in drafted[:-1]:  # the last one is fed with what follows, if it is accepted
            draft.feed([token])
        target.feed(drafted)
        text += drafted[:n_kept]
        target.rewind(len(text))
        draft.rewind(min(draft.n_cached(), len(text)))


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_targets_states_the_head_goes_on_from_its_own_until_they_come(kind):
    target, text = toy_target(kind), [0, 1, 2, 1, 1]
    draft = HeadDraft(toy_head(), target)
    alone = draft.feed(text)  # before the target: some sampler may do it in this order
    first, wanted = exact(text[:1]), exact(text)
    torch.testing.assert_close(alone[:1], first, **CLOSE)
    assert (alone[1:] - wanted[1:]).abs().max() > 0.1
    target.feed(text)
    torch.testing.assert_close(draft.feed([0]), exact([*text, 0])[-1:], **CLOSE)
    draft.rewind(2)
    torch.testing.assert_close(draft.feed(text[2:]), wanted[2:], **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_is_the_targets(monkeypatch, kind):
    target, blocks = toy_target(kind), []
    draft = HeadDraft(toy_head(), target)

    def play():
        target.rewind(0)
        draft.rewind(0)
        return tuple(speculative(target, draft, [0, 1, 0], 3, 2, blocks=blocks))

    def play_alone():
        target.rewind(0)
        return tuple(autoregressive(target, [0, 1, 0], 3))

    law, alone = exact_law(play, monkeypatch), exact_law(play_alone, monkeypatch)
    assert deviation(law, alone) < 1e-5
    assert {block.n_accepted for block in blocks} == {0, 1, 2}


def test_what_cannot_be_fed_or_rewound_leaves_all_as_it_was():
    target = toy_target("engine")
    draft = HeadDraft(toy_head(), target)
    target.feed([0, 1])
    draft.feed([0, 1])
    for wrong in ([], [1] * N_POSITIONS):
        with pytest.raises(ValueError, match=r"feed at least one token|wanted room for"):
            draft.feed(wrong)
    with pytest.raises(ValueError, match="cannot rewind to 3 tokens: 2 are cached"):
        draft.rewind(3)
    target.feed([2])
    torch.testing.assert_close(draft.feed([2]), exact([0, 1, 2])[-1:], **CLOSE)


def test_another_target_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"states of tiny-target as trained .* not of tiny-draft"):
        load_head(zoo.load("tiny-draft", device="cpu"))
    with pytest.raises(ValueError, match="not of tiny-target with random weights"):
        load_head(zoo.load("tiny-target", "random", device="cpu"))
    small = TransformersModel(zoo.load("tiny-draft", device="cpu").model)
    with pytest.raises(ValueError, match=r"width 16 and drafts 3 tokens; .* width 64 and 4,096"):
        HeadDraft(toy_head(), small)
    assert small.feed([1]).shape == (1, 4096) and small.states is None
    with pytest.raises(ValueError, match=r"keeps its states, .* TableModel does not"):
        HeadDraft(toy_head(), TableModel.random(3, torch.Generator().manual_seed(0)))
    busy = toy_target("engine")
    busy.feed([1])
    with pytest.raises(ValueError, match=r"holds 1 tokens of another text; call target\.rewind"):
        HeadDraft(toy_head(), busy)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_head_drafts_what_the_target_accepts_and_changes_no_text(kind):
    loaded = zoo.load("tiny-target", device="cpu")
    target = TransformersModel(loaded.model)
    if kind == "engine":
        target = EngineModel(Decoder(weights_of(loaded.model, 512), 512))
    head, blocks = load_head(loaded, 512), []
    for text in texts_of("tiny", 1):
        target.rewind(0)
        found = speculative(
            target, HeadDraft(head, target), text.tokens, 24, 3, temperature=0, blocks=blocks
        )
        target.rewind(0)
        assert found == autoregressive(target, text.tokens, 24, temperature=0)
    assert acceptance_rate(blocks) > 0.75


def test_three_drafts_are_measured_on_the_same_texts():
    rows = list(drafts(CPU, n_new=5, n_per_source=1, n_samples=2))
    names = ("model", "head", "n-gram")
    ways = ["alone, {}, 5 new", *(f"gamma 3, {{}}, 5 new, {name}" for name in names)]
    groups = ["graph", "instruction", "choice", "pattern", "all"]
    assert [row.setting for row in rows] == [way.format(group) for way in ways for group in groups]
    record = Record(Provenance.here(CPU, "a test"), tuple(rows))
    found = gains(record, experiment="drafts")
    assert len(found) == 15
    assert [row[0] for row in drafts_table(record).rows] == list(names)
    for gain in found:
        has_steps = "n-gram" not in gain.row.setting
        assert ("draft_step_s" in gain.row.counts) == has_steps
        assert list(gain.predicted) in ([OWN], [])
    assert list(drafts(CPU, n_new=5, n_per_source=1, n_samples=2, is_done=lambda key: True)) == []
