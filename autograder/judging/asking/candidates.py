"""What may become a question: a change of a definition, and how its key is computed."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Any, Protocol

from autograder.judging.asking.edits import TIMES, Spot, Swap, noted
from autograder.judging.asking.options import alike, crossed, neighbours
from autograder.judging.asking.plays import Play
from autograder.judging.asking.sheet import CHANGE, LINE, SWAP, TRACE, Question
from autograder.judging.asking.stage import Exercise, Stage
from labkit.checks.core import Finding
from labkit.checks.why.asked import N_OTHERS, TRIVIAL, question_in, questions_of
from labkit.checks.why.changes import Change

N_OPTIONS = N_OTHERS + 1
LONG = re.compile(r"\.\d{5}|\de[-+]")


class Candidate(Protocol):
    """A question that may be asked."""

    exercise: Exercise

    @property
    def place(self) -> tuple[str, int, str]:
        """The kind of the question, the line, and its part: one is asked about each place."""

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The question, with its key from this stage; None if the key is trivial, or too long."""


@dataclass(frozen=True)
class OfAChange:
    """About one change of a definition."""

    exercise: Exercise
    change: Change | Swap

    @property
    def place(self) -> tuple[str, int, str]:
        """As `Candidate.place`."""
        part = "".join(self.change.slip[:1]) if isinstance(self.change, Change) else "swap"
        return CHANGE if part else LINE, self.change.line, part

    def question(self, sentence: str, **more: Any) -> Question:
        """A question that begins with what is changed, and does not quote the line."""
        said = f"{_said(self.exercise, self.change)} {sentence}"
        return Question(self.exercise.name, *self.place[:2], said, edit=_edit(self.change), **more)


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
        question = self.question(
            "Then one of these claims fails. Which one?",
            why=f"Its check says: {asked.finding.message}",
        )
        return replace(question, options=asked.claims, right=asked.right)

    def _is_enough(self, found: list[Finding]) -> bool:
        """Whether three claims hold and give a question."""
        is_full = sum(each.passed for each in found) >= N_OTHERS
        return is_full and question_in(self.change, found) is not None

    def about(self, question: Question) -> "BrokenClaim":
        """This with those checks alone whose claims are options."""
        checks = [each for each in self.exercise.checks if each.claim in question.options]
        return replace(self, exercise=replace(self.exercise, checks=checks))


@dataclass(frozen=True)
class OfResults(OfAChange, ABC):
    """About the results of plays, before a change and after it."""

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """The question, if this change runs here as it did among the slips."""
        own = self.exercise
        before = [run.result for run in stage.runs(own, own.noted[1])]
        promised = next((runs for each, runs in own.slips if each is self.change), [])
        if not promised or not self._about(before, [run.result for run in promised], seed):
            return None
        after = stage.runs(own, noted(self.change.definition, own.name)[1])
        return self._about(before, [run.result for run in after], seed)

    @abstractmethod
    def _about(self, before: Sequence[str], after: Sequence[str], seed: str) -> Question | None:
        """The question about these results."""


@dataclass(frozen=True)
class OtherResult(OfResults):
    """With a slip: what does a play give?"""

    def _about(self, before: Sequence[str], after: Sequence[str], seed: str) -> Question | None:
        """About the first play whose result changes, and can be told from the others."""
        own = self.exercise
        for i, play in enumerate(own.plays):
            if not after[i] or after[i] == before[i]:
                continue
            question = self.question(
                _asked(play, "What is the value of {} then?"),
                code=play.text if play.lines else "",
                why=f"As it was handed in, the code gives {before[i]}.",
            )
            slips = {runs[i].result: _said(own, each) for each, runs in own.slips
                     if each is not self.change and runs[i].result != before[i]}  # fmt: skip
            first, rest = {before[i]: "The change is overlooked."}, [*before, *after]
            if asked := _with_values(question, after[i], first | slips, rest, seed):
                return asked
        return None


@dataclass(frozen=True)
class SameResult(OfResults):
    """Without a line: which one of several calls still gives what it gave, or does not?"""

    def _about(self, before: Sequence[str], after: Sequence[str], seed: str) -> Question | None:
        """One call of one kind, beside three of the other."""
        pairs = [pair for pair in zip(self.exercise.plays, before, after, strict=True) if pair[1]]
        same = [play.result for play, one, other in pairs if one == other]
        other = [play.result for play, one, other in pairs if one != other]
        few, many = sorted([same, other], key=len)
        if not few or len(many) < N_OPTIONS - 1:
            return None
        what = "the same result as before" if few is same else "another result than before"
        question = self.question(
            f"Which of these calls gives {what} the change?",
            why="The lines run in some of these calls alone, or change nothing there.",
        )
        return _with_options(question, few[0], many, seed)


@dataclass(frozen=True)
class Trace:
    """In a play: what is a variable after a line, for the first or a later time?"""

    exercise: Exercise
    spot: Spot

    @property
    def place(self) -> tuple[str, int, str]:
        """As `Candidate.place`."""
        return TRACE, self.spot.line, self.spot.variable

    def ask(self, stage: Stage, seed: str) -> Question | None:
        """About a value that is not that of the first time, if there is one.

        Not about one that stands in the play and never changes, or is the same in all plays.
        """
        runs = stage.runs(self.exercise, self.exercise.noted[1])
        key = self.spot.line, self.spot.variable
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
            is_literal |= not right.isalnum() and right in play.text
            if not right or right in play.given or is_literal:
                continue
            begin = "The lines below run." if play.lines else "Somebody calls {}."
            role = self.exercise.roles.get(self.spot.line, "the line")
            place = f"{role} (line {self.spot.line})"
            time = f" for the {TIMES[turn]} time" if len(values[i]) > 1 else ""
            question = Question(
                self.exercise.name,
                *self.place[:2],
                f"{_asked(play, begin)} Stop when {place} has finished{time}. "
                f"What is `{self.spot.variable}` at that moment?",
                code=play.text if play.lines else "",
            )
            slips = {
                each.notes[key][turn]: _said(self.exercise, slip)
                for slip, each in ((slip, each[i]) for slip, each in self.exercise.slips)
                if len(each.notes.get(key, ())) > turn
            }
            near = [each for each in values[i] if each != right]
            others = [each for one in runs[i].notes.values() for each in one]
            rest = [*(each for one in values for each in one), *others]
            rng.shuffle(near)
            rng.shuffle(rest)
            rest = [*near, *play.given, *rest]
            if asked := _with_values(question, right, slips, rest, seed):
                return asked
        return None


@dataclass(frozen=True)
class SwapOfLines:
    """After which swap of two lines do all checks still pass, or does one fail?"""

    exercise: Exercise
    swaps: tuple[Swap, ...]

    @property
    def place(self) -> tuple[str, int, str]:
        """As `Candidate.place`, of the first swap."""
        return SWAP, self.swaps[0].line, ""

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
        good, bad = [*map(self._place, harmless)], [self._place(swap) for swap, _ in harmful]
        few, many = (good, bad) if len(bad) >= len(good) else (bad, good)
        if not few:
            return None
        what = "do all checks still pass" if few is good else "does a check fail"
        question = Question(
            self.exercise.name,
            *self.place[:2],
            f"Two lines change places. After which of these swaps {what}?",
            why="; ".join(f"{_edit(swap)}: {found.message}" for swap, found in harmful),
        )
        return _with_options(question, few[0], many, seed)

    def _place(self, swap: Swap) -> str:
        one, other = (self.exercise.roles.get(line, "").replace("`", "") for line in swap.lines)
        return f"{_edit(swap)}: {one}, and {other}"


def _with_values(
    question: Question, right: str, slips: Mapping[str, str], rest: Sequence[str], seed: str
) -> Question | None:
    """The question with what slips give, then with other values of the form of the right one.

    None for a fraction that nobody works out without a calculator.
    """
    if LONG.search(right):
        return None
    rng = Random(f"{seed}{question.sentence}")
    named = [each for each in dict.fromkeys(alike(right, [*slips])) if each not in ("", right)]
    first, *others = named or [""]
    others = [first, *rng.sample(others, len(others))]
    options = [each for each in dict.fromkeys(alike(right, [*others, *rest])) if each != right]
    near = [each for one in rng.sample([right, *options], len(options) + 1)
            for each in neighbours(one, rng)]  # fmt: skip
    asked = _with_options(question, right, crossed(right, [*options, *near]), seed)
    said = [f"{each}: {slips[each]}" for each in (asked.options if asked else ())
            if each != right and each in slips]  # fmt: skip
    return asked and replace(asked, why=" ".join([asked.why, *said]).strip())


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


def _said(exercise: Exercise, edit: Change | Swap) -> str:
    """What is changed, in a sentence that names lines by what they do."""
    roles = [exercise.roles.get(line, "the line") for line in getattr(edit, "lines", [edit.line])]
    if isinstance(edit, Swap):
        both = " and ".join(
            f"{role} (line {line})" for role, line in zip(roles, edit.lines, strict=True)
        )
        return f"{both[0].upper()}{both[1:]} change places."
    if edit.instead:
        old, new = edit.slip
        named = re.search(rf"([\w.]+\[-?|\w+=-?|-){re.escape(old)}(?!\w)\]?", edit.text)
        if old.isdigit() and named:  # a number, with what it is an index or argument of
            old, new = named[0], named[1] + new + named[0][len(named[1] + old) :]
        return f"In {roles[0]} (line {edit.line}), `{old}` becomes `{new}`."
    n_more = edit.text.count("\n")
    place = f"lines {edit.line} to {edit.line + n_more}" if n_more else f"line {edit.line}"
    return f"{roles[0][0].upper()}{roles[0][1:]} ({place}) is replaced by `pass`."


def _edit(edit: Change | Swap) -> str:
    """What is changed, as the TA sees it."""
    if isinstance(edit, Swap):
        return f"lines {edit.lines[0]} and {edit.lines[1]}"
    return f"{edit.text}\n# changed to:\n{edit.instead}" if edit.instead else edit.text


def _asked(play: Play, words: str) -> str:
    """The words with the call, or with what stands for the lines that are shown."""
    return words.format("the last line" if play.lines else f"`{play.result}`")
