"""Questions about an answer that passes: which claim fails without one of its lines?

The key comes from the checks: they are played on the code after each small change. Nothing here
earns points.
"""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import copy
from dataclasses import dataclass
from io import StringIO
from random import Random
from typing import Any
from warnings import catch_warnings, simplefilter

from labkit.bridge.local import local_student
from labkit.checks import card
from labkit.checks.core import RAISES, Check, Finding, play_check
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.unjudged import judged
from labkit.checks.why.changes import Change

LIMIT_S = 2  # for all checks of an exercise together
MOST_TIMEOUTS = 3  # then the checks themselves are slow, and no question is looked for
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
    changes: Sequence[Change], play: Callable[[str], Sequence[Finding]], seed: str = ""
) -> Iterator[Question]:
    """A question for each change that has an interesting key.

    play(definition): what the checks find then; an exception, as TimeoutError, leaves the change
    out. A key is not interesting if nothing fails, if (nearly) all fails, or if a name is missing.
    seed: equal code gets equal claims with an equal seed.
    """
    n_left = MOST_TIMEOUTS
    for change in changes:
        try:
            findings = play(change.definition)
        except TimeoutError:
            n_left -= 1
            if not n_left:
                return
            continue
        except Exception:
            continue
        failed = [each for each in findings if each.status == "failed"]
        held = [each.check.claim for each in findings if each.passed]
        if not failed or len(held) < 2 or any(each.cause in TRIVIAL for each in failed):
            continue
        rng = Random(seed + change.definition)
        claims = [failed[0].check.claim, *rng.sample(held, min(N_OTHERS, len(held)))]
        rng.shuffle(claims)
        right = claims.index(failed[0].check.claim)
        yield Question(change, tuple(claims), right, failed[0])


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
                exec(compile(definition, "<without a line>", "exec"), names)
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
                "hold, or hardly any does, or they take long.",
            )
        line, is_cut = self._open.change.line, not self._open.change.instead
        what = f"Without line {line} of your cell" if is_cut else f"With line {line} changed"
        said = f"{what}, one of these claims fails. Which one?"
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
