"""The messages from the grader to a slot: its settings, and submissions as JSON."""

import hashlib
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from autograder.intake.collect import Submission


@dataclass(frozen=True)
class Limits:
    """Limits in seconds of the student's own time (see own_time): of a cell, of a check, of the
    cells that hold no answer together, of a whole submission with all that is run again.
    """

    cell_s: float = 30.0
    check_s: float = 20.0
    cells_s: float = 120.0
    submission_s: float = 300.0


@dataclass(frozen=True, kw_only=True)
class SlotSettings(Limits):
    """The settings of a slot.

    master: the master notebook's file; student_path: the folder with the student's labkit; rung:
    how strong the wall is; uid: the user that student code runs as when the grader is root; cpu:
    the processor to stay on, for judge and student take turns and every change of it costs;
    exercises: those whose checks are played, all if empty; seed: see `seed_of_cases`.
    """

    lab: str
    master: str
    student_path: str
    seed: int
    rung: str
    uid: int = 65534
    cpu: int | None = None
    memory_mb: int = 4096
    exercises: tuple[str, ...] = ()


def pack_content(submission: Submission) -> dict[str, Any]:
    """The content of a submission that its outcome depends on, as JSON."""
    return {
        "file_name": submission.file_name,
        "problem": submission.problem,
        "content": b64encode(submission.content).decode(),
        "extra": {name: b64encode(data).decode() for name, data in submission.extra.items()},
        "left_out": [*submission.left_out],
        "passed_over": [*submission.passed_over],
        "own_ids": [*submission.own_ids],
    }


def seed_of_cases(seed: int, submission: Submission) -> str:
    """The seed of the hidden cases that a submission is judged on.

    seed: the output folder's. The same content has the same cases in each grading of the folder,
    whoever handed it in. Content that was changed has others, so nobody can return what a page said
    of an earlier attempt. Nor can students search for content with easy cases: they do not know the
    folder's seed.
    """
    packed = pack_content(submission)
    parts = [seed, packed["content"], sorted(packed["extra"].items())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def pack_submission(submission: Submission) -> dict[str, Any]:
    """A submission as JSON; when it was handed in stays here."""
    ids = {"student": submission.student, "others_ids": [*submission.others_ids]}
    return ids | pack_content(submission)


def unpack_submission(packed: dict[str, Any]) -> Submission:
    """The submission that `pack_submission` packed."""
    packed["content"] = b64decode(packed["content"])
    packed["extra"] = {name: b64decode(data) for name, data in packed["extra"].items()}
    return Submission(**packed)
