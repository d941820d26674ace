"""Sending submissions to a cluster until each has an outcome, even if machines fail.

Every submission has one outcome: the first that arrives. If a worker is lost, the scheduler sends
its submissions again. If the scheduler is lost, we do. A submission that takes far longer than the
others is sent to a second machine, because a machine may hang without a sign.
"""

import json
import logging
import queue
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from distributed import Future
from distributed.scheduler import KilledWorker

from autograder.grading.cluster.connection import Connection
from autograder.grading.cluster.keys import ClusterError, read_keys
from autograder.grading.cluster.worker import GradingOrder, installation
from autograder.grading.pool import Outcome, our_error
from autograder.intake.collect import Submission
from autograder.judging.jobs import SlotSettings

MAX_TRIES = 3
TICK_S = 0.5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds: for a scheduler's answer; for one that is gone to come back.

    A submission is late, and handed in once more, when it has taken longer than late_s and longer
    than late_factor times the median.
    """

    answer_s: float = 20.0
    gone_s: float = 600.0
    late_s: float = 60.0
    late_factor: float = 4.0


@dataclass(frozen=True)
class Try:
    """A submission, by its index, on its way through the cluster."""

    index: int
    future: Future
    start: float


def grade_on_cluster(
    todo: Sequence[Submission],
    settings: SlotSettings,
    address: str,
    keys_folder: Path | None,
    patience: Patience = Patience(),
) -> Iterator[Outcome]:
    """Grade on a Dask cluster, which starts right away; yields outcomes as they come.

    Raises: ClusterError, here or on the way, with what a person can mend.
    """
    if keys_folder is None:
        raise ClusterError("a cluster needs its keys: give --cluster-keys FOLDER, too")
    connection = Connection(address, read_keys(keys_folder), patience.answer_s)
    try:
        connection.open()
    except OSError as error:
        raise ClusterError(
            f"no scheduler answers at {address} with the keys of {keys_folder}: start one with "
            "the same keys, or wait until it is up"
        ) from error
    grading = ClusterGrading(todo, GradingOrder(settings, installation()), connection, patience)
    grading.hand_in()
    return grading.outcomes()


class ClusterGrading:
    """The submissions of one grading: waiting, on their way, done."""

    def __init__(
        self,
        todo: Sequence[Submission],
        order: GradingOrder,
        connection: Connection,
        patience: Patience,
    ) -> None:
        self._todo = todo
        self._order = order
        self._connection = connection
        self._patience = patience
        self._waiting = deque(range(len(todo)))
        self._open = set(self._waiting)
        self._tries: dict[str, Try] = {}
        self._news: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._n_failed: Counter[int] = Counter()
        self._seconds: list[float] = []
        self._slow_until: dict[str, float] = {}
        self._lonely = False

    def outcomes(self) -> Iterator[Outcome]:
        """One outcome for each submission, as they come."""
        try:
            while self._open:
                outcome = self._next()
                if outcome is not None:
                    yield outcome
                self.hand_in()
        finally:
            self._connection.close()

    def hand_in(self) -> None:
        """Keep all threads of the cluster busy, and try again what is late."""
        try:
            n_threads = self._connection.n_threads()
            late = self._late()
            preferred = self._preferred(n_threads, late)
            for index in self._without_hope(late) if preferred else []:
                self._try(index, preferred)
            while self._has_room(2 * sum(n_threads.values()) + len(late)):
                self._try(self._waiting.popleft(), preferred)
        except OSError:
            self._start_over()
        else:
            self._warn_if_alone(not n_threads)

    def _has_room(self, n: int) -> bool:
        """Whether the next may go; one that was near the death of workers goes alone.

        So a submission that brings workers down takes no other with it.
        """
        if not self._waiting:
            return False
        if self._n_failed[self._waiting[0]]:
            return not self._tries
        suspects = any(self._n_failed[one.index] for one in self._tries.values())
        return len(self._tries) < max(n, 2) and not suspects

    def _try(self, index: int, preferred: set[str]) -> None:
        future = self._connection.submit(self._order.pack(self._todo[index]), preferred)
        self._tries[future.key] = Try(index, future, time.monotonic())
        future.add_done_callback(self._news.put)

    def _late(self) -> list[Try]:
        if not self._seconds:
            return []
        limit = max(self._patience.late_s, self._patience.late_factor * median(self._seconds))
        now = time.monotonic()
        return [one for one in self._tries.values() if now - one.start > limit]

    def _preferred(self, workers: Iterable[str], late: list[Try]) -> set[str]:
        """The workers that were not late in the last while; none if that says nothing."""
        now = time.monotonic()
        if late:
            slow = self._connection.busy_with([one.future for one in late])
            self._slow_until |= dict.fromkeys(slow, now + 2 * self._patience.late_s)
        slow = {worker for worker in workers if self._slow_until.get(worker, 0.0) > now}
        return set(workers) - slow if slow else set()

    def _without_hope(self, late: list[Try]) -> list[int]:
        """The submissions of which every try is late, and one more is allowed."""
        n_tries = Counter(one.index for one in self._tries.values())
        n_late = Counter(one.index for one in late)
        return [index for index, n in n_late.items() if n == n_tries[index] < MAX_TRIES]

    def _next(self) -> Outcome | None:
        """Wait for news for a moment; the outcome that they are, if any."""
        try:
            future = self._news.get(timeout=TICK_S)
        except queue.Empty:
            return None
        done = self._tries.pop(future.key, None)
        if done is None:  # its twin was faster, or it belongs to a lost scheduler
            return None
        match future.status:
            case "finished":
                return self._taken(done)
            case "error":
                return self._failed(done.index, future.exception())
        self._start_over()
        return None

    def _taken(self, done: Try) -> Outcome | None:
        try:
            reply = json.loads(done.future.result(self._patience.answer_s))
            if "refusal" in reply:
                raise ClusterError(reply["refusal"])
            outcome = Outcome.from_json(self._todo[done.index], reply["outcome"])
        except OSError:  # its worker was lost with it
            self._waiting.appendleft(done.index)
            return None
        except CancelledError:  # the scheduler was
            self._start_over()
            return None
        except ValueError as error:
            return self._failed(done.index, error)
        self._seconds.append(time.monotonic() - done.start)
        return self._closed(done.index, outcome)

    def _failed(self, index: int, error: BaseException) -> Outcome | None:
        """Put it at the end of the queue, or give up on it."""
        self._n_failed[index] += 1
        if any(other.index == index for other in self._tries.values()):
            return None
        if self._n_failed[index] < MAX_TRIES:
            self._waiting.append(index)
            return None
        if isinstance(error, KilledWorker):
            why = "the workers that graded it were killed, again and again"
            return self._closed(index, our_error(self._todo[index], self._order.settings.lab, why))
        raise ClusterError(
            f"the workers cannot grade ({type(error).__name__}: {error}): correct that, start them "
            "again and repeat the command, which continues where it stopped"
        )

    def _closed(self, index: int, outcome: Outcome) -> Outcome:
        self._open.discard(index)
        with suppress(ValueError):  # it may wait for another try
            self._waiting.remove(index)
        for key, other in list(self._tries.items()):
            if other.index == index:
                self._tries.pop(key).future.cancel()
        return outcome

    def _start_over(self) -> None:
        """Connect again and hand in again what has no outcome."""
        self._tries.clear()
        self._connection.reopen(self._patience.gone_s)
        suspects = [index for index in self._open if self._n_failed[index]]
        self._waiting = deque(sorted(self._open - set(suspects)) + sorted(suspects))

    def _warn_if_alone(self, lonely: bool) -> None:
        if lonely and not self._lonely:
            log.warning("the cluster has no workers: waiting for the first one")
        self._lonely = lonely
