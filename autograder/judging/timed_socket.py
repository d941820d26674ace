"""A socket whose reads and writes share one time limit, counted in the student's own time."""

import select
import socket
import time

from autograder.judging.own_time import GRAIN_S, OwnTime
from labkit.bridge.wire import WireError

_READ_BYTES_PER_S = 8 << 20  # to decode what came is work for us: a long reply takes its time
_PART_S = 2e-5  # to read less than was announced is work for us, too, however little came


class Silence(Exception):
    """Nothing came in time."""


class OtherSpoke(Exception):
    """A fork is silent and the process it came from has something to report: the fork's end."""


class TimedSocket:
    """A socket for `labkit.bridge.wire` whose reads and writes share one time budget.

    Only waiting counts, corrected by `own_time`, and the size and the number of parts of messages.
    Sending bytes slowly, or one by one, does not avoid the limit. If `other` becomes readable while
    this socket has nothing, `OtherSpoke` is raised.
    """

    def __init__(
        self,
        sock: socket.socket,
        max_bytes: int,
        other: socket.socket | None = None,
        own_time: OwnTime | None = None,
    ) -> None:
        sock.setblocking(False)
        self._own_time = own_time
        self.remaining_s = 0.0
        self._socket = sock
        self._other = other
        self._max_bytes = max_bytes

    def recv_into(self, view: memoryview) -> int:
        """Wait for bytes and read some. Raises: WireError for more than may come at once."""
        if len(view) > self._max_bytes:
            raise WireError(f"a frame of {len(view):,} bytes, the limit is {self._max_bytes:,}")
        while True:
            try:
                n_read = self._socket.recv_into(view)
            except BlockingIOError:
                self._wait(select.POLLIN)
            else:
                self.remaining_s -= n_read / _READ_BYTES_PER_S
                if n_read < len(view):
                    self._charge_part()
                return n_read

    def _charge_part(self) -> None:
        """Charge a read that has not brought all. Raises: Silence once the time is used up.

        The last message may take as long as the largest one.
        """
        self.remaining_s -= _PART_S
        if self.remaining_s < -self._max_bytes / _READ_BYTES_PER_S:
            raise Silence

    def sendall(self, data: bytes | memoryview) -> None:
        """Write everything, in time."""
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                self._wait(select.POLLOUT)

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._socket, event)
        if self._other is not None:
            poll.register(self._other, select.POLLIN)
        while not (ready := self._poll(poll)):
            if self.remaining_s <= 0:
                raise Silence
        if self._socket.fileno() not in ready:
            raise OtherSpoke

    def _poll(self, poll: select.poll) -> dict[int, int]:
        limit_s = max(0.0, self.remaining_s)
        part_s = min(limit_s, GRAIN_S) if self._own_time else limit_s
        started = time.monotonic()
        ready = dict(poll.poll(part_s * 1000))
        waited_s = time.monotonic() - started
        if self._own_time is not None:
            waited_s = self._own_time.of(waited_s, is_last=not ready and waited_s >= limit_s)
        self.remaining_s -= waited_s
        return ready
