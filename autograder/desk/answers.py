"""The written answers of an output folder, without names: what the desk shows.

An answer's public name is made from a secret of the gradebook, so it says nothing of the student,
and its order among the others is another one for every question.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock

from autograder.builder.source import Lab, find_lab
from autograder.desk.groups import Group, groups_of
from autograder.desk.outputs import Output, outputs_of, pictures_beside
from autograder.desk.rubric import Question, questions_of
from autograder.desk.states import AnswerId, digest_of
from autograder.names import names_in_text
from autograder.record.log import read_results
from autograder.record.results import Result, submitted_path


@dataclass(frozen=True)
class Answer:
    """One student's answer.

    own: what the question names of this notebook, by name; noted: sentences on where the answer
    stands, and on pictures that cannot be shown.
    """

    id: str
    key: AnswerId
    text: str
    pictures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    noted: tuple[str, ...] = ()

    @property
    def compared(self) -> str:
        """The identity of an answer: its text, and a digest of its pictures."""
        if not self.pictures:
            return self.text
        pictures = json.dumps(dict(self.pictures), sort_keys=True).encode()
        return f"{self.text} {hashlib.sha256(pictures).hexdigest()}"

    @cached_property
    def digest(self) -> str:
        """Changes with everything that a person reads of this answer."""
        return _digest([self.text, dict(self.pictures), dict(self.own), self.noted])


@dataclass
class AnswerSheet:
    """All answers to one question, in their order."""

    question: Question
    answers: dict[str, Answer]

    @cached_property
    def groups(self) -> dict[str, Group]:
        """The group of each answer, by id."""
        texts = {name: answer.compared for name, answer in self.answers.items()}
        code = {name: _digest(dict(answer.own)) for name, answer in self.answers.items()}
        groups = groups_of(texts, self.question.model, self.question.cell, beside=code)
        return {name: group for group in groups for name in group.members}


class Answers:
    """The answers below an output folder; a lab is read when it is first asked for, and anew after
    each grading."""

    def __init__(self, out: Path, secret: str) -> None:
        self._out, self._secret = out, secret.encode()
        self._read: dict[str, tuple[int, dict[str, AnswerSheet]]] = {}
        self._results: tuple[int, list[Result]] = (0, [])
        self._by_student: tuple[list[Result], dict[tuple[str, str], Result]] = ([], {})
        self._lock = Lock()

    def read_all(self) -> None:
        """Read every answer and its group, so that no question has to wait for it."""
        for question in self.questions():
            if sheet := self.sheet(question.lab, question.name):
                _ = sheet.groups

    def results(self) -> list[Result]:
        """The current record."""
        path = self._out / "results.jsonl"
        stamp = path.stat().st_mtime_ns if path.exists() else 0
        if self._results[0] != stamp:
            self._results = (stamp, read_results(path))
        return self._results[1]

    def labs(self) -> list[Lab]:
        """The labs that were graded."""
        return [find_lab(name) for name in sorted({result.lab for result in self.results()})]

    def questions(self) -> list[Question]:
        """The written questions of these labs, in order."""
        return [question for lab in self.labs() for question in questions_of(lab)]

    def sheet(self, lab: str, question: str) -> AnswerSheet | None:
        """The answers to one question; None if there is no such question."""
        results = self.results()
        if lab not in {result.lab for result in results}:
            return None
        with self._lock:
            stamp, sheets = self._read.get(lab, (0, {}))
            if stamp != self._results[0]:
                sheets = self._sheets(lab)
                self._read[lab] = (self._results[0], sheets)
        return sheets.get(question)

    def find(self, name: str) -> tuple[AnswerSheet, Answer] | None:
        """An answer by its public name."""
        for question in self.questions():
            sheet = self.sheet(question.lab, question.name)
            if sheet and name in sheet.answers:
                return sheet, sheet.answers[name]
        return None

    def cells(self, lab: str, student: str) -> dict[str, dict]:
        """The cells of a student's graded notebook by name; none if it cannot be read."""
        named = [cell for cell in self._graded(lab, student) if "nbgrader" in cell["metadata"]]
        return {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in named}

    def result(self, lab: str, student: str) -> Result | None:
        """The current result of a student for a lab."""
        results = self.results()
        if self._by_student[0] is not results:
            self._by_student = (results, {(each.lab, each.student): each for each in results})
        return self._by_student[1].get((lab, student))

    def submission_id(self, lab: str, student: str) -> str:
        """The public name of all that a student handed in for a lab."""
        return self._id(AnswerId(lab, "", student))

    def submission(self, name: str) -> Result | None:
        """The result of a submission by its public name."""
        found = (
            each for each in self.results() if self.submission_id(each.lab, each.student) == name
        )
        return next(found, None)

    def submitted(self, result: Result) -> bytes:
        """The file as it was handed in; empty if there is none."""
        folder = self._out / "course" / "submitted" / result.student / result.lab
        path = submitted_path(folder / f"{result.lab}.ipynb", result)
        return path.read_bytes() if path.is_file() else b""

    def digest(self, key: AnswerId) -> str:
        """A digest of what was handed in last: of a written answer, or of an exercise's code.

        Of what could not be graded, or was not decided, a person reads the whole file.
        """
        result, name = self.result(key.lab, key.student), key.question.removeprefix("check_")
        if result and (result.score is None or name in result.undecided):
            content = hashlib.sha256(self.submitted(result)).hexdigest()
            return _digest([content, result.file_name, result.problem])
        cells = self.cells(key.lab, key.student)
        for question in questions_of(find_lab(key.lab)):
            if question.name == key.question and name in cells:
                return _answer("", key, question, cells).digest
        return _digest(_source(cells.get(name, {"source": ""})))

    def outputs(self, answer: Answer) -> list[Output]:
        """The tables and figures of an answer's notebook."""
        return outputs_of(self._out, answer.key)

    def beside(self, answer: Answer) -> tuple[str, Mapping[str, Mapping[str, str]]]:
        """The pictures that came beside an answer's notebook, as Markdown."""
        return pictures_beside(self._graded(answer.key.lab, answer.key.student))

    def _graded(self, lab: str, student: str) -> list[dict]:
        path = self._out / "course" / "autograded" / student / lab / f"{lab}.ipynb"
        try:
            return json.loads(path.read_bytes())["cells"]
        except (OSError, ValueError, KeyError):
            return []

    def _sheets(self, lab: str) -> dict[str, AnswerSheet]:
        cells = {  # what could not be graded is no answer, not even a blank one
            result.student: {} if result.score is None else self.cells(lab, result.student)
            for result in self.results()
            if result.lab == lab
        }
        return {
            question.name: self._sheet(question, cells) for question in questions_of(find_lab(lab))
        }

    def _sheet(self, question: Question, cells: Mapping[str, dict[str, dict]]) -> AnswerSheet:
        answers = {}
        for student, own in cells.items():
            if question.name in own:
                key = AnswerId(question.lab, question.name, student)
                answers[self._id(key)] = _answer(self._id(key), key, question, own)
        return AnswerSheet(question, dict(sorted(answers.items())))

    def _id(self, key: AnswerId) -> str:
        return hmac.new(self._secret, json.dumps(key).encode(), hashlib.sha256).hexdigest()[:16]


def _answer(name: str, key: AnswerId, question: Question, cells: Mapping[str, dict]) -> Answer:
    cell = cells[question.name]
    named = names_in_text(question.text)
    own = {each: _source(cells[each]) for each in named if each in cells}
    noted = tuple(map(str, cell["metadata"].get("noted", ())))
    return Answer(name, key, _source(cell), cell.get("attachments", {}), own, noted)


def _digest(read: object) -> str:
    return digest_of(json.dumps(read, sort_keys=True))


def _source(cell: Mapping) -> str:
    return "".join(cell["source"])
