"""The exact law of code that draws with torch.rand and torch.multinomial: every outcome is played.

A categorical draw forks over its support. A uniform is a symbol: comparing it with a threshold
forks into below and not below, and may be done once. So no tolerance is needed but for rounding.

It shares nothing with `labkit.checks.law`, by which students are judged: two ways to the same law.
"""

from collections import defaultdict

import torch


class Uniforms:
    """Stands for torch.rand(shape): numbers that nobody knows until they are compared."""

    def __init__(self, outcomes, shape):
        self._outcomes, self._shape, self._is_fresh = outcomes, shape, True

    def __lt__(self, thresholds):
        assert self._is_fresh, "a uniform was used twice"
        self._is_fresh = False
        chances = torch.as_tensor(thresholds).nan_to_num(0).clamp(0, 1).expand(self._shape)
        found = [self._outcomes.choose([1 - chance, chance]) for chance in chances.flatten()]
        return torch.tensor(found, dtype=torch.bool).reshape(self._shape)


class Outcomes:
    """One path through the tree of outcomes; `next_path` moves to the one after it."""

    def __init__(self):
        self.path, self.depth, self.weight = [], 0, 1.0

    def choose(self, weights):
        weights = [float(weight) for weight in weights]
        if self.depth == len(self.path):
            self.path.append([i for i, weight in enumerate(weights) if weight > 0])
        chosen = self.path[self.depth][0]
        self.depth += 1
        self.weight *= weights[chosen] / sum(weights)
        return chosen

    def next_path(self):
        while self.path and len(self.path[-1]) == 1:
            self.path.pop()
        if self.path:
            self.path[-1].pop(0)
        self.depth, self.weight = 0, 1.0
        return bool(self.path)

    def rand(self, *shape, generator=None, dtype=None, device=None):
        shape = tuple(shape[0]) if shape and not isinstance(shape[0], int) else shape
        return Uniforms(self, shape)

    def multinomial(self, probs, num_samples, replacement=False, generator=None):
        assert num_samples == 1 or replacement
        rows = probs.reshape(-1, probs.shape[-1])
        drawn = [[self.choose(row.tolist()) for _ in range(num_samples)] for row in rows]
        return torch.tensor(drawn).reshape(*probs.shape[:-1], num_samples)


def exact_law(play, monkeypatch):
    """The probability of each value that `play()` may return, a dict."""
    law, outcomes, goes_on = defaultdict(float), Outcomes(), True
    with monkeypatch.context() as patch:
        patch.setattr(torch, "rand", outcomes.rand)
        patch.setattr(torch, "multinomial", outcomes.multinomial)
        while goes_on:
            value = play()
            law[value] += outcomes.weight
            goes_on = outcomes.next_path()
    assert abs(sum(law.values()) - 1) < 1e-9
    return dict(law)


def deviation(law, other):
    """The largest difference between two laws' probabilities of one outcome."""
    return max(abs(law.get(key, 0) - other.get(key, 0)) for key in law | other)
