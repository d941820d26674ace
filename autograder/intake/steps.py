"""What of a submission runs, in which order, and after which step each exercise is judged."""

import builtins
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autograder.intake.master import Master, MasterCell
from autograder.intake.read import SubmittedCell
from autograder.names import (
    MAX_CALL_CHARS,
    assigned_names,
    changed_names,
    checked_exercise,
    is_check_call,
    squeeze,
    statements,
)
from labkit.checks.names import bound_names, used_names

LIBRARIES = frozenset({"builtins", "labkit", "math", "np", "numpy", "random", "sys", "torch"})
MAX_NAMES = 6  # in a note


@dataclass(frozen=True)
class Step:
    """A piece of code to run in the child.

    index: its place in the submission, None if given; is_marked: whether it is given or an answer,
    and not a cell of the student's own; keeps: the exercises that are judged with the names as they
    stand after it.
    """

    source: str
    index: int | None
    is_marked: bool = True
    keeps: tuple[str, ...] = ()


@dataclass
class StepPlan:
    """The steps of a submission that was matched with its master.

    owner: the master's cell by place in the submission; best: the place of the copy that counts, by
    the cell's name; notes: what the plan means for marks, in sentences for the TA.
    """

    master: Master
    submitted: list[SubmittedCell]
    owner: Mapping[int, MasterCell]
    best: Mapping[str, int | None]
    notes: list[str] = field(default_factory=list)

    def steps(self) -> list[Step]:
        """The master's given cells, then the student's code in the student's order.

        Left out: the master's test and install cells, an untouched copy beside a filled-in one,
        and experiments that define nothing which another cell uses. A cell that holds several
        answers runs statement by statement, so that one that fails does not take the rest along.
        """
        given = [Step(cell.source, None) for cell in self.master.of_kind("given")]
        student: list[Step] = []
        experiments: list[Step] = []
        for i, cell in enumerate(self.submitted):
            if not cell.is_code or not cell.source.strip() or self._is_left_out(i):
                continue
            parts = self._parts(i)
            student += parts
            experiments += [part for part in parts if self._is_experiment(part)]
        return given + self._with_places(self._without_idle(student, experiments))

    def _with_places(self, steps: list[Step]) -> list[Step]:
        """The steps, and after which of them each exercise is judged."""
        checked = {
            i: checked_exercise(cell.source)
            for i, cell in enumerate(self.submitted)
            if cell.is_code and len(cell.source) < MAX_CALL_CHARS
        }
        keeps: dict[int, list[str]] = defaultdict(list)
        for cell in self.master.of_kind("exercise", "answer"):
            best = self.best[cell.name]
            own = None if best is None else self.submitted[best]
            if own is None or not own.is_code or cell.is_stub(own.source):
                continue  # nothing to keep: whatever the notebook has in the end counts
            place = max([best, *(i for i, name in checked.items() if name == cell.name)])
            last = max((n for n, step in enumerate(steps) if step.index <= place), default=None)
            if last is not None:
                keeps[last].append(cell.name)
                self._note_rebound(cell.name, steps[last + 1 :])
        self._note_changed(steps, min(keeps, default=len(steps)))
        return [replace(step, keeps=tuple(keeps[n])) for n, step in enumerate(steps)]

    def _note_rebound(self, name: str, later: list[Step]) -> None:
        for step in later:
            if name not in step.source:
                continue
            place = f"cell {step.index + 1}"
            if name in bound_names(step.source):
                self.notes.append(f"{place} defines {name} again: its answer cell counts")
            elif own := _attributes_of(name, step.source):
                what = ", ".join(own[:MAX_NAMES])
                self.notes.append(f"{place} changes {what}: its answer cell counts")

    def _note_changed(self, steps: list[Step], first: int) -> None:
        """Note cells that change what is given: names of Python and of the setup, and libraries.

        Their own notebook shows what such a cell does to answers above it; no mark does. first: the
        first step with an answer. Above it, only what hardly anybody does by mistake is noted.
        """
        setup = [cell.source for cell in self.master.of_kind("given")]
        given = {name for source in setup for name in bound_names(source) - changed_names(source)}
        given |= {"%reset", *dir(builtins)}
        for n, step in enumerate(steps):
            known = (given if n > first else set()) | {"__builtins__", "check"}
            changed = sorted(
                name
                for name in changed_names(step.source)
                if name in known or ("." in name and name.partition(".")[0] in LIBRARIES)
            )
            if changed:
                what = f"cell {step.index + 1} changes {', '.join(changed[:MAX_NAMES])}"
                above = "answers above it are judged without that"
                below = "look whether answers below it need that"
                self.notes.append(f"{what}: {above if n > first else below}")

    def _parts(self, index: int) -> list[Step]:
        """A cell's code, by statement if it holds more than one answer."""
        source = self.submitted[index].source
        marked = {cell.name for cell in self.master.of_kind("exercise", "answer")}
        if len(bound_names(source) & marked) < 2:
            owner = self.owner.get(index)
            return [Step(source, index, owner is not None and owner.kind in ("exercise", "answer"))]
        return [Step(part, index) for part in statements(source) if not is_check_call(part)]

    def _is_experiment(self, step: Step) -> bool:
        owner = self.owner.get(step.index)
        is_whole = step.source == self.submitted[step.index].source
        if owner is not None and owner.kind == "experiment" and is_whole:
            return True
        return not is_whole and squeeze(step.source) in self.master.experiment_statements

    def _is_left_out(self, index: int) -> bool:
        cell, owner = self.submitted[index], self.owner.get(index)
        if owner is None:
            return is_check_call(cell.source)
        if not owner.is_open:
            return True
        return owner.is_stub(cell.source) and self.best[owner.name] != index

    def _without_idle(self, steps: list[Step], experiments: list[Step]) -> list[Step]:
        if not experiments:
            return steps
        idle = {id(step) for step in experiments}
        needed = {cell.name for cell in self.master.of_kind("exercise", "answer")}
        for step in steps:
            if id(step) not in idle:
                needed |= used_names(step.source)
        for step in reversed(experiments):
            if assigned_names(step.source) & needed:
                idle.discard(id(step))
                needed |= used_names(step.source)
        return [step for step in steps if id(step) not in idle]


def _attributes_of(name: str, source: str) -> list[str]:
    """The attributes of this name that code changes."""
    return sorted(each for each in changed_names(source) if each.startswith(f"{name}."))
