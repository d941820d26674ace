"""Shards, and outcomes on their way from them to the record.

A shard grades its part of the submissions and leaves each outcome in a file of its own, named by
what the outcome depends on. A grading of the whole takes them from there instead of grading again.
Shards need nothing in common but the output folder, which may be on a network.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.grading.pool import Outcome
from autograder.intake.collect import Submission


@dataclass(frozen=True)
class Shard:
    """Part `number` of `n` parts of equal size, numbered from 1."""

    number: int
    n: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.n:
            raise ValueError(f"shards are 1/n to n/n, got {self.number}/{self.n}")

    @classmethod
    def from_text(cls, text: str) -> Shard:
        """Read "2/8". Raises: Refusal."""
        try:
            number, n = map(int, text.split("/"))
            return cls(number, n)
        except ValueError:
            raise Refusal(
                f"--shard needs I/N with I from 1 to N, such as 2/8, got {text}"
            ) from None

    def part_of(self, items: list) -> list:
        """This shard's items; over all shards each item is in one of them."""
        return items[self.number - 1 :: self.n]


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
