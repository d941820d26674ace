"""Answers that a release gives away: each edition of a lab holds those of all earlier labs."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from autograder.course.late import Policy


def answers_too_early(labs: Iterable[str], policy: Policy, now: datetime) -> Iterator[str]:
    """A sentence for each of these labs whose edition holds answers of labs that are not yet due.

    The deadlines are those of the class; an extension, or a day late, is not looked at.
    """
    for lab in labs:
        early = sorted(
            name for name, moment in policy.deadlines.items() if name < lab and moment > now
        )
        if early:
            names = ", ".join(early)
            yield f"the files of {lab} hold the answers of {names}, not yet due"
