"""A student's whole notebook, and marks by hand where the autograding failed.

A file that could not be graded gets its marks part by part; in others a person decides what no
check could. The parts are cells of the gradebook, as formgrader has them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from autograder.builder.source import find_lab
from autograder.desk.acts import ConflictError
from autograder.desk.marking import Desk, number, one
from autograder.desk.outputs import notebook_of
from autograder.desk.render import page
from autograder.desk.states import AnswerId, State
from autograder.errors import Refusal
from autograder.record.results import Result


@dataclass(frozen=True)
class Part:
    """What a person marks: an exercise or a written answer. seen: as `State.seen_with` gives it."""

    key: AnswerId
    exercise: str
    points: float
    is_written: bool
    state: State
    seen: str


class Failed:
    """One method for each page."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def all(self, request: Request) -> Response:
        """The submissions that the autograding could not judge, without names."""
        waiting = self._desk.store.waiting()
        rows = [
            (
                self._desk.answers.submission_id(result.lab, result.student),
                result,
                n_waiting(result, waiting),
            )
            for result in failed_of(self._desk.answers.results())
        ]
        rows.sort(key=lambda row: (row[2] == 0, row[1].lab, row[0]))
        return page(request, "failed.html", rows=rows, without_id=without_id)

    def notebook(self, request: Request) -> Response:
        """All cells of a notebook as it was handed in, beside what waits for a person."""
        name, who = request.path_params["name"], request.scope["person"].name
        result = self._desk.answers.submission(name)
        if result is None:
            raise HTTPException(404)
        form, notice, status = request.scope.get("form", {}), "", 200
        parts = list(self._parts(result))
        if request.method == "POST":
            try:
                self._give(request, parts)
                self._desk.close(name, who)
                return RedirectResponse(self._next(name, who), 303)
            except Refusal as refusal:
                notice = str(refusal)
                status = 409 if isinstance(refusal, ConflictError) else 422
                parts = list(self._parts(result))
        other = self._desk.opened_by(name, who)
        if parts:
            self._desk.open(name, who)
        cells, problem = notebook_of(self._desk.answers.submitted(result), result.lab)
        return page(
            request, "notebook.html", status, name=name, result=result, parts=parts, cells=cells,
            problem=problem, notice=notice, form=form, one=one, other=other, without_id=without_id,
            back=self._desk.answers.find(request.query_params.get("answer", "")),
        )  # fmt: skip

    def _parts(self, result: Result) -> Iterator[Part]:
        """What a person has to mark of a submission, in the order of the lab."""
        cells = [cell for cell in find_lab(result.lab).cells if cell.points]
        keys = {
            AnswerId(result.lab, _graded_name(cell.kind, cell.name), result.student): cell
            for cell in cells
            if result.score is None or cell.name in result.undecided
        }
        for key, state in self._desk.store.given(keys).items():
            cell, text = keys[key], self._desk.answers.digest(key)
            is_written = cell.kind == "written"
            yield Part(key, cell.name, cell.points, is_written, state, state.seen_with(text))

    def _give(self, request: Request, parts: list[Part]) -> None:
        """Give the points that a form has. Raises: Refusal, ConflictError."""
        form, given = request.scope["form"], {}
        for part in parts:
            text = one(form, f"points-{part.exercise}").strip()
            if not text:
                continue
            points = number(text)
            if points > part.points:
                raise Refusal(f"Give {part.exercise} {part.points:g} at most.")
            comment = one(form, f"comment-{part.exercise}").strip() or part.state.comment
            given[part.key] = State(points, comment, part.state.items, waits=False)
        if not given:
            raise Refusal("Type the points of at least one part.")
        seen = {key: one(form, f"seen-{key.question.removeprefix('check_')}") for key in given}
        who, request_name = request.scope["person"].name, one(form, "request")
        self._desk.store.give(given, who, request_name, seen, "marked by hand")

    def _next(self, name: str, who: str) -> str:
        """The address of the next submission that waits; this one again if a part still does."""
        waiting = self._desk.store.waiting()
        names = [
            self._desk.answers.submission_id(result.lab, result.student)
            for result in failed_of(self._desk.answers.results())
            if n_waiting(result, waiting)
        ]
        free = [each for each in names if not self._desk.opened_by(each, who)]
        return f"/notebook/{name if name in free else free[0]}" if free else "/failed"


def failed_of(results: list[Result]) -> list[Result]:
    """What the autograding could not judge, whole or in part."""
    return [result for result in results if result.score is None or result.undecided]


def n_waiting(result: Result, waiting: dict[tuple[str, str], set[str]]) -> int:
    """How many parts of a submission wait for a person because the autograding failed."""
    return sum(
        lab == result.lab
        and result.student in students
        and (result.score is None or name.removeprefix("check_") in result.undecided)
        for (lab, name), students in waiting.items()
    )


def without_id(text: str, result: Result) -> str:
    """A text of a submission without the id of its student."""
    return text.replace(result.student, "[student]")


def _graded_name(kind: str, name: str) -> str:
    return name if kind == "written" else f"check_{name}"
