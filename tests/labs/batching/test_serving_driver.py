"""The simulator: what is asked for, the log, the servers, and runs that go well or badly."""

import random
from itertools import pairwise

import pytest

from benchmarks import batching as bench
from labkit import batching
from labkit.batching import DecodeLoop, PrefillLoop, RequestQueue
from labkit.labs.batching.driver import ORDERS, serve
from labkit.labs.batching.log import DECODE, PREFILL, WORDS, Event, Run
from labkit.labs.batching.rules import faults
from labkit.labs.batching.workload import (
    EOS,
    FixedCosts,
    Job,
    RooflineCosts,
    Setup,
    exponential_lengths,
    poisson,
)
from labkit.measuring.roofline import ModelWork, Roofline
from labkit.models.sizes import kv_bytes_per_token


class Loop:
    """A loop made of one function."""

    def __init__(self, step):
        self.step = step


class Wrapped:
    """A server with some of its primitives replaced."""

    def __init__(self, server, **replaced):
        self._server = server
        self.__dict__ |= replaced

    def __getattr__(self, name):
        return getattr(self._server, name)


def idle(server):
    """A loop that does nothing."""


def reference(jobs, setup=None, costs=None, **options):
    return serve(jobs, setup or Setup(), PrefillLoop(), DecodeLoop(), costs=costs, **options)


def mixed_jobs(seed, n=40):
    rng = random.Random(seed)
    return poisson(n, 2.0, rng, n_input=range(1, 60), n_output=range(1, 30), known=seed % 2)


# What is asked for


@pytest.mark.parametrize(
    "fields", [{"n_input": 0}, {"max_new": -1}, {"stops_after": 0}, {"arrival_s": -0.1}]
)
def test_requests_that_cannot_be_are_refused(fields):
    with pytest.raises(ValueError, match="no request can be like this"):
        Job(0, **{"n_input": 4} | fields)


@pytest.mark.parametrize(
    ("job", "limit", "n_output", "size"),
    [
        (Job(0, 60, max_new=10), 10, 10, 70),
        (Job(0, 60, max_new=50), 40, 40, 100),
        (Job(0, 60), 40, 40, 100),
        (Job(0, 60, stops_after=7), 40, 7, 100),
        (Job(0, 60, max_new=10, stops_after=7), 10, 7, 70),
        (Job(0, 60, max_new=5, stops_after=7), 5, 5, 65),
        (Job(0, 99), 1, 1, 100),
        (Job(0, 100, max_new=3), 0, 0, 100),
        (Job(0, 120, max_new=3), -20, 0, 120),
        (Job(0, 60, max_new=0), 0, 0, 60),
    ],
)
def test_how_far_a_request_may_go_with_a_limit_of_100_tokens(job, limit, n_output, size):
    assert (job.limit(100), job.n_output(100), job.size(100)) == (limit, n_output, size)


def test_a_text_ends_with_the_end_of_text_token_and_has_none_before():
    assert [Job(3, 5, stops_after=4).token(i) == EOS for i in range(6)] == [False] * 3 + [True] * 3
    assert all(Job(i, 5).token(j) != EOS for i in range(50) for j in range(50))
    assert Job(1, 5, stops_after=1).token(0) == EOS


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (Job(0, 40, max_new=24), ""),
        (Job(0, 40, max_new=0), "it asks for no token"),
        (Job(0, 64, max_new=1), "its prompt leaves no room for a token"),
        (Job(0, 33, max_new=17), "it does not fit, even alone"),  # 50 tokens on the decode server
        (Job(0, 33, max_new=15), ""),
        (Job(0, 42, max_new=1), "it does not fit, even alone"),  # the store
        (Job(0, 10), "it does not fit, even alone"),  # it might become 64 long
    ],
)
def test_what_can_never_be_served(job, reason):
    setup = Setup(prefill_capacity=50, decode_capacity=48, storage=41, max_length=64)
    if job.n_input == 40 and job.max_new == 24:
        setup = Setup(prefill_capacity=40, decode_capacity=64, storage=40, max_length=64)
    assert setup.refuses(job) == reason


def test_two_requests_with_one_id_are_refused():
    with pytest.raises(ValueError, match="the same id"):
        reference([Job(1, 4), Job(1, 5)])


def test_arrivals_are_poisson_and_the_same_for_the_same_seed():
    jobs = poisson(20_000, 4.0, random.Random(1), n_input=(3, 5), n_output=(7,))
    gaps = [after.arrival_s - before.arrival_s for before, after in pairwise(jobs)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(1 / 4, rel=0.03)  # four standard errors
    assert deviation == pytest.approx(1 / 4, rel=0.05)
    assert {job.n_input for job in jobs} == {3, 5}
    assert {(job.max_new, job.stops_after) for job in jobs} == {(7, None)}
    again = poisson(20_000, 4.0, random.Random(1), n_input=(3, 5), n_output=(7,))
    assert jobs == again
    unknown = poisson(5, 4.0, random.Random(1), n_output=(7,), known=False)
    assert {(job.max_new, job.stops_after) for job in unknown} == {(None, 7)}


def test_exponential_lengths_have_a_token_at_least_and_the_mean_that_rounding_up_gives():
    lengths = exponential_lengths(50_000, 20, random.Random(2))
    assert min(lengths) == 1
    expected = 1 / (1 - 2.718281828 ** (-1 / 20))  # rounded up, the law is a geometric one
    assert sum(lengths) / len(lengths) == pytest.approx(expected, rel=0.02)


# The log


@pytest.mark.parametrize("what", WORDS)
def test_every_event_has_a_line_in_plain_words(what):
    one = str(Event(1.5, 2.0, PREFILL, what, (4,), 1234))
    assert one.startswith("   1.5000 s, prefill server: ")
    assert "{" not in one
    many = str(Event(1.5, 2.0, PREFILL, what, tuple(range(20)), 5, note="why"))
    assert many.endswith(" (why)")
    if "request" in one:
        assert "request 4" in one
        assert "requests 0, 1, 2, 3, 4, 5, 6, 7, ..." in many


def test_the_last_lines_before_a_place_leave_out_idle_calls():
    log = [Event(i, i, DECODE, "step" if i % 2 else "finish", (i,)) for i in range(40)]
    run = Run({}, Setup(), log)
    lines = run.before(30).splitlines()
    assert len(lines) == 10
    assert "request 30 finished" in lines[-1]
    assert "request 12 finished" in lines[0]
    assert run.before(1, n_lines=5).splitlines() == [str(log[0])]


def test_a_run_ends_when_the_last_thing_ends():
    assert Run({}, Setup()).makespan_s == 0
    log = [Event(0, 7, PREFILL, "prefill", (1,)), Event(3, 4, DECODE, "finish", (1,)),
           Event(9, 9, DECODE, "step")]  # fmt: skip
    run = Run({}, Setup(), log)
    assert run.makespan_s == 7
    assert list(run.events("prefill", "finish")) == log[:2]
    assert list(run.events("prefill", "finish", server=DECODE)) == log[1:2]


# The order of calls, and time


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shared", [False, True])
def test_the_reference_keeps_every_rule_in_every_order(order, shared):
    for seed in range(8):
        setup = Setup(decode_capacity=400, decode_batch=4, storage=120, max_length=100)
        run = reference(mixed_jobs(seed), setup, FixedCosts(0.4, 0.1, 0.3), order=order, seed=seed,
                        shared=shared)  # fmt: skip
        assert run.stopped == ""
        assert faults(run) == {}
        lengths = {i: job.n_output(100) for i, job in run.jobs.items()}
        made = dict.fromkeys(run.jobs, 0)
        for event in run.events("prefill", "decode"):
            made |= {i: made[i] + 1 for i in event.ids}
        assert made == lengths


def test_an_unknown_order_is_told_which_there_are():
    with pytest.raises(ValueError, match="no order is called 'any'; there are by time, prefill"):
        reference([], order="any")


def test_no_requests_end_at_once_and_call_nobody():
    def never(server):
        raise AssertionError

    for order in ORDERS:
        run = serve([], Setup(), Loop(never), Loop(never), order=order)
        assert (run.log, run.stopped, run.makespan_s) == ([], "", 0)


def test_prefill_first_computes_all_prompts_before_any_token():
    whats = [e.what for e in reference(mixed_jobs(1), order="prefill first").log]
    last_prefill = max(i for i, what in enumerate(whats) if what == "prefill")
    assert whats.index("decode") > last_prefill


def test_decode_first_makes_tokens_while_prompts_still_wait():
    whats = [event.what for event in reference(mixed_jobs(1), order="decode first").log]
    last_prefill = max(i for i, what in enumerate(whats) if what == "prefill")
    assert whats[:last_prefill].count("decode") > 10


def test_random_orders_differ_by_seed_and_only_by_seed():
    logs = [reference(mixed_jobs(1), order="random", seed=seed).log for seed in (1, 2, 1)]
    assert logs[0] == logs[2]
    assert logs[0] != logs[1]


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_happens_before_its_time(order):
    """Prompts wait for their arrival, decoding for the transfer."""
    run = reference(mixed_jobs(3), Setup(storage=200), FixedCosts(0.5, 0.1, 2.0), order=order)
    saved = {i: event.end_s for event in run.events("save") for i in event.ids}
    for event in run.events("prefill"):
        assert all(event.begin_s >= run.jobs[i].arrival_s for i in event.ids)
    for event in run.events("load"):
        assert event.begin_s >= saved[event.ids[0]] + 2.0
    for server in (PREFILL, DECODE):
        own = [event for event in run.log if event.server == server]
        assert all(one.end_s <= other.begin_s for one, other in pairwise(own))


def test_room_in_the_store_is_used_no_earlier_than_it_is_given_back():
    """Two prompts of which the store holds one, and a transfer of 50 s."""
    run = reference([Job(0, 10, 3), Job(1, 10, 3)], Setup(storage=10), FixedCosts(1, 1, 50))
    assert run.stopped == ""
    first, second = (event.begin_s for event in run.events("prefill"))
    freed = next(run.events("free stored")).begin_s
    assert (first, freed) == (0, 51)
    assert second >= freed


def test_makespan_by_hand():
    """Eight at a time: prefill takes 2, 3 further tokens take 3, transfers take 1."""
    jobs = [Job(i, 10, max_new=4) for i in range(16)]
    run = reference(jobs, costs=FixedCosts(2.0, 1.0, 1.0))
    assert [event.begin_s for event in run.events("prefill")] == [0, 2]
    assert [event.begin_s for event in run.events("decode")] == [3, 4, 5, 6, 7, 8]
    assert run.makespan_s == 9


def test_time_passes_while_nobody_comes():
    run = reference([Job(0, 4, 2), Job(1, 4, 2, arrival_s=1000.0)], costs=FixedCosts(1, 1))
    assert [event.begin_s for event in run.events("prefill")] == [0, 1000]
    assert run.makespan_s == 1002
    assert len(run.log) < 60


def test_a_loop_that_waits_is_called_at_the_time_it_asked_for():
    calls = []

    class Late(DecodeLoop):
        def step(self, server):
            calls.append(server.now())
            if server.now() >= 7.5:
                super().step(server)
            else:
                server.wake_at(7.5)

    run = serve([Job(0, 4, 3)], Setup(), PrefillLoop(), Late(), costs=FixedCosts(1, 1))
    assert run.stopped == ""
    assert 7.5 in calls
    assert [event.begin_s for event in run.events("decode")] == [7.5, 8.5]


def test_who_waits_does_not_miss_what_comes_earlier():
    class Patient(DecodeLoop):
        def step(self, server):
            if server.now() >= 5 or server.now() == 3.0:
                super().step(server)
            else:
                server.wake_at(5 if server.now() < 5 else 9)

    jobs = [Job(0, 4, 2), Job(1, 4, 2, arrival_s=3.0)]
    run = serve(jobs, Setup(), PrefillLoop(), Patient(), costs=FixedCosts(0, 0.25))
    assert [(event.begin_s, event.ids) for event in run.events("decode")] == [(3.0, (0, 1))]


@pytest.mark.parametrize("when_s", [0.0, -1, float("nan")])
def test_an_alarm_rings_later_than_now(when_s):
    with pytest.raises(ValueError, match="wanted a time after 0"):
        serve([Job(0, 4)], Setup(), Loop(lambda server: server.wake_at(when_s)), Loop(idle))


# The primitives


def test_what_a_prefill_server_knows_and_says():
    seen = []

    def look(server):
        seen.append(
            (server.capacity, server.max_batch, server.budget, server.max_length, server.eos)
        )
        seen.append((server.decode_capacity, server.storage, server.now()))
        seen.append((server.free_tokens(), server.storage_room(), server.arrivals()))
        server.run_prefill([0, 1])
        server.save_kv(1)
        seen.append((server.free_tokens(), server.storage_room(), server.arrivals()))
        server.free_kv(1)
        seen.append((server.free_tokens(), server.now()))
        server.refuse(0)
        server.refuse(1, "x" * 500)

    setup = Setup(prefill_capacity=50, decode_capacity=60, storage=30, max_length=80)
    run = serve([Job(1, 5), Job(0, 7, 3)], setup, Loop(look), Loop(idle), costs=FixedCosts(2.5))
    asked = [
        {"id": 1, "input_length": 5, "output_length": None},
        {"id": 0, "input_length": 7, "output_length": 3},
    ]
    assert seen[:5] == [
        (50, 8, 2048, 80, EOS), (60, 30, 0.0), (50, 30, asked), (38, 25, []), (43, 2.5)
    ]  # fmt: skip
    notes = [event.note for event in run.events("refuse")]
    assert (run.stopped, notes[:2]) == ("", ["", "x" * 80])


def test_what_a_decode_server_knows_and_says():
    seen = []

    def look(server):
        for fields in server.arrivals():
            seen.append(fields)
            server.load_kv(fields["id"], 11)
            seen.append((server.capacity, server.max_batch, server.max_length, server.eos))
            seen.append((server.free_tokens(), server.decode_step([0]), server.decode_step([0])))
            server.finish(0)
            server.free_stored(0)
            server.free_kv(0)
            seen.append(server.free_tokens())

    job = Job(0, 7, max_new=4, stops_after=3)
    setup = Setup(decode_capacity=60, max_length=80, eos=50_256)
    run = serve([job], setup, PrefillLoop(), Loop(look))
    fields = {"id": 0, "input_length": 7, "output_length": 4, "token": job.token(0)}
    tokens = [job.token(1)], [50_256]
    assert seen == [fields, (60, 8, 80, 50_256), (49, *tokens), 60]
    assert [event.tokens for event in run.events("decode")] == [8, 9]


NO_IDS = [True, "0", 0.0, None, 99, -1, [0], {}, "x" * 500]
NO_BATCHES = [[], (), "01", {0}, None, 0, iter([0]), [0] * 5]
NO_RESERVATIONS = [-1, 1.0, "9", None, True, 1 << 40]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        *(
            (name, [wrong], "raised there is no request ")
            for name in ("free_kv", "finish", "save_kv", "refuse", "free_stored")
            for wrong in NO_IDS
        ),
        *(("run_prefill", [[1, wrong]], "raised there is no request ") for wrong in NO_IDS),
        *(("decode_step", [ids], "list of at least one request") for ids in NO_BATCHES[:-1]),
        ("decode_step", NO_BATCHES[-1:], "got 5 ids"),
        *(
            ("load_kv", [0, n], "wanted a number of tokens to reserve, got")
            for n in NO_RESERVATIONS
        ),
    ],
)
def test_what_no_primitive_can_take_is_named(name, arguments, words):
    def call(server):
        getattr(server, name)(*arguments)

    loops = [Loop(idle), Loop(idle)]
    loops[name in ("free_stored", "decode_step", "load_kv")] = Loop(call)
    run = serve([Job(0, 4), Job(1, 4)], Setup(), *loops, errors=(ValueError,))
    assert words in run.stopped
    assert len(run.stopped) < 150


def test_mistakes_are_logged_and_not_prevented():
    """Everything here is wrong, and everything is done as told."""

    def all_wrong(server):
        server.free_kv(0)
        server.load_kv(0, 10_000)
        server.load_kv(0, 10_000)
        server.decode_step([0, 0, 1])
        server.free_stored(1)
        server.finish(0)
        server.finish(0)
        server.finish(1)

    run = serve([Job(0, 4), Job(1, 4)], Setup(), Loop(idle), Loop(all_wrong), order="decode first")
    whats = [event.what for event in run.log if event.what != "step"]
    assert whats[:8] == ["free", "load", "load", "decode", "free stored"] + ["finish"] * 3
    assert run.stopped == ""


# Loops that go wrong


@pytest.mark.parametrize("order", ORDERS)
def test_memory_may_be_given_back_after_the_last_request_is_finished(order):
    class FreesLater(DecodeLoop):
        def __init__(self):
            super().__init__()
            self.late = []

        def step(self, server):
            while self.late:
                server.free_kv(self.late.pop())
            super().step(Wrapped(server, free_kv=self.late.append))

    run = serve(mixed_jobs(1), Setup(), PrefillLoop(), FreesLater(), order=order)
    assert run.stopped == ""
    assert run.log[-1].what == "free"
    assert faults(run, ["moved once, freed once"]) == {}


@pytest.mark.parametrize("order", ORDERS)
def test_a_run_ends_although_memory_is_never_given_back(order):
    class NeverFrees(DecodeLoop):
        def step(self, server):
            super().step(Wrapped(server, free_kv=lambda i: None))

    run = serve(mixed_jobs(1, 5), Setup(), PrefillLoop(), NeverFrees(), order=order)
    assert run.stopped == ""
    *_, before, prefill, decode = run.log
    assert before.what in ("finish", "free")
    assert (prefill.what, prefill.server) == ("step", PREFILL)
    assert (decode.what, decode.server) == ("step", DECODE)


@pytest.mark.parametrize("order", ORDERS)
def test_a_loop_that_loses_a_request_is_told_which(order):
    class Forgetful(PrefillLoop):
        def step(self, server):
            super().step(server)
            self.waiting._requests.clear()

    jobs = [Job(i, 100 * (i + 1), max_new=3) for i in range(3)]
    run = serve(jobs, Setup(prefill_batch=1), Forgetful(), DecodeLoop(), order=order)
    assert run.stopped == "nothing more is done, and request 1 is not finished"
    assert {i for event in run.events("finish") for i in event.ids} == {0}
    assert len(run.log) < 100


@pytest.mark.parametrize("order", ORDERS)
def test_loops_that_do_nothing_are_given_up(order):
    run = serve([Job(5, 4)], Setup(), Loop(idle), Loop(idle), order=order)
    assert run.stopped == "nothing more is done, and request 5 is not finished"
    assert len(run.log) < 10


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("returned", ["done", float("nan"), [1, 2], object(), b"x"])
def test_what_a_loop_returns_does_not_matter(order, returned):
    def step(server):
        loop.step(server)
        return returned

    loop = PrefillLoop()
    run = serve(mixed_jobs(1), Setup(), Loop(step), DecodeLoop(), order=order)
    assert faults(run) == {}


def test_a_loop_written_as_a_generator_does_nothing():
    def step(server):
        yield server.run_prefill([0])

    run = serve([Job(0, 4)], Setup(), Loop(step), DecodeLoop())
    assert run.stopped == "nothing more is done, and request 0 is not finished"


def endless_work(server):
    while True:
        server.decode_step([0])


def endless_questions(server):
    while True:
        server.free_tokens()


def stubborn(server):
    """Takes no error for an answer, for a while."""
    for _ in range(5000):
        try:
            server.arrivals()
        except RuntimeError:
            server.now = None


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("step", "stopped"),
    [
        (endless_work, "far more calls than these requests can need"),
        (endless_questions, "the loop of the decode server asks again and again, and does nothing"),
        (stubborn, "the loop of the decode server asks again and again, and does nothing"),
    ],
)
def test_a_step_that_never_ends_is_ended(order, step, stopped):
    run = serve(mixed_jobs(1, 5), Setup(), Loop(idle), Loop(step), order=order)
    assert run.stopped == stopped
    assert len(run.log) < 10_000


def test_many_questions_are_no_fault_if_many_requests_wait():
    """Some look at every waiting request, and ask for room each time."""

    class Asks(DecodeLoop):
        def step(self, server):
            for _ in range(20 * len(self.waiting)):
                server.free_tokens()
            super().step(server)

    run = serve([Job(i, 4, max_new=5) for i in range(300)], Setup(), PrefillLoop(), Asks(),
                order="prefill first")  # fmt: skip
    assert run.stopped == ""


@pytest.mark.parametrize("order", ORDERS)
def test_a_loop_that_does_the_same_thing_for_ever_is_stopped(order):
    def saves_again(server):
        server.save_kv(0)

    run = serve([Job(0, 4)], Setup(), Loop(saves_again), Loop(idle), order=order)
    assert run.stopped == "far more calls than these requests can need"


def test_a_loop_that_sets_alarms_for_ever_is_stopped():
    def snooze(server):
        server.wake_at(server.now() + 1)

    run = serve([Job(0, 4)], Setup(), Loop(snooze), Loop(snooze))
    assert run.stopped == "far more calls than these requests can need"


def broken(server):
    if server.now() > 0:
        raise KeyError("who")


def test_an_error_passes_through_unless_it_is_expected():
    jobs = mixed_jobs(1, 5)
    with pytest.raises(KeyError, match="who"):
        serve(jobs, Setup(), PrefillLoop(), Loop(broken))
    run = serve(jobs, Setup(), PrefillLoop(), Loop(broken), errors=(LookupError,))
    assert run.stopped == "the loop of the decode server raised 'who'"
    assert run.log[-1].what == "error"
    assert "the loop raises an error ('who')" in run.before(len(run.log))


def test_an_unexpected_error_is_not_hidden_by_expecting_others():
    with pytest.raises(KeyError):
        serve(mixed_jobs(1, 5), Setup(), PrefillLoop(), Loop(broken), errors=(ValueError,))


# What work costs


def test_costs_by_the_roofline_are_floors_of_weights_operations_and_launching():
    machine, work = Roofline.of("L40S"), ModelWork.of("Qwen/Qwen3-8B")
    costs = RooflineCosts(machine, work, launch_s=0.001, link_bandwidth=1e9)
    weights_s = work.moved_bytes(1, 1, 2) / machine.bandwidth
    assert costs.decode_s(1, 0) == pytest.approx(weights_s, rel=0.01)
    assert costs.decode_s(64, 64 * 1000) > costs.decode_s(64, 64) > costs.decode_s(1, 1) > 0
    one_s, two_s = costs.prefill_s([1000]), costs.prefill_s([1000, 1000])
    assert one_s < costs.prefill_s([1000, 10]) < 1.05 * one_s
    assert two_s == pytest.approx(2 * one_s) and two_s < costs.prefill_s([2000])
    assert costs.transfer_s(100) == 100 * kv_bytes_per_token(work.shape, 2) / 1e9
    slow = RooflineCosts(machine, work, launch_s=9.0)
    assert slow.decode_s(1, 1) == slow.prefill_s([5]) == 9.0


# What simulating costs


def test_the_work_of_simulating_grows_no_faster_than_the_requests(monkeypatch):
    """Counted in looks at waiting requests and log lines, which no other process can slow down."""
    n_looks = 0

    class Counted(RequestQueue):
        def constrained_get(self, condition, n_most=None):
            def look(request):
                nonlocal n_looks
                n_looks += 1
                return condition(request)

            return super().constrained_get(look, n_most)

    monkeypatch.setattr(batching, "RequestQueue", Counted)
    counts = []
    for n in (2000, 6000):
        n_looks = 0
        run = reference(bench.workload(n), bench.SETUP)
        assert run.stopped == ""
        counts.append((n_looks / n, len(run.log) / n))
    (few_looks, few_lines), (many_looks, many_lines) = counts
    assert 50 < many_looks < 1.15 * few_looks
    assert 5 < many_lines < 1.05 * few_lines


def test_the_bench_writes_seconds_by_size_and_their_ratio(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "OUT", tmp_path / "new" / "batching.json")
    monkeypatch.setattr(bench, "SIZES", (50, 60, 70))
    monkeypatch.setattr(bench, "N_ROUNDS", 1)
    bench.main()
    text = (tmp_path / "new" / "batching.json").read_text()
    assert text == capsys.readouterr().out
    assert '"largest_to_smallest_per_request"' in text
