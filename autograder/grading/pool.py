"""Slots side by side: each a process, fed by a thread, replaced when it fails."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TypeVar

from nbformat import NotebookNode, from_dict

from autograder.intake.collect import Submission
from autograder.judging.asking.sheet import Order, Sheet
from autograder.judging.jobs import SlotSettings, pack_submission
from autograder.judging.start.template import TemplateError, shared_template
from autograder.record.results import ERROR, Result

T = TypeVar("T")
FIRST_UID, N_UIDS = 61_000, 4000  # the users that student code runs as
MOST_SLOTS = 16  # users of one grading
N_ATTEMPTS = 2
USUAL_JOBS = 4  # at most, for a student's code may take 4 GB in each


class SlotError(RuntimeError):
    """A slot ended or spoke nonsense: our error, never the student's."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one submission: its result, and the notebook to show."""

    submission: Submission
    result: Result
    notebook: list[NotebookNode]

    def to_json(self) -> str:
        """The outcome as a line of text, without the submission."""
        return json.dumps({"result": self.result.as_fields(), "notebook": self.notebook})

    @classmethod
    def from_json(cls, submission: Submission, text: str | bytes) -> Outcome:
        """What `to_json` wrote of this submission. Raises ValueError for anything else."""
        try:
            content = json.loads(text)
            result = Result.from_json(json.dumps(content["result"]))
            return cls(submission, result, [from_dict(cell) for cell in content["notebook"]])
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not an outcome: {error}") from error


def usual_jobs() -> int:
    """The default number of slots: one per processor, up to a maximum."""
    return min(len(usable_processors()) or 1, USUAL_JOBS)


def processors(jobs: int) -> list[int | None]:
    """The processor of each slot; None for one without a processor of its own.

    Each grading begins elsewhere: else gradings side by side would crowd the machine's first.
    """
    cpus = usable_processors()
    first = os.getpid()
    return [cpus[(first + i) % len(cpus)] if i < len(cpus) else None for i in range(jobs)]


def uid_of(number: int) -> int:
    """The user that student code of this process's slot runs as: its limits count alone.

    Gradings side by side have users of their own: else a fork bomb would use up the others' limit.
    """
    return FIRST_UID + (MOST_SLOTS * os.getpid() + number) % N_UIDS


def usable_processors() -> list[int]:
    """The processors that this process may use; none where the system does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Slots:
    """Slots side by side that start right away, and stay warm until they are closed."""

    def __init__(self, settings: SlotSettings, jobs: int) -> None:
        self._waiting: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        self._jobs = max(1, jobs)
        for number, cpu in enumerate(processors(self._jobs)):
            own = replace(settings, uid=uid_of(number), cpu=cpu)
            threading.Thread(target=self._work, args=(own,), daemon=True).start()

    def grade(self, todo: Sequence[Submission]) -> Iterator[Outcome]:
        """Grade these, from now on; yields outcomes as they come."""
        for submission in todo:
            self._waiting.put(submission)
        return (self._taken() for _ in todo)

    def close(self) -> None:
        """End each slot once nothing waits."""
        for _ in range(self._jobs):
            self._waiting.put(None)

    def _taken(self) -> Outcome:
        outcome = self._done.get()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _work(self, settings: SlotSettings) -> None:
        """Feed one slot until the slots are closed."""
        with closing(SteadySlot(settings)) as slot:
            try:
                slot.warm()
                while (submission := self._waiting.get()) is not None:
                    self._done.put(slot.grade(submission))
            except BaseException as error:
                self._done.put(error)


class SteadySlot:
    """A slot that is replaced when it fails; the submission is then tried once more."""

    def __init__(self, settings: SlotSettings) -> None:
        self._settings = settings
        self._slot: Slot | None = None

    def warm(self) -> None:
        """Start the slot before there is anything to grade; what fails is tried again then."""
        with suppress(SlotError):
            self._slot = self._slot or Slot(self._settings)

    def grade(self, submission: Submission) -> Outcome:
        """The outcome, which is our error if slots fail again and again."""
        try:
            return self._tried(lambda slot: slot.grade(submission))
        except SlotError as error:
            return our_error(submission, self._settings.lab, f"{error}, twice")

    def ask(self, order: Order) -> Sheet:
        """The questions about a submission; none if slots fail again and again."""
        try:
            return self._tried(lambda slot: slot.ask(order))
        except SlotError as error:
            return Sheet(problem=f"our error, not the student's: {error}, twice")

    def _tried(self, act: Callable[[Slot], T]) -> T:
        """What a slot gives; a fresh slot tries once more. Raises: SlotError."""
        for n_left in reversed(range(N_ATTEMPTS)):
            try:
                self._slot = self._slot or Slot(self._settings)
                return act(self._slot)
            except SlotError:
                self.close()
                if not n_left:
                    raise
        raise AssertionError("there is at least one attempt")

    def close(self) -> None:
        """End the slot's process, if there is one."""
        if self._slot is not None:
            self._slot.close()
            self._slot = None


class Slot:
    """A slot's process, from the outside."""

    def __init__(self, settings: SlotSettings) -> None:
        self._patience_s = 10 * settings.cells_s + 100 * settings.check_s
        try:
            self._fork = shared_template().fork()
        except TemplateError as error:
            raise SlotError(str(error)) from error
        self._lines = self._fork.socket.makefile("rw", encoding="utf-8")
        try:
            self._ask(asdict(settings), json.loads)
        except SlotError:
            self.close()
            raise

    def grade(self, submission: Submission) -> Outcome:
        """Grade one submission. Raises SlotError if the slot fails."""
        return self._ask(pack_submission(submission), partial(Outcome.from_json, submission))

    def ask(self, order: Order) -> Sheet:
        """Questions about one submission. Raises SlotError if the slot fails."""
        return self._ask(order.packed(), lambda line: Sheet.from_fields(json.loads(line)))

    def close(self) -> None:
        """End the process, and with it its zygote and their children."""
        self._fork.close()

    def _ask(self, message: dict, read: Callable[[str], T]) -> T:
        """Send a message; what `read` makes of the line that comes back."""
        watchdog = threading.Timer(self._patience_s, self._fork.hang_up)
        watchdog.start()
        try:
            self._lines.write(json.dumps(message) + "\n")
            self._lines.flush()
            return read(self._lines.readline())
        except (OSError, ValueError) as error:
            raise SlotError(f"a grading slot ended ({type(error).__name__})") from error
        finally:
            watchdog.cancel()


def our_error(submission: Submission, lab: str, why: str) -> Outcome:
    """The outcome of what we could not grade, which is never zero points."""
    result = Result(
        student=submission.student,
        lab=lab,
        status=ERROR,
        score=None,
        max_score=0.0,
        problem=f"Our error, not the student's: {why}. Grade this one again or by hand.",
        file_name=submission.file_name,
    )
    return Outcome(submission, result, [])
