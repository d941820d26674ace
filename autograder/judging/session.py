"""A student's notebook, run to its end whatever it does on the way.

Each submission has one walled child. A cell that kills it is left out and the others are replayed
in a fresh one, so that one cell never costs the exercises of the others. When all cells have run,
checks are played in forks of that child.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from autograder.intake.rebuild import Step
from autograder.judging.client import CellResult, Child, StudentEnded, Zygote
from autograder.judging.jobs import Limits
from autograder.judging.steady import SteadyAnswers
from labkit.bridge.student import Student

T = TypeVar("T")
MAX_RESTARTS = 8
REPLAY_SHARE = 4  # running cells again, for one that ended the process, may take so many times
CHECKS_SHARE = 30  # what the cells may take; all checks so many times what one may


@dataclass
class Session:
    """The run of one submission's cells. problems: what ended cells, in sentences for the TA."""

    zygote: Zygote
    steps: list[Step]
    files: dict[str, bytes]
    limits: Limits
    problems: list[str] = field(default_factory=list)
    results: dict[int, CellResult] = field(default_factory=dict)
    peak_mb: float = 0.0
    _answers: SteadyAnswers = field(default_factory=SteadyAnswers)
    _child: Child | None = None
    _left_out: set[int] = field(default_factory=set)
    _n_starts: int = 0
    _replayed_s: float = 0.0
    _checks_end: float = math.inf

    def run(self) -> None:
        """Run every step once, and those before a killer again in its place."""
        end = time.monotonic() + self.limits.cells_s
        self._start()
        for position, step in enumerate(self.steps):
            if self._child is None:
                return
            if time.monotonic() > end:
                self.problems.append(
                    f"{_cell(step)} and what follows did not run: the notebook had used its "
                    f"{self.limits.cells_s:g} s"
                )
                return
            self._run_step(position, step)

    def look_at(self, names: Iterable[str]) -> None:
        """See what these answers are, before anything of the student's is called."""
        if self._child is not None:
            try:
                with self._child.deadline(self.limits.check_s):
                    self._answers.over(self._child).look_at(names)
            except StudentEnded:
                self._restart(len(self.steps))

    def in_fork(self, play: Callable[[Student], T]) -> T:
        """Play against a fork of the child as it is now.

        Raises: StudentEnded when the student's code ends the fork, overruns its time or sends
        something unreadable; the next call has a fresh fork all the same, until all of them have
        taken too long.
        """
        if self._checks_end == math.inf:
            self._checks_end = time.monotonic() + CHECKS_SHARE * self.limits.check_s
        self._refuse_endless_checks()
        if self._child is None:
            raise StudentEnded("the notebook ended its process again and again")
        try:
            with self._child.forked():
                return play(Student(self._answers.over(self._child)))
        finally:
            if not self._child.alive:
                self._restart(len(self.steps))

    @contextmanager
    def deadline(self) -> Iterator[None]:
        """The time that one check may take, within `in_fork`."""
        self._refuse_endless_checks()
        with self._child.deadline(self.limits.check_s):
            yield

    def close(self) -> None:
        """End the child."""
        self._end()

    def _refuse_endless_checks(self) -> None:
        """Many checks that are each slow enough to be in time would keep a slot for hours."""
        if time.monotonic() > self._checks_end:
            limit_s = CHECKS_SHARE * self.limits.check_s
            self.problems.append(
                f"the checks had not ended after {limit_s:g} s: those still to play have no points"
            )
            raise StudentEnded(f"the checks before it had taken {limit_s:g} s")

    def _run_step(self, position: int, step: Step) -> None:
        try:
            result = self._child.run_cell(step.source, self.limits.cell_s)
        except StudentEnded as ended:
            self.problems.append(f"{_cell(step)} was left out: {ended}")
            self._left_out.add(position)
            self._restart(position)
            return
        if result.ended:
            self.problems.append(f"{_cell(step)} was stopped: {result.ended}")
        if step.index is not None:
            earlier = self.results.get(step.index)  # of a cell that runs statement by statement
            outputs = earlier.outputs + result.outputs if earlier else result.outputs
            self.results[step.index] = replace(result, outputs=outputs)

    def _start(self) -> None:
        self._n_starts += 1
        self._child = self.zygote.spawn()
        if self.files:
            self._put_files()

    def _put_files(self) -> None:
        try:
            self._child.put_files(self.files)
        except ValueError as error:
            self.problems.append(f"the files beside the notebook were left out: {error}")
            self.files = {}

    def _restart(self, upto: int) -> None:
        """A fresh child with the steps before `upto`, but for the killers."""
        self._end()
        replay_limit_s = REPLAY_SHARE * self.limits.cells_s
        while self._n_starts <= MAX_RESTARTS and self._replayed_s < replay_limit_s:
            self._start()
            started = time.monotonic()
            killer = self._replay(upto)
            self._replayed_s += time.monotonic() - started
            if killer is None:
                return
            self._left_out.add(killer)
            self._end()
        self.problems.append(f"the notebook ended its process {self._n_starts} times")

    def _replay(self, upto: int) -> int | None:
        """Run the earlier steps again; returns the one that ended the child this time, if any."""
        for position, step in enumerate(self.steps[:upto]):
            if position in self._left_out:
                continue
            try:
                self._child.run_cell(step.source, self.limits.cell_s)
            except StudentEnded:
                return position
        return None

    def _end(self) -> None:
        if self._child is not None:
            self.peak_mb = max(self.peak_mb, self._child.end().peak_mb)
            self._child = None


def _cell(step: Step) -> str:
    return "a given cell" if step.index is None else f"cell {step.index + 1}"
