"""What the benches share: classes of submissions, timed commands, watched memory."""

import os
import platform
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path

import psutil

from autograder.builder.notebooks import build_notebook, cell_kind
from autograder.builder.source import Lab
from autograder.practice import Sample, insert
from autograder.record.gradebook import CourseBook

OUT = Path("build/bench")
PLAIN_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "bench"\n'


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


def write_class(folder: Path, lab: Lab, n: int) -> None:
    """`n` perfect submissions, all different, without experiments: only nbgrader would run them."""

    def edit(notebook: dict) -> None:
        kept = [cell for cell in notebook["cells"] if cell_kind(cell) != "experiment"]
        notebook["cells"] = kept
        insert(notebook, f"# notes of student {i}")

    for i in range(n):
        Sample(f"student{i:04d}", lab.name, "perfect", edit).write(folder)


def grade_command(lab: Lab, submissions: Path, out: Path, jobs: int) -> list[str]:
    """The grader's command line."""
    return [sys.executable, "-m", "autograder", "grade", lab.name, str(submissions), "-o", str(out),
            "--jobs", str(jobs), "--seed", "0"]  # fmt: skip


def plain_nbgrader(lab: Lab, n: int, folder: Path) -> dict:
    """Plain `nbgrader autograde` on `n` submissions, without any of our engine.

    Its test cells play the open checks in the student's own kernel.
    """
    with closing(CourseBook(folder)) as book:
        book.add_assignment(lab.name, build_notebook(lab, "instructor"))
    (folder / "nbgrader_config.py").write_text(PLAIN_CONFIG)
    write_class(folder / "submitted", lab, n)
    run = timed([sys.executable, "-m", "nbgrader", "autograde", lab.name], cwd=folder)
    return {**run, "n": n, "seconds_per_submission": round(run["seconds"] / n, 3)}


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
        """Look every two seconds, for looking takes 25 ms, until the process is gone."""
        while n_bytes := _proportional_bytes(self._pid):
            self.peak_mb = max(self.peak_mb, n_bytes / 2**20)
            time.sleep(2)


def _proportional_bytes(pid: int) -> int:
    """Of a process and all below it; nothing once it has ended."""
    n_bytes = 0
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):  # gone meanwhile
                n_bytes += each.memory_full_info().pss
    return n_bytes
