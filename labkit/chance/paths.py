"""One way in which the random choices of a sampler can fall, and the next one, depth first.

A sampler's random numbers reach a `RandomSource` through labkit.chance.source. A uniform is known
only by the interval that the answers so far have left of it. So two questions about it agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SAME = 1e-9  # two runs of the same arithmetic may differ by as much


class NotRepeatable(Exception):
    """The same random choices led a sampler to different questions: it remembers earlier runs."""


class PathEnds(ValueError):
    """This way of falling is not followed further: it is too long or too improbable."""


@dataclass(slots=True)
class Fork:
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

    def __init__(self, forks: list[Fork], max_forks: int, least_probability: float) -> None:
        """The run ends after `max_forks` choices, or when it is less probable than the least."""
        self.forks, self.probability = forks, 1.0
        self.problem: Exception | None = None
        self._n_answered = 0
        self._n_uniforms = 0
        self._intervals: dict[int, tuple[float, float]] = {}  # of those that were asked about
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
        self._n_uniforms += 1
        return self._n_uniforms - 1

    def is_below(self, uniform: int, threshold: float) -> bool:
        """Whether that uniform is below the threshold, as far as earlier answers leave it open.

        Raises: ValueError for what is no number of a uniform or no threshold; `PathEnds`.
        """
        if type(uniform) is not int or uniform < 0 or math.isnan(threshold):
            raise ValueError(f"no uniform {uniform} to compare with {threshold}")
        low, high = self._intervals.get(uniform, (0.0, 1.0))
        if not low < threshold < high:
            return threshold >= high
        share = (threshold - low) / (high - low)
        is_below = self._take((-1, uniform, threshold), [share, 1 - share]) == 0
        self._intervals[uniform] = (low, threshold) if is_below else (threshold, high)
        return is_below

    def _take(self, question: tuple[float, ...], probabilities: list[float]) -> int:
        if self.problem is not None:
            raise self.problem
        if self._n_answered == len(self.forks):
            first = next(i for i, probability in enumerate(probabilities) if probability > 0)
            self.forks.append(Fork(question, probabilities, first))
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


def next_path(forks: list[Fork]) -> bool:
    """Let the last choice that can fall otherwise do so; False if there is none."""
    while forks and not forks[-1].advance():
        forks.pop()
    return bool(forks)
