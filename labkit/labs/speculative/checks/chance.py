"""Checks of `speculative`: random choices, the end of the text, settings, and drafts.

The exercise is about a text with the target's distribution, in fewer calls of the target.
"""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.compare import show
from labkit.checks.core import Wrong, check
from labkit.labs.speculative.checks.alone import (
    expect_all_in_time,
    expect_one_call_for_the_prompt,
    worked_run,
)
from labkit.labs.speculative.checks.cases import SamplingCase, n_alike, sure_text
from labkit.labs.speculative.checks.models import verified_next
from labkit.labs.speculative.checks.runs import every_run, expect_law, expect_rng_decides, run_of
from labkit.labs.speculative.checks.seen import blocks_of, verified, was_rejected

ALIKE = "With the same text and the same settings, the distributions of draft and target are equal."
spec = partial(check, "speculative", gate=True, parts=("distribution", "residual", "verify"))


@spec("law", weight=3, hint="Do one block on paper. Row i of the target is about drafted token i.")
def the_text_has_the_targets_law(student: Student, case: SamplingCase) -> None:
    """The text has the distribution of the target, whatever the draft proposes."""
    expect_law(student, case)


@spec("law", "ends", hint="Draft at most one token less than are wanted. Cut after eos.")
def the_text_ends_in_time(student: Student, case: SamplingCase) -> None:
    """The result has n_new tokens, or ends earlier with the end-of-text token."""
    expect_all_in_time(student, case)


@spec("settings", hint="Call `distribution` with the same settings for both models.")
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
            why=ALIKE,
        )


@spec(
    "greedy", hint="Run temperature 0 with a draft that differs, and compare with `autoregressive`."
)
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
            why=ALIKE,
        )


@spec("repeated", weight=0.5, hint="Pass rng to `sample` and to `verify`.", gate=False)
def rng_decides_about_the_text(student: Student, case: SamplingCase) -> None:
    """The same state of `rng` gives the same text, and another state another text."""
    expect_rng_decides(student, case)


@spec("sure", hint="Feed the last token and all drafted ones to the target in one call.")
def one_target_call_verifies_a_block(student: Student, case: SamplingCase) -> None:
    """One call of the target verifies gamma drafted tokens and gives the token after them."""
    run = worked_run(student, case)
    blocks = blocks_of(run, case)
    for i, block in enumerate(blocks, start=1):
        if block.n_drafted is not None and block.n_drafted < block.n_wanted:
            raise Wrong(
                f"the drafted tokens in the target's call {i} after the prompt",
                expected=str(block.n_wanted),
                got=str(max(block.n_drafted, 0)),
                why="This call verifies no drafted token." * (block.n_drafted <= 0),
            )
    n_calls = sum(call.model == "target" for call in run.calls)
    n_verifying = len(verified(run, case))
    if n_verifying > len(blocks):
        what = "the target's calls after the prompt"
        raise Wrong(what, expected=f"{len(blocks)} at most", got=str(n_verifying))
    expect_one_call_for_the_prompt("target", n_calls - len(blocks))
    drafts = [call for call in run.calls if call.model == "draft"]
    n_calls = sum(len(call.text) < len(case.prompt) for call in drafts)
    expect_one_call_for_the_prompt("draft", n_calls)


@spec("sure", hint="If r tokens are still wanted, draft at most r - 1.")
def no_more_is_drafted_than_can_be_used(student: Student, case: SamplingCase) -> None:
    """At most gamma tokens are drafted, all can be used, and the last is not fed to the draft."""
    run = worked_run(student, case)
    for block in blocks_of(run, case):
        if block.n_drafted is not None and block.n_drafted > block.n_wanted:
            left = case.end - block.position
            raise Wrong(
                f"the tokens drafted where {left} are still wanted and gamma is {case.gammas[0]}",
                expected=f"{block.n_wanted} at most",
                got=str(block.n_drafted),
                why="That is more than gamma."
                if block.n_drafted > max(case.gammas)
                else "The target adds one more token.",
            )
    for i, call in enumerate(run.calls):
        asked = max(verified_next(run, i), key=len, default=None)
        is_beyond = asked is not None and n_alike(call.text, asked) == len(asked)
        if call.model == "draft" and is_beyond and len(call.text) > len(case.prompt):
            raise Wrong(
                f"the draft is fed token {len(call.text)} before the target has seen it",
                why="The target gives the token after the last drafted one.",
            )
