"""`make bench`: what grading costs, beside plain nbgrader, on the same submissions of lab 04.

Three ways in one run: (a) `nbgrader autograde`, one process, on a sample; (b) ours with one job;
(c) ours with two. Written to `build/bench/grading.json` with the host and all versions. The
student's own computing is measured too, so that the overhead can be told from it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from statistics import median

from autograder.builder.notebooks import build_notebook, cell_kind
from autograder.builder.source import find_lab
from autograder.cheats import Sample
from autograder.gradebook import CourseBook
from autograder.results import read_results, write_whole

LAB = "04_kv_cache"
OUT = Path("build/bench")
N_OURS, N_NBGRADER = 100, 4
PLAIN_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "bench"\n'


def main() -> None:
    """Measure and write the record."""
    shutil.rmtree(OUT, ignore_errors=True)
    record = {
        "lab": LAB,
        "host": host(),
        "nbgrader": bench_nbgrader(N_NBGRADER),
        "ours_1_job": bench_ours(N_OURS, 1),
        "ours_2_jobs": bench_ours(N_OURS, 2),
    }
    theirs = record["nbgrader"]["seconds_per_submission"]
    for name in ("ours_1_job", "ours_2_jobs"):
        record[name]["times_nbgraders_throughput"] = round(
            theirs / record[name]["seconds_per_submission"], 1
        )
    write_whole(OUT / "grading.json", json.dumps(record, indent=1).encode())
    print(json.dumps(record, indent=1))


def host() -> dict:
    """The machine and the versions that the numbers belong to."""
    packages = ("torch", "nbgrader", "ipython", "labkit")
    return {
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def bench_nbgrader(n: int) -> dict:
    """Plain `nbgrader autograde` on `n` submissions, without any of our engine.

    Its test cells play the open checks in the student's own kernel.
    """
    course = OUT / "nbgrader"
    book = CourseBook(course)
    book.add_assignment(LAB, build_notebook(find_lab(LAB), "instructor"))
    book.close()
    (course / "nbgrader_config.py").write_text(PLAIN_CONFIG)
    write_class(course / "submitted", n)
    run = timed([sys.executable, "-m", "nbgrader", "autograde", LAB], cwd=course)
    return {**run, "n": n, "seconds_per_submission": round(run["seconds"] / n, 3)}


def bench_ours(n: int, jobs: int) -> dict:
    """Our grader on `n` submissions, gradebook written.

    seconds_per_submission is the whole command's; warm_seconds_per_submission leaves out start-up
    (imports and the assignment's entry in the gradebook), measured by a run of one submission.
    """
    one, many = OUT / f"one-{jobs}", OUT / f"many-{jobs}"
    write_class(one / "in", 1)
    write_class(many / "in", n)
    first = timed(command(one, jobs))
    run = timed(command(many, jobs))
    warm = (run["seconds"] - first["seconds"]) / (n - 1)
    results = read_results(many / "out" / "results.jsonl")
    own = student_seconds()
    return {
        **run,
        "n": n,
        "seconds_per_submission": round(run["seconds"] / n, 3),
        "warm_seconds_per_submission": round(warm, 3),
        "in_slot_seconds_median": median(result.seconds for result in results),
        "student_seconds": own,
        "overhead_seconds_per_submission": round(warm - own / jobs, 3),
        "startup_seconds": first["seconds"],
    }


def command(folder: Path, jobs: int) -> list[str]:
    """The grader's command line for a bench folder."""
    return [sys.executable, "-m", "autograder", "grade", LAB, str(folder / "in"), "-o",
            str(folder / "out"), "--jobs", str(jobs), "--seed", "0"]  # fmt: skip


def write_class(folder: Path, n: int) -> None:
    """`n` perfect submissions, without experiments: ours would not run them, nbgrader would."""
    for i in range(n):
        Sample(f"student{i:03d}", LAB, "perfect", without_experiments).write(folder)


def without_experiments(notebook: dict) -> None:
    """Keep what marks depend on."""
    kept = [cell for cell in notebook["cells"] if cell_kind(cell) != "experiment"]
    notebook["cells"] = kept


def student_seconds() -> float:
    """What the student's own code computes: all cells and all checks, in a plain process."""
    script = (
        "import time\n"
        "from autograder.builder.source import find_lab\n"
        "from autograder.matrix import namespace_of, play_all\n"
        f"lab = find_lab({LAB!r})\n"
        "play_all(lab, namespace_of(lab))\n"
        "start = time.perf_counter()\n"
        "play_all(lab, namespace_of(lab))\n"
        "print(time.perf_counter() - start)"
    )
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=one_thread
    )
    return round(float(done.stdout), 3)


def timed(command: list[str], cwd: Path | None = None) -> dict:
    """Run a command; its seconds and the peak memory of all its processes together."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=os.environ | {"PATH": path},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    peak = PeakMemory(process.pid)
    peak.start()
    status = process.wait()
    seconds = time.perf_counter() - start
    peak.join()
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {status}")
    return {"seconds": round(seconds, 2), "peak_mb": round(peak.peak_mb)}


class PeakMemory(threading.Thread):
    """Watches the proportional memory of a process and all its descendants while they live."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.peak_mb = 0.0

    def run(self) -> None:
        """Look five times a second until the process is gone."""
        while Path(f"/proc/{self._pid}/stat").exists():
            total = sum(_proportional_kb(pid) for pid in _tree(self._pid))
            if total == 0:
                return
            self.peak_mb = max(self.peak_mb, total / 1024)
            time.sleep(0.2)


def _tree(pid: int) -> list[int]:
    children: list[str] = []
    with suppress(OSError):  # gone meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text().split()
    return [pid, *(other for child in children for other in _tree(int(child)))]


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
