"""What the students' page takes from notebooks/course.toml: people, dates and points, and rules."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from autograder.builder.source import Course, Lab, find_lab, read_course, read_term
from autograder.errors import Refusal

ATTEMPTS = {"best": "the best one counts", "last": "the last one counts"}


def page_tables() -> dict[str, str]:
    """The parts of the page by the name of their marks. Raises: Refusal for a wrong course.toml."""
    try:
        course = read_course()
        return {"people": _people(course), "labs": _labs(course), "rules": _rules(course.policy)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refusal(
            f"notebooks/course.toml has a wrong setting ({error}): read the comments beside it"
        ) from None


def _people(course: Course) -> str:
    rows = [f"| {name} | {text} |" for name, text in course.page.items()]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def _labs(course: Course) -> str:
    deadlines = {
        find_lab(name).name: moment for name, moment in course.policy.get("deadlines", {}).items()
    }
    zone = course.policy.get("timezone", "UTC")
    labs = {lab.name: _points(lab, course.counts_as) for lab in read_term()}
    rows = [
        _row(name, shown(deadlines[name], zone) if name in deadlines else "none", points)
        for name, points in labs.items()
    ]
    head = [
        "| lab | deadline | points | of them read by a person | counts as |",
        "|---|---|---|---|---|",
    ]
    together = [sum(column) for column in zip(*labs.values(), strict=True)]
    return "\n".join([*head, *rows, _row("all labs", "", together)]) + "\n"


def _points(lab: Lab, counts_as: Mapping[str, float]) -> tuple[float, float, float]:
    """A lab's points, those of them that a person gives, and those of the final mark."""
    by_hand = sum(cell.points for cell in lab.cells if cell.kind == "written")
    points = by_hand + sum(cell.points for cell in lab.marked)
    return points, by_hand, counts_as.get(lab.name, points)


def _row(name: str, when: str, points: Iterable[float]) -> str:
    return f"| {name} | {when} | {' | '.join(f'{number:g}' for number in points)} |"


def shown(moment: datetime, zone: str) -> str:
    """A deadline with its offset: 2026-10-15 23:59:59 (UTC+8)."""
    local = (
        moment.astimezone(ZoneInfo(zone))
        if moment.tzinfo
        else moment.replace(tzinfo=ZoneInfo(zone))
    )
    hours, minutes = local.strftime("%z")[:3], local.strftime("%z")[3:]
    offset = f"{int(hours):+d}" + (f":{minutes}" if minutes != "00" else "")
    return f"{local:%Y-%m-%d %H:%M:%S} (UTC{offset})"


def _rules(policy: Mapping[str, Any]) -> str:
    grace = policy.get("grace_minutes", 0)
    lines = [
        f"You may hand in as often as you like; {ATTEMPTS[policy.get('attempts', 'best')]}.",
        _late(policy.get("late", "accept")),
        f"A submission is in time until {grace:g} minutes after the deadline." if grace else "",
        f"A bonus adds at most {policy.get('bonus_at_most', 3):g} points to a lab.",
    ]
    return "".join(f"- {line}\n" for line in lines if line)


def _late(rule: str | Mapping[str, float]) -> str:
    if rule == "refuse":
        return "Late work earns no points."
    if rule == "accept":
        return "Late work counts in full."
    most = f", and {100 * rule['at_most']:g} % at most" if "at_most" in rule else ""
    return f"Late work loses {100 * rule['per_day']:g} % of its points for each started day{most}."
