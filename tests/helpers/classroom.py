"""An output folder as a grading leaves it, without the grading: submissions put on their master."""

import json
from functools import cache

import nbformat

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.intake.master import read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import rebuild
from autograder.practice import cell_called, solved_notebook
from autograder.record.results import GRADED, CheckResult, Result
from labkit.checks.core import HIDDEN, Finding

LAB = "04_kv_cache"
PROSE = "*Write your answer here.*"


@cache
def built(lab, edition):
    """A lab's notebook as JSON, with the answers or without."""
    solved = solved_notebook(find_lab(lab)) if edition == "solved" else None
    return json.dumps(solved or build_notebook(find_lab(lab), edition))


@cache
def master(lab):
    return read_master(nbformat.reads(built(lab, "student"), 4), lab)


def blank(lab=LAB):
    """The notebook as it is handed out."""
    return json.loads(built(lab, "student"))


def solved(lab=LAB, **texts):
    """The notebook solved, with these cells' texts instead."""
    notebook = json.loads(built(lab, "solved"))
    for name, text in texts.items():
        cell_called(notebook, name)["source"] = text
    return notebook


def hand_in(out, student, notebook, lab=LAB, **fields):
    """Leave a submission in `out` as a grading does; returns a result for it."""
    content = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
    rebuilt = rebuild(master(lab), read_notebook(content, f"{lab}.ipynb"))
    shown = json.dumps({"cells": rebuilt.notebook})
    for folder, text in (("submitted", content), ("autograded", shown.encode())):
        path = out / "course" / folder / student / lab / f"{lab}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
    return result(student, lab=lab, flags=rebuilt.notes, **fields)


def result(student, passed=(), *, lab=LAB, messages=None, **fields):
    """A result in which the checks a, b, c, ... of one point each passed or not.

    messages: what is wrong by check, a `Wrong` or the whole text; the others are not written yet.
    """
    checks = [
        CheckResult(f"exercise_{i // 2}", chr(97 + i), float(ok), 1.0, bool(ok),
                    claim=f"Claim {chr(97 + i)}.", hint="A hint.",
                    **_found(ok, (messages or {}).get(chr(97 + i))))
        for i, ok in enumerate(passed)
    ]  # fmt: skip
    given = {"status": GRADED, "score": float(sum(passed)), "max_score": float(len(passed)),
             "checks": checks, "file_name": f"{lab}.ipynb"}  # fmt: skip
    return Result(student, lab, **(given | fields))


def _found(ok, wrong):
    if ok:
        return {"message": "", "status": "passed"}
    if wrong is None:
        return {"message": "not written yet.", "status": "todo"}
    if isinstance(wrong, str):
        return {"message": wrong, "status": "failed", "cause": wrong}
    found = Finding.failed(None, wrong, HIDDEN)
    parts = ("status", "message", "cause", "expected", "got")
    return {name: getattr(found, name) for name in parts}
