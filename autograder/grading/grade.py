"""Grading a lab: submissions in, results, gradebook and pages out.

Pools grade, here or on a cluster; this process alone writes. A result's line in
`results.jsonl` is written last. So a grader that was killed continues where it was: a submission
with a line is done.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from tqdm import tqdm

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import Lab
from autograder.course.roster import Roster, RosterError
from autograder.errors import Refusal
from autograder.grading.attempts import (
    Work,
    contents_of,
    counted_works,
    due_works,
    with_ids,
    works_of,
)
from autograder.grading.fingerprint import grading_digest
from autograder.grading.pool import Outcome
from autograder.grading.pools import Cluster, Pool, ThisMachine, WithShards
from autograder.grading.scratch import scratch_folder
from autograder.grading.slot_files import write_slot_files
from autograder.grading.spool import Spool
from autograder.intake.collect import Submission, collect
from autograder.judging.jobs import Limits, SlotSettings
from autograder.judging.wall import strongest_rung
from autograder.pages.evidence.integrity import write_integrity
from autograder.pages.report import write_feedback, write_report
from autograder.record.by_hand import marks_by_hand
from autograder.record.database import gradebook_of
from autograder.record.folder import policy_of, remember, roster_of, seed_of
from autograder.record.gradebook import CourseBook, name_students, recorded_students
from autograder.record.log import ResultLog, read_results
from autograder.record.marks import marks_of, write_marks
from autograder.record.results import ERROR, Result

MAX_ABSENT = 3
messages = logging.getLogger(__name__)


@dataclass(frozen=True)
class GradingSettings:
    """The settings of one grading.

    seed, policy, roster (a table of the class): None takes the output folder's, or a fresh seed, no
    deadlines, no groups. cluster: the address of a Dask scheduler, "" for this machine;
    cluster_keys: its keys' folder.
    """

    jobs: int = 1
    seed: int | None = None
    policy: Path | None = None
    sandbox: bool = True
    limits: Limits = field(default_factory=Limits)
    roster: Path | None = None
    cluster: str = ""
    cluster_keys: Path | None = None


def grade(
    lab: Lab,
    place: Path,
    out: Path,
    run: GradingSettings,
    meanwhile: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Grade all submissions of `lab` at `place` into the folder `out`; returns the lab's results.

    A submission with the same content, checks, policy and seed is not graded again.
    meanwhile: a function to call before anything is recorded, while slots start.
    Raises: NoSubmissions, PolicyError, NoWall, BusyError, GradebookError, ClusterError.
    """
    submissions = submissions_of(lab, place, out, run)
    with closing(ResultLog(out / "results.jsonl")) as log:
        grading = Grading(lab, out, run)
        known = grading.on_record(log.results.values())
        with closing(grading.pool()) as pool:
            if not known:
                pool.warm(len(submissions))  # all are due
            meanwhile()
            works = grading.works(submissions)
            students = {work.student for work in works}
            check_absent(out, log, lab.name, students)
            if due := due_works(works, known):
                grading.record(due, pool, log)
        results = log.finish(lab.name, students)
        write_class(out, lab, results)
        grading.spool.clear()
    return [result for result in results if result.lab == lab.name]


def grade_shard(
    lab: Lab, place: Path, out: Path, run: GradingSettings, shard: slice
) -> list[Result]:
    """Grade one part of the submissions; a grading of the whole takes the outcomes over.

    shard: which part (see `shard_of`). Shards may run at the same time on any machines that share
    the output folder.
    Raises: NoSubmissions, PolicyError, NoWall, ClusterError.
    """
    submissions = submissions_of(lab, place, out, run)
    grading = Grading(lab, out, run)
    works = grading.works(submissions)
    known = grading.on_record(read_results(out / "results.jsonl"))
    todo = contents_of(due_works(works, known))
    todo = {key: todo[key] for key in sorted(todo)[shard]}
    with closing(grading.pool()) as pool:
        outcomes = _shown(pool.grade(todo), lab, len(todo))
        return [_spooled(grading.spool, key, outcome) for key, outcome in outcomes]


class Grading:
    """What the parts of one grading share."""

    def __init__(self, lab: Lab, out: Path, run: GradingSettings) -> None:
        self._lab, self._out, self._run = lab, out, run
        self._rung = strongest_rung() if run.sandbox else "none"
        remember(out, run.policy, run.roster)
        self._policy = policy_of(out)
        self._seed = seed_of(out, run.seed)
        self.spool = Spool(out, lab.name)

    def works(self, submissions: Sequence[Submission]) -> list[Work]:
        """The submissions by student."""
        run = self._run
        common = grading_digest(self._lab, self._seed, run.limits, walled=run.sandbox)
        if roster := roster_of(self._out, run.roster):
            submissions = with_ids(submissions, roster)
        return works_of(submissions, self._lab.name, self._policy, common)

    def on_record(self, rows: Iterable[Result]) -> dict[str, Result]:
        """The recorded rows of this lab by student that are also in the gradebook."""
        students = recorded_students(self._out / "course", self._lab.name)
        own = [row for row in rows if row.lab == self._lab.name]
        return {row.student: row for row in own if row.student in students}

    def pool(self, exercises: tuple[str, ...] = ()) -> Pool:
        """What gives each content its outcome.

        exercises: those whose checks are played, then on everything and now; all if empty.
        """
        run, settings = self._run, partial(self._settings, exercises)
        if run.cluster:
            pool: Pool = Cluster(settings, run.cluster, run.cluster_keys)
        else:
            pool = ThisMachine(settings, run.jobs)
        return pool if exercises else WithShards(self.spool, pool)

    def record(self, works: list[Work], pool: Pool, log: ResultLog) -> None:
        """Grade these and write each to gradebook, page and log as soon as it is known."""
        outcomes = pool.grade(contents_of(works))  # slots start while the gradebook opens
        with closing(CourseBook(self._out / "course")) as book:
            book.add_assignment(self._lab.name, build_notebook(self._lab, "instructor"))
            for outcome in _shown(counted_works(works, outcomes), self._lab, len(works)):
                log.append(recorded(outcome, book, self._out))

    def _settings(self, exercises: tuple[str, ...], stack: ExitStack) -> SlotSettings:
        """The settings of a slot; the files that they name stay until `stack` closes."""
        files = write_slot_files(self._lab, stack.enter_context(scratch_folder()))
        return SlotSettings(
            lab=self._lab.name,
            **files,
            seed=self._seed,
            rung=self._rung,
            **asdict(self._run.limits),
            exercises=exercises,
        )


def submissions_of(lab: Lab, place: Path, out: Path, run: GradingSettings) -> list[Submission]:
    """What was handed in at a place. Raises: NoSubmissions, PolicyError."""
    if run.policy:
        policy_of(out, run.policy)  # a wrong policy is reported before anything is written
    return collect(place, lab.name, roster_of(out, run.roster), without=out)


def check_absent(out: Path, log: ResultLog, lab: str, students: set[str]) -> None:
    """Report the rows of absent submissions, which are removed. Raises: Refusal if most are absent.

    A second student of the same name changes the first one's label. Marks by hand keep the old one.
    """
    known = {student for name, student in log.results if name == lab}
    absent = sorted(known - students)
    if len(absent) > MAX_ABSENT and len(absent) > len(known) / 2:
        raise Refusal(
            f"of {len(known)} students on record for {lab} {len(absent)} are not among these "
            "submissions: give all of them, or another output folder"
        )
    if absent:
        messages.warning("not among the submissions any more: %s", ", ".join(absent))
        by_hand = marks_by_hand(gradebook_of(out), ())
        given = {one: by_hand.get((lab, one), {}).values() for one in absent}
        kept = [one for one, marks in given.items() if any(mark.is_given for mark in marks)]
        if kept:
            messages.warning(
                "marks given by hand stay in the gradebook and count for no other name: %s",
                ", ".join(kept),
            )


def write_class(out: Path, lab: Lab, results: Sequence[Result]) -> None:
    """Write the table of marks, the flags, the class report and what hands have given."""
    marks = marks_of(out, results)
    write_marks(out, results, marks)
    write_integrity(out, lab.name, results)
    roster = roster_of(out)
    if roster is not None:
        name_students(out / "course", _names(roster, results))
    by_student = {mark.student: mark for mark in marks if mark.lab == lab.name and mark.hand}
    for result in results:
        if result.lab == lab.name and result.student in by_student:
            write_feedback(out, result, by_student[result.student])
    write_report(out, results, marks)


def _names(roster: Roster, results: Iterable[Result]) -> dict[str, tuple[str, str]]:
    """First and last names of the students whom the roster names clearly."""
    names = {}
    for result in results:
        with suppress(RosterError):
            person = roster.find(result.student, result.file_name)
            names[result.student] = person.first_and_last
    return names


def _shown(items: Iterable, lab: Lab, n: int) -> Iterable:
    return tqdm(items, total=n, desc=lab.name, disable=None if n > 1 else True)


def recorded(outcome: Outcome, book: CourseBook, out: Path) -> Result:
    """The result, written to gradebook and page; if that fails, an "error" that says so."""
    result = outcome.result
    try:
        submission = outcome.submission
        book.record(result, outcome.notebook, submission.content, submission.extra)
        write_feedback(out, result)
    except (OSError, Refusal):
        raise  # no room, no permission: what is on record stays, and the next grading goes on
    except Exception as error:
        problem = f"Our error: the marks could not be recorded ({type(error).__name__}: {error})."
        return replace(result, status=ERROR, score=None, problem=problem)
    return result


def _spooled(spool: Spool, key: str, outcome: Outcome) -> Result:
    if outcome.result.status != ERROR:
        spool.put(key, outcome)
    return outcome.result
