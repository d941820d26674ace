"""Checks of `speculative`: what is fed, cached, reported and refused; the open cases.

They look at runs in which chance decides nothing. What they ask of a run they ask of the text that
it wrote, so that a wrong token is a matter for other checks.
"""

from typing import Any

from labkit.bridge.requests import place, value_of
from labkit.bridge.student import Proxy, Student
from labkit.checks.compare import expect_equal, expect_number, show
from labkit.checks.core import Wrong
from labkit.labs.speculative.checks.alone import (
    ONE_TOKEN,
    SENSELESS,
    RefusalCase,
    expect_fed_once,
    expect_refused,
    expect_worked,
    is_refusal,
    worked_run,
)
from labkit.labs.speculative.checks.cases import SamplingCase, cut_text
from labkit.labs.speculative.checks.chance import spec
from labkit.labs.speculative.checks.models import Network, circle, disjoint, generic
from labkit.labs.speculative.checks.runs import not_rewound, play_once, run_of
from labkit.labs.speculative.checks.seen import (
    PROBE,
    RING,
    Seen,
    blocks_of,
    expect_caches_hold_the_text,
    expect_rewound,
    readings,
)


@spec("sure", hint="Rewind to the text without its last token, and no further.")
def no_model_is_fed_a_token_twice(student: Student, case: SamplingCase) -> None:
    """Each model is fed only what its cache lacks; accepted tokens stay in the cache."""
    expect_fed_once(worked_run(student, case).calls)


@spec(
    "sure",
    weight=1.5,
    hint="Rewind both caches, and feed the draft its own last token after a full acceptance.",
)
def caches_hold_the_text_and_nothing_else(student: Student, case: SamplingCase) -> None:
    """When a model is fed, its cache holds the text so far, without rejected tokens or gaps."""
    expect_rewound(*not_rewound(student))
    expect_caches_hold_the_text(run_of(student, case), case)
    worked_run(student, case)


@spec(
    "sure",
    "cut",
    "silent",
    hint="Give `Block` the number that `verify` returned, and the length of the text before it.",
)
def every_block_is_reported(student: Student, case: SamplingCase) -> None:
    """`blocks` gets a `Block` for each block: n_drafted, n_accepted and position."""
    held = place(student, [])
    run = play_once(student, case, blocks=held)
    if case.kind == "sure":
        expect_worked(run, case)
    elif run.new != cut_text(case):
        return  # where the text ends is another check's matter
    reported = value_of(held)
    if not isinstance(reported, list) or not all(isinstance(each, Proxy) for each in reported):
        raise Wrong("`blocks`", expected="a list of `Block`s", got=show(reported))
    wrong = [_misreported(reported, blocks, case) for blocks in readings(run, case)]
    if all(wrong):
        raise wrong[0]


ADDED = "The token that the target adds is not an accepted one."
CUT_OFF = "Tokens that eos cuts off were accepted, too. Give the number that `verify` returned."


def _misreported(reported: list, blocks: list[Seen], case: SamplingCase) -> Wrong | None:
    """The fault of a report if these are the blocks."""
    try:
        for i, (block, seen) in enumerate(zip(reported, blocks, strict=False), start=1):
            after = {seen.position + seen.n_kept + 1: "That is the length of the text after it."}
            what = f"the position of block {i}"
            expect_number(block.position, seen.position, what, slips=after)
            expect_number(block.n_drafted, seen.n_drafted or 0, f"the tokens drafted in block {i}")
            if seen.position + (seen.n_drafted or 0) < case.end:  # no more than could be used
                what, slips = f"the tokens accepted in block {i}", {seen.n_kept + 1: ADDED}
                if case.kind == "cut":
                    slips[len(case.prompt) + len(cut_text(case)) - seen.position] = CUT_OFF
                expect_number(block.n_accepted, seen.n_kept, what, slips=slips)
        what, why = "the number of blocks reported", _left_out(reported, blocks)
        if case.kind == "sure" or len(reported) < len(blocks):  # eos is another check's matter
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


@spec("silent", weight=0.5, hint="Stop drafting in this block when the draft's row is all -inf.")
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


@spec("asked", weight=0.5, hint="If `callable(gamma)`, call it once at the start of each block.")
def gamma_is_asked_for_before_each_block(student: Student, case: SamplingCase) -> None:
    """If gamma is a function, it is called once for each block; 0 makes a plain step."""
    blocks = blocks_of(worked_run(student, case), case)
    wanted, got = [block.n_wanted for block in blocks], [block.n_drafted for block in blocks]
    if got and got[-1] is not None:
        got[-1] = min(got[-1], max(wanted[-1], 1))  # too many for the text: another check's matter
    why = f"The function returns, in turn, {list(case.gammas)}."
    expect_equal(got, wanted, "the tokens drafted in each block", why=why)


@spec(
    weight=0.5,
    hint="Call `check_start` and `check_sampling` at the start.",
    applies_to=is_refusal,
    gate=False,
)
def what_cannot_start_is_refused(student: Student, case: RefusalCase) -> None:
    """Arguments outside their range raise ValueError."""
    expect_refused(student, case, "speculative")


def _with_settings(seed: int, **settings: Any) -> SamplingCase:
    model = generic(3, seed)
    return SamplingCase("one model twice", "settings", model, (1, 2), 3, model, (2,), settings)


SURE_OF_THEMSELVES = [
    SamplingCase("all accepted", "sure", circle(RING), (4, 0), 9, circle(RING), (3,)),
    SamplingCase("all rejected", "sure", circle(RING), (1,), 4, circle(RING, slips=RING), (2,)),
    PROBE,
    SamplingCase("a gamma of 1", "sure", circle(RING), (2, 3), 6, circle(RING, slips=(5,)), (1,)),
    SamplingCase("more gamma than text", "sure", circle(RING), (5,), 3, circle(RING), (8,)),
    SamplingCase("one token", "sure", circle(RING), (0, 5), 1, circle(RING), (2,)),
]
OPEN_CASES = {
    "speculative": [
        SamplingCase("two", "law", generic(2, 1, 0.1), (1, 0), 3, generic(2, 2, 0.1)),
        SamplingCase("three", "law", generic(3, 3), (2,), 3, generic(3, 4), (1,)),
        SamplingCase("a text that may end early", "law", generic(2, 5), (1, 0, 1), 4,
                     generic(2, 6), (3,), {"eos": 1}),
        SamplingCase("nothing in common", "law", disjoint(3, 7, is_draft=False), (0,), 3,
                     disjoint(3, 7, is_draft=True)),
        _with_settings(21, temperature=0.5, top_k=2),
        _with_settings(22, temperature=1.6, top_p=0.7),
        SamplingCase("greedy", "greedy", Network(0), (5, 2, 9), 24, Network(0, bias=2.0), (3,),
                     {"temperature": 0}),
        *SURE_OF_THEMSELVES,
        SamplingCase("no token wanted", "ends", circle(RING), (1, 4), 0, circle(RING)),
        *(SamplingCase("ends among the drafted", kind, circle(RING), (1,), 9, circle(RING), (4,),
                       {"eos": 5}) for kind in ("ends", "cut")),
        SamplingCase("silent now and then", "silent", circle(RING), (3,), 8,
                     circle(RING, silent=(1, 0)), (3,)),
        SamplingCase("a new gamma each time", "asked", circle(RING), (2, 3), 9, circle(RING),
                     (2, 0, 3, 0)),
        SamplingCase("rng", "repeated", generic(3, 8), (1, 0), 40, generic(3, 9), (3,)),
        *SENSELESS,
        RefusalCase("gamma is 0", (("gamma", 0),)),
        RefusalCase("the draft's cache holds another text", ONE_TOKEN, cached=(("draft", 2),)),
        RefusalCase("the draft has 4 tokens, the target 5", ONE_TOKEN, draft_vocab=4),
    ],
}  # fmt: skip
