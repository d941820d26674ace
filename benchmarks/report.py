"""The record of a bench: a file below `build/bench`, and the same text on the screen."""

import json
from pathlib import Path


def report(path: Path, found: dict, *, quick: bool = False) -> None:
    """Write and print what one of the programs of `make bench` has found.

    A quick run writes into a file of its own, so that no measured record is lost.
    """
    path = path.with_stem(f"{path.stem}-quick") if quick else path
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1)
    path.write_text(text + "\n")
    print(text)
