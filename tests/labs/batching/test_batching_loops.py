"""How the checks of the two loops play: what a student's loop is given, and what is said of it."""

from __future__ import annotations

import pytest

from labkit import batching
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check
from labkit.labs.batching.checks.loads import packed
from labkit.labs.batching.checks.loops import LoopCase, requests, run_of
from labkit.labs.batching.checks.partners import BatchByBatchDecode, OneByOnePrefill
from labkit.labs.batching.checks.workloads import WORKLOADS
from labkit.labs.batching.driver import ORDERS, serve
from labkit.labs.batching.rules import DECODE_RULES, PREFILL_RULES, faults
from labkit.labs.batching.workload import Setup

CHECKS = checks_of("batching")


def play(exercise, loop):
    """The findings of all checks on the open cases, by name."""
    student = local_student({exercise: loop})
    cases = open_cases_of("batching")[exercise]
    return {each.name: play_check(each, student, cases) for each in CHECKS[exercise]}


class Raises(batching.PrefillLoop):
    """Works twice, then has an error."""

    n_calls = 0

    def step(self, server):
        self.n_calls += 1
        if self.n_calls > 2:
            raise IndexError("pop from an empty deque")
        super().step(server)


class Asks(batching.DecodeLoop):
    """Waits within a call for what cannot come meanwhile."""

    def step(self, server):
        while not self.waiting and not self.running:
            for fields in server.arrivals():
                request = batching.Request(fields, server.max_length)
                request.add_token(fields["token"], server.eos)
                self.waiting.add(request)
        super().step(server)


def test_an_error_ends_the_run_and_is_told_instead_of_what_is_not_done():
    found = play("PrefillLoop", Raises)
    stopped = found["every_request_is_prefilled_once"]
    assert "your code raised IndexError: pop from an empty deque (line " in stopped.message
    assert stopped.stop.endswith("in Raises.step")
    assert "was never" not in "".join(finding.message for finding in found.values())


def test_an_error_comes_with_the_line_of_the_student():
    code = "class DecodeLoop:\n    def step(self, server):\n        self.slots[server.eos]"
    namespace = {"__name__": "__main__"}
    exec(compile(code, "<DecodeLoop>", "exec"), namespace)
    found = play("DecodeLoop", namespace["DecodeLoop"])["decode_serves_to_the_end"]
    assert (
        "AttributeError: 'DecodeLoop' object has no attribute 'slots' (line 3, in" in found.message
    )


def test_one_forgotten_line_fails_the_checks_of_that():
    class Forgets(batching.DecodeLoop):
        def step(self, server):
            super().step(Without("free_stored", server))

    failed = {name for name, found in play("DecodeLoop", Forgets).items() if not found.passed}
    assert failed == {"caches_are_moved_and_freed_once", "decode_serves_to_the_end"}


class Without:
    """A server on which one primitive does nothing."""

    def __init__(self, name, server):
        self._name, self._server = name, server

    def __getattr__(self, name):
        return (lambda *_: None) if name == self._name else getattr(self._server, name)


def test_a_simple_loop_packs_in_order():
    setup = Setup(prefill_budget=40, prefill_batch=3)
    lengths = [10, 30, 14, 6, 12, 13, 41, 1]
    assert packed(lengths, setup) == [[10, 30], [14, 6, 12], [13], [41], [1]]


def test_a_loop_that_waits_for_ever_ends_and_fails():
    found = play("DecodeLoop", Asks)
    message = found["decode_serves_to_the_end"].message
    assert "the loop of the decode server asks again and again, and does nothing" in message


@pytest.mark.parametrize("exercise", ["PrefillLoop", "DecodeLoop"])
def test_what_is_not_written_is_not_wrong(exercise):
    class Stub:
        def step(self, server):
            raise NotImplementedError

    assert {finding.status for finding in play(exercise, Stub).values()} == {"todo"}


@pytest.mark.parametrize("exercise", ["PrefillLoop", "DecodeLoop"])
def test_a_loop_that_does_nothing_passes_no_check(exercise):
    class Sleeps:
        def step(self, server):
            server.arrivals()

    assert not any(finding.passed for finding in play(exercise, Sleeps).values())


def test_a_loop_sees_no_more_than_its_server_tells():
    seen = set()

    class Spies(batching.PrefillLoop):
        def step(self, server):
            seen.update(name for name in dir(server) if not name.startswith("_"))
            super().step(server)

    assert all(finding.passed for finding in play("PrefillLoop", Spies).values())
    assert "run_prefill" in seen
    assert not seen & {"run", "clock", "room_taken", "coming", "costs", "load_kv"}


def test_a_run_is_played_once_for_all_checks():
    n_made = []

    class Counted(batching.PrefillLoop):
        def __init__(self):
            super().__init__()
            n_made.append(1)

    play("PrefillLoop", Counted)
    assert len(n_made) == len(WORKLOADS) + 2  # and two crowds


@pytest.mark.parametrize("order", ORDERS)
def test_the_partners_are_slow_and_break_no_other_rule(order):
    for case in WORKLOADS:
        run = serve(
            case.jobs, case.setup, OneByOnePrefill(), BatchByBatchDecode(), order=order, seed=1
        )
        found = faults(run)
        slow = {
            "batches are filled",
            "no idle prefill",
            "no request is passed over",
            "a request that fits joins",
        }
        slow |= {"one step in a call"}
        assert found.keys() <= slow, (case.name, found)


def test_a_partner_takes_whatever_it_is_sent_once():
    class Twice(batching.PrefillLoop):
        def step(self, server):
            for fields in server.arrivals():
                server.run_prefill([fields["id"]])
                server.save_kv(fields["id"])
                server.save_kv(fields["id"])
                server.free_kv(fields["id"])

    case = LoopCase("two", requests((5, 3), (9, 1)))
    run = run_of(local_student({"PrefillLoop": Twice}), case, "PrefillLoop")
    assert not run.stopped
    assert faults(run, DECODE_RULES).keys() <= {"one step in a call"}
    assert faults(run, PREFILL_RULES).keys() >= {"sent before the next"}
