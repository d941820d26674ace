"""Digests of what marks depend on: a mark is made again when one of these has changed."""

import hashlib
import json
from dataclasses import asdict
from functools import cache

from autograder.builder.notebooks import build_notebook, to_bytes
from autograder.builder.source import REPOSITORY, Lab
from autograder.judging.jobs import Limits

MARKING_FILES = (
    "labkit/**/*.py",
    "autograder/**/*.py",
    "autograder/labs/**/*.toml",
    "data/**/*.toml",
    "data/**/*.json*",
    "data/**/*.txt",
)


@cache
def marking_files_digest() -> str:
    """A digest of the checks, the hidden cases, the grader, the answers and their facts."""
    digest = hashlib.sha256()
    for pattern in MARKING_FILES:
        for path in sorted(REPOSITORY.glob(pattern)):
            digest.update(f"{path.relative_to(REPOSITORY)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def grading_digest(lab: Lab, seed: int, limits: Limits, *, walled: bool) -> bytes:
    """A digest of all that marks depend on besides the submission.

    Which rung of the wall is in use is not part of it; whether there is a wall is.
    """
    parts = [lab.name, seed, walled, asdict(limits), marking_files_digest()]
    digest = hashlib.sha256(json.dumps(parts).encode())
    digest.update(to_bytes(build_notebook(lab, "student")))
    return digest.digest()
