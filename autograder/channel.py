"""The trusted end of the channel to a child: every read has a time limit, every frame is hostile.

Each request carries a random id that its reply must echo, so a frame that was forged ahead of time
or left over from earlier shows. Whatever a child sends can only end the child, never this side.
"""

from __future__ import annotations

import secrets
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from labkit.student import Proxy, Student, answer_callback
from labkit.wire import WireError, receive, send

_ID_BITS = 53
_SETTLE_S = 1.0


class ChildError(Exception):
    """The student's process did not answer a request; the message says why, for a TA."""


class ChildDied(ChildError):
    """The student's process ended: by itself, by a crash, or over a limit of the wall."""


class ForkDied(ChildDied):
    """Only the fork that ran this check ended; the student's process is as it was."""


class Overran(ChildError):
    """It did not answer in time, and was ended."""


class Tampered(ChildError):
    """It sent what no honest child sends: a forged, stale or malformed frame; it was ended."""


class _Silence(Exception):
    """Nothing came in time."""


class _OtherSpoke(Exception):
    """The main process reported, while its fork was expected to."""


class TimedSocket:
    """A socket for `labkit.wire` whose reads and writes share one time budget.

    Only waiting counts. A slow drip of bytes is no way around it. If `other` becomes readable
    while this socket has nothing, `_OtherSpoke` is raised.
    """

    def __init__(self, sock: socket.socket, max_bytes: int) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.other: socket.socket | None = None
        self.remaining_s = 0.0
        self._max_bytes = max_bytes

    def recv_into(self, view: memoryview) -> int:
        """Wait for bytes and read some. Raises: WireError for more than may come at once."""
        if len(view) > self._max_bytes:
            raise WireError(f"a frame of {len(view):,} bytes, the limit is {self._max_bytes:,}")
        while True:
            try:
                return self.socket.recv_into(view)
            except BlockingIOError:
                self._wait(select.POLLIN)

    def sendall(self, data: bytes | memoryview) -> None:
        """Write everything, in time."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.socket.send(view) :]
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self.socket, event)
        if self.other is not None:
            poll.register(self.other, select.POLLIN)
        started = time.monotonic()
        ready = dict(poll.poll(max(0.0, self.remaining_s) * 1000))
        self.remaining_s -= time.monotonic() - started
        if not ready:
            raise _Silence
        if self.socket.fileno() not in ready:
            raise _OtherSpoke


class RemoteStudent(Student):
    """A `Student` whose unreadable values count as tampering."""

    def ask(
        self,
        op: str,
        target: Proxy | None = None,
        args: tuple = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        hold: bool = False,
    ) -> Any:
        """One request. Raises: MissingName, StudentError or ChildError."""
        try:
            return super().ask(op, target, args, kwargs, name, hold)
        except WireError as error:
            raise Tampered(f"it sent an unreadable value ({error})") from error


class RemoteChannel:
    """Requests to one process, and the answers to its callbacks.

    Raises, from every method: EOFError if the process is gone, `_OtherSpoke` if a fork is,
    Overran and Tampered. The caller ends the process then.
    """

    def __init__(self, sock: socket.socket, max_bytes: int, call_s: float) -> None:
        self.wire = TimedSocket(sock, max_bytes)
        self.student = RemoteStudent(self)
        self.call_s = call_s
        self.budget_s: float | None = None

    def request(
        self, message: dict, blobs: list, callbacks: list[Callable[..., Any]]
    ) -> tuple[dict, bytes]:
        """Ask, answer the callbacks that come first, return the reply (see labkit.student)."""
        request_id = new_id()
        with self._clock(self.call_s):
            self._send({**message, "id": request_id}, blobs)
            while True:
                reply, blob = self._receive(request_id)
                if "callback" not in reply:
                    return _bounded(reply), blob
                self._answer(request_id, reply, blob, callbacks)

    def ask(self, message: dict, limit_s: float, blobs: list = ()) -> dict:
        """A request without callbacks: the reply."""
        request_id = new_id()
        with self._clock(limit_s):
            self._send({**message, "id": request_id}, blobs)
            return self._receive(request_id)[0]

    def read(self, request_id: int, limit_s: float) -> dict:
        """The frame with this id, which must be the next one."""
        with self._clock(limit_s):
            return self._receive(request_id)[0]

    @contextmanager
    def _clock(self, limit_s: float) -> Iterator[None]:
        """Bound the waiting inside; it also counts against the budget of the whole check."""
        reason = f"no answer within {limit_s:g} s"
        if self.budget_s is not None and self.budget_s < limit_s:
            limit_s, reason = max(0.0, self.budget_s), "too slow: the check's whole time is used up"
        outer, self.wire.remaining_s = self.wire.remaining_s, limit_s
        try:
            if not limit_s:
                raise _Silence
            yield
        except _Silence:
            raise Overran(reason) from None
        finally:
            if self.budget_s is not None:
                self.budget_s -= limit_s - self.wire.remaining_s
            self.wire.remaining_s = outer

    def _send(self, message: dict, blobs: list) -> None:
        try:
            send(self.wire, message, blobs)
        except WireError as error:
            raise ValueError(f"this cannot be sent to the student's process: {error}") from error
        except ConnectionError as error:
            raise EOFError(str(error)) from error

    def _receive(self, request_id: int) -> tuple[dict, bytearray]:
        try:
            message, blob = receive(self.wire)
        except WireError as error:
            raise Tampered(f"it sent an unreadable frame ({error})") from error
        except ConnectionError as error:
            raise EOFError(str(error)) from error
        if type(message.get("id")) is not int or message["id"] != request_id:
            raise Tampered("it sent a frame that answers no request of ours")
        return message, blob

    def _answer(self, request_id: int, message: dict, blob: bytearray, callbacks: list) -> None:
        try:
            answer, blobs = answer_callback(message, blob, callbacks, self.student)
        except WireError as error:
            raise Tampered(f"it sent an unreadable callback ({error})") from error
        except ChildError:
            raise
        except BaseException:  # the check gave its verdict inside a callback
            self._abandon(request_id)
            raise
        self._send({**answer, "answer": True}, blobs)

    def _abandon(self, request_id: int) -> None:
        """Bring a conversation to its end, so that the next request finds a quiet channel."""
        refusal = {"ok": False, "kind": "RuntimeError", "message": "the check has ended"}
        self.wire.remaining_s = min(self.wire.remaining_s, _SETTLE_S)
        reply: dict = {"callback": None}
        while "callback" in reply:
            self._send({**refusal, "answer": True}, [])
            reply, _ = self._receive(request_id)


def new_id() -> int:
    """A number that nobody can guess, and that JSON carries exactly."""
    return secrets.randbits(_ID_BITS)


def clean_text(text: Any, max_chars: int) -> str:
    """A bounded string that can be written to any file; empty if it is no string."""
    if not isinstance(text, str):
        return ""
    return text[:max_chars].encode("utf-8", "replace").decode("utf-8")


def _bounded(reply: dict) -> dict:
    """An error's texts may be shown and stored: bound them here, values are the decoder's."""
    if reply.get("ok") is True or not isinstance(reply.get("lines"), list):
        return reply
    lines = [clean_text(line, 200) for line in reply["lines"][:20]]
    kind, message = clean_text(reply.get("kind"), 100), clean_text(reply.get("message"), 2000)
    return {"ok": False, "kind": kind, "message": message, "lines": lines}
