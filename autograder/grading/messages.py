"""The lines that a grading prints: counts, where the pages are, which files need a person."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from autograder.course.late import NO_TIME
from autograder.record.results import UNGRADABLE, Result

MAX_NAMED = 5


def counts(results: Sequence[Result]) -> str:
    """How many there are of each status."""
    by_status = Counter(result.status for result in results)
    summary = ", ".join(f"{n} {status}" for status, n in sorted(by_status.items()))
    return f"{len(results)} submissions: {summary}."


def places(out: Path, results: Sequence[Result]) -> list[str]:
    """Where the report is, and which files could not be graded, with the reason.

    If all fail for one reason, it is printed once: the folder may belong to another lab.
    """
    lines = [f"Class report: {out / 'report.html'}"]
    bad = [result for result in results if result.status == UNGRADABLE]
    reasons = {result.problem for result in bad}
    if len(bad) == len(results) > 1 and len(reasons) == 1:
        return [*lines, f"No file could be graded, all for one reason. {reasons.pop()}"]
    lines += [f"{result.student}, {result.file_name or 'no file'}: {result.problem}"
              for result in bad[:MAX_NAMED]]  # fmt: skip
    if len(bad) > MAX_NAMED:
        lines.append(f"The report names {len(bad) - MAX_NAMED} more that could not be graded.")
    return lines


def no_times(results: Sequence[Result]) -> list[str]:
    """What to do if the course has a deadline and no submission has a time."""
    if not results or not all(result.late.startswith(NO_TIME) for result in results):
        return []
    return [
        "No submission has a time, so the deadline was not checked. In Moodle the times are in the "
        "grading worksheet of the assignment: give that as --roster and grade again."
    ]
