"""Checks of `sweep`.

It is about rows that are safe: each is saved at once, also that of a point without memory.

The four functions that a sweep is given are the check's own, and write down when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from labkit.bridge.requests import memory_errors_in
from labkit.bridge.student import Student, StudentError, text_of
from labkit.checks.compare import expect_equal, number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import numbers_in
from labkit.checks.wrong import Undecided
from labkit.labs.throughput.checks.handlers import is_freed_inside_except
from labkit.labs.throughput.checks.shown_free import is_shown_free

OOM = "out of memory"
BROKEN, UNSAVED = "the measurement broke", "the row was not saved"  # what the errors say

_sweep = partial(check, "sweep", gate=True)


@dataclass(frozen=True, slots=True)
class SweepCase:
    """Points to measure; too_large run out of memory, those in done are finished.

    broken: its measurement raises `error`; unsaved: saving it does; empty: it has no samples.
    """

    points: tuple[tuple, ...]
    too_large: tuple[tuple, ...] = ()
    done: tuple[tuple, ...] = ()
    broken: tuple | None = None
    unsaved: tuple | None = None
    error: type[Exception] = ValueError
    empty: tuple | None = None

    def __str__(self) -> str:
        parts = [f"{len(self.points)} points"]
        parts += [f"{len(self.too_large)} out of memory"] if self.too_large else []
        parts += [f"{len(self.done)} done"] if self.done else []
        parts += ["one without samples"] if self.empty else []
        parts += [f"save fails once with a {self.error.__name__}"] if self.unsaved else []
        parts += [f"measure fails once with a {self.error.__name__}"] if self.broken else []
        return ", ".join(parts)

    def samples(self, point: tuple) -> list[float]:
        """What measuring a point gives: two samples that only this point has."""
        place = self.points.index(point)
        if point == self.empty:
            return []
        return [0.5 + place, 0.25 + place]

    @property
    def wanted(self) -> list[tuple]:
        """The points that are left to do."""
        return [point for point in self.points if point not in self.done]


@dataclass
class RecordedSweep:
    """The calls of a sweep to its functions, in order."""

    case: SweepCase
    student: Student
    log: list[tuple] = field(default_factory=list)
    raised: str = ""
    n_alive_before: float = 0

    def play(self) -> RecordedSweep:
        """Run the student's sweep."""
        case, kept = self.case, self.case.done
        if case.too_large:  # to count them takes a walk over all objects
            self.n_alive_before = number_in(memory_errors_in(self.student), "exceptions alive")
        try:
            given = self.measure, self.save, self.free_memory, *([list(kept)] if kept else [])
            self.student.sweep(list(case.points), *given)
        except StudentError as error:
            if error.is_unwritten or not (case.broken or case.unsaved):
                raise
            is_ours = error.is_a(case.error.__name__) and error.message in (BROKEN, UNSAVED)
            self.raised = error.message if is_ours else str(error)
        return self

    def measure(self, point: Any) -> list[float]:
        """The samples of a point, or the error that it ends in."""
        point = self._point(point)
        self._note(("measure", point))
        if point in self.case.too_large:
            raise MemoryError("tried to allocate 20.00 GiB")
        if point == self.case.broken:
            raise self.case.error(BROKEN)
        return self.case.samples(point)

    def save(self, point: Any, samples_s: Any, outcome: Any) -> None:
        """Keep a row."""
        point = self._point(point)
        self._note(("save", point, samples_s, outcome))
        if point == self.case.unsaved:
            raise self.case.error(UNSAVED)

    def free_memory(self) -> None:
        """Note how many exceptions still hold on to memory in the student's process."""
        self._note(("free", memory_errors_in(self.student)))

    def _point(self, point: Any) -> tuple:
        found = tuple(point) if isinstance(point, list | tuple) else point
        if found not in self.case.points:
            raise ValueError(f"{show(point)} is not one of the points")
        return found

    def _note(self, entry: tuple) -> None:
        if len(self.log) > 10 * len(self.case.points) + 10:
            raise ValueError("a sweep without end")
        self.log.append(entry)

    def measured(self) -> list[tuple]:
        """The points that were measured, in order."""
        return [entry[1] for entry in self.log if entry[0] == "measure"]

    def rows(self) -> list[tuple]:
        """The saved rows, in order."""
        return [entry[1:] for entry in self.log if entry[0] == "save"]


def play_of(student: Student, case: SweepCase) -> RecordedSweep:
    """The student's sweep over recorded functions, played once for all checks."""
    return student.once(("sweep", case), lambda: RecordedSweep(case, student).play())


def _only(*names: str) -> Callable[[SweepCase], bool]:
    """Cases in which exactly these things happen."""
    happens = ("too_large", "done", "broken", "unsaved")
    return lambda case: all(bool(getattr(case, name)) == (name in names) for name in happens)


@_sweep(
    hint="Loop over the points once. Save the samples of each point unchanged.",
    applies_to=_only(),
)
def each_point_is_measured_once_in_order(student: Student, case: SweepCase) -> None:
    """Each point is measured once, in order, and its samples are saved unchanged."""
    played = play_of(student, case)
    expect_equal(played.measured(), list(case.points), "the points that were measured")
    by_point = {row[0]: row for row in played.rows()}
    for point in case.points:
        if point not in by_point:
            raise Wrong(f"the row of {point}", expected="saved", got="nothing")
        _, samples_s, outcome = by_point[point]
        got = numbers_in(samples_s, f"the samples of {point}")
        expect_equal(got, case.samples(point), f"the samples of {point}")
        expect_equal(outcome, "ok", f"the outcome of {point}")


@_sweep(hint="Call save inside the loop, directly after measure.", applies_to=_only())
def each_row_is_saved_before_the_next_point(student: Student, case: SweepCase) -> None:
    """Each row is saved before the next point is measured."""
    played = play_of(student, case)
    steps = [entry[:2] for entry in played.log if entry[0] != "free"]
    if not steps:
        raise Wrong("the sweep", expected="points measured and saved", got="neither")
    for i, (what, point) in enumerate(steps):
        if what == "measure" and steps[i + 1 : i + 2] != [("save", point)]:
            after = f"{steps[i + 1][0]} {steps[i + 1][1]}" if steps[i + 1 :] else "nothing"
            raise Wrong(
                f"after {point} was measured",
                expected="save its row",
                got=after,
                why="If the sweep is interrupted now, this measurement is lost.",
            )


@_sweep(
    weight=1.5,
    hint="Put only measure(point) inside `try`, and catch MemoryError.",
    applies_to=_only("too_large"),
)
def out_of_memory_is_a_row_and_the_sweep_goes_on(student: Student, case: SweepCase) -> None:
    """After a MemoryError, the row is saved without samples, and the sweep goes on."""
    played = play_of(student, case)
    rows = {row[0]: row[1:] for row in played.rows()}
    for point in case.points:
        if point not in rows:
            raise Wrong(
                f"the row of {point}",
                expected="saved",
                got="nothing",
                why=_why_no_row(point, played.measured(), case),
            )
        samples_s, outcome = rows[point]
        is_large = point in case.too_large
        expect_equal(outcome, OOM if is_large else "ok", f"the outcome of {point}")
        if is_large and numbers_in(samples_s, f"the samples of {point}"):
            raise Wrong(f"the samples of {point}", expected="none", got=show(samples_s))


def _why_no_row(point: Any, measured: list, case: SweepCase) -> str:
    if point not in measured and measured[-1:] and measured[-1] in case.too_large:
        return "The sweep ended before this point. After a MemoryError it goes on."
    is_lost = point in measured and point in case.too_large
    return "That a point does not fit is a result too." if is_lost else ""


@_sweep(
    weight=1.5,
    hint="Call free_memory() after the `except` block, not inside it.",
    applies_to=_only("too_large"),
)
def memory_is_freed_once_the_exception_is_gone(student: Student, case: SweepCase) -> None:
    """After each MemoryError, memory is freed once, when the exception no longer exists."""
    played = play_of(student, case)
    text = text_of(student, "sweep")
    is_inside = is_freed_inside_except(text or "")
    is_owed, n_freed = False, 0
    for entry in played.log:
        if entry[0] == "measure":
            if is_owed:
                is_never = all(one[0] != "free" for one in played.log)
                why = "Memory is never freed in this sweep." if is_never else ""
                what = f"before {entry[1]}"
                raise Wrong(what, expected="memory freed", got="nothing freed", why=why)
            is_owed = entry[1] in case.too_large
        elif entry[0] == "free":
            n_alive = number_in(entry[1], "the number of exceptions")
            n_kept = n_alive - played.n_alive_before
            if is_owed and (n_kept > 0 or is_inside):
                raise Wrong(
                    "when memory is freed",
                    expected="no MemoryError of the sweep exists",
                    got=show(max(n_kept, 1)),
                    why="The exception holds the variables of the failed run, so its tensors "
                    "cannot be freed.",
                )
            n_freed += is_owed
            is_owed = False
    if is_owed or n_freed != len(case.too_large):
        raise Wrong(
            "memory was freed", expected=f"{len(case.too_large)} times", got=f"{n_freed} times"
        )
    if text is not None and not is_shown_free(
        text
    ):  # a count that comes from its process earns nothing
        raise Undecided("the text of `sweep` does not show that the exception is gone")


@_sweep(hint="Skip a point if it is in `done`.", applies_to=_only("done"))
def finished_points_are_skipped(student: Student, case: SweepCase) -> None:
    """A point in `done` is not measured or saved again. All others are measured."""
    played = play_of(student, case)
    again = [point for point in case.done if point in played.measured()]
    if again:
        why = "None of those that are done was skipped." if len(again) == len(case.done) else ""
        what = f"{again[0]}, which is done"
        raise Wrong(what, expected="skipped", got="measured again", why=why)
    if [row for row in played.rows() if row[0] in case.done]:
        raise Wrong("a point that is done", expected="skipped", got="saved again")
    left_out = set(case.wanted) - set(played.measured())
    if left_out:
        raise Wrong(f"{min(left_out)}, which is not done", expected="measured", got="skipped")


@_sweep(hint="Catch only MemoryError. Let every other error pass.", applies_to=_only("broken"))
def other_errors_pass_through(student: Student, case: SweepCase) -> None:
    """Any other error of measure ends the sweep. All rows before it are saved."""
    played = play_of(student, case)
    if played.raised != BROKEN:
        raise Wrong(
            f"a {case.error.__name__} while measuring",
            expected="the same error",
            got=played.raised or "no error",
            why="This error is a bug, not a result. Do not catch it.",
        )
    before = set(played.measured()) - {case.broken}
    if not before:
        raise Wrong("the points before the error", expected="measured", got="none")
    if played.measured()[-1] != case.broken:
        raise Wrong("after the error", expected="no measurement", got="measurements")
    missing = before - {row[0] for row in played.rows()}
    if missing:
        raise Wrong(f"the row of {min(missing)}", expected="saved before the error", got="lost")
    if case.broken in [row[0] for row in played.rows()]:
        raise Wrong("the point with the error", expected="no row", got="a row")


@_sweep(weight=0.5, hint="Call save outside `try`.", applies_to=_only("unsaved"))
def errors_of_save_pass_through(student: Student, case: SweepCase) -> None:
    """An error of `save` ends the sweep, also if it is a MemoryError."""
    played = play_of(student, case)
    rows = [row for row in played.rows() if row[0] == case.unsaved]
    if not rows:
        raise Wrong(f"the row of {case.unsaved}", expected="saved", got="nothing")
    why = ""
    if rows[-1][2] == OOM:
        why = "The error of `save` was treated like an error of `measure`."
    what = f"a {case.error.__name__} while saving"
    if played.raised != UNSAVED:
        raise Wrong(what, expected="the same error", got=played.raised or "no error", why=why)
    expect_equal(len(rows), 1, f"the calls of `save` for {case.unsaved}", why=why)


A, B, C, D = (4, 1, 16), (4, 64, 16), (4, 4096, 16), (8, 64, 64)

OPEN_CASES = {
    "sweep": [
        SweepCase(points=(B, A, D)),
        SweepCase(points=(A, C, B, D), too_large=(C, D)),
        SweepCase(points=(A, B, C), done=(A, C)),
        SweepCase(points=(A, D, B), broken=D),
        SweepCase(points=(A, D, B), unsaved=D, error=MemoryError),
    ],
}
