"""The fact tables: models and GPUs, each number with its source (see `data/README.md`)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def data_path(name: str) -> Path:
    """A file of the kit's data folder: inside an installed labkit, beside it in the repository.

    Raises: FileNotFoundError naming the file.
    """
    for folder in (_HERE / "data", _HERE.parent / "data"):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"labkit's data folder has no {name}: is the installation complete?")


@cache
def models() -> dict[str, dict]:
    """Facts of each model by its hub name, for instance "Qwen/Qwen3-14B"."""
    return json.loads(data_path("models.json").read_text(encoding="utf-8"))["models"]


@cache
def gpus() -> dict[str, dict]:
    """Facts of each GPU by its short name, for instance "L40S"."""
    return json.loads(data_path("gpus.json").read_text(encoding="utf-8"))["gpus"]
