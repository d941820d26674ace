"""Cases of the samplers of lab 06, what must come of them, and what known mistakes make of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

from labkit.checks.compare import joined
from labkit.checks.law import Law, Outcome, text_law
from labkit.labs.speculative.checks.models import Decided, Mind

Row = Sequence[float]


@dataclass(frozen=True, slots=True, eq=False)
class SamplingCase:
    """Models, a prompt, and what is asked for.

    kind: "law" for the distribution of the new tokens, "settings" for the same with settings,
    "greedy" for networks at temperature 0, "repeated" for the role of `rng`. The other kinds leave
    nothing to chance: "sure" is about what is fed, "ends" about where the text ends, "cut" about
    the report of a block that eos cuts off, "silent" about a draft that sometimes proposes nothing,
    "asked" about a gamma that is a function.
    draft: None for `autoregressive`. gammas: one number, or several that are given out in turn.
    settings: temperature, top_k, top_p, eos.
    """

    name: str
    kind: str
    target: Mind
    prompt: tuple[int, ...]
    n_new: int
    draft: Mind | None = None
    gammas: tuple[int, ...] = (2,)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        drafted = "" if self.draft is None else f", gamma {', '.join(map(str, self.gammas))}"
        settings = "".join(f", {name} {value}" for name, value in self.settings.items())
        return (
            f"{self.name} (prompt {list(self.prompt)}, {self.n_new} new tokens{drafted}{settings})"
        )

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
        if self.kind not in ("law", "settings"):
            return mind
        return Decided(mind, len(self.prompt), self.end, self.eos)

    def law(self) -> dict[Outcome, float]:
        """The distribution that the new tokens must have."""
        settings = {name: value for name, value in self.settings.items() if name != "eos"}

        def following(new: Outcome) -> list[float]:
            return under_settings(self.target.probs_after(self.prompt + new), **settings)

        return text_law(following, self.n_new, self.eos)

    def counted(self, new: Sequence[int]) -> Outcome:
        """What of the new tokens should be there: n_new at most, none after the end of the text."""
        new = tuple(new[: self.n_new])
        return new[: new.index(self.eos) + 1] if self.eos in new else new


def under_settings(
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


def cut_text(case: SamplingCase) -> list[int]:
    """The same, as far as the text goes."""
    return list(case.counted(sure_text(case)))


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


NO_EOS = "The end-of-text token is left out. Return it, too."

# What known mistakes give, by what is said of them. It is said only of what gives the same.


def _softmax(row: Row) -> list[float]:
    powers = [exp(share) for share in row]
    return [power / sum(powers) for power in powers]


def _row(
    case: SamplingCase, new: Outcome, *kept: str, prompt: Outcome | None = None
) -> list[float]:
    """The target's next token after these new ones, by some of the settings."""
    settings = {name: case.settings[name] for name in kept if name in case.settings}
    return under_settings(case.target.probs_after((prompt or case.prompt) + new), **settings)


SETTINGS = ("temperature", "top_k", "top_p")
# The row from which the next token is drawn, after the new tokens so far.
ROW_SLIPS: Mapping[str, Callable[[SamplingCase, Outcome], Row]] = {
    "That is the row after the first token of the prompt. Take the last row of the logits.": (
        lambda case, new: _row(case, new, *SETTINGS, prompt=case.prompt[: None if new else 1])
    ),
    "Softmax is applied twice. `distribution` returns probabilities, not logits.": (
        lambda case, new: _softmax(_row(case, new, *SETTINGS))
    ),
    "The temperature is not used.": lambda case, new: _row(case, new, "top_k", "top_p"),
    "top_k is not used.": lambda case, new: _row(case, new, "temperature", "top_p"),
    "top_p is not used.": lambda case, new: _row(case, new, "temperature", "top_k"),
}


def _ratio(target: float, draft: float) -> float:
    return min(1.0, target / draft)


def residual_row(target: Row, draft: Row, x: int = 0) -> list[float]:
    """The distribution after the rejection of any token x."""
    left = [max(0.0, a - b) for a, b in zip(target, draft, strict=True)]
    return [one / sum(left) for one in left] if sum(left) else list(target)


def _absolute(target: Row, draft: Row, x: int) -> list[float]:
    gaps = [abs(a - b) for a, b in zip(target, draft, strict=True)]
    return [gap / (sum(gaps) or 1.0) for gap in gaps]


# How probable it is that a drafted token stays, and what replaces it if it does not.
Block = tuple[Callable[[float, float], float], Callable[[Row, Row, int], Row]]
BLOCK_SLIPS: Mapping[str, Block] = {
    "A rejected token is replaced by one from the target. Draw it from `residual`.": (
        _ratio,
        lambda target, draft, x: target,
    ),
    "A rejected token is replaced by one from |target - draft|. Draw it from `residual`.": (
        _ratio,
        _absolute,
    ),
    "A rejected token stays in the text.": (
        _ratio,
        lambda target, draft, x: [float(token == x) for token in range(len(draft))],
    ),
    "The ratio is inverted: divide target by draft.": (
        lambda target, draft: _ratio(draft, target) if target else 1.0,
        residual_row,
    ),
    "All drafted tokens are accepted.": (lambda target, draft: 1.0, residual_row),
    "A token is accepted if the target gives it more. Compare the ratio with a random number.": (
        lambda target, draft: float(target >= draft),
        residual_row,
    ),
    "A token is accepted with the target's probability. Divide it by the draft's.": (
        lambda target, draft: target,
        residual_row,
    ),
}


def slips_in(law: Law, case: SamplingCase, tolerance: float) -> str:
    """The sentences of mistakes that give this distribution of the new tokens, if any does."""
    return joined(text for text, slip in _laws(case) if law.deviation(slip) <= tolerance)


def _laws(case: SamplingCase) -> Iterator[tuple[str, dict[Outcome, float]]]:
    if case.eos is not None:
        yield NO_EOS, _without_eos(case)
    if case.draft is not None:
        for text, block in BLOCK_SLIPS.items():
            yield text, _law_of_blocks(case, *block)
        return
    for text, row in ROW_SLIPS.items():
        yield text, text_law(lambda new, row=row: row(case, new), case.n_new, case.eos)


def _without_eos(case: SamplingCase) -> dict[Outcome, float]:
    law: Counter[Outcome] = Counter()
    for new, chance in case.law().items():
        law[new[:-1] if case.eos in new[-1:] else new] += chance
    return dict(law)


def _law_of_blocks(
    case: SamplingCase,
    keeps: Callable[[float, float], float],
    replaces: Callable[[Row, Row, int], Row],
) -> dict[Outcome, float]:
    """The new tokens if drafted ones are kept and replaced in this way."""
    law: Counter[Outcome] = Counter()
    settings = {name: value for name, value in case.settings.items() if name in SETTINGS}

    def follow(new: Outcome, n_drafts: int | None, chance: float) -> None:
        """n_drafts: still to come in this block; None where a block begins."""
        if chance == 0.0:
            return
        if len(new) == case.n_new or case.eos in new[-1:]:
            law[new] += chance
            return
        if n_drafts is None:
            n_drafts = min(case.gammas[0], case.n_new - len(new) - 1)
        target = under_settings(case.target.probs_after(case.prompt + new), **settings)
        if n_drafts == 0:
            for token, share in enumerate(target):
                follow((*new, token), None, chance * share)
            return
        draft = under_settings(case.draft.probs_after(case.prompt + new), **settings)
        for x, guessed in enumerate(draft):
            kept = keeps(target[x], guessed) if guessed else 0.0
            follow((*new, x), n_drafts - 1, chance * guessed * kept)
            for token, share in enumerate(replaces(target, draft, x)):
                follow((*new, token), None, chance * guessed * (1 - kept) * share)

    follow((), None, 1.0)
    return dict(law)
