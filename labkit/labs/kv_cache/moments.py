"""Two sequences in an arena, a ring and pages: what each store holds after every operation.

The first sequence lies in all three stores, the second in the pages alone. Each token has a letter,
and its letter is its key, so that what a store holds can be read out of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

CAPACITY, PLACES = 16, 24  # tokens of the arena and of all blocks
FIRST, SECOND = 0, 1  # the sequences
NAMES = ("first", "second")
MOST_LETTERS = 90  # of what a store says
LETTERS = ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
EMPTY = ""
Operation = tuple[str, int, int]  # what, of which sequence, with how many tokens


@dataclass(frozen=True, slots=True)
class Held:
    """What a store holds: the letter of each place, which of them count, and a note.

    owners: of each place the sequence that it belongs to, None for a free one.
    """

    letters: list[str]
    owners: list[int | None]
    note: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """The stores after an operation. block_size: places of a block of the pages."""

    words: str
    arena: Held
    ring: Held
    pages: Held
    block_size: int


def operations(n_prompt: int, n_rewind: int) -> Iterator[Operation]:
    """A prompt and four tokens, some of which are rewound; then the second sequence ends."""
    yield "append", FIRST, n_prompt
    yield "append", SECOND, 3
    for i in range(4):
        yield "append", FIRST, 1
        if i == 1:
            yield "append", SECOND, 1
    yield "rewind", FIRST, n_rewind
    yield "append", FIRST, 1
    yield "append", FIRST, 1
    yield "free", SECOND, 0
    for _ in range(3):
        yield "append", FIRST, 1


def moments(
    arena_cache: Callable[..., Any],
    ring_cache: Callable[..., Any],
    paged_cache: Callable[..., Any],
    *,
    n_prompt: int,
    n_rewind: int,
    block_size: int,
    window: int,
) -> list[Moment]:
    """The stores after each operation; a store that raises stays as it was, and says why."""
    makers = {
        "arena": lambda: _Arena(arena_cache(1, 1, 1, 1, CAPACITY)),
        "ring": lambda: _Ring(ring_cache(1, 1, 1, 1, window), window),
        "pages": lambda: _Pages(paged_cache(PLACES // block_size, block_size, 1, 1), block_size),
    }
    made = {name: _careful(make) for name, make in makers.items()}
    held = {
        name: store if isinstance(store, Held) else _careful(store.held)
        for name, store in made.items()
    }
    found, n_made = [], [0, 0]
    for what, sequence, n in operations(n_prompt, n_rewind):
        keys = torch.arange(n_made[sequence], n_made[sequence] + n) + 1.0 + 100 * sequence
        n_made[sequence] += n if what == "append" else 0
        for name, store in made.items():
            if not held[name].fault:
                after = _careful(store.do, what, sequence, n, keys)
                held[name] = replace(held[name], fault=after.fault) if after.fault else after
        found.append(Moment(_words(what, sequence, n), **held, block_size=block_size))
    return found


def _words(what: str, sequence: int, n: int) -> str:
    name = NAMES[sequence]
    tokens = f"{n} token{'s' * (n != 1)}"
    return {
        "append": f"The {name} sequence gets {tokens}",
        "rewind": f"The last {tokens} of the {name} sequence are rewound",
        "free": f"The {name} sequence ends, and its blocks become free",
    }[what]


def _careful(do: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call; if it raises, an empty store with the error as its note."""
    try:
        return do(*arguments)
    except Exception as error:
        return Held([], [], "", fault=f"stopped: {type(error).__name__}: {error}"[:MOST_LETTERS])


def _letters(keys: torch.Tensor) -> list[str]:
    """The tokens of some places, by their keys."""
    codes = [round(key) for key in keys.tolist()]
    return [LETTERS[code // 100][(code % 100 - 1) % 26] if code else EMPTY for code in codes]


@dataclass(frozen=True, slots=True)
class _Arena:
    cache: Any

    def do(self, what: str, sequence: int, n: int, keys: torch.Tensor) -> Held:
        if sequence == FIRST and what == "append":
            self.cache.append(0, keys.view(1, 1, n, 1), keys.view(1, 1, n, 1))
        elif sequence == FIRST and what == "rewind":
            self.cache.rewind(n)
        return self.held()

    def held(self) -> Held:
        n = self.cache.length
        owners = [FIRST if i < n else None for i in range(CAPACITY)]
        return Held(_letters(self.cache.keys[0, 0, 0, :, 0]), owners, f"length {n} of {CAPACITY}")


@dataclass(frozen=True, slots=True)
class _Ring:
    cache: Any
    window: int

    def do(self, what: str, sequence: int, n: int, keys: torch.Tensor) -> Held:
        if sequence == FIRST and what == "append":
            self.cache.append(0, keys.view(1, 1, n, 1), keys.view(1, 1, n, 1))
        held = self.held()
        return (
            replace(held, note=f"{held.note}; a ring has no rewind") if what == "rewind" else held
        )

    def held(self) -> Held:
        n = self.cache.length
        owners = [FIRST if slot < n else None for slot in range(self.window)]
        newest = f", of which the newest {self.window} are here" if n > self.window else ""
        return Held(_letters(self.cache.keys[0, 0, 0, :, 0]), owners, f"length {n}{newest}")


@dataclass(frozen=True, slots=True)
class _Pages:
    cache: Any
    block_size: int
    lengths: dict[int, int] = field(default_factory=dict)

    def do(self, what: str, sequence: int, n: int, keys: torch.Tensor) -> Held:
        if what == "append":
            self.cache.append(sequence, keys.view(1, n, 1), keys.view(1, n, 1))
            self.lengths[sequence] = self.lengths.get(sequence, 0) + n
        elif what == "rewind":
            self.cache.rewind(sequence, n)
            self.lengths[sequence] -= n
        else:
            self.cache.free(sequence)
            del self.lengths[sequence]
        return self.held()

    def held(self) -> Held:
        owners: list[int | None] = [None] * PLACES
        names = []
        for sequence, length in self.lengths.items():
            table = self.cache.block_table(sequence)
            names.append(f"{NAMES[sequence]} {table}")
            for i in range(length):
                place = table[i // self.block_size] * self.block_size + i % self.block_size
                owners[place] = sequence
        note = f"block tables: {', '.join(names) or 'none'}; {self.cache.n_free_blocks} free"
        return Held(_letters(self.cache.keys[:, 0, :, 0].flatten()), owners, note)
