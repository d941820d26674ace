"""Reading lab 2's records: the floors of its runs."""

from labkit.measuring.bounds import knows_machine, machine_of
from labkit.measuring.physics import floors_of
from labkit.measuring.records import Record, Row
from labkit.measuring.roofline import Floor
from labkit.models.tiny import has_facts


def floors_of_run(row: Row, record: Record) -> list[Floor]:
    """Of all passes of a run, on the record's machine; none where it or the model is unknown."""
    if not (knows_machine(record) and has_facts(row.model)):
        return []
    machine, _ = machine_of(record)
    return floors_of(row, row.model, machine, record.provenance.dtype)


def floor_s(row: Row, record: Record) -> float:
    """The floors of a run's passes together; 0 where they are unknown."""
    return sum(floor.seconds for floor in floors_of_run(row, record))
