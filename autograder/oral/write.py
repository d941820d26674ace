"""`autograder oral`: sheets of questions about what a grading found to pass, and their keys.

The code runs behind the wall, as in a grading. This process reads and writes files alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from autograder.builder.source import Lab
from autograder.errors import Refusal
from autograder.grading.pool import SteadySlot, processors, uid_of
from autograder.grading.scratch import scratch_folder
from autograder.grading.slot_files import write_slot_files
from autograder.intake.collect import Submission
from autograder.judging.asking.sheet import BLANK, Order, Question, Sheet
from autograder.judging.jobs import SlotSettings
from autograder.judging.wall import strongest_rung
from autograder.oral.pages import said_before, write_pages
from autograder.record.folder import seed_of
from autograder.record.results import BESIDE, CheckResult, Result
from labkit.checks.core import checks_of

LIMITS = {"cell_s": 20.0, "check_s": 2.0, "cells_s": 20.0, "submission_s": 60.0}
MOST_BLANK = 4  # questions about what is not written yet
NOTHING = (
    "Nothing of this lab passes yet, so these questions are about what is still to be written."
)
NO_LINE = "No line of this code gives a question with one answer, so these questions are open."


def write_oral(
    out: Path, lab: Lab, results: Sequence[Result], jobs: int, sandbox: bool = True
) -> Path:
    """Write the sheets, their keys and the class page of a lab; returns the class page's path.

    Raises: Refusal if the lab has no code to ask about, the folder keeps no submission, or the
    table of what was said is damaged.
    """
    orders, said = orders_of(out, lab, results, str(seed_of(out, None))), said_before(out, lab)
    due = [order for order in orders.values() if order and order.green]
    found = dict(zip((each.submission.student for each in due),
                     sheets_of(out, lab, due, jobs, sandbox), strict=True))  # fmt: skip
    sheets = {result.student: _filled(lab, result, found.get(result.student)) for result in results}
    return write_pages(out, lab, sheets, said)


def orders_of(out: Path, lab: Lab, results: Sequence[Result], seed: str) -> dict[str, Order | None]:
    """What to ask for each student; None without a notebook. seed: of the choice of questions.

    Raises: Refusal if the lab has no code to ask about, or the folder keeps no submission.
    """
    if not lab.exercises:
        raise Refusal(f"{lab.name} asks for no code, so there is nothing to ask about")
    orders = {result.student: _order(out, lab, result, seed) for result in results}
    if not any(orders.values()):
        raise Refusal(
            f"{out / 'course' / 'submitted'} keeps no notebook of {lab.name}: grade it once more"
        )
    return orders


def _order(out: Path, lab: Lab, result: Result, seed: str) -> Order | None:
    """What to ask the slot for; None without a notebook."""
    path = out / "course" / "submitted" / result.student / lab.name / f"{lab.name}.ipynb"
    if not path.is_file():
        return None
    beside = path.with_name(BESIDE)
    modules = json.loads(beside.read_bytes()) if beside.is_file() else {}
    extra = {name: str(text).encode() for name, text in modules.items()}
    green = tuple(
        cell.name
        for cell in lab.exercises
        if (checks := result.by_exercise.get(cell.name)) and all(one.passed for one in checks)
    )
    submission = Submission(result.student, path.name, path.read_bytes(), extra=extra)
    return Order(submission, green, f"{seed} {lab.name} {result.student}", result.seed)


def sheets_of(
    out: Path, lab: Lab, orders: Sequence[Order], jobs: int, sandbox: bool
) -> Iterator[Sheet]:
    """The sheets of these orders, in their order, made in slots side by side."""
    if not orders:
        return
    with ExitStack() as stack:
        files = write_slot_files(lab, stack.enter_context(scratch_folder()))
        rung, seed = strongest_rung() if sandbox else "none", seed_of(out, None)
        settings = SlotSettings(lab=lab.name, **files, seed=seed, rung=rung, **LIMITS)
        free: SimpleQueue[SteadySlot] = SimpleQueue()
        for number, cpu in enumerate(processors(min(jobs, len(orders)))):
            own = SteadySlot(replace(settings, uid=uid_of(number), cpu=cpu))
            free.put(stack.enter_context(closing(own)))

        def ask(order: Order) -> Sheet:
            slot = free.get()
            try:
                return slot.ask(order)
            finally:
                free.put(slot)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(ask, orders)


def _filled(lab: Lab, result: Result, sheet: Sheet | None) -> Sheet:
    """The sheet; with open questions, and the reason, if it has no other ones."""
    if sheet is not None and sheet.questions:
        return sheet
    sheet = sheet or Sheet()
    passed = [each for each in result.checks if each.passed]
    own = {cell.name for cell in lab.exercises}
    is_blank = not any(each.exercise in own for each in passed)
    checks = [each for each in result.checks if each.exercise in own] or _all_checks(lab, own)
    asked = (_blank(checks) if is_blank else _held(checks))[:MOST_BLANK]
    problem = " ".join(filter(None, [NOTHING if is_blank else NO_LINE, sheet.problem]))
    return replace(sheet, questions=tuple(asked), problem=problem)


def _blank(checks: Sequence[CheckResult]) -> list[Question]:
    """One question about each exercise that does not pass, by its first claim that does not."""
    return _about(
        [each for each in checks if not each.passed],
        "A claim about `{exercise}` is: {claim} "
        "Give a call and its result that would show this. What must the code do for it?",
    )


def _held(checks: Sequence[CheckResult]) -> list[Question]:
    """One question about each exercise with a claim that holds."""
    return _about(
        [each for each in checks if each.passed],
        "This claim about `{exercise}` holds: {claim} "
        "Which of your lines make it hold? What would change without them?",
    )


def _about(checks: Sequence[CheckResult], words: str) -> list[Question]:
    """A question in these words about the first of the checks of each exercise."""
    first = {each.exercise: each for each in reversed(checks)}
    return [
        Question(
            each.exercise,
            BLANK,
            0,
            words.format(exercise=each.exercise, claim=each.claim),
            why=f"The claim's hint: {each.hint}",
        )
        for each in reversed(first.values())
    ]


def _all_checks(lab: Lab, names: set[str]) -> list[CheckResult]:
    """The lab's checks as those of a student who has written nothing."""
    return [
        CheckResult(name, each.name, 0.0, 1.0, False, "", each.claim, each.hint, "todo")
        for name, checks in checks_of(lab.topic).items()
        if name in names
        for each in checks
    ]
