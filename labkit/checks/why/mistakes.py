"""Known mistakes: each has a number, the same in a notebook, on a student's page and in a report.

`mistakes.json` beside a lab's checks lists what the checks of code say to known wrong answers. The
tests write it, and the pages in `docs/mistakes` with it: see `tests/mistakes.py`.
"""

import json
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from labkit.checks.card import with_code
from labkit.checks.outline import file_of, outline_of


@dataclass(frozen=True, slots=True)
class Mistake:
    """A sentence with which a check names a mistake.

    number: of the lab, and of the mistake in it, "4.17"; case: what the check says to the smallest
    case in which the mistake was seen; seen: known wrong answers that make it, in words.
    """

    number: str
    exercise: str
    check: str
    says: str
    case: str
    seen: tuple[str, ...]

    def facts(self, topic: str) -> dict[str, str]:
        """What is known of it, by heading."""
        section = next((p.section for p in outline_of(topic) if p.name == self.exercise), "")
        seen = "; ".join(self.seen)
        return {"Wrong answers like this": seen, "The smallest case": self.case, "Read": section}


@cache
def mistakes_of(topic: str) -> tuple[Mistake, ...]:
    """The known mistakes of a lab by number; none for a lab without a list."""
    file = file_of(topic, "mistakes.json")
    rows = json.loads(file.read_text(encoding="utf-8")) if file else []
    return tuple(Mistake(**(row | {"seen": tuple(row["seen"])})) for row in rows)


def mistakes_in(topic: str, exercise: str, cause: str) -> list[Mistake]:
    """The mistakes that a message's cause names; of two sentences in one place the longer."""
    own = [each for each in mistakes_of(topic) if each.exercise == exercise and each.says in cause]
    return [each for each in own if not any(each.says in other.says for other in own
                                            if other is not each)]  # fmt: skip


def numbered(topic: str, exercise: str, cause: str) -> str:
    """A cause with the numbers of the mistakes that it names."""
    numbers = ", ".join(each.number for each in mistakes_in(topic, exercise, cause))
    return f"{cause} (known mistake {numbers})" if numbers else cause


def folded(topic: str, finding: Any) -> str:
    """The pages on the mistakes that a finding names, as HTML."""
    pages = []
    for each in mistakes_in(topic, finding.check.exercise, finding.cause):
        rows = [f"<b>{head}:</b> {with_code(text)}" for head, text in each.facts(topic).items()]
        links = [part.link for part in outline_of(topic) if part.name == each.exercise]
        rows[-1] = f'<a href="{links[0]}">{rows[-1]}</a>'
        inside = "".join(f"<div>{row}</div>" for row in rows)
        summary = f"<summary>known mistake {escape(each.number)}</summary>"
        pages.append(f"<details>{summary}{inside}</details>")
    return "".join(pages)
