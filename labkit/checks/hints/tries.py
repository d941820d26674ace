"""How many versions of an exercise's code have failed a check.

They are counted in the notebook alone: the output of a check keeps them, so that they outlive a
restart of the kernel, and nothing sends them anywhere. Who hands in the notebook hands in its
outputs. A count can be forged, and no mark depends on it.
"""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.checks.names import MAGIC, bound_names
from labkit.checks.why.changes import definition_in, unchanged

MIME = "application/vnd.labkit.tries+json"
LAST_STEP = 3  # the hint, the smallest failing case, what the line must achieve
MOST_CHECKS, MOST_VERSIONS, DIGITS = 100, 20, 8


@dataclass
class Tries:
    """The versions of one exercise that failed, by check. is_passed: whether all passed last."""

    versions: dict[str, list[str]] = field(default_factory=dict)
    is_passed: bool = False

    def add(self, check: str, version: str) -> int:
        """Count a version that failed, if it is new; returns the step that is reached.

        Code that has no version, "", counts once.
        """
        known = self.versions.setdefault(check, [])
        if version not in known and len(known) < MOST_VERSIONS:
            known.append(version)
        return min(len(known), LAST_STEP)

    @property
    def step(self) -> int:
        """The farthest hint that was shown, 0 if there was none."""
        return min(max(map(len, self.versions.values()), default=0), LAST_STEP)

    def as_json(self) -> dict[str, Any]:
        return {"passed": self.is_passed, "versions": self.versions}


def version_of(cells: Sequence[str], exercise: str) -> str:
    """A digest of the newest code of an exercise, without comments; "" if no cell has any."""
    source = definition_in(cells, exercise)
    found = [source] if source else [each for each in cells if exercise in bound_names(each)]
    if not found:
        return ""
    code = unchanged(source, exercise) if source else found[-1]
    try:
        code = ast.dump(ast.parse(MAGIC.sub(r"\1pass", code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        code = code.strip()
    return hashlib.sha256(code.encode(errors="replace")).hexdigest()[:DIGITS]


def tries_in(notebook: Any) -> dict[str, Tries]:
    """The counts that the outputs of a notebook keep, by exercise; anything may stand in it."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    return dict(_tries(cells if isinstance(cells, list) else []))


def saved_tries(path: Path | None) -> dict[str, Tries]:
    """The same of a file; none if it cannot be read."""
    try:
        return tries_in(json.loads(path.read_bytes())) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _tries(cells: Sequence[Any]) -> Iterator[tuple[str, Tries]]:
    for cell in cells:
        match cell:
            case {
                "metadata": {"labkit": {"kind": "check", "name": str(name)}},
                "outputs": [*_, {"data": {**data}}],
            } if isinstance(found := data.get(MIME), Mapping):
                yield name.removeprefix("check_"), _read(found)


def _read(found: Mapping[str, Any]) -> Tries:
    versions = found.get("versions")
    rows = [*versions.items()][:MOST_CHECKS] if isinstance(versions, dict) else []
    return Tries(
        {
            check: [one[:DIGITS] for one in some[:MOST_VERSIONS] if isinstance(one, str)]
            for check, some in rows
            if isinstance(check, str) and isinstance(some, list)
        },
        found.get("passed") is True,
    )
