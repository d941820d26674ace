"""Checks of `limit_of`: the longest of three times, and steps that are impossibly fast."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import joined, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal

_limits = partial(check, "limit_of", gate=True)


@dataclass(frozen=True, slots=True)
class LimitCase:
    """A step's three least times, with its measured time. right: the limit; None if impossible."""

    step_s: float
    n_layers: int
    launch_s_per_layer: float
    moving_s: float
    computing_s: float
    right: str | None

    def __str__(self) -> str:
        return (
            f"{self.n_layers} layers launched in {1e3 * self.launch_s_per_layer:g} ms each, "
            f"{1e3 * self.moving_s:g} ms of moving, {1e3 * self.computing_s:g} ms of computing, "
            f"a step of {1e3 * self.step_s:g} ms"
        )


def _expect_limit(student: Student, case: LimitCase) -> None:
    """The student names the limit, also where the others are near; another one where it is short.

    Near: nine tenths, so that the two others together are longer. Short: a hundredth.
    """
    least_s = {
        "launch": case.n_layers * case.launch_s_per_layer,
        "memory": case.moving_s,
        "compute": case.computing_s,
    }
    got = _limit(student, case, least_s)
    if got != case.right:
        named = f"{1e3 * least_s[case.right]:g} ms, the longest of the three"
        why = _limit_slip(student)
        raise Wrong("the limit", expected=f'"{case.right}" ({named})', got=show(got), why=why)
    longest_s = least_s[case.right]
    near = dict.fromkeys(least_s, 0.9 * longest_s) | {case.right: longest_s}
    if (got := _limit(student, case, near)) != case.right:
        what = f"the limit, where each of the other two takes {900 * longest_s:g} ms"
        named = f'"{case.right}" ({1e3 * longest_s:g} ms)'
        why = "It is the longest of the three, also where the other two together take longer."
        raise Wrong(what, expected=named, got=show(got), why=why)
    shrunk = least_s | {case.right: least_s[case.right] / 100}
    if _limit(student, case, shrunk) == case.right:
        why = f"since its time is now {1e3 * shrunk[case.right]:g} ms, not the longest"
        raise Wrong("the limit", expected=f"not {case.right!r}, {why}", got=show(case.right))


def _limit(student: Student, case: LimitCase, least_s: dict[str, float]) -> str:
    got = student.limit_of(
        case.step_s,
        case.n_layers,
        least_s["launch"] / case.n_layers,
        least_s["memory"],
        least_s["compute"],
    )
    refuse_blank(got)
    if not isinstance(got, str):
        names = " or ".join(f'"{name}"' for name in least_s)
        raise Wrong("the limit", expected=names, got=show(got))
    return got.strip().lower()


LIMIT_PROBES = (  # step_s, n_layers, launch_s_per_layer, moving_s, computing_s
    (1.0, 10, 0.03, 0.1, 0.2),
    (1.0, 10, 0.01, 0.4, 0.2),
    (1.0, 10, 0.01, 0.2, 0.4),
    (1.0, 10, 0.05, 0.1, 0.3),
)
LIMIT_SLIPS = {
    "The launch time of one layer was taken. Multiply by n_layers.": (
        ("compute", "memory", "compute", "compute")
    ),
    "moving_s and computing_s are mixed up.": (("launch", "compute", "memory", "launch")),
    "That is the shortest of the three times. The limit is the longest.": (
        ("memory", "launch", "launch", "memory")
    ),
}


def _limit_slip(student: Student) -> str:
    """The sentences for the answers that known mistakes give on all probes."""
    try:
        got = tuple(student.limit_of(*probe) for probe in LIMIT_PROBES)
    except StudentError:
        return ""
    if not all(isinstance(each, str) for each in got):
        return ""
    return joined(text for text, given in LIMIT_SLIPS.items() if got == given)


def _has(right: str | None) -> Any:
    return lambda case: case.right == right


@_limits(
    hint="Compare n_layers * launch_s_per_layer with the two floors.",
    applies_to=_has("launch"),
)
def many_layers_wait_for_launches(student: Student, case: LimitCase) -> None:
    """If launching all layers takes the longest, the limit is "launch"."""
    _expect_limit(student, case)
    floor_s = max(case.moving_s, case.computing_s)
    short = (1.1 * floor_s, case.n_layers, 5 * floor_s / case.n_layers)
    try:
        got = student.limit_of(*short, case.moving_s, case.computing_s)
    except StudentError:
        return  # another check is about what is refused
    if str(got).strip().lower() != "launch":
        what = "the limit of a step that is shorter than its launches"
        why = "The longest of the three times is the limit. step_s does not decide it."
        raise Wrong(what, expected='"launch"', got=show(got), why=why)


@_limits(hint='Return "memory" if moving_s is the longest.', applies_to=_has("memory"))
def many_bytes_wait_for_memory(student: Student, case: LimitCase) -> None:
    """If moving bytes takes the longest, the limit is "memory"."""
    _expect_limit(student, case)


@_limits(hint='Return "compute" if computing_s is the longest.', applies_to=_has("compute"))
def many_products_wait_for_compute(student: Student, case: LimitCase) -> None:
    """If computing takes the longest, the limit is "compute"."""
    _expect_limit(student, case)


@_limits(
    hint="Raise ValueError if step_s is below moving_s or below computing_s.",
    applies_to=_has(None),
)
def a_step_below_its_floor_is_refused(student: Student, case: LimitCase) -> None:
    """Only a step_s below moving_s or below computing_s raises ValueError."""
    sizes = (case.n_layers, case.launch_s_per_layer, case.moving_s, case.computing_s)
    floor_s = max(case.moving_s, case.computing_s)
    floor = "moving" if floor_s == case.moving_s else "computing"
    for step_s, near in ((case.step_s, ""), (0.999 * floor_s, ", just below it")):
        expect_refusal(
            lambda s=step_s: student.limit_of(s, *sizes),
            "ValueError",
            f"a step of {1e3 * step_s:g} ms with a floor of {1e3 * floor_s:g} ms{near}",
            why=f"No device is so fast: {floor} alone takes longer. The measurement is wrong.",
        )
    slow_launch_s = 3 * floor_s / case.n_layers
    slower = (case.n_layers, slow_launch_s, case.moving_s, case.computing_s)
    launching = f"{case.n_layers} launches of {1e3 * slow_launch_s:g} ms"
    possible = {
        f"a step of {2e3 * floor_s:g} ms, twice the floor, with {launching}": (
            2 * floor_s,
            *slower,
        ),
        f"a step of {1e3 * floor_s:g} ms, as long as its floor": (floor_s, *sizes),
    }
    for what, arguments in possible.items():
        try:
            refuse_blank(student.limit_of(*arguments))
        except StudentError as error:
            if not error.is_a("ValueError"):
                raise
            raise Wrong(what, expected="no error", got=str(error)) from None


OPEN_CASES = {
    "limit_of": [
        LimitCase(0.030, 36, 0.00075, 0.005, 0.001, "launch"),
        LimitCase(0.120, 28, 0.001, 0.090, 0.010, "memory"),
        LimitCase(0.900, 12, 0.002, 0.020, 0.500, "compute"),
        LimitCase(0.004, 12, 0.002, 0.005, 0.001, None),
    ],
}
