"""A student's notebook, run to its end even if cells crash or hang.

Each submission has one walled child. A cell that kills it is left out and the others are replayed
in a fresh one, so that one cell never costs the exercises of the others. When all cells have run,
checks are played in forks of that child.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from autograder.intake.steps import Step
from autograder.judging.channel import CALLBACK_SHARE
from autograder.judging.client import ZygoteHandle
from autograder.judging.ends import StudentEnded, UsedUp
from autograder.judging.jobs import Limits
from autograder.judging.own_words import OwnWords
from autograder.judging.reasons import error_of, needed_by_answers, why_unbound
from autograder.judging.steady import SteadyChannel
from autograder.judging.walled import CellResult, Child
from autograder.names import is_named_otherwise
from labkit.bridge.student import Student
from labkit.checks.names import bound_names

T = TypeVar("T")
MAX_RESTARTS = 8


@dataclass
class Session:
    """The run of one submission's cells. problems: what ended cells, in sentences for the TA.

    notes: which answers' cells ended with an exception. withheld: names that no check gets, and the
    reasons. Time is the student's own (see own_time).
    """

    zygote: ZygoteHandle
    steps: list[Step]
    files: dict[str, bytes]
    limits: Limits
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    results: dict[int, CellResult] = field(default_factory=dict)
    withheld: dict[str, str] = field(default_factory=dict)
    peak_mb: float = 0.0
    _seen: dict[str, bytes] = field(default_factory=dict)  # of its answers (see steady)
    _child: Child | None = None
    _left_out: dict[int, str] = field(default_factory=dict)  # by position, and why
    _ends: dict[int, str] = field(default_factory=dict)  # by position, how a step went wrong
    _needed: set[int] | None = None
    _n_starts: int = 0
    _spent_s: float = 0.0  # by the children before this one
    _ours_s: float = 0.0
    _own_cells_s: float = 0.0
    _cells_s: float = 0.0  # of all cells
    _files: str = ""  # a digest of what lies on the disk of a child for checks played again

    @property
    def lives(self) -> bool:
        """Whether there is a process to ask."""
        return self._child is not None

    @property
    def spent_s(self) -> float:
        """What this submission has taken so far, replays included."""
        return self._spent_s + (self._child.own_time.spent_s if self._child else 0.0)

    @property
    def ours_s(self) -> float:
        """The part of `spent_s` that is our own processor's time."""
        return self._ours_s + (self._child.own_time.ours_s if self._child else 0.0)

    @property
    def files_digest(self) -> str:
        """What lies on the disk of the child; "" without one."""
        return self._child.files_digest() if self._child else ""

    def run(self) -> None:
        """Run every step once, and those before a killer again in its place."""
        self._start()
        for position, step in enumerate(self.steps):
            if self._child is None:
                return
            if reason := self._why_not(position, step):
                self._left_out[position] = reason
                self._tell(f"{_cell(step)} did not run: {reason}")
            else:
                self._run_step(position, step)
        self._cells_s = self.spent_s

    def look_at(self, places: Mapping[str, str]) -> None:
        """See what these answers are, before anything of the student's is called.

        places: the exercise with whose names each answer is looked at.
        """
        for name, exercise in places.items():
            if self._child is None:
                return
            try:
                with self._child.deadline(self.limits.check_s), self._with_ours():
                    self._child.names_of = exercise
                    SteadyChannel(self._child, self._seen, self._words).look_at([name])
            except StudentEnded:
                self._seen.setdefault(name, b"")  # so whatever it is later is something else
                self._restart(len(self.steps))

    def in_fork(self, play: Callable[[Student], T]) -> T:
        """Play against a fork of the child as it is now.

        Raises: StudentEnded when the student's code ends the fork, overruns its time or sends
        something unreadable; the next call has a fresh fork all the same, until the submission's
        time is used up.
        """
        if self._child is None:
            raise StudentEnded("the notebook ended its process again and again")
        self._refuse_more()
        try:
            with self._child.forked():
                channel = SteadyChannel(self._child, self._seen, self._words, self.withheld)
                return play(Student(channel, self.text_of))
        finally:
            if not self._child.alive:
                self._restart(len(self.steps))

    def in_changed_fork(
        self, exercise: str, definition: str, limit_s: float, play: Callable[[Student], T]
    ) -> T:
        """Play against a fork in which this definition stands in place of an exercise's own.

        Raises: as `in_fork`, and ValueError for a definition that raises, or without a fork.
        """

        def play_it(student: Student) -> T:
            own_time = self._child.own_time
            with self._child.deadline(limit_s), own_time.with_ours(CALLBACK_SHARE * limit_s):
                self._child.names_of = exercise
                self._child.define(definition)
                channel = SteadyChannel(self._child, {}, self._words, self.withheld)
                texts = {exercise: definition}
                return play(Student(channel, lambda name: texts.get(name) or self.text_of(name)))

        return self.in_fork(play_it)

    def survey(self, *asked: Any) -> tuple[list[str], list[list]]:
        """`Child.survey`, in a fork of the child. Raises: as `in_changed_fork`."""
        return self.in_fork(lambda _: self._child.survey(*asked))

    def start_again(self) -> bool:
        """Run all cells once more in a fresh process; whether that is there."""
        self._restart(len(self.steps))
        return self._child is not None

    @cached_property
    def texts(self) -> list[str]:
        """The cells, and the files beside them."""
        files = (data.decode(errors="replace") for data in self.files.values())
        return [*(step.source for step in self.steps), *files]

    @cached_property
    def _words(self) -> OwnWords:
        return OwnWords(self.texts)

    def text_of(self, name: str) -> str:
        """The cell that defines a name, of those that ran before its exercise was judged.

        "" if there is none, or if one after it does more with the name than to call it.
        """
        last = next((n for n, step in enumerate(self.steps) if name in step.keeps), None)
        ran = self.steps if last is None else self.steps[: last + 1]
        for step in reversed(ran):
            if name in bound_names(step.source):
                return step.source
            if is_named_otherwise(name, step.source):
                break
        return ""

    @contextmanager
    def deadline(self, exercise: str = "") -> Iterator[None]:
        """The time that one check may take, within `in_fork`, with the names of its exercise.

        Our own turn is charged as well, and has a limit.
        """
        self._refuse_more()
        self._child.names_of = exercise
        with self._child.deadline(self.limits.check_s), self._with_ours():
            yield

    def _with_ours(self) -> AbstractContextManager[None]:
        return self._child.own_time.with_ours(CALLBACK_SHARE * self.limits.check_s)

    def is_ready_again(self) -> bool:
        """Whether the next fork knows nothing of the checks that were played before.

        A fork could leave word in this child by a pipe, shared memory, a signal, its exit status
        and more. So the first check that is played again gets a fresh child, and each after it a
        fork of that one: it may learn of the checks before it, as in the one fork of them all.
        Files that another check has left ask for one more fresh child. There is none if the cells
        have taken so long that the submission's time would not last for them and a check.
        """
        if self._child is None or self.spent_s > self.limits.submission_s:
            return False
        if self._files and self._child.files_digest() == self._files:
            return True
        ends_s = self.spent_s + self._cells_s + self.limits.check_s
        if self._n_starts > MAX_RESTARTS or ends_s > self.limits.submission_s:
            return False
        self._restart(len(self.steps))
        if self._child is not None:
            self._files = self._child.files_digest()
        return self._child is not None

    def why_unbound(self, name: str) -> str:
        """Why the notebook has no such name, found in its cells; "" if they give no reason."""
        return why_unbound(name, self.steps, self._ends, self._left_out)

    def close(self) -> None:
        """End the child."""
        self._end()

    def _why_not(self, position: int, step: Step) -> str:
        """Why a step is not run any more; "" if it is."""
        if self.spent_s > self.limits.submission_s:
            return self._used_up()
        if step.is_marked or self._own_cells_s <= self.limits.cells_s:
            return ""
        if self._needed is None:
            self._needed = needed_by_answers(self.steps)
        used = f"the cells that no answer needs used up their {self.limits.cells_s:g} s"
        return "" if position in self._needed else used

    def _refuse_more(self) -> None:
        """Many checks that are each slow enough to be in time would keep a slot for hours."""
        if self.spent_s > self.limits.submission_s:
            self._tell(f"{self._used_up()}, so the checks that were left are not decided")
            raise UsedUp(self._used_up())

    def _used_up(self) -> str:
        return f"the submission used up its {self.limits.submission_s:g} s"

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _run_step(self, position: int, step: Step) -> None:
        before_s = self.spent_s
        try:
            result = self._child.run_cell(step.source, self.limits.cell_s, step.keeps)
        except StudentEnded as ended:
            self.problems.append(f"{_cell(step)} was left out: {ended}")
            self._left_out[position] = str(ended)
            self._restart(position)
            return
        finally:
            if not step.is_marked:
                self._own_cells_s += self.spent_s - before_s
        if result.ended:
            self._ends[position] = f"was stopped: {result.ended}"
            self.problems.append(f"{_cell(step)} {self._ends[position]}")
        elif error := error_of(result.outputs, step.source):
            self._ends[position] = f"ended with {error}"
            self._note(step, error)
        if step.index is not None:
            earlier = self.results.get(step.index)  # of a cell that runs statement by statement
            outputs = earlier.outputs + result.outputs if earlier else result.outputs
            self.results[step.index] = replace(result, outputs=outputs)

    def _note(self, step: Step, error: str) -> None:
        """Note an exception that matters: in a given cell, or in a written answer."""
        if step.index is None:
            self._tell(f"{_cell(step)} ended with {error}")
        elif step.is_marked and not error.startswith("NotImplementedError"):
            self.notes.append(f"{_cell(step)} ended with {error}")

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
        while self._n_starts <= MAX_RESTARTS and self.spent_s <= self.limits.submission_s:
            self._start()
            killer = self._replay(upto)
            if killer is None:
                return
            self._left_out[killer] = "it ended the process when it ran again"
            self._end()
        self.problems.append(f"the notebook ended its process {self._n_starts} times")

    def _replay(self, upto: int) -> int | None:
        """Run the earlier steps again; returns the one that ended the child this time, if any."""
        for position, step in enumerate(self.steps[:upto]):
            if position in self._left_out:
                continue
            try:
                self._child.run_cell(step.source, self.limits.cell_s, step.keeps)
            except StudentEnded:
                return position
        return None

    def _end(self) -> None:
        if self._child is not None:
            self._spent_s += self._child.own_time.spent_s
            self._ours_s += self._child.own_time.ours_s
            child, self._child = self._child, None
            self.peak_mb = max(self.peak_mb, child.end().peak_mb)


def _cell(step: Step) -> str:
    return "a given cell" if step.index is None else f"cell {step.index + 1}"
