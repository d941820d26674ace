"""A sentence on how a measured number grows or falls: it stands in its lab and fits the records."""

from autograder.builder.source import find_lab
from labkit.measuring.records import recorded_results

RECORDS = recorded_results()


def rows_by(record, experiment, by, **fields):
    """The rows of an experiment whose fields are these, by another field."""
    found = [row for row in RECORDS[record].of(experiment) if row.is_ok]
    found = [row for row in found if all(getattr(row, key) == fields[key] for key in fields)]
    return {getattr(row, by): row for row in found}


def stands_in(lab, sentence):
    """Whether the prose of a lab, or a model answer, says this."""
    prose = " ".join(cell.text for cell in find_lab(lab).cells if cell.kind in ("prose", "written"))
    return sentence in " ".join(prose.split())
