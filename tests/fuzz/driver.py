"""Fuzz the readers of hostile bytes: `python tests/fuzz SECONDS [TARGET ...]`, SECONDS for each.

An input that fails is saved in tests/fuzz/findings, where test_fuzz.py replays it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from targets import TARGETS
from trying import FINDINGS

PATIENCE_S = 60
ONE_TARGET = Path(__file__).with_name("one_target.py")


def fuzz(name: str, seconds: float, engine: str, folder: Path = FINDINGS) -> dict:
    """Fuzz one target; says how many inputs were tried, and what failed by the file it is in."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Path(scratch, "log").open("w+") as log:
        current = Path(scratch, "current")
        command = [sys.executable, ONE_TARGET, name, str(seconds), engine, folder, current]
        said = ""
        with contextlib.suppress(subprocess.TimeoutExpired):
            said = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=log, text=True, timeout=seconds + PATIENCE_S
            ).stdout
        if said:
            return json.loads(said)
        path = folder / f"{name}-ended"
        path.write_bytes(current.read_bytes() if current.exists() else b"")
        log.seek(0)
        return {"n_inputs": 0, "findings": {path.name: log.read()[-2000:]}}


def main() -> int:
    """Fuzz all targets, or those that are named."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, help="for each target")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"no target {unknown.pop()!r}: there are {', '.join(TARGETS)}")
    engine = "atheris" if find_spec("atheris") else "hypothesis"
    n_found = 0
    for name in arguments.targets or TARGETS:
        outcome = fuzz(name, arguments.seconds, engine)
        n_found += len(outcome["findings"])
        print(
            f"{name}: {outcome['n_inputs']:,} inputs in {arguments.seconds:g} s under {engine}, "
            f"{len(outcome['findings'])} failed",
            flush=True,
        )
        for file, reason in outcome["findings"].items():
            print(f"  {FINDINGS / file}\n{reason}")
    return 1 if n_found else 0
