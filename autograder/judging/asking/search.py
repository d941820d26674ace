"""Finding the questions of one sheet: which exercises and lines, and which keys hold.

A survey in the student's process proposes changes, and decides nothing. Keys are computed by the
checks from outside, in forks of a fresh process, and once more in forks of another. A question
whose key is not the same both times is dropped: code may count its calls, or read a clock.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from autograder.intake.read import Unreadable
from autograder.judging.asking.candidates import Candidate
from autograder.judging.asking.edits import is_askable
from autograder.judging.asking.proposed import Proposed
from autograder.judging.asking.sheet import Order, Question, Sheet
from autograder.judging.asking.stage import Exercise, Stage
from autograder.judging.control import ZygoteError
from autograder.judging.judge import Judge, Marked
from autograder.judging.session import Session
from labkit.checks.core import open_cases_of
from labkit.checks.why.changes import read_definition

N_QUESTIONS, N_SPARE = 6, 1
MOST_OF_ONE = 2  # questions about one exercise
MOST_TRIED = 4  # candidates of one exercise whose key is computed
SURVEY_S, SURVEY_EACH_S = 8.0, 2.0  # of the student's time: for all exercises; for each
SEARCH_S = 10.0  # to compute keys; counts end honest searches, so they find the same again
LEAST_LIMIT_S, LIMIT_SHARE = 0.2, 4  # of a play: at least, and times what it takes unchanged
MOST_OVERRUNS = 2
MOST_CALLS = 4  # of an exercise, that are asked about
Kept = tuple[Candidate, Question]


def sheet_of(judge: Judge, order: Order) -> Sheet:
    """The questions about a submission. Raises: ZygoteError."""
    started = time.perf_counter()
    try:
        session, marked = judge.rehearse(order.submission)
    except Unreadable as unreadable:
        return Sheet(problem=f"the file cannot be read: {unreadable}")
    try:
        search = Search(session, marked, order, judge.topic)
        questions = search.questions()
    finally:
        session.close()
    asked = {each.exercise for each in questions}
    code = [(name, text) for name, text in search.code.items() if name in asked]
    took_s = round(time.perf_counter() - started, 3)
    return Sheet(tuple(questions), tuple(code), took_s)


class Search:
    """The search for the questions of one submission. code: what they are about, by exercise."""

    def __init__(
        self, session: Session, marked: Sequence[Marked], order: Order, topic: str
    ) -> None:
        self._session, self._marked, self._order = session, marked, order
        self._topic, self._stage = topic, Stage(session)
        self._random = Random(order.seed)
        self._end_s = 0.0
        self.code: dict[str, str] = {}

    def questions(self) -> list[Question]:
        """Those whose key is the same in two fresh processes, in the order of the notebook."""
        proposed = sorted(self._surveyed(), key=lambda one: not one[1].changes)
        kept = self._with_keys(proposed) if self._is_fresh() else []
        left = [one for one in kept if self._holds(*one)] if kept and self._is_fresh() else []
        chosen = [question for _, question in left[:N_QUESTIONS]]
        places = {one.exercise: i for i, one in enumerate(self._marked)}
        return sorted(chosen, key=lambda each: (places[each.exercise], each.line))

    def _is_fresh(self) -> bool:
        """Start a fresh process with a stage of its own; whether it is there."""
        self._stage = Stage(self._session)
        return self._session.start_again()

    def _set_end(self, budget_s: float) -> None:
        self._end_s = self._session.spent_s + budget_s

    @property
    def _is_over(self) -> bool:
        return not self._session.lives or self._session.spent_s > self._end_s

    def _surveyed(self) -> Iterator[tuple[Exercise, Proposed]]:
        """What passed and can be asked about, in an order of the student's own, and with what."""
        by_name = {one.exercise: one for one in self._marked}
        names = [name for name in self._order.green if name in by_name]
        self._random.shuffle(names)
        open_cases = open_cases_of(self._topic)
        self._set_end(SURVEY_S)
        n_exercises = 0
        for name in names:
            source = self._session.text_of(name)
            if self._is_over:
                return
            if not is_askable(source, name):
                continue
            exercise = Exercise(name, source, by_name[name].checks, open_cases[name])
            proposed = Proposed.of(exercise, self._random)
            signs = self._signs(exercise, [each.definition for each in proposed.played])
            if not signs or signs[0].strip("p"):
                continue
            told = proposed.told(signs[1:])
            n_exercises += bool(told.changes)
            yield exercise, told
            if n_exercises * MOST_OF_ONE >= N_QUESTIONS + N_SPARE:
                return

    def _signs(self, exercise: Exercise, definitions: Sequence[str]) -> list[str]:
        """What the survey says of each definition; nothing if it says nothing, or nonsense."""
        played = [exercise.own, *definitions]
        try:
            return self._session.survey(self._topic, exercise.name, played, SURVEY_EACH_S)
        except ZygoteError:
            raise
        except Exception:
            return []

    def _with_keys(self, proposed: Sequence[tuple[Exercise, Proposed]]) -> list[Kept]:
        """Questions with a key, a few about each exercise, until there are enough."""
        kept: list[Kept] = []
        self._set_end(SEARCH_S)
        for exercise, changes in proposed:
            if self._is_over or len(kept) >= N_QUESTIONS + N_SPARE:
                break
            if rehearsed := self._rehearsed(exercise):
                self.code[exercise.name] = _numbered(exercise.source, exercise.name)
                kept += self._asked(changes.candidates(rehearsed, self._random))
        return kept

    def _asked(self, candidates: Sequence[Candidate]) -> Iterator[Kept]:
        """Up to a few questions, of different kinds and lines if possible."""
        n_found, used = 0, set()
        for candidate in candidates[:MOST_TRIED]:
            is_stuck = self._stage.overruns[candidate.exercise.name] >= MOST_OVERRUNS
            if self._is_over or is_stuck or n_found == MOST_OF_ONE:
                return
            question = self._tried(candidate)
            if question and (question.kind, question.line) not in used:
                used.add((question.kind, question.line))
                n_found += 1
                yield candidate, question

    def _tried(self, candidate: Candidate) -> Question | None:
        try:
            return candidate.ask(self._stage, self._order.seed)
        except ZygoteError:
            raise
        except Exception:
            return None

    def _holds(self, candidate: Candidate, question: Question) -> bool:
        again = self._tried(candidate)
        return again is not None and again.key == question.key

    def _rehearsed(self, exercise: Exercise) -> Exercise | None:
        """The exercise with its calls and a limit; None if it does not pass alone."""
        before_s = self._session.spent_s
        try:
            found, calls = self._stage.rehearse(exercise)
        except ZygoteError:
            raise
        except Exception:
            return None
        if not all(each.passed for each in found):
            return None
        limit_s = max(LEAST_LIMIT_S, LIMIT_SHARE * (self._session.spent_s - before_s))
        return replace(exercise, calls=tuple(calls[:MOST_CALLS]), limit_s=limit_s)


def _numbered(source: str, name: str) -> str:
    """The definition as it is printed, with the numbers of the lines of its cell."""
    found, lines = read_definition(source, name)
    first = min([found.lineno, *(each.lineno for each in found.decorator_list)]) if found else 1
    return "\n".join(f"{i:>3}  {line}" for i, line in enumerate(lines[first - 1 :], first))
