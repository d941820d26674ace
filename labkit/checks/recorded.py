"""Reading the name of a record: an answer may say from which one its numbers are."""

from functools import cache
from typing import Any

from labkit.checks.compare import refuse_blank, show
from labkit.checks.core import Wrong
from labkit.measuring.records import Record, read_record
from labkit.models.facts import data_path


def record_named(name: Any, pattern: str) -> Record:
    """The record of the kit that an answer names, with or without its file's ending.

    Raises: Wrong if none of the pattern is called so.
    """
    refuse_blank(name)
    stem = name.strip().removesuffix(".jsonl") if isinstance(name, str) else ""
    known = sorted(path.stem for path in data_path("results").glob(pattern))
    if stem not in known:
        expected = " or ".join(f'"{each}"' for each in known)
        raise Wrong("the record", expected=expected, got=show(name))
    return _read(stem)


@cache
def _read(stem: str) -> Record:
    return read_record(data_path("results") / f"{stem}.jsonl")
