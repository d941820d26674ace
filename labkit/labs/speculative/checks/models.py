"""The models that the checks of lab 06 hand out: what they answer depends on their own cache.

A student's sampler gets an `Offer` of each. Its cache stays with the check, and a tape keeps every
call, so what was fed, and onto what, cannot be forged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import torch
from torch import Generator, Tensor

from labkit.bridge.student import Offer

MAX_KEPT = 4096  # texts of one model whose states are kept
WIDTH = 16  # numbers in a state
MOST_CACHED = 120  # tokens: longer than the text of any case


class Mind(Protocol):
    """What may follow a text."""

    vocab_size: int

    def probs_after(self, text: Sequence[int]) -> list[float]:
        """The probabilities of the next token; all 0 where there is nothing to propose."""

    def logits_of(self, text: Sequence[int], n_last: int) -> Tensor:
        """Logits (n_last V): row i says what may follow the text up to that one of its last.

        The tensor is the caller's, who may change it.
        """


class Table:
    """The next token goes by the last two tokens, so one too many or too few is noticed."""

    def __init__(self, table: Tensor) -> None:
        """table: (V+1 V+1 V) in float64; index V of the first two axes stands for no token."""
        self.vocab_size = table.shape[-1]
        self._probs, self._logits = table.tolist(), table.log()

    def probs_after(self, text: Sequence[int]) -> list[float]:
        """One row of the table."""
        before, last = (self.vocab_size, self.vocab_size, *text)[-2:]
        return self._probs[before][last]

    def logits_of(self, text: Sequence[int], n_last: int) -> Tensor:
        """Their logarithms, in float64."""
        last = torch.tensor([self.vocab_size, *text])[-n_last - 1 :]
        return self._logits[last[:-1], last[1:]]


class Network:
    """A small recurrent network with random weights: each token changes all that may follow."""

    def __init__(self, seed: int, *, bias: float = 0.0, vocab_size: int = 24) -> None:
        """bias: by how much, about, the logit of each token is moved away from where it was."""
        self.vocab_size, rng = vocab_size, Generator().manual_seed(seed)
        self._said, self._mixed, self._out = (
            torch.randn(n, WIDTH, generator=rng) for n in (vocab_size, WIDTH, vocab_size)
        )
        self._bias = bias * torch.randn(vocab_size, generator=rng)
        self._kept: dict[tuple[int, ...], Tensor] = {}  # all right samplers feed the same texts

    def probs_after(self, text: Sequence[int]) -> list[float]:
        """At temperature 1."""
        return self.logits_of(text, 1)[0].double().softmax(-1).tolist()

    def logits_of(self, text: Sequence[int], n_last: int) -> Tensor:
        """In float32."""
        states = [
            self._state(tuple(text[:n])) for n in range(len(text) - n_last + 1, len(text) + 1)
        ]
        return torch.stack(states) @ self._out.t() + self._bias

    def _state(self, text: tuple[int, ...]) -> Tensor:
        """What is remembered of a text."""
        if text not in self._kept:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            before = self._state(text[:-1]) if text[1:] else torch.zeros(WIDTH)
            self._kept[text] = torch.tanh(self._said[text[-1]] + before @ self._mixed / 2)
        return self._kept[text]

    def __getstate__(self) -> dict[str, Any]:
        """Without what was computed: a case is written down as it was made."""
        return self.__dict__ | {"_kept": {}}


class Decided:
    """A model whose text goes on as `mind` says, and with one certain token where it has ended.

    What a sampler draws past the end of the text can fall in one way only, so it is followed for
    nothing. The text ends at `end` tokens, or with the token `eos` after the prompt.
    """

    def __init__(self, mind: Mind, n_prompt: int, end: int, eos: int | None) -> None:
        self.vocab_size, self._mind = mind.vocab_size, mind
        self._n_prompt, self._end, self._eos = n_prompt, end, eos
        self._certain = torch.tensor([0.0] + [-torch.inf] * (self.vocab_size - 1))

    def has_ended(self, text: Sequence[int]) -> bool:
        """Whether nothing after this text counts."""
        return len(text) >= self._end or self._eos in text[self._n_prompt :]

    def probs_after(self, text: Sequence[int]) -> list[float]:
        """As `mind` has them, before the end."""
        if self.has_ended(text):
            return [1.0] + [0.0] * (self.vocab_size - 1)
        return self._mind.probs_after(text)

    def logits_of(self, text: Sequence[int], n_last: int) -> Tensor:
        """As `mind` has them, before the end."""
        logits, first = self._mind.logits_of(text, n_last), len(text) - n_last + 1
        n_open = sum(not self.has_ended(text[: first + i]) for i in range(n_last))
        if n_open < n_last:  # what has ended stays so
            logits[n_open:] = self._certain
        return logits


@dataclass(frozen=True, slots=True)
class Call:
    """Tokens fed to one of the two models, and those that its cache held before."""

    model: str
    cached: tuple[int, ...]
    fed: tuple[int, ...]

    @property
    def text(self) -> tuple[int, ...]:
        """The tokens in the cache afterwards."""
        return self.cached + self.fed


@dataclass(frozen=True, slots=True)
class SamplerRun:
    """One text, the tokens fed for it, and the probability of this run."""

    new: list[int]
    calls: list[Call]
    probability: float = 1.0


def verified_next(run: SamplerRun, index: int) -> list[tuple[int, ...]]:
    """The texts that the target is asked about after that call and before the draft's next one."""
    found: list[tuple[int, ...]] = []
    for call in run.calls[index + 1 :]:
        if call.model == "target":
            found.append(call.text)
        elif found:
            break
    return found


@dataclass(slots=True)
class Tape:
    """The calls of both models in order. n_left: how many requests of any kind are still served."""

    n_left: int
    calls: list[Call] = field(default_factory=list)

    def spend(self) -> None:
        """Count a request. Raises: ValueError when there have been too many to be of use."""
        self.n_left -= 1
        if self.n_left < 0:
            raise ValueError("the models are called again and again, and no text comes of it")


class OfferedModel:
    """A model with a cache, as `labkit.models.sampling.CachedModel` describes it."""

    def __init__(self, name: str, mind: Mind, tape: Tape, cached: Sequence[int] = ()) -> None:
        self._name, self._mind, self._tape, self._cache = name, mind, tape, list(cached)

    def offer(self) -> Offer:
        """The object that the student's code gets."""
        calls = {"n_cached": self.n_cached, "feed": self.feed, "rewind": self.rewind}
        attributes = {"vocab_size": self._mind.vocab_size, **calls}
        return Offer(attributes=attributes, name="model")

    def n_cached(self) -> int:
        """Tokens in the cache."""
        self._tape.spend()
        return len(self._cache)

    def feed(self, tokens: Any) -> Tensor:
        """Cache the tokens; logits (T V). Raises: ValueError for none, or what is no token."""
        self._tape.spend()
        if len(self._cache) + len(tokens) > MOST_CACHED:  # before anything is made of them
            raise ValueError(f"the {self._name} is fed far more tokens than the text can have")
        fed = tuple(int(token) for token in islice(tokens, MOST_CACHED))
        if not fed or not all(0 <= token < self._mind.vocab_size for token in fed):
            most = self._mind.vocab_size - 1
            raise ValueError(
                f"the {self._name} is fed 1 token or more, from 0 to {most}, not {fed}"
            )
        self._tape.calls.append(Call(self._name, tuple(self._cache), fed))
        self._cache += fed
        return self._mind.logits_of(self._cache, len(fed))

    def rewind(self, n_cached: Any) -> None:
        """Forget all but the first tokens. Raises: ValueError if there are fewer."""
        self._tape.spend()
        if not 0 <= int(n_cached) <= len(self._cache):
            raise ValueError(
                f"the {self._name} cannot go back to {int(n_cached)} tokens: "
                f"{len(self._cache)} are cached"
            )
        del self._cache[int(n_cached) :]


def generic(vocab_size: int, seed: int, least: float = 0.06) -> Table:
    """Random distributions of which no entry is below `least`."""
    rng = Generator().manual_seed(seed)
    shape = (vocab_size + 1, vocab_size + 1, vocab_size)
    raw = torch.rand(shape, generator=rng, dtype=torch.float64) ** 2
    return Table(least + (1 - vocab_size * least) * raw / raw.sum(-1, keepdim=True))


def circle(order: Sequence[int], slips: Sequence[int] = (), silent: Sequence[int] = ()) -> Table:
    """Tokens that follow each other in a circle, and nothing else may.

    After those in `slips` it says the next but one instead; after those in `silent` nothing.
    """
    size = len(order)
    table = torch.zeros(size + 1, size + 1, size, dtype=torch.float64)
    table[:, size, order[0]] = 1
    for i, token in enumerate(order):
        following = order[(i + (2 if token in slips else 1)) % size]
        table[:, token, following] = 0 if token in silent else 1
    return Table(table)


def disjoint(vocab_size: int, seed: int, *, is_draft: bool) -> Table:
    """Both models agree after an even token; after an odd one they have nothing in common."""
    rng = Generator().manual_seed(seed)
    shape = (vocab_size + 1, vocab_size + 1, vocab_size)
    table = 0.2 + torch.rand(shape, generator=rng, dtype=torch.float64)
    tokens = torch.arange(vocab_size)
    table[:, 1::2, tokens % 2 == (1 if is_draft else 0)] = 0
    return Table(table / table.sum(-1, keepdim=True))
