"""The player runs the student's loops under what the sliders say, with and without ipywidgets."""

from statistics import fmean, pstdev

import matplotlib

matplotlib.use("agg")

import pytest
from matplotlib.figure import Figure
from shown import controls_of

from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching import widget as batching_widget
from labkit.labs.batching.log import memory
from labkit.labs.batching.widget import CHOSEN, N_FRAMES, POLICIES, output_lengths, simulate


def run_with(**changed):
    return simulate(PrefillLoop, DecodeLoop, **CHOSEN | changed)


def test_moving_a_slider_runs_the_students_loops_again():
    pytest.importorskip("ipywidgets")
    seen = []

    class Own(DecodeLoop):
        def step(self, server):
            seen.append((server.max_batch, server.capacity))
            super().step(server)

    controls, picture = controls_of(batching_widget.batching_player(PrefillLoop, Own))
    first = picture.value
    assert set(seen) == {(CHOSEN["slots"], CHOSEN["memory"])}
    controls["slots"].value = 2
    controls["memory"].value = 4096
    assert seen[-1] == (2, 4096)
    assert picture.value.startswith("<figure") and picture.value != first


def test_playing_shows_the_run_from_its_beginning_and_serves_nobody_again():
    pytest.importorskip("ipywidgets")
    made = []

    def make():
        made.append(1)
        return DecodeLoop()

    controls, picture = controls_of(batching_widget.batching_player(PrefillLoop, make))
    whole = picture.value
    frames = set()
    for frame in (0, N_FRAMES // 2, N_FRAMES - 1):
        controls["time"].value = frame
        frames.add(picture.value)
    assert len(frames | {whole}) == 4 and len(made) == 1
    controls["time"].value = N_FRAMES
    assert picture.value == whole


def test_without_ipywidgets_one_run_is_drawn(no_ipywidgets, capsys):
    assert isinstance(batching_widget.batching_player(PrefillLoop, DecodeLoop), Figure)
    assert "ipywidgets is not installed" in capsys.readouterr().out


def test_the_sliders_mean_what_they_say():
    assert run_with(rate=5).makespan_s > 1.9 * run_with(rate=320).makespan_s
    assert max(len(event.ids) for event in run_with(slots=2).events("decode")) == 2
    assert max(tokens for _, tokens, _ in memory(run_with(memory=4096))) == 4096
    assert pstdev(output_lengths(0.0)) == 0
    spreads = [
        pstdev(lengths) / fmean(lengths) for lengths in map(output_lengths, (0.25, 0.5, 1.0))
    ]
    assert spreads == sorted(spreads) and spreads[0] > 0.15


@pytest.mark.parametrize("batches", POLICIES)
@pytest.mark.parametrize("rate", [5, 320])
@pytest.mark.parametrize("memory", [2048, 65_536])
def test_every_way_of_batching_serves_everybody(batches, rate, memory):
    run = run_with(batches=batches, rate=rate, memory=memory)
    assert run.stopped == ""
    assert len({i for event in run.events("finish") for i in event.ids}) == len(run.jobs)


def test_continuous_batches_are_done_first_where_lengths_differ():
    ends = {name: run_with(rate=320, memory=65_536, batches=name).makespan_s for name in POLICIES}
    assert min(ends, key=ends.get) == "continuous"


def test_loops_that_give_up_are_told_so():
    class Idle:
        def step(self, server):
            """Does nothing."""

    run = simulate(PrefillLoop, Idle, **CHOSEN)
    title = batching_widget.draw(run).get_suptitle()
    assert title.startswith("stopped: nothing more is done")
