"""The child's loop: takes a request from the channel, performs it, answers with the request's id.

files   write the student's files          run     run a cell
fork    go on in a fork, report its end    survey  look at changes of a definition
end     stop here
anything else goes to `labkit.bridge.executor.Executor`
"""

import contextlib
import os
import random
import signal
import socket
import sys
import threading
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.judging.child.kept import Kept, keep, put_back
from autograder.judging.child.shell import NotebookShell
from autograder.judging.child.survey import survey
from labkit.bridge.executor import Executor, describe_error
from labkit.bridge.frames import receive, send
from labkit.bridge.wire import WireError


def _forget_half_imported() -> None:
    """Forget modules whose package is gone: its import was stopped, so another would find parts."""
    modules = sys.modules
    for name in [name for name in modules if isinstance(name, str)]:
        if "." in name and name.rpartition(".")[0] not in modules:
            modules.pop(name, None)


class StudentServer:
    """Serves one student's notebook over one channel."""

    def __init__(
        self, channel: socket.socket, shell: NotebookShell, home: Path, max_bytes: int
    ) -> None:
        self._channel = channel
        self._max_bytes = max_bytes
        self._shell = shell
        self._home = home
        self._pid = os.getpid()
        self._executor = Executor(shell.namespace, self._call_back)
        self._kept: dict[str, Kept] = {}
        self._end: Kept | None = None
        self._names_of = ""
        self._request_id: Any = None
        self._in_conversation = threading.RLock()
        self._numbers = _random_states()

    def serve(self) -> None:
        """Until the other side closes the channel or says `end`."""
        while True:
            self._perform(*self._receive())

    def _receive(self) -> tuple[dict, memoryview]:
        try:
            return receive(self._channel)
        except (EOFError, OSError, WireError):
            os._exit(0)

    def _perform(self, message: dict, blob: memoryview) -> None:
        outer, self._request_id = self._request_id, message.pop("id")
        match message.get("op"):
            case "files":
                self._reply(self._write_files(message["files"], blob))
            case "run":
                if name := message.get("names_of"):
                    self._take_names_of(name)
                self._reply(self._run(message["source"]))
                for name in message["keeps"]:
                    self._kept[name] = keep(self._shell.namespace, name)
            case "survey":
                self._take_names_of(message["exercise"])
                self._reply(self._survey(message))
            case "fork":
                self._fork()
            case "end":
                os._exit(0)
            case _:
                self._take_names_of(message.pop("names_of", ""))
                self._execute(message, blob)
        self._request_id = outer

    def _reply(self, reply: dict, blobs: Any = ()) -> None:
        if os.getpid() != self._pid:  # student code forked, and this is the copy
            os._exit(0)
        try:
            n_bytes = sum(map(len, blobs))
            if n_bytes > self._max_bytes:
                raise WireError(f"{n_bytes:,} bytes are too many, the limit is {self._max_bytes:,}")
            send(self._channel, {**reply, "id": self._request_id}, blobs)
        except (WireError, MemoryError) as error:
            refusal = {"ok": False, **describe_error(error), "lines": []}
            send(self._channel, {**refusal, "id": self._request_id})

    def _write_files(self, files: dict[str, list[int]], blob: memoryview) -> dict:
        try:
            for name, (start, size) in files.items():
                path = self._home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(memoryview(blob)[start : start + size])
        except OSError as error:
            return {"ok": False, **describe_error(error)}
        return {"ok": True}

    def _run(self, source: str) -> dict:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return self._shell.run(source)
        except KeyboardInterrupt:  # it came when the cell had just ended
            return {"ok": False, "outputs": []}
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _forget_half_imported()

    def _survey(self, message: dict) -> dict:
        asked = (message[name] for name in ("topic", "exercise", "definitions"))
        try:
            signs, runs = survey(*asked, self._shell.namespace, message["budget_s"])
        except BaseException as error:  # of the student's, whose names are used
            return {"ok": False, **describe_error(error)}
        self._shell.forget_output()
        return {"ok": True, "signs": signs, "runs": runs}

    def _take_names_of(self, exercise: str) -> None:
        """Put back what stood after the cell of an exercise; the end of all cells if it has none.

        Names of other cells stay beside, for an answer may call what stands below it.
        """
        if exercise == self._names_of:
            return
        if self._end is None:
            self._end = keep(self._shell.namespace)
        self._names_of = exercise
        kept = self._kept.get(exercise, self._end)
        all_names = ChainMap(*(each.names for each in (self._end, *reversed(self._kept.values()))))
        put_back(kept, self._shell.namespace, all_names)

    def _execute(self, message: dict, blob: memoryview) -> None:
        try:
            reply, blobs = self._executor.handle(message, blob)
        except KeyboardInterrupt as error:
            reply, blobs = {"ok": False, **describe_error(error)}, []
        self._shell.forget_output()
        self._reply(reply, blobs)

    def _fork(self) -> None:
        """Go on in a fork, with a channel of its own; this process waits and reports its end.

        Other threads would not survive the fork and their locks would stay locked: then there is
        none, and the check runs in place. So it does if the student has left no descriptor free.
        Random numbers begin in each fork as before the first cell: how many the cells have drawn
        may depend on their time, and Python itself draws a new seed in every fork.
        """
        _, descriptors, *_ = socket.recv_fds(self._channel, 1, 1)
        if not descriptors:
            self._reply({"forks": False})
            return
        channel = socket.socket(fileno=descriptors[0])
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else an ignored child leaves no status
        _reap()
        try:
            pid = os.fork() if n_threads() == 1 else None
        except OSError:  # no process left to have
            pid = None
        if pid == 0:
            self._channel.close()
            self._channel, self._pid = channel, os.getpid()
            for set_state, state in self._numbers:
                set_state(state)
            self._reply({"forks": True})
            return
        channel.close()
        if pid is None:
            self._reply({"forks": False})
            return
        status = os.waitpid(pid, 0)[1]
        self._reply({"ended": os.waitstatus_to_exitcode(status)})

    def _call_back(self, message: dict, blobs: list) -> tuple[dict, memoryview]:
        """Ask the other side, which may use the student's objects before it answers."""
        with self._in_conversation:
            send(self._channel, {**message, "id": self._request_id}, blobs)
            while True:
                reply, blob = self._receive()
                if "answer" in reply:
                    return reply, blob
                self._perform(reply, blob)


def _random_states() -> list[tuple[Callable, Any]]:
    """The global generators: the function that sets each, and its current state."""
    states = [(random.setstate, random.getstate())]
    if numpy := sys.modules.get("numpy"):
        states.append((numpy.random.set_state, numpy.random.get_state()))
    if torch := sys.modules.get("torch"):
        states.append((torch.default_generator.set_state, torch.default_generator.get_state()))
    return states


def n_threads() -> int:
    """Threads of this process, those of compiled code included where the system tells."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def _reap() -> None:
    """Bury dead descendants: they would count against the limit on processes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
