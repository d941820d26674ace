"""What known mistakes leave in a ring's slots, and in a block table; each with its sentence."""

from collections.abc import Callable, Sequence

from labkit.checks.compare import joined

SlotOf = Callable[[int, int, int], int]  # of token i of those that are kept, after `left_out`


def in_slots(
    window: int,
    chunks: Sequence[int],
    slot_of: SlotOf = lambda start, left_out, i: start + left_out + i,
    keeps_newest: bool = True,
) -> list[int]:
    """The position in each slot after all chunks, -1 for none; by default, what is right.

    A chunk begins at position `start`. If it is longer than the window, `left_out` of its tokens
    are not written.
    """
    slots, start = [-1] * window, 0
    for n_tokens in chunks:
        left_out = max(0, n_tokens - window)
        first = start + left_out * keeps_newest
        for i in range(n_tokens - left_out):
            slots[slot_of(start, left_out, i) % window] = first + i
        start += n_tokens
    return slots


def _by_age(window: int, chunks: Sequence[int]) -> list[int]:
    newest = list(range(sum(chunks)))[-window:]
    return newest + [-1] * (window - len(newest))


def _from_the_first(start: int, left_out: int, i: int) -> int:
    return start + i


SlotRule = Callable[[int, Sequence[int]], list[int]]
SLOT_SLIPS: dict[str, tuple[SlotRule, ...]] = {
    "Each append begins in slot 0 again. Count the tokens that came before.": (
        lambda window, chunks: in_slots(window, chunks, lambda start, left_out, i: i),
        lambda window, chunks: in_slots(window, chunks, lambda start, left_out, i: left_out + i),
    ),
    "The slots hold the tokens in the order of their age.": (_by_age,),
    "The oldest tokens of a long chunk were kept.": (
        lambda window, chunks: in_slots(window, chunks, _from_the_first, keeps_newest=False),
        lambda window, chunks: in_slots(window, chunks, keeps_newest=False),
    ),
    "The newest tokens were kept, but they begin in the slot of the chunk's first token.": (
        lambda window, chunks: in_slots(window, chunks, _from_the_first),
    ),
}


def slip_of_rewind(left: list[int], table: list[int], length: int, block_size: int) -> str:
    """The sentence for the block table left of `table`, if a known mistake gives it."""
    n_kept, n_full = -(-length // block_size), length // block_size
    slips = {
        "The last block still has tokens. Round up, not down.": table[:n_full],
        "A block without tokens was kept.": table[: n_full + 1],
        "The last blocks have to go, not the first.": table[len(table) - n_kept :],
    }
    return joined(text for text, blocks in slips.items() if blocks == left)
