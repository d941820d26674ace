"""The picture of a run: its lanes and bands are what the log says, and nothing else."""

from itertools import pairwise

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching import timeline
from labkit.labs.batching.driver import serve
from labkit.labs.batching.log import DECODE, HELD, PREFILL, Span, idle, joined, lanes, memory
from labkit.labs.batching.workload import FixedCosts, Job, Setup
from labkit.measuring.plots import COLORS

JOBS = [
    Job(0, n_input=30, max_new=3),
    Job(1, n_input=20, max_new=2),
    Job(2, n_input=30, max_new=2),
    Job(3, n_input=10, max_new=1, arrival_s=1),
    Job(4, n_input=900, max_new=9, arrival_s=1),
]
SETUP = Setup(prefill_batch=2, prefill_capacity=100, decode_batch=1, decode_capacity=50)
BY_HAND = FixedCosts(prefill=2, decode=1, transfer=0.5)


@pytest.fixture(scope="module")
def run():
    return serve(JOBS, SETUP, PrefillLoop(), DecodeLoop(), costs=BY_HAND)


def kinds(spans):
    return [(span.kind, span.begin_s, span.end_s) for span in spans]


def test_a_lane_follows_its_request_from_arrival_to_end(run):
    found = lanes(run)
    assert kinds(found[0]) == [
        ("prefill", 0, 2), ("on its way", 2, 2.5), ("decode", 2.5, 3.5), ("decode", 3.5, 4.5),
    ]  # fmt: skip
    assert kinds(found[1]) == [
        ("prefill", 0, 2), ("on its way", 2, 2.5), ("waiting", 2.5, 4.5), ("decode", 4.5, 5.5),
    ]  # fmt: skip
    assert kinds(found[3]) == [("waiting", 1, 2), ("prefill", 2, 4)]


def test_lanes_without_prefill_end_where_the_request_is_refused(run):
    assert kinds(lanes(run)[4]) == [("waiting", 1, 2)]


def test_lanes_stand_in_the_order_of_arrival():
    jobs = [Job(7, 9, 2, arrival_s=2), Job(3, 9, 2), Job(5, 9, 2, arrival_s=1)]
    found = lanes(serve(jobs, Setup(), PrefillLoop(), DecodeLoop()))
    assert list(found) == [3, 5, 7]


def test_a_request_that_is_loaded_and_not_stepped_is_paused():
    jobs = [Job(0, 20, 4), Job(1, 20, 3, arrival_s=3)]
    shared = serve(jobs, Setup(), PrefillLoop(), DecodeLoop(), costs=BY_HAND, shared=True)
    assert kinds(lanes(shared)[0])[2:] == [
        ("decode", 2.5, 3.5), ("paused", 3.5, 5.5), ("decode", 5.5, 6.5), ("decode", 6.5, 7.5),
    ]  # fmt: skip


def test_a_request_that_never_gives_its_room_back_is_seen_to_hold_it():
    class Keeps(DecodeLoop):
        def step(self, server):
            server.free_kv = lambda request_id: None
            super().step(server)

    kept = serve(JOBS[:3], SETUP, PrefillLoop(), Keeps(), costs=BY_HAND)
    last = lanes(kept)[0][-1]
    assert (last.kind, last.begin_s, last.end_s) == (HELD, 4.5, kept.makespan_s)


def test_work_and_idleness_of_a_server_fill_the_run(run):
    for server in (PREFILL, DECODE):
        busy = [(e.begin_s, e.end_s) for e in run.events("prefill", "decode", server=server)]
        gaps = [(span.begin_s, span.end_s) for span in idle(run, server)]
        ordered = sorted(busy + gaps)
        assert ordered[0][0] == 0 and ordered[-1][1] == run.makespan_s
        assert all(a[1] == b[0] for a, b in pairwise(ordered))


def test_memory_rises_with_loads_fills_with_steps_and_ends_empty(run):
    changes = memory(run)
    assert (2.5, 33, 30) in changes and (2.5, 33, 31) in changes
    assert max(reserved for _, reserved, _ in changes) == 33
    assert all(filled <= reserved for _, reserved, filled in changes)
    assert changes[-1][1:] == (0, 0)


def test_spans_that_touch_are_joined():
    spans = [Span("decode", 0, 1), Span("decode", 1, 2), Span("decode", 3, 4)]
    assert kinds(joined(spans)) == [("decode", 0, 2), ("decode", 3, 4)]
    assert joined([]) == []


def areas(axes, color):
    """The rectangles of one colour, as (left, low, right, high)."""
    return [
        tuple(path.get_extents().extents)
        for part in axes.collections
        if isinstance(part, PolyCollection) and to_hex(part.get_facecolor()[0]) == color
        for path in part.get_paths()
    ]


def test_lanes_are_drawn_where_the_log_says(run):
    axes = timeline.draw(run).axes[0]
    prefills = sorted(areas(axes, COLORS["weights"]))
    assert [(left, right) for left, _, right, _ in prefills] == [(0, 2), (0, 2), (2, 4), (2, 4)]
    assert {round((low + high) / 2) for _, low, _, high in prefills} == {0, 1, 2, 3}
    assert [label.get_text() for label in axes.get_yticklabels()] == list("01234")


def test_nothing_is_drawn_that_is_still_to_come(run):
    axes = timeline.draw(run, now_s=3.0).axes[0]
    shown = areas(axes, COLORS["weights"]) + areas(axes, COLORS["cache"])
    assert max(right for _, _, right, _ in shown) == 3.0
    assert axes.get_xlim() == (0, run.makespan_s)
    assert len(timeline.draw(run, now_s=0.0).axes) == 4


def test_a_prefill_batch_is_as_high_as_its_prompts_are_long(run):
    axes = timeline.draw(run).axes[1]
    (prompt, *_) = areas(axes, COLORS["weights"])
    first = next(run.events("prefill"))
    assert prompt[3] == first.tokens == sum(run.jobs[i].n_input for i in first.ids)


def area(collection):
    """What its outlines enclose."""
    outlines = [path.vertices for path in collection.get_paths()]
    return sum(
        abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(line))) / 2 for line in outlines
    )


def test_too_much_memory_is_red(run):
    class Greedy(DecodeLoop):
        def step(self, server):
            self.running, running = [], self.running
            super().step(server)
            self.running = running + self.running

    def reds(figure):
        parts = figure.axes[3].collections
        return [p for p in parts if to_hex(p.get_facecolor()[0]) == COLORS["too much"]]

    assert sum(map(area, reds(timeline.draw(run)))) == 0
    roomy = Setup(prefill_batch=2, prefill_capacity=100, decode_batch=4, decode_capacity=50)
    over = serve(JOBS[:3], roomy, PrefillLoop(), Greedy(), costs=BY_HAND, errors=(Exception,))
    assert sum(map(area, reds(timeline.draw(over)))) > 0


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_legend_explains_what_is_there_and_nothing_else(run):
    shown = legend_of(timeline.draw(run))
    assert {"waiting", "prefill", "on its way", "decode", "refused"} <= set(shown)
    assert HELD not in shown and "paused" not in shown
    quick = serve([Job(0, 9, 2)], Setup(), PrefillLoop(), DecodeLoop())
    assert not {"waiting", "on its way", "refused"} & set(legend_of(timeline.draw(quick)))


def test_many_requests_show_the_first_and_say_so():
    many = [Job(i, 9, 2) for i in range(timeline.MOST_LANES + 25)]
    figure = timeline.draw(serve(many, Setup(), PrefillLoop(), DecodeLoop()))
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [str(i) for i in range(0, timeline.MOST_LANES, 2)]
    assert "the first 40\nof 65" in figure.axes[0].get_ylabel()


def test_runs_beside_each_other_share_the_scale_of_time(run):
    slow = serve(JOBS, SETUP, PrefillLoop(), DecodeLoop(), costs=FixedCosts(4, 2, 1))
    figure = timeline.draw_beside({"quick": run, "slow": slow})
    lanes_of = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in lanes_of] == ["quick", "slow"]
    assert {axes.get_xlim() for axes in figure.axes} == {(0, slow.makespan_s)}


@pytest.mark.parametrize("jobs", [[], [Job(0, 5000, 3)], [Job(0, 9, 1)]])
def test_runs_in_which_next_to_nothing_happens_are_drawn(jobs):
    empty = serve(jobs, Setup(), PrefillLoop(), DecodeLoop())
    timeline.draw(empty).canvas.draw()
    timeline.draw_beside({"a": empty, "b": empty}).canvas.draw()


def test_figures_are_closed_and_settings_restored(run):
    before = dict(plt.rcParams)
    timeline.draw(run)
    timeline.draw_beside({"once": run})
    assert plt.get_fignums() == [] and dict(plt.rcParams) == before
