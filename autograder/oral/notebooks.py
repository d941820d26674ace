"""The same questions as a notebook for each student, to hand in and to mark.

OUT/oral/LAB/notebooks/STUDENT.json             what was asked, the keys, what it is worth
FOLDER/STUDENT/LAB_oral/LAB_oral.ipynb          what the student gets: no key, and nothing to run

A notebook that was made once stays as it is, whatever a later grading finds: its keys are those of
the code that was handed in then. Its questions are chosen by a random number of its own, so that
nobody can work out the keys from the order of the options.
"""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.builder.blank import BEGIN, END
from autograder.builder.notebooks import KERNELSPEC, nbgrader_fields, to_bytes
from autograder.builder.source import Lab, read_course
from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.judging.asking.search import N_QUESTIONS
from autograder.judging.asking.sheet import Order, Question, Sheet
from autograder.oral.write import orders_of, sheets_of
from autograder.places import ORAL, assignment_of
from autograder.record.results import Result

FEWEST = 3  # questions of a notebook: with fewer, each would count too much
NAMES = tuple(f"q{i}" for i in range(1, N_QUESTIONS + 1))
MARKED = "questions"  # the exercise that these answers are for the gradebook
AROUND = " \t.()\"'“”‘’"  # what stands beside a letter
INTRO = """\
# Questions about your code of {lab}

This notebook has {n} questions about code that you handed in. They take 10 to 15 minutes. Write the
letter of one answer between the quotes below each question: `q1 = "B"`. One answer is right. All
questions count the same, and {points:g} points are given in all.

A claim fails if its check fails. A question says what a line does, and which number it has in your
own cell. It changes only what it names, in your code as you handed it in. The lines that a question
shows run after your notebook. `torch` and `SimpleNamespace` are imported before them.
Numbers are rounded to six digits.

Nobody else has these questions. Hand in this notebook under your own name: it is number `{number}`.
"""
LAST = "Save the notebook (Ctrl-S), and hand in the file `{name}.ipynb`."


@dataclass(frozen=True)
class Asked:
    """What one student was asked. number: of the notebook; points: for all right answers."""

    number: str
    points: float
    sheet: Sheet

    @property
    def questions(self) -> dict[str, Question]:
        """By the name of the cell that answers them."""
        return dict(zip(NAMES, self.sheet.questions, strict=False))

    def to_json(self) -> bytes:
        """The text of the student's file."""
        fields = {"number": self.number, "points": self.points, "sheet": self.sheet.as_fields()}
        return json.dumps(fields, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Asked:
        """What `to_json` gave. Raises: ValueError for anything else."""
        try:
            fields = json.loads(content)
            sheet = Sheet.from_fields(fields["sheet"])
            return cls(str(fields["number"]), float(fields["points"]), sheet)
        except (TypeError, KeyError) as error:
            raise ValueError(f"no questions: {error}") from error


def write_notebooks(
    out: Path, lab: Lab, results: Sequence[Result], folder: Path, jobs: int, sandbox: bool
) -> list[str]:
    """Write a notebook for each student below `folder`; returns who gets none, and why.

    Raises: Refusal as `orders_of`, or if a file of earlier questions is damaged.
    """
    known = asked_of(out, lab.name)
    orders = orders_of(out, lab, results, secrets.token_hex(16))
    new = [order for name, order in orders.items() if order and order.green and name not in known]
    points = worth_of(lab.name, known)
    for order, sheet in zip(new, sheets_of(out, lab, new, jobs, sandbox), strict=True):
        if len(sheet.questions) >= FEWEST:
            asked = Asked(secrets.token_hex(8), points, replace(sheet, code=()))
            path = _store(out, lab.name) / f"{order.submission.student}.json"
            write_whole(path, asked.to_json())
            known[order.submission.student] = asked
    name = lab.name + ORAL
    for student in orders.keys() & known.keys():
        content = to_bytes(locked(notebook_of(lab.name, known[student])))
        write_whole(folder / student / name / f"{name}.ipynb", content)
    return [_why_none(student, order, lab.name) for student, order in orders.items()
            if student not in known]  # fmt: skip


def asked_of(out: Path, lab: str) -> dict[str, Asked]:
    """What was asked about a lab, by student. Raises: Refusal if a file is damaged."""
    found = {}
    for path in sorted(_store(out, lab).glob("*.json")):
        try:
            found[path.stem] = Asked.from_json(path.read_bytes())
        except ValueError:
            raise Refusal(f"{path} is damaged: restore it from a copy") from None
    return found


def asked_or_refused(out: Path, lab: str) -> dict[str, Asked]:
    """As `asked_of`. Raises: Refusal if no notebook was made."""
    if asked := asked_of(out, lab):
        return asked
    raise Refusal(
        f"{out} holds no questions about {lab}: make the notebooks with "
        f"`autograder oral {out} {lab} --notebooks FOLDER`, before students answer them"
    )


def worth_of(lab: str, known: Mapping[str, Asked]) -> float:
    """The points of a notebook: as those that were made, or what course.toml says it counts as."""
    for asked in known.values():
        return asked.points
    counts = read_course().counts_as.items()
    own = [
        each for name, each in counts if name.endswith(ORAL) and assignment_of(name) == lab + ORAL
    ]
    points = own[0] if own else N_QUESTIONS
    if not points > 0:
        raise Refusal(f"{lab}{ORAL} counts as {points:g} in course.toml: write more than 0")
    return float(points)


def notebook_of(lab: str, asked: Asked) -> NotebookNode:
    """A student's notebook: questions, and a cell for each letter. Older sheets show the code."""
    n = len(asked.questions)
    intro = INTRO.format(lab=lab, n=n, points=asked.points, number=asked.number)
    cells = [new_markdown_cell(intro, id="intro")]
    code, shown = dict(asked.sheet.code), ""
    for i, (name, question) in enumerate(asked.questions.items(), 1):
        if question.exercise != shown:
            shown = question.exercise
            text = "\n\n".join([f"## `{shown}`", *map(_block, filter(None, [code.get(shown)]))])
            cells.append(new_markdown_cell(text, id=f"code-{i}"))
        cells.append(new_markdown_cell(_written(i, question), id=f"question-{i}"))
        cells.append(_answer(name, f'{name} = ""'))
    return _closed(lab, cells, asked.points)


def model_notebook(lab: str, points: float) -> NotebookNode:
    """What the gradebook knows: the cells that all of these notebooks share."""
    cells = [_answer(name, f'{BEGIN}\n{name} = "A"\n{END}') for name in NAMES]
    return locked(_closed(lab, cells, points))


def locked(notebook: NotebookNode) -> NotebookNode:
    """The notebook with nbgrader's locks."""
    from nbgrader.preprocessors import LockCells  # takes half a second

    return LockCells().preprocess(notebook, {})[0]


def letters_in(sources: Mapping[str, str]) -> dict[str, str]:
    """The letters in the cells of answers; "" where there is none. Nothing is run."""
    return {name: _letter(name, source) for name, source in sources.items()}


def _letter(name: str, source: str) -> str:
    """The letter of the last line that gives one; in a time that grows with the text alone."""
    found = ""
    for line in unicodedata.normalize("NFKC", source).split("\n"):
        target, _, value = line.partition("=")
        text = value.partition("#")[0].strip(AROUND)
        if target.strip() == name and re.fullmatch("[A-Za-z]", text):
            found = text.upper()
    return found


def _closed(lab: str, cells: list[NotebookNode], points: float) -> NotebookNode:
    names = ", ".join(each.metadata.labkit.name for each in cells if "labkit" in each.metadata)
    fields = nbgrader_fields(f"check_{MARKED}", locked=True, points=points)
    check = _cell("check", f"check_{MARKED}", f"print({names})  # your letters", fields)
    last = new_markdown_cell(LAST.format(name=lab + ORAL), id="last")
    metadata = {"kernelspec": KERNELSPEC, "labkit": {"lab": lab + ORAL}}
    return from_dict(new_notebook(cells=[*cells, last, check], metadata=metadata))


def _answer(name: str, source: str) -> NotebookNode:
    return _cell("answer", name, source, nbgrader_fields(name, solution=True))


def _cell(kind: str, name: str, source: str, fields: dict) -> NotebookNode:
    metadata = {"labkit": {"kind": kind, "name": name}, "nbgrader": fields}
    own_id = f"{kind}-{name}".replace("_", "-")
    return from_dict(new_code_cell(source, id=own_id, metadata=metadata))


def _written(number: int, question: Question) -> str:
    """A question with its options, as Markdown."""
    options = question.options if question.is_of_claims else map(_as_code, question.options)
    letters = [f"- **{chr(ord('A') + i)}**: {option}" for i, option in enumerate(options)]
    code = _block(question.code) if question.code else ""
    return "\n\n".join(
        filter(None, [f"**{number}.** {question.sentence}", code, "\n".join(letters)])
    )


def _as_code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _block(code: str) -> str:
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
    return f"{fence}python\n{code}\n{fence}"


def _store(out: Path, lab: str) -> Path:
    return out / "oral" / lab / "notebooks"


def _why_none(student: str, order: Order | None, lab: str) -> str:
    if order is None:
        why = f"no file of {lab} is kept"
    elif not order.green:
        why = f"nothing of {lab} passes yet"
    else:
        why = f"the code that passes gives fewer than {FEWEST} questions"
    return f"{student} gets no notebook: {why}."
