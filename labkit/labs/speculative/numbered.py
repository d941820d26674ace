"""Tables 4.2, 4.4 and 4.5 of the homework: all settings, the machines, the same settings on two."""

from collections.abc import Callable, Mapping
from functools import partial

from labkit.labs.speculative.records import Speedup, gains
from labkit.labs.speculative.tables import (
    best_and_worst,
    device_of,
    gains_table,
    same_settings_table,
)
from labkit.measuring.bounds import knows_machine, roofline_of
from labkit.measuring.records import Record, has_rows
from labkit.measuring.tables import Table
from labkit.models.facts import gpus


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


def hardware_table(records: Mapping[str, Record], speedup: Speedup | None = None) -> Table:
    """The machines, and the best and the worst setting of each: what was gained where.

    Bandwidth and memory of a card are its data sheet's; of another machine, what was measured.
    """
    headings = ["device", "memory", "GB/s", "setting", "alone ms", "ms"]
    lines = []
    for record in records.values():
        if not has_rows(record, "speculation"):
            said = [*_machine_cells(record), "no time was measured"]
            lines.append([*said, *[None] * (len(headings) + 2 - len(said))])
            continue
        for gain in best_and_worst(gains(record, speedup)):
            setting = f"{gain.row.model}, {gain.row.setting}"
            times = [f"{1e3 * seconds:.3g}" for seconds in (gain.alone_s, gain.token_s)]
            alpha, ratio = f"{gain.alpha[0]:.2f}", f"{gain.speedup[0]:.2f}"
            lines.append([*_machine_cells(record), setting, *times, alpha, ratio])
    return Table([*headings, "alpha", "speedup"], lines)


def _machine_cells(record: Record) -> list[str]:
    device = device_of(record)
    facts = next((card for card in gpus().values() if card["name"] == device), None)
    if facts:
        return [device, f"{facts['vram_marketed_GB']} GB", f"{facts['bandwidth_GBps']:,}"]
    if not knows_machine(record):
        return [device, "-", "-"]
    memory = f"{record.of('roofline')[-1].counts['memory_bytes'] / 2**30:.0f} GiB"
    return [device, memory, f"{roofline_of(record).bandwidth / 1e9:,.0f}"]
