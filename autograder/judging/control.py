"""The trusted end of a zygote: starting it, telling it what to do, hearing how its children end."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import autograder
import labkit
from autograder.judging.channel import new_id
from autograder.judging.own_time import Reading, our_queue_s
from autograder.judging.start.keepers import Executed, Keeper
from autograder.judging.timed_socket import Silence, TimedSocket
from autograder.judging.wall import ChildSettings
from labkit.bridge.frames import receive, send

_EVENT_S = 30.0  # what a zygote has to do is soon done, but not on a machine that is overloaded
_MAX_EVENT_BYTES = 1 << 16
_SIGNALS = {
    signal.SIGSEGV: "a crash in compiled code",
    signal.SIGBUS: "a crash in compiled code",
    signal.SIGABRT: "compiled code gave up",
    signal.SIGFPE: "a division by zero in compiled code",
    signal.SIGXCPU: "over its processor time",
}


class ZygoteError(RuntimeError):
    """Our side failed: no zygote, no wall. Never the student's doing, never zero points."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended (for instance "exit status 0"), and its memory at its height."""

    how: str
    peak_mb: float


class ZygoteProcess:
    """A running zygote. It ends with this process, and takes every child with it.

    Start it from a thread that lives as long as it should: its end is tied to that thread's.
    `wait` before anything else: it imports for seconds, in which others can work.
    Raises, from every method: ZygoteError if it has ended.
    """

    def __init__(self, settings: ChildSettings, keeper: Keeper | None = None) -> None:
        """keeper: one that waits for its plan already, else one is started."""
        keeper = keeper or Keeper(Executed)
        self._settings = settings
        self._endings: dict[int, Ending] = {}
        self._answers: dict[tuple[str, int], Any] = {}  # by question and child
        self._numbers = itertools.count(1)
        self._scratch = Path(tempfile.mkdtemp(prefix="labkit-"))
        self._scratch.chmod(0o711)  # children of the landlock rung reach their own folders
        self._process, self._socket, self._log = keeper.process, keeper.control, keeper.log
        plan = json.dumps(self._plan(), default=os.fspath)
        self._guard(lambda: self._socket.sendall(f"{plan}\n".encode()))
        self._wire = TimedSocket(self._socket, _MAX_EVENT_BYTES)

    def wait(self) -> None:
        """Until it is ready; closed if it does not become so."""
        limit_s = self._settings.start_s
        try:
            if not self._hear(limit_s):
                raise ZygoteError(f"the zygote is not ready after {limit_s:g} s")
        except ZygoteError:
            self.close()
            raise

    def spawn(self) -> tuple[int, socket.socket, int]:
        """Order a child: its number, the channel to it, the id of its first message."""
        number, nonce = next(self._numbers), new_id()
        ours, theirs = socket.socketpair()
        try:
            self.tell("spawn", number, nonce=nonce)
            self._guard(lambda: socket.send_fds(self._socket, [b"c"], [theirs.fileno()]))
        except ZygoteError:
            ours.close()
            raise
        finally:
            theirs.close()
        return number, ours, nonce

    def tell(self, op: str, number: int, **rest: Any) -> None:
        """Send an order about a child."""
        self._wire.remaining_s = _EVENT_S
        self._guard(lambda: send(self._wire, {"op": op, "job": number, **rest}))

    def ending(self, number: int, limit_s: float) -> Ending | None:
        """How this child ended, or None if it has not within the limit."""
        while number not in self._endings:
            if not self._hear(limit_s):
                return None
        return self._endings[number]

    def prune(self, number: int) -> str:
        """Kill all that this child has started; returns why the zygote did so before, if it did."""
        return self._ask("prune", number)

    def own_time(self, number: int) -> Reading:
        """The time that this child's processes ran; the time that they and we waited for a CPU."""
        own = self._ask("time", number)
        return own and (own[0], own[1] + our_queue_s())

    def files(self, number: int) -> str:
        """A digest of the files that this child has written; never the same twice if unknown."""
        return self._ask("files", number) or str(new_id())

    def _ask(self, op: str, number: int) -> Any:
        self._answers.pop((op, number), None)
        self.tell(op, number)
        while (op, number) not in self._answers:
            if not self._hear(_EVENT_S):
                raise ZygoteError("the zygote does not answer")
        return self._answers.pop((op, number))

    def close(self) -> None:
        """End the zygote and all its children."""
        self._socket.close()
        try:
            self._process.wait(_EVENT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(PermissionError):  # a confined judge may send no signals
                self._process.terminate()
            self._process.wait(_EVENT_S)
        self._log.close()
        with contextlib.suppress(OSError):  # the keeper has removed it, if it came to be
            self._scratch.rmdir()

    def _plan(self) -> dict[str, Any]:
        scratch = "/tmp" if self._settings.rung == "namespaces" else str(self._scratch)
        folders = {"HOME": "", "TMPDIR": "", "IPYTHONDIR": "/ipython", "MPLCONFIGDIR": "/mpl"}
        return {
            "grader": os.getpid(),
            "scratch": self._scratch,
            "environment": {name: scratch + folder for name, folder in folders.items()},
            "settings": asdict(completed(self._settings)),
        }

    def _hear(self, limit_s: float) -> bool:
        """Take in one event; False if none comes."""
        self._wire.remaining_s = limit_s
        try:
            event, _ = self._guard(lambda: receive(self._wire))
        except Silence:
            return False
        if event["event"] == "exit":
            how = in_words(event["code"], event["note"])
            self._endings[event["job"]] = Ending(how, event["peak_mb"])
        elif event["event"] != "ready":
            self._answers[event["event"], event["job"]] = event["value"]
        return True

    def _guard(self, talk: Any) -> Any:
        try:
            return talk()
        except (EOFError, OSError) as error:
            raise ZygoteError(f"the zygote has ended: {self._last_words()}") from error

    def _last_words(self) -> str:
        self._log.seek(max(0, os.fstat(self._log.fileno()).st_size - 2000))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "without a word"


def completed(settings: ChildSettings) -> ChildSettings:
    """With the interpreter and the students' labkit to see, and ours hidden."""
    student_path = Path(settings.student_path).resolve()
    ours = (Path(autograder.__file__).resolve().parent, Path(labkit.__file__).resolve().parent)
    return replace(
        settings,
        student_path=student_path,
        read_only=(*settings.read_only, sys.prefix, sys.base_prefix, student_path),
        hidden=(*settings.hidden, *ours),
    )


def in_words(code: int, note: str = "") -> str:
    """How a process ended: `code` is its exit status, or minus the signal that ended it."""
    if code >= 0:
        return f"exit status {code}"
    why = note or _SIGNALS.get(-code, "")
    return f"signal {-code} ({why})" if why else f"signal {-code}"
