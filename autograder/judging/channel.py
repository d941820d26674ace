"""The trusted end of the channel to a child: every read has a time limit, every frame is hostile.

Each request carries a random id that its reply must echo, so a frame that was forged ahead of time
or left over from earlier shows. Whatever a child sends can only end the child, never this side.
"""

import math
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autograder.judging.ends import Overran, StudentEnded, Tampered, UsedUp
from autograder.judging.own_time import OwnTime
from autograder.judging.timed_socket import Silence, TimedSocket
from labkit.bridge.executor import MAX_KINDS, MAX_NAME_CHARS
from labkit.bridge.frames import receive, send
from labkit.bridge.student import Student, answer_callback
from labkit.bridge.wire import WireError

_ID_BITS = 53
MOST_CALLBACK_BYTES = 1 << 20  # in arrays: far more than any case has
CALLBACK_SHARE = 3  # an endless loop of callbacks keeps us busy, and waits for nothing
_ABANDON_S = 1.0


@dataclass
class Budget:
    """Seconds left: to wait for the student's code, and of our processor's time in callbacks."""

    wait_s: float = math.inf
    callback_s: float = math.inf

    @contextmanager
    def limited_to(self, seconds: float) -> Iterator[None]:
        """Inside, no more than so much waiting, and the callbacks that go with it."""
        outer = (self.wait_s, self.callback_s)
        inner = (min(outer[0], seconds), min(outer[1], CALLBACK_SHARE * seconds))
        self.wait_s, self.callback_s = inner
        try:
            yield
        finally:
            used = (inner[0] - self.wait_s, inner[1] - self.callback_s)
            self.wait_s, self.callback_s = outer
            self.spend(*used)

    def spend(self, wait_s: float, callback_s: float = 0.0) -> None:
        """Subtract the time that was used."""
        self.wait_s -= wait_s
        self.callback_s -= callback_s


class RemoteChannel:
    """Requests to one process, and the answers to its callbacks.

    Every method may raise EOFError if the process is gone, OtherSpoke if it is a fork and gone,
    Overran, and Tampered; the caller has to end the process then.
    """

    def __init__(
        self,
        sock: socket.socket,
        max_bytes: int,
        budget: Budget,
        own_time: OwnTime,
        other: socket.socket | None,
    ) -> None:
        self.socket = sock
        self._wire = TimedSocket(sock, max_bytes, other, own_time)
        self._budget = budget
        self._own_time = own_time

    def converse(
        self, message: dict, blobs: list, callbacks: list[Callable[..., Any]], student: Student,
        limit_s: float,
    ) -> tuple[dict, memoryview]:  # fmt: skip
        """Ask, answer the callbacks that come first, return the reply and its blob."""
        request_id = new_id()
        with self._clock(limit_s):
            self._send({**message, "id": request_id}, blobs)
            left_s = CALLBACK_SHARE * limit_s
            while True:
                started = time.process_time()  # to read a message is work for us, too
                reply, blob = self._receive(request_id)
                if "callback" not in reply:
                    return _bounded(reply), blob
                self._answer(request_id, reply, blob, callbacks, student)
                took_s = time.process_time() - started
                self._budget.spend(0.0, took_s)
                self._own_time.charge(took_s)
                left_s -= took_s
                if left_s < 0:
                    raise Overran("it called back for too long")

    def tell(self, message: dict, limit_s: float, blobs: list = ()) -> int:
        """Send a request; returns the id that its reply will carry."""
        request_id = new_id()
        with self._clock(limit_s):
            self._send({**message, "id": request_id}, blobs)
        return request_id

    def hand_over(self, sock: socket.socket) -> None:
        """Pass the other process a socket of its own."""
        try:
            socket.send_fds(self.socket, [b"s"], [sock.fileno()])
        except OSError as error:
            raise EOFError(str(error)) from error

    def read(self, request_id: int, limit_s: float, counted: bool = True) -> dict:
        """The reply to this request, which must come next. `counted` charges the budget."""
        with self._clock(limit_s, counted):
            return self._receive(request_id)[0]

    @contextmanager
    def _clock(self, limit_s: float, counted: bool = True) -> Iterator[None]:
        """Bound the waiting inside; a call that has begun may take its whole time."""
        if counted and min(self._budget.wait_s, self._budget.callback_s) <= 0:
            raise UsedUp("all its calls together took too long")
        outer, self._wire.remaining_s = self._wire.remaining_s, limit_s
        try:
            yield
        except Silence:
            raise Overran(f"no answer came within {limit_s:g} s") from None
        finally:
            if counted:
                self._budget.spend(limit_s - self._wire.remaining_s)
            self._wire.remaining_s = outer

    def _send(self, message: dict, blobs: list) -> None:
        try:
            send(self._wire, message, blobs)
        except WireError as error:
            raise ValueError(f"this cannot be sent to the student's process: {error}") from error
        except ConnectionError as error:
            raise EOFError(str(error)) from error

    def _receive(self, request_id: int) -> tuple[dict, memoryview]:
        try:
            message, blob = receive(self._wire)
        except WireError as error:
            raise Tampered("the process sent an unreadable message", error) from error
        except ConnectionError as error:
            raise EOFError(str(error)) from error
        if type(message.get("id")) is not int or message["id"] != request_id:
            raise Tampered("the process sent a message that answers no request")
        return message, blob

    def _answer(
        self,
        request_id: int,
        message: dict,
        blob: memoryview,
        callbacks: list[Callable[..., Any]],
        student: Student,
    ) -> None:
        try:
            if len(blob) > MOST_CALLBACK_BYTES:
                answer, blobs = _refusal("ValueError", "the arguments are far too large"), []
            else:
                answer, blobs = answer_callback(message, blob, callbacks, student)
        except WireError as error:
            raise Tampered("the process sent an unreadable callback", error) from error
        except StudentEnded:
            raise
        except BaseException:  # the check gave its verdict inside a callback
            self._abandon(request_id)
            raise
        try:
            self._send({**answer, "answer": True}, blobs)
        except ValueError as error:
            self._send({**_refusal("ValueError", str(error)), "answer": True}, [])

    def _abandon(self, request_id: int) -> None:
        """Bring a conversation to its end, so that the next request finds a quiet channel."""
        refusal = _refusal("RuntimeError", "the check has ended")
        self._wire.remaining_s = min(self._wire.remaining_s, _ABANDON_S)
        reply: dict = {"callback": None}
        until_s = time.process_time() + _ABANDON_S
        while "callback" in reply:
            if time.process_time() > until_s:
                raise Overran("it called back for too long")
            self._send({**refusal, "answer": True}, [])
            reply, _ = self._receive(request_id)


def new_id() -> int:
    """A random number that cannot be guessed, and that JSON carries exactly."""
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
    kinds = reply.get("kinds")
    kinds = [clean_text(each, 100) for each in kinds[:MAX_KINDS]] if isinstance(kinds, list) else []
    part = clean_text(reply.get("function"), MAX_NAME_CHARS)
    known = {"function": part, "unwritten": reply.get("unwritten") is True}
    return {"ok": False, "kind": kind, "kinds": kinds, "message": message, "lines": lines} | known


def _refusal(kind: str, message: str) -> dict:
    """The answer to a callback that ends with an exception."""
    return {"ok": False, "kind": kind, "message": message}
