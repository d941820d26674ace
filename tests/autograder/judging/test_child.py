"""Whatever a student's process does, it ends that process at most, and the grader knows how."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.judging.child import processes
from autograder.judging.client import ZygoteHandle
from autograder.judging.control import ZygoteError
from autograder.judging.ends import ChildDied, ForkDied, Overran, StudentEnded, Tampered
from autograder.judging.wall import RUNGS, ChildSettings, why_not
from autograder.judging.walled import Child
from labkit.bridge.frames import MAX_CONTAINERS
from labkit.bridge.local import local_student
from labkit.bridge.requests import hold, value_of
from labkit.bridge.student import StudentError
from labkit.bridge.wire import WireError

REPOSITORY = Path(__file__).resolve().parents[3]
MEMORY_MB, CALL_S = 500, 1.0
WORKING_RUNGS = [rung for rung in RUNGS if rung == "none" or not why_not(rung)]


@pytest.fixture(scope="module")
def student_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the students' labkit, and modules that no zygote should take."""
    path = tmp_path_factory.mktemp("student")
    shutil.copytree(REPOSITORY / "labkit", path / "labkit")
    start = "import threading, time\nthreading.Thread(target=time.sleep, args=[9], daemon=True)"
    (path / "threaded.py").write_text(f"{start}.start()\n")
    return path


@pytest.fixture(scope="module")
def zygote(student_path: Path) -> Iterator[ZygoteHandle]:
    """One zygote for all tests that do not end it."""
    settings = ChildSettings(
        student_path=student_path,
        preload=("torch", "numpy", "matplotlib.pyplot", "labkit.checks"),
        memory_mb=MEMORY_MB,
        disk_mb=40,
        n_processes=40,
        rung=WORKING_RUNGS[0],
        call_s=CALL_S,
        grace_s=0.3,
    )
    with ZygoteHandle(settings) as zygote:
        yield zygote


@pytest.fixture
def child(zygote: ZygoteHandle) -> Iterator[Child]:
    """A fresh child."""
    with zygote.spawn() as child:
        yield child


def texts(outputs: list) -> str:
    """The stream texts of a cell."""
    return "".join(output.get("text", "") for output in outputs)


def running() -> set[int]:
    """The processes below this one that have not ended."""
    states = {}
    for pid in processes.descendants(os.getpid()):
        with contextlib.suppress(OSError):
            states[pid] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return {pid for pid, state in states.items() if state not in "ZX"}


def run(child: Child, source: str) -> None:
    """Run a cell that must succeed."""
    result = child.run_cell(source)
    assert result.ok, result.outputs


# ------------------------------------------------------------------ cells


def test_a_cell_shows_what_a_notebook_would_show(child: Child) -> None:
    source = """
import asyncio, os, sys, matplotlib.pyplot as plt
print("printed"); print("warned", file=sys.stderr)
os.write(1, b"from below"); os.system("echo echoed")
await asyncio.sleep(0)
plt.plot([1, 2])
6 * 7
"""
    result = child.run_cell(source)
    kinds = [output.output_type for output in result.outputs]
    assert result.ok
    assert not result.ended
    assert "printed" in texts(result.outputs)
    assert "from below" in texts(result.outputs)
    assert "echoed" in texts(result.outputs)
    assert result.outputs[kinds.index("execute_result")].data["text/plain"] == "42"
    assert any("image/png" in output.get("data", {}) for output in result.outputs)


def test_magics_and_files_work(child: Child) -> None:
    child.put_files({"data/numbers.txt": b"1 2 3"})
    run(child, "%%writefile helper.py\ndef total(text): return sum(map(int, text.split()))")
    run(child, "import helper; total = helper.total(open('data/numbers.txt').read())")
    assert value_of(child.student.total) == 6


def test_garbage_is_collected_although_imports_went_without(child: Child) -> None:
    run(child, "import gc\nassert gc.isenabled()\nassert gc.get_freeze_count() > 0")


def test_an_error_is_an_output_and_no_end(child: Child) -> None:
    result = child.run_cell("x = 1\nprint('before')\n1 / 0")
    assert not result.ok
    assert result.outputs[-1].ename == "ZeroDivisionError"
    assert child.run_cell("raise SystemExit(3)").ok is False
    assert "nobody can answer" in child.run_cell("input('?')").outputs[-1].evalue
    assert value_of(child.student.x) == 1


def test_scripts_do_not_reach_the_ta(child: Child) -> None:
    source = """
from IPython.display import HTML, SVG, Javascript, Markdown, display
display(HTML("<script>1</script>"), Javascript("1"), SVG("<svg/>"), Markdown("<script>1</script>"))
display({"image/png": '" onload="1'}, raw=True)
"""
    result = child.run_cell(source)
    assert result.ok, result.outputs
    assert len(result.outputs) == 5
    assert "<script" not in str([output.data.get("text/markdown") for output in result.outputs])
    shown = {mime for output in result.outputs for mime in output.data}
    assert shown <= {"text/plain", "text/markdown"}


@pytest.mark.parametrize(
    "flood",
    [
        "for _ in range(2_000): print('x' * 50_000)",
        "print('x' * 100_000_000)",
        "import os\nfor _ in range(2_000): os.write(1, b'x' * 50_000)",
        "from IPython.display import display\nfor _ in range(3_000): display('x')",
        "import sys\nsys.stdout.buffer.write(b'x' * 30_000_000)",
        "raise ValueError('x' * 50_000_000)",
    ],
)
def test_a_flood_of_output_is_cut(child: Child, flood: str) -> None:
    result = child.run_cell(flood)
    assert len(str(result.outputs)) < 1_000_000
    assert child.alive


def test_many_floods_are_cut_together(student_path: Path) -> None:
    settings = ChildSettings(
        student_path=student_path, rung=WORKING_RUNGS[0], max_output_chars=100_000
    )
    with ZygoteHandle(settings) as zygote, zygote.spawn() as child:
        shown = [str(child.run_cell("print('x' * 60_000)").outputs) for _ in range(5)]
    assert len(shown[0]) > 60_000
    assert sum(map(len, shown)) < 130_000
    assert "shown too much" in shown[-1]


def test_an_endless_cell_is_interrupted_and_the_notebook_lives(child: Child) -> None:
    result = child.run_cell("x = 1\nwhile True: pass", timeout_s=0.2)
    assert not result.ok
    assert result.ended == "it took longer than 0.2 s"
    assert result.outputs[-1].ename == "KeyboardInterrupt"
    assert value_of(child.student.x) == 1


def test_a_cell_that_ignores_the_interrupt_is_killed(child: Child) -> None:
    stubborn = """
import time
while True:
    try: time.sleep(60)
    except BaseException: pass
"""
    with pytest.raises(Overran, match="ignored the interrupt"):
        child.run_cell(stubborn, timeout_s=0.2)
    assert not child.alive
    with pytest.raises(StudentEnded):
        child.run_cell("1")
    assert child.end().how == "signal 9"


@pytest.mark.parametrize(
    "killer, how",
    [
        ("import os; os._exit(3)", "exit status 3"),
        ("import ctypes; ctypes.string_at(0)", "a crash in compiled code"),
        ("import os, signal; os.closerange(3, 100)", "exit status"),
        ("import os\nif os.fork(): os._exit(5)", "exit status 5"),
    ],
)
def test_a_death_is_told_in_words(child: Child, killer: str, how: str) -> None:
    with pytest.raises(ChildDied, match=how):
        child.run_cell(killer)
    assert how in child.end().how


def test_a_cell_that_forks_has_one_answer(child: Child) -> None:
    run(child, "import os\npid = os.fork()\nx = 1")
    assert value_of(child.student.x) == 1
    assert value_of(child.student.pid) > 0


START = """
import os, time
while n:
    try:
        if not os.fork(): time.sleep(1000)
        n -= 1
    except OSError:  # other tests have processes of this user, too
        time.sleep(0.1)
"""


@pytest.mark.parametrize(("n", "is_left"), [(3, True), (36, False)])
def test_only_a_fork_bomb_ends_with_the_cell_that_overruns(
    child: Child, n: int, is_left: bool
) -> None:
    """What a cell before has started, such as workers that load data, may be needed later."""
    run(child, f"n = {n}{START}")
    assert child.run_cell("while True: pass", 0.5).ended
    time.sleep(0.3)  # the interrupt is answered before all have ended
    run(child, f"pid, status = os.waitpid(-1, os.WNOHANG if {is_left} else 0)")
    ended = value_of(child.student.pid), value_of(child.student.status)
    assert ended == (0, 0) if is_left else ended[0] and ended[1] == signal.SIGKILL


def test_the_same_seed_draws_the_same_numbers(zygote: ZygoteHandle) -> None:
    draws = []
    for _ in range(2):
        with zygote.spawn() as child:
            run(child, "import random, torch, numpy as np; s = str(set('abcdef'))")
            run(child, "x = [random.random(), float(torch.rand(1)), float(np.random.rand()), s]")
            draws.append(value_of(child.student.x))
    assert draws[0] == draws[1]


def test_what_cells_have_drawn_changes_no_number_of_a_fork(zygote: ZygoteHandle) -> None:
    code = "def x(): return [random.random(), float(torch.rand(1)), float(np.random.rand())]"
    draws = []
    for n_drawn in (1, 5):
        with zygote.spawn() as child:
            run(child, f"import random, torch, numpy as np\n{code}\nfor _ in range({n_drawn}): x()")
            for _ in range(2):
                with child.forked():
                    draws.append(child.student.x())
    assert draws.count(draws[0]) == 4


# ------------------------------------------------------------------ memory and disk


def test_one_process_that_takes_too_much_gets_a_memory_error(child: Child) -> None:
    result = child.run_cell("blocks = []\nwhile True: blocks.append(bytearray(1 << 24))")
    assert result.outputs[-1].ename == "MemoryError"
    assert child.alive


MANY_BLOCKS = """
import os, time
def take():
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(os.urandom(1 << 20)) * 100
            time.sleep(20)
    time.sleep(20)
"""


def test_many_processes_that_take_too_much_together_are_killed(child: Child) -> None:
    with pytest.raises(ChildDied, match=f"memory over {MEMORY_MB} MB"):
        child.run_cell(MANY_BLOCKS + "take()", timeout_s=15)


def test_of_a_fork_that_takes_too_much_only_the_fork_is_killed(student_path: Path) -> None:
    settings = ChildSettings(
        student_path=student_path, memory_mb=MEMORY_MB, rung=WORKING_RUNGS[0], call_s=15
    )
    with ZygoteHandle(settings) as zygote, zygote.spawn() as child:
        run(child, MANY_BLOCKS)
        with pytest.raises(ForkDied, match=f"memory over {MEMORY_MB} MB"), child.forked():
            child.student.take()
        run(child, "x = 1")


def test_files_that_do_not_fit_are_refused_by_name(child: Child) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        child.put_files({"big": bytes(50 << 20)})
    for name in ("../x", "/tmp/x", "a/../../x"):
        with pytest.raises(ValueError, match="stay in its folder"):
            child.put_files({name: b""})


# ------------------------------------------------------------------ calls


def test_functions_classes_and_tensors_are_reached_by_value(child: Child) -> None:
    source = """
import torch
class Cache:
    def __init__(self): self.rows = []
    def append(self, row): self.rows.append(row); return self
    def __len__(self): return len(self.rows)
    def __getitem__(self, i): return self.rows[i]
def scale(x, factor): return x * factor
"""
    run(child, source)
    import torch

    cache = child.student.Cache()
    hold(cache.append, torch.arange(3))
    assert len(cache) == 1
    assert torch.equal(cache[0], torch.arange(3))
    assert torch.equal(child.student.scale(torch.ones(2, 2), factor=3.0), torch.full((2, 2), 3.0))
    with pytest.raises(StudentError, match="ZeroDivisionError"):
        child.run_cell("def bad(): return 1 / 0")
        child.student.bad()


@pytest.mark.parametrize("line", ['raise NotImplementedError("to do")', "return [][0]"])
def test_an_error_says_all_that_it_says_in_a_notebook(child: Child, line: str) -> None:
    source = f"def answer():\n    {line}"
    run(child, source)
    names: dict = {}
    exec(source, names)
    said = []
    for student in (child.student, local_student(names)):
        with pytest.raises(StudentError) as caught:
            student.answer()
        error = caught.value
        said.append([str(error), error._kinds, error.function, error.is_unwritten])
    assert said[0] == said[1]
    assert said[0][-1] == ("to do" in line)


def test_callbacks_run_on_this_side_and_may_ask_back(child: Child) -> None:
    run(child, "def drive(step, n): return [step(i, lambda x: x + 1) for i in range(n)]")
    seen = []

    def step(i: int, increment) -> int:
        seen.append(i)
        return increment(i) * 10

    assert child.student.drive(step, 3) == [10, 20, 30]
    assert seen == [0, 1, 2]


def test_callbacks_come_from_threads_too(child: Child) -> None:
    source = """
from concurrent.futures import ThreadPoolExecutor
def drive(step):
    with ThreadPoolExecutor(4) as pool: return list(pool.map(step, range(20)))
"""
    run(child, source)
    with child.forked():
        assert child.student.drive(lambda i: i * i) == [i * i for i in range(20)]


class Verdict(Exception):
    """What a check might raise in the middle of a callback."""


def test_a_verdict_inside_a_callback_leaves_the_channel_in_order(child: Child) -> None:
    run(child, "def drive(step):\n    while True: step()\ndef f(x): return x")

    def step() -> None:
        raise Verdict

    for _ in range(2):
        with pytest.raises(Verdict):
            child.student.drive(step)
        assert child.student.f(5) == 5


def test_slips_of_the_check_reach_the_student_as_plain_errors(child: Child) -> None:
    run(child, "def drive(step):\n    try: step(-1)\n    except ValueError as e: return str(e)")

    def step(position: int) -> None:
        raise ValueError(f"position {position} is negative")

    assert child.student.drive(step) == "position -1 is negative"


@pytest.mark.parametrize(
    "body, kind",
    [
        ("return f(x)", "RecursionError"),
        ("import torch; return torch.zeros(30 << 20)", "WireError"),
        ("import torch; return torch.zeros(1 << 40)", "RuntimeError"),
        ("y = []\n    for _ in range(999): y = [y]\n    return y", "WireError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("input()", "EOFError"),
    ],
)
def test_a_call_that_fails_ends_nothing(child: Child, body: str, kind: str) -> None:
    run(child, f"def f(x):\n    {body}\ndef g(x): return x")
    with pytest.raises(StudentError) as caught:
        child.student.f(1)
    assert caught.value.kind == kind
    assert child.student.g(1) == 1


def test_an_exception_derived_from_the_wanted_one_is_known_as_such(child: Child) -> None:
    run(child, "class Odd(ValueError): pass\ndef f(): raise Odd('three')")
    with pytest.raises(StudentError) as caught:
        child.student.f()
    assert caught.value.kind == "Odd"
    assert caught.value.is_a("ValueError") and not caught.value.is_a("TypeError")


# ------------------------------------------------------------------ forks


def test_shared_memory_that_is_held_and_not_used_counts(child: Child) -> None:
    source = """
import mmap, os, time
block = bytes(10 << 20)
def held():
    memory = mmap.mmap(-1, 400 << 20)
    for _ in range(40):
        memory.write(block)
    memory.madvise(mmap.MADV_DONTNEED)
    return memory
for _ in range(6):
    memory = held()
    if os.fork():
        break
    memory.close()
time.sleep(60)
"""
    with pytest.raises(ChildDied, match=f"memory over {MEMORY_MB} MB"):
        child.run_cell(source, timeout_s=20)


def test_a_callback_with_too_many_lists_is_refused(child: Child) -> None:
    run(child, f"def f(step): return step([[]] * {MAX_CONTAINERS})")
    with child.forked(), pytest.raises((StudentError, WireError, Tampered)):
        child.student.f(lambda lists: 1)
    assert child.alive


def test_a_fork_leaves_no_trace_in_memory(child: Child) -> None:
    source = """
import random
calls = []
def f():
    calls.append(1)
    return len(calls), random.random()
"""
    run(child, source)
    answers = []
    for _ in range(3):
        with child.forked():
            assert child.forks
            answers.append(child.student.f())
    assert answers[0][0] == 1
    assert answers == answers[:1] * 3
    assert value_of(child.student.calls) == []


@pytest.mark.parametrize(
    "body, error, reason",
    [
        ("os._exit(4)", ForkDied, "exit status 4"),
        ("ctypes.string_at(0)", ForkDied, "a crash in compiled code"),
        ("time.sleep(60)", Overran, "no answer came within 1 s"),
        ("os.kill(os.getpid(), 19)", Overran, "no answer came within 1 s"),
        ("os.closerange(3, 100)", ForkDied, "exit status"),
        ("[write(fd, b'x' * 5_000) for fd in range(3, 40)]", Tampered, "unreadable"),
        ("[write(fd, frame) for fd in range(3, 40)]", Tampered, "answers no request"),
        ("[write(fd, huge) for fd in range(3, 40)]", Tampered, "announces"),
        ("drip()", Overran, "no answer came within 1 s"),
    ],
)
def test_what_ends_a_fork_ends_only_the_fork(
    child: Child, body: str, error: type, reason: str
) -> None:
    source = f"""
import ctypes, json, os, struct, time
text = json.dumps({{"id": 7, "ok": True, "value": 42}}).encode()
frame = struct.pack("<IQ", len(text), 0) + text
huge = struct.pack("<IQ", 100, 1 << 40)
def write(fd, data):
    try: os.write(fd, data)
    except OSError: pass
def drip():
    while True:
        for fd in range(3, 40): write(fd, b"\\0")
        time.sleep(0.2)
def f(): {body}
def g(): return 42
"""
    run(child, source)
    with child.forked():
        with pytest.raises(error, match=reason):
            child.student.f()
        with pytest.raises(error):
            child.student.g()
    assert child.alive
    with child.forked():
        assert child.forks
        assert child.student.g() == 42


def test_frames_forged_ahead_of_time_are_seen(child: Child) -> None:
    forge = """
import json, os, struct
text = json.dumps({"id": 7, "ok": True, "outputs": [], "value": 42}).encode()
for fd in range(3, 40):
    try: os.write(fd, struct.pack("<IQ", len(text), 0) + text)
    except OSError: pass
"""
    with pytest.raises(Tampered, match="answers no request"):
        child.run_cell(forge)
    assert not child.alive


def test_an_answer_given_twice_is_seen(child: Child) -> None:
    source = """
import gc
from autograder.judging.child.server import StudentServer
server = next(x for x in gc.get_objects() if isinstance(x, StudentServer))
def f(): server._reply({"ok": True, "value": 42})
"""
    run(child, source)
    with child.forked():
        f = child.student.f
        assert f() == 42
        with pytest.raises(Tampered, match="answers no request"):
            f()


def test_what_a_fork_has_started_ends_with_it(child: Child) -> None:
    source = """
import os, time
def start():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(1000)
        os._exit(0)
    os.wait()
"""
    run(child, source)
    n_before = len(running())
    with child.forked():
        child.student.start()
        assert len(running()) == n_before + 2
    assert len(running()) == n_before


def test_a_process_that_the_kernel_leaves_out_of_a_list_ends_too(monkeypatch) -> None:
    lists, killed = iter([[7], [], [8]]), []
    monkeypatch.setattr(processes, "descendants", lambda pid: next(lists, []))
    monkeypatch.setattr(processes, "is_running", lambda pid: True)
    monkeypatch.setattr(processes, "kill", killed.extend)
    processes.end_descendants(1)
    assert killed == [7, 8]


def test_a_thread_left_behind_makes_checks_run_in_place(child: Child) -> None:
    run(child, "import threading, time\nthreading.Thread(target=time.sleep, args=[60]).start()")
    run(child, "calls = []\ndef f(): calls.append(1); return len(calls)")
    for n_calls in (1, 2):
        with child.forked():
            assert not child.forks
            assert child.student.f() == n_calls


def test_many_torch_threads_do_not_hang_the_next_fork(child: Child) -> None:
    source = """
import torch
def f():
    torch.set_num_threads(4)
    x = torch.ones(300, 300, requires_grad=True)
    (x @ x).sum().backward()
    return float((x @ x)[0, 0])
f()
"""
    run(child, source)
    for _ in range(2):
        with child.forked():
            assert child.forks
            assert child.student.f() == 300


def test_a_cell_inside_a_fork_is_a_slip_of_ours(child: Child) -> None:
    with child.forked(), pytest.raises(RuntimeError, match="not inside a fork"):
        child.run_cell("1")
    with child.forked(), pytest.raises(RuntimeError, match="do not nest"), child.forked():
        pass


def test_a_deadline_covers_many_quick_calls(child: Child) -> None:
    run(child, "import time\ndef f(): time.sleep(0.1)")
    n_calls = 0
    with child.forked(), child.deadline(0.35):
        with pytest.raises(Overran, match="together took too long"):
            while n_calls < 20:  # some of the time of a busy machine is not the student's
                child.student.f()
                n_calls += 1
        with pytest.raises(Overran):
            child.student.f()
    assert n_calls
    assert child.student.f() is None


def test_our_own_time_is_not_held_against_a_deadline(child: Child) -> None:
    run(child, "def f(step): return step()")
    with child.forked(), child.deadline(0.5):
        assert child.student.f(lambda: time.sleep(0.6) or 1) == 1
        time.sleep(0.6)
        assert child.student.f(lambda: 2) == 2


def test_endless_callbacks_end(child: Child) -> None:
    run(child, "def f(step):\n    while True: step()\ndef g(): return 1")
    with child.forked(), child.deadline(0.2), pytest.raises(Overran, match="called back"):
        child.student.f(lambda: sum(range(10**6)))
    assert child.student.g() == 1


def test_values_built_to_be_slow_are_refused(child: Child) -> None:
    run(child, "def f(): return {i * (2**61 - 1) for i in range(2_000)}\ndef g(): return 1")
    with pytest.raises(WireError, match="hash"):
        child.student.f()
    assert child.student.g() == 1


# ------------------------------------------------------------------ zygotes


@pytest.mark.parametrize("rung", WORKING_RUNGS)
def test_every_rung_runs_cells_and_forks(student_path: Path, rung: str) -> None:
    with (
        ZygoteHandle(ChildSettings(student_path=student_path, rung=rung)) as zygote,
        zygote.spawn() as child,
    ):
        run(child, "def f(x): return x + 1")
        with child.forked():
            assert child.student.f(1) == 2
        assert child.end().how == "exit status 0"


def test_the_wrong_plan_is_our_error(student_path: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no labkit"):
        ChildSettings(student_path=tmp_path)
    with pytest.raises(ValueError, match="rung wants one of"):
        ChildSettings(student_path=student_path, rung="basement")
    for module, reason in [("no_such_module", "No module named"), ("threaded", "started threads")]:
        with pytest.raises(ZygoteError, match=reason):
            ZygoteHandle(
                ChildSettings(student_path=student_path, preload=(module,), rung=WORKING_RUNGS[0])
            ).wait()


def test_a_dead_zygote_is_our_error(student_path: Path) -> None:
    before = running()
    with ZygoteHandle(ChildSettings(student_path=student_path, rung=WORKING_RUNGS[0])) as zygote:
        child = zygote.spawn()
        for pid in sorted(
            running() - before
        ):  # the zygote before its child, whose end it would tell
            os.kill(pid, signal.SIGKILL)
        for action in (lambda: child.run_cell("1"), zygote.spawn, child.end):
            with pytest.raises(ZygoteError, match="zygote has ended"):
                action()


def test_nothing_runs_on_after_close(student_path: Path) -> None:
    before = running()
    with ZygoteHandle(ChildSettings(student_path=student_path, rung=WORKING_RUNGS[0])) as zygote:
        for _ in range(2):
            run(zygote.spawn(), "import os, time\nif os.fork() == 0:\n    time.sleep(1000)")
        ours = running() - before
        assert len(ours) == 6
    assert running() == before
    assert not any(Path(f"/proc/{pid}").exists() for pid in ours)
