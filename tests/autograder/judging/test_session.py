"""A submission's run has an end, its answers stay what they are, no check pays for another."""

import shutil
from pathlib import Path

import pytest

from autograder.intake.rebuild import Step
from autograder.judging import session as sessions
from autograder.judging.client import ChildSettings, StudentEnded, Zygote
from autograder.judging.jobs import Limits
from autograder.judging.session import Session
from autograder.judging.wall import strongest_rung
from labkit.bridge.student import StudentError, value_of
from labkit.bridge.wire import WireError

REPOSITORY = Path(__file__).resolve().parents[3]
LIMITS = Limits(cell_s=2, check_s=0.3, cells_s=5)
ANOTHER_AT_EVERY_LOOK = """
import itertools, labkit.bridge.executor
q01 = q02 = 'A'
looks, resolve = itertools.count(), labkit.bridge.executor.Executor._from_handle
def look(self, tag, payload):
    return {answer} if payload == 'q01' else resolve(self, tag, payload)
labkit.bridge.executor.Executor._from_handle = look
"""


@pytest.fixture(scope="module")
def zygote(tmp_path_factory):
    path = tmp_path_factory.mktemp("student")
    shutil.copytree(REPOSITORY / "labkit", path / "labkit")
    settings = ChildSettings(student_path=path, n_open_files=64, rung=strongest_rung(), grace_s=0.2)
    with Zygote(settings) as zygote:
        yield zygote


@pytest.fixture
def run(zygote):
    """Runs cells; gives the session."""
    started = []

    def run(*sources, limits=LIMITS):
        steps = [Step(source, i) for i, source in enumerate(sources)]
        started.append(Session(zygote, steps, {}, limits))
        started[-1].run()
        return started[-1]

    yield run
    for session in started:
        session.close()


def call(name, *args):
    return lambda student: getattr(student, name)(*args)


def test_checks_that_are_each_in_time_end_together(run, monkeypatch):
    monkeypatch.setattr(sessions, "CHECKS_SHARE", 2)
    session = run("import time\ndef slow():\n    time.sleep(0.25)\n    return 1")
    with pytest.raises(StudentEnded, match=r"had taken 0\.6 s"):
        for _ in range(10):
            with session.deadline():
                session.in_fork(call("slow"))
    assert session.problems == [
        "the checks had not ended after 0.6 s: those still to play have no points"
    ]


def test_cells_that_end_their_process_are_not_replayed_for_ever(run, monkeypatch):
    monkeypatch.setattr(sessions, "REPLAY_SHARE", 0.02)
    session = run("import os, time\ntime.sleep(0.2)", "os._exit(1)", "os._exit(2)", "x = 1")
    with pytest.raises(StudentEnded, match="again and again"):
        session.in_fork(call("abs"))
    assert session.problems[-1] == "the notebook ended its process 2 times"


@pytest.mark.parametrize("answer", ["str(next(looks))", "('A', object(), next(looks))"])
def test_an_answer_is_the_same_at_every_look(run, answer):
    session = run(ANOTHER_AT_EVERY_LOOK.format(answer=answer))
    session.look_at(["q01", "q02"])
    for _ in range(2):
        with pytest.raises(WireError, match="`q01` was something else"):
            session.in_fork(lambda student: value_of(student.q01))
        assert session.in_fork(lambda student: value_of(student.q02)) == "A"


def test_objects_in_an_answer_do_not_make_it_another(run):
    session = run("answer = {'value': 1, 'note': print}")
    session.look_at(["answer", "missing"])
    for _ in range(2):
        assert session.in_fork(lambda student: value_of(student.answer))["value"] == 1


def test_what_a_check_does_to_an_answer_another_does_not_see(run):
    session = run("answer = [1]\ndef spoil():\n    answer.append(2)")
    session.look_at(["answer"])
    session.in_fork(call("spoil"))
    assert session.in_fork(lambda student: value_of(student.answer)) == [1]


def test_an_answer_that_ends_the_process_costs_no_other(run):
    session = run(
        ANOTHER_AT_EVERY_LOOK.format(answer="__import__('os')._exit(0)"), "def one(): return 1"
    )
    session.look_at(["q01", "q02"])
    assert session.in_fork(call("one")) == 1


def test_long_replies_use_up_the_time_of_a_check(run):
    session = run("def much():\n    return bytes(2 << 20)")

    def ask_again_and_again(student):
        with session.deadline():
            for _ in range(50):
                student.much()

    with pytest.raises(StudentEnded, match="took too long in all"):
        session.in_fork(ask_again_and_again)


def test_checks_run_in_place_when_the_student_has_left_no_descriptor_free(run):
    session = run(
        "held = []\nwhile True:\n    try:\n        held.append(open('/dev/null'))\n"
        "    except OSError:\n        break\ndef one(): return 1"
    )
    assert [session.in_fork(call("one")) for _ in range(2)] == [1, 1]
    assert session.problems == []


def test_endless_recursion_is_told_before_the_cells_time_is_up(run):
    session = run("def again(n):\n    return again(n + 1)\nagain(0)")
    (error,) = session.results[0].outputs
    assert error.ename == "RecursionError"
    assert session.results[0].ended == ""
    assert "    return again(n + 1)" in error.traceback


def test_a_student_keeps_to_the_slots_processor_and_ends_first_when_memory_runs_out(run):
    session = run(
        "import os\nscore = open('/proc/self/oom_score_adj').read()\n"
        "def spread(): os.sched_setaffinity(0, range(os.cpu_count()))"
    )
    with pytest.raises(StudentError, match="PermissionError"):
        session.in_fork(call("spread"))
    assert session.in_fork(lambda student: value_of(student.score)) == "1000\n"


@pytest.mark.parametrize("function", [int, {}.__getitem__, lambda n: 1 // 0, lambda n: n.shape])
def test_nonsense_given_to_a_function_of_the_checks_is_the_students_slip(run, function):
    session = run("def rewind(back):\n    back(float('inf'))")
    with pytest.raises(StudentError):
        session.in_fork(lambda student: student.rewind(function))
