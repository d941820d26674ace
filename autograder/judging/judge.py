"""The judge: the trusted side of one submission.

It holds the checks, the hidden cases and the expected values, asks the student's process for values
and decides.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbformat import NotebookNode

from autograder.course.person import id_digest
from autograder.intake.collect import Submission
from autograder.intake.master import Master, MasterCell
from autograder.intake.read import Unreadable, read_with_notes
from autograder.intake.rebuild import Rebuilt, rebuild
from autograder.judging.asking.plain import Known
from autograder.judging.client import ZygoteHandle
from autograder.judging.control import ZygoteError
from autograder.judging.ends import StudentEnded
from autograder.judging.jobs import Limits
from autograder.judging.playing import Play, Playing, in_a_line
from autograder.judging.reasons import needed_by_answers, right_elsewhere
from autograder.judging.session import Session
from autograder.judging.shown import fill_outputs
from autograder.labs import cases_of, parts_of
from autograder.record.results import (
    ERROR,
    GRADED,
    PARTLY,
    UNGRADABLE,
    CheckResult,
    Result,
    score_of,
)
from labkit.bridge.requests import value_of
from labkit.bridge.student import MissingName, Student, StudentError
from labkit.bridge.wire import WireError
from labkit.checks.core import (
    RAISES,
    Check,
    Finding,
    checks_of,
    points_by_weight,
    share_of_points,
)
from labkit.checks.names import bound_names
from labkit.checks.outline import experiments_of
from labkit.checks.unjudged import judged
from labkit.checks.why.borrowed import borrowed
from labkit.models.own_numbers import MAX_ID_CHARS

MAX_PROBLEMS = 4
OTHERS_ID = "`student_id` is an id of another person on the class list"
ID_UNSEEN = "the process ended when `student_id` was looked at"
MISSING = re.compile(r"does not define (\w+)\.|NameError: name '(\w+)' is not defined")


@dataclass(frozen=True)
class Marked:
    """A test cell of the master: its checks, and the cases to play them on."""

    cell: MasterCell
    exercise: str
    checks: list[Check]
    cases: list


@dataclass(frozen=True)
class Verdict:
    """The findings of all checks on one submission. broken: our own checks that crashed."""

    checks: list[CheckResult]
    broken: list[str]


class Judge:
    """Grades submissions of one assignment, one after the other, over one zygote."""

    def __init__(
        self,
        master: Master,
        zygote: ZygoteHandle,
        limits: Limits,
        seed: int,
        exercises: Sequence[str] = (),
    ) -> None:
        """seed: of the hidden cases where no other is given; exercises: those whose checks are
        played; all if empty.
        """
        self._master, self._seed = master, seed
        self.topic = master.topic
        self._zygote = zygote
        self._limits = limits
        marked = _marked_cells(master, seed)  # what they import is imported once for all
        played = exercises or [one.exercise for one in marked]
        self._unplayed = frozenset(one.exercise for one in marked).difference(played)
        self._answers = {
            name: cell.name
            for cell in master.of_kind("answer")
            for name in sorted(bound_names(cell.source))
        }
        written = {cell.name: cell.points for cell in master.of_kind("written")}
        self._written = dict(sorted(written.items()))  # as the record has them
        self.max_score = round(sum(one.cell.points for one in marked), 2)

    def grade(self, submission: Submission, seed: str) -> tuple[Result, list[NotebookNode]]:
        """The result of one submission and the notebook to show for it. seed: of its hidden cases.

        Raises: ZygoteError if no child can be started. Every other error on our side becomes a
        result with the status "error".
        """
        try:
            return self._grade(submission, seed)
        except ZygoteError:
            raise
        except Exception as error:
            problem = f"Our error, not the student's: {in_a_line(error)}. Mark this one by hand."
            return self._without_mark(submission, ERROR, problem)

    def _grade(self, submission: Submission, seed: str) -> tuple[Result, list[NotebookNode]]:
        start = time.perf_counter()
        try:
            if submission.problem:
                raise Unreadable(submission.problem)
            submitted, notes = read_with_notes(submission.content, submission.file_name)
            rebuilt = rebuild(self._master, submitted, submission.extra)
            if rebuilt.problem:
                raise Unreadable(rebuilt.problem)
            others = ", ".join(submission.passed_over)
            if rebuilt.is_blank and others:
                raise Unreadable(f"it is blank, but {others} came with it: say which one counts")
        except Unreadable as unreadable:
            problem = f"This submission could not be graded: {unreadable}."
            return self._without_mark(submission, UNGRADABLE, problem)
        own_outputs = {i: cell.outputs for i, cell in enumerate(submitted)}
        ids = frozenset(submission.others_ids)
        verdict, session = self.grade_rebuilt(rebuilt, submission.extra, own_outputs, ids, seed)
        problems = session.problems + _open_verdicts(verdict.checks)
        problem = _in_sentences(verdict.broken or problems)
        result = Result(
            student=submission.student,
            lab=self._master.lab,
            status=ERROR if verdict.broken else PARTLY if problems else GRADED,
            score=None if verdict.broken else score_of(verdict.checks),
            max_score=self.max_score,
            checks=verdict.checks,
            written=self._written,
            problem=problem,
            flags=_not_read(submission, others) + notes + rebuilt.notes + session.notes,
            file_name=submission.file_name,
            seconds=round(time.perf_counter() - start, 3),
            peak_mb=round(session.peak_mb, 1),
        )
        return result, rebuilt.notebook

    def rehearse(self, submission: Submission, seed: str) -> tuple[Session, list[Marked]]:
        """The definitions of a submission, run without what no answer needs, and what is played.

        seed: of its hidden cases. Close the session in the end. Raises: Unreadable.
        """
        submitted, _ = read_with_notes(submission.content, submission.file_name)
        rebuilt = rebuild(self._master, submitted, submission.extra)
        if rebuilt.problem:
            raise Unreadable(rebuilt.problem)
        needed = needed_by_answers(rebuilt.steps)
        own = [step.source for step in rebuilt.steps if step.index is not None]
        known = Known.of(own, submission.extra)
        steps = [
            step if step.index is None else replace(step, source=known.plain(step.source))
            for i, step in enumerate(rebuilt.steps)
            if step.is_marked or step.keeps or i in needed
        ]
        session = Session(self._zygote, steps, known.plain_modules(submission.extra), self._limits)
        try:
            session.run()
        except BaseException:
            session.close()
            raise
        return session, self._marked(seed)

    def grade_rebuilt(
        self,
        rebuilt: Rebuilt,
        files: dict[str, bytes] | None = None,
        own_outputs: dict[int, list[dict]] | None = None,
        others_ids: frozenset[str] = frozenset(),
        seed: str = "",
    ) -> tuple[Verdict, Session]:
        """Run a rebuilt submission, judge it, and put the outputs into its notebook.

        others_ids: digests of the ids that belong to other people; seed: of the hidden cases.
        """
        marked = self._marked(seed)
        session = Session(self._zygote, rebuilt.steps, files or {}, self._limits)
        try:
            session.run()
            session.look_at(self._answers)
            if others_ids and (reason := _why_no_id(session, others_ids)):
                session.notes.append(reason)
                session.withheld["student_id"] = reason
            verdict = self._judge(session, rebuilt.unrun, marked)
        finally:
            session.close()
        fill_outputs(rebuilt.notebook, session.results, verdict.checks, own_outputs or {})
        return verdict, session

    def _marked(self, seed: str) -> list[Marked]:
        """What is played on a submission."""
        found = _marked_cells(self._master, seed or self._seed)
        return [one for one in found if one.exercise not in self._unplayed]

    def _judge(self, session: Session, unrun: dict[str, int], marked: Sequence[Marked]) -> Verdict:
        broken: list[str] = []
        right = parts_of(self._master.topic)
        plays = [Play(check, one.cases, right) for one in marked for check in one.checks]
        played = Playing(session, broken, self._unplayed).play_all(plays)
        experiments = experiments_of(self._master.topic)
        findings = iter(_with_reason(each, session, unrun, experiments) for each in played)
        checks: list[CheckResult] = []
        for one in marked:
            found = judged([next(findings) for _ in one.checks])
            shares = share_of_points(found, one.cell.points)
            full = points_by_weight(one.checks, one.cell.points)
            for finding, points, max_points in zip(found, shares, full, strict=True):
                checks.append(_check_result(one.exercise, finding, points, max_points))
        return Verdict(checks, broken)

    def _without_mark(
        self, submission: Submission, status: str, problem: str
    ) -> tuple[Result, list[NotebookNode]]:
        """A result that says why there is no mark, and a notebook without answers."""
        notebook = rebuild(self._master, []).notebook
        result = Result(
            student=submission.student,
            lab=self._master.lab,
            status=status,
            score=None,
            max_score=self.max_score,
            written=self._written,
            problem=problem,
            file_name=submission.file_name,
        )
        return result, notebook


def _why_no_id(session: Session, people: frozenset[str]) -> str:
    """Why no check may ask for the id: it is one of these people's, or nobody could look at it.

    "" if it is neither. A look that ends leaves nothing that a later value would have to equal.
    """

    def look(student: Student) -> Any:
        with session.deadline("student_id"):
            return value_of(student.student_id)

    try:
        value = session.in_fork(look)
    except StudentEnded:
        return ID_UNSEEN
    except (StudentError, MissingName, WireError):
        return ""
    is_id = isinstance(value, str) or (type(value) is int and abs(value) < 10**MAX_ID_CHARS)
    return OTHERS_ID if is_id and id_digest(str(value)) in people else ""


def _marked_cells(master: Master, seed: int | str) -> list[Marked]:
    """The master's test cells with the checks that they play."""
    by_exercise, cases = checks_of(master.topic), cases_of(master.topic, seed)
    exercises = [(cell, cell.name.removeprefix("check_")) for cell in master.of_kind("check")]
    return [Marked(cell, name, by_exercise[name], cases[name]) for cell, name in exercises]


def _with_reason(
    finding: Finding, session: Session, unrun: dict[str, int], experiments: Sequence[frozenset[str]]
) -> Finding:
    """The finding with what became of the cell that should have defined a missing name.

    It is not decided if the grader lacks what the code needs.
    """
    is_stopped = finding.status == "todo" or finding.stop or finding.cause.startswith(RAISES)
    if not is_stopped:  # a wrong value may read like what is said here of an exception
        return finding
    name = _missing_name(finding.message)
    if not name:
        lacking = right_elsewhere(finding.message, session.texts)
        return Finding.undecided(finding.check, lacking) if lacking else finding
    why = session.why_unbound(name)
    if not why and name in unrun:
        why = f"cell {unrun[name] + 1} should define it, but is not a code cell, so it did not run"
    told = finding.reworded(lambda text: f"{text.rstrip('.')}: {why}.") if why else finding
    if lacking := right_elsewhere(why, session.texts):
        return Finding.undecided(finding.check, lacking)
    missing = _missing_name(why) or name
    if not any(missing in names for names in experiments):
        return told
    wrong = borrowed(missing)
    return told.reworded(lambda text: f"{text} {wrong.sentences()}", cause=wrong.cause)


def _missing_name(text: str) -> str:
    """The name that a message says is not defined; "" if it says of none."""
    found = MISSING.search(text)
    return found[1] or found[2] if found else ""


def _open_verdicts(checks: list[CheckResult]) -> list[str]:
    """The checks that a person has to decide, as the problem of the row."""
    names = dict.fromkeys(check.exercise for check in checks if check.status == "undecided")
    return [f"a person has to decide checks of {', '.join(names)}"] if names else []


def _not_read(submission: Submission, others: str) -> list[str]:
    """The files beside the notebook that were not graded or not read."""
    found = [f"not graded: {others}; the notebook with the lab's name counts"] if others else []
    if left_out := ", ".join(submission.left_out):
        found.append(f"not read, for they are damaged or over 8 MB with the others: {left_out}")
    return found


def _in_sentences(problems: list[str]) -> str:
    """The first few, each once."""
    distinct = list(dict.fromkeys(problems))
    more = [f"and {len(distinct) - MAX_PROBLEMS} more"] if len(distinct) > MAX_PROBLEMS else []
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in distinct[:MAX_PROBLEMS] + more)


def _check_result(exercise: str, finding: Finding, points: float, max_points: float) -> CheckResult:
    return CheckResult(
        exercise=exercise,
        check=finding.check.name,
        points=points,
        max_points=max_points,
        passed=finding.passed,
        message=finding.message,
        shown=finding.shown,
        claim=finding.check.claim,
        hint=finding.check.hint,
        status=finding.status,
        cause=finding.cause,
        expected=finding.expected,
        got=finding.got,
        gate=finding.check.gate,
        case=finding.case,
    )
