"""What an output folder remembers for the next grading into it: seed, policy and roster."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from autograder.course.policy import Policy, read_policy
from autograder.course.roster import Roster, read_roster
from autograder.errors import Refusal
from autograder.files import write_whole

POLICY, ROSTER = "policy.toml", "roster.csv"


def seed_of(out: Path, wanted: int | None) -> int:
    """The seed of the hidden cases: the given one, else this folder's, else a new one.

    It is secret, and each submission has cases of its own by it (see `seed_of_cases`).
    Shards that start at the same moment all use the seed of the first one.
    Raises: Refusal if the folder's is no number.
    """
    path = out / "seed"
    if wanted is not None:
        write_whole(path, f"{wanted}\n".encode(), sync=True, shared=True)
    elif not path.exists():
        own = path.with_name(f".seed.{secrets.token_hex(8)}")
        try:
            write_whole(own, f"{secrets.randbits(64)}\n".encode(), sync=True)
            with suppress(FileExistsError):
                os.link(own, path)  # never over an existing one, not even on a network
        finally:
            own.unlink(missing_ok=True)
    try:
        return int(path.read_text())
    except ValueError:
        raise Refusal(f"{path} holds no number: give --seed, or remove that file") from None


def policy_of(out: Path, wanted: Path | None = None) -> Policy:
    """The rules for late work and attempts: as asked, else as this folder has them, else none.

    Raises: PolicyError.
    """
    path = wanted or out / POLICY
    return read_policy(path) if wanted or path.exists() else Policy()


def roster_of(out: Path, wanted: Path | None = None) -> Roster | None:
    """The people of the class: as asked, else as this folder has them, else unknown.

    Raises: RosterError.
    """
    path = wanted or out / ROSTER
    return read_roster(path) if wanted or path.exists() else None


def remember(out: Path, policy: Path | None, roster: Path | None) -> None:
    """Keep the policy and the roster that were asked for."""
    for wanted, name in ((policy, POLICY), (roster, ROSTER)):
        if wanted is not None:
            write_whole(out / name, wanted.read_bytes(), sync=True, shared=True)
