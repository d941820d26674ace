"""What known mistakes leave in a ring, and in a block table; each with its sentence."""

from collections.abc import Callable, Sequence

from labkit.checks.compare import joined

SeesRule = Callable[[int, int, int], bool]

MASK_SLIPS: dict[str, SeesRule] = {
    "Queries see their future.": lambda p, q, window: p >= 0 and q - p < window,
    "-1 is an empty slot, and no query sees it.": lambda p, q, window: 0 <= q - p < window,
    "A stored token may be too old for a query.": lambda p, q, window: 0 <= p <= q,
    "There is one position too many: the oldest in the window is query - window + 1.": (
        lambda p, q, window: 0 <= p <= q and q - p <= window
    ),
    "There is one position too few: the oldest in the window is query - window + 1.": (
        lambda p, q, window: 0 <= p <= q and q - p < window - 1
    ),
    "A query does not see itself.": lambda p, q, window: 0 <= p < q and q - p < window,
}

POSITION_SLIPS: dict[str, Callable[[int, int], list[int]]] = {
    "Each append begins at position 0 again. Count the tokens that came before.": (
        lambda n_tokens, window: [0 if n_tokens else -1] + [-1] * (window - 1)
    ),
    "Those are the numbers of the slots.": (
        lambda n_tokens, window: [slot if slot < n_tokens else -1 for slot in range(window)]
    ),
}

CHUNK_SLIPS = {  # whether the first token that is kept, and its slot, are right
    "The oldest tokens of a long chunk were kept.": ((False, True), (False, False)),
    "The newest tokens were kept, but they begin in the slot of the chunk's first token.": (
        (True, False),
    ),
}


def left_in_slots(
    window: int, chunks: Sequence[int], is_first_right: bool, is_slot_right: bool
) -> list[int]:
    """The token in each slot after all chunks, by a rule for the chunks that are too long."""
    slots, start = [-1] * window, 0
    for n_tokens in chunks:
        n_left_out = max(0, n_tokens - window)
        first, slot = start + n_left_out * is_first_right, start + n_left_out * is_slot_right
        for i in range(n_tokens - n_left_out):
            slots[(slot + i) % window] = first + i
        start += n_tokens
    return slots


def slip_of_rewind(left: list[int], table: list[int], length: int, block_size: int) -> str:
    """The sentence for the block table left of `table`, if a known mistake gives it."""
    n_kept, n_full = -(-length // block_size), length // block_size
    slips = {
        "The last block still has tokens. Round up, not down.": table[:n_full],
        "A block without tokens was kept.": table[: n_full + 1],
        "The last blocks have to go, not the first.": table[len(table) - n_kept :],
    }
    return joined(text for text, blocks in slips.items() if blocks == left)
