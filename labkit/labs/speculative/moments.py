"""What happens in speculative decoding, moment by moment, with all that was at stake.

This is for looking at: the models are asked about the whole text anew each time, which is slow, and
nothing that they said is thrown away.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

from labkit.models.arguments import check_wanted
from labkit.models.sampling import sample

Logits = Callable[[Sequence[int]], Tensor]
Distribution = Callable[[Tensor, float], Tensor]
Residual = Callable[[Tensor, Tensor], Tensor]
Mark = tuple[int, str]
GONE = ("rejected", "unexamined")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a block: what both models say there, and what came of it.

    Behind the last drafted token there are no draft_probs and no drafted token. uniform: what
    decided, None if nothing had to be. left: the residual, after a rejection. added: the target's
    own token, if it came here.

    Shapes: target_probs, draft_probs and left (V,).
    """

    target_probs: Tensor
    draft_probs: Tensor | None = None
    drafted: int | None = None
    uniform: float | None = None
    left: Tensor | None = None
    added: int | None = None

    @property
    def ratio(self) -> float:
        """target / draft of the drafted token: its chance to be accepted, or more than 1."""
        return float(self.target_probs[self.drafted] / self.draft_probs[self.drafted])

    @property
    def is_accepted(self) -> bool:
        """Whether the drafted token was examined and stays."""
        return self.uniform is not None and self.uniform < self.ratio


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happens at a place, and how the text reads then.

    what: "drafted", "accepted", "rejected", "resampled" or "bonus". marks: each token of the text
    with what became of it: one of these, "prompt" or "unexamined". n_calls: of the target, so far.
    """

    what: str
    place: Place
    marks: tuple[Mark, ...]
    n_calls: int

    @property
    def settled(self) -> int | None:
        """The token that belongs to the text from now on, if there is one."""
        here = {"accepted": self.place.drafted, "resampled": self.place.added}
        return here.get(self.what, self.place.added if self.what == "bonus" else None)

    def count(self, *kinds: str) -> int:
        """How many tokens are marked as one of these."""
        return sum(kind in kinds for _, kind in self.marks)


def moments(
    target: Logits,
    draft: Logits,
    prompt: Sequence[int],
    n_new: int,
    gamma: int,
    distribution: Distribution,
    residual: Residual,
    *,
    temperature: float = 1.0,
    eos: int | None = None,
    rng: Generator | None = None,
) -> list[Moment]:
    """All that happens until n_new tokens are written, or the end-of-text token.

    From the same rng the text is the one that `labkit.speculative.speculative` writes.

    Shapes: both models take T tokens to logits (T V).
    Raises: ValueError for an empty prompt, n_new < 0 or gamma < 1.
    """
    check_wanted(prompt, n_new, gamma)
    text: list[Mark] = [(token, "prompt") for token in prompt]
    found: list[Moment] = []
    n_calls = 0
    while (n_left := len(prompt) + n_new - len(text)) > 0:
        tokens, guesses, rows = [token for token, _ in text], [], []
        for _ in range(min(gamma, n_left - 1)):
            rows.append(distribution(draft([*tokens, *guesses])[-1], temperature))
            guesses.append(sample(rows[-1], rng))
        *read, behind = distribution(target([*tokens, *guesses])[len(tokens) - 1 :], temperature)
        places = [Place(*each) for each in zip(read, rows, guesses, strict=True)]
        n_calls += 1
        for moment in _block(text, [*places, Place(behind)], n_calls, residual, rng):
            found.append(moment)
            if eos is not None and moment.settled == eos:
                return found
        text = [mark for mark in found[-1].marks if mark[1] not in GONE]
    return found


def _block(
    text: Sequence[Mark],
    places: Sequence[Place],
    n_calls: int,
    residual: Residual,
    rng: Generator | None,
) -> Iterator[Moment]:
    """The moments of a block: each drafted token, each verdict, and the target's own token."""
    marks, (*drafts, behind) = list(text), _examined(places, residual, rng)
    for place in drafts:
        marks.append((place.drafted, "drafted"))
        yield Moment("drafted", place, tuple(marks), n_calls - 1)
    for at, place in enumerate(drafts, len(text)):
        what = "accepted" if place.is_accepted else "rejected"
        marks[at] = (place.drafted, what)
        if not place.is_accepted:
            rest = [(token, "unexamined") for token, _ in marks[at + 1 :]]
            yield Moment(what, place, (*marks[: at + 1], *rest), n_calls)
            added = (place.added, "resampled")
            yield Moment("resampled", place, (*marks[: at + 1], added), n_calls)
            return
        yield Moment(what, place, tuple(marks), n_calls)
    yield Moment("bonus", behind, (*marks, (behind.added, "bonus")), n_calls)


def _examined(places: Sequence[Place], residual: Residual, rng: Generator | None) -> list[Place]:
    """The places of a block, the last of which nothing was drafted for, after the verdicts."""
    found = list(places)
    for i, place in enumerate(places[:-1]):
        coin = torch.rand((), generator=rng, dtype=place.target_probs.dtype)
        found[i] = replace(place, uniform=float(coin))
        if not found[i].is_accepted:
            left = residual(place.target_probs, place.draft_probs)
            found[i] = replace(found[i], left=left, added=sample(left, rng))
            return found
    found[-1] = replace(places[-1], added=sample(places[-1].target_probs, rng))
    return found
