"""What has arrived whole in a folder into which others write at the same time.

A unit is what lies at the top of the folder: a file, or a folder with all that is in it. It counts
once it has not changed for a moment and its notebooks and zips are whole. One that stays torn
counts after a while, as it is: the student learns that it cannot be read.
"""

import json
import time
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from autograder.intake.collect.files import ZIP_ERRORS, File, files_at
from autograder.intake.collect.layouts import NOTEBOOKS

SETTLED_S = 0.4
TORN_S = 60.0

Trace = tuple[str, int, int, int]


@dataclass
class _Unit:
    """A unit as it was first seen at `since`. is_whole: None while nobody has looked into it."""

    traces: list[Trace]
    since: float
    is_whole: bool | None = None

    def has_arrived(self, files: list[File]) -> bool:
        """Whether it counts. files: what it consists of."""
        age_s = time.monotonic() - self.since
        if self.is_whole is None and age_s >= SETTLED_S:
            self.is_whole = _are_whole(files)
        return age_s >= (SETTLED_S if self.is_whole else TORN_S)


class Arrivals:
    """The units of one folder, as they were at the last look."""

    def __init__(self, place: Path, without: Path) -> None:
        """without: a folder that is left out."""
        self._place, self._without = place, without
        self._units: dict[str, _Unit] = {}
        self._arrived: list[Trace] = []

    def look(self) -> list[File] | None:
        """The files of all units that have arrived; None if these are the same as before.

        Raises: NoSubmissions or OSError if the folder cannot be listed now.
        """
        groups: dict[str, list[File]] = {}
        for file in files_at(self._place, ExitStack(), self._without):
            groups.setdefault(file.path.parts[0], []).append(file)
        self._units = {name: self._seen(name, _traces(group)) for name, group in groups.items()}
        arrived = [
            file
            for name, group in groups.items()
            if self._units[name].has_arrived(group)
            for file in group
        ]
        before, self._arrived = self._arrived, _traces(arrived)
        return None if self._arrived == before else arrived

    def forget(self) -> None:
        """Let the next look tell of all that has arrived, as if it were the first."""
        self._arrived = []

    def are_unchanged(self, files: list[File]) -> bool:
        """Whether nobody has written to the files of the last look since."""
        try:
            return _traces(files) == self._arrived
        except OSError:
            return False

    def _seen(self, name: str, traces: list[Trace]) -> _Unit:
        known = self._units.get(name)
        return known if known and known.traces == traces else _Unit(traces, time.monotonic())


def _traces(files: list[File]) -> list[Trace]:
    return [_trace(file) for file in files]


def _trace(file: File) -> Trace:
    status = Path(file.source, file.member).lstat()
    return str(file.path), status.st_size, status.st_mtime_ns, status.st_ino


def _are_whole(files: list[File]) -> bool:
    """Whether all notebooks and zips can be read to their end; a folder needs one, or a script."""
    handed_in = [file for file in files if file.suffix in NOTEBOOKS]
    is_folder = any(len(file.path.parts) > 1 for file in files)
    return all(map(_is_whole, handed_in)) if handed_in else not is_folder


def _is_whole(file: File) -> bool:
    if file.problem or file.suffix == ".py":
        return True
    try:
        if file.suffix == ".zip":
            with file.open() as packed:
                return zipfile.is_zipfile(packed)
        json.loads(file.read())
    except (*ZIP_ERRORS, RecursionError):
        return False
    return True
