"""One card: what it refuses, what its passes cost, and that the scheduler keeps all rules."""

from dataclasses import replace

import matplotlib

matplotlib.use("agg")

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.batching import Scheduler
from labkit.labs.batching.card import serve_on_card
from labkit.labs.batching.checks import passes
from labkit.labs.batching.log import PREFILL
from labkit.labs.batching.metrics import summarize
from labkit.labs.batching.passes import replay_card
from labkit.labs.batching.replay import faults_of
from labkit.labs.batching.workload import Job, RooflineCosts, Setup
from labkit.measuring.roofline import ModelWork, Roofline

COSTS = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
BUDGET = 64
SETUP = Setup(decode_capacity=3000, decode_batch=4, max_length=1500, budget=BUDGET)
RULES = [each.rule for each in vars(passes).values() if hasattr(each, "rule")]


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


def served(jobs, costs):
    return serve_on_card(jobs, SETUP, Scheduler(), costs=costs)


@given(jobs=jobs)
def test_each_request_gets_its_tokens_and_each_prompt_is_computed_once(jobs):
    costs = Counted()
    run = served(jobs, costs)
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
    run = served(jobs, costs)
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
    first = [*dict.fromkeys(event.ids[0] for event in run.events("load"))]
    came = [job.id for job in sorted(jobs, key=lambda job: job.arrival_s)]
    assert first == came


def test_a_run_by_hand():
    costs = Counted()
    jobs = [Job(0, 100, max_new=3), Job(1, 30, max_new=2, arrival_s=0.5)]
    run = served(jobs, costs)
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
    assert [(e.end_s, e.ids) for e in run.events("finish")] == [
        (4.0, (0,)),
        (4.0, (1,)),
    ]
    assert summarize(run).prefill_tokens == 65


def test_what_can_never_run_is_refused_and_the_others_are_served():
    jobs = [Job(0, 1400, max_new=200), Job(1, 5000), Job(2, 10, max_new=1)]
    run = served(jobs, Counted())
    assert [event.ids for event in run.events("refuse")] == [(1,)]
    assert sorted(i for event in run.events("finish") for i in event.ids) == [0, 2]


@pytest.mark.parametrize("sizes", [{"budget": 15}, {"block_size": 0}, {"budget": 0}])
def test_a_budget_below_one_block_is_refused(sizes):
    setup = replace(SETUP, **sizes)
    with pytest.raises(ValueError, match="a budget of at least one block, got"):
        serve_on_card([Job(0, 10)], setup, Scheduler())


class Passes:
    """A scheduler that gives these pieces to the card, once."""

    def __init__(self, pieces):
        self.pieces = pieces

    def step(self, card):
        card.arrivals()
        card.run_pass(self.pieces)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([], "at least one piece"),
        (7, "at least one piece"),
        ([(0, 0, 5)], r"wanted a piece \(id, start, n, blocks\)"),
        ([(3, 0, 5, [0])], "there is no request 3"),
        ([(0, 0, 0, [0])], "n of at least 1 token"),
        ([(0, -1, 5, [0])], "n of at least 1 token"),
        ([(0, True, 5, [0])], "n of at least 1 token"),
        ([(0, 0, 11, [0])], "request 0 has 10 tokens, and the piece ends at 11"),
        ([(0, 0, 5, 0)], "a list of numbers of blocks"),
        ([(0, 0, 5, ["a"])], "a list of numbers of blocks"),
        ([(0, 0, 5, [])], "there are blocks 0 to"),
        ([(0, 0, 5, [10**6])], "there are blocks 0 to"),
        ([(0, 0, 5, [0]), (0, 5, 5, [0])], "two pieces in one pass"),
        ([(0, 0, 5, [0])] * 3, "got 3 pieces for 2 requests"),
    ],
)
def test_what_no_card_could_compute_is_refused_with_the_reason(pieces, words):
    with pytest.raises(ValueError, match=words):
        serve_on_card([Job(0, 10), Job(1, 5)], SETUP, Passes(pieces))


def test_a_scheduler_that_does_nothing_ends():
    run = serve_on_card(
        [Job(0, 10), Job(1, 5, arrival_s=9.0)], SETUP, Passes(None), errors=(ValueError,)
    )
    assert "raised" in run.stopped

    class Idle:
        def step(self, card):
            card.arrivals()

    assert serve_on_card([Job(4, 10)], SETUP, Idle()).stopped == (
        "nothing more is done, and request 4 is not finished"
    )


@st.composite
def workloads(draw):
    """Requests with beginnings in common, and a card with few blocks."""
    size = draw(st.sampled_from([1, 2, 4, 16]))
    n_blocks, now_s, jobs = draw(st.integers(4, 30)), 0.0, []
    families = [[10 * f + k for k in range(9)] for f in range(3)]
    for i in range(draw(st.integers(1, 16))):
        n_input = draw(st.integers(1, max(2, size * n_blocks // 2)))
        n_full, family = n_input // size, draw(st.sampled_from(families))
        shared = family[: draw(st.integers(0, min(n_full, 9)))]
        own = [1000 * (i + 1) + k for k in range(n_full - len(shared))]
        ends = draw(st.none() | st.integers(0, 20)), draw(st.none() | st.integers(1, 20))
        jobs.append(Job(i, n_input, *ends, arrival_s=now_s, hashes=(*shared, *own)))
        now_s += draw(st.sampled_from([0, 0, 1, 3]))
    setup = Setup(
        decode_capacity=size * n_blocks + draw(st.integers(0, size - 1)),
        decode_batch=draw(st.integers(1, 6)),
        max_length=draw(st.integers(size, size * n_blocks + 5)),
        budget=size + draw(st.integers(0, 30)),
        block_size=size,
    )
    return jobs, setup


@given(workloads())
def test_the_scheduler_keeps_all_rules_on_any_card(workload):
    run = serve_on_card(*workload, Scheduler())
    assert (run.stopped, faults_of(run, RULES, replay_card)) == ("", {})


def test_a_mixed_pass_costs_what_its_only_part_costs():
    assert COSTS.mixed_s(0, 0, [(700, 0, True)]) == pytest.approx(COSTS.prefill_s([700]))
    assert COSTS.mixed_s(8, 4000, []) == pytest.approx(COSTS.decode_s(8, 4000))


def test_pieces_compute_what_the_whole_prompt_computes():
    whole = COSTS.work.flops(900, 0, 1)
    pieces = [COSTS.work.flops(300, at, int(at == 600)) for at in (0, 300, 600)]
    assert sum(pieces) == whole
