"""The sources of outcomes: slots on this machine, a cluster, files of shards.

A pool gives each content of a grading its outcome, by its key, as soon as it is known.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from typing import Protocol

from autograder.grading.pool import Outcome, Slots
from autograder.grading.spool import Spool
from autograder.intake.collect import Submission
from autograder.judging.jobs import SlotSettings
from autograder.judging.start.template import shared_template

Todo = Mapping[str, Submission]
Outcomes = Iterator[tuple[str, Outcome]]
Settings = Callable[[ExitStack], SlotSettings]  # the files that they name stay until it closes


class Pool(Protocol):
    """Grades submissions, once each."""

    def warm(self, n: int) -> None:
        """Start now what n submissions will need, if that takes seconds."""

    def grade(self, todo: Todo) -> Outcomes:
        """Grade these, from now on."""

    def close(self) -> None:
        """End all that it has started."""


class ThisMachine:
    """Slots side by side on this machine."""

    def __init__(self, settings: Settings, jobs: int) -> None:
        self._settings, self._jobs = settings, jobs
        self._stack = ExitStack()
        self._slots: Slots | None = None

    def warm(self, n: int) -> None:
        """Start up to n slots."""
        if self._slots is None:
            shared_template()  # it imports while the files are written
            slots = Slots(self._settings(self._stack), min(n, self._jobs))
            self._slots = self._stack.enter_context(closing(slots))

    def grade(self, todo: Todo) -> Outcomes:
        """Grade these; slots warm up at the latest now."""
        self.warm(len(todo))
        return _by_key(todo, self._slots.grade)

    def close(self) -> None:
        """End the slots."""
        self._stack.close()


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, settings: Settings, address: str, keys_folder: Path | None) -> None:
        self._settings, self._address, self._keys_folder = settings, address, keys_folder
        self._stack = ExitStack()

    def warm(self, n: int) -> None:
        """Nothing: the workers run already."""

    def grade(self, todo: Todo) -> Outcomes:
        """Hand these in. Raises: ClusterError."""
        from autograder.grading.cluster.grading import grade_on_cluster  # Dask takes seconds

        where = self._settings(self._stack), self._address, self._keys_folder
        return _by_key(todo, lambda submissions: grade_on_cluster(submissions, *where))

    def close(self) -> None:
        """Remove the files; the cluster stays."""
        self._stack.close()


class WithShards:
    """What shards have left in the output folder; another pool grades the rest."""

    def __init__(self, spool: Spool, pool: Pool) -> None:
        self._spool, self._pool = spool, pool

    def warm(self, n: int) -> None:
        """Warm the other pool, unless shards may have left everything."""
        if not self._spool.has_any:
            self._pool.warm(n)

    def grade(self, todo: Todo) -> Outcomes:
        """Take the outcomes that shards have written, and grade the other submissions."""
        left = {key: each for key, each in todo.items() if self._spool.take(key, each)}
        rest = {key: each for key, each in todo.items() if key not in left}
        graded = self._pool.grade(rest) if rest else ()
        return chain(self._taken(left), graded)

    def _taken(self, left: Todo) -> Outcomes:
        """If a file is gone, another grading has taken it."""
        for key, submission in left.items():
            if outcome := self._spool.take(key, submission):
                yield key, outcome

    def close(self) -> None:
        """Close the other pool."""
        self._pool.close()


def _by_key(todo: Todo, grade: Callable[[Sequence[Submission]], Iterable[Outcome]]) -> Outcomes:
    """Start to grade these; each outcome has the key of its submission."""
    key_of = {id(submission): key for key, submission in todo.items()}
    outcomes = grade(list(todo.values()))
    return ((key_of[id(outcome.submission)], outcome) for outcome in outcomes)
