"""What is wrong with a record that others will read: samples, provenance, drift, physics."""

from collections.abc import Iterator

from labkit.measuring.calibration import DRIFT, drifts
from labkit.measuring.physics import refusals
from labkit.measuring.records import Record, Row, least_samples


def faults_of(record: Record) -> list[str]:
    """A sentence for each fault; an empty list for a record that can be shown to a class."""
    return [*_of_provenance(record), *_of_rows(record), *_of_drift(record), *refusals(record)]


def _of_provenance(record: Record) -> Iterator[str]:
    where = record.provenance
    if not where.commit:
        yield "it does not say from which commit of the kit it is"
    elif where.commit.endswith("+changed"):
        yield f"it is from changed files, after commit {where.commit.removesuffix('+changed')}"
    if where.driver and not where.clock:
        yield "it does not say the GPU's clock"


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
