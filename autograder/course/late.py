"""What the time of a submission means for its marks."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from autograder.course.times import instant

DAY = timedelta(days=1)
NO_TIME = "The time of submission is not known"


@dataclass(frozen=True)
class LateRule:
    """The share of the marks that a late submission loses per started day, and the maximum."""

    per_day: float
    at_most: float = 1.0

    def factor(self, n_days: int) -> float:
        """The factor of a submission's marks if it is late by `n_days` started days."""
        return round(1 - min(n_days * self.per_day, self.at_most), 4)

    def sentence(self, n_days: int) -> str:
        """What that means, in words."""
        lost = round(100 * (1 - self.factor(n_days)), 2)
        if lost == 0:
            return "late work counts in full"
        if lost == 100 and self.per_day == 1:
            return "late work is not accepted, so it earns no marks"
        days = "1 started day" if n_days == 1 else f"{n_days} started days"
        return f"late by {days}, it loses {lost:g}% of its marks"


ACCEPT, REFUSE = LateRule(0.0), LateRule(1.0)


@dataclass(frozen=True)
class Standing:
    """The factor of a submission's marks by its time, and the reason ("" if it is on time)."""

    late_factor: float = 1.0
    sentence: str = ""


@dataclass(frozen=True)
class Policy:
    """The rules of a course. deadlines: by lab; extensions: by student, then by lab.

    bonus_at_most: the points that extra credit given by hand may add to one lab; ask: the person
    who answers questions about marks, "" if none is named; ask_until: by lab, until when.
    """

    timezone: tzinfo = UTC
    attempts: str = "best"
    late: LateRule = ACCEPT
    grace_minutes: float = 0.0
    bonus_at_most: float = 3.0
    deadlines: Mapping[str, datetime] = field(default_factory=dict)
    extensions: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    ask: str = ""
    ask_until: Mapping[str, datetime] = field(default_factory=dict)

    def standing(
        self, lab: str, student: str, submitted_at: str, marked_late: bool | None
    ) -> Standing:
        """What the time of a submission means for its marks. Seconds are rounded down.

        submitted_at: ISO 8601, in the course's zone if it names none, "" if unknown; marked_late:
        whether the learning platform calls it late, None if it does not say.
        """
        extension = self.extensions.get(folded(student), {}).get(lab)
        deadline = extension or self.deadlines.get(lab)
        moment = instant(submitted_at, self.timezone)
        if deadline is None or moment is None:
            return self._without_times(deadline, extension, marked_late)
        return self._measured(moment.replace(microsecond=0), deadline, extension, marked_late)

    def strangers(self, lab: str, students: Iterable[str]) -> list[str]:
        """Who has an extension for `lab` and is not among `students`: a name may be mistyped."""
        known = {folded(student) for student in students}
        extended = (name for name, labs in self.extensions.items() if lab in labs)
        return sorted(name for name in extended if name not in known)

    def asking(self, lab: str) -> str:
        """The person who answers questions about marks, and until when; "" if none is named."""
        if not self.ask:
            return ""
        until = f" until {self.shown(self.ask_until[lab])}" if lab in self.ask_until else ""
        return f"Do you think that a mark is wrong? You can ask{until}: {self.ask}."

    def shown(self, moment: datetime) -> str:
        """A moment in the course's zone: 2026-10-15 23:59:59 (UTC+08:00)."""
        local = moment.astimezone(self.timezone)
        offset = local.isoformat()[-6:]
        return f"{local:%Y-%m-%d %H:%M:%S} (UTC{'' if offset == '+00:00' else offset})"

    def _measured(
        self,
        moment: datetime,
        deadline: datetime,
        extension: datetime | None,
        marked_late: bool | None,
    ) -> Standing:
        overdue = moment - deadline - timedelta(minutes=self.grace_minutes)
        if overdue <= timedelta(0):
            if extension:
                return Standing(1.0, f"In time by the extension until {self.shown(deadline)}.")
            if marked_late:
                return Standing(
                    1.0,
                    "The learning platform marked it late, but it is in time for the deadline of "
                    f"{self.shown(deadline)}.",
                )
            return Standing()
        n_days = -(-overdue // DAY)
        what = "the extension until" if extension else "the deadline of"
        return Standing(
            self.late.factor(n_days),
            f"Handed in at {self.shown(moment)}, {_duration(moment - deadline)} after {what} "
            f"{self.shown(deadline)}: {self.late.sentence(n_days)}.",
        )

    def _without_times(
        self, deadline: datetime | None, extension: datetime | None, marked_late: bool | None
    ) -> Standing:
        if not marked_late:
            if deadline is None or marked_late is False:  # in time, as the platform has it
                return Standing()
            return Standing(
                1.0,
                f"{NO_TIME}, so the deadline of {self.shown(deadline)} was not checked.",
            )
        if extension:
            return Standing(
                1.0,
                "The learning platform marked it late without a time; because of the extension "
                f"until {self.shown(extension)} it counts in full until a person has checked.",
            )
        return Standing(
            self.late.factor(1),
            f"The learning platform marked it late without a time: {self.late.sentence(1)}.",
        )


def _duration(span: timedelta) -> str:
    """A length of time in its two largest units."""
    seconds = math.ceil(span.total_seconds())
    parts = []
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        n_units, seconds = divmod(seconds, length)
        if n_units:
            parts.append(f"{n_units} {unit}{'s' if n_units > 1 else ''}")
    return " and ".join(parts[:2])


def folded(name: str) -> str:
    """A name for comparison: composed letters, without case."""
    return unicodedata.normalize("NFC", name).casefold()
