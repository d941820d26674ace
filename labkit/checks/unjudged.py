"""Claims that cannot be judged, because of a crash or a mistake that is already reported.

A crash or a mistake often fails many checks of an exercise. It is reported once, with one cross.
The other checks are not judged until it is fixed. No points change: what is not judged earns none.
"""

from collections.abc import Sequence
from typing import Any

from labkit.checks.core import NOT_JUDGED, RAISED, RAISES, Finding

ENDLESS, EXITS = "the code does not end", "the code ends its process"
STOPS = (RAISES, ENDLESS, EXITS)  # how the causes of a stop begin
TOLD_ALREADY = "another check found the same mistake. Correct that first"


def is_stop(finding: Any) -> bool:
    """Whether the student's code came to no result: it raised, or it did not end."""
    return finding.status == "failed" and finding.cause.startswith(STOPS)


def mistake_of(finding: Any) -> str:
    """The mistake that a message names: an error, the cause at its end, or all of the message."""
    _, raised, error = finding.message.partition(RAISED)
    cause = finding.cause.rstrip(".")
    is_named = cause and (is_stop(finding) or finding.message.rstrip(".").endswith(cause))
    return error if raised else cause if is_named else finding.message


def judged(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of an exercise, in which the first stop and each mistake have one cross.

    At least one check has a cross: the others point to it.
    """
    failed = [finding for finding in findings if finding.status == "failed"]
    unjudged = [finding for finding in findings if finding.status == "unjudged"]
    stops = [finding for finding in failed if is_stop(finding)]
    where = {finding.stop for finding in stops} - {""}  # a check may have wanted another exception
    wrong = [each for each in failed if not is_stop(each) and each.stop not in where]
    crossed = [*stops[:1], *map(_first, _by_mistake(wrong)), *([] if failed else unjudged[:1])]
    return [
        _with_cross(finding)
        if any(finding is each for each in crossed)
        else _without_cross(finding, stops)
        for finding in findings
    ]


def _by_mistake(failed: Sequence[Finding]) -> list[list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in failed:
        groups.setdefault(mistake_of(finding), []).append(finding)
    return list(groups.values())


def _first(group: Sequence[Finding]) -> Finding:
    return max(group, key=lambda finding: finding.check.gate)  # of equals, it is the first


def _with_cross(finding: Finding) -> Finding:
    if finding.status == "failed":
        return finding
    return finding.reworded(_as_a_mistake, status="failed")


def _as_a_mistake(message: str) -> str:
    text = message.removeprefix(NOT_JUDGED)
    return text[:1].upper() + text[1:]


def _without_cross(finding: Finding, stops: Sequence[Finding]) -> Finding:
    if finding.status != "failed":
        return finding
    why = TOLD_ALREADY
    if is_stop(finding) or any(finding.stop == stop.stop != "" for stop in stops):
        kind = finding.cause.partition(RAISES)[2] if finding.stop != stops[0].stop else ""
        why = f"{finding.stop}, with{kind}" if kind else finding.stop or finding.cause
    return Finding.unjudged(finding.check, why, finding.share)
