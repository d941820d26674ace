"""Hidden cases of `distribution`, `residual`, `verify` and `verify_batch`.

All are drawn until they separate right from wrong: tokens cross a limit only by a margin.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import torch

from labkit.labs.speculative.checks.batch import BatchCase
from labkit.labs.speculative.checks.blocks import VerifyCase
from labkit.labs.speculative.checks.distribution import DistributionCase
from labkit.labs.speculative.checks.residual import ResidualCase
from labkit.speculative import distribution, residual

Row = tuple[float, ...]


def step_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "distribution": _distributions(rng),
        "residual": _residuals(rng),
        "verify": [
            _certain(rng),
            *(_block(rng, 1) for _ in range(2)),
            *(_block(rng, 2) for _ in range(2)),
            _block(rng, 3),
            *_blocks_with_zeros(rng),
            _block(rng, 0),
        ],
        "verify_batch": _batches(rng),
    }


def random_row(rng: random.Random, n: int, least: float = 0.06) -> Row:
    """A distribution of which no share is below `least`."""
    raw = [rng.random() ** 2 for _ in range(n)]
    total = sum(raw)
    return tuple(least + (1 - n * least) * one / total for one in raw)


def _distributions(rng: random.Random) -> list[DistributionCase]:
    def case(kind: str, logits: Sequence, **settings) -> DistributionCase:
        one = DistributionCase(kind, logits, (), **settings)
        given = {"temperature": one.temperature, "top_k": one.top_k, "top_p": one.top_p}
        return replace(one, expected=_tuples(distribution(one.tensor(), **given)))

    def logits(n: int = 7) -> Row:
        """In any order, the steps between them from 0.2 to 0.6."""
        values = [rng.uniform(-3, 0)]
        while len(values) < n:
            values.append(values[-1] + rng.uniform(0.2, 0.6))
        return tuple(rng.sample(values, n))

    def top_p(probs: Row, n: int, low: float = 0.3, high: float = 0.7) -> float:
        """A limit that the n most likely reach, with some of the last one's share to spare."""
        ranked = sorted(probs, reverse=True)
        return sum(ranked[:n]) - ranked[n - 1] * rng.uniform(low, high)

    one, two, three = logits(), logits(), logits(5)
    cold, hot = rng.uniform(0.2, 0.45), rng.uniform(1.4, 3)
    k = rng.randint(3, 4)
    left = _tuples(distribution(torch.tensor(two).double(), top_k=k))
    sharp = _tuples(distribution(torch.tensor(one).double(), cold))
    low = rng.uniform(-1, 0)
    return [
        case("temperature", one, temperature=cold),
        case("temperature", two, temperature=hot),
        case("temperature", three, dtype=torch.float64),
        case("large", tuple(1000 + value for value in one)),
        case("large", tuple(200 * value for value in two), temperature=0.25),
        case("greedy", one, temperature=0.0),
        case("greedy", two, temperature=0.0, top_k=2, top_p=0.5),
        *(case("cut", one, top_k=n) for n in (1, k, 50)),
        case("cut", one, top_p=top_p(_tuples(distribution(torch.tensor(one))), rng.randint(3, 5))),
        case("cut", two, top_k=k, top_p=top_p(left, k - 1, 0.1, 0.2)),
        case("cut", one, temperature=cold, top_p=top_p(sharp, 2)),
        case("cut", two, temperature=hot, top_k=k),
        case("ties", (low, *[low + 1] * 3), temperature=0.0),
        case("rows", tuple(logits() for _ in range(2)), temperature=hot),
        case("rows", tuple(logits() for _ in range(3)), temperature=0.0),
        case("rows", (logits(),), temperature=hot),
        case("rows", tuple(tuple(logits() for _ in range(2)) for _ in range(3)), top_k=k),
        case("rows", tuple(tuple(logits() for _ in range(2)) for _ in range(2)), top_p=0.6),
        *(
            case("forbidden", tuple(rng.sample([-math.inf, -math.inf, *three], 7)), **settings)
            for settings in ({}, {"top_k": 3}, {"top_p": 1.0}, {"temperature": 0.0})
        ),
        *(
            case("dtype", tuple(rng.sample([0.5, -1.25, 2.0, 1.0], 4)), dtype=dtype)
            for dtype in (torch.bfloat16, torch.float16, torch.float64)
        ),
        case("dtype", tuple(rng.sample(range(-2, 3), 4)), dtype=torch.int64),
        *(
            case("dtype", tuple(rng.sample([0.5, -1.25, 2.0], 3)), temperature=0.0, dtype=dtype)
            for dtype in (torch.bfloat16, torch.float64)
        ),
        *(
            DistributionCase("refused", (*rng.sample(bad, len(bad)),), temperature=cold)
            for bad in ([math.nan, 1.0, 2.0], [math.inf, 0.0, 1.0], [-math.inf] * 3)
        ),
        DistributionCase("refused", (three, (-math.inf,) * 5), temperature=cold),
    ]


def _residuals(rng: random.Random) -> list[ResidualCase]:
    def pair() -> tuple[Row, Row]:
        """Several tokens have more of the target, several less, each by a margin."""
        while True:
            target, draft = random_row(rng, 6), random_row(rng, 6)
            gaps = [a - b for a, b in zip(target, draft, strict=True)]
            most = [sum(gap > 0.03 for gap in gaps), sum(gap < -0.03 for gap in gaps)]
            if min(most) >= 2 and min(map(abs, gaps)) > 0.003:
                return target, draft

    def case(kind: str, target: Sequence, draft: Sequence) -> ResidualCase:
        tensors = (torch.tensor(rows, dtype=torch.float64) for rows in (target, draft))
        return ResidualCase(kind, tuple(target), tuple(draft), _tuples(residual(*tensors)))

    pairs = [pair() for _ in range(9)]
    same = random_row(rng, 6)
    targets, drafts = zip(*pairs[2:4], (same, same), strict=True)
    blocks = [zip(*pairs[i : i + 2], strict=True) for i in (4, 6)]
    return [
        *(case("generic", *one) for one in pairs[:2]),
        case("equal", same, same),
        case("rows", targets, drafts),
        case("rows", targets[:1], drafts[:1]),
        case("rows", *zip(*blocks, strict=True)),
    ]


def _block(rng: random.Random, k: int, vocab_size: int = 4) -> VerifyCase:
    """Each token may be kept or rejected, and several tokens may replace it.

    The row after a token gives another result for it than its own row, and no token is the target's
    most likely one.
    """
    drafted: list[int] = []
    draft: list[Row] = []
    target: list[Row] = []
    while len(target) <= k:
        x, guess, row = (
            rng.randrange(vocab_size),
            random_row(rng, vocab_size),
            random_row(rng, vocab_size),
        )
        if target and not 0.1 < row[drafted[-1]] / draft[-1][drafted[-1]] < 0.9:
            continue
        if len(target) < k:
            more = [max(0.0, a - b) for a, b in zip(row, guess, strict=True)]
            is_open = 0.3 < row[x] / guess[x] < 0.8 and row[x] < max(row)
            if not (is_open and max(more) < 0.85 * sum(more)):
                continue
            drafted.append(x)
            draft.append(guess)
        target.append(row)
    return _expected(tuple(drafted), tuple(draft), tuple(target))


def _certain(rng: random.Random) -> VerifyCase:
    """A token that the target gives more than the draft: it stays."""
    while True:
        guess, row, behind = (random_row(rng, 4) for _ in range(3))
        token = rng.randrange(4)
        if row[token] > 1.2 * guess[token] and behind[token] < 0.9 * guess[token]:
            return _expected((token,), (guess,), (row, behind))


def _blocks_with_zeros(rng: random.Random) -> list[VerifyCase]:
    """The target excludes the second drafted token; and tokens that the draft finds likely.

    In the first, the rows before and behind have more of that token than the draft.
    """
    while True:
        first, second = _block(rng, 2), _block(rng, 1)
        excluded = first.drafted[1]
        before, behind = first.target[0], random_row(rng, 4)
        more = [
            row[excluded] - guess[excluded]
            for row, guess in zip((before, behind), first.draft, strict=True)
        ]
        if min(more) < 0.01:
            continue
        target = (before, _without(first.target[1], excluded, first.drafted), behind)
        first = _expected(first.drafted, first.draft, target)
        others = [token for token in range(4) if token != second.drafted[0]]
        pairs = zip(second.target, rng.sample(others, 2), strict=True)
        rows = tuple(_without(row, token, second.drafted) for row, token in pairs)
        second = _expected(second.drafted, second.draft, rows)
        if max(second.after[0]) < 0.9:
            return [first, second]


def _without(row: Row, excluded: int, drafted: Sequence[int]) -> Row:
    """The share of a token goes to the most likely of those that are not drafted."""
    left = [token for token in range(len(row)) if token not in (excluded, *drafted)]
    heir = max(left, key=lambda token: row[token])
    shares = list(row)
    shares[heir] += shares[excluded]
    shares[excluded] = 0.0
    return tuple(shares)


def _expected(drafted: tuple[int, ...], draft: tuple, target: tuple) -> VerifyCase:
    """The block with its law."""
    kept = tuple(min(1.0, target[i][token] / draft[i][token]) for i, token in enumerate(drafted))
    pairs = zip(target, draft, strict=False)
    after = [_tuples(residual(*(torch.tensor(row).double() for row in pair))) for pair in pairs]
    return VerifyCase(drafted, draft, target, kept, (*after, target[-1]))


def _batches(rng: random.Random) -> list[BatchCase]:
    def mixed(*lengths: int) -> BatchCase:
        return BatchCase(tuple(_block(rng, k, 3) for k in lengths))

    return [
        mixed(2, 2),
        mixed(1, 1),
        mixed(2),
        mixed(2, 0),
        mixed(1, 2),
        mixed(1, 0, 1),
        mixed(0, 0),
    ]


def _tuples(tensor: torch.Tensor) -> tuple:
    """The numbers of a tensor, nested as its dimensions are."""
    return tuple(_tuples(part) if part.ndim else float(part) for part in tensor.double())
