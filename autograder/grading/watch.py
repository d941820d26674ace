"""Grading what arrives in a folder, by slots that stay warm.

Work is done in rounds. A round leaves what a plain grading leaves and takes the same lock: so a
watch that is killed goes on where it was, and others may write between two rounds.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from autograder.builder.source import Lab
from autograder.errors import Refusal
from autograder.grading.attempts import due_works
from autograder.grading.grade import Grading, Run
from autograder.intake.collect import NoSubmissions, Submission, collect_from
from autograder.intake.collect.arrivals import Arrivals
from autograder.record.folder import policy_of, roster_of
from autograder.record.log import BusyError, ResultLog
from autograder.record.results import Result

LOOK_S = 0.2
messages = logging.getLogger(__name__)


def watch(lab: Lab, place: Path, out: Path, run: Run) -> Iterator[list[Result]]:
    """Grade what arrives in the folder `place`, without end; yields what each round has graded.

    The rows of students stay when their files go: a plain grading takes them off the record.
    Raises: Refusal if there is no such folder, PolicyError, NoWall, BusyError, GradebookError.
    """
    if not place.is_dir():
        raise Refusal(f"{place} is no folder: make it first, then watch it")
    if run.policy:
        policy_of(out, run.policy)
    with ExitStack() as stack:
        grading = Grading(lab, out, run)
        grading.start_slots(run.jobs, stack)
        with closing(ResultLog(out / "results.jsonl")) as log:
            grading.record(grading.works([]), log)  # what a first round would have to prepare
            if log.results:
                grading.bring_up([], log, _students(log, lab))  # a killed watch may not have
        roster = roster_of(out, run.roster)
        for arrivals, files in _looks(Arrivals(place, out)):
            submissions = collect_from(files, lab.name, roster)
            if not arrivals.are_unchanged(files):
                continue  # some were written to while they were read: the next look tells of it
            try:
                yield _graded(grading, lab, out, submissions)
            except BusyError:
                arrivals.forget()


def _looks(arrivals: Arrivals) -> Iterator[tuple[Arrivals, list]]:
    """Look again and again; yields what has arrived whenever that has changed."""
    told = ""
    while True:
        try:
            files = arrivals.look()
        except (NoSubmissions, OSError) as error:
            if str(error) != told:
                told = str(error)
                messages.warning("%s; the watch goes on", told)
        else:
            if files is not None:
                yield arrivals, files
        time.sleep(LOOK_S)


def _graded(grading: Grading, lab: Lab, out: Path, submissions: list[Submission]) -> list[Result]:
    """Grade those that are due; returns their results."""
    with closing(ResultLog(out / "results.jsonl")) as log:
        works = grading.works(submissions)
        due = due_works(works, grading.on_record(log.results.values()))
        if not due:
            return []
        names = {work.student for work in due}
        results = grading.bring_up(due, log, names | _students(log, lab))
    return [result for result in results if result.student in names]


def _students(log: ResultLog, lab: Lab) -> set[str]:
    """Who has a row for this lab."""
    return {student for name, student in log.results if name == lab.name}
