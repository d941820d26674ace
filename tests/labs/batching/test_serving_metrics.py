"""Metrics of five traces written by hand, what they do not depend on, and padded batches."""

import random
from dataclasses import replace

import pytest

from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.driver import serve
from labkit.labs.batching.log import DECODE, PREFILL, Event, Run
from labkit.labs.batching.metrics import Spread, alike, summarize
from labkit.labs.batching.recorded import MeasuredCosts
from labkit.labs.batching.workload import FixedCosts, Job, RooflineCosts, Setup
from labkit.measuring.roofline import ModelWork, Roofline

SETUP = Setup(decode_batch=4)


def at_prefill(begin_s, what, ids, tokens=0, end_s=None):
    return Event(begin_s, begin_s if end_s is None else end_s, PREFILL, what, ids, tokens)


def at_decode(begin_s, what, ids, tokens=0, end_s=None):
    return Event(begin_s, begin_s if end_s is None else end_s, DECODE, what, ids, tokens)


def trace(jobs, *events):
    return Run({job.id: job for job in jobs}, SETUP, list(events))


def one_request():
    """It comes at 1 s; its tokens are there at 3, 4 and 6 s."""
    return trace(
        [Job(7, 10, max_new=3, arrival_s=1.0)],
        at_prefill(1.0, "ready", (7,)),
        at_prefill(1.0, "step", ()),
        at_prefill(1.0, "prefill", (7,), 10, end_s=3.0),
        at_prefill(3.0, "save", (7,), 10),
        at_prefill(3.0, "free", (7,)),
        at_decode(3.0, "ready", (7,)),
        at_decode(3.0, "load", (7,), 13),
        at_decode(3.0, "free stored", (7,)),
        at_decode(3.0, "decode", (7,), 11, end_s=4.0),
        at_decode(5.0, "decode", (7,), 12, end_s=6.0),
        at_decode(6.0, "finish", (7,)),
        at_decode(6.0, "free", (7,)),
    )


def test_one_request():
    run = one_request()
    found = summarize(run)
    assert (found.n_requests, found.n_served, found.n_refused, found.n_tokens) == (1, 1, 0, 3)
    assert (found.seconds, found.tokens_per_s, found.requests_per_s) == (6.0, 0.5, 1 / 6)
    assert found.ttft_s == Spread(2.0, 2.0, 2.0)
    assert found.tpot_s == Spread(1.5, 1.5, 1.5)
    assert found.prefill_tokens == 10
    assert (found.n_steps, found.least_steps, found.occupancy) == (2, 2, 0.25)
    assert (found.prefill_idle_s, found.decode_idle_s) == (4.0, 4.0)
    assert (found.prefill_peak, found.store_peak, found.decode_peak) == (10, 10, 13)


def two_packed_together():
    """Prompts of 6 and 2 tokens in one batch; one decodes once, the other three times."""
    return trace(
        [Job(0, 6, max_new=4), Job(1, 2, max_new=2)],
        at_prefill(0.0, "prefill", (0, 1), 8, end_s=2.0),
        at_prefill(2.0, "save", (0,), 6),
        at_prefill(2.0, "free", (0,)),
        at_prefill(2.0, "save", (1,), 2),
        at_prefill(2.0, "free", (1,)),
        at_decode(2.0, "load", (0,), 10),
        at_decode(2.0, "free stored", (0,)),
        at_decode(2.0, "load", (1,), 4),
        at_decode(2.0, "free stored", (1,)),
        at_decode(2.0, "decode", (0, 1), 10, end_s=3.0),
        at_decode(3.0, "finish", (1,)),
        at_decode(3.0, "free", (1,)),
        at_decode(3.0, "decode", (0,), 8, end_s=4.0),
        at_decode(4.0, "decode", (0,), 9, end_s=5.0),
        at_decode(5.0, "finish", (0,)),
        at_decode(5.0, "free", (0,)),
    )


def test_two_requests_packed_together():
    found = summarize(two_packed_together())
    assert (found.n_tokens, found.tokens_per_s) == (6, 6 / 5)
    assert (found.ttft_s.mean, found.tpot_s.mean) == (2.0, 1.0)
    assert found.prefill_tokens == 8
    assert found.occupancy == pytest.approx((2 + 1 + 1) / 3 / 4)
    assert (found.prefill_idle_s, found.decode_idle_s) == (3.0, 2.0)
    assert (found.prefill_peak, found.store_peak, found.decode_peak) == (8, 8, 14)


def test_one_token_each_needs_no_decode_step():
    run = trace(
        [Job(0, 3, max_new=1), Job(1, 5, max_new=1, arrival_s=1.0)],
        at_prefill(0.0, "prefill", (0,), 3, end_s=2.0),
        at_prefill(2.0, "finish", (0,)),
        at_prefill(2.0, "free", (0,)),
        at_prefill(2.0, "prefill", (1,), 5, end_s=4.0),
        at_prefill(4.0, "finish", (1,)),
        at_prefill(4.0, "free", (1,)),
    )
    found = summarize(run, limits_s=(2.5, 0.1))
    assert found.ttft_s == Spread(2.5, 2.5, 3.0)
    assert found.tpot_s == Spread(0.0, 0.0, 0.0)
    assert found.goodput == 1 / 4
    assert (found.n_steps, found.occupancy, found.decode_idle_s) == (0, 0.0, 4.0)
    assert (found.prefill_peak, found.store_peak, found.decode_peak) == (5, 0, 0)


def test_nothing_at_all():
    run = trace([])
    found = summarize(run, limits_s=(1.0, 1.0))
    assert (found.n_served, found.n_tokens) == (0, 0)
    assert (found.seconds, found.tokens_per_s, found.requests_per_s, found.goodput) == (0, 0, 0, 0)
    assert found.ttft_s == found.tpot_s == Spread(0, 0, 0)
    assert (found.prefill_tokens, found.occupancy, found.store_peak) == (0, 0, 0)


def one_refused_and_one_left():
    """Of four requests one is refused, and one is still running where the log ends.

    The log is not in the order of time: the prefill server is ahead.
    """
    return trace(
        [Job(0, 4, max_new=2), Job(1, 4, max_new=3), Job(2, 900, max_new=9), Job(3, 8, max_new=9)],
        at_prefill(0.0, "refuse", (2,)),
        at_prefill(0.0, "prefill", (0, 1), 8, end_s=1.0),
        at_prefill(1.0, "save", (0,), 4),
        at_prefill(1.0, "save", (1,), 4),
        at_prefill(1.0, "prefill", (3,), 8, end_s=2.0),
        at_prefill(2.0, "free", (0,)),
        at_prefill(2.0, "free", (1,)),
        at_prefill(2.0, "save", (3,), 8),
        at_decode(1.0, "load", (1,), 7),
        at_decode(1.0, "free stored", (1,)),
        at_decode(1.0, "decode", (1,), 5, end_s=2.0),
        at_decode(2.0, "load", (0,), 6),
        at_decode(2.0, "decode", (1, 0), 11, end_s=4.0),
        at_decode(4.0, "finish", (1,)),
        at_decode(4.0, "finish", (0,)),
        at_decode(4.0, "free", (1,)),
        at_decode(4.0, "load", (3,), 17),
        at_decode(4.0, "decode", (3,), 9, end_s=8.0),
    )


def test_one_refused_and_one_left_over():
    run = one_refused_and_one_left()
    found = summarize(run, limits_s=(1.0, 2.0))
    assert (found.ttft_s, found.tpot_s) == (Spread(1.0, 1.0, 1.0), Spread(2.25, 2.25, 3.0))
    assert (found.n_requests, found.n_served, found.n_refused, found.n_tokens) == (4, 2, 1, 5)
    assert (found.requests_per_s, found.goodput) == (2 / 8, 1 / 8)
    assert found.occupancy == pytest.approx((1 + 2 + 1) / 3 / 4)
    assert (found.prefill_idle_s, found.decode_idle_s) == (6.0, 1.0)
    assert found.prefill_peak == 16  # the second batch came before the first was freed
    assert found.store_peak == 16
    assert found.decode_peak == 6 + 17


def test_limits_count_a_request_that_meets_them_exactly():
    run = two_packed_together()
    assert summarize(run, limits_s=(2.0, 1.0)).goodput == 2 / 5
    assert summarize(run, limits_s=(1.99, 1.0)).goodput == 0
    assert summarize(run, limits_s=(2.0, 0.99)).goodput == 0


def test_nine_of_ten_is_a_number_that_was_measured():
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 2.0, 3.0)
    assert Spread.of(range(1, 11)).p90 == 9
    assert Spread.of(range(1, 101)).p90 == 90


def test_only_the_log_and_what_was_asked_for_are_read():
    jobs = [Job(i, 5 + i, stops_after=3 + i, arrival_s=0.1 * i) for i in range(20)]
    run = serve(jobs, SETUP, PrefillLoop(), DecodeLoop(), costs=FixedCosts(0.5, 0.1, 0.2))
    found = summarize(run, (2.0, 0.2))
    assert found.n_tokens == sum(job.stops_after for job in jobs)
    run.jobs = {i: replace(job, stops_after=None) for i, job in run.jobs.items()}
    assert summarize(run, (2.0, 0.2)) == found


def test_a_finish_without_any_token_is_not_served():
    run = trace([Job(0, 5)], at_prefill(0.0, "finish", (0,)))
    assert summarize(run).n_served == 0


def test_the_table_is_readable():
    text = str(summarize(one_refused_and_one_left(), limits_s=(1.0, 2.0)))
    assert text.splitlines() == [
        "requests    2 served, 1 refused, 1 left",
        "time        8 s",
        "throughput  0.625 tokens/s, 0.25 requests/s",
        "TTFT        mean 1 s, median 1 s, 9 of 10 in 1 s",
        "TPOT        mean 2.25 s, median 2.25 s, 9 of 10 in 3 s",
        "prefill     8 tokens per batch, idle for 6 s",
        "decode      3 steps (at least 2), 33.3% of the slots taken, idle for 1 s",
        "KV peaks    prefill 16, store 16, decode 23 tokens",
        "goodput     0.125 requests/s with TTFT up to 1 s and TPOT up to 2 s",
    ]
    assert "goodput" not in str(summarize(one_request()))


def test_prompts_are_grouped_around_the_first_that_is_left():
    lengths = [10, 30, 14, 6, 12, 13, 31]
    assert alike(lengths, 4, 3) == [[10, 14, 12], [30, 31], [6], [13]]
    assert alike(lengths, 100, 4) == [[10, 30, 14, 6], [12, 13, 31]]
    assert alike([], 4, 3) == []


H200 = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
SLOW = {dtype: 0.55 * peak for dtype, peak in H200.machine.peaks.items()}
HALF = replace(H200, machine=replace(H200.machine, peaks=SLOW))
COSTS = {"floors": H200, "at 0.55": HALF, "measured": MeasuredCosts.recorded()}


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
def test_padded_batches_gain_from_like_lengths_and_packed_ones_do_not_need_them(costs):
    """The order that the notebook shows, with floors, slower ones and measured costs."""
    rng = random.Random(1)
    burst = [rng.randint(16, 256) for _ in range(400)]
    padded, packed = {}, {}
    for tolerance in (0, 4, 240):
        batches = alike(burst, tolerance, 16)
        padded[tolerance] = sum(costs.prefill_s([max(each)] * len(each)) for each in batches)
        packed[tolerance] = sum(map(costs.prefill_s, batches))
    assert padded[4] < padded[0] < padded[240]
    assert packed[240] <= packed[4] < padded[4]
