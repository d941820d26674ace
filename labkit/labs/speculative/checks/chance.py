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
    hint="Do one block on paper. Row i of the target is about drafted token i.",
)
@isolated
def the_text_has_the_targets_law(student: Student, case: SamplingCase) -> None:
    """The text has the distribution of the target, whatever the draft proposes."""
    expect_law(student, case)


@check(
    "speculative",
    LAW,
    ENDS,
    hint="Draft at most one token less than are wanted. Cut after eos.",
    gate=True,
)
@isolated
def the_text_ends_in_time(student: Student, case: SamplingCase) -> None:
    """The result has n_new tokens, or ends earlier with the end-of-text token."""
    expect_all_in_time(student, case)


@check(
    "speculative",
    TOLD,
    hint="Call `distribution` with the same settings for both models.",
    gate=True,
)
@isolated
def both_models_are_told_how_to_sample(student: Student, case: SamplingCase) -> None:
    """Both models use the settings: with the target as its own draft, none is rejected."""
    expect_law(student, case)
    runs = every_run(student, case).runs
    rejected = sum(run.probability for run in runs if was_rejected(run, case))
    rejected /= sum(run.probability for run in runs) if runs else 1
    if rejected > 1e-3:
        raise Wrong(
            "the probability that a token is rejected, with the target itself as the draft",
            expected="0",
            got=show(round(rejected, 4)),
            why="The draft's distribution has other settings than the target's.",
        )


@check(
    "speculative",
    GREEDY,
    hint="Run temperature 0 with a draft that differs, and compare with `autoregressive`.",
    gate=True,
)
@isolated
def greedy_text_is_the_targets(student: Student, case: SamplingCase) -> None:
    """At temperature 0 the text is the target's greedy text."""
    run, expected = run_of(student, case), sure_text(case)
    n_right = n_alike(run.new, expected)
    if n_right < case.n_new:
        where = f"new token {n_right + 1}"
        raise Wrong("the greedy text", expected=show(expected), got=show(run.new), where=where)
    if case.draft is case.target and was_rejected(run, case):
        raise Wrong(
            "a drafted token was rejected, with the target itself as the draft",
            why="The draft was fed another text, or has another temperature.",
        )


@check(
    "speculative",
    REPEATED,
    weight=0.5,
    hint="Pass rng to `sample` and to `verify`.",
    gate=True,
)
@isolated
def rng_decides_about_the_text(student: Student, case: SamplingCase) -> None:
    """The same state of `rng` gives the same text, and another state another text."""
    expect_rng_decides(student, case)
