"""A whole course at class scale: 300 submissions of all labs, and how cost grows with the class.

Written to `build/bench/scale.json`, drawn in `build/bench/scale.png`. Plain nbgrader grades a few
submissions of each lab in the same run, to compare with.
"""

import shutil
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from autograder.builder.source import Lab, find_lab, read_labs
from autograder.record.log import read_results
from autograder.record.results import GRADED
from benchmarks.measure import (
    OUT,
    grade_command,
    host,
    plain_nbgrader,
    timed,
    write_class,
)
from benchmarks.report import report

N_OF_COURSE, N_NBGRADER, JOBS = 300, 3, 2
SIZES, LAB_OF_SIZES = (1, 10, 100, 1000), "01_memory"


def main(*, quick: bool = False) -> int:
    """Measure, write the record, draw the figure."""
    shutil.rmtree(OUT / "scale", ignore_errors=True)
    labs, sizes = (read_labs(), SIZES) if not quick else ([find_lab(LAB_OF_SIZES)], (1, 2))
    n, n_nbgrader = (len(labs), 1) if quick else (N_OF_COURSE, N_NBGRADER)
    record = {
        "host": host(),
        "jobs": JOBS,
        "course": whole_course(labs, n, n_nbgrader),
        "by_class_size": [of_size(find_lab(LAB_OF_SIZES), n) for n in sizes],
    }
    report(OUT / "scale.json", record, quick=quick)
    draw(record["by_class_size"]).savefig(OUT / f"scale{quick * '-quick'}.png", dpi=150)
    return 0


def whole_course(labs: Sequence[Lab], n: int, n_nbgrader: int) -> dict:
    """`n` submissions spread over all labs, graded into one folder; nbgrader on a sample."""
    folder = OUT / "scale" / "course"
    ours, theirs = {}, {}
    for i, lab in enumerate(labs):
        n_of_lab = n // len(labs) + (i < n % len(labs))
        write_class(folder / "in", lab, n_of_lab)
        run = timed(grade_command(lab, folder / "in", folder / "out", JOBS))
        ours[lab.name] = {**run, "n": n_of_lab}
        theirs[lab.name] = plain_nbgrader(lab, n_nbgrader, folder / f"nbgrader-{lab.name}")
    results = read_results(folder / "out" / "results.jsonl")
    in_full = [r for r in results if r.status == GRADED and r.score == r.max_score]
    seconds = sum(run["seconds"] for run in ours.values())
    nbgraders = sum(run["seconds_per_submission"] for run in theirs.values()) / len(labs)
    return {
        "n": n,
        "n_with_full_marks": len(in_full),
        "seconds": round(seconds, 1),
        "seconds_per_submission": round(seconds / n, 3),
        "nbgrader_seconds_per_submission": round(nbgraders, 3),
        "times_nbgraders_throughput": round(nbgraders * n / seconds, 1),
        "peak_mb": max(run["peak_mb"] for run in ours.values()),
        "by_lab": ours,
        "nbgrader_by_lab": theirs,
    }


def of_size(lab: Lab, n: int) -> dict:
    """A class of `n`, with the whole command's seconds."""
    folder = OUT / "scale" / f"size-{n}"
    write_class(folder / "in", lab, n)
    run = timed(grade_command(lab, folder / "in", folder / "out", JOBS))
    return {"n": n, **run}


def draw(rows: Sequence[dict]) -> Figure:
    """Seconds against the size of the class, with the line through the largest two.

    A class of one takes one slot only: it starts sooner.
    """
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    sizes, seconds = [row["n"] for row in rows], [row["seconds"] for row in rows]
    slope = (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2])
    line = [seconds[-1] + slope * (n - sizes[-1]) for n in range(1, sizes[-1] + 1)]
    axes.loglog(range(1, sizes[-1] + 1), line, color="0.6", label=f"{slope:.3f} s a submission")
    axes.loglog(sizes, seconds, "o", color="#0969da", label="measured, whole command")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("submissions")
    axes.set_ylabel("seconds")
    axes.set_title(f"Grading {LAB_OF_SIZES}, {JOBS} jobs")
    axes.legend()
    return figure
