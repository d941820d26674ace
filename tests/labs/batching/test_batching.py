"""Requests, queues and metrics by hand values; both loops on a run done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import batching
from labkit.batching import (
    STATES,
    DecodeLoop,
    PrefillLoop,
    Request,
    RequestQueue,
    does_fit,
)
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check
from labkit.labs.batching.checks.answers import RATES, SETTINGS
from labkit.labs.batching.driver import serve
from labkit.labs.batching.metrics import goodput, latencies, padding_waste
from labkit.labs.batching.workload import FixedCosts, Job, Setup

EOS = 9


def fields(request_id, input_length=10, output_length=None):
    return {"id": request_id, "input_length": input_length, "output_length": output_length}


@pytest.mark.parametrize(
    ("input_length", "output_length", "max_length", "limit", "size"),
    [
        (10, 4, 100, 4, 14),
        (10, 90, 100, 90, 100),
        (10, 91, 100, 90, 100),
        (10, None, 100, 90, 100),
        (99, None, 100, 1, 100),
        (10, 0, 100, 0, 10),
    ],
)
def test_a_limit_is_what_is_wanted_and_what_fits(
    input_length, output_length, max_length, limit, size
):
    request = Request(fields(1, input_length, output_length), max_length)
    assert (request.limit, request.size) == (limit, size)


@pytest.mark.parametrize(("input_length", "output_length"), [(100, 5), (120, None), (100, None)])
def test_a_prompt_that_fills_the_context_leaves_no_token(input_length, output_length):
    assert Request(fields(1, input_length, output_length), 100).limit < 1


@pytest.mark.parametrize(
    ("output_length", "tokens", "states"),
    [
        (3, [1, 2, 3], ["queued", "queued", "done"]),
        (1, [5], ["done"]),
        (3, [EOS], ["done"]),
        (3, [0, EOS], ["queued", "done"]),
        (None, [1, 2, 3, 4, EOS], ["queued"] * 4 + ["done"]),
        (2, [1, EOS, 3], ["queued", "done", "done"]),
    ],
)
def test_a_request_is_done_at_its_limit_or_at_the_end_of_its_text(output_length, tokens, states):
    request, other = (Request(fields(i, 10, output_length), 20) for i in (1, 2))
    seen = []
    for token in tokens:
        request.add_token(token, EOS)
        seen.append(request.state)
    assert seen == states
    assert (request.tokens, other.tokens, other.state) == (tokens, [], "queued")


def test_a_request_goes_through_its_states_once():
    request = Request(fields(7, 10, 3), 100)
    seen = [request.state]
    for state, token in (("prefill", 1), ("decode", 2)):
        request.state = state
        request.add_token(token, EOS)
        seen.append(request.state)
    request.add_token(3, EOS)
    assert [*seen, request.state] == list(STATES)


@pytest.mark.parametrize(
    ("size", "in_memory", "capacity", "fits"),
    [
        (40, [60], 100, True),
        (41, [60], 100, False),
        (100, [], 100, True),
        (101, [], 100, False),
        (10, [30, 30, 30], 100, True),
        (11, [30, 30, 30], 100, False),
    ],
)
def test_a_request_fits_to_the_last_token(size, in_memory, capacity, fits):
    assert does_fit(size, in_memory, capacity) is fits
    assert does_fit(size, iter(in_memory), capacity) is fits


def filled(*requests):
    queue = RequestQueue()
    for request in requests:
        queue.add(request)
    return queue


def drained(queue):
    return [queue.constrained_get(lambda _: True) for _ in range(len(queue))]


def test_a_queue_gives_the_oldest_that_fulfils_and_leaves_the_others():
    queue = filled(5, 8, 3, 4, 9)
    assert queue.constrained_get(lambda n: n % 2 == 0) == 8
    assert queue.constrained_get(lambda n: n > 9) is None
    assert (len(queue), queue.oldest()) == (4, 5)
    queue.add(2)
    assert queue.constrained_get(lambda n: n % 2 == 0) == 4
    assert drained(queue) == [5, 3, 9, 2]
    assert queue.constrained_get(lambda _: True) is None
    with pytest.raises(IndexError):
        queue.oldest()


def test_a_queue_looks_at_no_more_than_it_is_told():
    queue, seen = filled(1, 2, 3, 4), []
    assert queue.constrained_get(lambda n: seen.append(n) or n == 4, 3) is None
    assert seen == [1, 2, 3]
    assert queue.constrained_get(lambda n: n == 4, 4) == 4
    assert queue.constrained_get(lambda n: n == 3, 100) == 3


operations = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 9)),
    st.tuples(st.just("get"), st.sets(st.integers(0, 9)), st.none() | st.integers(0, 5)),
)


@given(st.lists(operations, max_size=40))
def test_a_queue_is_like_a_list_searched_from_its_beginning(life):
    queue, waiting = RequestQueue(), []
    for what, *arguments in life:
        if what == "add":
            queue.add(*arguments)
            waiting.append(*arguments)
            continue
        accepted, n_most = arguments
        found = [n for n in waiting[:n_most] if n in accepted][:1]
        assert queue.constrained_get(accepted.__contains__, n_most) == (found[0] if found else None)
        if found:
            waiting.remove(found[0])
        assert len(queue) == len(waiting)
    assert drained(queue) == waiting


SERVED = [(0.5, 0.1), (1.0, 0.2), (1.5, 0.1), (0.5, 0.3), (2.0, 0.5)]


@pytest.mark.parametrize(
    ("formula", "arguments", "right"),
    [
        (latencies, (2.0, [2.5, 2.75, 3.5]), (0.5, 0.5)),
        (latencies, (1.0, [4.0]), (3.0, 0.0)),
        (latencies, (0.0, [1.0, 2.0]), (1.0, 1.0)),
        (latencies, (1.5, [1.75, 2.0, 2.25, 2.5, 3.75]), (0.25, 0.5)),
        (goodput, (SERVED, 1.0, 0.2, 4.0), 0.5),  # both limits count
        (goodput, (SERVED, 9.0, 9.0, 2.0), 2.5),
        (goodput, ([], 1.0, 0.2, 4.0), 0),
        (padding_waste, ([],), 0),
        (padding_waste, ([[7]],), 0),
        (padding_waste, ([[5, 5], [9, 9, 9]],), 0),
        (padding_waste, ([[10, 4, 6]],), 1 / 3),
        (padding_waste, ([[10, 5, 5, 10], [20, 10]],), 1 / 4),
        (padding_waste, ([[1, 1], [30, 10]],), 20 / 62),
    ],
)
def test_metrics_by_hand(formula, arguments, right):
    assert formula(*arguments) == pytest.approx(right, abs=1e-12)


SETUP = Setup(
    prefill_capacity=40, decode_capacity=40, prefill_batch=2, decode_batch=2, prefill_budget=25
)


def told(run, *kinds):
    return [(event.begin_s, event.what, event.ids) for event in run.events(*kinds)]


def test_both_loops_do_what_was_written_down_by_hand():
    """Prompts of 10, 20, 12 and 11, a budget of 25; a prefill takes 1 s, a step 2 s."""
    jobs = [Job(1, 10, 3), Job(2, 20, 2), Job(3, 12, 2), Job(4, 11, 1)]
    costs = FixedCosts(prefill=1.0, decode=2.0, transfer=0.5)
    run = serve(jobs, SETUP, PrefillLoop(), DecodeLoop(), costs=costs)
    assert told(run, "prefill") == [
        (0.0, "prefill", (1, 3)),
        (1.0, "prefill", (2,)),
        (2.0, "prefill", (4,)),
    ]
    assert told(run, "decode") == [(1.5, "decode", (1, 3)), (3.5, "decode", (1, 2))]
    assert sorted(told(run, "finish")) == [
        (3.0, "finish", (4,)),
        (3.5, "finish", (3,)),
        (5.5, "finish", (1,)),
        (5.5, "finish", (2,)),
    ]
    assert (run.stopped, run.makespan_s) == ("", 5.5)


def test_what_can_never_run_is_refused_with_a_reason():
    jobs = [Job(1, 10, 3), Job(2, 10, 0), Job(3, 30, 11), Job(4, 41, 2), Job(5, 2000)]
    run = serve(jobs, SETUP, PrefillLoop(), DecodeLoop())
    refused = {event.ids[0]: event.note for event in run.events("refuse")}
    assert refused == {
        2: "no room for a token",
        3: "too large",
        4: "too large",
        5: "no room for a token",
    }
    assert run.stopped == ""


CHECKS, OPEN_CASES = checks_of("batching"), open_cases_of("batching")
ANSWERS = ("card_ratio", "engine_parts", "predicted_ratio")


@pytest.mark.parametrize("exercise", [name for name in CHECKS if name not in ANSWERS])
def test_our_own_answers_pass_every_check_on_the_open_cases(exercise):
    student = local_student(vars(batching))
    findings = [play_check(one, student, OPEN_CASES[exercise]) for one in CHECKS[exercise]]
    assert [finding.message for finding in findings if not finding.passed] == []


def test_no_two_checks_have_one_name_and_every_exercise_has_open_cases():
    names = [check.name for group in CHECKS.values() for check in group]
    assert len(set(names)) == len(names)
    assert set(OPEN_CASES) == set(CHECKS)


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ("card_ratio", dict.fromkeys(RATES, 1)),
        ("engine_parts", dict.fromkeys("ABCDEFGH", "quantization")),
        ("predicted_ratio", dict(zip(SETTINGS, (1, 8, 32), strict=True))),
    ],
)
def test_what_only_hidden_cases_can_judge_is_neither_right_nor_wrong_here(cell, answer):
    findings = [
        play_check(one, local_student({cell: answer}), OPEN_CASES[cell]) for one in CHECKS[cell]
    ]
    assert {finding.status for finding in findings} == {"read"}
