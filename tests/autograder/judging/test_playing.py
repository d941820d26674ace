"""Checks are played in forks: none at another's cost, none with what another has left."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from autograder.judging.channel import CALLBACK_SHARE
from autograder.judging.ends import FULL
from autograder.judging.playing import GAINED, Play, Playing, _settled
from labkit.bridge.requests import value_of
from labkit.checks.core import Check, Finding, Wrong


def plays_of(n, name):
    def play(student, case):
        getattr(student, name)()

    check = Check("named", name, "Claim.", "", 1, lambda case: True, play)
    return [Play(check, [None])] * n


def test_checks_that_are_left_when_the_time_is_used_up_are_not_decided(run):
    source = "import time\ndef slow():\n    time.sleep(0.25)"
    session = run(source, submission_s=0.6)
    found = Playing(session, []).play_all(plays_of(6, "slow"))
    assert found[0].passed and found[-1].is_undecided
    assert {finding.status for finding in found} == {"passed", "undecided"}
    assert found[-1].message == "This check is not decided: the submission used up its 0.6 s."


def test_an_exercise_that_twice_gives_no_answer_is_not_waited_for_again(run):
    session = run("def stalls():\n    while True: pass\ndef one(): return 1")
    found = Playing(session, []).play_all(plays_of(5, "stalls") + plays_of(1, "one"))
    assert [finding.status for finding in found] == ["failed"] * 5 + ["passed"]
    assert found[4].message.endswith("in 2 earlier checks of this exercise.")
    assert len({finding.cause for finding in found[2:5]}) == 1
    assert session.spent_s < 4


def ours(*plays):
    """Checks that ask for `one`, each of an exercise of its own, and then do this themselves."""

    def check(i, play):
        def asks(student, case):
            play(student.one())

        return Play(Check("named", f"of_{i}", "Claim.", "", 1, lambda case: True, asks), [None])

    return [check(i, play) for i, play in enumerate(plays)]


def test_a_comparison_without_end_costs_its_check_and_is_charged(run):
    def compares(number):
        while number:
            pass

    session = run("def one(): return 1")
    found = Playing(session, broken := []).play_all(ours(compares, lambda number: None))
    assert [finding.status for finding in found] == ["failed", "passed"]
    assert "to compare what your code returned took too long" in found[0].message
    limit_s = CALLBACK_SHARE * session.limits.check_s
    assert session.spent_s > limit_s / 2  # the timer counts whole ticks, so it may be early
    assert broken == []


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't allocate memory: 9 bytes")])
def test_values_that_fill_our_memory_cost_their_check_and_are_not_our_mistake(run, error):
    def compares(number):
        raise error

    found = Playing(run("def one(): return 1"), broken := []).play_all(
        ours(compares, lambda number: None)
    )
    assert [finding.status for finding in found] == ["failed", "passed"]
    assert FULL in found[0].message
    assert broken == []


def test_a_value_that_reads_like_full_memory_is_not_taken_for_it(run):
    def breaks(number):
        raise ValueError("no number: can't allocate memory")

    found = Playing(run("def one(): return 1"), broken := []).play_all(ours(breaks))
    assert FULL not in found[0].message
    assert len(broken) == 1


CARRIERS = {  # ways from one fork to the next: a cell, how a number is put there, how it is read
    "a pipe": (
        "r, w = os.pipe(); os.set_blocking(r, False)",
        "os.write(w, bytes([n]))",
        "os.read(r, 1)[0]",
    ),
    "a pair of sockets": (
        "import socket\na, b = socket.socketpair(); b.setblocking(False)",
        "a.send(bytes([n]))",
        "b.recv(1)[0]",
    ),
    "shared memory that no cell has touched": (
        "import mmap\nshared = mmap.mmap(-1, 1)",
        "shared[0] = n",
        "shared[0]",
    ),
    "a file": ("", "open('kept', 'wb').write(bytes([n]))", "open('kept', 'rb').read()[0]"),
    "a file without a name": (
        "import tempfile\nf = tempfile.TemporaryFile(buffering=0)",
        "os.pwrite(f.fileno(), bytes([n]), 0)",
        "os.pread(f.fileno(), 1, 0)[0]",
    ),
    "the place in a file": ("f = open(os.__file__)", "f.seek(n)", "f.tell()"),
    "a number of signals": (
        "import signal\nn_heard = 0\n"
        "def hear(*_):\n    global n_heard\n    n_heard += 1\n"
        "signal.signal(signal.SIGUSR1, hear)",
        "for _ in range(n):\n        os.kill(os.getppid(), signal.SIGUSR1); time.sleep(0.02)",
        "n_heard",
    ),
    "its exit status": (
        "wait, heard = os.waitpid, [0, 0]\n"
        "def hear(*asked):\n    heard[:] = wait(*asked)\n    return heard\n"
        "os.waitpid = hear",
        "leave = os._exit; os._exit = lambda code: leave(n)",
        "os.waitstatus_to_exitcode(heard[1])",
    ),
    "the next number of a process": (
        "from_here = os.getpid()",
        "for _ in range(n):\n        os.waitpid(os.fork() or os._exit(0), 0)",
        "os.getpid() - from_here - 2",
    ),
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_check_that_is_played_again_knows_nothing_of_the_checks_after_it(run, carrier):
    cell, put, read = CARRIERS[carrier]
    source = (
        f"import os, time\n{cell}\ndef hears(n):\n    {put}\n"
        f"def knows():\n    try:\n        return {read}\n"
        "    except (OSError, IndexError): return 0"
    )
    session = run(source)
    session.look_at({})
    guessed = []

    def knows(student, case):
        guessed.append(student.knows())
        if guessed[-1] != 7:
            raise Wrong("it does not know the number")

    checks = [
        Check(each.__name__, "knows", "Claim.", "", 1, lambda case: True, each)
        for each in (lambda student, case: None, knows, lambda student, case: student.hears(7))
    ]
    found = Playing(session, []).play_all([Play(each, [None]) for each in checks])
    assert len(guessed) == 2
    assert [finding.status for finding in found] == ["passed", "failed", "passed"]


def test_cells_that_take_long_do_not_run_again_for_a_check_that_failed(run):
    session = run("import time\ntime.sleep(0.5)\ndef fails(): return 1 // 0", submission_s=1)
    found = Playing(session, []).play_all(plays_of(2, "fails"))
    assert [finding.status for finding in found] == ["failed", "failed"]
    assert session.problems == []
    assert session._n_starts == 1


def test_an_answer_that_a_fresh_process_has_otherwise_keeps_its_first_verdict(run):
    session = run("import time\nmeasured = time.perf_counter()\ndef spoils(): pass")
    session.look_at({"measured": ""})

    def is_short(student, case):
        value_of(student.measured)
        raise Wrong("it is not short")

    checks = [
        Check(each.__name__, "spoils", "Claim.", "", 1, lambda case: True, each)
        for each in (lambda student, case: student.spoils(), is_short)
    ]
    found = Playing(session, []).play_all([Play(each, [None]) for each in checks])
    assert [(one.status, one.cause) for one in found[1:]] == [("failed", "it is not short")]


GUESSES = "def warm(): seen.append(1)\ndef guess(): return 1 if seen else 2"


@pytest.mark.parametrize(
    ("source", "statuses", "n_notes"),
    [
        (f"seen = []\n{GUESSES}", ["passed", "failed", "passed"], 0),
        (f"seen = []\n{GUESSES.replace('1 if', '3 if')}", ["passed", "failed", "passed"], 1),
        ("def warm(): pass\ndef guess(): return 2", ["passed", "failed", "passed"], 0),
    ],
    ids=["as much the second time", "more the second time", "no guess"],
)
def test_code_that_guesses_has_one_guess_and_a_note_if_the_second_play_earns_more(
    run, source, statuses, n_notes
):
    session = run(source)
    session.look_at({})

    def wants(number):
        def play(student, case):
            if student.guess() != number:
                raise Wrong("another number")

        return Check(f"wants_{number}", "guess", "Claim.", "", 1, lambda case: True, play)

    warm = Check("warm", "warm", "Claim.", "", 1, lambda case: True, lambda s, case: s.warm())
    found = Playing(session, []).play_all(
        [Play(each, [None]) for each in (warm, wants(1), wants(2))]
    )
    assert [finding.status for finding in found] == statuses
    assert session.notes == [GAINED.format("guess")] * n_notes


@pytest.mark.parametrize("is_wrong", [True, False])
def test_own_functions_make_an_answer_right_only_if_one_of_them_is_wrong(is_wrong):
    def check(exercise):
        return Check(f"{exercise}_holds", exercise, "Claim.", "", 1, lambda case: True, None)

    by_right = Finding.failed(check("answer"), Wrong("that does not follow"))
    own = Finding(check("answer"), "passed", otherwise=by_right, own=frozenset({"asked", "answer"}))
    others = [
        Finding(check("asked"), "failed" if is_wrong else "passed"),
        Finding(check("unasked"), "failed"),
    ]
    assert _settled([*others, own], frozenset())[-1] == (own if is_wrong else by_right)


RECOGNIZES = """
def part(n): return n + 1
part_of_mine = part
def guess(): return 1 if part is part_of_mine else 2
"""


def guessed(run, source, is_part_wrong=False, **more):
    """The status of two checks: of `part`, and of `guess`, which uses it and wants the number 2."""

    def holds(student, case):
        if is_part_wrong:
            raise Wrong("another number")

    def wants_two(student, case):
        if student.guess() != 2:
            raise Wrong("another number")

    part = Check("holds", "part", "Claim.", "", 1, lambda case: True, holds)
    guess = Check(
        "wants_two", "guess", "Claim.", "", 1, lambda case: True, wants_two, False, ("part",)
    )
    right = SimpleNamespace(part=lambda n: n + 1)
    played = [each for each in (part, guess) if each.exercise not in more.get("unplayed", ())]
    found = Playing(run(source), [], **more).play_all([Play(one, [None], right) for one in played])
    return [finding.status for finding in found]


def test_code_that_recognizes_a_right_part_has_one_guess(run):
    assert guessed(run, RECOGNIZES) == ["passed", "failed"]


@pytest.mark.parametrize(
    ("wanted", "statuses"),
    [([[1, 2]], ["failed"]), ([[2, 1]], ["failed"]), ([[1], [2]], ["failed", "passed"])],
    ids=["in one check", "in the other order", "in two checks"],
)
@pytest.mark.parametrize("part", ["def part(n): return n", "def part(n): raise KeyError(n)"])
def test_code_that_recognizes_a_right_part_has_one_guess_for_all_cases(run, part, wanted, statuses):
    """It gives 1 for the case 1 with its own part, and 2 for any case with a right one."""
    guess = "def guess(n): return n if n == 1 and part is part_of_mine else part(1)"
    session = run(f"{part}\npart_of_mine = part\n{guess}")

    def wants(student, case):
        if student.guess(case) != case:
            raise Wrong("another number")

    def of(exercise, play, *parts):
        return Check("holds", exercise, "Claim.", "", 1, lambda case: True, play, False, parts)

    def fails(student, case):
        raise Wrong("another number")

    right = SimpleNamespace(part=lambda n: n + 1)
    plays = [Play(of("part", fails), [None])]
    plays += [Play(of("guess", wants, "part"), cases, right) for cases in wanted]
    found = Playing(session, []).play_all(plays)
    assert [finding.status for finding in found[1:]] == statuses


def test_code_that_stops_with_its_own_part_has_its_answer_with_a_right_one(run):
    source = "def part(n): return str(n)\ndef guess(): return part(1) + 0"
    assert guessed(run, source) == ["passed", "passed"]


def test_a_mistake_in_a_part_costs_nothing_where_the_part_is_used(run):
    source = "def part(n): return n\ndef guess(): return part(1)"
    assert guessed(run, source, is_part_wrong=True) == ["failed", "passed"]
    assert guessed(run, source, unplayed=frozenset({"part"})) == ["passed"]


def test_a_part_that_is_right_with_right_parts_alone_may_be_wrong_for_others():
    def found(exercise, status, *own):
        one = Finding(Check("holds", exercise, "Claim.", "", 1, lambda case: True, None), status)
        return (
            replace(one, otherwise=replace(one, status="failed"), own=frozenset(own))
            if own
            else one
        )

    chain = [found("last", "passed", "middle"), found("middle", "passed", "first")]
    for status in ("passed", "failed"):
        settled = _settled([*chain, found("first", status)], frozenset())
        assert {one.passed for one in settled[:2]} == {status == "failed"}
