"""What may become a question: a change of a definition, and how its key is computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from autograder.judging.asking.edits import Stop, Swap
from autograder.judging.asking.options import alike, neighbours
from autograder.judging.asking.sheet import CHANGE, LINE, SWAP, TRACE, Question
from autograder.judging.asking.stage import Exercise, Stage, shown
from labkit.checks.core import Finding
from labkit.checks.tables.calls import Call
from labkit.checks.why.asked import N_OTHERS, TRIVIAL, question_in, questions_of
from labkit.checks.why.changes import Change

N_OPTIONS = N_OTHERS + 1
WORDS = {LINE: "is left out: `pass` stands there", CHANGE: "is changed"}


class Candidate(Protocol):
    """A question that may be asked."""

    exercise: Exercise

    @property
    def line(self) -> int:
        """Where the change is."""

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The question, with its key from this stage; None if the key is trivial, or too long."""


@dataclass(frozen=True)
class BrokenClaim:
    """Without a line, or with one changed: which claim fails?"""

    exercise: Exercise
    change: Change

    @property
    def line(self) -> int:
        """As `Candidate.line`."""
        return self.change.line

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The question of `check.why`, with other claims for another seed."""

        def play(definition: str) -> list[Finding]:
            return stage.findings(self.exercise, definition, self._is_enough)

        asked = next(questions_of([self.change], play, seed), None)
        if asked is None:
            return None
        kind = CHANGE if self.change.instead else LINE
        return Question(
            self.exercise.name,
            kind,
            self.change.line,
            f"Line {self.change.line} {WORDS[kind]}. Then one of these claims fails. Which one?",
            asked.claims,
            asked.right,
            _code(self.change),
            f"Its check says: {asked.finding.message}",
        )

    def _is_enough(self, found: list[Finding]) -> bool:
        """Whether three claims hold and give a question."""
        is_full = sum(each.passed for each in found) >= N_OTHERS
        return is_full and question_in(self.change, found) is not None

    def about(self, question: Question) -> "BrokenClaim":
        """This with those checks alone whose claims are options."""
        checks = [each for each in self.exercise.checks if each.claim in question.options]
        return replace(self, exercise=replace(self.exercise, checks=checks))


@dataclass(frozen=True)
class OtherResult:
    """With one line changed: what does this call return? others: changes for wrong options."""

    exercise: Exercise
    change: Change
    others: tuple[Change, ...]

    @property
    def line(self) -> int:
        """As `Candidate.line`."""
        return self.change.line

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The first call whose result changes, and can be told from the others."""
        definitions = (each.definition for each in (self.change, *self.others))
        before = stage.returned(self.exercise, self.exercise.own)
        after, *others = (stage.returned(self.exercise, each) for each in definitions)
        code = _code(self.change)

        def question(call: Call, taken: Sequence[str]) -> Question:
            return Question(
                self.exercise.name,
                CHANGE,
                self.change.line,
                f"Line {self.change.line} is changed. "
                f"What does `{self.exercise.name}{call}` return then?",
                code=code,
                why=f"As it was handed in, the code returns {taken[0]}.",
            )

        return _of_calls(self.exercise, question, after, [[each] for each in before], others, seed)


@dataclass(frozen=True)
class Trace:
    """In a call: what is a variable after a line? others: stops that give wrong options."""

    exercise: Exercise
    stop: Stop
    others: tuple[Stop, ...]

    @property
    def line(self) -> int:
        """As `Candidate.line`."""
        return self.stop.line

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The first call that comes to the line with a value that can be told from the others."""
        right, *others = (
            stage.values(self.exercise, each.definition, each.mark)
            for each in (self.stop, *self.others)
        )
        calls = self.exercise.calls
        given = [[*map(shown, [*each.args, *each.kwargs.values()])] for each in calls]

        def question(call: Call, _: Sequence[str]) -> Question:
            return Question(
                self.exercise.name,
                TRACE,
                self.stop.line,
                f"Somebody calls `{self.exercise.name}{call}`. What is `{self.stop.variable}` when "
                f"line {self.stop.line} has run for the first time?",
            )

        return _of_calls(self.exercise, question, right, given, others, seed)


@dataclass(frozen=True)
class SwapOfLines:
    """After which swap of two lines do all checks still pass?"""

    exercise: Exercise
    swaps: tuple[Swap, ...]

    @property
    def line(self) -> int:
        """As `Candidate.line`, of the swap that does no harm."""
        return self.swaps[0].lines[0]

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """One swap without harm, beside swaps that fail a check and not by a missing name."""
        harmless, harmful = [], []
        for swap in self.swaps:
            found = stage.findings(self.exercise, swap.definition, _has_failed)
            failed = [each for each in found if each.status == "failed"]
            if all(each.passed for each in found):
                harmless.append(swap)
            elif failed and not any(each.cause in TRIVIAL for each in failed):
                harmful.append((swap, failed[0]))
        if len(harmless) != 1 or not harmful:
            return None
        question = Question(
            self.exercise.name,
            SWAP,
            harmless[0].lines[0],
            "Two lines change places. After which of these swaps do all checks still pass?",
            why="; ".join(f"{_said(swap)}: {found.message}" for swap, found in harmful),
        )
        wrong = [_said(swap) for swap, _ in harmful]
        return _with_options(question, _said(harmless[0]), wrong, seed, n_least=2)


def _of_calls(
    exercise: Exercise,
    question: Callable[[Call, Sequence[str]], Question],
    right: Sequence[str],
    taken: Sequence[Sequence[str]],
    others: Sequence[Sequence[str]],
    seed: str,
) -> Question | None:
    """The question about the first call whose right value can be told from the others.

    taken: by call, values that are wrong and would be guessed; the right one must be none of them.
    """
    for i, call in enumerate(exercise.calls):
        if right[i] and right[i] not in taken[i]:
            near = neighbours(right[i], Random(f"{seed}{call}"))
            wrong = alike(right[i], [*taken[i][:1], *(each[i] for each in others), *near])
            if asked := _with_options(question(call, taken[i]), right[i], wrong, seed):
                return asked
    return None


def _with_options(
    question: Question, right: str, wrong: Sequence[str], seed: str, n_least: int = 3
) -> Question | None:
    """The question with its options in some order; None if there are too few."""
    others = [each for each in dict.fromkeys(wrong) if each and each != right]
    options = [right, *others[: N_OPTIONS - 1]]
    if len(options) < n_least:
        return None
    Random(f"{seed}{question.sentence}").shuffle(options)
    return replace(question, options=tuple(options), right=options.index(right))


def _has_failed(found: Sequence[Finding]) -> bool:
    return found[-1].status == "failed"


def _said(swap: Swap) -> str:
    return f"lines {swap.lines[0]} and {swap.lines[1]}"


def _code(change: Change) -> str:
    text = change.text
    return f"{text}\n# changed to:\n{change.instead}" if change.instead else text
