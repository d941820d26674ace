"""Cases of the samplers of lab 06, and what must come of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.checks.law import Outcome, text_law
from labkit.labs.speculative.checks.models import Decided, Mind

SURE, LAW, TOLD, ENDS, GREEDY = "sure", "law", "told", "ends", "greedy"
SILENT, ASKED, REPEATED = "silent", "asked", "repeated"


@dataclass(frozen=True, slots=True, eq=False)
class SamplingCase:
    """Models, a prompt, and what is asked for.

    kind: what is to be seen in it, by which checks choose. draft: None for `autoregressive`.
    gammas: one number, or several that are given out in turn. settings: temperature, top_k, top_p,
    eos. right: has the right functions as attributes; None in open cases.
    """

    name: str
    kind: str
    target: Mind
    prompt: tuple[int, ...]
    n_new: int
    draft: Mind | None = None
    gammas: tuple[int, ...] = (2,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    right: Any = None

    def __str__(self) -> str:
        drafted = "" if self.draft is None else f", gamma {', '.join(map(str, self.gammas))}"
        told = "".join(f", {name} {value}" for name, value in self.settings.items())
        return f"{self.name} (prompt {list(self.prompt)}, {self.n_new} new tokens{drafted}{told})"

    @property
    def end(self) -> int:
        """Tokens of the whole text, unless it ends early."""
        return len(self.prompt) + self.n_new

    @property
    def eos(self) -> int | None:
        """The token that ends a text."""
        return self.settings.get("eos")

    def offered(self, mind: Mind) -> Mind:
        """The model of a sampler. Where its distribution counts, nothing forks past the end."""
        if self.kind not in (LAW, TOLD):
            return mind
        return Decided(mind, len(self.prompt), self.end, self.eos)

    def law(self) -> dict[Outcome, float]:
        """The distribution that the new tokens must have."""
        told = {name: value for name, value in self.settings.items() if name != "eos"}

        def following(new: Outcome) -> list[float]:
            return as_told(self.target.probs_after(self.prompt + new), **told)

        return text_law(following, self.n_new, self.eos)

    def counted(self, new: Sequence[int]) -> Outcome:
        """What of the new tokens should be there: n_new at most, none after the end of the text."""
        new = tuple(new[: self.n_new])
        return new[: new.index(self.eos) + 1] if self.eos in new else new


def as_told(
    probs: Sequence[float],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[float]:
    """Probabilities of one token under the settings, one number at a time."""
    order = sorted(range(len(probs)), key=lambda token: -probs[token])
    if not temperature:
        return [float(token == order[0]) for token in range(len(probs))]
    heated = [probs[token] ** (1 / temperature) for token in order][:top_k]
    total, before = sum(heated), 0.0
    left = [0.0] * len(probs)
    for token, weight in zip(order, heated, strict=False):
        if before < (top_p or 1.0):
            left[token] = weight
        before += weight / total
    return [weight / sum(left) for weight in left]


def sure_text(case: SamplingCase) -> list[int]:
    """The new tokens when each is the target's most likely one."""
    return guesses(case.target, case.prompt, case.n_new)


def guesses(mind: Mind, text: Sequence[int], n: int) -> list[int]:
    """Up to n tokens after a text, each the most likely one, until there is nothing to propose."""
    made: list[int] = []
    for _ in range(n):
        probs = mind.probs_after([*text, *made])
        if not any(probs):
            break
        made.append(probs.index(max(probs)))
    return made


def n_alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two texts have in common before they first differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
