"""The faults of a record, before others read it: samples, provenance, drift, physics."""

from collections import Counter
from collections.abc import Collection, Iterator

from labkit.measuring.calibration import DRIFT, drifts
from labkit.measuring.physics import refusals
from labkit.measuring.provenance import has_commit
from labkit.measuring.records import Record, Row, least_samples


def faults_of(record: Record, experiments: Collection[str] = ()) -> list[str]:
    """A sentence for each fault; an empty list for a record that can be shown to a class.

    experiments: all names that `labkit measure` takes; without them, the command is not judged.
    """
    said = [*_of_provenance(record), *_of_command(record, experiments)]
    return [*said, *_of_rows(record), *_of_drift(record), *refusals(record)]


def _of_provenance(record: Record) -> Iterator[str]:
    where = record.provenance
    if not where.commit:
        yield "it does not say from which commit of the kit it is"
    elif where.commit.endswith("+changed"):
        yield f"it is from changed files, after commit {where.commit.removesuffix('+changed')}"
    elif "+" not in where.commit and not has_commit(where.commit):  # with "+", a wheel's edition
        yield f"this repository has no commit {where.commit!r}; 8 to 40 hexadecimal digits name one"
    if where.driver and not where.clock:
        yield "it does not say the GPU's clock"


def _of_command(record: Record, experiments: Collection[str]) -> Iterator[str]:
    """A continued record keeps its first command, so a second one has to be written beside it."""
    words = record.provenance.command.split()
    if words[:2] != ["labkit", "measure"] or "all" in words:
        return
    for name, n in Counter(row.experiment for row in record.rows).items():
        if name in experiments and name not in words:
            yield f"its command does not name {name}, which {n} of its rows are from"


def _of_rows(record: Record) -> Iterator[str]:
    for row in record.rows:
        wanted = least_samples(row.time_s) if row.samples_s else 0
        if len(row.samples_s) < wanted:
            yield f"{row}: {len(row.samples_s)} of the {wanted} samples that {row.time_s:.3g} s ask"


def _of_drift(record: Record) -> Iterator[str]:
    known: list[Row] = [row for row in record.rows if row.samples_s]
    if known and not any(row.calibration_s for row in known):
        yield "it does not say whether the machine was disturbed"
    for row, drift in drifts(record):
        yield f"{row}: the machine was {drift:.0%} slower than at its best, {DRIFT:.0%} are allowed"
