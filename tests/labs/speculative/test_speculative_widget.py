"""The player shows what speculation does, with the student's functions; widgets or not."""

from itertools import groupby, islice, pairwise

import matplotlib

matplotlib.use("agg")

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from shown import controls_of

from labkit.labs.speculative import widget as speculative_widget
from labkit.labs.speculative.models import TableModel, TransformersModel
from labkit.labs.speculative.moments import GONE, moments
from labkit.labs.speculative.pictures import draw, draw_block
from labkit.labs.speculative.widget import CHOSEN, play, telling_block, token_name
from labkit.speculative import distribution, residual, speculative
from labkit.zoo import load_pair

PAIR = load_pair("tiny", device="cpu")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def table(seed, vocab_size=4):
    return TableModel.random(vocab_size, seeded(seed), spread=1.5)


def whole(model):
    """The model as a function of the whole text."""

    def logits(tokens):
        model.rewind(0)
        return model.feed(tokens)

    return logits


def told(seed=0, n_new=30, gamma=3, **settings):
    models = whole(table(1)), whole(table(2))
    return moments(
        *models, [1, 0], n_new, gamma, distribution, residual, rng=seeded(seed), **settings
    )  # fmt: skip


@given(
    seed=st.integers(0, 10**6),
    gamma=st.integers(1, 6),
    n_new=st.integers(0, 15),
    eos=st.sampled_from([None, 2]),
    temperature=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_what_is_told_is_what_speculation_writes_from_the_same_seed(
    seed, gamma, n_new, eos, temperature
):
    found = told(seed, n_new, gamma, eos=eos, temperature=temperature)
    blocks = []
    text = speculative(
        table(1), table(2), [1, 0], n_new, gamma,
        temperature=temperature, eos=eos, rng=seeded(seed), blocks=blocks,
    )  # fmt: skip
    assert [moment.settled for moment in found if moment.settled is not None] == text
    drafted = [moment.n_calls for moment in found if moment.what == "drafted"]
    accepted = [moment.n_calls for moment in found if moment.what == "accepted"]
    for n, block in enumerate(blocks):
        assert drafted.count(n) == block.n_drafted
        is_cut = n == len(blocks) - 1 and eos is not None and text[-1] == eos
        assert accepted.count(n + 1) == block.n_accepted or is_cut


def test_every_verdict_is_the_uniforms():
    found = told()
    assert {moment.what for moment in found} == {
        "drafted", "accepted", "rejected", "resampled", "bonus",
    }  # fmt: skip
    for moment in found:
        place = moment.place
        if moment.what == "accepted":
            assert place.uniform < place.ratio and place.left is None
        if moment.what in ("rejected", "resampled"):
            assert place.uniform >= place.ratio
            assert place.left.equal(residual(place.target_probs, place.draft_probs))
            assert place.left[place.added] > 0
        if moment.what == "bonus":
            assert place.draft_probs is None and place.target_probs[place.added] > 0


def test_the_marks_grow_into_the_text():
    for before, after in pairwise(told()):
        if after.what == "drafted":
            kept = [mark for mark in before.marks if mark[1] not in GONE]
            assert after.marks == (*kept, (after.place.drafted, "drafted"))
        if after.what == "resampled":
            seen = [mark for mark in before.marks if mark[1] != "unexamined"]
            assert after.marks == (*seen, (after.place.added, "resampled"))
        assert before.n_calls <= after.n_calls <= before.n_calls + 1


def test_the_end_of_the_text_ends_what_is_told():
    for seed in range(20):
        found = told(seed, eos=3)
        settled = [moment.settled for moment in found if moment.settled is not None]
        assert 3 not in settled[:-1]
        assert settled[-1] == 3 or len(settled) == 30


def test_the_telling_block_has_both_verdicts():
    block = telling_block(told())
    assert block[0].what == "accepted" and block[-1].what == "resampled"
    assert [moment.what for moment in telling_block(told(n_new=1))] == ["bonus"]


def words(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def some_of_each_kind(n=5):
    by_kind = groupby(sorted(told(), key=lambda moment: moment.what), lambda moment: moment.what)
    return [moment for _, alike in by_kind for moment in islice(alike, n)]


def test_bars_and_the_line_are_the_numbers():
    for moment in some_of_each_kind():
        figure = draw(moment, str, n_bars=4)
        bars = figure.axes[1]
        widths = {round(patch.get_width(), 6) for patch in bars.patches}
        place = moment.place
        known = [] if moment.what == "drafted" else [place.target_probs]
        known += [] if moment.what == "bonus" else [place.draft_probs]
        assert {round(float(x), 6) for probs in known for x in probs} <= widths
        if moment.what in ("accepted", "rejected"):
            coin = figure.axes[2]
            assert list(coin.lines[0].get_xdata()) == [place.uniform] * 2
            assert coin.patches[0].get_width() == pytest.approx(min(1, place.ratio))
        if moment.what == "resampled":
            lengths = {round(patch.get_width(), 6) for patch in figure.axes[2].patches}
            assert {round(float(x), 6) for x in place.left} <= lengths


def test_a_draft_is_shown_before_the_target_is_asked():
    moment = next(each for each in told() if each.what == "drafted")
    figure = draw(moment, str)
    assert "The target has not looked yet." in words(figure)
    assert len(figure.axes[1].containers) == 1


def test_all_writing_stays_inside_and_apart():
    """Even with the longest tokens; and a dollar stays a dollar."""
    for moments_shown in ([each] for each in some_of_each_kind(3)):
        figure = draw_block(moments_shown, lambda token: f" $extraordin{token}$")
        figure.draw_without_rendering()
        edges = figure.bbox
        titles = [axes.title if axes.get_title() else axes._left_title for axes in figure.axes]
        boxes = [title.get_window_extent() for title in titles if title.get_text()]
        boxes += [text.get_window_extent() for text in figure.axes[1].texts]
        for i, box in enumerate(boxes):
            assert edges.x0 <= box.x0 and box.x1 <= edges.x1 and box.y1 <= edges.y1
            assert not any(box.overlaps(other) for other in boxes[:i])


def test_sliders_play_the_students_functions_again():
    pytest.importorskip("ipywidgets")
    asked, left = [], []

    def own(logits, temperature):
        asked.append(temperature)
        return distribution(logits, temperature)

    def own_residual(target_probs, draft_probs):
        left.append(1)
        return residual(target_probs, draft_probs)

    controls, picture = controls_of(
        speculative_widget.speculation_player(own, own_residual, PAIR)
    )  # fmt: skip
    assert set(asked) == {1.0} and left
    frames = {picture.value}
    for n in (1, 4, controls["moment"].max):
        controls["moment"].value = n
        frames.add(picture.value)
    assert len(frames) == 4 and all(frame.startswith("<figure") for frame in frames)
    n_asked = len(asked)
    controls["moment"].value = 2
    assert len(asked) == n_asked
    controls["temperature"].value = 0.7
    assert set(asked[n_asked:]) == {0.7} and controls["moment"].value > 0
    longest = controls["moment"].max
    controls["prompt"].value, controls["gamma"].value = "pattern-1", 1
    assert controls["moment"].max != longest


def test_without_ipywidgets_one_block_is_drawn(no_ipywidgets, capsys):
    figure = speculative_widget.speculation_player(distribution, residual, PAIR)
    assert isinstance(figure, Figure)
    assert "ipywidgets is not installed" in capsys.readouterr().out


@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_the_tiny_pair_plays_at_any_temperature(temperature):
    found = play(
        distribution, residual, PAIR, **CHOSEN | {"temperature": temperature, "prompt": "graph-2"}
    )
    assert found[-1].count("accepted", "resampled", "bonus") == 24
    assert draw(found[-1], lambda token: token_name(PAIR, token)).axes


def test_the_tiny_pair_writes_what_it_writes_with_caches():
    found = play(distribution, residual, PAIR, **CHOSEN)
    prompt = [token for token, kind in found[0].marks if kind == "prompt"]
    models = [TransformersModel(loaded.model) for loaded in (PAIR.target, PAIR.draft)]
    text = speculative(*models, prompt, 24, CHOSEN["gamma"], rng=seeded(CHOSEN["seed"]))
    assert [moment.settled for moment in found if moment.settled is not None] == text


def test_line_ends_can_be_seen():
    (token,) = PAIR.target.tokenizer("\n")["input_ids"]
    assert token_name(PAIR, token) == "\N{RETURN SYMBOL}"
    names = {token_name(PAIR, token) for token in range(PAIR.target.vocab_size)}
    assert all(name.isprintable() for name in names) and "\N{REPLACEMENT CHARACTER}" in names
