"""What a hostile process sends without end is charged, and holds no slot."""

import json
import socket
import struct
import subprocess
import sys
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest

from autograder.judging.channel import Budget, RemoteChannel
from autograder.judging.ends import Overran, Tampered
from autograder.judging.own_time import OwnTime
from autograder.judging.timed_socket import Silence, TimedSocket
from labkit.bridge.frames import _read


def calls_back(sock, callback):
    """Answer the first request with callbacks without end, whatever comes."""
    (n_bytes, _) = struct.unpack("<IQ", sock.recv(12))
    asked = json.loads(sock.recv(n_bytes))
    header = json.dumps(
        {"id": asked["id"], "callback": callback, "args": [], "kwargs": {}}
    ).encode()
    frame = struct.pack("<IQ", len(header), 0) + header
    threading.Thread(target=swallow, args=(sock,), daemon=True).start()
    try:
        while True:
            sock.sendall(frame)
    except OSError:
        pass


def swallow(sock):
    try:
        while sock.recv(1 << 16):
            pass
    except OSError:
        pass


@pytest.fixture
def converse():
    """Ask a process that calls back `callback` without end; returns the own time it cost, in s."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        plain = SimpleNamespace(_from_handle=None, _to_handle=None)  # no object passes
        budget = Budget(callback_s=10.0)
        channel = RemoteChannel(ours, 1 << 20, budget, OwnTime(lambda: None), None)

        def ask(ended, callback, *callbacks):
            thread = threading.Thread(target=calls_back, args=(theirs, callback), daemon=True)
            thread.start()
            with ended:
                channel.converse({"op": "call"}, [], list(callbacks), plain, 1.0)
            return 10.0 - budget.callback_s

        yield ask


def test_callbacks_without_end_are_charged_with_our_own_time(converse):
    assert converse(pytest.raises(Overran), 0, lambda: 1) > 0.3


def test_callbacks_that_go_on_after_the_verdict_end(converse):
    def verdict():
        raise AssertionError("wrong")

    converse(pytest.raises(Overran), 0, verdict)


@pytest.mark.parametrize("callback", [None, 9, "x"])
def test_a_callback_that_names_nothing_ends_the_process(converse, callback):
    converse(pytest.raises(Tampered, match="unreadable callback"), callback)


def test_our_memory_for_what_comes_is_bounded():
    fills = "from autograder.judging.wall.limits import bound_memory; bound_memory(64); "
    fills += "values = [bytes(8 << 20) for _ in range(64)]"
    ended = subprocess.run([sys.executable, "-c", fills], capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == "MemoryError"


class ByteByByte:
    """A socket that always has one byte more, and never makes us wait."""

    n_reads = 0

    def setblocking(self, _):
        pass

    def recv_into(self, view):
        self.n_reads += 1
        return 1


def test_bytes_that_come_one_by_one_use_up_the_limit():
    sock = ByteByByte()
    wire = TimedSocket(sock, 1 << 16)
    wire.remaining_s = 0.1
    with pytest.raises(Silence):
        _read(wire, 1 << 16)
    assert sock.n_reads < 6_000
    honest = TimedSocket(ByteByByte(), 1)
    assert len(_read(honest, 1)) == 1
    assert honest.remaining_s > -1e-6  # what comes as a whole costs nothing besides
