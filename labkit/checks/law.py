"""The exact law of a sampler: every outcome with its probability, without any statistics.

`exact_law(play)` runs `play(source)` again and again, once for each way in which the random choices
can fall, depth first. The sampler's random numbers reach `source` through labkit.chance.source; a
uniform is known only by the interval that the answers so far have left of it, so that two questions
about one uniform agree. What the law of the reference must be, `text_law` computes from the model's
distributions alone.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.bridge.student import Offer

Outcome = tuple[int, ...]
SAME = 1e-9  # two runs of the same arithmetic may differ by as much


class NotRepeatable(Exception):
    """The same random choices led a sampler to different questions: it remembers earlier runs."""


class PathEnds(ValueError):
    """This way of falling is not followed further: it is too long or too improbable."""


@dataclass(slots=True)
class _Fork:
    """One random choice of the present path: what was asked, and which outcome it takes."""

    question: tuple[float, ...]
    probabilities: list[float]
    taken: int = 0

    def advance(self) -> bool:
        """Take the next possible outcome, if there is one."""
        following = range(self.taken + 1, len(self.probabilities))
        self.taken = next((i for i in following if self.probabilities[i] > 0), -1)
        return self.taken >= 0


class RandomSource:
    """Answers for one run: as `forks` say, then with the first outcome of every new choice."""

    def __init__(self, forks: list[_Fork], max_forks: int, least_probability: float) -> None:
        self.forks, self.probability = forks, 1.0
        self.problem: Exception | None = None
        self._n_answered = 0
        self._intervals: list[tuple[float, float]] = []
        self._max_forks, self._least = max_forks, least_probability

    def choose(self, weights: Sequence[float]) -> int:
        """An index, each with a probability in proportion to its weight.

        Raises: ValueError for weights that are negative, not finite or all zero; `PathEnds`.
        """
        weights = [float(weight) for weight in weights]
        total = math.fsum(weights)
        if not all(weight >= 0 for weight in weights) or not 0 < total < math.inf:
            raise ValueError(
                f"weights of a choice are finite, at least 0, not all 0; got {weights}"
            )
        probabilities = [weight / total for weight in weights]
        return self._take((len(weights), *probabilities), probabilities)

    def uniform(self) -> int:
        """The number of a new uniform on [0, 1), independent of all others."""
        self._intervals.append((0.0, 1.0))
        return len(self._intervals) - 1

    def is_below(self, uniform: int, threshold: float) -> bool:
        """Whether that uniform is below the threshold, as far as earlier answers leave it open.

        Raises: ValueError if there is no such uniform or the threshold is not a number; `PathEnds`.
        """
        if not 0 <= uniform < len(self._intervals) or math.isnan(threshold):
            raise ValueError(f"no uniform {uniform} to compare with {threshold}")
        low, high = self._intervals[uniform]
        if not low < threshold < high:
            return threshold >= high
        share = (threshold - low) / (high - low)
        is_below = self._take((-1, uniform, threshold), [share, 1 - share]) == 0
        self._intervals[uniform] = (low, threshold) if is_below else (threshold, high)
        return is_below

    def offer(self, **more: Any) -> Offer:
        """The three questions, for code that runs behind a wall: what `scripted` takes there."""
        asked = {"choose": self.choose, "uniform": self.uniform, "is_below": self.is_below}
        return Offer(attributes={**asked, **more})

    def _take(self, question: tuple[float, ...], probabilities: list[float]) -> int:
        if self.problem is not None:
            raise self.problem
        if self._n_answered == len(self.forks):
            first = next(i for i, probability in enumerate(probabilities) if probability > 0)
            self.forks.append(_Fork(question, probabilities, first))
        fork = self.forks[self._n_answered]
        if not _is_same(fork.question, question):
            self.problem = NotRepeatable(
                f"random choice {self._n_answered + 1} was {_words(fork.question)} and is now "
                f"{_words(question)}, though all before it fell the same way"
            )
            raise self.problem
        self._n_answered += 1
        self.probability *= fork.probabilities[fork.taken]
        if self._n_answered > self._max_forks or self.probability < self._least:
            self.problem = PathEnds("this run of random choices is not followed further")
            raise self.problem
        return fork.taken

    def finish(self) -> None:
        """Raises: NotRepeatable if the run asked for less than the run before it."""
        if self.problem is None and self._n_answered < len(self.forks):
            self.problem = NotRepeatable(
                f"a run made {self._n_answered} random choices where the one before it made "
                f"{len(self.forks)}, though they fell the same way"
            )
        if isinstance(self.problem, NotRepeatable):
            raise self.problem


def _is_same(question: tuple[float, ...], other: tuple[float, ...]) -> bool:
    pairs = zip(question, other, strict=False)
    return len(question) == len(other) and all(abs(a - b) <= SAME for a, b in pairs)


def _words(question: tuple[float, ...]) -> str:
    if question[0] >= 0:
        return f"among {question[0]:.0f} outcomes ({', '.join(f'{p:.3g}' for p in question[1:9])})"
    return f"whether uniform {question[1]:.0f} is below {question[2]:.4g}"


@dataclass(frozen=True, slots=True)
class Law:
    """The probabilities of a sampler's outcomes.

    missing: the probability of all that was not followed. is_complete: everything was followed, but
    for less than 1e-9; where not, probabilities are lower bounds.
    """

    probabilities: dict[Outcome, float]
    n_paths: int = 0
    missing: float = 0.0

    @property
    def is_complete(self) -> bool:
        return self.missing < 1e-9

    def worst(self, expected: Mapping[Outcome, float]) -> tuple[Outcome, float]:
        """The outcome whose probability differs most from the expected one, and by how much.

        The difference is got minus expected, as far as it is certain whatever is missing.
        """
        found = ((), 0.0)
        for outcome in sorted({**self.probabilities, **expected}):
            surplus = self.probabilities.get(outcome, 0.0) - expected.get(outcome, 0.0)
            certain = surplus if surplus > 0 else min(surplus + self.missing, 0.0)
            found = max(found, (outcome, certain), key=lambda item: abs(item[1]))
        return found

    def deviation(self, expected: Mapping[Outcome, float]) -> float:
        """The largest certain difference from the expected probabilities."""
        return abs(self.worst(expected)[1])


def exact_law(
    play: Callable[[RandomSource], Sequence[int]],
    *,
    max_paths: int = 20_000,
    max_forks: int = 400,
    least_probability: float = 1e-15,
) -> Law:
    """The law of what `play(source)` returns, a sequence of whole numbers.

    `play` must start from the same state each time, and let `source` decide all that is random.
    After `max_paths` runs it stops. A run is given up after `max_forks` choices, or when it has
    become less probable than `least_probability`. The law's `missing` tells what that left out.
    Raises: NotRepeatable if a run differs although the choices fell the same way; what `play` does.
    """
    shares: dict[Outcome, list[float]] = defaultdict(list)
    forks: list[_Fork] = []
    given_up: list[float] = []
    n_paths, is_open = 0, True
    while is_open and n_paths < max_paths:
        n_paths += 1
        source = RandomSource(forks, max_forks, least_probability)
        outcome = _outcome(play, source)
        if outcome is None:
            given_up.append(source.probability)
        else:
            shares[outcome].append(source.probability)
        while forks and not forks[-1].advance():
            forks.pop()
        is_open = bool(forks)
    probabilities = {outcome: math.fsum(parts) for outcome, parts in shares.items()}
    missing = math.fsum(given_up) if not is_open else 1 - math.fsum(probabilities.values())
    return Law(probabilities, n_paths, max(missing, 0.0))


def _outcome(play: Callable[[RandomSource], Sequence[int]], source: RandomSource) -> Outcome | None:
    """One run; None if it was given up, whatever the sampler made of that."""
    try:
        outcome = tuple(int(token) for token in play(source))
    except Exception:
        source.finish() if source.problem else None
        if source.problem is None:
            raise
        return None
    source.finish()
    return None if source.problem is not None else outcome


def text_law(
    next_probs: Callable[[Outcome], Sequence[float]], n_new: int, eos: int | None = None
) -> dict[Outcome, float]:
    """The law of `n_new` tokens drawn one by one, where a text ends after the token `eos`.

    `next_probs(tokens)` are the probabilities of the next token after the new tokens so far.
    """
    law: dict[Outcome, float] = {}
    open_texts = {(): 1.0}
    for _position in range(n_new):
        longer: dict[Outcome, float] = {}
        for text, probability in open_texts.items():
            for token, share in enumerate(next_probs(text)):
                if share > 0:
                    texts = law if token == eos else longer
                    texts[(*text, token)] = probability * float(share)
        open_texts = longer
    return {**law, **open_texts}
