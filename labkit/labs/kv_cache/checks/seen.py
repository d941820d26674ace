"""Which tokens a new token of a ring sees, by what `append` returns.

The keys may be any number and stand in any order. So each is found among all tokens by its numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from labkit.checks.compare import expect_equal, joined
from labkit.checks.core import Wrong
from labkit.checks.tensors import tensor_in
from labkit.labs.kv_cache.checks.stored import triple_in

NO_TOKEN = -1


@dataclass(frozen=True, slots=True)
class Row:
    """The positions that the token at `query` sees; its append has the positions start to end-1.

    keys, values: in the order in which they stand; -1 for what no token of the layer has.
    """

    query: int
    start: int
    end: int
    keys: list[int]
    values: list[int]

    @property
    def seen(self) -> tuple[list[int], list[int]]:
        """The positions of the keys in order, and those of the values beside them."""
        pairs = sorted(zip(self.keys, self.values, strict=True))
        return [key for key, _ in pairs], [value for _, value in pairs]

    def window(self, window: int) -> list[int]:
        """What it should see: itself and the `window` - 1 positions before it."""
        return list(range(max(0, self.query - window + 1), self.query + 1))


def positions_in(stored: Tensor, tokens: Tensor) -> list[int]:
    """The position of the token at each place of (B Hkv S D), among all (B Hkv n D)."""
    same = (stored.double()[:, :, :, None] == tokens.double()[:, :, None]).all(-1).all(1).all(0)
    return [row.nonzero()[0, 0].item() if row.any() else NO_TOKEN for row in same]


def rows_in(got: Any, tokens: Tensor, start: int, end: int, when: str) -> list[Row]:
    """What each new token sees. tokens: all keys and values of the layer, (2 B Hkv n D)."""
    *parts, mask = triple_in(got, f"what `append` returns {when}")
    positions, n_keys = [], None
    for part, of, name in zip(parts, tokens, ("keys", "values"), strict=True):
        stored, what = tensor_in(part, f"the {name} {when}"), f"the {name} that come back {when}"
        n_keys = (stored.shape[2] if stored.ndim == 4 else "S") if n_keys is None else n_keys
        shape = [*of.shape[:2], n_keys, of.shape[-1]]
        expect_equal(list(stored.shape), shape, f"the shape of {what}")
        if stored.dtype != of.dtype:
            raise Wrong(f"the dtype of {what}", expected=str(of.dtype), got=str(stored.dtype))
        positions.append(positions_in(stored, of))
    mask = tensor_in(mask, f"the mask {when}")
    expect_equal(list(mask.shape), [end - start, n_keys], f"the shape of the mask {when}")
    expect_equal(str(mask.dtype), "torch.bool", f"the dtype of the mask {when}")
    return [
        Row(start + i, start, end, *(_chosen(part, row) for part in positions))
        for i, row in enumerate(mask.tolist())
    ]


def _chosen(positions: Sequence[int], row: Sequence[bool]) -> list[int]:
    return [position for position, is_seen in zip(positions, row, strict=True) if is_seen]


def expect_windows(rows: Sequence[Row], window: int, when: str) -> None:
    """Each token sees its window, keys and values of the same tokens. when: as in a message."""
    is_right = all(sorted(row.keys) == row.window(window) for row in rows)
    why = joined(
        sentence
        for sentence, rules in SEES_SLIPS.items()
        if any(all(sorted(row.keys) == rule(row, window) for row in rows) for rule in rules)
        and not is_right
    )
    for row in rows:
        token = f"that the token at position {row.query} sees {when}"
        none = f" ({NO_TOKEN}: no token of this layer)" * (NO_TOKEN in row.keys + row.values)
        what = f"the positions of the keys {token}{none}"
        expect_equal(sorted(row.keys), row.window(window), what, why=why)
        what = f"the positions of the values {token}{none}, beside those of its keys"
        expect_equal(row.values, row.keys, what)


def _between(first: int, last: int) -> list[int]:
    return list(range(max(0, first), last + 1))


def _all_after(first: int, row: Row) -> list[int]:
    """All tokens up to the end of the chunk; none for a token that is appended alone."""
    return _between(first, row.end - 1) if row.end - row.start > 1 else []


def _read_late(row: Row, window: int) -> list[int]:
    """What it sees if the old keys are read from slots that the chunk has written to."""
    newest = row.end - 1
    return sorted(
        p if p >= row.start else p + (newest - p) // window * window for p in row.window(window)
    )


SeesRule = Callable[[Row, int], list[int]]
SEES_SLIPS: dict[str, tuple[SeesRule, ...]] = {
    "A token sees a key that is too old. The oldest in its window is position - window + 1.": (
        lambda row, window: _between(row.query - window, row.query),
        lambda row, window: _between(row.start - window + 1, row.query),
        lambda row, window: _between(row.start - window, row.query),
        lambda row, window: _between(0, row.query),
    ),
    "The window is one position too short. The oldest in it is position - window + 1.": (
        lambda row, window: _between(row.query - window + 2, row.query),
    ),
    "A token does not see itself.": (
        lambda row, window: _between(row.query - window + 1, row.query - 1),
    ),
    "A slot that is still empty is seen.": (
        lambda row, window: [NO_TOKEN] * max(0, window - row.start) + row.window(window),
        lambda row, window: [NO_TOKEN] * max(0, window - row.end) + row.window(window),
    ),
    "Old keys are missing that the first tokens of a chunk see. Read them before you write.": (
        lambda row, window: [p for p in row.window(window) if p >= row.end - window],
        _read_late,
    ),
    "A token sees later tokens of its chunk.": (
        lambda row, window: _all_after(row.query - window + 1, row),
        lambda row, window: _all_after(row.start - window + 1, row),
        lambda row, window: _all_after(row.start - window, row),
        lambda row, window: _all_after(0, row),
    ),
}
