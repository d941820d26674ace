"""What an evaluation came to: a table to read and a summary to keep."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.measuring.tables import Table
from training.tasks import rubric
from training.tasks.log import Row


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task's answers in numbers.

    score: mean over the answers that have one, with its standard error; None if none has.
    n_waiting: answers that wait for a judge; n_unclear: those that the judge left without a score.
    drfr: of open answers, the share of all requirements that are met.
    """

    task: str
    n: int
    n_scored: int
    score: float | None
    standard_error: float | None
    invalid_share: float | None
    n_waiting: int = 0
    n_unclear: int = 0
    drfr: float | None = None
    judges: tuple[str, ...] = ()
    seconds: float = 0.0


def summarise(task: str, rows: Sequence[Row]) -> TaskSummary:
    """Sum up the rows of one task."""
    scores = [row.score for row in rows if row.score is not None]
    judged = [row.verdicts for row in rows if row.verdicts and row.score is not None]
    return TaskSummary(
        task=task,
        n=len(rows),
        n_scored=len(scores),
        score=statistics.fmean(scores) if scores else None,
        standard_error=(
            statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else None
        ),
        invalid_share=sum(not row.is_valid for row in rows) / len(rows) if rows else None,
        n_waiting=sum(row.score is None and row.judge is None for row in rows),
        n_unclear=sum(row.score is None and row.judge is not None for row in rows),
        drfr=rubric.drfr([[bool(verdict) for verdict in verdicts] for verdicts in judged]),
        judges=tuple(sorted({row.judge for row in rows if row.judge})),
        seconds=round(sum(row.seconds for row in rows), 3),
    )


def table(summaries: Sequence[TaskSummary]) -> str:
    """The summaries as aligned text; shares as percentages."""
    headings = ("task", "n", "scored", "score", "± s.e.", "invalid")
    rows = [
        (
            each.task,
            each.n,
            each.n_scored,
            *map(_percent, (each.score, each.standard_error, each.invalid_share)),
        )
        for each in summaries
    ]
    notes = [note for each in summaries for note in _notes(each)]
    return str(Table(headings, rows, note="\n".join(notes)))


def _notes(summary: TaskSummary) -> list[str]:
    notes = []
    if summary.drfr is not None:
        judges = " and ".join(summary.judges) or "no judge: the answers were empty"
        share = _percent(summary.drfr)
        notes.append(f"{summary.task}: {share} of all requirements met (DRFR), by {judges}")
    if summary.n_waiting:
        notes.append(
            f"{summary.task}: {summary.n_waiting} answers wait for a judge "
            "(--judge URL --judge-model NAME)"
        )
    if summary.n_unclear:
        notes.append(
            f"{summary.task}: {summary.n_unclear} answers got no clear verdict; the same command "
            "asks again"
        )
    return notes


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
