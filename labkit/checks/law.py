"""The exact distribution of a sampler: every outcome with its probability, without any statistics.

`exact_law(play)` runs `play(source)` again and again, once for each way in which the random choices
can fall, depth first. The sampler's random numbers reach `source` through labkit.chance.source; a
uniform is known only by the interval that the answers so far have left of it, so that two questions
about one uniform agree. `text_law` computes the reference's distribution from the model's
distributions alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from labkit.bridge.student import Offer
from labkit.chance.paths import Fork, RandomSource, next_path

Outcome = tuple[int, ...]


def offered(source: RandomSource) -> Offer:
    """A source for code that runs behind a wall: what `scripted` takes there."""
    asked = {"choose": source.choose, "uniform": source.uniform, "is_below": source.is_below}
    return Offer(attributes=asked)


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

        The difference is got minus expected, without the part that missing paths could explain.
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

    def of(
        self,
        key: Callable[[Outcome], Outcome],
        given: Callable[[Outcome], bool] = lambda outcome: True,
    ) -> dict[Outcome, float]:
        """The probabilities of `key(outcome)`, from the outcomes for which `given` holds."""
        found = {one: share for one, share in self.probabilities.items() if given(one)}
        return gathered(found, key)

    def share(self, given: Callable[[Outcome], bool]) -> float:
        """The part of all that was found for which `given` holds."""
        shares = [share for outcome, share in self.probabilities.items() if given(outcome)]
        return math.fsum(shares) / math.fsum(self.probabilities.values())


def gathered(
    weights: Mapping[Outcome, float], key: Callable[[Outcome], Outcome]
) -> dict[Outcome, float]:
    """The weights of `key(outcome)`."""
    found: Counter[Outcome] = Counter()
    for outcome, weight in weights.items():
        found[key(outcome)] += weight
    return dict(found)


def exact_law(
    play: Callable[[RandomSource], Sequence[int]],
    *,
    max_paths: int = 20_000,
    max_choices: int = 2_000_000,
    max_forks: int = 400,
    least_probability: float = 1e-15,
) -> Law:
    """The distribution of what `play(source)` returns, a sequence of whole numbers.

    `play` must start from the same state each time, and let `source` decide all that is random.
    After `max_paths` runs, or `max_choices` choices in all, it stops. A run is given up after
    `max_forks` choices, or when it has become less probable than `least_probability`. Its `missing`
    says what that left out.
    Raises: NotRepeatable if a run differs although the choices fell the same way; what `play` does.
    """
    shares: dict[Outcome, list[float]] = defaultdict(list)
    forks: list[Fork] = []
    given_up: list[float] = []
    n_paths, n_choices, is_open = 0, 0, True
    while is_open and n_paths < max_paths and n_choices < max_choices:
        n_paths += 1
        source = RandomSource(forks, max_forks, least_probability)
        outcome = _outcome(play, source)
        if outcome is None:
            given_up.append(source.probability)
        else:
            shares[outcome].append(source.probability)
        n_choices += len(forks)
        is_open = next_path(forks)
    probabilities = {outcome: math.fsum(parts) for outcome, parts in shares.items()}
    missing = math.fsum(given_up) if not is_open else 1 - math.fsum(probabilities.values())
    return Law(probabilities, n_paths, max(missing, 0.0))


def _outcome(play: Callable[[RandomSource], Sequence[int]], source: RandomSource) -> Outcome | None:
    """One run; None if it was given up, even if the sampler caught the exception."""
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
    """The distribution of `n_new` tokens drawn one by one, where a text ends after the token `eos`.

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
