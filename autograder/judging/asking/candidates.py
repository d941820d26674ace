"""What may become a question: a change of a definition, and how its key is computed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Protocol

from autograder.judging.asking.edits import Spot, Swap
from autograder.judging.asking.options import alike, neighbours
from autograder.judging.asking.plays import Play
from autograder.judging.asking.sheet import CHANGE, LINE, SWAP, TRACE, Question
from autograder.judging.asking.stage import Exercise, Stage
from labkit.checks.core import Finding
from labkit.checks.why.asked import N_OTHERS, TRIVIAL, question_in, questions_of
from labkit.checks.why.changes import Change, left_out

N_OPTIONS = N_OTHERS + 1
LONG = re.compile(r"\.\d{5}|\de[-+]")
TIMES = ("first", "second", "third", "fourth")


class Candidate(Protocol):
    """A question that may be asked."""

    exercise: Exercise

    @property
    def line(self) -> int:
        """Where the change is."""

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The question, with its key from this stage; None if the key is trivial, or too long."""


@dataclass(frozen=True)
class OfAChange:
    """About one change of a definition."""

    exercise: Exercise
    change: Change

    @property
    def line(self) -> int:
        """As `Candidate.line`."""
        return self.change.line


@dataclass(frozen=True)
class BrokenClaim(OfAChange):
    """Without a line, or with one changed: which claim fails?"""

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The question of `check.why`, with other claims for another seed."""

        def play(definition: str) -> list[Finding]:
            return stage.findings(self.exercise, definition, self._is_enough)

        asked = next(questions_of([self.change], play, seed), None)
        if asked is None or len(asked.claims) < N_OPTIONS:
            return None
        kind = CHANGE if self.change.instead else LINE
        return Question(
            self.exercise.name,
            kind,
            self.change.line,
            f"{left_out(self.change)} Then one of these claims fails. Which one?",
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
class OtherResult(OfAChange):
    """With one line changed: what does a play give? others: changes for wrong options."""

    others: tuple[Change, ...]

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """About the first play whose result changes, and can be told from the others."""
        before, after, *others = (
            [run.result for run in stage.runs(self.exercise, each)]
            for each in (
                self.exercise.own,
                *(one.definition for one in (self.change, *self.others)),
            )
        )
        for i, play in enumerate(self.exercise.plays):
            if not after[i] or after[i] == before[i]:
                continue
            question = Question(
                self.exercise.name,
                CHANGE,
                self.line,
                f"Line {self.line} is changed. {_asked(play, 'What does {} give then?')}",
                code=_code(self.change, play),
                why=f"As it was handed in, the code gives {before[i]}.",
            )
            wrong = [before[i], *(each[i] for each in others), *before, *after]
            if asked := _with_values(question, after[i], wrong, seed):
                return asked
        return None


@dataclass(frozen=True)
class SameResult(OfAChange):
    """Without a line: which one of several calls still gives what it gave, or does not?"""

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """One call of one kind, beside three of the other."""
        plays = self.exercise.plays
        definitions = self.exercise.own, self.change.definition
        before, after = (stage.runs(self.exercise, each) for each in definitions)
        pairs = [pair for pair in zip(plays, before, after, strict=True)
                 if pair[1].result and not pair[0].lines]  # fmt: skip
        same = [play.result for play, one, other in pairs if one.result == other.result]
        other = [play.result for play, one, other in pairs if one.result != other.result]
        few, many = sorted([same, other], key=len)
        if not few or len(many) < N_OPTIONS - 1:
            return None
        what = "still gives what it gave before" if few is same else "does not give that any more"
        question = Question(
            self.exercise.name,
            LINE,
            self.line,
            f"{left_out(self.change)} Which of these calls {what}?",
            code=self.change.text,
            why="The lines run in some of these calls alone, or change nothing there.",
        )
        return _with_options(question, few[0], many, seed)


@dataclass(frozen=True)
class Trace:
    """In a play: what is a variable after a line, for the first or a later time?"""

    exercise: Exercise
    spot: Spot

    @property
    def line(self) -> int:
        """As `Candidate.line`."""
        return self.spot.line

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """About a value that is not that of the first time, if there is one.

        Not about one that stands in the play and never changes, or is the same in all plays.
        """
        runs, key = (
            stage.runs(self.exercise, self.exercise.noted[1]),
            (self.line, self.spot.variable),
        )
        rng = Random(f"{seed} {key}")
        values = [run.notes.get(key, ()) for run in runs]
        if len({*chain(*values)}) < 2:
            return None
        turns = [
            (i, turn) for i, each in enumerate(values) for turn in range(min(len(each), len(TIMES)))
        ]
        rng.shuffle(turns)
        turns.sort(key=lambda at: values[at[0]][at[1]] == values[at[0]][0])
        for i, turn in turns:
            play, right = self.exercise.plays[i], values[i][turn]
            is_literal = len({*values[i]}) == 1 and right in re.findall(r"\w+", play.text)
            if not right or right in play.given or is_literal:
                continue
            begin = "These lines run." if play.lines else "Somebody calls {}."
            question = Question(
                self.exercise.name,
                TRACE,
                self.line,
                f"{_asked(play, begin)} What is `{self.spot.variable}` when line {self.line} has "
                f"run for the {TIMES[turn]} time?",
                code=_code(None, play),
            )
            near = [each for each in values[i] if each != right]
            others = [each for one in runs[i].notes.values() for each in one]
            rest = [*(each for one in values for each in one), *others]
            rng.shuffle(near)
            rng.shuffle(rest)
            if asked := _with_values(question, right, [*near, *play.given, *rest], seed):
                return asked
        return None


@dataclass(frozen=True)
class SwapOfLines:
    """After which swap of two lines do all checks still pass, or does one fail?"""

    exercise: Exercise
    swaps: tuple[Swap, ...]

    @property
    def line(self) -> int:
        """As `Candidate.line`, of the first swap."""
        return self.swaps[0].lines[0]

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """One swap without harm beside swaps that fail a check, and not by a missing name; or one
        that does, beside others without harm.
        """
        harmless, harmful = [], []
        for swap in self.swaps:
            found = stage.findings(self.exercise, swap.definition, _has_failed)
            failed = [each for each in found if each.status == "failed"]
            if all(each.passed for each in found):
                harmless.append(swap)
            elif failed and not any(each.cause in TRIVIAL for each in failed):
                harmful.append((swap, failed[0]))
        good, bad = [*map(_said, harmless)], [_said(swap) for swap, _ in harmful]
        few, many = (good, bad) if len(bad) >= len(good) else (bad, good)
        if not few:
            return None
        what = "do all checks still pass" if few is good else "does a check fail"
        question = Question(
            self.exercise.name,
            SWAP,
            self.line,
            f"Two lines change places. After which of these swaps {what}?",
            why="; ".join(f"{_said(swap)}: {found.message}" for swap, found in harmful),
        )
        return _with_options(question, few[0], many, seed)


def _with_values(
    question: Question, right: str, wrong: Sequence[str], seed: str
) -> Question | None:
    """The question with values of the form of the right one, and near one of them.

    None for a fraction that nobody works out without a calculator.
    """
    if LONG.search(right):
        return None
    rng = Random(f"{seed}{question.sentence}")
    options = [*dict.fromkeys(alike(right, [right, *wrong]))]
    near = [each for one in rng.sample(options, len(options)) for each in neighbours(one, rng)]
    return _with_options(question, right, [*options[:N_OPTIONS], *near], seed)


def _with_options(
    question: Question, right: str, wrong: Sequence[str], seed: str
) -> Question | None:
    """The question with its options in some order; None if there are too few."""
    others = [each for each in dict.fromkeys(wrong) if each and each != right]
    options = [right, *others[: N_OPTIONS - 1]]
    if len(options) < N_OPTIONS:
        return None
    Random(f"{seed}{question.sentence}{question.code}").shuffle(options)
    return replace(question, options=tuple(options), right=options.index(right))


def _has_failed(found: Sequence[Finding]) -> bool:
    return found[-1].status == "failed"


def _said(swap: Swap) -> str:
    return f"lines {swap.lines[0]} and {swap.lines[1]}"


def _asked(play: Play, words: str) -> str:
    """The words with the call, or with what stands for the lines that are shown."""
    return words.format("the last line" if play.lines else f"`{play.result}`")


def _code(change: Change | None, play: Play | None = None) -> str:
    shown = [] if change is None else [change.text]
    if change is not None and change.instead:
        shown.append(f"# changed to:\n{change.instead}")
    if play is not None and play.lines:
        shown.append(play.text if change is None else f"# what is run then:\n{play.text}")
    return "\n".join(shown)
