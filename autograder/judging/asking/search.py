"""Finding the questions of one sheet: which exercises and lines, and which keys hold.

A survey in a fork of the student's process proposes changes, and decides nothing. Keys are computed
by the checks from outside, in other forks, and once more in forks of a fresh process. A question
whose key is not the same both times is dropped: code may count its calls, or read a clock. The
second time plays the hidden cases: a claim that holds in the open alone is no wrong option.

As many keys are computed as questions are wanted; if one is dropped, the search goes on. Counts and
fixed lists end it, so that a busy machine finds the same questions. The limits in seconds are for
code that does not end.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from autograder.intake.read import Unreadable
from autograder.judging.asking.candidates import BrokenClaim, Candidate
from autograder.judging.asking.edits import Swap, is_askable
from autograder.judging.asking.proposed import Proposed
from autograder.judging.asking.sheet import Order, Question, Sheet
from autograder.judging.asking.stage import Exercise, Stage
from autograder.judging.control import ZygoteError
from autograder.judging.judge import Judge, Marked
from autograder.judging.session import Session
from labkit.checks.core import open_cases_of
from labkit.checks.why.changes import Change, read_definition

N_QUESTIONS, ENOUGH = 6, 4  # wanted; with so many, the slowest exercises are left out
MOST_OF_ONE = 2  # questions about one exercise at a time
MOST_TRIED = 8  # candidates of one exercise whose key is computed
MOST_PLAYED, MOST_PLAYED_IF_SLOW = 16, 4  # changes of an exercise that the survey plays
SURVEY_EACH_S, SEARCH_S = 6.0, 20.0  # of the student's time
LEAST_LIMIT_S, LIMIT_SHARE = 1.0, 8  # of a play: at least, and times what it takes unchanged
MOST_OVERRUNS = 2
MOST_CALLS = 4  # of an exercise, that are asked about
FEW = 3  # exercises: of so few, slow ones are asked about as others are
# What one play of all checks takes, on the answers of the kit: 0.2 to 0.4 s, and more.
SLOW = frozenset(
    "PrefillLoop Scheduler PagedCache RingCache forward_cached flash_attention_2".split()
)
SLOWEST = frozenset(
    "DecodeLoop autoregressive count_operations flash_attention_1 speculative verify_batch "
    "verify_tree".split()
)
Kept = tuple[Candidate, Question]


def sheet_of(judge: Judge, order: Order) -> Sheet:
    """The questions about a submission. Raises: ZygoteError."""
    started_s = time.process_time()
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
    took_s = session.spent_s + time.process_time() - started_s - session.ours_s
    return Sheet(tuple(questions), tuple(code), round(took_s, 3))


class Search:
    """The search for the questions of one submission. code: what they are about, by exercise."""

    def __init__(
        self, session: Session, marked: Sequence[Marked], order: Order, topic: str
    ) -> None:
        self._session, self._marked, self._order = session, marked, order
        self._topic, self._stage = topic, Stage(session)
        self._hidden = {one.exercise: one.cases for one in marked}
        self._end_s = session.spent_s + SEARCH_S
        self.code: dict[str, str] = {}

    def questions(self) -> list[Question]:
        """Those whose key is the same in two processes, in the order of the notebook."""
        chosen: list[Question] = []
        found = self._found()
        while kept := [*islice(found, N_QUESTIONS - len(chosen))]:
            if not self._is_fresh():
                break
            chosen += [question for one, question in kept if self._holds(one, question)]
        places = {one.exercise: i for i, one in enumerate(self._marked)}
        return sorted(chosen, key=lambda each: (places[each.exercise], each.line))

    def _is_fresh(self) -> bool:
        """Start a fresh process with a stage of its own; whether it is there."""
        self._stage = Stage(self._session)
        return self._session.start_again()

    @property
    def _is_over(self) -> bool:
        return not self._session.lives or self._session.spent_s > self._end_s

    def _found(self) -> Iterator[Kept]:
        """Questions with a key: a few about each exercise, then more, and then about slow ones."""
        known = {one.exercise for one in self._marked}
        names = [name for name in self._order.green if name in known]
        Random(self._order.seed).shuffle(names)
        n_found = 0
        for part in in_order(names):
            asked = [name for name in part if name not in SLOWEST or n_found < ENOUGH]
            for one in self._found_in(asked):
                n_found += 1
                yield one

    def _found_in(self, names: Sequence[str]) -> Iterator[Kept]:
        """Questions about these exercises: a few about each, then more."""
        begun = []
        for one in self._surveyed(names):
            begun.append(self._with_keys(*one))
            yield from islice(begun[-1], MOST_OF_ONE)
        for questions in begun:
            yield from islice(questions, MOST_OF_ONE)

    def _surveyed(self, names: Sequence[str]) -> Iterator[tuple[Exercise, Proposed]]:
        """What can be asked about of these exercises, and with what."""
        by_name = {one.exercise: one for one in self._marked}
        open_cases = open_cases_of(self._topic)
        for name in names:
            source = self._session.text_of(name)
            if self._is_over:
                return
            if not is_askable(source, name):
                continue
            exercise = Exercise(name, source, by_name[name].checks, open_cases[name])
            n_played = MOST_PLAYED_IF_SLOW if name in SLOW | SLOWEST else MOST_PLAYED
            proposed = Proposed.of(exercise, self._random_of(exercise), n_played)
            signs, runs = self._survey(exercise, proposed.played)
            if signs and not signs[0].strip("p") and len(runs) == len(exercise.checks):
                yield exercise, proposed.told(signs[1:], runs)

    def _random_of(self, exercise: Exercise) -> Random:
        """What one exercise is asked depends on no other one."""
        return Random(f"{self._order.seed} {exercise.name}")

    def _survey(
        self, exercise: Exercise, played: Sequence[Change | Swap]
    ) -> tuple[list[str], list[list]]:
        """What the survey says of the definitions; nothing if it says nothing, or nonsense."""
        asked = [(exercise.own, 0, ""), *map(_as_asked, played)]
        try:
            return self._session.survey(self._topic, exercise.name, asked, SURVEY_EACH_S)
        except ZygoteError:
            raise
        except Exception:
            return [], []

    def _with_keys(self, exercise: Exercise, proposed: Proposed) -> Iterator[Kept]:
        """A few questions about one exercise."""
        rehearsed = None if self._is_over else self._rehearsed(exercise)
        if rehearsed is None:
            return
        self.code[exercise.name] = _numbered(exercise.source, exercise.name)
        candidates = proposed.candidates(rehearsed, self._random_of(exercise))
        if exercise.name in SLOW | SLOWEST and len(self._order.green) > FEW:
            yield from self._asked(candidates[: MOST_TRIED // 2], 1)
        else:
            yield from self._asked(candidates[:MOST_TRIED], 2 * MOST_OF_ONE)

    def _asked(self, candidates: Sequence[Candidate], n_most: int) -> Iterator[Kept]:
        """Up to so many questions, of different kinds or lines, and of other lines if possible."""
        n_found, used, left = 0, set(), [*candidates]
        while left:
            lines = {line for _, line in used}
            candidate = next((each for each in left if each.line not in lines), left[0])
            left.remove(candidate)
            is_stuck = self._stage.overruns[candidate.exercise.name] >= MOST_OVERRUNS
            if self._is_over or is_stuck or n_found == n_most:
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
        """Whether the key is the same again, and on the hidden cases."""
        cases = self._hidden[candidate.exercise.name]
        again = candidate.about(question) if isinstance(candidate, BrokenClaim) else candidate
        found = self._tried(replace(again, exercise=replace(again.exercise, cases=cases)))
        return found is not None and found.key == question.key

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


def _as_asked(edit: Change | Swap) -> tuple[str, int, str]:
    """A change as the survey takes it."""
    if isinstance(edit, Swap):
        return edit.definition, 0, ""
    return edit.definition, edit.line, f"{edit.text} {edit.instead}"


def in_order(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names with one slow exercise at its place; then other slow ones, the slowest last."""
    slow = [name for name in names if name in SLOW][1:]
    later = [*slow, *(name for name in names if name in SLOWEST)]
    return [name for name in names if name not in later], later


def _numbered(source: str, name: str) -> str:
    """The definition as it is printed, with the numbers of the lines of its cell."""
    found, lines = read_definition(source, name)
    first = min([found.lineno, *(each.lineno for each in found.decorator_list)]) if found else 1
    return "\n".join(f"{i:>3}  {line}" for i, line in enumerate(lines[first - 1 :], first))
