"""Pages beside marking: a notebook's tables and figures, students' questions, the overview."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from autograder.desk.appeals import Appeal, Appeals
from autograder.desk.marking import Desk, number, one
from autograder.desk.render import page
from autograder.errors import Refusal
from autograder.pages.statistics import frequent_causes, standings
from autograder.record.results import CheckResult

N_SHOWN = 5
FEWEST = 3  # what fewer students share could point at one of them


class Review:
    """One method for each page."""

    def __init__(self, desk: Desk, appeals: Appeals) -> None:
        self._desk, self._appeals = desk, appeals

    def outputs(self, request: Request) -> Response:
        """The tables and figures of an answer's notebook."""
        found = self._desk.answers.find(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        sheet, answer = found
        outputs, beside = self._desk.answers.outputs(answer), self._desk.answers.beside(answer)
        return page(
            request, "outputs.html",
            question=sheet.question, answer=answer, outputs=outputs, beside=beside,
        )  # fmt: skip

    def appeals(self, request: Request) -> Response:
        """The page of all appeals. A form adds one; if it is refused, the typed text stays."""
        blank = dict.fromkeys(("about", "student", "text"), "")
        notice, typed = "", blank
        if request.method == "POST":
            form = request.scope["form"]
            typed = {name: one(form, name).strip() for name in ("about", "student", "text")}
            lab, _, exercise = typed["about"].partition("/")
            try:
                self._appeals.add(lab, exercise, typed["student"], typed["text"])
                typed = blank
            except Refusal as refusal:
                notice = str(refusal)
        return page(
            request, "appeals.html", 422 if notice else 200,
            rows=self._appeals.all(), notice=notice, typed=typed, exercises=self._exercises(),
            students=sorted({each.student for each in self._desk.answers.results()}),
        )  # fmt: skip

    def _exercises(self) -> dict[str, list[str]]:
        """The exercises and written answers of each lab, in their order."""
        return {
            lab.name: [cell.name for cell in lab.cells if cell.points]
            for lab in self._desk.answers.labs()
        }

    def appeal(self, request: Request) -> Response:
        """One question beside check, case, code and history; a form decides it."""
        appeal, notice, status = self._appeals.find(request.path_params["number"]), "", 200
        form = request.scope.get("form", {})
        if appeal is None:
            raise HTTPException(404)
        if request.method == "POST":
            try:
                self._decide(request, appeal)
                return RedirectResponse("/appeals", 303)
            except Refusal as refusal:
                notice, status = str(refusal), 409
        key, state = self._appeals.state(appeal)
        cells = self._desk.answers.cells(appeal.lab, appeal.student)
        seen = state.seen_with(self._desk.answers.digest(key))
        return page(
            request, "appeal.html", status,
            appeal=appeal, state=state, seen=seen, checks=self._checks(appeal), notice=notice,
            typed={name: one(form, name) for name in ("points", "reason")},
            whole=self._desk.answers.submission_id(appeal.lab, appeal.student),
            source="".join(cells.get(appeal.exercise, {}).get("source", "")),
            cases=self._appeals.cases(appeal, self._desk.answers.results()),
            history=self._desk.store.history(key),
        )  # fmt: skip

    def overview(self, request: Request) -> Response:
        """Where the class is stuck, and its mistakes, without names; new on each load."""
        labs = []
        for lab in self._desk.answers.labs():
            results = [each for each in self._desk.answers.results() if each.lab == lab.name]
            known = [each for each in standings(results) if each.n >= FEWEST]
            stuck = sorted(known, key=lambda each: each.n_passed / each.n)[:N_SHOWN]
            causes = [each for each in frequent_causes(results) if each.n >= FEWEST][:N_SHOWN]
            stuck = [each for each in stuck if each.n_passed < each.n]
            labs.append((lab.name, len(results), bool(known), stuck, causes))
        return page(request, "overview.html", labs=labs, fewest=FEWEST)

    def _decide(self, request: Request, appeal: Appeal) -> None:
        form, who = request.scope["form"], request.scope["person"].name
        text = one(form, "points").strip()
        points, at_most = number(text) if text else None, self._points_of(appeal)
        if points is not None and points > at_most:
            raise Refusal(f"Give {at_most:g} at most.")
        reason, name, seen = (one(form, each) for each in ("reason", "request", "seen"))
        self._appeals.decide(appeal, points, reason, who, name, seen)
        self._appeals.write_page(appeal, self._desk.answers.results())

    def _checks(self, appeal: Appeal) -> list[CheckResult]:
        return [
            check
            for result in self._desk.answers.results()
            if (result.lab, result.student) == (appeal.lab, appeal.student)
            for check in result.by_exercise.get(appeal.exercise, [])
        ]

    def _points_of(self, appeal: Appeal) -> float:
        """The most that the exercise or the written question earns."""
        name = (appeal.lab, appeal.exercise)
        written = [each for each in self._desk.answers.questions() if (each.lab, each.name) == name]
        parts = [each.points for each in written]
        return round(sum(parts or [check.max_points for check in self._checks(appeal)]), 4)
