"""Checks of lab 6's answer cells.

Letters are compared with hidden cases alone. What wins is computed again: in the notebook with the
student's functions, with hidden cases by those of `case.right`.
"""

import re
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from labkit.bridge.requests import value_of
from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, choice_in, fields_of, finite_number_in, is_near
from labkit.checks.compare import expect_mapping, joined, refuse_blank, show, truth_in
from labkit.checks.core import OnlyRead, Wrong, check
from labkit.labs.speculative.rules import RULES

LEVIATHAN, CHEN = "Leviathan et al., Algorithm 1", "Chen et al., Algorithm 2"
PARTS = ("target", "draft", "residual")
LETTERS = ("p", "q")
A_DIFFERENCE = re.compile(r"(?!.*abs)[^|]*?([pq])[^pq\-\u2212\u2013]*+[-\u2212\u2013][^pq]*+([pq])")

PUBLISHED = {2: 0.685, 3: 0.62, 5: 0.525, 7: 0.467}  # accepted / drafted by gamma
NEAR_ALPHA = 0.005

ALPHA = 0.78
TIMES_S = {"eager": (23e-3, 29e-3, 34e-3), "captured": (0.70e-3, 4.06e-3, 4.55e-3)}
NEAR_SPEEDUP = 0.005

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
        "That is accepted / drafted itself. It counts tokens that were never examined.": ratio,
        "That is alpha if all drafted tokens must be accepted. Use the average of the powers.": (
            ratio ** (1 / gamma)
        ),
        "Do not count the token that the target adds.": (gamma * ratio + 1) / (gamma + 1),
        "That is alpha if blocks had no end. A block ends after gamma tokens.": (
            gamma * ratio / (1 + gamma * ratio)
        ),
    }
    got = _accepted_of_drafted(alpha, gamma)
    if is_near(_accepted_of_drafted(1 - alpha, gamma), ratio, 2e-3):
        slips["That is the probability of a rejection."] = alpha
    if is_near((1 + gamma * got) / (gamma + 1), ratio, 2e-3):
        slips["The token that the target adds is not a drafted one. Do not count it."] = alpha
    if any(answer.get(other) == answer[gamma] for other in PUBLISHED if other != gamma):
        slips["That is also your alpha for another gamma. Solve for each one."] = alpha
    what = f"accepted / drafted at gamma {gamma} for an alpha of {show(alpha)}"
    why = joined(text for text, slip in slips.items() if is_near(alpha, slip, 2e-3))
    raise Wrong(what, expected=show(ratio), got=f"{got:.3f}", why=why)


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
    functions, times_s = case.right or student, TIMES_S[setting]
    answer = fields_of(student, case, (setting,))
    gamma = _number(answer, setting, "best_gamma")
    best = _best(functions, *times_s)
    if gamma != best:
        why = _of_gamma(functions, gamma, setting)
        others = (entry for name, entry in answer.items() if name in TIMES_S and name != setting)
        if any(isinstance(each, dict) and each.get("best_gamma") == gamma for each in others):
            why = f"{why} That is your best_gamma of both settings.".strip()
        _refuse(case, f"{setting}, best_gamma", gamma, why)
    gained = _number(answer, setting, "speedup")
    right = ask(functions, "speedup", ALPHA, int(best), *times_s) if best > 0 else 1.0
    if not right > 0:
        raise Wrong("what your speedup gives", expected="more than 0", got=show(right))
    if not is_near(gained, right, NEAR_SPEEDUP):
        slips = _speedup_slips(functions, int(best), right, *times_s)
        why = joined(text for text, slip in slips.items() if is_near(gained, slip, NEAR_SPEEDUP))
        _refuse(case, f"{setting}, speedup", gained, why)


def _number(answer: dict, setting: str, key: str) -> float:
    entry = expect_mapping(answer[setting], ("best_gamma", "speedup"), f'"{setting}"')
    return finite_number_in(entry[key], f"{setting}, {key}")


def _best(functions: Any, draft_s: float, target_s: float, verify_s: float) -> float:
    return ask(functions, "best_gamma", ALPHA, draft_s, target_s, lambda _: verify_s)


def _of_gamma(functions: Any, gamma: float, setting: str) -> str:
    """The sentence for a gamma that is not the best one of these steps."""
    if gamma < 0 or gamma != int(gamma):
        return "A number of tokens is a whole number, and not negative."
    draft_s, target_s, verify_s = TIMES_S[setting]
    slips = {
        "That is the best gamma if drafts take no time.": (0.0, target_s, verify_s),
        "That is the best gamma if a verification takes target_s.": (draft_s, target_s, target_s),
    }
    why = joined(text for text, times_s in slips.items() if _best(functions, *times_s) == gamma)
    if gamma > 0 and ask(functions, "speedup", ALPHA, int(gamma), *TIMES_S[setting]) < 1:
        why = f"{why} With this gamma speculation is slower than plain decoding.".strip()
    return why


def _speedup_slips(
    functions: Any, best: int, right: float, draft_s: float, target_s: float, verify_s: float
) -> dict[str, float]:
    """The speedups of known mistakes, each with its sentence."""
    slips = {
        "That is the inverse: divide the time of plain decoding by that of speculation.": 1 / right,
        "That is in percent. Give a factor.": 100 * right,
    }
    if best == 0:
        plain = "With gamma 0 nothing is drafted. That is plain decoding, with speedup 1."
        return slips | {plain: target_s / verify_s}
    n_tokens = ask(functions, "expected_tokens", ALPHA, best)
    return slips | {
        "Those are the tokens per block. Their time counts, too.": n_tokens,
        "The token that the target adds counts, too.": right * (n_tokens - 1) / n_tokens,
        "A verification takes verify_s, not target_s.": (
            n_tokens * target_s / (best * draft_s + target_s)
        ),
    }


def _refuse(case: AnswerCase, what: str, got: float, why: str) -> None:
    """Refuse an answer without showing the right one. Raises: Wrong, always."""
    whose = "the durations" if case.right else "your own functions"
    raise Wrong(
        f"{what}, {show(got)}: that does not follow from {whose}",
        why=why,
        cause=why or f"{what} does not follow",
    )


@check("will_it_win", hint="Call your best_gamma with `lambda gamma: 0.034`, then your speedup.")
def eager_steps_are_predicted(student: Student, case: AnswerCase) -> None:
    """For eager steps, best gamma and speedup follow from the durations."""
    _expect_plan(student, case, "eager")


@check("will_it_win", hint="Call your best_gamma with `lambda gamma: 0.00455`, then your speedup.")
def captured_steps_are_predicted(student: Student, case: AnswerCase) -> None:
    """For captured steps, best gamma and speedup follow from the durations."""
    _expect_plan(student, case, "captured")


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


@check("acceptance_rules", hint="Call `rule_law(rule, 0.2)` and add where `is_kept` is 1.")
def what_is_kept_at_a_low_temperature(student: Student, case: AnswerCase) -> None:
    """At temperature 0.2, each rule keeps a drafted token with the probability that is named."""
    _expect_kept(student, case, 0.2)


OPEN_CASES = {
    name: [AnswerCase(name)]
    for name in ("notation", "acceptance_rules", "published_alpha", "will_it_win")
}
