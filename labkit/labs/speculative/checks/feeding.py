"""Checks of `speculative`: what is drafted, fed, kept in the caches and reported.

They look at runs in which chance decides nothing. What they ask of a run they ask of the text that
it wrote, so that a wrong token is a matter for other checks.
"""

from labkit.bridge.student import Proxy, Student, place, value_of
from labkit.checks.compare import expect_equal, expect_number, show
from labkit.checks.core import Wrong, check
from labkit.labs.speculative.checks.alone import (
    expect_fed_once,
    expect_one_call_for_the_prompt,
    expect_worked,
    worked_run,
)
from labkit.labs.speculative.checks.cases import (
    ASKED,
    SILENT,
    SURE,
    SamplingCase,
    n_alike,
)
from labkit.labs.speculative.checks.models import Call
from labkit.labs.speculative.checks.parts import isolated
from labkit.labs.speculative.checks.runs import play_once, run_of
from labkit.labs.speculative.checks.seen import Seen, blocks_of, readings, verified, verified_next


@check(
    "speculative",
    SURE,
    hint="Feed the last token and all drafted ones to the target in one call.",
    gate=True,
)
@isolated
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
    expect_one_call_for_the_prompt(n_calls - len(blocks))


@check(
    "speculative",
    SURE,
    hint="If r tokens are still wanted, draft at most r - 1.",
    gate=True,
)
@isolated
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


@check(
    "speculative",
    SURE,
    hint="Rewind to the text without its last token, and no further.",
    gate=True,
)
@isolated
def no_model_is_fed_a_token_twice(student: Student, case: SamplingCase) -> None:
    """Each model is fed only what its cache lacks; accepted tokens stay in the cache."""
    expect_fed_once(worked_run(student, case).calls)


@check(
    "speculative",
    SURE,
    weight=1.5,
    hint="After a full acceptance, feed the draft its own last token, too.",
    gate=True,
)
@isolated
def caches_hold_the_text_and_nothing_else(student: Student, case: SamplingCase) -> None:
    """When a model is fed, its cache holds the text so far, without rejected tokens or gaps."""
    run = run_of(student, case)
    text = (*case.prompt, *run.new)
    n_known = 0
    for call in (call for call in run.calls if call.model == "target"):
        _expect_one_text(call, text, n_known)
        n_known = n_alike(call.text, text)
    for i, call in enumerate(run.calls):
        if call.model == "draft":
            texts = verified_next(run, i) or [text]
            nearest = max(texts, key=lambda each: n_alike(call.text, each))
            _expect_one_text(call, nearest, len(nearest))
    worked_run(student, case)


def _expect_one_text(call: Call, text: tuple[int, ...], n_known: int) -> None:
    """The cache is the beginning of the text, and what is fed goes on with it up to n_known."""
    n_right = n_alike(call.text, text)
    n_wanted = max(len(call.cached), min(n_known, len(call.text)))
    if n_right >= n_wanted:
        return
    was_cached = n_right < len(call.cached)
    raise Wrong(
        f"the {call.model}'s cache, once it is fed {show(list(call.fed))}",
        expected=show(list(text[:n_wanted])),
        got=show(list(call.text[:n_wanted])),
        where=f"token {n_right + 1}",
        why="The cache still holds rejected tokens."
        if was_cached
        else "A token is missing before it.",
    )


@check(
    "speculative", SURE, hint="Do not count the token that the target adds as accepted.", gate=True
)
@isolated
def every_block_is_reported(student: Student, case: SamplingCase) -> None:
    """`blocks` gets a `Block` for each block: n_drafted, n_accepted and position."""
    held = place(student, [])
    run = play_once(student, case, blocks=held)
    expect_worked(run, case)
    reported = value_of(held)
    if not isinstance(reported, list) or not all(isinstance(each, Proxy) for each in reported):
        raise Wrong("`blocks`", expected="a list of `Block`s", got=show(reported))
    wrong = [_misreported(reported, blocks, case) for blocks in readings(run, case)]
    if all(wrong):
        raise wrong[0]


def _misreported(reported: list, blocks: list[Seen], case: SamplingCase) -> Wrong | None:
    """What is wrong in a report if these are the blocks."""
    try:
        for i, (block, seen) in enumerate(zip(reported, blocks, strict=False), start=1):
            expect_number(block.position, seen.position, f"the position of block {i}")
            expect_number(block.n_drafted, seen.n_drafted or 0, f"the tokens drafted in block {i}")
            if seen.position + (seen.n_drafted or 0) < case.end:  # no more than could be used
                expect_number(block.n_accepted, seen.n_kept, f"the tokens accepted in block {i}")
        what, why = "the number of blocks reported", _left_out(reported, blocks)
        expect_equal(len(reported), len(blocks), what, why=why)
    except Wrong as wrong:
        return wrong
    return None


def _left_out(reported: list, blocks: list[Seen]) -> str:
    """Whether none of the blocks is reported, or just those that drafted something."""
    if not reported:
        return "Nothing is appended to `blocks`."
    with_drafts = [block.position for block in blocks if block.n_drafted]
    is_so = [block.position for block in reported] == with_drafts
    return "A block without drafted tokens is reported, too." * is_so


@check(
    "speculative",
    SILENT,
    weight=0.5,
    hint="Stop drafting in this block when the draft's row is all -inf.",
    gate=True,
)
@isolated
def a_draft_may_have_nothing_to_propose(student: Student, case: SamplingCase) -> None:
    """If the draft's logits are all -inf, the block ends there, and the next block drafts again."""
    for block in blocks_of(worked_run(student, case), case):
        if block.n_drafted is None or block.n_drafted < block.n_wanted:
            raise Wrong(
                f"the tokens drafted after {block.position} tokens of text",
                expected=show(block.n_wanted),
                got=show(block.n_drafted or 0),
                why="Draft until the row is all -inf: fewer tokens than gamma, perhaps none.",
            )


@check(
    "speculative",
    ASKED,
    weight=0.5,
    hint="If `callable(gamma)`, call it once at the start of each block.",
    gate=True,
)
@isolated
def gamma_is_asked_for_before_each_block(student: Student, case: SamplingCase) -> None:
    """If gamma is a function, it is called once for each block; 0 makes a plain step."""
    blocks = blocks_of(worked_run(student, case), case)
    wanted, got = [block.n_wanted for block in blocks], [block.n_drafted for block in blocks]
    if got and got[-1] is not None:
        got[-1] = min(got[-1], max(wanted[-1], 1))  # too many for the text: another check's matter
    why = f"The function returns, in turn, {list(case.gammas)}."
    expect_equal(got, wanted, "the tokens drafted in each block", why=why)
