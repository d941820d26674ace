"""The zygote: imports what notebooks need once, then forks a walled child per request.

It is a program of its own in a clean environment, holds no secret, and runs no student code. It has
one thread and never runs a parallel operation: neither threads nor OpenMP's pool survive a fork.

    control socket in    spawn (with the child's channel) | interrupt | forked | time | files
                         | prune | kill
    control socket out   ready | exit | the value that time, files or prune asked for
"""

import contextlib
import gc
import importlib
import os
import random
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from autograder.judging import wall
from autograder.judging.child import keeper, processes
from autograder.judging.child.processes import refuse_threads
from autograder.judging.child.server import StudentServer
from autograder.judging.child.shell import NotebookShell
from autograder.judging.wall import syscalls
from labkit.bridge.frames import receive, send

WATCH_S = 0.1
CHANNEL = 3
ABSENT = {"time": None, "files": "", "prune": ""}  # the answers about a child that is gone


@dataclass
class Job:
    """A child: why it is being killed, if it is, whether a fork of it is at work, and the machine's
    shared memory when it began.
    """

    number: int
    folder: Path
    note: str = ""
    in_fork: bool = False
    shared_before_kb: int = 0


class Zygote:
    """Forks children, watches their memory, reports their ends."""

    def __init__(self, settings: wall.ChildSettings, scratch: str, control: socket.socket) -> None:
        self._scratch = scratch
        self._settings = settings
        self._rung = settings.rung
        self._control = control
        self._shell = NotebookShell()
        self._limit_mb = self._settings.memory_mb + processes.memory_mb([os.getpid()], 1 << 40)
        prepare_libraries(settings.seed)
        self._jobs: dict[int, Job] = {}
        self._alarm, alarm_in = os.pipe()
        for descriptor in (self._alarm, alarm_in):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(alarm_in, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Until the control socket is closed."""
        watched = time.monotonic()
        while True:
            timeout = WATCH_S if self._jobs else None
            ready, _, _ = select.select([self._control, self._alarm], [], [], timeout)
            if self._alarm in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._alarm, 4096)
            if time.monotonic() > watched + WATCH_S:
                self._watch()
                watched = time.monotonic()
            self._report_ends()
            if self._control in ready:
                try:
                    message, _ = receive(self._control)
                except (EOFError, OSError):
                    return
                self._perform(message)

    def close(self) -> None:
        """End every child."""
        processes.kill(list(self._jobs))
        processes.end_strangers(set())

    def _perform(self, message: dict) -> None:
        if message["op"] == "spawn":
            self._spawn(message["job"], message["nonce"])
            return
        op, number = message["op"], message["job"]
        pid = next((pid for pid, job in self._jobs.items() if job.number == number), None)
        value = ABSENT.get(op) if pid is None else self._obey(op, pid, self._jobs[pid])
        if op in ABSENT:
            self._send({"event": op, "job": number, "value": value})

    def _obey(self, op: str, pid: int, job: Job) -> Any:
        """Carry out an order about a child that is there; the value that it asks for, if any."""
        match op:
            case "interrupt":
                processes.kill([pid], signal.SIGINT)
                if len(processes.descendants(pid)) > self._settings.n_processes // 2:
                    processes.end_descendants(pid)  # a fork bomb: it would slow all that follows
            case "kill":
                processes.kill([pid])
            case "forked":
                job.in_fork = True
            case "time":
                return processes.own_time([pid, *processes.descendants(pid)])
            case "files":
                return processes.files_digest(pid, self._disk_of(pid, job))
            case "prune":
                processes.end_descendants(pid)
                note, job.in_fork, job.note = job.note, False, ""
                return note
        return None

    def _spawn(self, number: int, nonce: int) -> None:
        _, descriptors, *_ = socket.recv_fds(self._control, 1, 1)
        folder = Path(self._scratch, str(number))
        if self._rung != "namespaces":
            folder.mkdir(mode=0o700)
        try:
            pid = wall.fork(self._rung)
        except OSError as error:
            with socket.socket(fileno=descriptors[0]) as channel:
                send(channel, {"id": nonce, "failed": str(error)})
            return
        if not pid:
            try:
                self._become_child(descriptors[0], folder, nonce)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        os.close(descriptors[0])
        self._jobs[pid] = Job(number, folder, shared_before_kb=processes.shared_kb())

    def _become_child(self, descriptor: int, folder: Path, nonce: int) -> NoReturn:
        """Wall this process in and serve; nothing of the zygote's stays open but the channel."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        self._control.detach()
        os.dup2(descriptor, CHANNEL, inheritable=False)
        os.closerange(CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
        channel = socket.socket(fileno=CHANNEL)
        if self._rung != "namespaces" and sys.platform == "linux":
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        try:
            home = wall.enter(self._settings, folder)
        except (OSError, wall.NoWall) as error:
            send(channel, {"id": nonce, "failed": str(error)})
            os._exit(71)
        random.seed(self._settings.seed)  # Python draws a new one in every fork
        self._shell.start()
        send(channel, {"id": nonce, "ready": True})
        StudentServer(channel, self._shell, home, self._settings.max_message_mb << 20).serve()

    def _watch(self) -> None:
        """Kill the tree whose processes together are over a limit; of a fork, only the fork.

        Stops: memory bombs spread over many processes, each within its own limit; without
        namespaces, also disks filled by many files.
        """
        for pid, job in self._jobs.items():
            below = processes.descendants(pid)
            excess = self._excess([pid, *below], job)
            if excess:
                spare_main = job.in_fork and below and not job.note
                job.note = excess
                processes.kill(below if spare_main else [pid, *below])

    def _excess(self, pids: list[int], job: Job) -> str:
        settings = self._settings
        if processes.memory_mb(pids, self._limit_mb, job.shared_before_kb) > self._limit_mb:
            return f"memory over {settings.memory_mb:,} MB"
        if self._rung != "namespaces":
            used_mb = processes.disk_mb(job.folder, settings.disk_mb, settings.n_files)
            if used_mb > settings.disk_mb:
                return f"disk over {settings.disk_mb:,} MB or {settings.n_files:,} files"
        return ""

    def _disk_of(self, pid: int, job: Job) -> Path:
        inside = self._rung == "namespaces"
        return Path(f"/proc/{pid}/root{wall.namespaces.DISK}") if inside else job.folder

    def _report_ends(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (end := os.wait4(-1, os.WNOHANG))[0]:
                pid, status, usage = end
                if (job := self._jobs.pop(pid, None)) is not None:
                    self._report(job, status, usage)
        if self._rung != "namespaces":
            processes.end_strangers(set(self._jobs))

    def _report(self, job: Job, status: int, usage: object) -> None:
        if self._rung != "namespaces":
            processes.end_strangers(set(self._jobs))  # before the folder they might write to
            processes.remove_folder(job.folder)
        kb_per_unit = 1 if sys.platform == "linux" else 1 / 1024
        end = {
            "event": "exit",
            "job": job.number,
            "code": os.waitstatus_to_exitcode(status),
            "note": job.note,
            "peak_mb": usage.ru_maxrss * kb_per_unit / 1024,
        }
        self._send(end)

    def _send(self, event: dict) -> None:
        with contextlib.suppress(OSError):  # the grader is gone: serve() will see it
            send(self._control, event)


def preload(names: Iterable[str], student_path: str) -> None:
    """Import the modules; refuse a labkit that is not the student's edition, and any thread."""
    for name in names:
        importlib.import_module(name)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "labkit":
            file = Path(module.__file__ or module.__path__[0]).resolve()
            if Path(student_path).resolve() not in file.parents:
                raise SystemExit(f"{name} came from {file}, not from {student_path}")
    refuse_threads()


def prepare_libraries(seed: int) -> None:
    """What children inherit: the same numbers drawn on every run, one thread, no compiler.

    `torch.compile` gives the function that it gets. To compile it takes longer than a check may,
    needs a C++ compiler, and changes no result.
    OMP_THREAD_LIMIT holds torch to one thread in any case. Being asked for more it would still
    start some that idle, and a process with threads cannot be forked for a check.
    """
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(seed)
        sys.modules["torch"].set_num_threads = lambda n_threads: None
        sys.modules["torch"].compile = _as_it_is
    for name, module in list(sys.modules.items()):
        if name.startswith("labkit.") and (prepare := vars(module).get("before_fork")):
            prepare()  # such as the import of Triton's interpreter


def _as_it_is(model: Any = None, **_: Any) -> Any:
    return (lambda function: function) if model is None else model


def main(plan: dict, control: socket.socket) -> None:
    """Become keeper and zygote; import; serve until the grader closes the control socket."""
    os.environ.update(plan["environment"])
    tempfile.tempdir = None
    settings = wall.ChildSettings(**plan["settings"])
    if settings.cpu is not None:
        os.sched_setaffinity(0, {settings.cpu})
    if sys.platform == "linux":
        wall.leave(settings.rung)
        pid = os.fork()
        if pid:
            keeper.keep(pid, plan["grader"], plan["scratch"])
        syscalls.die_with_parent(signal.SIGKILL)
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        wall.settle(settings)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # a collection during imports costs time
    preload(settings.preload, settings.student_path)
    zygote = Zygote(settings, plan["scratch"], control)
    refuse_threads()
    gc.collect()
    gc.freeze()  # the collector would write to, and so copy, every page the children share
    gc.enable()
    send(control, {"event": "ready"})
    zygote.serve()
    zygote.close()
    if sys.platform != "linux":  # where there is no keeper to do it
        processes.remove_folder(Path(plan["scratch"]))
