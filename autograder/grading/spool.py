"""Shards, and outcomes on their way from them to the record.

A shard grades its part of the submissions and leaves each outcome in a file of its own, named by
what the outcome depends on. A grading of the whole takes them from there instead of grading again.
Shards need nothing in common but the output folder, which may be on a network.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.grading.pool import Outcome
from autograder.intake.collect import Submission


def shard_of(text: str) -> slice:
    """The items of shard "2/8"; over all shards, each item is in one of them. Raises: Refusal."""
    with suppress(ValueError):
        number, n = map(int, text.split("/"))
        if 1 <= number <= n:
            return slice(number - 1, None, n)
    raise Refusal(f"--shard needs I/N with I from 1 to N, such as 2/8, got {text}")


class Spool:
    """The outcomes of a lab that wait in an output folder."""

    def __init__(self, out: Path, lab: str) -> None:
        self._folder = out / "outcomes" / lab

    @property
    def has_any(self) -> bool:
        """Whether a shard has left something."""
        return self._folder.exists()

    def put(self, key: str, outcome: Outcome) -> None:
        """Leave an outcome, whole or not at all."""
        write_whole(self._path(key), outcome.to_json().encode(), sync=True, shared=True)

    def take(self, key: str, submission: Submission) -> Outcome | None:
        """The outcome for this submission; None if there is none, or none that can be read."""
        try:
            return Outcome.from_json(submission, self._path(key).read_bytes())
        except (OSError, ValueError):
            return None

    def clear(self) -> None:
        """Forget all of them: they are on record."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # other labs have outcomes, too
            self._folder.parent.rmdir()

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
