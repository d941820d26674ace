"""The card of a check: a bar and the points, a crash or the first failure, the next thing to do.

Marks are white on a colour of their own, so they can be read on a light and on a dark page alike.
All other text has the page's colour.
"""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.checks.core import GATE_SENTENCE, NOT_JUDGED, Finding, points_by_weight, share_of_points
from labkit.checks.unjudged import is_stop, mistake_of


@dataclass(frozen=True, slots=True)
class Mark:
    """How a status is shown. color: behind the white sign; word: for a screen reader."""

    sign: str
    color: str
    word: str


MARKS = {
    "passed": Mark("✓", "#1a7f37", "passed"),
    "failed": Mark("✗", "#b42318", "failed"),
    "todo": Mark("○", "#5f6b7a", "not written"),
    "read": Mark("●", "#2b5f9e", "read, marked later"),
    "unjudged": Mark("–", "#5f6b7a", "not judged"),
    "undecided": Mark("?", "#7a5a00", "not decided"),
}
Later = Mapping[str, Mapping[str, str]]
CARD = "line-height:1.5;max-width:56em;overflow-wrap:break-word"
SENTENCE = re.compile(r"[^\n]+?(?:[.?!](?= )|(?:\n [^\n]*)*(?:\n+|$))")  # logs are indented


def points_line(findings: Sequence[Finding], points: float) -> str:
    """The points earned and possible here; the grader marks answers that are only read."""
    shares = points_by_weight([finding.check for finding in findings], points)
    is_read = [finding.status == "read" for finding in findings]
    if all(is_read):
        return f"{points:g} points, marked when you hand it in"
    earned = round(sum(share_of_points(findings, points)), 2)
    most = sum(share for share, read in zip(shares, is_read, strict=True) if not read)
    return f"{earned:g} of {round(most, 2):g} points on the visible tests"


def as_text(
    title: str, findings: Sequence[Finding], points: float, later: Later | None = None
) -> str:
    """The report for a terminal: the same sentences, nothing folded."""
    lines = [f"{title}: {points_line(findings, points)}"]
    once = Once()
    for group in groups_of(findings):
        sign = MARKS[group[0].status].sign
        lines += [f"  {sign} {finding.check.claim}" for finding in group]
        lines += [f"      {said}" for said in message_lines(group, once)]
        lines += [f"      hint: {hint}" for hint in hints_of(group, once)]
        for name, said in _later_of(group, later).items():
            lines += [f"      {name}:", *(f"          {line}" for line in said.splitlines())]
    return "\n".join(lines)


def as_html(
    title: str,
    findings: Sequence[Finding],
    points: float,
    note: str = "",
    later: Later | None = None,
    more: Callable[[Finding], str] = lambda _: "",
) -> str:
    """The report for a notebook: the first failure is open, what passed is folded.

    note: a sentence above it all, for instance that the cell's last run failed. later: by check,
    the hints after its own, with a title each. more: HTML below the message of a failure.
    """
    if (only := only_message(findings)) is not None:
        rows = [f"<div>{mark(only.status)} {with_code(only.message)}</div>"]
    else:
        rows = _rows(groups_of(findings), later, more)
    head = f"<div><b>{html.escape(title)}</b> {_bar(findings, points)}</div>"
    above = f"<div>{with_code(note)}</div>" if note else ""
    return f'<div style="{CARD}">{head}{above}{"".join(rows)}</div>'


def _rows(
    groups: Sequence[Sequence[Finding]], later: Later | None, more: Callable[[Finding], str]
) -> list[str]:
    once = Once()
    open_ones = [group for group in groups if not group[0].passed]
    rows = [_open_group(group, once, later, more, i == 0) for i, group in enumerate(open_ones)]
    return rows + [_passed(group) for group in groups if group[0].passed]


def only_message(findings: Sequence[Finding]) -> Finding | None:
    """The only finding to show if claims would mislead: an answer is read, or cannot be read."""
    unread = [each for each in findings if each.status == "failed" and not each.share]
    is_read = len({(each.status, each.message) for each in findings}) == 1
    return next(iter(unread), findings[0] if is_read and findings[0].status == "read" else None)


def groups_of(findings: Sequence[Any]) -> list[list[Any]]:
    """Findings, or results on record, that name one mistake, together: it is reported once.

    A crash comes first, and what could not be judged comes last.
    """
    groups: dict[tuple[str, str], list[Any]] = {}
    for finding in findings:
        groups.setdefault((finding.status, mistake_of(finding)), []).append(finding)
    return sorted(groups.values(), key=lambda group: _rank(group[0]))


def _rank(finding: Any) -> int:
    return 0 if is_stop(finding) else 2 if finding.status == "unjudged" else 1


class Once:
    """Lets each sentence of a report pass once. A line and the indented ones below it are one."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, text: str) -> str:
        return "".join(part for part in SENTENCE.findall(text) if self._is_new(part)).strip()

    def _is_new(self, part: str) -> bool:
        sentence = part.strip()
        is_new = not sentence or sentence not in self._said
        self._said.add(sentence)
        return is_new


def message_lines(group: Sequence[Finding], once: Once) -> list[str]:
    """The sentences under the claims of a group."""
    first = max(group, key=lambda finding: finding.check.gate)  # of equals, it is the first
    if first.passed:
        return []
    is_missed_gate = first.check.gate and first.status == "failed" and not is_stop(first)
    said = once(first.message), once(GATE_SENTENCE) if is_missed_gate else ""
    return [text for text in said if text]


def not_judged(group: Sequence[Any]) -> str:
    """One line for claims, or results on record, that are not judged for one reason."""
    n, reason = len(group), group[0].message.removeprefix(NOT_JUDGED)
    return f"{n} check{' is' if n == 1 else 's are'} not judged: {reason}"


def hints_of(group: Sequence[Finding], once: Once) -> list[str]:
    """A hint comes after a try: what is not written yet has none."""
    hints = [once(each.check.hint) for each in group if each.status == "failed"]
    return [hint for hint in hints if hint]


def mark(status: str) -> str:
    """The sign of a status, with its word for screen readers."""
    sign = MARKS[status]
    return (
        f'<span role="img" aria-label="{sign.word}" style="background:{sign.color};color:#fff;'
        f'border-radius:3px;padding:0 .3em">{sign.sign}</span>'
    )


def with_code(text: str) -> str:
    """One paragraph of text as HTML, with `code` set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _later_of(group: Sequence[Finding], later: Later | None) -> Mapping[str, str]:
    """The later hints of the first check in a group that has some."""
    return next((found for each in group if (found := (later or {}).get(each.check.name))), {})


def _open_group(
    group: Sequence[Finding],
    once: Once,
    later: Later | None,
    more: Callable[[Finding], str],
    is_first: bool,
) -> str:
    status = group[0].status
    if status in ("todo", "read") and len(group) > 1:  # one line for all of them
        return f"<div>{mark(status)} {with_code(group[0].message)}</div>"
    if status == "unjudged":
        return _list(f"{mark(status)} {with_code(not_judged(group))}", group)
    claims = "<br>".join(f"{mark(status)} {with_code(each.check.claim)}" for each in group)
    hints = "".join(_folded(name, [said]) for name, said in _later_of(group, later).items())
    body = (
        '<div style="margin-left:1.6em;white-space:pre-line">'
        f"{with_code(chr(10).join(message_lines(group, once)))}"
        f"{_folded('hint', hints_of(group, once))}{hints}{more(group[0])}</div>"
    )
    if is_first or status != "failed":
        return f"<div>{claims}{body}</div>"
    return f"<details><summary>{claims}</summary>{body}</details>"


def _passed(group: Sequence[Finding]) -> str:
    claims = [finding.check.claim for finding in group]
    if len(claims) == 1:
        return f"<div>{mark('passed')} {with_code(claims[0])}</div>"
    return _list(f"{mark('passed')} {len(claims)} checks passed", group)


def _list(summary: str, group: Sequence[Finding]) -> str:
    """The claims of a group, folded under a sentence that holds for all of them."""
    items = "".join(f"<li>{with_code(finding.check.claim)}</li>" for finding in group)
    return f"<details><summary>{summary}</summary><ul>{items}</ul></details>"


def _folded(title: str, texts: Iterable[str]) -> str:
    inside = "<br>".join(with_code(text) for text in texts)
    return f"<details><summary>{title}</summary>{inside}</details>" if inside else ""


def _bar(findings: Sequence[Finding], points: float) -> str:
    share = sum(share_of_points(findings, points)) / points if points else 0
    return (
        '<span aria-hidden="true" style="display:inline-block;width:6em;height:.6em;'
        'border:1px solid currentColor;border-radius:3px">'
        f'<span style="display:block;width:{share:.0%};height:100%;background:#1a7f37"></span>'
        f"</span> {points_line(findings, points)}"
    )
