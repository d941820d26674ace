"""The course's rules for attempts and late work, from a small TOML file or a course.toml.

In a course.toml they are the table `policy`; elsewhere they are the file:

timezone = "Asia/Taipei"                  all times without an offset are in this zone
attempts = "best"                         or "last"
late = "refuse"                           or "accept", or { per_day = 0.1, at_most = 0.5 }
grace_minutes = 10
bonus_at_most = 3
ask = "ta@example.edu"                    whom a student asks about a mark
[deadlines]
04_kv_cache = 2026-10-15T23:59:59
[ask_until]
04_kv_cache = 2026-11-01T23:59:59
[extensions.ann]
04_kv_cache = 2026-10-18T23:59:59
"""

import math
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.course.late import ACCEPT, REFUSE, LateRule, Policy, Standing, folded
from autograder.course.times import YEARS
from autograder.errors import Refusal
from autograder.places import assignment_of

__all__ = ["Policy", "PolicyError", "Standing", "policy_from", "read_policy"]

MAX_GRACE_MINUTES = 7 * 24 * 60


class PolicyError(Refusal, ValueError):
    """A policy that cannot be read as one; the message says where and how to mend it."""


def read_policy(path: Path) -> Policy:
    """The rules in a TOML file. Raises PolicyError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return policy_from(table.get("policy", table))
    except OSError as error:
        raise PolicyError(f"the policy {path} cannot be read: {error.strerror}") from None
    except PolicyError as error:
        raise PolicyError(f"in the policy {path}, {error}") from None
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"the policy {path} is not TOML: {error}") from None


def policy_from(table: object) -> Policy:
    """The rules in a table. Raises PolicyError."""
    if not isinstance(table, dict):
        raise PolicyError("policy must be a table: [policy]")
    settings = ("timezone", "attempts", "late", "grace_minutes", "bonus_at_most", "ask",
                "ask_until", "deadlines", "extensions")  # fmt: skip
    for name in table:
        if name not in settings:
            raise PolicyError(f"{name!r} is no setting; there are {', '.join(settings)}")
    zone = _timezone(table.get("timezone", "UTC"))
    attempts = table.get("attempts", "best")
    if attempts not in ("best", "last"):
        raise PolicyError(f'attempts is {attempts!r}; it must be "best" or "last"')
    ask = table.get("ask", "")
    if not isinstance(ask, str):
        raise PolicyError(f"ask is {ask!r}; it must be a text: whom a student asks about a mark")
    deadlines = _moments(table.get("deadlines", {}), "deadlines", zone)
    return Policy(
        timezone=zone,
        attempts=attempts,
        late=_late_rule(table.get("late", "accept")),
        grace_minutes=_number(table.get("grace_minutes", 0), "grace_minutes", MAX_GRACE_MINUTES),
        bonus_at_most=_number(table.get("bonus_at_most", 3), "bonus_at_most"),
        deadlines=deadlines,
        ask=ask,
        ask_until=_moments(table.get("ask_until", {}), "ask_until", zone),
        extensions=_extensions(table.get("extensions", {}), deadlines, zone),
    )


def _timezone(name: object) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, TypeError, ValueError, AttributeError):
        raise PolicyError(
            f'timezone is {name!r}, which is no IANA name; write one such as "Asia/Taipei"'
        ) from None


def _late_rule(value: object) -> LateRule:
    if value in ("refuse", "accept"):
        return REFUSE if value == "refuse" else ACCEPT
    if isinstance(value, dict) and "per_day" in value and set(value) <= {"per_day", "at_most"}:
        shares = {name: _number(share, f"late.{name}", 1) for name, share in value.items()}
        return LateRule(**shares)
    raise PolicyError(
        f'late is {value!r}; it must be "refuse", "accept" or {{ per_day = 0.1, at_most = 0.5 }}'
    )


def _number(value: object, name: str, largest: float = math.inf) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and 0 <= value <= largest:
        return float(value)
    bounds = "of at least 0" if largest == math.inf else f"from 0 to {largest:g}"
    raise PolicyError(f"{name} is {value!r}; it must be a number {bounds}")


def _extensions(
    table: object, deadlines: Mapping[str, datetime], zone: ZoneInfo
) -> dict[str, dict[str, datetime]]:
    if not isinstance(table, dict):
        raise PolicyError("extensions must be tables: [extensions.STUDENT]")
    extensions: dict[str, dict[str, datetime]] = {}
    for student, labs in table.items():
        where = f"extensions.{student}"
        if folded(student) in extensions:
            raise PolicyError(f"{where} stands there twice, in two spellings")
        moments = _moments(labs, where, zone)
        for lab, moment in moments.items():
            if lab not in deadlines or moment < deadlines[lab]:
                raise PolicyError(
                    f"{where}.{lab} extends no deadline: {lab} has none, or a later one"
                )
        extensions[folded(student)] = moments
    return extensions


def _moments(table: object, where: str, zone: ZoneInfo) -> dict[str, datetime]:
    if not isinstance(table, dict):
        raise PolicyError(f"{where} must be a table of labs: [{where}]")
    moments: dict[str, datetime] = {}
    for name, value in table.items():
        try:
            lab = assignment_of(name)
        except ValueError as error:
            raise PolicyError(f"{where} names a lab that is not there: {error}") from None
        if lab in moments:
            raise PolicyError(f"{where} names {lab} twice")
        moments[lab] = _moment(value, f"{where}.{name}", zone)
    return moments


def _moment(value: object, where: str, zone: ZoneInfo) -> datetime:
    if not isinstance(value, datetime):
        raise PolicyError(
            f"{where} is {value!r}; it must be a day and a time without quotes, such as "
            "2026-10-15T23:59:59"
        )
    if value.year not in YEARS:
        raise PolicyError(f"{where} is {value}, which is in no year of any course")
    if value.tzinfo is not None:
        return value.astimezone(UTC)
    readings = {value.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    if len(readings) == 1:
        return readings.pop()
    there = {reading.astimezone(zone).replace(tzinfo=None) for reading in readings}
    problem = "twice" if there == {value} else "not at all"
    raise PolicyError(
        f"{where} is {value}, which {zone.key} has {problem} because its clocks change then; "
        f"write it with an offset, such as {value.isoformat()}+00:00"
    )
