"""Moments as exports write them: read into one form, compared across time zones."""

import re
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from autograder.course.dates import date_in_words

ISO = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
    r"(?:\.(?P<fraction>[0-9]+))? ?(?P<zone>\S*)"
)
OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
MAX_CHARS = 100
YEARS = range(1970, 9000)  # far enough from both ends to be moved between zones


def parse_time(text: str) -> datetime | None:
    """The moment that a text names, without a zone if it names none; None if it cannot be read.

    Understood: ISO 8601, nbgrader's timestamp.txt, Gradescope's dates, and dates in words as
    Moodle writes them in its users' languages. An abbreviation such as CST, which stands for
    several zones, is left out.
    """
    text = " ".join(text[:MAX_CHARS].split())
    try:
        moment = _parse_iso(text) or date_in_words(text)
    except ValueError:
        return None
    return moment if moment and moment.year in YEARS else None


def iso_time(text: str) -> str:
    """`parse_time` in ISO 8601, "" for None."""
    moment = parse_time(text)
    return moment.isoformat() if moment else ""


def instant(text: str, zone: tzinfo = UTC) -> datetime | None:
    """`parse_time` in UTC; a moment without a zone of its own is one in `zone`."""
    moment = parse_time(text)
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _parse_iso(text: str) -> datetime | None:
    match = ISO.fullmatch(text)
    if match is None:
        return None
    fraction = (match["fraction"] or "0")[:6]
    moment = datetime.fromisoformat(f"{match['day']}T{match['clock']}")
    return moment.replace(microsecond=int(fraction.ljust(6, "0")), tzinfo=_zone(match["zone"]))


def _zone(name: str) -> tzinfo | None:
    """A zone by its offset or its IANA name; None for anything else."""
    if name in ("Z", "UTC"):
        return UTC
    if offset := OFFSET.fullmatch(name):
        text = f"{offset['sign']}{offset['hours']}:{offset['minutes']}"
        return datetime.fromisoformat(f"2000-01-01T00:00{text}").tzinfo
    if "/" not in name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None
