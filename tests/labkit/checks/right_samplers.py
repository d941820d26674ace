"""Right speculative samplers, each written in its own way; the exact law must not mind.

They run on any model with `feed`, `n_cached`, `rewind`, such as sampler_faults.TableModel.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from sampler_faults import Parts, assembled
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Uniform


def residual(target: Tensor, draft: Tensor) -> Tensor:
    left = F.relu(target - draft)
    return left if left.sum() > 0 else target  # multinomial needs no normalising


def by_race(probs: Tensor) -> int:
    return int((probs / torch.empty_like(probs).exponential_(1)).argmax(dim=-1))


def by_gumbel(probs: Tensor) -> int:
    noise = -torch.log(-torch.log(torch.rand_like(probs) + 1e-20) + 1e-20)
    return torch.argmax(probs.log() + noise, dim=-1).item()


def by_cdf(probs: Tensor) -> int:
    return int(torch.searchsorted(probs.cumsum(0) / probs.sum(), torch.rand(1)))


def by_choices(probs: Tensor) -> int:
    return random.choices(range(len(probs)), weights=probs.tolist())[0]


def by_numpy(probs: Tensor) -> int:
    weights = probs.double().numpy()
    return int(np.random.choice(len(weights), p=weights / weights.sum()))


def by_generator(probs: Tensor) -> int:
    """Adds weights up until a random share of their sum is passed."""
    left = np.random.default_rng().random() * float(probs.sum())
    weights = probs.tolist()
    token = 0
    while token < len(weights) - 1 and left >= weights[token]:
        left -= weights[token]
        token += 1
    return token


def in_a_loop(draw: Callable[[Tensor], int], is_kept: Callable[[Tensor], bool]) -> Callable:
    """A verification that looks at one drafted token after the other."""

    def verify(drafted: list[int], draft: list[Tensor], target: Tensor) -> tuple[int, list[int]]:
        for i, token in enumerate(drafted):
            if not is_kept(target[i, token] / draft[i][token]):
                return i, [draw(residual(target[i], draft[i]))]
        return len(drafted), [draw(target[-1])]

    return verify


def vectorised(drafted: list[int], draft: list[Tensor], target: Tensor) -> tuple[int, list[int]]:
    """All acceptances at once, a row of zeros as the draft of the bonus token."""
    rows = torch.stack([*draft, torch.zeros_like(target[0])])
    index = torch.tensor(drafted, dtype=torch.long)[:, None]
    ratios = (target[:-1].gather(1, index) / rows[:-1].gather(1, index)).squeeze(1)
    kept = torch.rand_like(ratios) <= ratios
    n_kept = int(kept.long().cumprod(0).sum())
    return n_kept, torch.multinomial(residual(target[n_kept], rows[n_kept]), 1).tolist()


def in_log_space(drafted: list[int], draft: list[Tensor], target: Tensor) -> tuple[int, list[int]]:
    """Uniforms drawn for the whole block at once, compared as logarithms one by one."""
    uniforms = torch.rand(len(drafted)).log()
    for i, token in enumerate(drafted):
        if uniforms[i] > target[i].log()[token] - draft[i].log()[token]:
            return i, [Categorical(residual(target[i], draft[i])).sample().item()]
    return len(drafted), [Categorical(logits=target[-1].log()).sample().item()]


def bernoulli_block(drafted: list[int], draft: list[Tensor], target: Tensor) -> tuple[int, list]:
    """A tensor of coins, and the first that fell on its other side."""
    ratios = torch.tensor([target[i, x] / draft[i][x] for i, x in enumerate(drafted)])
    rejected = (1 - torch.bernoulli(ratios.double().clamp(max=1))).nonzero()
    n_kept = int(rejected[0]) if len(rejected) else len(drafted)
    last = target[-1] if n_kept == len(drafted) else residual(target[n_kept], draft[n_kept])
    return n_kept, [by_race(last)]


def refeeding(target, draft, prompt, n_new, gamma, eos=None) -> list[int]:
    """Keeps distributions instead of keys and values: each text is fed whole, once."""
    known: dict[tuple, Tensor] = {}

    def probs_of(model, text: list[int]) -> Tensor:
        if (id(model), *text) not in known:
            model.rewind(0)
            for n, row in enumerate(model.feed(text).softmax(-1), start=1):
                known[(id(model), *text[:n])] = row
        return known[(id(model), *text)]

    text = list(prompt)
    while len(text) < len(prompt) + n_new and text[-1] != eos:
        start = len(text)
        n_drafts = min(gamma, len(prompt) + n_new - start - 1)
        for _ in range(n_drafts):
            text.append(by_race(probs_of(draft, text)))
        probs_of(target, text)
        for i in range(start, start + n_drafts):
            wanted, guessed = probs_of(target, text[:i]), probs_of(draft, text[:i])
            if random.random() * guessed[text[i]] >= wanted[text[i]]:
                text[i:] = [by_race(residual(wanted, guessed))]
                break
            if text[i] == eos:
                del text[i + 1 :]
                break
        else:
            text.append(by_race(probs_of(target, text)))
    return text[len(prompt) :]


def drawn(verify: Callable) -> Callable:
    return assembled(Parts(verify=verify))


RIGHT: dict[str, Callable] = {
    "a loop with torch.rand and multinomial": assembled(Parts()),
    "vectorised": drawn(vectorised),
    "log space, torch.distributions": drawn(in_log_space),
    "a block of Bernoulli draws, exponential race": drawn(bernoulli_block),
    "Gumbel noise": drawn(in_a_loop(by_gumbel, lambda ratio: float(torch.rand(1)) < ratio)),
    "inverse CDF, reflected": drawn(in_a_loop(by_cdf, lambda ratio: 1 - torch.rand(1) < ratio)),
    "Python's random": drawn(in_a_loop(by_choices, lambda ratio: random.random() < ratio)),
    "Python's logarithm": drawn(
        in_a_loop(by_choices, lambda ratio: math.log(random.random()) < math.log(ratio))
    ),
    "numpy": drawn(in_a_loop(by_numpy, lambda ratio: np.random.rand() < min(1.0, ratio.item()))),
    "a numpy generator": drawn(
        in_a_loop(by_generator, lambda ratio: np.random.default_rng().uniform() <= float(ratio))
    ),
    "a Bernoulli object": drawn(
        in_a_loop(
            by_race,
            lambda ratio: bool(Bernoulli(ratio.clamp(max=1)).sample()),
        )
    ),
    "a Uniform object": drawn(
        in_a_loop(by_gumbel, lambda ratio: bool(Uniform(0.0, 1.0).sample() < ratio))
    ),
    "uniform_ in place": drawn(
        in_a_loop(by_race, lambda ratio: bool(torch.empty(1).uniform_(0, 1) < ratio))
    ),
    "no cache kept": refeeding,
}
