"""A grading slot: a process of its own that owns a zygote and a judge.

It speaks JSON lines. The first line in is its `SlotSettings`, the first line out says that it is
ready; then one line per submission each way. Slots are started by exec, never by fork: so the
grader's memory, and that of whatever schedules it, stays out of reach.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat

from autograder.client import ChildSettings, Zygote
from autograder.jobs import SlotSettings, unpack_submission
from autograder.judge import Judge
from autograder.master import read_master
from autograder.wall import WallSettings, confine_judge, die_with_parent

PRELOAD = ("numpy", "torch", "matplotlib.pyplot", "labkit.checks", "labkit.facts")


def start_judge(settings: SlotSettings) -> tuple[Judge, Zygote]:
    """A judge over a warm zygote; close the zygote in the end."""
    wall = WallSettings(memory_mb=settings.memory_mb, uid=settings.uid)
    child = ChildSettings(
        student_path=Path(settings.student_path), preload=PRELOAD, wall=wall, rung=settings.rung
    )
    zygote = Zygote(child)
    notebook = nbformat.read(settings.master, as_version=4)
    judge = Judge(read_master(notebook, settings.lab), zygote, settings.limits, settings.seed)
    return judge, zygote


def main() -> None:
    """Serve until the input ends."""
    die_with_parent()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints must not break the lines
    settings = SlotSettings(**json.loads(sys.stdin.readline()))
    judge, zygote = start_judge(settings)
    if settings.rung != "none":
        confine_judge(read_only=[Path("/")])
    _say(out, {"ready": True, "versions": _versions(settings), "max_score": judge.max_score})
    for line in sys.stdin:
        result, notebook = judge.grade(unpack_submission(json.loads(line)))
        _say(out, {"result": asdict(result), "notebook": notebook})
    zygote.close()


def _say(out: Any, message: dict) -> None:
    out.write(json.dumps(message, ensure_ascii=True) + "\n")
    out.flush()


def _versions(settings: SlotSettings) -> dict[str, str]:
    return {
        "labkit": version("labkit"),
        "python": platform.python_version(),
        "torch": version("torch"),
        "sandbox": settings.rung,
        "seed": str(settings.seed),
    }


if __name__ == "__main__":
    main()
