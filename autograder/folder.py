"""What an output folder remembers for the next grading into it: seed, policy and roster."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autograder.course.policy import Policy, read_policy
from autograder.course.roster import Roster, read_roster


def seed_of(out: Path, wanted: int | None) -> int:
    """The seed of the hidden cases: as asked, else as this folder has it, else a fresh one.

    Shards that start at the same moment agree: the first one's seed is everybody's.
    """
    path = out / "seed"
    if wanted is not None:
        _remember(path, f"{wanted}\n".encode())
    elif not path.exists():
        with (
            _own_file(path, f"{secrets.randbits(32)}\n".encode()) as own,
            suppress(FileExistsError),
        ):
            os.link(own, path)  # never over an existing one, not even on a network
    return int(path.read_text())


def policy_of(out: Path, wanted: Path | None) -> Policy:
    """The rules for late work and attempts: as asked, else as this folder has them, else none.

    Raises: PolicyError.
    """
    path = out / "policy.toml"
    if wanted is not None:
        policy = read_policy(wanted)
        _remember(path, wanted.read_bytes())
        return policy
    return read_policy(path) if path.exists() else Policy()


def roster_of(out: Path, wanted: Path | None) -> Roster | None:
    """The people of the class: as asked, else as this folder has them, else unknown.

    Raises: RosterError.
    """
    path = out / "roster.csv"
    if wanted is not None:
        roster = read_roster(wanted)
        _remember(path, wanted.read_bytes())
        return roster
    return read_roster(path) if path.exists() else None


def _remember(path: Path, content: bytes) -> None:
    """Write a file at once, though other shards may do the same."""
    with _own_file(path, content) as own:
        own.replace(path)


@contextmanager
def _own_file(path: Path, content: bytes) -> Iterator[Path]:
    """Content in a file beside `path` that no other process uses, for as long as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        own.write_bytes(content)
        yield own
    finally:
        own.unlink(missing_ok=True)
