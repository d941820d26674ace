"""What the checks of the attention functions expect of the numbers in a run."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor

from labkit.bridge.helped import Helped
from labkit.bridge.student import MissingName, Student, StudentError
from labkit.checks.core import NotJudged, Unfinished, Wrong
from labkit.checks.tensors import expect_tensor
from labkit.labs.flash_attention.checks.memory import WatchedMemory
from labkit.labs.flash_attention.checks.moves import expect_meetings, expect_order
from labkit.labs.flash_attention.checks.runs import (
    ORDERS,
    AttentionCase,
    is_near,
    moved_output,
    plain_case,
    right_output,
    run_of,
)
from labkit.labs.flash_attention.checks.slips import sentences_for_output
from labkit.labs.flash_attention.checks.steps import (
    LARGE_TOLERANCE,
    TOLERANCE,
    StepCase,
    expect_sum,
)


def expect_output(student: Student, case: AttentionCase, exercise: str) -> None:
    """O is attention's output, within rounding."""
    watched = run_of(student, case, exercise)
    if has_right_output(watched, case):
        return
    right, why = right_output(case, case.is_causal), sentences_for_output(student, case, exercise)
    if not why and ORDERS[exercise].in_turns and not isinstance(student, Helped):
        why = _sentences_for_the_step(student)
    expect_array(watched, "O", right, why, _tolerance(case))


def has_right_output(watched: WatchedMemory, case: AttentionCase) -> bool:
    """Whether O is attention's output, within rounding."""
    got, right = watched.memory.arrays["O"].double(), right_output(case, case.is_causal)
    return torch.allclose(got, right, rtol=_tolerance(case), atol=_tolerance(case))


def _tolerance(case: AttentionCase) -> float:
    return LARGE_TOLERANCE if case.kind == "large" else TOLERANCE


def expect_output_as_well(student: Student, case: AttentionCase, exercise: str) -> None:
    """O is attention's output in a case that asks for more than a plain one.

    Where the plain one is wrong already, that is said, and nothing else.
    """
    try:
        expect_output(student, case, exercise)
    except (Wrong, StudentError):
        _expect_plain_output(student, case, exercise)
        raise


def expect_any_length(student: Student, case: AttentionCase, exercise: str) -> None:
    """As `expect_output_as_well`; with a mask only where the mask is right on even tiles."""
    if case.is_causal:
        even = replace(plain_case(case), kind="causal", is_causal=True)
        try:
            expect_output(student, even, exercise)
        except (Wrong, StudentError):
            return  # the check of the mask says so, and cases without one are played here
    expect_output_as_well(student, case, exercise)


def _expect_plain_output(student: Student, case: AttentionCase, exercise: str) -> None:
    plain = plain_case(case)
    got = run_of(student, plain, exercise).memory.arrays["O"].double()
    if not is_near(got, right_output(plain, is_causal=False)):
        raise NotJudged('first pass the check "O is softmax(Q Kᵀ / √D) V"')


def _sentences_for_the_step(student: Student) -> str:
    """Where the student's own `online_softmax` is wrong, that it is."""
    case = StepCase("later", 4, 3, 5)
    try:
        for which in ("total", "output"):
            expect_sum(student, case, which)
    except (Wrong, StudentError, MissingName, Unfinished):
        return "Your `online_softmax` does not pass its own check. Mend it first."
    return ""


def expect_array(
    watched: WatchedMemory, name: str, expected: Tensor, why: str = "", tolerance: float = TOLERANCE
) -> None:
    """An array in memory holds what is expected. why: the cause, where it is known."""
    got = watched.memory.arrays[name].double()
    bad_rows = (~got.isfinite()).reshape(len(got), -1).any(-1).nonzero().flatten().tolist()
    if not why and bad_rows and (blank := watched.loaded_blank()):
        why = f"{blank} is loaded before anything was stored there. Until then it holds NaN."
    elif not why and bad_rows and bad_rows[0] not in watched.stored_rows(name):
        why = f"Row {bad_rows[0]} of {name} was never stored; memory holds NaN there."
    elif not why and bad_rows:
        why = f"Row {bad_rows[0]} of {name} is not finite. inf / inf, 0 / 0 and inf - inf are NaN."
    expect_tensor(got, expected, f"what {name} holds", why=why, tolerance=tolerance)


def expect_nothing_kept(student: Student, case: AttentionCase, exercise: str) -> None:
    """The output depends on the data loaded last, not on copies of an earlier turn."""
    watched = run_of(student, case, exercise)
    expect_order(watched, case)
    expect_meetings(watched, case)
    got, expected = watched.memory.arrays["O"].double(), moved_output(watched, case)
    if is_near(got, expected):
        return
    _expect_plain_output(student, case, exercise)
    found = [why for why, output in _with_copies(watched, case) if is_near(got, output)]
    expect_tensor(got, expected, "what O holds", why=" Or: ".join(found), tolerance=TOLERANCE)


def _with_copies(watched: WatchedMemory, case: AttentionCase) -> Iterator[tuple[str, Tensor]]:
    """The sentences for copies used in place of loaded data, each with its output."""
    order = watched.order
    names = order.in_turns + order.state
    for n in range(1, len(names) + 1):
        for kept in combinations(names, n):
            why = (
                f"Others write to {' and '.join(kept)} between turns, and the output does not show "
                "it. Use what is loaded in this turn."
            )
            yield why, moved_output(watched, case, kept="".join(kept))
    if order.state:
        why = "In memory O is always divided by its total l, not in the last turn only."
        yield why, moved_output(watched, case, is_divided=False)
