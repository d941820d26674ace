"""The marking desk: how long the server takes from a mark to the next answer, by size of class.

A made-up class is recorded without grading. Written to `build/bench/desk.json`.
"""

import re
import shutil
import socket
import threading
import time
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send
from tqdm import tqdm

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import Lab, read_labs
from autograder.desk.guard import Guard, TokenHolder
from autograder.desk.server import READING, make_app
from autograder.record.gradebook import CourseBook
from autograder.record.log import ResultLog
from autograder.record.results import GRADED, Result
from benchmarks.measure import host
from benchmarks.report import report

OUT = Path("build/bench/desk")
CLASSES = {18: 1, 1800: 106}  # answers, about: students who answer all questions of all labs
N_MARKED = 60
HIDDEN = re.compile(r'type="hidden" name="(\w+)" value="([^"]*)"')


def main(*, quick: bool = False) -> int:
    """Measure each class, write the record; returns the exit status."""
    rows = [measured(n_students) for n_students in [*CLASSES.values()][: 1 if quick else None]]
    report(OUT.with_suffix(".json"), {"host": host(), "classes": rows}, quick=quick)
    return 0


class Timed:
    """An app, and the seconds that it has worked on requests so far."""

    def __init__(self, app: Guard) -> None:
        self._app, self.seconds = app, 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        await self._app(scope, receive, send)
        self.seconds += time.perf_counter() - start


def measured(n_students: int) -> dict:
    """The milliseconds of each step in a class of this size."""
    shutil.rmtree(OUT, ignore_errors=True)
    labs = [lab for lab in read_labs() if any(cell.kind == "written" for cell in lab.cells)]
    n_answers = sum(record_class(lab, n_students) for lab in labs)
    person = TokenHolder("bench")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        start = time.perf_counter()
        app = Timed(make_app(OUT, [person], origin))
        for each in (thread for thread in threading.enumerate() if thread.name == READING):
            each.join()
        read_s = time.perf_counter() - start
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with httpx.Client(base_url=origin, follow_redirects=True, timeout=60) as client:
                steps = marked(client, person, labs, app)
        finally:
            server.should_exit = True
            thread.join()
    return {"n_answers": n_answers, "all_read_s": round(read_s, 2), **steps}


def marked(client: httpx.Client, person: TokenHolder, labs: list[Lab], app: Timed) -> dict:
    """Open the desk and mark answers of the first questions one after the other."""
    names = [(lab.name, cell.name) for lab in labs for cell in lab.cells if cell.kind == "written"]
    times = []
    for address in (
        f"/?token={person.token}",
        "/",
        *(f"/next/{lab}/{name}" for lab, name in names),
    ):
        before = app.seconds
        client.get(address).raise_for_status()
        times.append(1000 * (app.seconds - before))
    first_ms, home_ms, *opened_ms = times
    seconds = []
    for lab, question in names:
        page = client.get(f"/next/{lab}/{question}")
        while "/answer/" in page.url.path and len(seconds) < N_MARKED:
            form = dict(HIDDEN.findall(page.text.partition('id="mark"')[2].partition("</form>")[0]))
            before = app.seconds
            page = client.post(page.url, data=form | {"points": "0"})
            seconds.append(app.seconds - before)
            page.raise_for_status()
    return {
        "first_page_ms": round(first_ms, 1),
        "home_ms": round(home_ms, 1),
        "open_question_ms_median": round(median(opened_ms), 1),
        "open_question_ms_most": round(max(opened_ms), 1),
        "next_ms_median": round(1000 * median(seconds), 1),
        "next_ms_95_percent": round(1000 * quantiles(seconds, n=20)[-1], 1),
    }


def record_class(lab: Lab, n_students: int) -> int:
    """Record answers of as many students to a lab's written questions; how many answers."""
    written = {cell.name: cell for cell in lab.cells if cell.kind == "written"}
    notebook = build_notebook(lab, "student").cells
    with (
        closing(CourseBook(OUT / "course")) as book,
        closing(ResultLog(OUT / "results.jsonl")) as log,
    ):
        book.add_assignment(lab.name, build_notebook(lab, "instructor"))
        for i in tqdm(range(n_students), desc=lab.name):
            for cell in notebook:
                name = cell["metadata"].get("nbgrader", {}).get("grade_id")
                if name in written:
                    cell.source = f"{hash((i, name))} " * 20 + written[name].text[: 400 + 7 * i]
            points = {name: cell.points for name, cell in written.items()}
            row = Result(f"s{i:03d}", lab.name, GRADED, 0.0, 10.0, written=points, key="k")
            book.record(row, notebook, b"{}")
            log.append(row)
    return n_students * len(written)
