"""Claims that cannot be judged: a crash comes before them, or a mistake that is told already.

A crash or a mistake often fails many checks of an exercise. It is told once, with one cross; the
other checks are not judged until it is mended. No points change: what is not judged earns none.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labkit.checks.core import RAISED, RAISES, Finding

ENDLESS, EXITS = "the code does not end", "the code ends its process"
STOPS = (RAISES, ENDLESS, EXITS)  # how the causes of a stop begin
TOLD_ALREADY = "another check found the same mistake. Correct that first"


def is_stop(finding: Any) -> bool:
    """Whether the student's code came to no result: it raised, or it did not end."""
    return finding.status == "failed" and finding.cause.startswith(STOPS)


def mistake_of(finding: Any) -> str:
    """What a message says in whichever case: an error, the cause at its end, or all of it."""
    _, raised, error = finding.message.partition(RAISED)
    cause = finding.cause.rstrip(".")
    is_named = cause and (is_stop(finding) or finding.message.rstrip(".").endswith(cause))
    return error if raised else cause if is_named else finding.message


def judged(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of an exercise, in which each stop and each mistake has one cross.

    At least one check has a cross: the others point to it.
    """
    failed = [finding for finding in findings if finding.status == "failed"]
    unjudged = [finding for finding in findings if finding.status == "unjudged"]
    stop = next(filter(is_stop, failed), None)
    crossed = {id(each) for each in ([stop] if stop else [])}
    for group in _by_mistake(failed):
        if not any(is_stop(each) or _is_of(each, stop) for each in group):
            crossed.add(id(max(group, key=lambda each: each.check.gate)))
    if not failed and unjudged:
        crossed.add(id(unjudged[0]))
    return [_verdict(finding, stop, id(finding) in crossed) for finding in findings]


def _by_mistake(failed: Sequence[Finding]) -> list[list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in failed:
        groups.setdefault(mistake_of(finding), []).append(finding)
    return list(groups.values())


def _is_of(finding: Finding, stop: Finding | None) -> bool:
    """Whether a check looked at the same exception and found it to be another than wanted."""
    return stop is not None and finding.stop != "" and finding.stop == stop.stop


def _verdict(finding: Finding, stop: Finding | None, is_crossed: bool) -> Finding:
    if finding.status == "unjudged" and is_crossed:
        return replace(finding, status="failed")
    if finding.status != "failed" or is_crossed:
        return finding
    why = TOLD_ALREADY
    if _is_of(finding, stop):
        why = finding.stop
    elif is_stop(finding):
        kind = finding.cause.partition(RAISES)[2]
        why = f"{finding.stop}, with{kind}" if kind else finding.cause
    return Finding.unjudged(finding.check, why, finding.share)
