"""What comes down the channel, at either end: frames, values, conversations, requests."""

import json
import math
import socket
from contextlib import suppress
from unittest.mock import patch

import numpy
import torch
from frame_inputs import ID

from autograder.judging import channel
from autograder.judging.channel import Budget, RemoteChannel
from autograder.judging.ends import StudentEnded
from autograder.judging.own_time import OwnTime
from autograder.judging.timed_socket import OtherSpoke
from labkit.bridge.executor import Executor
from labkit.bridge.frames import receive, send
from labkit.bridge.requests import hold, value_of
from labkit.bridge.student import MissingName, Proxy, Student, StudentError
from labkit.bridge.wire import Encoder, WireDecoder, WireError


class Tape:
    """A socket that plays bytes and keeps what is sent."""

    def __init__(self, content=b""):
        self.content, self.sent = memoryview(content), bytearray()

    def recv_into(self, view):
        part = self.content[: len(view)]
        view[: len(part)] = part
        self.content = self.content[len(part) :]
        return len(part)

    def sendall(self, data):
        self.sent += data


def play_frames(content):
    """Frames give plain values or WireError; what is decoded travels back as it was."""
    student = Student(None)
    tape = Tape(content)
    with suppress(EOFError, WireError):
        while True:
            message, blob = receive(tape)
            value = WireDecoder(blob, student._from_handle).decode(message.get("value"))
            check_plain(value)
            encoder = Encoder(lambda proxy: proxy._item)
            again = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
            other = WireDecoder(b"".join(encoder.blobs), lambda tag, payload: dict).decode(again)
            assert looks(value) == looks(other)


PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, set, dict, torch.Tensor,
         torch.dtype, numpy.ndarray, Proxy)  # fmt: skip


def check_plain(value):
    """Nothing but plain types, of the sizes that were sent."""
    assert type(value) in PLAIN
    if isinstance(value, list | tuple | set):
        for item in value:
            check_plain(item)
    if isinstance(value, dict):
        for key, item in value.items():
            check_plain(key)
            check_plain(item)
    if isinstance(value, torch.Tensor | numpy.ndarray):
        assert len(value.shape) <= 64
        assert math.prod(max(1, size) for size in value.shape) < 1 << 21


def looks(value):
    """A value as text that is the same for the same value, NaN and order of sets included."""
    match value:
        case Proxy() | None:
            return "a proxy" if value is not None else "None"
        case torch.Tensor() | numpy.ndarray():
            data = torch.as_tensor(value) if value.dtype == torch.bfloat16 else value
            data = data.view(torch.int16) if value.dtype == torch.bfloat16 else data
            return f"{value.dtype} {tuple(value.shape)} {numpy.asarray(data).tobytes()}"
        case set():
            return f"set {sorted(map(looks, value))}"
        case list() | tuple():
            return f"{type(value).__name__} {[looks(item) for item in value]}"
        case dict():
            return f"dict {[(looks(key), looks(item)) for key, item in value.items()]}"
    return repr(value) if value is not dict else "a proxy"


class Line:
    """A student's process that has already said everything it will ever say."""

    def __init__(self, content):
        ours, self.theirs = socket.socketpair()
        self.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.theirs.setblocking(False)
        self.theirs.send(content[: 1 << 17])
        self.theirs.shutdown(socket.SHUT_WR)
        self.remote = RemoteChannel(ours, 1 << 20, Budget(), OwnTime(lambda: None), None)
        self.student = Student(self)

    def request(self, message, blobs, callbacks):
        return self.remote.converse(message, blobs, callbacks, self.student, 0.5)

    def close(self):
        self.theirs.close()
        self.remote.socket.close()


def play_conversation(content):
    """Whatever a process answers, a check gets plain values or one of the exceptions it knows."""
    line = Line(content)
    try:
        with patch.object(channel, "new_id", lambda: ID):
            student = line.student
            for _ in range(4):
                with suppress(WireError, StudentError, MissingName):
                    check_plain(student.area(2.0, [1], len, key=abs))
                with suppress(WireError, StudentError, MissingName):
                    assert isinstance(hold(student.area), Proxy)
                with suppress(WireError, StudentError, MissingName):
                    len(student.area)
                with suppress(WireError, StudentError, MissingName):
                    check_plain(value_of(student.table))
    except (StudentEnded, EOFError, OtherSpoke) as ended:
        assert not isinstance(ended, StudentEnded) or str(ended)
    finally:
        line.close()


class Odd:
    """A student's object that agrees to nothing."""

    __class__ = property(lambda self: 1 / 0)

    def __len__(self):
        return -1

    def __getattr__(self, name):
        raise SystemExit(name)

    def __str__(self):
        raise RecursionError


class OddError(Exception):
    def __str__(self):
        return 5


def raise_odd(*_, **__):
    raise OddError


def cyclic():
    items = []
    items.append(items)
    return items


NAMESPACE = {
    "area": lambda *args, **kwargs: args,
    "call": lambda function, *args: function(*args),
    "odd": Odd(),
    "raise_odd": raise_odd,
    "cyclic": cyclic,
    "items": lambda: {1: [2.5, float("nan"), b"x", 1j, 10**50], "t": torch.ones(2), (1,): {3}},
    "table": [numpy.arange(3), numpy.float32(2), torch.float16, "\ud800"],
}


def play_executor(content):
    """A request is performed or refused; the reply can be sent, and read by the judge."""
    executor = Executor(NAMESPACE, lambda message, blobs: ({"ok": True, "value": [1]}, b""))
    tape = Tape(content)
    student = Student(None)
    with suppress(EOFError, WireError):
        while True:
            reply, blobs = executor.handle(*receive(tape))
            answer = Tape()
            send(answer, reply, blobs)
            back, blob = receive(Tape(answer.sent))
            error = {"ok", "kind", "kinds", "message", "lines", "function", "unwritten"}
            assert set(back) == ({"ok", "value"} if back["ok"] else error)
            if back["ok"]:
                check_plain(WireDecoder(blob, student._from_handle).decode(back["value"]))
