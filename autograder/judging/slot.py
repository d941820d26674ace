"""A grading slot: a process of its own that owns a zygote and a judge.

It speaks JSON lines. The first line in is its `SlotSettings`, the first line out says that it is
ready; then one line per submission each way. Slots are forked from the template (see start), never
from the grader: so the memory of the grader, and of its scheduler, stays out of reach.
"""

import gc
import json
import os
import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

import nbformat

from autograder.imports import imported_modules
from autograder.intake.master import Master, read_master
from autograder.judging.asking.search import sheet_of
from autograder.judging.asking.sheet import Order
from autograder.judging.client import ZygoteHandle
from autograder.judging.jobs import SlotSettings, seed_of_cases, unpack_submission
from autograder.judging.judge import Judge
from autograder.judging.start.keepers import Keeper
from autograder.judging.wall import ChildSettings, confine_judge
from autograder.judging.wall.limits import bound_memory
from labkit.checks.core import names_of_check_modules

PRELOAD = ("numpy", "torch", "matplotlib.pyplot")


def start_judge(settings: SlotSettings, keeper: Keeper | None = None) -> tuple[Judge, ZygoteHandle]:
    """A judge over a warm zygote; close the zygote in the end. keeper: what becomes the zygote."""
    master = read_master(nbformat.read(settings.master, as_version=4), settings.lab)
    child = ChildSettings(
        student_path=Path(settings.student_path),
        preload=(*PRELOAD, *_modules_of(master)),
        rung=settings.rung,
        memory_mb=settings.memory_mb,
        uid=settings.uid,
        cpu=settings.cpu,
    )
    zygote = ZygoteHandle(replace(child, call_s=min(child.call_s, settings.check_s)), keeper)
    judge = Judge(master, zygote, settings, settings.seed, settings.exercises)
    zygote.wait()  # both have imported what is theirs, side by side
    return judge, zygote


def _modules_of(master: Master) -> list[str]:
    """What every notebook of this assignment needs: the zygote imports it once for all."""
    cells = master.of_kind("given", "exercise", "answer", "experiment")
    needed = imported_modules(*(cell.source for cell in cells))
    return [*needed, *names_of_check_modules(master.topic)] if master.topic else needed


def serve_slot(lines: TextIO, keeper: Keeper) -> None:
    """Serve until the lines end."""
    settings = SlotSettings(**json.loads(lines.readline()))
    judge, zygote = start_judge(settings, keeper)
    if settings.cpu is not None:  # from here on: what the two import needs a processor each
        os.sched_setaffinity(0, {settings.cpu})
    bound_memory(settings.memory_mb)  # what a student's process sends is decoded here
    if settings.rung != "none":
        confine_judge(read_only=[Path("/")])
    gc.collect()
    gc.freeze()
    gc.enable()
    _say(lines, {"ready": True})
    versions = _versions(settings)
    for line in lines:
        message = json.loads(line)
        if asked := message.pop("oral", None):
            order = Order(unpack_submission(message), tuple(asked.pop("green")), **asked)
            _say(lines, sheet_of(judge, order).as_fields())
            continue
        submission = unpack_submission(message)
        seed = seed_of_cases(settings.seed, submission)
        result, notebook = judge.grade(submission, seed)
        result = replace(result, versions=versions | {"seed": seed})
        _say(lines, {"result": result.as_fields(), "notebook": notebook})
    zygote.close()


def _say(lines: TextIO, message: dict) -> None:
    lines.write(json.dumps(message, ensure_ascii=True) + "\n")
    lines.flush()


def _versions(settings: SlotSettings) -> dict[str, str]:
    return {
        "labkit": version("labkit"),
        "python": platform.python_version(),
        "torch": version("torch"),
        "sandbox": settings.rung,
    }
