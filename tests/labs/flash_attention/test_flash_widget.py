"""The player shows the run of the student's own loops, with and without ipywidgets."""

import matplotlib

matplotlib.use("agg")

import pytest
import torch
from instances import some_of
from matplotlib.figure import Figure
from shown import controls_of

from labkit import flash_attention as flash
from labkit.labs.flash_attention import widget as flash_widget
from labkit.labs.flash_attention.moments import softmax_of
from labkit.labs.flash_attention.widget import (
    CHOSEN,
    HEAD_DIM,
    N_ROWS,
    ORDERS,
    QUERY,
    TILES,
    play,
    telling_moment,
)
from labkit.models.counted_memory import tile_scores, tiles

KERNELS = dict(zip(ORDERS, (flash.flash_attention_1, flash.flash_attention_2), strict=True))
SIZES = ((8, 8), (12, 4), (32, 16), (4, 12))
CASES = [(order, *sizes, causal) for order in ORDERS for sizes in SIZES for causal in (False, True)]


def run_of(order, tile_q, tile_kv, is_causal, kernels=KERNELS):
    return play(kernels, order=order, tile_q=tile_q, tile_kv=tile_kv, is_causal=is_causal)


@pytest.mark.parametrize("case", CASES)
def test_every_pair_is_seen_once_and_the_softmax_ends_right(case):
    run = run_of(*case)
    assert run.stopped == ""
    pairs = torch.ones(N_ROWS, N_ROWS, dtype=torch.bool)
    assert torch.equal(run.moments[-1].seen, pairs.tril() if case[3] else pairs)
    assert torch.equal(
        sum(moment.is_new.int() for moment in run.moments), run.moments[-1].seen.int()
    )
    last = softmax_of(run.scores, run.moments[-1], QUERY)
    logsumexp = last.maximum + torch.tensor(last.total).log()
    stored = run.memory.arrays
    wanted = stored["L"] if case[0] == ORDERS[1] else stored["m"] + stored["l"].log()
    torch.testing.assert_close(logsumexp, wanted[QUERY], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_each_moment_takes_one_pair_of_tiles_and_counts_what_was_moved(case):
    run = run_of(*case)
    _, tile_q, tile_kv, _ = case
    for moment in run.moments:
        assert moment.is_new.any(dim=1).sum() <= tile_q
        assert moment.is_new.any(dim=0).sum() <= tile_kv
    n_bytes = run.moments[-1].n_bytes
    assert n_bytes == {"load": 4 * run.memory.n_read, "store": 4 * run.memory.n_written}
    sizes = [sum(m.n_bytes.values()) for m in run.moments]
    assert sizes == sorted(sizes)


def test_moments_are_read_off_any_order_of_loads():
    def own(memory, tile_q, tile_kv, is_causal):
        """Backwards, V only when it is needed, O in two halves."""
        for start, stop in reversed(list(tiles(memory.n_rows, tile_q))):
            queries = memory.load("Q", start, stop)
            weights = []
            for first, last in tiles(memory.n_rows, tile_kv):
                scores = tile_scores(
                    queries, memory.load("K", first, last), start, first, is_causal
                )
                weights.append(scores.exp() @ memory.load("V", first, last))
            middle = (start + stop) // 2
            memory.store("O", start, sum(weights)[: middle - start])
            memory.store("O", middle, sum(weights)[middle - start :])

    run = run_of(ORDERS[0], 8, 8, False, {ORDERS[0]: own})
    assert run.moments[-1].seen.all() and not run.stopped
    assert run.moments[-1].stored["O"].all()


def test_the_telling_moment_rescales():
    for order in ORDERS:
        run = run_of(**{**CHOSEN, "order": order})
        softmax = softmax_of(run.scores, run.moments[telling_moment(run)], QUERY)
        assert softmax.rescaled < 0.5 and softmax.weights.max() == 1


def words(figure):
    return [text.get_text() for text in figure.texts]


def test_a_kernel_that_fails_is_shown_as_far_as_it_came():
    def fails(memory, *rest):
        memory.load("Q", 0, 8)
        memory.load("K")

    run = run_of(ORDERS[0], 8, 8, False, {ORDERS[0]: fails})
    assert len(run.moments) == 1
    assert words(run.picture(0, 0))[0].startswith("stopped: SramOverflow: 32 rows of K take")

    def nothing(memory, *rest):
        raise NotImplementedError("not $written$ yet")

    run = run_of(ORDERS[0], 8, 8, False, {ORDERS[0]: nothing})
    figure = run.picture(0, 0)
    assert words(figure) == [r"stopped: NotImplementedError: not \$written\$ yet"]
    figure.draw_without_rendering()
    with pytest.raises(NotImplementedError, match="nothing"):  # then the notebook waits
        flash_widget.tile_player(nothing, flash.flash_attention_2)
    assert run_of(ORDERS[0], 8, 8, False, {ORDERS[0]: lambda *rest: None}).picture(0, 0).texts


@pytest.mark.parametrize("order", some_of(ORDERS, ORDERS[1]))
def test_all_writing_stays_inside(order):
    for tile_q, tile_kv in ((4, 4), (32, 32)):
        run = run_of(order, tile_q, tile_kv, True)
        for n in {0, len(run.moments) // 2, len(run.moments) - 1}:
            figure = run.picture(n, N_ROWS - 1)
            figure.draw_without_rendering()
            for text in figure.texts + [each for axes in figure.axes for each in axes.texts]:
                box = text.get_window_extent()
                assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
                assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1


def test_sliders_play_the_students_functions_again():
    pytest.importorskip("ipywidgets")
    asked = []

    def own_1(*given):
        asked.append(("first", *given[1:]))
        flash.flash_attention_1(*given)

    def own_2(*given):
        asked.append(("second", *given[1:]))
        flash.flash_attention_2(*given)

    controls, picture = controls_of(flash_widget.tile_player(own_1, own_2))
    assert asked == [("first", 8, 8, False)]
    frames = {picture.value}
    for n in (1, 20, controls["moment"].max):
        controls["moment"].value = n
        frames.add(picture.value)
    controls["query"].value = 3
    frames.add(picture.value)
    assert len(frames) == 5 and all(frame.startswith("<figure") for frame in frames)
    assert len(asked) == 1
    longest = controls["moment"].max
    controls["order"].value = ORDERS[1]
    assert asked[-1] == ("second", 8, 8, False)
    assert 0 < controls["moment"].value < controls["moment"].max  # at a moment that shows something
    assert controls["moment"].max < longest
    controls["tile of Q"].value, controls["causal"].value = TILES[-1], True
    assert asked[-1] == ("second", TILES[-1], 8, True)


def test_without_ipywidgets_one_moment_is_drawn(no_ipywidgets, capsys):
    assert isinstance(flash_widget.tile_player(*KERNELS.values()), Figure)
    assert "ipywidgets is not installed" in capsys.readouterr().out


def test_every_choice_of_tiles_fits_the_chip():
    for tile in TILES:
        run = run_of(ORDERS[0], tile, TILES[-1], False)
        assert run.stopped == "" and run.memory.sram_bytes == 8 * (tile + TILES[-1]) * HEAD_DIM
