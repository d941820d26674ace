"""Checks of `speculative`: what chance decides, what ends it, and what it is told.

What it is about: a text with the target's distribution, in fewer calls of the target.
"""

from labkit.bridge.student import Student
from labkit.checks.compare import show
from labkit.checks.core import Wrong, check
from labkit.labs.speculative.checks.alone import expect_all_in_time
from labkit.labs.speculative.checks.cases import (
    ENDS,
    GREEDY,
    LAW,
    REPEATED,
    TOLD,
    SamplingCase,
    n_alike,
    sure_text,
)
from labkit.labs.speculative.checks.parts import isolated
from labkit.labs.speculative.checks.runs import (
    every_run,
    expect_law,
    expect_rng_decides,
    run_of,
)
from labkit.labs.speculative.checks.seen import was_rejected


@check(
    "speculative",
    LAW,
    weight=3,
    gate=True,
    hint="Go through one block on paper: which row of which model decides about each token?",
)
@isolated
def the_text_has_the_targets_law(student: Student, case: SamplingCase) -> None:
    """The text has the law of the target, whatever the draft proposes."""
    expect_law(student, case)


@check(
    "speculative", LAW, ENDS, hint="Where in a block may the text end, and how long may it become?"
)
@isolated
def the_text_ends_in_time(student: Student, case: SamplingCase) -> None:
    """There are n_new new tokens, or fewer up to the end-of-text token, which is among them."""
    expect_all_in_time(student, case)


@check(
    "speculative",
    TOLD,
    hint="Both models are asked through `distribution`; both must be told the same.",
)
@isolated
def both_models_are_told_how_to_sample(student: Student, case: SamplingCase) -> None:
    """Temperature, top-k and top-p shape both models alike; so no twin is ever rejected."""
    expect_law(student, case)
    runs = every_run(student, case).runs
    rejected = sum(run.probability for run in runs if was_rejected(run, case))
    rejected /= sum(run.probability for run in runs) if runs else 1
    if rejected > 1e-3:
        raise Wrong(
            "the probability that a token is rejected, with the target itself as the draft",
            expected="0",
            got=show(round(rejected, 4)),
            why="The draft draws from another distribution than the target.",
        )


@check("speculative", GREEDY, hint="At temperature 0 all is decided: by whom?")
@isolated
def greedy_text_is_the_targets(student: Student, case: SamplingCase) -> None:
    """At temperature 0 the text is the target's greedy one, and a twin is never rejected."""
    run, expected = run_of(student, case), sure_text(case)
    n_right = n_alike(run.new, expected)
    if n_right < case.n_new:
        where = f"new token {n_right + 1}"
        raise Wrong("the greedy text", expected=show(expected), got=show(run.new), where=where)
    if case.draft is case.target and was_rejected(run, case):
        raise Wrong(
            "a drafted token was rejected, with the target itself as the draft",
            why="Did the draft say what is most likely?",
        )


@check(
    "speculative",
    REPEATED,
    weight=0.5,
    hint="The draft's tokens and `verify` both draw: from which generator?",
)
def rng_decides_about_the_text(student: Student, case: SamplingCase) -> None:
    """The same state of `rng` gives the same text again, another state another text."""
    expect_rng_decides(student, case)
