"""The grader's end of the template, from which slots are forked."""

import atexit
import os
import socket
import subprocess
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.judging.start.keepers import ENVIRONMENT, PYTHON

PROGRAM = Path(__file__).with_name("__main__.py")
START_S = 180.0
END_S = 5.0


class TemplateError(RuntimeError):
    """The template has ended, or does not answer."""


@dataclass(frozen=True)
class Fork:
    """A slot's process and the socket to it."""

    template: "Template"
    pid: int
    socket: socket.socket

    def hang_up(self) -> None:
        """Close the socket on both sides. This wakes every process that waits for the slot."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let it end, and kill it if it does not."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
            self.socket.settimeout(END_S)
            while self.socket.recv(1 << 16):
                pass
        self.socket.close()
        with suppress(TemplateError):  # then it has ended with the template
            self.template.order(b"end %d" % self.pid)


class Template:
    """A running template, whose forks end with it, as it ends with this process.

    It imports for seconds, in which others can work.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders, theirs = socket.socketpair()
        self._orders.settimeout(START_S)
        with theirs:
            self._process = subprocess.Popen(
                [*PYTHON, str(PROGRAM), str(os.getpid())],
                env=ENVIRONMENT | {"TMPDIR": tempfile.gettempdir()},
                cwd="/",
                stdin=theirs,
            )
        atexit.register(self.close)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def fork(self) -> Fork:
        """Start a slot. Raises: TemplateError."""
        ours, theirs = socket.socketpair()
        with theirs:
            return Fork(self, self.order(b"start", theirs.fileno()), ours)

    def order(self, text: bytes, *descriptors: int) -> int:
        """Give an order and wait for its answer. Raises: TemplateError."""
        with self._lock:
            try:
                socket.send_fds(self._orders, [text], descriptors)
                return int(self._orders.recv(64))
            except (OSError, ValueError) as error:
                raise TemplateError(f"the template has ended ({error})") from error

    def close(self) -> None:
        """End it, and with it all its forks."""
        self._orders.close()
        self._process.terminate()
        self._process.wait()


class _Shared:
    """The template of this process: started when it is first needed, and again if it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._template: Template | None = None

    def running(self) -> Template:
        with self._lock:
            if self._template is None or not self._template.alive:
                self._template = Template()
            return self._template


@cache
def _shared(pid: int) -> _Shared:
    return _Shared()


def shared_template() -> Template:
    """The template of this process, started if it does not run: to import takes seconds."""
    return _shared(os.getpid()).running()
