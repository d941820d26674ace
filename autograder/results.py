"""The result of one submission, and the log that keeps results whatever happens to the grader.

`results.jsonl` is the record: one JSON object per line, appended and synced as each submission is
done, sorted by student when a run is complete. A torn last line is dropped; the rest stands.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

GRADED, PARTLY, UNGRADABLE, ERROR = "graded", "partly", "ungradable", "error"


@dataclass(frozen=True)
class CheckResult:
    """One named check of one exercise. claim and hint are what the student reads beside it."""

    exercise: str
    check: str
    points: float
    max_points: float
    passed: bool
    message: str
    claim: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Result:
    """What one submission gets.

    status: "graded"; "partly" (`problem` says what ended it); "ungradable" (`problem` says why, for
    the TA and the student); "error" (ours; such a row never counts as zero points).
    written: the answers to be marked by hand, with their points; they are not part of the score.
    key: what the result depends on, hashed; seconds and peak_mb are the only parts that vary.
    """

    student: str
    lab: str
    status: str
    score: float | None
    max_score: float
    checks: list[CheckResult] = field(default_factory=list)
    written: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    flags: list[str] = field(default_factory=list)
    file_name: str = ""
    key: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def by_exercise(self) -> dict[str, list[CheckResult]]:
        """The checks of each exercise, in order."""
        groups: dict[str, list[CheckResult]] = {}
        for check in self.checks:
            groups.setdefault(check.exercise, []).append(check)
        return groups

    def to_json(self) -> str:
        """One line of results.jsonl."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, line: str) -> Result:
        """Read a line that `to_json` wrote. Raises ValueError for anything else."""
        try:
            fields = json.loads(line)
            checks = [CheckResult(**check) for check in fields.pop("checks")]
            return cls(checks=checks, **fields)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a result: {error}") from error

    def without_measurements(self) -> dict:
        """All of it that must be the same in every grading of the same submission."""
        return {k: v for k, v in asdict(self).items() if k not in ("seconds", "peak_mb")}


def score_of(checks: Iterable[CheckResult]) -> float:
    """The points earned, to the cent."""
    return round(sum(check.points for check in checks), 2)


RESULT_SCHEMA = {
    "type": "object",
    "required": ["student", "lab", "status", "score", "max_score", "checks", "flags", "seconds",
                 "versions"],
    "properties": {
        "student": {"type": "string", "minLength": 1},
        "lab": {"type": "string", "minLength": 1},
        "status": {"enum": [GRADED, PARTLY, UNGRADABLE, ERROR]},
        "score": {"type": ["number", "null"], "minimum": 0},
        "max_score": {"type": "number", "minimum": 0},
        "seconds": {"type": "number", "minimum": 0},
        "flags": {"type": "array", "items": {"type": "string"}},
        "versions": {"type": "object"},
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["exercise", "check", "points", "max_points", "passed", "message"],
                "properties": {
                    "exercise": {"type": "string"},
                    "check": {"type": "string"},
                    "points": {"type": "number", "minimum": 0},
                    "max_points": {"type": "number", "minimum": 0},
                    "passed": {"type": "boolean"},
                    "message": {"type": "string"},
                },
            },
        },
    },
}  # fmt: skip


class ResultLog:
    """`results.jsonl`, appended to line by line; the last line of a student counts."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.results: dict[str, Result] = {}
        for line in self._whole_lines():
            try:
                result = Result.from_json(line)
            except ValueError:
                continue  # a damaged line costs that submission a second grading, nothing else
            self.results[result.student] = result

    def append(self, result: Result) -> None:
        """Write one result so that it survives the grader being killed right after."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(result.to_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.results[result.student] = result

    def finish(self, students: Iterable[str]) -> list[Result]:
        """Rewrite the log with these students' results, sorted; returns them."""
        results = [self.results[student] for student in sorted(students)]
        text = "".join(result.to_json() + "\n" for result in results)
        write_durably(self._path, text.encode())
        return results

    def _whole_lines(self) -> list[str]:
        """The complete lines; a torn one at the end is cut off the file."""
        if not self._path.exists():
            return []
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            write_durably(self._path, whole)
        return whole.decode("utf-8", "replace").splitlines()


def read_results(path: Path) -> list[Result]:
    """The results of a run, by student."""
    results = ResultLog(path).results
    return [results[student] for student in sorted(results)]


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file in one step: a reader, or a crash, sees the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
