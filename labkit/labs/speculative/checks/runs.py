"""How the checks of lab 06 play a sampler: one run, or all that can happen, with what was fed.

Where chance decides, the sampler's law is found by following every way in which its random numbers
can fall (`labkit.checks.law`). What uses random numbers in a way that cannot be followed, or in too
many ways, is judged by samples instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from operator import itemgetter
from typing import Any

import numpy
import torch

from labkit.bridge.student import Proxy, Student, StudentError, scripted
from labkit.checks.compare import list_in, show
from labkit.checks.core import Wrong
from labkit.checks.law import Law, NotRepeatable, Outcome, RandomSource, exact_law
from labkit.checks.law_sampling import FALSE_ALARM, Verdict, judge_samples
from labkit.labs.speculative.checks.cases import SamplingCase
from labkit.labs.speculative.checks.law import gathered
from labkit.labs.speculative.checks.models import Call, OfferedModel, Tape

TOLERANCE = 1e-4  # of a probability: float32 is off by 1e-7, the mildest fault by 2e-3
MOST_PATHS, MOST_FORKS, LEAST_PROBABILITY = 500, 80, 1e-7
N_LOOKS = 4  # at the samples: most wrong samplers are found out by the first few


@dataclass(frozen=True, slots=True)
class Run:
    """One text, what was fed on the way, and how probable it is that things go this way."""

    new: list[int]
    calls: list[Call]
    probability: float = 1.0


@dataclass(frozen=True, slots=True)
class Played:
    """What a sampler does: its law and every run; or no law, samples as runs, and why."""

    law: Law | None
    runs: list[Run]
    why_sampled: str = ""


def run_of(student: Student, case: SamplingCase) -> Run:
    """One run with the student's own random numbers, played once for all checks."""
    return student.once(case, lambda: play_once(student, case))


def play_once(
    student: Student, case: SamplingCase, source: RandomSource | None = None, **more: Any
) -> Run:
    """One run; `source` decides what is random, if there is one."""
    tape = Tape(n_left=40 * (case.n_new + 4))
    models = [OfferedModel("target", case.target, tape).offer()]
    asked: list[Any] = [list(case.prompt), case.n_new]
    if case.draft is not None:
        models.append(OfferedModel("draft", case.draft, tape).offer())
        asked.append(_given_out(case.gammas, tape) if len(case.gammas) > 1 else case.gammas[0])
    sampler = student.autoregressive if case.draft is None else student.speculative
    settings = {**case.settings, **more}
    if source is None:
        got = sampler(*models, *asked, **settings)
    else:
        got = scripted(sampler, source.offer(), *models, *asked, **settings)
    new = tokens_in(got, 100 + case.n_new)
    if case.draft is not None and min(case.gammas) > 1 and len(new) > 2:
        _expect_asked(tape.calls, tuple(case.prompt))
    probability = 1.0 if source is None else source.probability
    return Run(new, tape.calls, probability)


def _expect_asked(calls: Sequence[Call], prompt: tuple[int, ...]) -> None:
    """The draft has seen more than the beginning of the prompt."""
    begun = [prompt[:n] for n in range(len(prompt))]
    if not any(call.model == "draft" and call.text not in begun for call in calls):
        raise Wrong(
            "the draft is never asked",
            why="A text that the target writes by itself has the right law and gains nothing.",
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
    tokens = list_in(got, "what comes back", wanted)
    if len(tokens) > n_most:
        raise Wrong("what comes back", expected=wanted, got=show(tokens))
    return [_token_in(token, tokens) for token in tokens]


def _token_in(token: Any, got: Any) -> int:
    if isinstance(token, torch.Tensor):
        token = token.numpy()
    if isinstance(token, numpy.ndarray) and token.size == 1:
        token = token.item()
    if isinstance(token, Proxy | bool) or not isinstance(token, int) or abs(token) > 10**6:
        raise Wrong("what comes back", expected="a list of whole numbers", got=show(got))
    return token


def every_run(student: Student, case: SamplingCase) -> Played:
    """The law of a case and its runs, played once for all checks."""
    return student.once(case, lambda: _follow(student, case))


def _follow(student: Student, case: SamplingCase) -> Played:
    runs: list[Run] = []

    def play(source: RandomSource) -> list[int]:
        run = play_once(student, case, source)
        if source.problem is None:
            runs.append(run)
        return run.new

    try:
        law = exact_law(
            play,
            max_paths=MOST_PATHS,
            max_forks=MOST_FORKS,
            least_probability=LEAST_PROBABILITY,
        )
    except NotRepeatable as problem:
        why = f"{problem}: does it remember earlier runs?"
    except StudentError as error:
        if not error.is_a("CannotFollow"):
            raise
        why = error.message
    else:
        law = _counted(law, case)
        if law.missing < TOLERANCE or law.deviation(case.law()) > TOLERANCE:
            return Played(law, runs)
        why = f"it takes more than {MOST_PATHS:,} paths to follow all that may happen"
    return Played(None, _samples(student, case), why)


def _samples(student: Student, case: SamplingCase) -> list[Run]:
    samples: list[Run] = []
    for _ in range(N_LOOKS):
        samples += [play_once(student, case) for _ in range(case.n_samples // N_LOOKS)]
        if samples and not _verdict(samples, case).passed:
            break
    return samples


def _verdict(samples: Sequence[Run], case: SamplingCase) -> Verdict:
    outcomes = (case.counted(run.new) for run in samples)
    return judge_samples(outcomes, case.law(), FALSE_ALARM / 6 / N_LOOKS)


def _counted(law: Law, case: SamplingCase) -> Law:
    """The law of what should be there of each text."""
    return Law(gathered(law.probabilities, case.counted), missing=law.missing)


def expect_law(student: Student, case: SamplingCase) -> None:
    """The new tokens have the law of the target, whatever follows where the text should end."""
    played, expected = every_run(student, case), case.law()
    if played.law is None:
        if played.runs:
            _expect_samples(played, case)
        return
    law = played.law
    worst, surplus = law.worst(expected)
    if abs(surplus) <= TOLERANCE:
        return
    wanted = expected.get(worst, 0.0)
    raise Wrong(
        f"the probability that the new tokens are {list(worst)}",
        expected=show(round(wanted, 6)),
        got=show(round(wanted + surplus, 6)),
        why=_where_it_goes_wrong(law, expected),
    )


def _expect_samples(played: Played, case: SamplingCase) -> None:
    verdict = _verdict(played.runs, case)
    if not verdict.passed:
        shown = "" if verdict.impossible is None else f": {list(verdict.impossible)} is impossible"
        raise Wrong(
            f"{verdict.n_samples:,} samples cannot come from the law of the target{shown}",
            why=f"They were drawn because {played.why_sampled}.",
            cause="the new tokens do not have the law of the target",
        )


def _where_it_goes_wrong(law: Law, expected: Mapping[Outcome, float]) -> str:
    longest = max(map(len, expected))
    n_right = 0
    while n_right < longest:
        begun = itemgetter(slice(n_right + 1))
        one, other = (gathered(some, begun) for some in (law.probabilities, expected))
        if Law(one, missing=law.missing).deviation(other) > TOLERANCE:
            break
        n_right += 1
    if n_right == 0:
        return "Already the first new token has another law than the target gives it."
    right = "first new token has" if n_right == 1 else f"first {n_right} new tokens have"
    return (
        f"The {right} the right law, the next one has not: which row of probabilities does it "
        "come from, and what did the caches hold then?"
    )
