"""The long life of `PagedCache`: appends, rewinds and frees of three sequences, one check."""

import random
from collections.abc import Iterator

import torch

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, show
from labkit.checks.core import Wrong, check
from labkit.labs.kv_cache.checks.paged import (
    PagedCase,
    blocks_after,
    expect_tokens_in_blocks,
    in_full_precision,
)


@check(
    "PagedCache",
    hint="Keep each block in one place: among the free ones, or once in one table.",
    weight=2,
    applies_to=in_full_precision,
    gate=True,
)
def every_block_has_one_owner_through_a_long_life(student: Student, case: PagedCase) -> None:
    """Through appends, rewinds and frees no block is lost, or owned twice, or overwritten."""
    cache, lives, n_before = case.build(student), {}, case.n_blocks
    for i, (sequence_id, n_tokens) in enumerate(_operations(case)):
        held = lives.get(sequence_id, case.tokens(0))
        if n_tokens == 0:
            step = ("free", sequence_id)
            del lives[sequence_id]
        elif n_tokens < 0:
            step = ("rewind", sequence_id, -n_tokens)
            lives[sequence_id] = held[..., :n_tokens, :]
        else:
            tokens = case.tokens(n_tokens, of=i)
            step = ("append", sequence_id, *tokens)
            lives[sequence_id] = torch.cat([held, tokens], dim=-2)
        blocks = blocks_after(cache, case, lives, step)
        owned = [block for table in blocks.tables.values() for block in table]
        when = f"after operation {i + 1}, `{_called(step)}`"
        if len(set(owned)) < len(owned):
            raise Wrong(f"one owner per block {when}", expected="once", got=show(owned))
        n_free, what = case.n_blocks - len(owned), f"n_free_blocks {when}"
        slips = {n_before: "No block became free."} if n_tokens <= 0 else {}
        expect_number(blocks.n_free, n_free, what, slips=slips)
        n_before = n_free
        if i % 4 == 3 or i == case.n_operations - 1:
            expect_tokens_in_blocks(cache, case, lives)


def _called(step: tuple) -> str:
    """A step as a student would write it, with the number of tokens that are appended."""
    name, sequence_id, *more = step
    if name == "append":
        return f"append({sequence_id}, {more[0].shape[-2]} tokens)"
    return f"{name}({', '.join(map(str, step[1:]))})"


def _operations(case: PagedCase) -> Iterator[tuple[int, int]]:
    """Sequences and what befalls them: tokens appended, if negative rewound, if 0 the end.

    The first operations empty a block, reuse it, and use an id anew; the others are random. Each
    sequence keeps to a third of the blocks less one: running out is another check's.
    """
    size, rng = case.block_size, random.Random(case.seed)
    yield from [(0, 2 * size), (0, -size - 1), (1, size + 1), (0, 0), (1, 0)]
    yield from [(2, 2 * size), (0, 1), (1, size + 1)]
    lengths = [1, size + 1, 2 * size]
    for _ in range(case.n_operations - 8):
        one, n_tokens = rng.randrange(3), rng.randint(1, 2 * size)
        too_long = lengths[one] + n_tokens > (case.n_blocks // 3 - 1) * size
        if too_long or (lengths[one] and rng.random() < 0.3):
            n_tokens = -rng.randrange(lengths[one])
        lengths[one] = lengths[one] + n_tokens if n_tokens else 0
        yield one, n_tokens
