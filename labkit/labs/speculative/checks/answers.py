"""Checks of lab 6's answer cells.

What is right is compared with hidden cases alone.
"""

import re
from collections.abc import Iterator
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, choice_in, fields_of
from labkit.checks.compare import expect_mapping, finite_number_in, joined, show, truth_in
from labkit.checks.core import OnlyRead, Wrong, check
from labkit.labs.speculative.rules import RULES

LEVIATHAN, CHEN = "Leviathan et al., Algorithm 1", "Chen et al., Algorithm 2"
PARTS = ("target", "draft", "residual")
LETTERS = ("p", "q")
A_DIFFERENCE = re.compile(r"(?!.*abs)[^|]*?([pq])[^pq\-\u2212\u2013]*+[-\u2212\u2013][^pq]*+([pq])")

TEMPERATURES = (1.0, 0.2)
NEAR_KEPT = 0.0051  # two decimals


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


def _rule(student: Student, case: AnswerCase, rule: str) -> dict:
    """What is said of one rule of acceptance."""
    entry = fields_of(student, case, tuple(RULES))[rule]
    return expect_mapping(entry, ("lossless", "kept"), f'"{rule}"')


@check("acceptance_rules", hint="Add the outcomes of each token, kept or replaced, and compare.")
def each_rule_is_lossless_or_not(student: Student, case: AnswerCase) -> None:
    """Each rule is called lossless if the token has the target's distribution, and only then."""
    for rule in RULES:
        what = f"{rule}, lossless"
        is_lossless = truth_in(_rule(student, case, rule)["lossless"], what)
        if case.right and is_lossless != case.right[rule]["lossless"]:
            why = (
                "Compare with the target at both temperatures: one token comes too often."
                if is_lossless
                else "A rule that keeps fewer tokens may still have the target's distribution."
            )
            raise Wrong(f"{what}: {is_lossless} is not what the outcomes say", why=why)
    if case.right is None:
        raise OnlyRead


def _expect_kept(student: Student, case: AnswerCase, temperature: float) -> None:
    for rule in RULES:
        what = f"{rule}, kept at {temperature}"
        entry = expect_mapping(_rule(student, case, rule)["kept"], TEMPERATURES, f'"{rule}", kept')
        kept = finite_number_in(entry[temperature], what)
        if not 0 <= kept <= 1:
            raise Wrong(what, expected="a probability", got=show(kept))
        if case.right and abs(kept - case.right[rule]["kept"][temperature]) > NEAR_KEPT:
            why = joined(_kept_slips(case.right, rule, temperature, kept))
            cause = why or f"{what} does not follow"
            claim = f"{what}, {show(kept)}: the outcomes give another number"
            raise Wrong(claim, why=why, cause=cause)
    if case.right is None:
        raise OnlyRead


def _kept_slips(right: Any, rule: str, temperature: float, kept: float) -> Iterator[str]:
    """Sentences for the numbers that known mistakes give."""
    (other,) = set(TEMPERATURES) - {temperature}
    numbers = {name: right[name]["kept"] for name in RULES}
    slips = {
        "That is the number of the other temperature.": numbers[rule][other],
        "That is the probability that the drafted token is replaced.": (
            1 - numbers[rule][temperature]
        ),
        "That is Σ target · draft: both draw the same token. Only `strict` asks for that.": (
            numbers["strict"][temperature]
        ),
        "That is Σ min(target, draft), which only `ratio` keeps.": numbers["ratio"][temperature],
    }
    return (text for text, slip in slips.items() if abs(kept - slip) <= NEAR_KEPT)


@check("acceptance_rules", hint="Add the outcomes in which `is_kept` is 1.")
def what_is_kept_at_temperature_1(student: Student, case: AnswerCase) -> None:
    """At temperature 1.0, each rule keeps a drafted token with the probability that is named."""
    _expect_kept(student, case, 1.0)


@check("acceptance_rules", hint="Call `lab.rule_law(rule, 0.2)` and add where `is_kept` is 1.")
def what_is_kept_at_a_low_temperature(student: Student, case: AnswerCase) -> None:
    """At temperature 0.2, each rule keeps a drafted token with the probability that is named."""
    _expect_kept(student, case, 0.2)


OPEN_CASES = {name: [AnswerCase(name)] for name in ("notation", "acceptance_rules")}
