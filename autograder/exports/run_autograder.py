#!/usr/bin/env python3
"""Gradescope runs this for every submission: it copies the result that was made elsewhere."""

import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Find the one result of those who have submitted."""
    users = json.loads((HERE / "submission_metadata.json").read_text(encoding="utf-8"))["users"]
    names = [
        hashlib.sha256(user["email"].strip().casefold().encode()).hexdigest() for user in users
    ]
    paths = [HERE / "source" / "results" / f"{name}.json" for name in names]
    results = {path.read_text(encoding="utf-8") for path in paths if path.exists()}
    if len(results) != 1:
        sys.exit(f"{len(results)} results for this submission: ask the course's staff")
    (HERE / "results" / "results.json").write_text(results.pop(), encoding="utf-8")


if __name__ == "__main__":
    main()
