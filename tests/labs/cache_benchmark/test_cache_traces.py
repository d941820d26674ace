"""The trace of conversations and agents: what it shares, where it goes, and what is refused."""

import random

import pytest

from autograder.labs import cases_of
from labkit.cache_benchmark import PrefixCache
from labkit.checks.core import open_cases_of
from labkit.labs.cache_benchmark import traces
from labkit.models.traffic import fitted


def small(**how):
    return traces.conversations_and_agents(random.Random(0), 12, 2, **how)


def rate(requests, n_blocks=5000, n_replicas=1, route="by session", **how):
    caches = [PrefixCache(n_blocks // n_replicas, 16) for _ in range(n_replicas)]
    return traces.hit_rate(traces.play(requests, caches, route, **how))


def test_every_prompt_begins_with_the_request_before_it_of_its_session():
    last = {}
    for request in small():
        before = last.get(request.session)
        if before:
            assert request.tokens[: len(before.tokens)] == before.tokens
            assert request.at_s >= before.end_s
        last[request.session] = request
    assert len(last) == 14


def test_conversations_go_on_as_often_as_those_of_the_trace():
    hour, turns = traces.conversations_and_agents(random.Random(1), 1500, 0), fitted()["turns"]
    n_later = turns["p_next_after_first"] / (1 - turns["p_next_after_later"])
    n_sessions = len({request.session for request in hour})
    assert len(hour) / n_sessions == pytest.approx(1 + n_later, rel=0.1)


def test_more_room_finds_more_and_what_changes_early_costs_most():
    rates = [rate(small(), n_blocks) for n_blocks in (50, 500, 5000)]
    assert rates == sorted(rates) and rates[0] < rates[-1]
    placed = [rate(small(time_of_day=place)) for place in traces.PLACES]
    nowhere, before, after, end = placed
    assert before == 0 < after < end < nowhere == rates[-1]


def test_routes_and_salts_part_what_could_be_shared():
    in_turn, by_session, by_beginning = (rate(small(), 8000, 4, route) for route in traces.ROUTES)
    assert in_turn < by_session < by_beginning
    by_tenant = rate(small(), salt_of=lambda request: str(request.tenant))
    by_person = rate(small(), salt_of=lambda request: str(request.session))
    assert by_person < by_tenant < rate(small())


def test_the_busiest_replica_of_one_computes_all():
    found = traces.play(small(), [PrefixCache(100, 16)])
    assert traces.busiest_share(found) == 1
    assert traces.hit_rate([]) == traces.busiest_share([]) == 0


def test_a_trace_out_of_order_is_refused_and_so_are_unknown_words():
    requests, caches = small(), [PrefixCache(10, 16)]
    with pytest.raises(ValueError, match="the trace is out of order: sort its requests by at_s"):
        traces.play(requests[::-1], caches)
    with pytest.raises(ValueError, match="no route is called 'at random'"):
        traces.play(requests, caches, "at random")
    with pytest.raises(ValueError, match="the time of day stands 'first'"):
        small(time_of_day="first")


@pytest.mark.parametrize("seed", range(3))
def test_expected_counts_of_long_lives_are_those_of_the_reference(seed):
    cases = [*open_cases_of("cache_benchmark")["PrefixCache"]]
    cases += cases_of("cache_benchmark", seed)["PrefixCache"]
    lives = [case for case in cases if case.kind == "life"]
    for case in lives:
        cache = PrefixCache(case.n_blocks, case.block_size)
        calls = [getattr(cache, do)(i, case.prompts[one][:n]) for do, i, one, n in case.steps]
        assert [got for got in calls if got is not None] == list(case.found)
    assert len(lives) == 4


def test_a_bill_counts_each_token_of_a_prompt_once():
    found, flat = (
        traces.play(small(), [PrefixCache(5000, 16)]),
        dict.fromkeys(("fresh", "written", "read"), 3.0),
    )
    n_tokens = sum(one.request.n_prompt for one in found)
    assert traces.bill_usd(found, flat) == pytest.approx(3e-6 * n_tokens)
    n_read = traces.bill_usd(found, {"fresh": 0, "written": 0, "read": 1e6})
    assert n_read == pytest.approx(traces.hit_rate(found) * n_tokens)


def test_a_cache_that_finds_nothing_costs_more_than_none_where_writing_does():
    before = traces.play(small(time_of_day=traces.PLACES[1]), [PrefixCache(5000, 16)])
    end = traces.play(small(time_of_day=traces.PLACES[3]), [PrefixCache(5000, 16)])
    for price in traces.prompt_prices().values():
        fresh = 1e-6 * price["fresh"] * sum(one.request.n_prompt for one in before)
        assert traces.bill_usd(end, price) < fresh <= traces.bill_usd(before, price) * 1.0001
