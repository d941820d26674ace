"""Questions about an answer that passes: which claim fails without one of its lines?

The key comes from the checks: they are played on the code after each small change. Nothing here
earns points.
"""

import html
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from copy import copy
from dataclasses import dataclass
from io import StringIO
from random import Random
from types import FrameType
from typing import Any
from warnings import catch_warnings, simplefilter

from labkit.bridge.local import local_student
from labkit.checks import card
from labkit.checks.core import RAISES, Check, Finding, play_check
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.unjudged import judged
from labkit.checks.why.changes import Change, left_out

CHANGED = "<changed>"  # what changed code has for a file
LIMIT_S = 2  # for all checks of an exercise together
MOST_TIMEOUTS = 3  # then the checks themselves are slow, and no question is looked for
MANY_WORDS = 2  # of the line that a claim has more than all others: it gives itself away
N_OTHERS = 3  # claims that hold, beside the one that fails
TRIVIAL = tuple(f"{RAISES} {kind}" for kind in ("NameError", "UnboundLocalError", "AttributeError"))


@dataclass(frozen=True, slots=True)
class Question:
    """Which of these claims fails after the change? right: the place of the one that does.

    finding: what its check says then.
    """

    change: Change
    claims: tuple[str, ...]
    right: int
    finding: Finding


def questions_of(
    changes: Sequence[Change],
    play: Callable[[str], Sequence[Finding]],
    seed: str = "",
    runs: Mapping[str, Container[int]] | None = None,
) -> Iterator[Question]:
    """A question for each change that has an interesting key: one about a line, and one without it.

    play(definition): what the checks find then; an exception, as TimeoutError, leaves the change
    out. runs: the lines that run in each check, by its name; if it is given, a claim whose check
    does not run the changed line is no option. seed: equal code gets equal claims with an equal
    seed.
    """
    n_left, asked_about = MOST_TIMEOUTS, set()
    for change in changes:
        place = change.line, not change.instead
        if change.says_itself or place in asked_about:
            continue
        try:
            findings = play(change.definition)
        except TimeoutError:
            n_left -= 1
            if not n_left:
                return
            continue
        except Exception:
            continue
        if runs is not None:
            findings = [each for each in findings if change.line in runs.get(each.check.name, ())]
        if (asked := question_in(change, findings, seed)) is not None:
            asked_about.add(place)
            yield asked


def question_in(change: Change, findings: Sequence[Finding], seed: str = "") -> Question | None:
    """The question about a change, by what the checks find then; None if its key is trivial.

    A key is trivial if nothing fails, if (nearly) all fails, if a name is missing, if all that
    fails is a crash, or if the claim that fails has more words of the line than all that hold.
    """
    failed = [each for each in findings if each.status == "failed"]
    wrong = [each for each in failed if not each.cause.startswith(RAISES)]
    held = [each.check.claim for each in findings if each.passed]
    if not wrong or len(held) < 2 or any(each.cause in TRIVIAL for each in failed):
        return None
    key, rng = wrong[0].check.claim, Random(seed + change.definition)
    words = _words(f"{change.text} {change.instead}")
    n_words = {each: len(words & _words(each)) for each in [key, *held]}
    alike = [each for each in held if n_words[each] > n_words[key] - MANY_WORDS]
    names = re.findall(r"\w*_\w+", change.text)
    if not alike or any(each in key and each not in " ".join(held) for each in names):
        return None
    first = rng.choice(alike)
    others = rng.sample([each for each in held if each != first], min(N_OTHERS, len(held)) - 1)
    claims = [key, first, *others]
    rng.shuffle(claims)
    return Question(change, tuple(claims), claims.index(key), wrong[0])


def _words(text: str) -> set[str]:
    """The beginnings of its longer words, those in names too."""
    return {each.lower()[:4] for each in re.findall("[A-Z]?[a-z]{3,}", text)}


@contextmanager
def noted_lines() -> Iterator[set[int]]:
    """The lines of changed code that run inside."""
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != CHANGED:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def runs_here(
    namespace: Mapping[str, Any], checks: Sequence[Check], cases: Sequence[Any], definition: str
) -> dict[str, set[int]]:
    """The lines of a definition that run in each check, played as `play_here` does."""
    runs: dict[str, set[int]] = {}
    for check in checks:
        with suppress(Exception), noted_lines() as lines:
            play_here(namespace, [check], cases)(definition)
            runs[check.name] = lines
    return runs


def play_here(
    namespace: Mapping[str, Any], checks: Sequence[Check], cases: Sequence[Any]
) -> Callable[[str], list[Finding]]:
    """play(definition) for a notebook's names: the visible cases, in this process.

    The names stay as they are, and so do their dicts, lists and sets. Other functions of the
    notebook call the unchanged one. Raises TimeoutError after LIMIT_S.
    """

    def play(definition: str) -> list[Finding]:
        names = {
            name: copy(value) if type(value) in (dict, list, set) else value
            for name, value in namespace.items()
        }
        try:
            with in_silence(), time_limit(LIMIT_S):
                exec(compile(definition, CHANGED, "exec"), names)
                student = local_student(names)
                return judged([play_check(check, student, cases) for check in checks])
        except TookTooLong:
            raise TimeoutError(f"the code ran for more than {LIMIT_S} s") from None

    return play


def passes(play: Callable[[str], Sequence[Finding]], definition: str) -> bool:
    """Whether all checks pass with this definition, in time."""
    try:
        return all(finding.passed for finding in play(definition))
    except Exception:
        return False


@dataclass(frozen=True, slots=True)
class Shown:
    """A question, or what is said of an answer, as a notebook shows it."""

    exercise: str
    sentence: str
    question: Question | None = None

    def __str__(self) -> str:
        if (asked := self.question) is None:
            return self.sentence
        code = [f"    {line}" for line in _code(asked.change).splitlines()]
        claims = [f"  {i}. {claim}" for i, claim in enumerate(asked.claims, 1)]
        return "\n".join([self.sentence, *code, *claims, self._how()])

    def _how(self) -> str:
        return f'Answer with its number, for instance check.why("{self.exercise}", 1).'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        rows = [f"<div>{card.with_code(self.sentence)}</div>"]
        if (asked := self.question) is not None:
            claims = "".join(f"<li>{card.with_code(claim)}</li>" for claim in asked.claims)
            rows += [f"<pre>{html.escape(_code(asked.change))}</pre>", f"<ol>{claims}</ol>"]
            rows += [f"<div>{html.escape(self._how())}</div>"]
        return {
            "text/plain": str(self),
            "text/html": f'<div style="{card.CARD}">{"".join(rows)}</div>',
        }


class Asked:
    """The questions about one definition: one at a time, each once."""

    def __init__(self, exercise: str, source: str, questions: Iterator[Question]) -> None:
        self.exercise, self.source = exercise, source
        self._questions, self._n = questions, 0
        self._open: Question | None = None

    def ask(self) -> Shown:
        """The open question, or the next one."""
        self._open = self._open or next(self._questions, None)
        if self._open is None:
            said = "No other line" if self._n else "No line"
            return Shown(
                self.exercise,
                f"{said} of `{self.exercise}` gives a question: after each change all claims "
                "hold, or hardly any does, or it is plain which one fails, or they take long.",
            )
        said = f"{left_out(self._open.change)} Then one of these claims fails. Which one?"
        return Shown(self.exercise, said, self._open)

    def answer(self, choice: int) -> Shown:
        """Whether claim number `choice` is the one that fails; then no question is open.

        Raises: ValueError for a number that no claim has.
        """
        if (asked := self._open) is None:
            return self.ask()
        if not (isinstance(choice, int) and 1 <= choice <= len(asked.claims)):
            raise ValueError(f"wanted a number from 1 to {len(asked.claims)}, got {choice!r}")
        self._open, self._n = None, self._n + 1
        verdict = "Right." if choice - 1 == asked.right else f"No, it is claim {asked.right + 1}."
        more = f'For another question, run check.why("{self.exercise}").'
        said = f"{verdict} Its check says: {asked.finding.message} {more}"
        return Shown(self.exercise, said)


@contextmanager
def in_silence() -> Iterator[None]:
    """What changed code prints or warns of is nothing that a reader asked for."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), catch_warnings():
        simplefilter("ignore")
        yield


def _code(change: Change) -> str:
    return f"{change.text}\n# changed to:\n{change.instead}" if change.instead else change.text
