"""The time that a student's processes take, corrected for other work of the machine.

Waiting for them is measured by the clock. The time that they, and we, stand ready and have to wait
for a processor is taken off again: it says how busy the machine is, and must decide nothing.

A process that ends takes its numbers along, so many short ones hide what they ran, and others may
stand in a queue for them. So at least a part of each wait counts, however busy the machine seems.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.judging.ends import Overran

GRAIN_S = 0.25
LEAST_SHARE = 0.1  # of a wait
Reading = tuple[float, float] | None


def our_queue_s() -> float:
    """Seconds that this thread stood ready without a processor; 0 where the system does not say.

    When a reply comes on a busy machine, we wait for a processor to read it.
    """
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class OwnTime:
    """Turns waits into time that counts; spent_s is its sum, ours_s the part of it that is ours.

    read: the seconds that the processes have run so far, and those that they and we stood ready
    without a processor; None where the system does not say, and then all waiting counts.
    """

    def __init__(self, read: Callable[[], Reading]) -> None:
        self._read = read
        self._last: Reading = None
        self._unread_s = 0.0
        self.spent_s = 0.0
        self.ours_s = 0.0

    @contextmanager
    def with_ours(self, limit_s: float) -> Iterator[None]:
        """Our processor's time inside counts too: to read and compare what came is work.

        Raises: Overran when it reaches the limit.
        """
        started, before_s = time.process_time(), self.ours_s
        try:
            with _interrupted_after(limit_s):
                yield
        finally:
            charged_s = self.ours_s - before_s
            self.charge(time.process_time() - started - charged_s)

    def charge(self, ours_s: float) -> None:
        """Count processor time of ours."""
        self.ours_s += ours_s
        self.spent_s += ours_s

    def start(self) -> None:
        """Start counting: earlier time is not charged."""
        self._last, self._unread_s = self._read(), 0.0

    def of(self, waited_s: float, is_last: bool = False) -> float:
        """The part of a wait that counts. A long wait is corrected in parts, by kernel counters.

        `is_last` corrects at once, because a time limit is reached.
        """
        self._unread_s += waited_s
        if is_last or self._unread_s > GRAIN_S:
            waited_s += self._correction()
        self.spent_s += waited_s
        return waited_s

    def _correction(self) -> float:
        before, asked = self._last, time.monotonic()
        self._last = self._read()
        asking_s = time.monotonic() - asked  # beside a fork bomb a second, and it runs on
        unread_s, self._unread_s = self._unread_s + asking_s, 0.0
        if before is None or self._last is None:
            return asking_s
        ran_s, queued_s = (now - then for now, then in zip(self._last, before, strict=True))
        own_s = max(ran_s, unread_s - queued_s, LEAST_SHARE * unread_s)
        return asking_s + min(0.0, own_s - unread_s)


@contextmanager
def _interrupted_after(limit_s: float) -> Iterator[None]:
    """Raise Overran inside when we have run that long; in the main thread, which has signals."""

    def overran(*_: object) -> None:
        raise Overran("to compare what your code returned took too long")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, overran)
    try:
        signal.setitimer(signal.ITIMER_PROF, limit_s, 1.0)  # again, if a check has caught the first
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
