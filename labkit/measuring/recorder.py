"""Writing a record: each row is on the disk before the next one is measured."""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path

from labkit.measuring.lines import RecordError, parses
from labkit.measuring.machine import full_gpu
from labkit.measuring.provenance import SAME, Provenance
from labkit.measuring.records import FORMAT_VERSION, OUT_OF_MEMORY, Record, Row, read_record

LEFT_OUT = ("events_s", "peak_bytes", "note", "setting", "counts", "calibration_s")  # if empty
_AGAIN = (
    "Run the measuring cell again, and it measures only these. Or measure small models: write "
    '`kit.profile("cpu")` for `kit.profile()`, and another file name.'
)


class Recorder:
    """Appends rows to a file and knows which points it has.

    A point that ran out of memory is not done: another program may have held the memory.

    Raises: RecordError if the file is no record, or was made on another device, with another
    version, dtype or profile: such numbers do not belong into one table.
    """

    def __init__(self, path: str | Path, provenance: Provenance) -> None:
        self.path = Path(path)
        if not self.path.exists() or (self.path.is_file() and not self.path.stat().st_size):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append(self.path, {"format": FORMAT_VERSION, "provenance": asdict(provenance)})
        record = read_record(self.path)
        differing = [
            name for name in SAME if getattr(record.provenance, name) != getattr(provenance, name)
        ]
        if differing:
            name = differing[0]
            raise RecordError(
                f"{self.path} was measured with {name} {getattr(record.provenance, name)!r}, this "
                f"run has {getattr(provenance, name)!r}: give another file for these numbers"
            )
        mend_end(self.path)
        self.seed = record.provenance.seed
        self._done = {row.key for row in record.rows if row.outcome != OUT_OF_MEMORY}

    def save(self, row: Row) -> None:
        """Write a row; it is on the disk when this returns."""
        values = {each.name: getattr(row, each.name) for each in fields(Row)}
        values["counts"] = dict(row.counts)
        said = {name: value for name, value in values.items() if value or name not in LEFT_OUT}
        append(self.path, said)
        if row.outcome != OUT_OF_MEMORY:
            self._done.add(row.key)

    def is_done(self, key: tuple) -> bool:
        """Whether a point is in the file already, by its `Row.key`."""
        return key in self._done

    def record(self) -> Record:
        """All that the file holds now."""
        return read_record(self.path)

    def __str__(self) -> str:
        """The number of rows; if some ran out of memory, what to do."""
        rows = self.record().rows
        n_lost = sum(row.outcome == OUT_OF_MEMORY for row in rows)
        line = f"{self.path.name}: {len(rows)} rows"
        if not n_lost:
            return line
        why = f"{n_lost} of them have no time, because the memory had no room. {full_gpu()}".strip()
        return f"{line}; {why} {_AGAIN}"


def append(path: Path, value: dict) -> None:
    """Write a line; it is on the disk when this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")
        file.flush()
        os.fsync(file.fileno())


def mend_end(path: Path) -> None:
    """Drop a torn last line, so that the next row begins on a line of its own."""
    content = path.read_bytes()
    whole, _, rest = content.rpartition(b"\n")
    if not rest:
        return
    if parses(rest.decode("utf-8", "replace")):
        path.write_bytes(content + b"\n")
    else:
        os.truncate(path, len(whole) + 1)
