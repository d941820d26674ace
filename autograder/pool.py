"""Slots side by side: each a process, fed by a thread, replaced when it fails."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from nbformat import NotebookNode, from_dict

from autograder.builder.source import REPOSITORY
from autograder.collect import Submission
from autograder.jobs import SlotSettings, pack_submission
from autograder.results import ERROR, Result

FIRST_UID = 61_000  # each slot runs student code as another user, so that its limits count alone
N_ATTEMPTS = 2
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class SlotError(RuntimeError):
    """A slot ended or spoke nonsense: our error, never the student's."""


@dataclass(frozen=True)
class Outcome:
    """What a slot said about one submission: the result, and the notebook to show for it."""

    submission: Submission
    result: Result
    notebook: list[NotebookNode]


def grade_side_by_side(
    todo: Sequence[Submission], settings: SlotSettings, jobs: int
) -> Iterator[Outcome]:
    """Grade with `jobs` slots at once, which start right away; yields outcomes as they come."""
    waiting: queue.SimpleQueue[Submission] = queue.SimpleQueue()
    done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    for submission in todo:
        waiting.put(submission)
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for number in range(max(1, min(jobs, len(todo)))):
        cpu = cpus[number] if number < len(cpus) else None
        own = replace(settings, uid=FIRST_UID + number, cpu=cpu)
        worker = threading.Thread(target=_work, args=(waiting, done, own), daemon=True)
        worker.start()
    return (_taken(done) for _ in todo)


def _taken(done: queue.SimpleQueue) -> Outcome:
    outcome = done.get()
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _work(waiting: queue.SimpleQueue, done: queue.SimpleQueue, settings: SlotSettings) -> None:
    """Feed one slot until nothing waits; replace it when it fails, and try that one again."""
    slot = None
    try:
        while True:
            try:
                submission = waiting.get_nowait()
            except queue.Empty:
                return
            for attempt in range(1, N_ATTEMPTS + 1):
                slot = slot or Slot(settings)
                try:
                    done.put(slot.grade(submission))
                    break
                except SlotError as error:
                    slot.close()
                    slot = None
                    if attempt == N_ATTEMPTS:
                        done.put(_our_error(submission, settings, error))
    except BaseException as error:
        done.put(error)
    finally:
        if slot is not None:
            slot.close()


class Slot:
    """A slot's process, from the outside."""

    def __init__(self, settings: SlotSettings) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "autograder.slot"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=REPOSITORY,
            env=os.environ | ONE_THREAD,
        )
        limits = settings.limits
        self._patience_s = 10 * limits.cells_s + 100 * limits.check_s
        self._ready = self._ask(asdict(settings))

    def grade(self, submission: Submission) -> Outcome:
        """Grade one submission. Raises SlotError if the slot fails."""
        reply = self._ask(pack_submission(submission))
        result = Result.from_json(json.dumps(reply["result"]))
        result = replace(result, versions=self._ready["versions"])
        return Outcome(submission, result, [from_dict(cell) for cell in reply["notebook"]])

    def close(self) -> None:
        """End the process, and with it its zygote and their children."""
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, message: dict) -> dict:
        watchdog = threading.Timer(self._patience_s, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            return json.loads(line)
        except (OSError, ValueError) as error:
            raise SlotError(f"a grading slot ended ({type(error).__name__})") from error
        finally:
            watchdog.cancel()


def _our_error(submission: Submission, settings: SlotSettings, error: SlotError) -> Outcome:
    result = Result(
        student=submission.student,
        lab=settings.lab,
        status=ERROR,
        score=None,
        max_score=0.0,
        problem=f"Our error, not the student's: {error}, twice. Grade this one again or by hand.",
        file_name=submission.file_name,
    )
    return Outcome(submission, result, [])
