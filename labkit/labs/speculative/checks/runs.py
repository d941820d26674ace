"""How the checks of lab 06 play a sampler: one run, or all that can happen, with what was fed.

Where chance decides, the sampler's law is found by following every way in which its random numbers
can fall (`labkit.checks.law`). What cannot be followed is refused with a sentence: samples would
need some 100,000 runs to see a tenth of what is seen so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from operator import itemgetter
from typing import Any

import numpy
import torch

from labkit.bridge.student import Proxy, Student
from labkit.checks.compare import list_in, show
from labkit.checks.core import Wrong
from labkit.checks.law import Law, Outcome, RandomSource, gathered
from labkit.labs.speculative.checks.calling import Seeds, call, expect_repeatable
from labkit.labs.speculative.checks.cases import SamplingCase, slips_in
from labkit.labs.speculative.checks.law import TooManyWays, Unfollowed, followed, too_many_paths
from labkit.labs.speculative.checks.models import Call, SamplerRun, Tape
from labkit.labs.speculative.checks.seen import PROBE, SURE, found_forgotten, models_of

TOLERANCE = 1e-4  # of a probability: float32 is off by 1e-7, the mildest fault by 2e-3
MAX_FORKS, LEAST_PROBABILITY = 40, 1e-7
ENOUGH = 1_000  # paths: more than any right sampler of the usual kinds takes
MAX_FEEDS = 5_000  # in all paths of a case: over twice what the most wasteful right sampler needs


@dataclass(frozen=True, slots=True)
class Played:
    """What a sampler does: its distribution and every run."""

    law: Law
    runs: list[SamplerRun]


def run_of(student: Student, case: SamplingCase) -> SamplerRun:
    """One run with the student's own random numbers, played once for all checks."""
    return student.once(case, lambda: play_once(student, case))


def play_once(
    student: Student,
    case: SamplingCase,
    source: RandomSource | None = None,
    seeds: Seeds | None = None,
    tape: Tape | None = None,
    forgotten: str | None = None,
    **more: Any,
) -> SamplerRun:
    """One run; `source` decides what is random, or `seeds` are set, if they are given.

    tape: keeps the tokens that the models are fed, even if the run fails. forgotten: the model that
    rewinds itself; None: the one that this sampler forgets. The target's cache is known once the
    next token is drafted, so one token more is asked for where chance decides, and left out.
    """
    tape = tape or blank_tape(case)
    if forgotten is None:
        forgotten = "" if case.draft is None else forgotten_rewind(student)
    models = [model.offer() for model in models_of(case, tape, forgotten)]
    n_more = int(forgotten == "target" and case.kind not in SURE)
    asked: list[Any] = [list(case.prompt), case.n_new + n_more]
    if case.draft is not None:
        asked.append(_given_out(case.gammas, tape) if len(case.gammas) > 1 else case.gammas[0])
    sampler = "autoregressive" if case.draft is None else "speculative"
    settings = {**case.settings, **more}
    got = call(student, sampler, *models, *asked, source=source, seeds=seeds, **settings)
    new = tokens_in(got, 100 + case.n_new)
    new = new[: case.n_new] if n_more and len(new) == case.n_new + 1 else new
    if case.draft is not None and min(case.gammas) > 1 and len(new) > 2:
        _expect_asked(tape.calls, tuple(case.prompt))
    probability = 1.0 if source is None else source.probability
    return SamplerRun(new, tape.calls, probability)


def forgotten_rewind(student: Student) -> str:
    """The one model that the student's sampler does not rewind, or ""."""
    return not_rewound(student)[0]


def not_rewound(student: Student) -> tuple[str, str, str]:
    """The one model that the student's sampler does not rewind, or "", and what its cache shows."""

    def play(forgotten: str) -> SamplerRun:
        return play_once(student, PROBE, forgotten=forgotten)

    return student.once("forgotten rewind", lambda: found_forgotten(student, play))


def blank_tape(case: SamplingCase) -> Tape:
    """A tape for one run, with room for more calls than any sampler needs."""
    return Tape(n_left=40 * (case.n_new + 4))


def _expect_asked(calls: Sequence[Call], prompt: tuple[int, ...]) -> None:
    """The draft has seen more than the beginning of the prompt."""
    begun = [prompt[:n] for n in range(len(prompt))]
    if not any(call.model == "draft" and call.text not in begun for call in calls):
        raise Wrong(
            "the draft is never used",
            why="A text that the target writes alone is right, but not faster.",
        )


def _given_out(gammas: Sequence[int], tape: Tape) -> Any:
    turns = cycle(gammas)

    def gamma() -> int:
        tape.spend()
        return next(turns)

    return gamma


def tokens_in(got: Any, n_most: int) -> list[int]:
    """New tokens as numbers, if they are no more. Raises Wrong for anything else."""
    wanted = "a list of the new tokens"
    tokens = list_in(got, "the result", wanted)
    if len(tokens) > n_most:
        raise Wrong("the result", expected=wanted, got=show(tokens))
    return [_token_in(token, tokens) for token in tokens]


def _token_in(token: Any, got: Any) -> int:
    if isinstance(token, torch.Tensor):
        token = token.numpy()
    if isinstance(token, numpy.ndarray) and token.size == 1:
        token = token.item()
    if isinstance(token, Proxy | bool) or not isinstance(token, int) or abs(token) > 10**6:
        raise Wrong("the result", expected="a list of whole numbers", got=show(got))
    return token


def every_run(student: Student, case: SamplingCase) -> Played:
    """The distribution and the runs of a case, played once for all. Raises: as `followed`.

    A sampler that had too many ways in one case is not followed in another: that takes seconds.
    """
    endless = student.once(("endless", case.draft is None), list)
    if endless:
        raise endless[0]
    try:
        return student.once(("all", case), lambda: _follow(student, case), keep=(Unfollowed,))
    except TooManyWays as ways:
        endless.append(ways)
        raise


class _Stopped(Exception):
    """The rest is not followed: a text comes too often already, or too much has been fed."""


def _follow(student: Student, case: SamplingCase) -> Played:
    runs: list[SamplerRun] = []
    expected, found = case.law(), Counter[Outcome]()
    n_played, n_fed = 0, 0

    def play(source: RandomSource | None) -> Outcome:
        nonlocal n_played, n_fed
        n_played += 1
        is_enough = n_played > ENOUGH and any(
            found[text] - expected.get(text, 0.0) > TOLERANCE for text in found
        )
        if is_enough or n_fed > MAX_FEEDS:
            raise _Stopped
        tape = blank_tape(case)
        try:
            run = play_once(student, case, source, tape=tape)
        finally:
            n_fed += len(tape.calls)
        if source is not None and source.problem is None:
            runs.append(run)
            found[case.counted(run.new)] += run.probability
        return tuple(run.new)

    try:
        law = followed(play, max_forks=MAX_FORKS, least_probability=LEAST_PROBABILITY)
        missing = law.missing
    except _Stopped:
        missing = 1 - found.total()
    counted = Law(dict(found), missing=missing)
    if missing > TOLERANCE >= counted.deviation(expected):
        raise too_many_paths()
    return Played(counted, runs)


def expect_law(student: Student, case: SamplingCase) -> None:
    """The new tokens up to the end have the target's distribution; later ones do not count."""
    law, expected = every_run(student, case).law, case.law()
    worst, surplus = law.worst(expected)
    if abs(surplus) <= TOLERANCE:
        return
    wanted = expected.get(worst, 0.0)
    slip = slips_in(law, case, TOLERANCE) if law.missing <= LEAST_PROBABILITY else ""
    raise Wrong(
        f"the probability that the new tokens are {list(worst)}",
        expected=show(round(wanted, 6)),
        got=show(round(wanted + surplus, 6)),
        why=slip or _where_it_goes_wrong(law, expected),
        cause=slip or "the new tokens do not have the distribution of the target",
    )


def expect_rng_decides(student: Student, case: SamplingCase) -> None:
    """The text depends on the generator that is handed over, and on no other."""
    expect_repeatable(
        "the new tokens", lambda seeds: [play_once(student, case, seeds=one).new for one in seeds]
    )


def _where_it_goes_wrong(law: Law, expected: Mapping[Outcome, float]) -> str:
    """From which token on the law differs; "" if paths are missing, because then it is unknown."""
    if law.missing > LEAST_PROBABILITY:
        return ""
    longest = max(map(len, expected))
    n_right = 0
    while n_right < longest:
        begun = itemgetter(slice(n_right + 1))
        one, other = (gathered(some, begun) for some in (law.probabilities, expected))
        if Law(one).deviation(other) > TOLERANCE:
            break
        n_right += 1
    if n_right == 0:
        return "The first new token already has another distribution than the target's."
    right = "first new token has" if n_right == 1 else f"first {n_right} new tokens have"
    return (
        f"The {right} the right distribution, the next one has not. Check its row of "
        "probabilities, and what the caches hold at that moment."
    )
