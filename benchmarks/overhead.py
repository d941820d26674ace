"""What one submission costs beside plain nbgrader, on the same submissions of lab 04.

Three ways in one run: `nbgrader autograde`, one process, on a sample; ours with one job; ours with
two. Written to `build/bench/grading.json` with the host and all versions. The student's own
computing is measured too, so that the overhead can be told from it.
"""

import os
import shutil
import subprocess
import sys
from statistics import median

from autograder.builder.source import Lab, find_lab
from autograder.record.log import read_results
from benchmarks.measure import (
    OUT,
    grade_command,
    host,
    plain_nbgrader,
    timed,
    write_class,
)
from benchmarks.report import report

LAB = "04_kv_cache"
N_OURS, N_NBGRADER = 100, 4
N_REPEATS = 6


def main(*, quick: bool = False) -> int:
    """Measure and write the record."""
    folder = OUT / "overhead"
    shutil.rmtree(folder, ignore_errors=True)
    lab = find_lab(LAB)
    n_ours, n_nbgrader, n_repeats = (2, 1, 1) if quick else (N_OURS, N_NBGRADER, N_REPEATS)
    own_s = student_seconds(lab, n_repeats)
    record = {
        "lab": LAB,
        "host": host(),
        "nbgrader": plain_nbgrader(lab, n_nbgrader, folder / "nbgrader"),
        "ours_1_job": ours(lab, n_ours, 1, own_s),
        "ours_2_jobs": ours(lab, n_ours, 2, own_s),
    }
    theirs = record["nbgrader"]["seconds_per_submission"]
    one, two = record["ours_1_job"], record["ours_2_jobs"]
    for run in (one, two):
        run["times_nbgraders_throughput"] = round(theirs / run["seconds_per_submission"], 1)
    record["memory_of_one_more_job_mb"] = two["peak_mb"] - one["peak_mb"]
    report(OUT / "grading.json", record, quick=quick)
    return 0


def ours(lab: Lab, n: int, jobs: int, own_s: float) -> dict:
    """Our grader on `n` submissions, gradebook written.

    seconds_per_submission is the whole command's; warm_seconds_per_submission leaves out start-up
    (imports and the assignment's entry in the gradebook), measured by a run of one submission.
    own_s: what the student's own code computes; the rest is overhead.
    """
    one, many = OUT / f"overhead/one-{jobs}", OUT / f"overhead/many-{jobs}"
    write_class(one / "in", lab, 1)
    write_class(many / "in", lab, n)
    first = timed(grade_command(lab, one / "in", one / "out", jobs))
    run = timed(grade_command(lab, many / "in", many / "out", jobs))
    warm = (run["seconds"] - first["seconds"]) / (n - 1)
    results = read_results(many / "out" / "results.jsonl")
    return {
        **run,
        "n": n,
        "seconds_per_submission": round(run["seconds"] / n, 3),
        "warm_seconds_per_submission": round(warm, 3),
        "in_slot_seconds_median": median(result.seconds for result in results),
        "student_seconds": own_s,
        "overhead_seconds_per_submission": round(warm - own_s / jobs, 3),
        "startup_seconds": first["seconds"],
    }


def student_seconds(lab: Lab, n_repeats: int) -> float:
    """What the student's own code computes: all cells and checks, in a plain process, at best.

    The cells may print what they like: it goes to stderr, so stdout holds the number alone.
    """
    script = (
        "import sys\n"
        "from contextlib import redirect_stdout\n"
        "from timeit import repeat\n"
        "from autograder.builder.source import find_lab\n"
        "from autograder.proof.matrix import namespace_of, play_all\n"
        f"lab = find_lab({lab.name!r})\n"
        "with redirect_stdout(sys.stderr):\n"
        "    play = lambda: play_all(lab, namespace_of(lab))\n"
        f"    seconds = min(repeat(play, number=1, repeat={n_repeats}))\n"
        "print(seconds)"
    )
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=one_thread
    )
    return round(float(done.stdout), 3)
