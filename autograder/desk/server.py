"""The desk's pages: which request is answered by which page."""

from pathlib import Path
from threading import Thread

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from autograder.desk.acts import ConflictError
from autograder.desk.answers import Answer, Answers, AnswerSheet
from autograder.desk.appeals import Appeals
from autograder.desk.failed import Failed, failed_of, n_waiting
from autograder.desk.guard import MARKER, READER, Guard, TokenHolder
from autograder.desk.marking import Desk, is_together, number, one, typed_points
from autograder.desk.render import page, static
from autograder.desk.review import Review
from autograder.desk.shares import Shares
from autograder.desk.states import State
from autograder.desk.store import MarkStore
from autograder.desk.suggestions import Suggestions
from autograder.desk.tables import DeskTables
from autograder.errors import Refusal
from autograder.pages.formulas import drawn
from autograder.record.database import gradebook_of

READING = "desk reads all answers"
_SHEET = "/{lab:str}/{question:str}"


def make_app(out: Path, people: list[TokenHolder], origin: str) -> Guard:
    """The desk on an output folder. Raises: Refusal if nothing was graded; GradebookError."""
    for_readers = all(person.role == READER for person in people)
    tables = DeskTables(gradebook_of(out), for_readers=for_readers)
    answers = Answers(out, tables.secret())
    store = MarkStore(tables, answers.questions(), answers.digest)
    Thread(target=_prepare, args=(answers,), name=READING, daemon=True).start()
    desk = Desk(answers, store, Shares(tables))
    suggestions = Suggestions(tables)
    pages = Pages(desk, suggestions, [each.name for each in people if each.role == MARKER])
    review = Review(desk, Appeals(out, tables, store))
    routes = [
        Route("/", pages.home),
        Route("/static/{name:str}", static),
        Route("/shares", pages.shares, methods=["GET", "POST"]),
        Route("/undo", pages.undo, methods=["POST"]),
        Route(f"/next{_SHEET}", pages.next),
        Route(f"/answer{_SHEET}/{{name:str}}", pages.answer, methods=["GET", "POST"]),
        Route(f"/split{_SHEET}/{{name:str}}", pages.split, methods=["POST"]),
        Route(f"/rubric{_SHEET}", pages.rubric, methods=["GET", "POST"]),
        Route(f"/item{_SHEET}/{{item:int}}", pages.item, methods=["POST"]),
    ]
    failed = Failed(desk)
    routes += [
        Route("/failed", failed.all),
        Route("/notebook/{name:str}", failed.notebook, methods=["GET", "POST"]),
        Route("/outputs/{name:str}", review.outputs),
        Route("/appeals", review.appeals, methods=["GET", "POST"]),
        Route("/appeal/{number:int}", review.appeal, methods=["GET", "POST"]),
        Route("/overview", review.overview),
    ]
    app = Starlette(routes=routes, exception_handlers={Refusal: _refused})
    return Guard(app, people, origin)


class Pages:
    """One method for each page."""

    def __init__(self, desk: Desk, suggestions: Suggestions, names: list[str]) -> None:
        """names: of the people who mark."""
        self._desk, self._suggestions, self._names = desk, suggestions, names

    def home(self, request: Request) -> Response:
        """All questions, and how far they are; a reader has the overview."""
        if request.scope["person"].role == READER:
            return RedirectResponse("/overview", 303)
        questions = self._desk.answers.questions()
        self._desk.store.know(questions)  # another lab may have been graded since the start
        who = request.scope["person"].name
        rows = self._desk.progress(who)
        focused = next((each for each, far in rows if far.n_own_done < far.n_own), None)
        waiting, failed = self._desk.store.waiting(), failed_of(self._desk.answers.results())
        people = self._desk.shares.all()
        judged = {each: self._suggestions.chosen_alike(each.lab, each.name) for each, _ in rows}
        return page(
            request, "home.html", rows=rows, focused=focused, people=people, names=self._names,
            judged=judged, n_failed=sum(n_waiting(each, waiting) > 0 for each in failed),
        )  # fmt: skip

    def shares(self, request: Request) -> Response:
        """Who marks which question; a form changes it."""
        questions = self._desk.answers.questions()
        if request.method == "POST":
            form = request.scope["form"]
            chosen = {each: form.get(f"{each.lab}/{each.name}", ()) for each in questions}
            self._desk.shares.give({
                (each.lab, each.name): [name for name in names if name in self._names]
                for each, names in chosen.items()
            })  # fmt: skip
            return RedirectResponse("/", 303)
        people = self._desk.shares.all()
        return page(request, "shares.html", questions=questions, people=people, names=self._names)

    def next(self, request: Request) -> Response:
        """To the next answer that waits; home if none does."""
        sheet, who = self._sheet(request), request.scope["person"].name
        name = self._desk.next_waiting(sheet, who, request.query_params.get("after", ""))
        return _to(sheet, name) if name else RedirectResponse("/", 303)

    def answer(self, request: Request) -> Response:
        """One answer beside its rubric; a form gives its mark and goes on."""
        sheet = self._sheet(request)
        answer, who = self._answer(request, sheet), request.scope["person"].name
        if request.method == "GET":
            return self._answer_page(request, sheet, answer)
        try:
            self._desk.mark(sheet, answer, request.scope["form"], who)
        except ConflictError as conflict:
            comment = one(request.scope["form"], "comment").strip()
            lost = f" Your comment was: {comment}" if comment else ""
            sheet = self._sheet(request)  # it may have been graded again
            answer = self._answer(request, sheet)
            return self._answer_page(request, sheet, answer, f"{conflict}{lost}", 409)
        except Refusal as refusal:
            return self._answer_page(request, sheet, answer, str(refusal), 422)
        name = self._desk.next_waiting(sheet, who, answer.id)
        return _to(sheet, name) if name else RedirectResponse("/", 303)

    def undo(self, request: Request) -> Response:
        """Take back the person's last act, and show the answer it was about."""
        keys = self._desk.store.undo(
            request.scope["person"].name, one(request.scope["form"], "request")
        )
        for key in keys:
            sheet = self._desk.answers.sheet(key.lab, key.question)
            for answer in sheet.answers.values() if sheet else ():
                if answer.key == key:
                    return _to(sheet, answer.id)
        if not keys:
            return RedirectResponse("/", 303)
        name = self._desk.answers.submission_id(keys[0].lab, keys[0].student)
        return RedirectResponse(f"/notebook/{name}", 303)

    def split(self, request: Request) -> Response:
        """Take an answer out of its group, or put it back."""
        sheet = self._sheet(request)
        answer = self._answer(request, sheet)
        self._desk.store.split(answer.key)
        return _to(sheet, answer.id)

    def rubric(self, request: Request) -> Response:
        """The items of a question, to be changed; a form adds one."""
        sheet = self._sheet(request)
        question, items = sheet.question, self._desk.store.items
        if request.method == "POST":
            form = request.scope["form"]
            if text := one(form, "text").strip()[:500]:
                points = number(one(form, "points"), lowest=-1000.0)
                one_of = one(form, "one_of").strip()[:50]
                self._desk.store.add_item(question.lab, question.name, text, points, one_of)
            return RedirectResponse(f"/rubric/{question.lab}/{question.name}", 303)
        return page(
            request, "rubric.html", question=question, items=items(question.lab, question.name)
        )

    def item(self, request: Request) -> Response:
        """New points of an item: first a preview, then the change."""
        sheet, form = self._sheet(request), request.scope["form"]
        item, points = request.path_params["item"], number(one(form, "points"), lowest=-1000.0)
        question, notice = sheet.question, ""
        known = {each.id for each in self._desk.store.items(question.lab, question.name)}
        if item not in known:
            raise HTTPException(404)
        if (n_seen := one(form, "n_seen")).isdecimal():
            try:
                who = request.scope["person"].name
                self._desk.store.set_points(item, points, who, one(form, "request"), int(n_seen))
                return RedirectResponse(f"/rubric/{question.lab}/{question.name}", 303)
            except ConflictError as conflict:
                notice = str(conflict)
        plan = self._desk.store.plan_points(item, points)
        names = {answer.key: name for name, answer in sheet.answers.items()}
        return page(
            request, "item.html", 409 if notice else 200,
            question=question, plan=plan, names=names, notice=notice,
        )  # fmt: skip

    def _answer_page(
        self,
        request: Request,
        sheet: AnswerSheet,
        answer: Answer,
        notice: str = "",
        status: int = 200,
    ) -> Response:
        desk, question, who = self._desk, sheet.question, request.scope["person"].name
        items = desk.store.items(question.lab, question.name)
        states = desk.store.states(question.lab, question.name)
        state = states.get(answer.key.student, State())
        form = request.scope["form"] if status == 422 else {}
        chosen = form.get("item", ()) if form else [str(item) for item in state.items]
        group, other = desk.group(sheet, answer), desk.opened_by(answer.id, who)
        desk.open(answer.id, who)
        before = desk.read_before(answer, one(request.scope.get("form", {}), "seen"))
        waiting = {
            name for name, each in sheet.answers.items()
            if states.get(each.key.student, State()).waits
        }  # fmt: skip
        return page(
            request,
            "answer.html",
            status,
            question=question,
            answer=answer,
            items=items,
            state=state,
            chosen=chosen,
            comment=one(form, "comment") or state.comment,
            typed=one(form, "points") or typed_points(state, items, question.points),
            group=group,
            together=bool(one(form, "together")) if form else is_together(group),
            others=[sheet.answers[name] for name in group.members if name != answer.id],
            n_waiting=sum(name in waiting for name in group.members if name != answer.id),
            is_split=answer.key.student
            in desk.store.split_students(question.lab, question.name),
            n_done=len(sheet.answers) - len(waiting),
            n_all=len(sheet.answers),
            other=other,
            before=before,
            group_seen=desk.group_seen(sheet, group),
            history=desk.store.history(answer.key),
            notice=notice,
            whole=desk.answers.submission_id(answer.key.lab, answer.key.student),
            suggested=self._suggestions.of(answer.key, answer.text),
        )  # fmt: skip

    def _sheet(self, request: Request) -> AnswerSheet:
        names = request.path_params
        sheet = self._desk.answers.sheet(names["lab"], names["question"])
        if sheet is None:
            raise HTTPException(404)
        return sheet

    def _answer(self, request: Request, sheet: AnswerSheet) -> Answer:
        answer = sheet.answers.get(request.path_params["name"])
        if answer is None:
            raise HTTPException(404)
        return answer


def _prepare(answers: Answers) -> None:
    """What takes seconds, done while the first page is looked at."""
    drawn("x")
    answers.read_all()


def _to(sheet: AnswerSheet, name: str) -> Response:
    return RedirectResponse(f"/answer/{sheet.question.lab}/{sheet.question.name}/{name}", 303)


def _refused(request: Request, refusal: Exception) -> Response:
    return PlainTextResponse(f"{refusal}\n", 409)
