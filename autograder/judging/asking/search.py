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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from random import Random
from typing import TypeVar

from autograder.intake.read import Unreadable
from autograder.judging.asking.candidates import BrokenClaim, Candidate
from autograder.judging.asking.edits import Swap, is_askable
from autograder.judging.asking.plays import PLAYS, plays_of, plays_of_calls, results_of
from autograder.judging.asking.proposed import Proposed
from autograder.judging.asking.sheet import Order, Question, Sheet
from autograder.judging.asking.stage import MOST_OVERRUNS, Exercise, Stage, is_alike, shown
from autograder.judging.control import ZygoteError
from autograder.judging.judge import Judge, Marked
from autograder.judging.session import Session
from labkit.checks.core import open_cases_of
from labkit.checks.why.changes import Change, read_definition, unchanged

N_QUESTIONS = 6
MOST_OF_ONE = 2  # questions about one exercise at a time
MOST_TRIED = 30  # candidates of one exercise; most are ruled out by runs that are there already
MOST_PLAYED = 16  # changes of an exercise that the survey plays
SURVEY_EACH_S, SEARCH_S = 6.0, 20.0  # of the student's time
LEAST_LIMIT_S, LIMIT_SHARE = 0.5, 8  # of a play: at least, and times what it takes unchanged
MOST_CALLS = 6  # of an exercise, that are asked about, each once more with other numbers
SHARE_PLAYED = 0.5  # how often nothing but plays is asked about, where there are plays
# One play of all their checks takes 0.2 s or more, on the answers of the kit: plays alone, and
# last of all where `plays.txt` has none.
SLOW = frozenset(
    "PrefillLoop Scheduler PagedCache RingCache forward_cached flash_attention_2 DecodeLoop "
    "autoregressive count_operations flash_attention_1 flash_kernel speculative verify_batch "
    "verify_tree".split()
)
T = TypeVar("T")
Kept = tuple[Candidate, Question]


def sheet_of(judge: Judge, order: Order) -> Sheet:
    """The questions about a submission. Raises: ZygoteError."""
    started_s = time.process_time()
    try:
        session, marked = judge.rehearse(order.submission, order.cases)
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
        self._files = session.files_digest
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
        self._stage = Stage(self._session, self._stage.seed + 1)
        return self._session.start_again()

    @property
    def _is_over(self) -> bool:
        return not self._session.lives or self._session.spent_s > self._end_s

    def _found(self) -> Iterator[Kept]:
        """Questions with a key: a few about each exercise, often large ones first; then more."""
        rng, begun, weights = Random(self._order.seed), [], {}
        for one in self._marked:
            if (name := one.exercise) in self._order.green:
                weight = one.cell.points * self._size_of(name) or 1
                is_last = name in SLOW and name not in PLAYS
                weights[name] = (not is_last, rng.random() ** (1 / weight))
        for name in sorted(weights, key=weights.__getitem__, reverse=True):
            begun.append(self._with_keys(name))
            yield from islice(begun[-1], MOST_OF_ONE)
        for questions in begun:
            yield from islice(questions, MOST_OF_ONE)
        for questions in begun:
            yield from questions

    def _size_of(self, name: str) -> float:
        """The lines of a definition, with less weight than the points."""
        return len(unchanged(self._session.text_of(name), name).strip().splitlines()) ** 0.5

    def _random_of(self, name: str) -> Random:
        """What one exercise is asked depends on no other one."""
        return Random(f"{self._order.seed} {name}")

    def _survey(
        self, exercise: Exercise, played: Sequence[Change | Swap]
    ) -> tuple[list[str], list[list]]:
        """What the survey says of the definitions; nothing if it says nothing, or nonsense."""
        asked = [(exercise.own, 0, ""), *map(_as_asked, played)]
        ask = partial(self._session.survey, self._topic, exercise.name, asked, SURVEY_EACH_S)
        return _tried(ask) or ([], [])

    def _with_keys(self, name: str) -> Iterator[Kept]:
        """Questions about one exercise."""
        source = self._session.text_of(name)
        if self._is_over or not is_askable(source, name):
            return
        one, rng = (
            next(each for each in self._marked if each.exercise == name),
            self._random_of(name),
        )
        exercise = Exercise(name, source, one.checks, open_cases_of(self._topic)[name])
        proposed = Proposed.of(exercise, rng, MOST_PLAYED)
        exercise = self._with_true_plays(replace(exercise, plays=tuple(plays_of(name, rng))))
        if not exercise.plays and name in SLOW and name in PLAYS:
            return  # its claims alone take seconds, and other exercises have questions
        if not exercise.plays or (name not in SLOW and rng.random() > SHARE_PLAYED):
            signs, runs = self._survey(exercise, proposed.played)
            rehearsed = None if self._is_over else self._rehearsed(exercise, rng)
            if rehearsed is None or not signs or signs[0].strip("p"):
                return
            exercise = rehearsed if exercise.plays else self._with_true_plays(rehearsed)
            if len(runs) == len(exercise.checks):
                proposed = proposed.told(signs[1:], runs)
        exercise = self._with_slips(exercise, proposed)
        self.code[name] = _numbered(source, name)
        yield from self._asked(proposed.candidates(exercise, rng)[:MOST_TRIED])

    def _with_true_plays(self, exercise: Exercise) -> Exercise:
        """The exercise with those plays that give what the kit's own answer gives, and their limit:
        code that knows a play from a check could mark its results.
        """
        if not exercise.plays:
            return exercise
        before_s = self._session.spent_s
        own = _tried(partial(self._stage.runs, exercise, exercise.noted[1]))
        limit_s = self._limit_s(before_s)
        if not own:
            return replace(exercise, plays=())
        pairs = zip(exercise.plays, own, results_of(self._topic, exercise.plays), strict=True)
        plays = [play for play, run, true in pairs if is_alike(run.result, shown(true))]
        return replace(exercise, plays=tuple(plays), limit_s=limit_s)

    def _with_slips(self, exercise: Exercise, proposed: Proposed) -> Exercise:
        """The exercise with what its plays give after slips; no plays if one leaves a file: the
        next could read it.
        """
        if not exercise.plays:
            return exercise
        slips = _tried(partial(self._stage.slips, exercise, proposed.slips))
        if self._session.files_digest != self._files:
            return replace(exercise, plays=())
        return replace(exercise, slips=slips or ())

    def _limit_s(self, before_s: float) -> float:
        return max(LEAST_LIMIT_S, LIMIT_SHARE * (self._session.spent_s - before_s))

    def _asked(self, candidates: Sequence[Candidate]) -> Iterator[Kept]:
        """Questions of different kinds or lines, and of other lines if possible."""
        used, left = set(), [*candidates]
        while left:
            lines = {line for _, line, _ in used}
            candidate = next((each for each in left if each.place[1] not in lines), left[0])
            left.remove(candidate)
            if candidate.place in used:
                continue
            is_stuck = self._stage.overruns[candidate.exercise.name] >= MOST_OVERRUNS
            if self._is_over or is_stuck:
                return
            question = self._question(candidate)
            if question:
                used.add(candidate.place)
                yield candidate, question

    def _question(self, candidate: Candidate) -> Question | None:
        return _tried(partial(candidate.ask, self._stage, self._order.seed))

    def _holds(self, candidate: Candidate, question: Question) -> bool:
        """Whether the key is the same again, and on the hidden cases."""
        cases = self._hidden[candidate.exercise.name]
        again = candidate.about(question) if isinstance(candidate, BrokenClaim) else candidate
        found = self._question(replace(again, exercise=replace(again.exercise, cases=cases)))
        return found is not None and found.key == question.key

    def _rehearsed(self, exercise: Exercise, rng: Random) -> Exercise | None:
        """The exercise with plays and a limit; None if it does not pass alone."""
        before_s = self._session.spent_s
        found, calls = _tried(partial(self._stage.rehearse, exercise)) or ([], [])
        if not found or not all(each.passed for each in found):
            return None
        plays = exercise.plays or plays_of_calls(exercise.name, calls[:MOST_CALLS], shown, rng)
        return replace(exercise, plays=tuple(plays), limit_s=self._limit_s(before_s))


def _tried(ask: Callable[[], T]) -> T | None:
    """What a student's process says; None if it says nothing, or nonsense."""
    try:
        return ask()
    except ZygoteError:
        raise
    except Exception:
        return None


def _as_asked(edit: Change | Swap) -> tuple[str, int, str]:
    """A change as the survey takes it."""
    if isinstance(edit, Swap):
        return edit.definition, 0, ""
    return edit.definition, edit.line, f"{edit.text} {edit.instead}"


def _numbered(source: str, name: str) -> str:
    """The definition as it is printed, with the numbers of the lines of its cell."""
    found, lines = read_definition(source, name)
    first = min([found.lineno, *(each.lineno for each in found.decorator_list)]) if found else 1
    return "\n".join(f"{i:>3}  {line}" for i, line in enumerate(lines[first - 1 :], first))
