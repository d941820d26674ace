"""Tables 4.2, 4.4 and 4.5 of the homework: all settings, the machines, the same settings on two."""

from collections.abc import Callable, Mapping
from functools import partial

from labkit.labs.speculative.tables import gains_table, hardware_table, same_settings_table
from labkit.measuring.records import Record, has_rows


def tables_of(records: Mapping[str, Record]) -> dict[str, Callable[[], object]]:
    """What makes each table that the records have rows for, by the name of its file."""
    known = {name: record for name, record in records.items() if has_rows(record, "speculation")}
    found: dict[str, Callable[[], object]] = {
        f"4.2-{name}": partial(gains_table, record) for name, record in known.items()
    }
    cards = [record for record in known.values() if record.provenance.driver]
    if known:
        found["4.4-machines"] = partial(hardware_table, known)
    if len(cards) > 1:
        found["4.5-same-settings"] = partial(same_settings_table, cards)
    return found
