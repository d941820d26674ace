"""Batches made in other ways: when they start and end, what they cost, what must not matter."""

import random
from itertools import pairwise

import pytest
from instances import crossed

from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.driver import ORDERS, serve
from labkit.labs.batching.metrics import summarize
from labkit.labs.batching.policies import (
    POLICIES,
    DynamicDecodeLoop,
    StaticDecodeLoop,
    shortest_first,
)
from labkit.labs.batching.rules import RULES, faults
from labkit.labs.batching.workload import FixedCosts, Job, Setup, exponential_lengths, poisson

NOT_CONTINUOUS = {
    "a request that fits joins",
    "no idle decode",
    "no request starves",
}  # what the others give up


def run_with(decode_loop, jobs, *, costs=FixedCosts(0.0, 1.0), order="by time", **setup):  # noqa: B008
    return serve(jobs, Setup(**setup), PrefillLoop(), decode_loop, costs=costs, order=order)


def n_steps(run):
    assert run.stopped == ""
    return sum(1 for _ in run.events("decode"))


def steps(run):
    """Who was in each decode step, and when it began."""
    return [(event.begin_s, sorted(event.ids)) for event in run.events("decode")]


@pytest.mark.parametrize(("order", "name"), crossed(ORDERS, POLICIES))
def test_every_policy_serves_everybody_and_breaks_no_other_rule(name, order):
    rng = random.Random(3)
    for seed in range(6):
        jobs = poisson(40, 3.0, rng, n_input=range(1, 40), n_output=range(1, 30), known=seed % 2)
        setup = Setup(
            decode_batch=5, decode_capacity=200, storage=90, prefill_budget=60, max_length=90
        )
        costs = FixedCosts(0.3, 0.1, 0.2)
        decode_loop = POLICIES[name]()
        run = serve(jobs, setup, PrefillLoop(), decode_loop, costs=costs, order=order, seed=seed)
        assert run.stopped == ""
        kept = RULES.keys() - (set() if name == "continuous" else NOT_CONTINUOUS)
        assert faults(run, kept) == {}


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "continuous"])
def test_any_loop_can_stand_behind_a_gate(name):
    seen = []

    class Watched(DecodeLoop):
        def step(self, server):
            seen.append(self)
            super().step(server)

    loop = Watched()
    run = run_with(POLICIES[name](loop), [Job(i, 4, 3) for i in range(5)])
    assert run.stopped == ""
    assert set(seen) == {loop}


# Static and dynamic batches


def test_a_static_batch_lets_nobody_in_until_all_are_done():
    jobs = [Job(i, 4, max_new=1 + n) for i, n in enumerate((3, 1, 2, 1))]
    run = run_with(StaticDecodeLoop(), jobs, decode_batch=3)
    assert steps(run) == [(0, [0, 1, 2]), (1, [0, 2]), (2, [0]), (3, [3])]
    run = run_with(DecodeLoop(), jobs, decode_batch=3)
    assert steps(run) == [(0, [0, 1, 2]), (1, [0, 2, 3]), (2, [0])]


def test_a_static_batch_is_no_larger_than_its_memory_even_if_none_stops_early():
    jobs = [Job(i, 4, max_new=6, stops_after=3) for i in range(5)]
    run = run_with(StaticDecodeLoop(), jobs, decode_capacity=29)
    assert [ids for _, ids in steps(run)] == [[0, 1]] * 2 + [[2, 3]] * 2 + [[4]] * 2
    assert summarize(run).decode_peak == 20


def test_a_dynamic_batch_waits_until_it_is_full():
    jobs = [Job(i, 4, max_new=3, arrival_s=float(i)) for i in range(4)]
    run = run_with(DynamicDecodeLoop(wait_s=100.0), jobs, decode_batch=2)
    assert steps(run) == [(1, [0, 1]), (2, [0, 1]), (3, [2, 3]), (4, [2, 3])]


def test_a_dynamic_batch_is_full_when_the_next_one_does_not_fit():
    jobs = [Job(i, 4, max_new=3, arrival_s=float(i)) for i in range(3)]
    run = run_with(DynamicDecodeLoop(wait_s=100.0), jobs, decode_batch=8, decode_capacity=15)
    assert steps(run) == [(2, [0, 1]), (3, [0, 1]), (101 + 1, [2]), (103, [2])]


def test_a_dynamic_batch_starts_when_the_oldest_has_waited_long_enough():
    jobs = [Job(i, 4, max_new=2, arrival_s=when_s) for i, when_s in enumerate((1.0, 3.5, 4.5, 9.0))]
    run = run_with(DynamicDecodeLoop(wait_s=3.0), jobs, decode_batch=8)
    assert steps(run) == [(4.0, [0, 1]), (8.0, [2]), (12.0, [3])]


@pytest.mark.parametrize("order", ORDERS)
def test_a_dynamic_loop_that_need_not_wait_is_a_static_one(order):
    rng = random.Random(5)
    jobs = poisson(60, 2.0, rng, n_output=range(1, 30))
    logs = [
        run_with(loop, jobs, costs=FixedCosts(0.1, 0.1, 0.1), order=order).log
        for loop in (DynamicDecodeLoop(wait_s=0.0), StaticDecodeLoop())
    ]
    assert logs[0] == logs[1]


def test_with_equal_lengths_static_batches_are_as_good():
    jobs = [Job(i, 4, max_new=20) for i in range(64)]
    assert n_steps(run_with(StaticDecodeLoop(), jobs)) == n_steps(run_with(DecodeLoop(), jobs))


# Order


def test_batches_of_like_lengths_beat_batches_at_random():
    """Grouped by the length that is expected, a batch's requests end together."""
    rng = random.Random(7)
    for _ in range(6):
        lengths = exponential_lengths(200, 40, rng)
        jobs = [Job(i, 4, max_new=1 + length) for i, length in enumerate(lengths)]
        shuffled = rng.sample(range(200), 200)
        found = {
            name: n_steps(run_with(StaticDecodeLoop(key=key), jobs, order="prefill first"))
            for name, key in {
                "grouped": shortest_first,
                "random": lambda request, places=shuffled: places[request["id"]],
            }.items()
        }
        assert found["grouped"] < 0.6 * found["random"]
        ordered = sorted(lengths)
        assert found["grouped"] == sum(max(ordered[i : i + 8]) for i in range(0, 200, 8))


def test_grouping_helps_even_if_lengths_are_only_guessed():
    rng = random.Random(8)
    lengths = exponential_lengths(400, 40, rng)
    jobs = [Job(i, 4, max_new=400, stops_after=1 + length) for i, length in enumerate(lengths)]
    guesses = [length * rng.lognormvariate(0, 0.3) for length in lengths]
    setup = {"decode_capacity": 10_000, "order": "prefill first"}
    grouped = run_with(StaticDecodeLoop(key=lambda each: guesses[each["id"]]), jobs, **setup)
    assert n_steps(grouped) < 0.7 * n_steps(run_with(StaticDecodeLoop(), jobs, **setup))


def test_who_did_not_say_how_many_tokens_is_taken_for_the_longest():
    requests = [{"id": i, "output_length": n} for i, n in enumerate((5, None, 9, 5))]
    assert [each["id"] for each in sorted(requests, key=shortest_first)] == [0, 3, 2, 1]


# One processor for both


def test_on_one_processor_decode_waits_while_prompts_are_computed():
    jobs = [Job(0, 4, max_new=4), Job(1, 4, max_new=2, arrival_s=1.5)]
    costs, setup = FixedCosts(1.0, 1.0), Setup()
    apart = serve(jobs, setup, PrefillLoop(), DecodeLoop(), costs=costs)
    together = serve(jobs, setup, PrefillLoop(), DecodeLoop(), costs=costs, shared=True)
    assert [event.begin_s for event in apart.events("prefill")] == [0.0, 1.5]
    assert steps(apart) == [(1.0, [0]), (2.0, [0]), (3.0, [0, 1])]
    assert [event.begin_s for event in together.events("prefill")] == [0.0, 2.0]
    assert steps(together) == [(1.0, [0]), (3.0, [0, 1]), (4.0, [0])]


@pytest.mark.parametrize("order", ORDERS)
def test_one_processor_does_one_thing_at_a_time(order):
    jobs = poisson(50, 1.0, random.Random(11), n_output=range(1, 20))
    run = serve(jobs, Setup(), PrefillLoop(), DecodeLoop(), costs=FixedCosts(0.5, 0.3), order=order,
                seed=2, shared=True)  # fmt: skip
    assert run.stopped == ""
    work = list(run.events("prefill", "decode"))
    assert all(one.end_s <= other.begin_s for one, other in pairwise(work))
