"""Chunked prefill: each token is made once, no pass is too long, costs are those of its parts."""

import random

import matplotlib

matplotlib.use("agg")

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.labs.batching.chunked import serve_chunked
from labkit.labs.batching.log import DECODE, PREFILL
from labkit.labs.batching.metrics import summarize
from labkit.labs.batching.pauses import draw_pauses, longest_pause_s
from labkit.labs.batching.workload import Job, RooflineCosts, Setup, poisson
from labkit.measuring.roofline import ModelWork, Roofline

COSTS = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
SETUP = Setup(prefill_capacity=2000, decode_capacity=3000, decode_batch=4, max_length=1500)
BUDGET = 64


class Counted:
    """Costs of one second a pass, which keep what each pass was asked for."""

    def __init__(self):
        self.passes = []

    def mixed_s(self, n_sequences, n_cached, pieces):
        self.passes.append((n_sequences, n_cached, list(pieces)))
        return 1.0


jobs = st.lists(
    st.tuples(
        st.integers(1, 1000), st.integers(1, 40), st.floats(0, 30), st.none() | st.integers(1, 30)
    ),
    min_size=1,
    max_size=12,
).map(
    lambda rows: [
        Job(i, n, max_new=most, arrival_s=s, stops_after=stops)
        for i, (n, most, s, stops) in enumerate(rows)
    ]
)


@given(jobs=jobs)
def test_each_request_gets_its_tokens_and_each_prompt_is_computed_once(jobs):
    costs = Counted()
    run = serve_chunked(jobs, SETUP, costs, BUDGET)
    made = [i for event in run.events("prefill", "decode") for i in event.ids]
    assert {job.id: made.count(job.id) for job in jobs} == {
        job.id: job.n_output(SETUP.max_length) for job in jobs
    }
    finished = [i for event in run.events("finish") for i in event.ids]
    assert sorted(finished) == [job.id for job in jobs]
    computed = sum(n for _, _, pieces in costs.passes for n, _, _ in pieces)
    assert computed == sum(job.n_input for job in jobs)
    assert sum(ends for *_, pieces in costs.passes for *_, ends in pieces) == len(jobs)


@given(jobs=jobs)
def test_no_pass_exceeds_the_budget_and_nothing_exceeds_the_card(jobs):
    costs, held = Counted(), {}
    run = serve_chunked(jobs, SETUP, costs, BUDGET)
    for n_sequences, _, pieces in costs.passes:
        assert 0 < n_sequences + sum(n for n, _, _ in pieces) <= BUDGET
    for event in run.log:
        if event.what == "load":
            held[event.ids[0]] = event.tokens
        elif event.what == "free":
            del held[event.ids[0]]
        assert len(held) <= SETUP.decode_batch
        assert sum(held.values()) <= SETUP.decode_capacity
    assert held == {}
    first = [event.ids[0] for event in run.events("load")]
    came = [job.id for job in sorted(jobs, key=lambda job: job.arrival_s)]
    assert first == came


def test_a_run_by_hand():
    costs = Counted()
    jobs = [Job(0, 100, max_new=3), Job(1, 30, max_new=2, arrival_s=0.5)]
    run = serve_chunked(jobs, SETUP, costs, BUDGET)
    assert costs.passes == [
        (0, 0, [(64, 0, False)]),
        (0, 0, [(36, 64, True), (28, 0, False)]),
        (1, 101, [(2, 28, True)]),
        (2, 102 + 31, []),
    ]
    assert [(e.end_s, e.ids) for e in run.events("prefill", server=PREFILL)] == [
        (2.0, (0,)),
        (3.0, (1,)),
    ]
    assert [(e.end_s, e.ids) for e in run.events("finish", server=DECODE)] == [
        (4.0, (0,)),
        (4.0, (1,)),
    ]
    assert summarize(run).prefill_tokens == 65


def test_what_can_never_run_is_refused_and_the_others_are_served():
    jobs = [Job(0, 1400, max_new=200), Job(1, 5000), Job(2, 10, max_new=1)]
    run = serve_chunked(jobs, SETUP, Counted(), BUDGET)
    assert [event.ids for event in run.events("refuse")] == [(1,)]
    assert sorted(i for event in run.events("finish") for i in event.ids) == [0, 2]


def test_running_requests_must_leave_room_for_prompts():
    with pytest.raises(ValueError, match="wanted a budget above the 4 slots, got 4"):
        serve_chunked([Job(0, 10)], SETUP, Counted(), 4)


def test_a_mixed_pass_costs_what_its_only_part_costs():
    assert COSTS.mixed_s(0, 0, [(700, 0, True)]) == pytest.approx(COSTS.prefill_s([700]))
    assert COSTS.mixed_s(8, 4000, []) == pytest.approx(COSTS.decode_s(8, 4000))


def test_pieces_compute_what_the_whole_prompt_computes():
    whole = COSTS.work.flops(900, 0, 1)
    pieces = [COSTS.work.flops(300, at, int(at == 600)) for at in (0, 300, 600)]
    assert sum(pieces) == whole


def test_the_longest_pause_is_that_of_a_pass_and_the_picture_says_so():
    jobs = poisson(40, 6, random.Random(1), n_input=range(800, 1200), n_output=range(5, 60))
    run = serve_chunked(jobs, SETUP, COSTS, BUDGET)
    longest = max(event.end_s - event.begin_s for event in run.events("decode"))
    assert 0 < longest_pause_s(run) <= 2 * longest
    figure = draw_pauses({"chunked": run})
    assert f"{1e3 * longest_pause_s(run):,.0f} ms chunked" in figure.get_suptitle()
