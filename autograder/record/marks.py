"""Marks: what the checks gave and what people gave by hand, put together.

The checks' points stand in `results.jsonl`, those given by hand in nbgrader's gradebook, where
formgrader writes them. A mark by hand goes before one by checks. All arithmetic is decimal; what
the checks gave, and then the total, is rounded to the cent, halves up.
"""

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from autograder.files import write_whole
from autograder.record.by_hand import HandMark, marks_by_hand
from autograder.record.database import gradebook_of
from autograder.record.decisions import Decision, decisions_of, reasons_of
from autograder.record.folder import policy_of
from autograder.record.log import read_results
from autograder.record.results import ERROR, Result

COLUMNS = (
    "lab student mark of by_checks by_hand bonus waits_for late_factor attempt submitted_at group "
    "status remark"
).split()


@dataclass(frozen=True)
class Mark:
    """The mark of one student for one lab.

    by_checks: the points of the checks, None if there are none; by_hand: the points that people
    gave; bonus: extra credit as far as it counts; waits_for: what a person has yet to read; total:
    all of it after `late_factor`, None while a person has to look; remark: why, and what lateness
    took; decisions and reasons: what the desk knows beside points, reasons by question.
    """

    lab: str
    student: str
    status: str
    by_checks: float | None
    by_hand: float
    bonus: float
    waits_for: tuple[str, ...]
    late_factor: float
    total: float | None
    of: float
    remark: str = ""
    hand: tuple[HandMark, ...] = ()
    decisions: tuple[Decision, ...] = ()
    reasons: Mapping[str, Sequence[str]] = field(default_factory=dict)


def marks_of(out: Path, results: Sequence[Result] | None = None) -> list[Mark]:
    """The marks of an output folder, sorted by lab and student, as of now.

    Raises: GradebookError, PolicyError.
    """
    bonus_at_most = policy_of(out, None).bonus_at_most
    rows = read_results(out / "results.jsonl") if results is None else results
    database = gradebook_of(out)
    by_hand = marks_by_hand(database, rows)
    decided, reasons = decisions_of(database), reasons_of(database)
    of: dict[str, float] = {}
    for result in rows:
        points = float(exact_sum([result.max_score, *result.written.values()]))
        of[result.lab] = max(points, of.get(result.lab, 0.0))  # a row of our errors knows none
    marks = [
        _mark(result, by_hand.get((result.lab, result.student), {}), of[result.lab], bonus_at_most)
        for result in sorted(rows, key=lambda result: (result.lab, result.student))
    ]
    return [
        replace(mark, decisions=decided.get(name, ()), reasons=reasons.get(name, {}))
        for mark in marks
        for name in [(mark.lab, mark.student)]
    ]


def write_marks(out: Path, results: Sequence[Result], marks: Iterable[Mark]) -> Path:
    """Write `marks.csv`: a row per lab and student; an empty mark means that a person must look."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    known = {(result.lab, result.student): result for result in results}
    for mark in marks:
        result = known[mark.lab, mark.student]
        writer.writerow(map(no_formula, _cells(mark, result)))
    path = out / "marks.csv"
    write_whole(path, buffer.getvalue().encode())
    return path


def points_by_part(result: Result, mark: Mark) -> dict[str, float | None]:
    """The points of each exercise and written answer, in the order of the notebook.

    Before what lateness takes off; None while a person has to look.
    """
    by_hand = {hand.exercise: hand.points for hand in mark.hand if hand.points is not None}
    open_parts = result.undecided | result.written.keys()
    by_checks = {
        name: None if name in open_parts else float(to_cents(exact_sum(c.points for c in checks)))
        for name, checks in result.by_exercise.items()
    }
    return {name: by_hand.get(name, by_checks.get(name)) for name in result.parts}


def most_by_part(result: Result) -> dict[str, float]:
    """The points that each part of a result earns at most."""
    checks = result.by_exercise.items()
    of = {name: round(sum(check.max_points for check in own), 2) for name, own in checks}
    return of | result.written


def as_points(value: float | None) -> str:
    """A number of points as people write it; nothing for None."""
    return "" if value is None else f"{Decimal(str(value)).normalize():f}"


def to_cents(value: Decimal) -> Decimal:
    """Rounded to two places, halves up."""
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def no_formula(text: str) -> str:
    """Text that a spreadsheet will not take for a formula; a student chooses file names."""
    start = unicodedata.normalize("NFKC", text[:1])
    return f"'{text}" if start in ("=", "+", "-", "@", "\t", "\r", "\n") else text


def _cells(mark: Mark, result: Result) -> list[str]:
    points = map(as_points, (mark.total, mark.of, mark.by_checks, mark.by_hand, mark.bonus))
    return [
        mark.lab,
        mark.student,
        *points,
        " ".join(mark.waits_for),
        as_points(mark.late_factor),
        f"{result.attempt} of {result.n_attempts}",
        result.submitted_at,
        result.group,
        result.status,
        mark.remark,
    ]


def _mark(result: Result, hand: dict[str, HandMark], of: float, bonus_at_most: float) -> Mark:
    given = {name: mark for name, mark in hand.items() if mark.points is not None}
    replaced = {mark.exercise for mark in given.values()}
    checks = [check for check in result.checks if check.exercise not in replaced]
    by_checks = to_cents(exact_sum(check.points for check in checks))
    by_hand = exact_sum(mark.points for mark in given.values())
    earned = exact_sum(mark.bonus for mark in hand.values())
    bonus = min(earned, Decimal(str(bonus_at_most)))
    waits_for = _waiting(result, hand)
    factor = Decimal(str(result.late_factor))
    is_refused = result.late_factor == 0 and result.status != ERROR
    total = None if waits_for and not is_refused else (by_checks + by_hand + bonus) * factor
    capped = f"Of {earned:f} bonus points {bonus:f} count." if bonus < earned else ""
    return Mark(
        lab=result.lab,
        student=result.student,
        status=result.status,
        by_checks=None if result.score is None else float(by_checks),
        by_hand=float(by_hand),
        bonus=float(bonus),
        waits_for=waits_for,
        late_factor=result.late_factor,
        total=None if total is None else float(to_cents(total)),
        of=of,
        remark=" ".join(filter(None, (result.problem, result.late, capped))),
        hand=tuple(mark for _, mark in sorted(hand.items()) if mark.is_given),
    )


def _waiting(result: Result, hand: dict[str, HandMark]) -> tuple[str, ...]:
    """The parts that a person still has to mark: answers, and exercises that no check decided."""
    given = {name: mark for name, mark in hand.items() if mark.points is not None}
    if result.score is None and not given:
        return ("everything",)
    wanted = [*(hand if result.score is None else result.written), *given]
    read = {name for name, mark in given.items() if mark.is_current}
    decided = {mark.exercise for mark in given.values()}
    return tuple(sorted((set(wanted) - read) | (result.undecided - decided)))


def exact_sum(points: Iterable[float]) -> Decimal:
    """The sum of decimal numbers, without the errors of binary ones."""
    return sum((Decimal(str(value)) for value in points), Decimal(0))
