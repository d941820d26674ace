"""What the students' page takes from notebooks/course.toml: people, dates and points, and rules."""

import re
from collections.abc import Iterable, Mapping

from autograder.builder.ai import RULES, opening
from autograder.builder.source import Course, Lab, read_course, read_term
from autograder.course.late import ACCEPT, REFUSE, LateRule
from autograder.course.policy import Policy, policy_from
from autograder.errors import Refusal
from autograder.places import ORAL, assignment_of

PLACEHOLDER = re.compile(r"\[[^\]]*\](?!\()")  # [names], but not the link [names](address)
ATTEMPTS = {"best": "the best one counts", "last": "the last one counts"}


def page_tables() -> dict[str, str]:
    """The parts of the page by the name of their marks. Raises: Refusal for a wrong course.toml."""
    try:
        course = read_course()
        policy = policy_from(course.policy)
        return {
            "people": _people(course),
            "labs": _labs(course, policy),
            "ai": RULES[course.ai],
            "rules": _rules(policy),
        }
    except (TypeError, ValueError, AttributeError) as error:
        raise Refusal(
            f"notebooks/course.toml has a wrong setting ({error}): read the comments beside it"
        ) from None


def heading(lab: Lab) -> str:
    """The line below a notebook's title: course and term, deadline, signs, and the rule on AI."""
    course = read_course()
    named = str(course.page.get("Course and term", ""))
    title = course.title if PLACEHOLDER.search(named) or not named.strip() else named
    policy = policy_from(course.policy)
    due = policy.deadlines.get(lab.name)
    when = f" Due {policy.shown(due)}." if due else ""
    yours = "✎ and ☐ mark what is yours; run all other cells."
    return f"*{title}.{when} {yours} {opening(course.ai)}*"


def unfilled_fields(course: Course) -> list[str]:
    """The lines of course.toml that still hold a placeholder or nothing, where students read them.

    These are the rows of the course page, and whom to ask at the end of each feedback page.
    """
    fields = {f'"{name}"': text for name, text in course.page.items()}
    if "ask" in course.policy:
        fields["ask"] = course.policy["ask"]
    return [
        f'{name} = "{text}"'
        for name, text in fields.items()
        if PLACEHOLDER.search(str(text)) or not str(text).strip()
    ]


def _people(course: Course) -> str:
    rows = [f"| {name} | {text} |" for name, text in course.page.items()]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def _labs(course: Course, policy: Policy) -> str:
    labs = {lab.name: _points(lab, course.counts_as) for lab in read_term()}
    asked = {name: points for name, points in course.counts_as.items() if name.endswith(ORAL)}
    labs |= {assignment_of(name): (points, 0.0, points) for name, points in asked.items()}
    labs = dict(sorted(labs.items()))
    deadlines = {name: policy.shown(moment) for name, moment in policy.deadlines.items()}
    rows = [_row(name, deadlines.get(name, "none"), points) for name, points in labs.items()]
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


def _rules(policy: Policy) -> str:
    grace = policy.grace_minutes
    lines = [
        f"You may hand in as often as you like; {ATTEMPTS[policy.attempts]}.",
        _late(policy.late),
        f"A submission is in time until {grace:g} minutes after the deadline." if grace else "",
        f"A bonus adds at most {policy.bonus_at_most:g} points to a lab.",
    ]
    return "".join(f"- {line}\n" for line in lines if line)


def _late(rule: LateRule) -> str:
    if rule == REFUSE:
        return "Late work earns no points."
    if rule == ACCEPT:
        return "Late work counts in full."
    most = f", and {100 * rule.at_most:g} % at most" if rule.at_most < 1 else ""
    return f"Late work loses {100 * rule.per_day:g} % of its points for each started day{most}."
