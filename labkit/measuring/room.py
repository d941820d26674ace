"""What did not fit into memory, as rows of a record.

Every experiment of every lab measures inside of `rows_in_room`: none has to know how memory ends.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from labkit.measuring.device import free_device_memory, out_of_memory_as_one, own_memory_bytes
from labkit.measuring.records import OUT_OF_MEMORY, Row


def rows_in_room(rows: Sequence[Row], measure: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """What measure() gives. Where the memory ends first, the others of `rows` say so.

    rows: not measured yet. n_input is 0 where only the measurement shows it.
    Before the first of these is given, all that measure() had is free.
    """
    missing = {row.key: row for row in rows}
    found = iter(measure())
    while True:
        try:
            row = out_of_memory_as_one(partial(next, found, None))
        except MemoryError as error:
            reason = str(error)
            break
        if row is None:
            return
        for key in (row.key, row.key_before):
            missing.pop(key, None)
        yield row
    del found
    free_device_memory()
    for row in missing.values():
        yield lost(row, reason)


def lost(row: Row, reason: object) -> Row:
    """The row without a time, with the reason and the memory that other programs had left."""
    own_bytes = own_memory_bytes()
    free = {} if own_bytes is None else {"free_bytes": own_bytes}
    return replace(
        row, outcome=OUT_OF_MEMORY, note=str(reason), samples_s=(), counts={**row.counts, **free}
    )
