"""Tables 1.3.1 to 1.3.3 of the homework, and the decode steps by batch, from records."""

from collections.abc import Callable, Mapping
from functools import partial

from labkit.labs.throughput.tables import serving_table, table
from labkit.measuring.records import Record, has_rows

NUMBERS = {"input_sweep": "1.3.1", "output_sweep": "1.3.2", "three_models": "1.3.3"}
DOLLARS = 2.58  # for an hour of an H100: the lowest of a list in October 2026


def tables_of(records: Mapping[str, Record]) -> dict[str, Callable[[], object]]:
    """What makes each table that the records have rows for, by the name of its file."""
    found: dict[str, Callable[[], object]] = {
        f"{number}-{name}": partial(table, record, experiment)
        for experiment, number in NUMBERS.items()
        for name, record in records.items()
        if has_rows(record, experiment)
    }
    return found | {
        f"decode-{name}": partial(serving_table, record, DOLLARS)
        for name, record in records.items()
        if has_rows(record, "decode_pass")
    }
