"""The faults of a record, before others read it: samples, provenance, drift, physics."""

from collections import Counter
from collections.abc import Collection, Iterator

from labkit.measuring.bounds import knows_machine, roofline_of
from labkit.measuring.calibration import DRIFT, drifts
from labkit.measuring.machine.here import has_commit
from labkit.measuring.physics import CARD_CACHE_BYTES, floors_of, refusals
from labkit.measuring.records import Record, Row, least_samples
from labkit.models.tiny import has_facts

AGREEMENT = 0.10  # medians of equal settings may differ by this
ROUNDING = 0.02  # a row may be above its measured roof by this


def faults_of(record: Record, experiments: Collection[str] = ()) -> list[str]:
    """A sentence for each fault; an empty list for a record that can be shown to a class.

    experiments: all names that `labkit measure` takes; without them, the command is not judged.
    """
    said = [*_of_provenance(record), *_of_command(record, experiments)]
    said += [*_of_rows(record), *_of_drift(record), *disagreements(record)]
    return [*said, *_of_roof(record), *refusals(record)]


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


def disagreements(record: Record) -> list[str]:
    """Experiments that measure the same run have to agree: else one of the times means little."""
    found = []
    groups: dict[tuple, list[Row]] = {}
    for row in record.rows:
        if row.samples_s:
            groups.setdefault((*row.key[1:], row.counts.get("n_cached")), []).append(row)
    for group in groups.values():
        fast, slow = (choose(group, key=lambda row: row.time_s) for choose in (min, max))
        if slow.time_s > (1 + AGREEMENT) * fast.time_s:
            found.append(
                f"{slow}: {slow.time_s:.3g} s, and {fast.experiment} has {fast.time_s:.3g} s for "
                f"the same; {AGREEMENT:.0%} are allowed"
            )
    return found


def _of_roof(record: Record) -> Iterator[str]:
    """What is faster than the record's own roofline: then the roof was measured on a busy machine.

    A processor's caches may hold a small model, so there only the computing counts.
    """
    if not knows_machine(record):
        return
    machine, dtype = roofline_of(record), record.provenance.dtype
    cached_s = CARD_CACHE_BYTES / machine.bandwidth
    for row in record.rows:
        if not (row.samples_s and has_facts(row.model) and dtype in machine.peaks):
            continue
        floors = floors_of(row, row.model, machine, dtype)
        on_gpu = bool(record.provenance.driver)
        moving_s = sum(max(0, floor.moving_s - cached_s) for floor in floors) * on_gpu
        least_s = max(moving_s, sum(floor.computing_s for floor in floors))
        if row.time_s < (1 - ROUNDING) * least_s:
            yield (
                f"{row}: {row.time_s:.3g} s is above the measured roof, which allows "
                f"{least_s:.3g} s"
            )
