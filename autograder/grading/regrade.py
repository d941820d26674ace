"""One exercise again, after its check was corrected: first what would change, then the change.

Where the record is provably of the same file and seed, only that exercise's checks are played and
the rest of the row stays; anything else is graded anew in full. Other exercises' checks may have
changed, too, so a row of which only one exercise was played keeps its old key: the next `grade`
grades that submission in full.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import Lab
from autograder.errors import Refusal
from autograder.grading.attempts import Work, contents_of
from autograder.grading.grade import Grading, GradingSettings, recorded, write_class
from autograder.grading.pool import Outcome
from autograder.intake.collect import collect
from autograder.judging.jobs import seed_of_cases
from autograder.judging.outputs import check_outputs
from autograder.record.folder import roster_of, seed_of
from autograder.record.gradebook import CourseBook
from autograder.record.log import ResultLog, read_results
from autograder.record.marks import Mark, as_points, marks_of
from autograder.record.results import (
    ERROR,
    GRADED,
    PARTLY,
    UNGRADABLE,
    CheckResult,
    Result,
    score_of,
)
from labkit.checks.core import checks_of, points_by_weight

CheckKey = tuple[str, str, float]
OTHERS_STAY = (
    "The other exercises keep their points; the next grade grades these submissions in full."
)


class RegradeError(Refusal):
    """There is nothing to play again, or not here; the message says what to do."""


@dataclass(frozen=True)
class Change:
    """One student's marks before and after, and the checks that differ."""

    student: str
    before: Mark
    after: Mark
    checks: tuple[str, ...]

    def __str__(self) -> str:
        by_checks = f"{_shown(self.before.by_checks)} -> {_shown(self.after.by_checks)} by checks"
        total = f"{_shown(self.before.total)} -> {_shown(self.after.total)} in all"
        return f"{self.student}: {by_checks}, {total}; {'; '.join(self.checks)}"


@dataclass(frozen=True)
class RegradePlan:
    """What a regrade has found; nothing is written yet.

    before: the recorded rows of the lab. By students: in_full: graded completely again; still_due:
    they keep the other exercises of an older grading; absent: they have no submission here, so
    their rows stay.
    """

    lab: Lab
    out: Path
    exercise: str
    before: Mapping[str, Result]
    outcomes: Sequence[Outcome]
    in_full: tuple[str, ...]
    still_due: tuple[str, ...]
    absent: tuple[str, ...]

    def changes(self) -> list[Change]:
        """Whose marks differ, by name."""
        after = {outcome.result.student: outcome.result for outcome in self.outcomes}
        old, new = (
            {mark.student: mark for mark in marks_of(self.out, list(rows.values()))}
            for rows in (self.before, {**self.before, **after})
        )
        differing = {
            student: tuple(_differing(self.before[student].checks, after[student].checks))
            for student in sorted(after)
        }
        return [
            Change(student, old[student], new[student], checks)
            for student, checks in differing.items()
            if checks or replace(old[student], of=new[student].of) != new[student]
        ]

    def lines(self) -> list[str]:
        """The changes, a line each, and what else a TA should know."""
        changes, of = self.changes(), len(self.outcomes)
        lines = [f"{self.exercise} of {self.lab.name}: {len(changes)} of {of} change."]
        lines += map(str, changes)
        new_of = {outcome.result.max_score for outcome in self.outcomes}
        old_of = {self.before[outcome.result.student].max_score for outcome in self.outcomes}
        if new_of != old_of:
            was, now = (" or ".join(map(as_points, sorted(each))) for each in (old_of, new_of))
            lines.append(f"The checks of the lab now give {now} points; they gave {was}.")
        if self.still_due:
            lines.append(OTHERS_STAY)
        if self.in_full:
            lines.append(f"These were graded again in full: {', '.join(self.in_full)}.")
        if self.absent:
            names = ", ".join(self.absent)
            lines.append(f"These are not among the submissions and stay as they are: {names}.")
        return lines

    def write(self) -> None:
        """Write results, gradebook, pages and marks. Marks given by hand stay.

        Raises: RegradeError if the record has changed since; BusyError, GradebookError.
        """
        log = ResultLog(self.out / "results.jsonl")
        with closing(log):
            on_record = {key[1]: row for key, row in log.results.items() if key[0] == self.lab.name}
            if on_record != self.before:
                raise RegradeError("the results have changed meanwhile: give the command again")
            with closing(CourseBook(self.out / "course")) as book:
                book.add_assignment(self.lab.name, build_notebook(self.lab, "instructor"))
                for outcome in self.outcomes:
                    log.append(recorded(outcome, book, self.out))
            results = log.finish(self.lab.name, set(self.before))
            write_class(self.out, self.lab, results)


def plan_regrade(
    lab: Lab, place: Path, out: Path, exercise: str, run: GradingSettings
) -> RegradePlan:
    """Play the checks of one exercise again on all that is on record, with the same seed.

    Raises: RegradeError, NoSubmissions, PolicyError, NoWall.
    """
    before = {
        row.student: row for row in read_results(out / "results.jsonl") if row.lab == lab.name
    }
    if not before:
        raise RegradeError(f"{out} has no results of {lab.name}: grade it first")
    names = [cell.name for cell in lab.marked]
    if exercise not in names:
        raise RegradeError(f"{lab.name} has no exercise {exercise}; it has {', '.join(names)}")
    grading = Grading(lab, out, run)
    submissions = collect(place, lab.name, roster_of(out, run.roster), without=out)
    works = [work for work in grading.works(submissions) if work.student in before]
    seed, others = seed_of(out, None), _without(exercise, _checks_of(lab))
    same = [
        work
        for work in works
        if _is_of_this_file(before[work.student], work, out, seed)
        and _has_todays_checks(before[work.student], exercise, others)
    ]
    played = _outcomes(grading, same, (exercise,))
    merged = {
        work.student: _merged(before[work.student], played[work.attempts[0].key], exercise)
        for work in same
    }
    rest = [work for work in works if merged.get(work.student) is None]
    graded = _outcomes(grading, rest, ())
    outcomes, still_due = [work.counted(graded) for work in rest], []
    for work in same:
        if merged[work.student] is not None:
            outcome = work.counted({work.attempts[0].key: merged[work.student]})
            old_key = before[work.student].key
            outcomes.append(replace(outcome, result=replace(outcome.result, key=old_key)))
            still_due += [work.student] if old_key != work.key else []
    in_full = tuple(sorted(work.student for work in rest))
    absent = tuple(sorted(set(before) - {work.student for work in works}))
    return RegradePlan(lab, out, exercise, before, outcomes, in_full, tuple(still_due), absent)


def _outcomes(
    grading: Grading, works: list[Work], exercises: tuple[str, ...]
) -> dict[str, Outcome]:
    todo = contents_of(works)
    if not todo:
        return {}
    with closing(grading.pool(exercises)) as pool:
        return dict(tqdm(pool.grade(todo), total=len(todo), disable=None))


def _is_of_this_file(row: Result, work: Work, out: Path, seed: int) -> bool:
    """Whether a row is certainly of the one file that is there now, and of its cases.

    seed: the folder's.
    """
    submission = work.attempts[0].submission
    file = out / "course" / "submitted" / row.student / row.lab / f"{row.lab}.ipynb"
    return (
        len(work.attempts) == 1
        and submission.file_name == row.file_name
        and submission.file_name.endswith(".ipynb")
        and not submission.extra
        and file.exists()
        and file.read_bytes() == submission.content
        and row.seed == seed_of_cases(seed, submission)
        and row.status != ERROR
    )


def _has_todays_checks(row: Result, exercise: str, others: list[CheckKey]) -> bool:
    """Whether a row's checks of the other exercises are today's, so that they may stay."""
    checks = [(check.exercise, check.check, check.max_points) for check in row.checks]
    return row.status == UNGRADABLE or _without(exercise, checks) == others


def _without(exercise: str, checks: Iterable[CheckKey]) -> list[CheckKey]:
    return [check for check in checks if check[0] != exercise]


def _checks_of(lab: Lab) -> list[CheckKey]:
    """Exercise, name and points of every check as they are today."""
    checks = checks_of(lab.topic)
    return [
        (cell.name, check.name, points)
        for cell in lab.marked
        for check, points in zip(
            checks[cell.name], points_by_weight(checks[cell.name], cell.points), strict=True
        )
    ]


def _merged(row: Result, played: Outcome, exercise: str) -> Outcome | None:
    """The recorded row with the checks of one exercise as they were played now.

    None if the row has no other checks, for the file could not be read then and can be now.
    """
    fresh = played.result
    if UNGRADABLE in (row.status, fresh.status):
        return played if fresh.status == UNGRADABLE else None
    if (
        row.status == PARTLY and fresh.status == GRADED
    ):  # another exercise's checks may have shown it
        fresh = replace(fresh, status=PARTLY, problem=row.problem)
    others = [check for check in row.checks if check.exercise != exercise]
    before = [check.exercise for check in row.checks]
    at = before.index(exercise) if exercise in before else len(others)
    checks = [*others[:at], *fresh.checks, *others[at:]]
    score = None if fresh.score is None else score_of(checks)
    notebook = deepcopy(played.notebook)  # equal files of several students share it
    for node in notebook:
        flags = node.metadata.get("nbgrader", {})
        if node.cell_type == "code" and flags.get("grade"):
            name = flags["grade_id"].removeprefix("check_")
            node.outputs = check_outputs([check for check in checks if check.exercise == name])
    return replace(played, result=replace(fresh, checks=checks, score=score), notebook=notebook)


def _differing(before: Iterable[CheckResult], after: Iterable[CheckResult]) -> Iterator[str]:
    """The checks whose points differ, in words."""
    old = {(check.exercise, check.check): check for check in before}
    new = {(check.exercise, check.check): check for check in after}
    for key in dict.fromkeys([*old, *new]):
        was, now = (_shown(rows[key].points) if key in rows else "none" for rows in (old, new))
        if was != now:
            yield f"{key[0]}, {key[1]}: {was} -> {now}"


def _shown(points: float | None) -> str:
    return "none" if points is None else as_points(points)
