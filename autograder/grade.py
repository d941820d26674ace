"""Grading a lab: submissions in, results, gradebook and pages out.

Slots grade side by side; this process alone writes. A result's line in `results.jsonl` is written
last, so a grader that is killed at any moment goes on where it was: whatever has a line is done.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from autograder.builder.notebooks import build_notebook, to_bytes
from autograder.builder.source import REPOSITORY, Lab
from autograder.builder.wheel import write_folder
from autograder.collect import Submission, collect
from autograder.gradebook import CourseBook
from autograder.jobs import Limits, SlotSettings, pack_submission
from autograder.pool import Outcome, grade_side_by_side
from autograder.report import write_feedback, write_marks, write_report
from autograder.results import ERROR, Result, ResultLog, write_whole
from autograder.wall import strongest_rung

MARKING_FILES = (
    "labkit/**/*.py",
    "autograder/**/*.py",
    "autograder/keys/**/*.toml",
    "data/papers/*.toml",
)


@dataclass(frozen=True)
class Run:
    """The settings of one grading. seed: None takes the output folder's, or a fresh one."""

    jobs: int = 1
    seed: int | None = None
    sandbox: bool = True
    limits: Limits = field(default_factory=Limits)


def grade(lab: Lab, place: Path, out: Path, run: Run) -> list[Result]:
    """Grade all submissions of `lab` at `place` into the folder `out`; returns the lab's results.

    What has been graded with the same content, checks and seed is not graded again.
    Raises: NoSubmissions, NoWall, BusyError.
    """
    submissions = collect(place, lab.name)
    rung = strongest_rung() if run.sandbox else "none"
    log = ResultLog(out / "results.jsonl")
    try:
        seed = _seed_of(out, run.seed)
        common = _common_key(lab, seed, rung, run.limits)
        keys = {submission.student: _key(submission, common) for submission in submissions}
        todo = [s for s in submissions if not _is_done(log, lab.name, s.student, keys[s.student])]
        if todo:
            _grade_all(lab, todo, keys, log, out, run, seed, rung)
        results = log.finish(lab.name, set(keys))
        write_marks(out, results)
        write_report(out, results)
        return [result for result in results if result.lab == lab.name]
    finally:
        log.close()


def _grade_all(
    lab: Lab,
    todo: list[Submission],
    keys: dict[str, str],
    log: ResultLog,
    out: Path,
    run: Run,
    seed: int,
    rung: str,
) -> None:
    with TemporaryDirectory(prefix="autograder-") as scratch:
        settings = _slot_settings(lab, Path(scratch), seed, rung, run.limits)
        outcomes = grade_side_by_side(todo, settings, run.jobs)
        book = CourseBook(out / "course")  # the slots warm up while nbgrader is imported
        try:
            book.add_assignment(lab.name, build_notebook(lab, "instructor"))
            for outcome in tqdm(outcomes, total=len(todo), desc=lab.name, disable=None):
                result = replace(outcome.result, key=keys[outcome.submission.student])
                log.append(_recorded(result, outcome, book, out))
        finally:
            book.close()


def _recorded(result: Result, outcome: Outcome, book: CourseBook, out: Path) -> Result:
    """The result once gradebook and page have it; an "error" that says so if they cannot."""
    try:
        book.record(result, outcome.notebook, outcome.submission.content)
        write_feedback(out, result)
    except Exception as error:
        problem = f"Our error: the marks could not be recorded ({type(error).__name__}: {error})."
        return replace(result, status=ERROR, score=None, problem=problem)
    return result


def _slot_settings(lab: Lab, scratch: Path, seed: int, rung: str, limits: Limits) -> SlotSettings:
    """Write what slots read, the master and the student's labkit, and say where it is."""
    scratch.chmod(0o755)
    master = scratch / "master" / f"{lab.name}.ipynb"
    write_whole(master, to_bytes(build_notebook(lab, "student")))
    student_path = scratch / "student"
    write_folder(lab, student_path)
    return SlotSettings(
        lab=lab.name,
        master=str(master),
        student_path=str(student_path),
        seed=seed,
        rung=rung,
        **asdict(limits),
    )


def _is_done(log: ResultLog, lab: str, student: str, key: str) -> bool:
    known = log.results.get((lab, student))
    return known is not None and known.key == key and known.status != ERROR


def _seed_of(out: Path, wanted: int | None) -> int:
    """The seed of the hidden cases: as asked, else as this folder has it, else a fresh one."""
    path = out / "seed"
    if wanted is None and path.exists():
        return int(path.read_text())
    seed = secrets.randbits(32) if wanted is None else wanted
    write_whole(path, f"{seed}\n".encode())
    return seed


def _common_key(lab: Lab, seed: int, rung: str, limits: Limits) -> bytes:
    """A digest of all that marks depend on besides the submission."""
    digest = hashlib.sha256(json.dumps([lab.name, seed, rung, asdict(limits)]).encode())
    digest.update(to_bytes(build_notebook(lab, "student")))
    for pattern in MARKING_FILES:
        for path in sorted(REPOSITORY.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.digest()


def _key(submission: Submission, common: bytes) -> str:
    packed = json.dumps(pack_submission(submission), sort_keys=True)
    return hashlib.sha256(common + packed.encode()).hexdigest()
