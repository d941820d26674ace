"""Marking the notebooks of questions: letters against the keys that stayed with the grader.

Nothing of such a notebook is run, and no text of it counts but the letters. The questions, their
keys and the points are those that were kept when it was made for this student.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from autograder.builder.source import Lab
from autograder.grading.attempts import works_of
from autograder.grading.grade import (
    GradingSettings,
    check_absent,
    recorded,
    submissions_of,
    write_class,
)
from autograder.grading.pool import Outcome
from autograder.intake.collect import Submission
from autograder.intake.master import read_master
from autograder.intake.read import Unreadable, decoded, read_with_notes
from autograder.intake.rebuild import rebuild
from autograder.judging.asking.sheet import Question
from autograder.oral.notebooks import (
    MARKED,
    Asked,
    asked_or_refused,
    letters_in,
    model_notebook,
    notebook_of,
    worth_of,
)
from autograder.places import ORAL
from autograder.record.folder import policy_of, remember
from autograder.record.gradebook import CourseBook
from autograder.record.log import ResultLog
from autograder.record.results import GRADED, UNGRADABLE, CheckResult, Result, score_of

UNANSWERED = "No letter stands here."
HINT = "Make the change in a copy of your cell, and run its check or the call there."


def mark_notebooks(lab: Lab, place: Path, out: Path, run: GradingSettings) -> list[Result]:
    """Mark all notebooks of questions about a lab at `place`; of several attempts the last counts.

    Raises: Refusal if none was made for the lab; else as `grade`.
    """
    about = lab.name.removesuffix(ORAL)
    asked = asked_or_refused(out, about)
    points = worth_of(about, asked)
    submissions = submissions_of(lab, place, out, run)
    remember(out, run.policy, run.roster)
    rule = replace(policy_of(out), attempts="last")
    works = works_of(submissions, lab.name, rule, b"")
    students = {work.student for work in works}
    with closing(ResultLog(out / "results.jsonl")) as log:
        check_absent(out, log, lab.name, students)
        with closing(CourseBook(out / "course")) as book:
            book.add_assignment(lab.name, model_notebook(about, points))
            for work in works:
                attempt = work.to_grade[-1]
                outcome = marked(attempt.submission, about, asked, points)
                log.append(recorded(work.counted({attempt.key: outcome}), book, out))
        results = log.finish(lab.name, students)
        write_class(out, lab, results)
    return [result for result in results if result.lab == lab.name]


def marked(submission: Submission, about: str, asked: dict[str, Asked], points: float) -> Outcome:
    """What one notebook earns, and what to show of it."""
    result = Result(submission.student, about + ORAL, UNGRADABLE, None, points)
    own = asked.get(submission.student)
    try:
        if submission.problem:
            raise Unreadable(submission.problem)
        if own is None:
            raise Unreadable(f"no notebook of questions about {about} was made for this student")
        text = decoded(submission.content)[0]
        cells, notes = read_with_notes(submission.content, submission.file_name)
        others = [name for name, each in asked.items() if each is not own and each.number in text]
        if others and own.number not in text:
            result = replace(result, flags=[f"The notebook was made for {', '.join(others)}."])
            raise Unreadable("it was made for another student: hand in your own notebook")
        rebuilt = rebuild(read_master(notebook_of(about, own), about + ORAL), cells)
        if rebuilt.problem:
            raise Unreadable(rebuilt.problem)
    except Unreadable as error:
        problem = f"This submission could not be graded: {error}."
        return Outcome(submission, replace(result, problem=problem), [])
    if own.number not in text:
        notes = [*notes, "the number of the notebook is gone: its letters were marked all the same"]
    sources = {cell.metadata.labkit.name: cell.source for cell in rebuilt.notebook
               if cell.metadata.get("labkit", {}).get("kind") == "answer"}  # fmt: skip
    checks = checks_of_letters(own, letters_in(sources))
    result = replace(result, status=GRADED, score=score_of(checks), checks=checks,
                     flags=[*notes, *rebuilt.notes])  # fmt: skip
    return Outcome(submission, result, rebuilt.notebook)


def checks_of_letters(asked: Asked, letters: dict[str, str]) -> list[CheckResult]:
    """A line for each question. Before the end, a page says of a wrong letter only that."""
    shares = _shares(asked.points, len(asked.questions))
    return [
        _check(name, question, letters.get(name, ""), share)
        for (name, question), share in zip(asked.questions.items(), shares, strict=True)
    ]


def _check(name: str, question: Question, letter: str, share: float) -> CheckResult:
    number = name.removeprefix("q")
    is_right = letter == question.letter
    said = f"Your answer is {letter}, and it is not right." if letter else UNANSWERED
    key = f"The key is {question.letter}: {question.options[question.right]}"
    return CheckResult(
        MARKED,
        name,
        share if is_right else 0.0,
        share,
        is_right,
        "" if is_right else "\n".join(filter(None, [said, key, question.why])),
        claim=f"{number}. `{question.exercise}`: {question.sentence}",
        hint=HINT,
        status="passed" if is_right else "failed" if letter else "todo",
        shown=said,
    )


def _shares(points: float, n: int) -> list[float]:
    """The points of each question; the last one takes what rounding leaves."""
    share = round(points / n, 4)
    return [*[share] * (n - 1), round(points - share * (n - 1), 4)]
