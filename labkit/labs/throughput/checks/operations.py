"""Checks of `count_operations`.

It is about what PyTorch dispatches while a program runs. The programs are the check's own. They run
beside the student's code, since only there it can see them; what each has to give is computed here.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import is_near
from labkit.checks.compare import joined, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal
from labkit.labs.throughput.programs import FACTOR, expected, value_of

_count = partial(check, "count_operations")
REASONS = {  # what a step may do instead, and why
    "add twice": (
        lambda x: x + FACTOR,
        "torch.add(x, y, alpha=2) has alpha in kwargs. Pass kwargs on.",
    ),
    "add in place": (lambda x: x + 2, "x.add_(1) changes x. Call func once."),
    "scale with gradients": (
        lambda x: x * 1.0,
        "The program asks whether gradients are on. Do not switch them off.",
    ),
}
VIEW, KEY = "aten.t.default", "OpOverload "  # KEY: before the name of an operation as key


@dataclass(frozen=True, slots=True)
class ProgramCase:
    """A program whose operations are counted, and another one that runs between two counts."""

    steps: tuple[str, ...]
    other: tuple[str, ...] = ("add",)

    def __str__(self) -> str:
        return f"a program of {len(self.steps)} steps: {', '.join(self.steps) or 'none'}"


@dataclass(frozen=True)
class Played:
    """What the student's function gave for the program, the other one, the program again.

    later: the same results, after all of that.
    """

    counts: list[Any]
    later: list[Any]
    values: list[float]


def play_of(student: Student, case: ProgramCase) -> Played:
    """The three counts in turn, played once for all checks."""

    def play() -> Played:
        values: list[float] = []
        programs = [list(case.steps), list(case.other), list(case.steps)]
        found = student.lab.programs.play(student.count_operations, programs, values.append)
        refuse_blank(found[0][0])
        return Played(*found, values)

    return student.once(("count_operations", case), play)


def _numbers(got: Any) -> dict[str, int]:
    """The counts by name, without those that are 0. Raises Wrong for anything else."""
    if isinstance(got, dict) and all(isinstance(n, int) for n in got.values()):
        return {name: n for name, n in got.items() if n}
    why = ""
    if isinstance(got, int):
        why = "That is one number for all operations. Count each name by itself."
    wanted = 'numbers by name, such as {"aten.mm.default": 2}'
    raise Wrong("the result", expected=wanted, got=show(got), why=why)


def _slip(case: ProgramCase, got: dict[str, int]) -> str:
    """The sentences for the counts that known mistakes give."""
    right = dict(expected(case.steps))
    short: dict[str, int] = {}
    for name, n in right.items():
        packet = name.rpartition(".")[0]
        short[packet] = short.get(packet, 0) + n
    slips = {
        "Each name has 1. Add 1 at each dispatch.": dict.fromkeys(right, 1),
        "The views are missing. Count them too.": {n: right[n] for n in right if n != VIEW},
        "The part after the last dot is missing. Use str(func).": short,
        "Each operation was counted twice.": {name: 2 * n for name, n in right.items()},
        "The keys are operations. Use their names, str(func).": {
            f"{KEY}{name}": n for name, n in right.items()
        },
    }
    return joined(text for text, given in slips.items() if given == got and given != right)


@_count(weight=2, gate=True, hint="In __torch_dispatch__, add 1 at str(func).")
def each_operation_is_counted_by_its_name(student: Student, case: ProgramCase) -> None:
    """Each dispatched operation, also a view, adds 1 to the number of its name."""
    got = _numbers(play_of(student, case).counts[0])
    right = expected(case.steps)
    for name in sorted({*got, *right}):
        if got.get(name, 0) != right[name]:
            raise Wrong(
                f"the number of {name}",
                expected=show(right[name]),
                got=show(got.get(name, 0)),
                why=_slip(case, got),
            )


@_count(gate=True, hint="Call func(*args, **kwargs), and return its result. Call run() once.")
def the_program_computes_the_same(student: Student, case: ProgramCase) -> None:
    """The program runs once, and computes what it would compute without you."""
    values = play_of(student, case).values
    if len(values) != 3:
        n_runs = len(values) / 3
        raise Wrong("calls of run()", expected="1", got=f"{n_runs:g}")
    right = value_of(case.steps)
    if not is_near(values[0], right, 1e-9):
        why = joined(
            text
            for step, (instead, text) in REASONS.items()
            if step in case.steps
            and is_near(values[0], value_of(case.steps, {step: instead}), 1e-9)
        )
        raise Wrong("what the program computes", expected=show(right), got=show(values[0]), why=why)


@_count(gate=True, hint="Begin each call with an empty Counter. Use the mode in a with block.")
def only_this_run_counts(student: Student, case: ProgramCase) -> None:
    """The same program gives the same counts again, whatever runs before, between and after."""
    played = play_of(student, case)
    first, between, again = played.counts
    _numbers(first)
    if played.later[0] != first:
        what = "the counts of the first call, after other operations"
        why = "Operations after run() were counted, too."
        raise Wrong(what, expected=show(first), got=show(played.later[0]), why=why)
    if first != again:
        what = "the counts of a program that runs a second time"
        why = "The second call did not begin at 0." * (_total(again) > _total(first))
        raise Wrong(what, expected=show(first), got=show(again), why=why)
    if between == first and isinstance(first, dict):
        raise Wrong(
            "the counts of two programs",
            expected=f"others for the one with {len(case.other)} steps",
            got="the same",
            why="Make a new Counter in each call.",
            cause="two programs have the same counts",
        )


def _total(counts: Any) -> float:
    """All counts together; 0 where there are none."""
    numbers = counts.values() if isinstance(counts, dict) else [counts]
    return sum(n for n in numbers if isinstance(n, int))


@_count(weight=0.5, hint="Do not catch what run() raises.")
def an_error_of_the_program_reaches_the_caller(student: Student, case: ProgramCase) -> None:
    """An error of run() reaches the caller, after run() was called."""
    noted: list[float] = []
    expect_refusal(
        lambda: student.lab.programs.play(
            student.count_operations, [list(case.steps)], noted.append, True
        ),
        "ValueError",
        "a program that raises ValueError",
        why="Its caller has to know that it is broken.",
    )
    if len(noted) != 1:
        raise Wrong("calls of run()", expected="1", got=show(len(noted)))


OPEN_CASES = {
    "count_operations": [
        ProgramCase(("multiply", "add", "multiply", "turn")),
        ProgramCase(("add twice", "relu", "halve"), ("turn", "multiply")),
        ProgramCase(()),
    ],
}
