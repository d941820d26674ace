"""The record of an evaluation: one JSON line per answer, written as answers come.

A later line on the same item, model and prompt replaces an earlier one: a judged answer is a new
line. A torn last line, of a run that was killed while it wrote, is dropped; the rest stands.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path


class LogError(ValueError):
    """A record that cannot be read; the message names the line."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer and its score.

    fingerprint tells models of one name apart; prompt_hash is that of what the model was shown.
    score: None until it is judged. judge and verdicts: of open answers, by requirement; a None
    among the verdicts is a question that the judge did not answer clearly.
    """

    id: str
    task: str
    model: str
    fingerprint: str
    prompt_hash: str
    answer: str
    score: float | None
    is_valid: bool
    reason: str
    seconds: float
    labkit: str
    judge: str | None = None
    verdicts: list[bool | None] | None = None


class Log:
    """The rows of one record file, which is made if it does not exist.

    Raises: LogError for a line, other than a torn last one, that is no row.
    """

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows: dict[tuple[str, str, str], Row] = {}
        content = path.read_bytes() if path.exists() else b""
        complete, _, torn = content.rpartition(b"\n")
        for number, line in enumerate(complete.split(b"\n") if complete else [], start=1):
            self._keep(self._parsed(line, number))
        if torn:
            os.truncate(path, len(content) - len(torn))

    def find(self, item_id: str, fingerprint: str, prompt_hash: str) -> Row | None:
        """The newest row of an item, a model and what it was shown."""
        return self._rows.get((item_id, fingerprint, prompt_hash))

    def newest_fingerprint(self, model: str) -> str | None:
        """Of the model of that name that was evaluated last."""
        return next(
            (r.fingerprint for r in reversed(self._rows.values()) if r.model == model), None
        )

    def add(self, row: Row) -> None:
        """Append a row; it is on its way to the disk when this returns."""
        line = json.dumps(asdict(row), ensure_ascii=True) + "\n"
        with self.path.open("ab", buffering=0) as file:
            file.write(line.encode())
        self._keep(row)

    def _keep(self, row: Row) -> None:
        key = (row.id, row.fingerprint, row.prompt_hash)
        self._rows.pop(key, None)  # so that the newest row is the last
        self._rows[key] = row

    def _parsed(self, line: bytes, number: int) -> Row:
        try:
            return Row(**json.loads(line))
        except (ValueError, TypeError):
            names = ", ".join(field.name for field in fields(Row))
            raise LogError(
                f"{self.path}, line {number} is no row of an evaluation (wanted an object with "
                f"{names}): remove that line, or give another folder to --out"
            ) from None


def prompt_hash(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16]
