"""One student's process, as the trusted side sees it: cells, calls, forks, and how it ended."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from nbformat import NotebookNode

from autograder.judging.channel import Budget, RemoteChannel, clean_text
from autograder.judging.control import Ending, ZygoteError, ZygoteProcess, in_words
from autograder.judging.ends import FULL, ChildDied, ForkDied, Overfilled, Overran, StudentEnded
from autograder.judging.outputs import clean_outputs, n_chars_of
from autograder.judging.own_time import OwnTime
from autograder.judging.timed_socket import OtherSpoke
from autograder.judging.wall import ChildSettings
from labkit.bridge.student import Student

_END_S = 2.0  # for a process to end, or for its parent to say that it has
MOST_OVER = 3  # times its budget, what a survey may take
_BURIAL_S = 30.0  # for one that was killed: a fork bomb on a busy machine takes seconds to die


@dataclass(frozen=True, slots=True)
class CellResult:
    """ok: no exception; ended: why the cell was interrupted, "" if it was not."""

    ok: bool
    outputs: list[NotebookNode]
    ended: str


class Child:
    """A walled process that holds one student's notebook.

    student: what its names stand for; names_of: the exercise with whose names they do, as they
    stood after its cell, "" for those of now; own_time: what it has taken so far; forks: whether
    the last `forked()` did fork; alive: whether it can be used still. Raises: StudentEnded
    from every method that waits for it.
    """

    def __init__(self, process: ZygoteProcess, settings: ChildSettings) -> None:
        self._process = process
        self._settings = settings
        self._budget = Budget()
        self._number, sock, nonce = process.spawn()
        self.own_time = OwnTime(lambda: process.own_time(self._number))
        self._main = self._channel(sock)
        self._fork: RemoteChannel | None = None
        self._fork_id = 0
        self._ended: StudentEnded | None = None
        self._ending: Ending | None = None
        self._n_chars_left = settings.max_output_chars
        self.forks = True
        self.names_of = ""
        self.student = Student(self)
        self._wait_until_ready(nonce)
        self.own_time.start()

    @property
    def alive(self) -> bool:
        """Whether the process is there and has answered so far."""
        return self._ending is None

    def put_files(self, files: Mapping[str, bytes]) -> None:
        """Write files below the student's working folder.

        Raises: ValueError for a name that leads elsewhere, or if they do not fit on the disk.
        """
        table, start = {}, 0
        for name, data in files.items():
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"a file's name wants to stay in its folder, got {name!r}")
            table[name] = [start, len(data)]
            start += len(data)
        with self._main_watched():
            message = {"op": "files", "files": table}
            request_id = self._main.tell(message, self._settings.call_s, list(files.values()))
            reply = self._main.read(request_id, self._settings.call_s)
        if reply.get("ok") is not True:
            raise ValueError(f"the files do not fit: {clean_text(reply.get('message'), 500)}")

    def run_cell(
        self, source: str, timeout_s: float | None = None, keeps: Sequence[str] = ()
    ) -> CellResult:
        """Run a cell. One that overruns is interrupted, and may answer for a second yet.

        keeps: what the names are remembered for as they stand then, see `names_of`.
        Raises: Overran if it ignores that, and any other StudentEnded.
        """
        limit_s = self._settings.cell_s if timeout_s is None else timeout_s
        ended = ""
        with self._main_watched():
            request_id = self._main.tell(
                {"op": "run", "source": source, "keeps": [*keeps]}, limit_s
            )
            try:
                reply = self._main.read(request_id, limit_s)
            except Overran:
                ended = f"it took longer than {limit_s:g} s"
                self._process.tell("interrupt", self._number)
                try:
                    reply = self._main.read(request_id, self._settings.grace_s, counted=False)
                except Overran:
                    raise Overran(f"{ended} and ignored the interrupt") from None
        outputs = clean_outputs(reply.get("outputs"), self._n_chars_left)
        self._n_chars_left = max(0, self._n_chars_left - n_chars_of(outputs))
        ok = reply.get("ok") is True and not ended
        return CellResult(ok, outputs, ended)

    def files_digest(self) -> str:
        """A digest of what lies on its disk: which files, and when each was last changed."""
        return self._process.files(self._number)

    @contextmanager
    def forked(self) -> Iterator[None]:
        """What happens inside happens in a fork, and leaves no trace but the files it writes.

        A child with threads of its own cannot be forked; then it happens in place, and `forks` is
        False.
        """
        if self._fork is not None:
            raise RuntimeError("forks do not nest")
        self._enter_fork()
        self.student = Student(self)  # it remembers nothing of other forks
        try:
            yield
        finally:
            self._leave_fork()
            self.own_time.start()  # what the fork ran is not in the sum any more

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """No call inside begins after so much waiting: many quick calls are no way around it.

        What we do ourselves does not count, unless endless callbacks make us do it.
        """
        with self._budget.limited_to(seconds):
            yield

    def define(self, source: str) -> None:
        """Inside `forked`: run a definition among the names of `names_of`.

        Raises: ValueError if it ends with an exception, or if there is no fork.
        """
        message = {"op": "run", "source": source, "keeps": [], "names_of": self.names_of}
        if self._asked_fork(message, self._settings.call_s).get("ok") is not True:
            raise ValueError("the definition ended with an exception")

    def survey(
        self,
        topic: str,
        exercise: str,
        definitions: Sequence[tuple[str, int, str]],
        budget_s: float,
    ) -> tuple[list[str], list[list]]:
        """Inside `forked`: what the process itself says of changed definitions; it may be forged.

        Raises: ValueError if it says nothing, or if there is no fork.
        """
        asked = {"topic": topic, "exercise": exercise, "definitions": [*definitions]}
        message = {"op": "survey", "budget_s": budget_s, **asked}
        reply = self._asked_fork(message, MOST_OVER * budget_s)
        signs, runs = reply.get("signs"), reply.get("runs")
        for found, kind in ((signs, str), (runs, list)):
            if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
                raise ValueError("no survey came")
        return signs, runs

    def _asked_fork(self, message: dict, limit_s: float) -> dict:
        if self._fork is None:
            raise ValueError("what the code changes would stay: there is no fork")
        with self._watched():
            return self._fork.read(self._fork.tell(message, limit_s), limit_s)

    def request(self, message: dict, blobs: list, callbacks: list) -> tuple[dict, memoryview]:
        """Carry a request of `student` (see labkit.bridge.student.Channel)."""
        with self._watched():
            channel = self._fork or self._main
            limit_s = self._settings.call_s
            if self.names_of:
                message = {**message, "names_of": self.names_of}
            return channel.converse(message, blobs, callbacks, self.student, limit_s)

    def kill(self) -> Ending:
        """End it at once."""
        if self._ending is None:
            self._process.tell("kill", self._number)
            self._bury()
        return self._ending

    def end(self) -> Ending:
        """Ask it to end, kill it if it does not."""
        try:
            if self._ending is None:
                with contextlib.suppress(EOFError, StudentEnded):
                    self._main.tell({"op": "end"}, _END_S)
                self._ending = self._process.ending(self._number, _END_S)
            return self._ending or self.kill()
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        """Close the channel: the process ends when it notices, if it can."""
        self._main.socket.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _channel(self, sock: socket.socket, other: socket.socket | None = None) -> RemoteChannel:
        max_bytes = self._settings.max_message_mb << 20
        return RemoteChannel(sock, max_bytes, self._budget, self.own_time, other)

    def _wait_until_ready(self, nonce: int) -> None:
        try:
            message = self._main.read(nonce, self._settings.spawn_s)
        except (EOFError, StudentEnded) as error:
            self.hang_up()
            how = self.kill().how
            raise ZygoteError(f"a child did not start ({how}): {error}") from error
        if "failed" in message:
            self.end()
            raise ZygoteError(f"the wall could not be built: {message['failed']}")

    @contextmanager
    def _main_watched(self) -> Iterator[None]:
        if self._fork is not None:
            raise RuntimeError("this is for the main process, not inside a fork")
        with self._watched():
            yield

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Turn every way in which the process can fail into a StudentEnded, and clean up."""
        if self._ended is not None:
            raise self._ended
        try:
            yield
        except (EOFError, OtherSpoke):
            self._ended = self._end_fork(kill=False) if self._fork else self._report_death()
            self._ended.settled = True
            raise self._ended from None
        except (StudentEnded, MemoryError) as error:
            ended = error if isinstance(error, StudentEnded) else Overfilled(FULL)
            if not ended.settled:
                self._ended, ended.settled = ended, True
                if self._fork:
                    self._end_fork()
                else:
                    self.kill()
            raise ended from None

    def _report_death(self) -> ChildDied:
        if self._process.ending(self._number, _END_S) is None:
            self._process.tell("kill", self._number)  # it lives, but has closed the channel
        self._bury()
        return ChildDied(f"its process ended ({self._ending.how})")

    def _bury(self) -> None:
        self._ending = self._process.ending(self._number, _BURIAL_S)
        if self._ending is None:
            raise ZygoteError("a killed child does not end")

    def _enter_fork(self) -> None:
        limit_s = self._settings.call_s
        ours, theirs = socket.socketpair()
        fork = self._channel(ours, other=self._main.socket)
        self._process.tell("forked", self._number)
        self.forks = False
        try:
            with theirs, self._watched():
                self._fork_id = self._main.tell({"op": "fork"}, limit_s)
                self._main.hand_over(theirs)
            with self._watched():
                try:
                    reply = fork.read(self._fork_id, limit_s)
                except (EOFError, OtherSpoke):  # there is no fork: the main process says so
                    reply = self._main.read(self._fork_id, limit_s)
            self.forks = reply.get("forks") is True
        finally:
            if self.forks:
                self._fork = fork
            else:
                ours.close()

    def _leave_fork(self) -> None:
        if self._fork is None:
            return
        if self._ended is None:
            with contextlib.suppress(EOFError, OtherSpoke, StudentEnded):
                self._fork.tell({"op": "end"}, _END_S)
            self._end_fork(kill=False)
        self._fork.socket.close()
        self._fork = None
        if self._ending is None:
            self._ended = None

    def _end_fork(self, kill: bool = True) -> StudentEnded:
        """End the fork and all its processes; returns how it ended.

        Unless `kill`, it has been asked to end and is given the time to do so.
        """
        code = None if kill else self._hear_of_fork()
        note = self._process.prune(self._number)
        if code is None:
            code = self._hear_of_fork()
        if code is None:  # the main process does not do what ours would
            ending = self.kill()
            self._ended = ChildDied(f"its process ended ({ending.how})")
            return self._ended
        return ForkDied(f"its process ended ({in_words(code, note)})")

    def _hear_of_fork(self) -> int | None:
        """The fork's exit status that its parent reports, None if it reports none."""
        try:
            code = self._main.read(self._fork_id, _END_S, counted=False).get("ended")
        except (EOFError, StudentEnded):
            return None
        return code if type(code) is int else None
