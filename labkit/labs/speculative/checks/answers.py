"""Checks of lab 6's answer cells.

Letters are compared with hidden cases alone. What wins is computed again: in the notebook with the
student's functions, with hidden cases by those of `case.right`.
"""

import re
from statistics import fmean
from typing import Any

from labkit.bridge.student import Student, value_of
from labkit.checks.answers import (
    AnswerCase,
    ask,
    choice_in,
    fields_of,
    finite_number_in,
    is_near,
)
from labkit.checks.compare import expect_mapping, refuse_blank, said_of, show
from labkit.checks.core import OnlyRead, Wrong, check

LEVIATHAN, CHEN = "Leviathan et al., Algorithm 1", "Chen et al., Algorithm 2"
PARTS = ("target", "draft", "residual")
LETTERS = ("p", "q")
A_DIFFERENCE = re.compile(r"(?!.*abs)[^|]*?([pq])[^pq]*?[-\u2212\u2013][^pq]*([pq])")

PUBLISHED = {2: 0.685, 3: 0.62, 5: 0.525, 7: 0.467}  # accepted / drafted by gamma
NEAR_ALPHA = 0.005

ALPHA = 0.78
TIMES_S = {"eager": (25e-3, 33e-3, 34e-3), "captured": (0.8e-3, 4.2e-3, 4.8e-3)}
NEAR_SPEEDUP = 0.005


def _letters(student: Student, case: AnswerCase, paper: str) -> dict[str, str]:
    """The letters of a paper's target and draft, one for each."""
    entry = expect_mapping(fields_of(student, case, (paper,))[paper], PARTS, f'"{paper}"')
    letters = {part: choice_in(entry[part], LETTERS, f"{paper}, {part}") for part in PARTS[:2]}
    if letters["target"] == letters["draft"]:
        raise Wrong(f"{paper}: one letter for both models")
    return letters


def _expect_letters(student: Student, case: AnswerCase, paper: str) -> None:
    letters = _letters(student, case, paper)
    if case.right is None:
        raise OnlyRead
    if letters != {part: case.right[paper][part] for part in letters}:
        why = "Look which model the paper draws tokens from first: that is the draft."
        raise Wrong(f"{paper}: the letters of target and draft are exchanged", why=why)


@check("notation", hint="Read Algorithm 1. The model that makes the guesses is the draft.")
def the_letters_of_leviathan_et_al(student: Student, case: AnswerCase) -> None:
    """Target and draft have the letters of Leviathan et al."""
    _expect_letters(student, case, LEVIATHAN)


@check("notation", hint="Read Algorithm 2. Look for the words draft model and target model.")
def the_letters_of_chen_et_al(student: Student, case: AnswerCase) -> None:
    """Target and draft have the letters of Chen et al."""
    _expect_letters(student, case, CHEN)


@check("notation", hint="Write the target's letter minus the draft's letter.")
def the_residual_in_the_letters_of_each(student: Student, case: AnswerCase) -> None:
    """In both papers the residual is target minus draft, in the letters of each."""
    for paper in (LEVIATHAN, CHEN):
        entry = expect_mapping(fields_of(student, case, (paper,))[paper], PARTS, f'"{paper}"')
        what = f"{paper}, residual"
        text = entry["residual"]
        found = A_DIFFERENCE.match(text.lower()) if isinstance(text, str) else None
        if found is None:
            raise Wrong(what, expected="one letter minus the other", got=show(text))
        letters = case.right[paper] if case.right else _letters(student, case, paper)
        if found.groups() != (letters["target"], letters["draft"]):
            why = "A token can follow a rejection if the target gives it more than the draft."
            raise Wrong(f"{what}: not the target minus the draft", why=why)
    if case.right is None:
        raise OnlyRead


def _expect_alpha(student: Student, case: AnswerCase, gamma: int) -> None:
    answer, ratio, what = value_of(student.published_alpha), PUBLISHED[gamma], f"gamma {gamma}"
    if not isinstance(answer, dict):
        refuse_blank(answer)
    if not isinstance(answer, dict) or gamma not in answer:
        keys = ", ".join(map(str, PUBLISHED))
        raise Wrong(f"`{case.cell}` needs the keys {keys}", expected="a dict", got=show(answer))
    alpha = finite_number_in(answer[gamma], what)
    if alpha < 0 or alpha > 1:
        raise Wrong(what, expected="a probability", got=show(alpha))
    lowest, highest = max(0.0, alpha - NEAR_ALPHA), min(1.0, alpha + NEAR_ALPHA)
    if _accepted_of_drafted(lowest, gamma) <= ratio <= _accepted_of_drafted(highest, gamma):
        return
    slips = {
        ratio: "That is accepted / drafted itself. It counts tokens that were never examined.",
        ratio
        ** (
            1 / gamma
        ): "That is alpha if all drafted tokens must be accepted. Use the average of the powers.",
        (gamma * ratio + 1) / (gamma + 1): "Do not count the token that the target adds.",
    }
    got = _accepted_of_drafted(alpha, gamma)
    what = f"accepted / drafted at gamma {gamma} for an alpha of {show(alpha)}"
    raise Wrong(what, expected=show(ratio), got=f"{got:.3f}", why=said_of(alpha, slips, 2e-3))


def _accepted_of_drafted(alpha: float, gamma: int) -> float:
    """The n-th drafted token is accepted if it and all before it are."""
    return fmean(alpha**n for n in range(1, gamma + 1))


@check("published_alpha", hint="Solve (α + α²) / 2 = 0.685 for gamma 2.")
def rates_of_short_blocks_become_alpha(student: Student, case: AnswerCase) -> None:
    """At gamma 2 and 3, alpha gives the accepted / drafted of the table, within 0.005."""
    for gamma in (2, 3):
        _expect_alpha(student, case, gamma)


@check("published_alpha", hint="Try an alpha, compare, and halve the interval. A loop does it.")
def rates_of_long_blocks_become_alpha(student: Student, case: AnswerCase) -> None:
    """At gamma 5 and 7, alpha gives the accepted / drafted of the table, within 0.005."""
    for gamma in (5, 7):
        _expect_alpha(student, case, gamma)


def _expect_plan(student: Student, case: AnswerCase, setting: str) -> None:
    """The best gamma and what it gains follow from the times of these steps."""
    functions, (draft_s, target_s, verify_s) = case.right or student, TIMES_S[setting]
    entry: dict[str, Any] = expect_mapping(
        fields_of(student, case, (setting,))[setting], ("best_gamma", "speedup"), f'"{setting}"'
    )
    gamma = finite_number_in(entry["best_gamma"], f"{setting}, best_gamma")
    best = ask(functions, "best_gamma", ALPHA, draft_s, target_s, lambda _: verify_s)
    if gamma != best:
        what = f"{setting}, best_gamma"
        raise Wrong(
            f"{what}, {show(gamma)}: that does not follow from {_whose(case)}",
            cause=f"{what} does not follow",
        )
    gained = finite_number_in(entry["speedup"], f"{setting}, speedup")
    times = (draft_s, target_s, verify_s)
    right = ask(functions, "speedup", ALPHA, int(best), *times) if best > 0 else 1.0
    if not right > 0:
        raise Wrong("what your speedup gives", expected="more than 0", got=show(right))
    slips = {
        1 / right: "That is the inverse: divide the time of plain decoding by that of speculation.",
        100 * right: "That is in percent. Give a factor.",
        right * verify_s / target_s: "Use verify_s for the verification, not target_s.",
    }
    if best == 0:
        slips[target_s / verify_s] = (
            "With gamma 0 nothing is drafted. That is plain decoding, with speedup 1."
        )
    if not is_near(gained, right, NEAR_SPEEDUP):
        what = f"{setting}, speedup"
        why = said_of(gained, slips, NEAR_SPEEDUP)
        raise Wrong(
            f"{what}, {show(gained)}: that does not follow from {_whose(case)}",
            why=why,
            cause=why or f"{what} does not follow",
        )


def _whose(case: AnswerCase) -> str:
    return "the durations" if case.right else "your own functions"


@check("will_it_win", hint="Call your best_gamma with `lambda gamma: 0.034`, then your speedup.")
def eager_steps_are_predicted(student: Student, case: AnswerCase) -> None:
    """For eager steps, best gamma and speedup follow from the durations."""
    _expect_plan(student, case, "eager")


@check("will_it_win", hint="Call your best_gamma with `lambda gamma: 0.0048`, then your speedup.")
def captured_steps_are_predicted(student: Student, case: AnswerCase) -> None:
    """For captured steps, best gamma and speedup follow from the durations."""
    _expect_plan(student, case, "captured")


OPEN_CASES = {name: [AnswerCase(name)] for name in ("notation", "published_alpha", "will_it_win")}
