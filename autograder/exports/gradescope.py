"""Gradescope: an autograder to upload, which hands everyone the result that we have for them.

Gradescope imports no marks, but it believes an autograder. This one runs nothing of the student's:
it looks up who has submitted and copies that person's `results.json`. Files go by a digest of the
e-mail address, so that no name from a roster is ever a path.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files

from autograder.exports.sheet import ExportEntry, ExportError, ExportSheet, as_csv, called
from autograder.files import zip_bytes
from autograder.record.by_hand import HandMark
from autograder.record.marks import as_points, no_formula
from autograder.record.results import CheckResult

SETUP = "#!/usr/bin/env bash\n"
PLAIN = {"output_format": "text", "test_output_format": "text", "test_name_format": "text"}


def as_autograder(sheet: ExportSheet, columns: Mapping[str, str]) -> bytes:
    """A zip with setup.sh, run_autograder, a result for each e-mail address, and marks.csv.

    Raises: ExportError if there are several labs, or no e-mail addresses.
    """
    lab = sheet.one_lab("Gradescope")
    emails = Counter(_digest(person.email) for person in sheet.people if person.email)
    if sheet.roster is None or not emails:
        raise ExportError("a Gradescope export needs a --roster with e-mail addresses")
    for person in sheet.people:
        if emails[_digest(person.email)] > 1:
            raise ExportError(f"the roster has {person.email} more than once: correct it first")
    parts = sheet.parts(lab)
    asked = [f"{name} ({as_points(of)})" for name, of in parts.items()]
    marks = [["Email", "SID", "Name", columns.get(lab, lab), "Max Points", *asked]]
    content = {"setup.sh": SETUP, "run_autograder": _runner()}
    for person, entries in sheet.rows():
        for entry in entries.values():
            if not person.email:
                sheet.notes.append(
                    f"{lab}: no result for {called(person)}: the roster has no e-mail address."
                )
                continue
            content[f"results/{_digest(person.email)}.json"] = json.dumps(
                results_json(entry, sheet.worth[lab]), indent=1
            )
            known = [person.email, person.student_id, person.name]
            points = [as_points(entry.points), as_points(sheet.worth[lab])]
            points += entry.shown_parts(parts)
            marks.append([no_formula(text) for text in [*known, *points]])
    content["marks.csv"] = as_csv(marks).decode()
    files = {name: text.encode() for name, text in sorted(content.items())}
    return zip_bytes(files, mode=0o644)


def results_json(entry: ExportEntry, worth: float) -> dict:
    """One person's result in the format of Gradescope's autograder specification.

    The score is the total: it counts even if the tests below it add up to another number.
    """
    mark, result = entry.mark, entry.result
    by_hand = {hand.exercise: hand for hand in mark.hand if hand.points is not None}
    checks = [_of_check(check) for check in result.checks if check.exercise not in by_hand]
    lines = [mark.remark, *_sums(entry, worth)]
    return {
        "score": entry.points,
        "execution_time": round(result.seconds),
        "output": "\n".join(filter(None, lines)),
        **PLAIN,
        "tests": [*checks, *map(_of_hand, by_hand.values())],
        "extra_data": {"lab": mark.lab, "attempt": result.attempt, "late_factor": mark.late_factor},
    }


def _sums(entry: ExportEntry, worth: float) -> list[str]:
    mark = entry.mark
    lines = [f"{as_points(mark.total)} of {as_points(mark.of)} points."]
    if mark.late_factor != 1:
        lines.append(f"{as_points(mark.late_factor)} of all points count.")
    if worth != mark.of:
        lines.append(f"On this scale, that is {as_points(entry.points)} of {as_points(worth)}.")
    return lines


def _of_check(check: CheckResult) -> dict:
    return {
        "name": f"{check.exercise}: {check.claim or check.check}",
        "score": check.points,
        "max_score": check.max_points,
        "status": "passed" if check.passed else "failed",
        "output": check.explanation_before_the_end,
    }


def _of_hand(hand: HandMark) -> dict:
    return {
        "name": f"{hand.exercise}: read by a person",
        "score": hand.points,
        "max_score": hand.of,
        "status": "passed" if hand.points >= hand.of else "failed",
        "output": hand.comment,
    }


def _digest(email: str) -> str:
    return hashlib.sha256(email.strip().casefold().encode()).hexdigest()


def _runner() -> str:
    return (files("autograder.exports") / "run_autograder.py").read_text(encoding="utf-8")
