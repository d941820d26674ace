"""Gradescope's export: folders submission_123, and who handed them in when.

`submission_metadata.yml` names the submitters of each folder, the time, and the earlier attempts,
whose files are not part of an export.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import yaml

from autograder.course.times import iso_time
from autograder.intake.collect.files import ZIP_ERRORS, File
from autograder.intake.collect.layouts import GRADESCOPE_SYSTEM, of_lab
from autograder.intake.collect.parcel import Parcel, below
from autograder.intake.collect.submission import NoSubmissions

METADATA = PurePosixPath("submission_metadata.yml")
FOLDER = re.compile(r"submission_[0-9]+")
MAX_METADATA_BYTES = 64 << 20
MAX_SUBMITTERS = 100
MAX_DEPTH = 50


def is_gradescope(files: list[File]) -> bool:
    """Whether these are the files of an export: its table, and folders that it could name."""
    return any(file.path == METADATA for file in files) and any(map(_folder_of, files))


def gradescope_parcels(files: list[File], lab_name: str) -> Iterator[Parcel]:
    """One parcel per submitter of each folder, whether the table names it or not.

    Raises: NoSubmissions if the table cannot be read.
    """
    table = next(file for file in files if file.path == METADATA)
    entries = _entries(table)
    folders: dict[str, list[File]] = {name: [] for name in entries if FOLDER.fullmatch(name)}
    for file in files:
        if folder := _folder_of(file):
            folders.setdefault(folder, []).append(below(file))
    for folder, group in folders.items():
        yield from _parcels_of(folder, of_lab(group, lab_name), entries.get(folder))


def _parcels_of(folder: str, files: list[File], entry: Any) -> Iterator[Parcel]:
    entry = entry if isinstance(entry, dict) else {}
    submitters = [row for row in _rows(entry.get(":submitters")) if _label(row)][:MAX_SUBMITTERS]
    names = [_text(row.get(":name")) or _label(row) for row in submitters]
    for label in map(_label, submitters or [{":name": folder}]):
        yield Parcel(
            label,
            tuple(files),
            GRADESCOPE_SYSTEM,
            submitted_at=iso_time(_text(entry.get(":created_at"))),
            group=", ".join(names) if len(names) > 1 else "",
            attempt=1 + len(_rows(entry.get(":history"))),
        )


def _entries(table: File) -> dict[str, Any]:
    """The table, all of its values as text: an id keeps its zeros, and no tag means a thing."""
    try:
        content = table.read(MAX_METADATA_BYTES)
        if len(content) > MAX_METADATA_BYTES:
            raise ValueError(f"it has over {MAX_METADATA_BYTES >> 20} MB")
        _check_depth(content)
        entries = yaml.load(content, Loader=yaml.CBaseLoader)
    except (*ZIP_ERRORS, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise NoSubmissions(
            f"{METADATA} cannot be read ({reason}): export the submissions again"
        ) from None
    if not isinstance(entries, dict):
        raise NoSubmissions(f"{METADATA} is no table of submissions: export them again")
    return entries


def _check_depth(content: bytes) -> None:
    """Raise ValueError for what is nested too deeply to be loaded: libyaml would crash on it."""
    depth = 0
    for event in yaml.parse(content, Loader=yaml.CBaseLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")


def _folder_of(file: File) -> str:
    """The folder of a submission that a file lies in, "" for other files."""
    first = file.path.parts[0]
    return first if len(file.path.parts) > 1 and FOLDER.fullmatch(first) else ""


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _label(submitter: dict[str, Any]) -> str:
    """The label of a submitter: the student's number, else the address, else the name."""
    fields = (_text(submitter.get(key)) for key in (":sid", ":email", ":name"))
    return next((text for text in fields if text), "")


def _text(value: Any) -> str:
    """A value as text; what YAML calls null is none."""
    return value.strip() if isinstance(value, str) and value not in ("~", "null") else ""
