"""The result of one submission: marks by check, and the line of JSON that keeps it.

Every line has its own checksum, so that a damaged one is found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from functools import cache
from pathlib import Path
from typing import Any

from labkit.checks.core import GATE_SENTENCE, HIDDEN, UNDECIDED_SENTENCE
from labkit.checks.outline import outline_of
from labkit.checks.unjudged import is_stop

GRADED, PARTLY, UNGRADABLE, ERROR = "graded", "partly", "ungradable", "error"
BESIDE = "beside.json"  # what came with a notebook, in the folder of what was submitted
HANDED_IN = "handed_in"  # there, too: a file that is no notebook


@dataclass(frozen=True)
class CheckResult:
    """One named check of one exercise. claim and hint are what the student reads beside it.

    status: "passed", "failed", "todo" for what is still to be written, "unjudged" where another
    check has to be mended first, or "undecided": a person has to look, and until then it earns what
    the exercise's other checks do of their points; cause:
    what is wrong, as several students may have it; expected and got: what differs; gate: while it
    is not passed, the exercise earns at most half; case: the place of the hidden case that failed,
    -1 if it is not known; shown: the message without what the student's code said of a hidden case,
    "" if it said nothing. Lines of earlier versions have none of the seven: they are "passed" or
    "failed", never "todo", and count for no cause.
    """

    exercise: str
    check: str
    points: float
    max_points: float
    passed: bool
    message: str
    claim: str = ""
    hint: str = ""
    status: str = ""
    cause: str = ""
    expected: str = ""
    got: str = ""
    gate: bool = False
    case: int = -1
    shown: str = ""

    def __post_init__(self) -> None:
        if not self.status:
            object.__setattr__(self, "status", "passed" if self.passed else "failed")

    @property
    def explanation(self) -> str:
        """The message, and what the check means for the exercise; "" if it has passed."""
        return self._explained(self.message)

    @property
    def explanation_before_the_end(self) -> str:
        """The same without the value that a hidden case expects; a next attempt could return it.

        Neither does it show what the student's own code said, for that could be the case itself.
        """
        text = self._explained(self.shown or self.message)
        if not self.message.startswith(HIDDEN):
            return text
        return text.replace(f"expected {self.expected}, got ", "got ")

    def _explained(self, message: str) -> str:
        if self.passed:
            return ""
        meanings = {"undecided": UNDECIDED_SENTENCE, "unjudged": ""}
        of_gate = GATE_SENTENCE if self.gate and not is_stop(self) else ""
        meaning = meanings.get(self.status, of_gate)
        return "\n".join(filter(None, (message, meaning)))


@dataclass(frozen=True)
class Result:
    """The result of one submission.

    status: "graded"; "partly" (`problem` says what ended it); "ungradable" (`problem` says why, for
    the TA and the student); "error" (ours; such a row never counts as zero points).
    written: the answers to be marked by hand, with their points; they are not part of the score.
    attempt: which of n_attempts counts here, handed in at submitted_at ("" if unknown) by `group`
    ("" if alone). late: what the course's policy says of that, in a sentence; late_factor: what is
    left of all marks, those given by hand included. score is what the checks gave, before that.
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
    group: str = ""
    attempt: int = 1
    n_attempts: int = 1
    submitted_at: str = ""
    late: str = ""
    late_factor: float = 1.0
    key: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> str:
        """The seed of the hidden cases that it was judged on, "" if none is on record.

        Earlier versions judged all submissions on cases of the folder's seed.
        """
        return self.versions.get("seed", "")

    @property
    def by_exercise(self) -> dict[str, list[CheckResult]]:
        """The checks of each exercise, in order."""
        groups: dict[str, list[CheckResult]] = {}
        for check in self.checks:
            groups.setdefault(check.exercise, []).append(check)
        return groups

    @property
    def parts(self) -> list[str]:
        """The exercises and the written answers, in the order of the notebook."""
        found = [*self.by_exercise, *self.written]
        known = [part.name for part in outline_of(self.lab.partition("_")[2])]
        return sorted(found, key=lambda name: known.index(name) if name in known else -1)

    @property
    def undecided(self) -> set[str]:
        """The exercises with a check that a person has to decide."""
        return {check.exercise for check in self.checks if check.status == "undecided"}

    def as_fields(self) -> dict:
        """All fields as plain dicts and lists, for writing; do not change them."""
        return {**vars(self), "checks": [vars(check) for check in self.checks]}

    def to_json(self) -> str:
        """One line of results.jsonl, with its checksum."""
        fields = self.as_fields()
        return json.dumps(fields | {"checksum": _checksum(fields)})

    @classmethod
    def from_json(cls, line: str) -> Result:
        """Read a line that `to_json` wrote, or the bare fields. Raises ValueError otherwise."""
        try:
            fields = json.loads(line)
            checksum = fields.pop("checksum", None)
            if checksum is None:
                _refuse_other(fields)
            if checksum not in (None, _checksum(fields)):
                raise ValueError("not the result that was written: the line is damaged")
            checks = [CheckResult(**check) for check in fields.pop("checks")]
            return cls(checks=checks, **fields)
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a result: {error}") from error

    def without_measurements(self) -> dict:
        """All fields that must be equal in every grading of the same submission."""
        return {k: v for k, v in self.as_fields().items() if k not in ("seconds", "peak_mb")}


def _checksum(fields: dict) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def submitted_path(notebook: Path, result: Result) -> Path:
    """Where the file of a result lies. notebook: where it does if it is a notebook."""
    return notebook if result.file_name.endswith(".ipynb") else notebook.with_name(HANDED_IN)


def score_of(checks: Iterable[CheckResult]) -> float:
    """The points earned, to the cent."""
    return round(sum(check.points for check in checks), 2)


TYPES = {  # a field's annotation, and what JSON may hold there
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number", "minimum": 0},
    "float | None": {"type": ["number", "null"], "minimum": 0},
    "bool": {"type": "boolean"},
    "list[str]": {"type": "array", "items": {"type": "string"}},
    "dict[str, str]": {"type": "object", "additionalProperties": {"type": "string"}},
    "dict[str, float]": {"type": "object", "additionalProperties": {"type": "number"}},
}


def _schema_of(kind: type, required: str, **narrower: dict) -> dict:
    """The JSON of a dataclass. narrower: fields of which not every value of their type is one."""
    plain = {each.name: TYPES[each.type] for each in fields_of(kind) if each.name not in narrower}
    return {"type": "object", "required": required.split(), "properties": plain | narrower}


CHECK_SCHEMA = _schema_of(
    CheckResult,
    "exercise check points max_points passed message",
    status={"enum": ["passed", "failed", "todo", "unjudged", "undecided"]},
)
RESULT_SCHEMA = _schema_of(
    Result,
    "student lab status score max_score checks flags seconds versions",
    student={"type": "string", "minLength": 1},
    lab={"type": "string", "minLength": 1},
    status={"enum": [GRADED, PARTLY, UNGRADABLE, ERROR]},
    late_factor={"type": "number", "minimum": 0, "maximum": 1},
    checks={"type": "array", "items": CHECK_SCHEMA},
)


def _refuse_other(fields: Any) -> None:
    try:
        _validator()(fields)
    except ValueError as error:
        raise ValueError(f"not a result: {error}") from error


@cache
def _validator() -> Callable[[Any], Any]:
    import fastjsonschema

    return fastjsonschema.compile(RESULT_SCHEMA)
