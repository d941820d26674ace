"""Costs from a record: what the passes and transfers of `labkit measure serving` took."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from statistics import median

from labkit.measuring.records import Row, recorded_results

WAYS = {  # of a KV cache to the other GPU; its pages lie in no order
    "peer": "peer copy, gathered pages",
    "nccl": "NCCL, gathered pages",
    "pinned": "pinned host memory, whole",
}
RECORD = "serving-2gpu-h200"


class Line:
    """Straight lines between points, and on beyond the first and the last two; y never falls."""

    def __init__(self, points: Iterable[tuple[float, float]]) -> None:
        self.x, self.y = [], []
        for x, y in sorted(points):
            self.x.append(x)
            self.y.append(max([y, *self.y[-1:]]))

    def __call__(self, x: float) -> float:
        if len(self.x) == 1:
            return self.y[0]
        i = min(max(1, bisect_right(self.x, x)), len(self.x) - 1)
        share = (x - self.x[i - 1]) / (self.x[i] - self.x[i - 1])
        return self.y[i - 1] + share * (self.y[i] - self.y[i - 1])


class MeasuredCosts:
    """Costs between and beyond the medians of a record: linear in tokens, batch and context.

    Prompts: seconds for the sum of their tokens, and `pair_s` seconds for each pair of a token and
    one that it attends to, fitted to passes with equally many tokens in more and fewer prompts.
    `earlier`: how many times `pair_s` such a pair takes if the other token was computed in an
    earlier pass. No recorded pass has such pairs; 1 until a run shows more.
    Running requests: by their number and their mean context; what a pass of both takes beyond its
    parts is a table of its own. Beyond the recorded numbers each line goes on straight. way: of
    KV caches, of `WAYS`; None if they stay where they are.
    Raises: ValueError for a record without these passes, and for an unknown way.
    """

    def __init__(self, rows: Iterable[Row], way: str | None = "peer", earlier: float = 1.0) -> None:
        ok = [(row, median(row.samples_s)) for row in rows if row.is_ok]
        prompts = [each for each in ok if each[0].experiment == "prefill_pass"]
        steps = [each for each in ok if each[0].experiment == "decode_pass"]
        caches = [(r.n_input, s) for r, s in ok if r.setting == WAYS.get(way)]
        if not prompts or not steps or (way is not None and not caches):
            raise ValueError(f"wanted rows of prefill_pass, decode_pass and of the way {way!r}")
        self.pair_s, self.earlier = _pair_s(prompts), earlier
        self._tokens_s = Line(
            (r.n_input, s - self.pair_s * _pairs(r.n_input))
            for r, s in prompts if r.batch_size == 1
        )  # fmt: skip
        by_batch: dict[int, list[tuple[float, float]]] = {}
        for row, seconds in steps:
            by_batch.setdefault(row.batch_size, []).append((row.counts["n_cached"], seconds))
        self._steps_s = {n: Line(points) for n, points in by_batch.items()}
        contexts = sorted({x for line in self._steps_s.values() for x in line.x})
        self._contexts = [0.0, *contexts, 2 * contexts[-1]]
        self._by_context: dict[int, Line] = {}
        self._caches_s = Line(caches) if caches else None
        self._beyond: dict[int, Line] = {}
        self._beyond = self._beyond_parts(r for r in ok if r[0].experiment == "mixed_pass")

    @classmethod
    def recorded(cls, way: str | None = "peer", earlier: float = 1.0) -> MeasuredCosts:
        """Of the record that ships with the kit: two H200, with the shape of Llama-3.1-8B."""
        return cls(recorded_results(f"{RECORD}.jsonl")[RECORD].rows, way, earlier)

    def prefill_s(self, lengths: Sequence[int]) -> float:
        """Of a batch of prompts, packed: no padding."""
        return self._prompts_s(sum(lengths), sum(map(_pairs, lengths)))

    def decode_s(self, n_sequences: int, n_cached: int) -> float:
        return self._step(n_sequences)(n_cached / n_sequences)

    def mixed_s(
        self, n_sequences: int, n_cached: int, pieces: Sequence[tuple[int, int, bool]]
    ) -> float:
        """As `RooflineCosts.mixed_s`; the tokens of both share the products with the weights."""
        if not pieces:
            return self.decode_s(n_sequences, n_cached)
        n_tokens = sum(n for n, _, _ in pieces)
        pairs = sum(_pairs(n) + self.earlier * n * n_before for n, n_before, _ in pieces)
        if not n_sequences:
            return self._prompts_s(n_tokens, pairs)
        step = self._step(n_sequences)
        attention_s = step(n_cached / n_sequences) - step(0)
        seconds = self._prompts_s(n_tokens + n_sequences, pairs) + attention_s
        return seconds + self._beyond_s(n_sequences, n_tokens)

    def transfer_s(self, n_tokens: int) -> float:
        return max(0.0, self._caches_s(n_tokens)) if self._caches_s else 0.0

    def _prompts_s(self, n_tokens: int, pairs: float) -> float:
        least_s = self._tokens_s.y[0]  # a pass reads all weights, however few its tokens
        return max(least_s, self._tokens_s(n_tokens)) + self.pair_s * pairs

    def _step(self, n_sequences: int) -> Line:
        """Seconds of a step by the mean context."""
        if n_sequences not in self._by_context:
            lines = self._steps_s
            self._by_context[n_sequences] = Line(
                (x, Line((n, line(x)) for n, line in lines.items())(n_sequences))
                for x in self._contexts
            )
        return self._by_context[n_sequences]

    def _beyond_parts(self, rows: Iterable[tuple[Row, float]]) -> dict[int, dict[int, float]]:
        """What passes took beyond their parts, by running requests and tokens of prompts."""
        found: dict[int, dict[int, float]] = {}
        for row, seconds in rows:
            n, n_cached = int(row.counts["n_running"]), row.counts["n_cached"]
            parts_s = self.mixed_s(n, n * n_cached, [(row.n_input, 0, True)])
            if n:
                found.setdefault(n, {})[row.n_input] = seconds - parts_s
        return found

    def _beyond_s(self, n_sequences: int, n_tokens: int) -> float:
        """Between the recorded ones; the nearest beyond them; none without running requests."""
        if not self._beyond:
            return 0.0
        by_batch = {n: _between(each, n_tokens) for n, each in self._beyond.items()}
        return _between({0: 0.0, **by_batch}, n_sequences)


def _pairs(n: int) -> float:
    return n * (n + 1) / 2


def _pair_s(prompts: Sequence[tuple[Row, float]]) -> float:
    """Least squares over the passes that have as many tokens as one of several prompts has."""
    packed = [(r.batch_size * r.n_input, r, s) for r, s in prompts]
    totals = {n for n, row, _ in packed if row.batch_size > 1}
    found = [(r.batch_size * _pairs(r.n_input), s) for n, r, s in packed if n in totals]
    if len(found) < 2:
        return 0.0
    mean_x, mean_y = (sum(each) / len(found) for each in zip(*found, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in found)
    return max(0.0, above / sum((x - mean_x) ** 2 for x, _ in found))


def _between(points: dict[int, float], x: float) -> float:
    """On straight lines between points that are in order; the nearest value beyond them."""
    known = sorted(points)
    x = min(max(x, known[0]), known[-1])
    i = min(max(1, bisect_right(known, x)), len(known) - 1)
    if len(known) == 1:
        return points[known[0]]
    share = (x - known[i - 1]) / (known[i] - known[i - 1])
    return points[known[i - 1]] + share * (points[known[i]] - points[known[i - 1]])
