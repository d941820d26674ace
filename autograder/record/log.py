"""The log of results; it survives a crash of the grader.

`results.jsonl` is the record: one JSON object per line, appended and synced as each submission is
done, sorted by student when a run is complete. A damaged line is reported and its submission graded
again; the rest stands.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from autograder.errors import Refusal
from autograder.files import naming, write_whole
from autograder.record.results import Result

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
log = logging.getLogger(__name__)


class BusyError(Refusal):
    """Another grading holds the output folder."""


class ResultLog:
    """`results.jsonl` of one output folder; of a lab and student the last line counts.

    Raises: BusyError if another grading is writing to the same folder.
    """

    def __init__(self, path: Path) -> None:
        import fcntl  # only Unix has it; who reads results does not need it

        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = path.with_name(".lock").open("w")
        try:
            with naming(path):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _drop_torn_line(path)
        except BlockingIOError:
            self._lock.close()
            raise BusyError(f"another grading is writing to {path.parent}: wait for it") from None
        except OSError as error:
            self._lock.close()
            if error.errno in NO_LOCKS:
                raise Refusal(
                    f"{path.parent} is on a file system without locks ({error.strerror}), so two "
                    "gradings could spoil it: give -o a folder on a disk of this machine, and copy "
                    "it afterwards"
                ) from None
            raise
        self._damaged: list[str] = []
        known = read_results(path, self._damaged)
        self.results = {(result.lab, result.student): result for result in known}

    def append(self, result: Result) -> None:
        """Write one result so that it survives the grader being killed right after.

        Raises: OSError if the disk does not take it; nothing of the line is left then.
        """
        size = self._path.stat().st_size if self._path.exists() else 0
        try:
            with naming(self._path), self._path.open("a", encoding="utf-8") as file:
                file.write(result.to_json() + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.truncate(self._path, size)
            raise
        self.results[result.lab, result.student] = result

    def finish(self, lab: str, students: Collection[str]) -> list[Result]:
        """Rewrite the log sorted, without students of `lab` that handed nothing in any more."""
        self.results = {
            key: self.results[key]
            for key in sorted(self.results)
            if key[0] != lab or key[1] in students
        }
        if self._damaged:  # somebody may still read in them what we cannot
            with self._path.with_suffix(".damaged").open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in self._damaged))
            self._damaged = []
        text = "".join(result.to_json() + "\n" for result in self.results.values())
        write_whole(self._path, text.encode(), sync=True)
        return list(self.results.values())

    def close(self) -> None:
        """Let others write to the folder."""
        self._lock.close()


def read_results(path: Path, damaged: list[str] | None = None) -> list[Result]:
    """The results in a log. Damaged lines are reported and skipped; they are graded again.

    damaged: takes these lines, if it is given.
    """
    results: dict[tuple[str, str], Result] = {}
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for number, line in enumerate(text.split("\n"), 1):
        try:
            result = Result.from_json(line)
        except ValueError:
            if line:
                log.warning("line %d of %s is damaged: grade again to repair it", number, path)
                if damaged is not None:
                    damaged.append(line)
            continue
        results[result.lab, result.student] = result
    return [results[key] for key in sorted(results)]


def _drop_torn_line(path: Path) -> None:
    """Remove the half line that a killed grader left, so that the next line is a new one."""
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        write_whole(path, whole, sync=True)
