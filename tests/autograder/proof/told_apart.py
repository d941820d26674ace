"""What the checks say of a lab's wrong answers: which are told apart, and what is said twice.

A wrong answer has messages of its own if no other wrong answer to the exercise gets the same ones,
numbers left out.
"""

import html
import re
from collections import Counter
from collections.abc import Sequence

from labkit.checks.card import SENTENCE, as_html
from labkit.checks.core import Finding
from tests.known import Mutant

TAG = re.compile(r"<[^>]*>")
NUMBERS = re.compile(r"[-+.,e\d]*\d")
Said = tuple[str, frozenset[tuple[str, str]]]


def said_of(mutant: Mutant, findings: Sequence[Finding]) -> Said:
    """The exercise, and each check that fails with its message, without numbers and cases."""
    failed = (finding for finding in findings if not finding.passed)
    told = ((each.check.name, each.message.partition(": ")[2]) for each in failed)
    return mutant.exercise, frozenset((name, NUMBERS.sub("#", text)) for name, text in told)


def not_told_apart(answers: Sequence[tuple[Mutant, Sequence[Finding]]]) -> list[Mutant]:
    """The wrong answers that get the same messages as another one."""
    said = [said_of(*answer) for answer in answers]
    counts = Counter(said)
    return [mutant for (mutant, _), each in zip(answers, said, strict=True) if counts[each] > 1]


def said_twice(findings: Sequence[Finding]) -> list[str]:
    """The sentences that a report of these findings shows more than once."""
    page = re.sub(r"</?code>|<br>", " ", as_html("", findings, 1))
    words = (html.unescape(each) for each in TAG.split(page))
    sentences = (" ".join(part.split()) for each in words for part in SENTENCE.findall(each))
    counts = Counter(each for each in sentences if each.endswith((".", "?", "!")))
    return [sentence for sentence, n in counts.items() if n > 1]
