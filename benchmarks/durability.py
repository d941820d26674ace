"""Real gradings, killed at random moments, must end as an undisturbed one does.

Kills the command with SIGKILL a hundred times, each time at a random moment of its run, and gives
it again. Written to `build/bench/durability.json`.
"""

import os
import random
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from statistics import quantiles

import psutil
from tqdm import tqdm

from autograder.builder.source import find_lab
from autograder.record.log import read_results
from benchmarks.measure import grade_command, host
from benchmarks.report import report
from tests.sample_class import samples_of

LAB = "01_memory"
STUDENTS = ("ada", "carol", "dora", "emil", "greta", "ida", "x04", "x19")
OUT = Path("build/bench/durability")
N_KILLS = 100
ORPHAN_S = 20.0
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
ROWS = """
    select student_id, base_cell.name, auto_score, manual_score, needs_manual_grade
    from grade join base_cell on base_cell.id = cell_id
    join submitted_notebook on submitted_notebook.id = grade.notebook_id
    join submitted_assignment as handed on handed.id = submitted_notebook.assignment_id
    order by 1, 2
"""


def main(*, quick: bool = False) -> int:
    """Kill, compare, write the record; returns the exit status."""
    shutil.rmtree(OUT, ignore_errors=True)
    for sample in samples_of(LAB, STUDENTS):
        sample.write(OUT / "in")
    start = time.monotonic()
    subprocess.run(command(OUT / "undisturbed"), check=True, **SILENT)
    whole_s = time.monotonic() - start
    record = soak(2 if quick else N_KILLS, whole_s, products(OUT / "undisturbed"))
    record = {"lab": LAB, "host": host(), "undisturbed_seconds": round(whole_s, 1), **record}
    report(OUT.with_suffix(".json"), record, quick=quick)
    return 1 if record["n_different"] or record["n_orphans"] else 0


def soak(n_kills: int, whole_s: float, expected: tuple) -> dict:
    """Kill gradings until there were enough kills and the last one has ended by itself."""
    rng = random.Random(0)
    moments: list[float] = []
    n_ended = n_different = n_orphans = 0
    out = OUT / "killed"
    progress = tqdm(total=n_kills, desc="kills", disable=None)
    while len(moments) < n_kills or out.exists():
        moment = rng.uniform(0, whole_s) if len(moments) < n_kills else None
        is_fresh, start = not out.exists(), time.monotonic()
        process = psutil.Popen(command(out), **SILENT)
        try:
            process.wait(moment)
        except psutil.TimeoutExpired:
            n_orphans += killed(process)
            moments.append(moment)
            progress.update()
            continue
        if is_fresh:  # the machine may be less busy now
            whole_s = time.monotonic() - start
        n_ended += 1
        n_different += products(out) != expected
        shutil.rmtree(out)
    return {
        "n_kills": len(moments),
        "kill_seconds_quartiles": [round(each, 1) for each in quantiles(moments)],
        "n_gradings_ended": n_ended,
        "n_different": n_different,
        "n_orphans": n_orphans,
    }


def killed(process: psutil.Popen) -> int:
    """Kill a grading; how many of the processes that it had started are left soon after."""
    family = process.children(recursive=True)
    process.kill()
    process.wait()
    return len(psutil.wait_procs(family, ORPHAN_S)[1])


def command(out: Path) -> list[str]:
    """The grading's command line."""
    return grade_command(find_lab(LAB), OUT / "in", out, os.cpu_count() or 1)


def products(out: Path) -> tuple:
    """All that a grading leaves but for its measurements: results, marks, pages, gradebook."""
    results = [each.without_measurements() for each in read_results(out / "results.jsonl")]
    places = [out / "marks.csv", *sorted((out / "feedback").rglob("*.html"))]
    places += sorted((out / "course" / "autograded").rglob("*.ipynb"))
    files = {str(path.relative_to(out)): path.read_bytes() for path in places}
    return results, files, marks_in_gradebook(out)


def marks_in_gradebook(out: Path) -> list[tuple]:
    """Each cell's marks by student, in order."""
    with closing(sqlite3.connect(out / "course" / "gradebook.db")) as book:
        return book.execute(ROWS).fetchall()
