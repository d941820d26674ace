"""All checks of the two samplers, and their open cases."""

from typing import Any

from labkit.bridge.student import Student
from labkit.checks.core import check
from labkit.labs.speculative.checks.alone import (
    ONE_TOKEN,
    SENSELESS,
    RefusalCase,
    expect_refused,
    is_refusal,
)
from labkit.labs.speculative.checks.cases import (
    ASKED,
    ENDS,
    GREEDY,
    LAW,
    REPEATED,
    SILENT,
    SURE,
    TOLD,
    SamplingCase,
)
from labkit.labs.speculative.checks.models import Network, circle, disjoint, generic
from labkit.labs.speculative.checks.parts import isolated


@check(
    "speculative",
    weight=0.5,
    hint="Call `check_start` and `check_sampling` at the start.",
    applies_to=is_refusal,
)
@isolated
def what_cannot_start_is_refused(student: Student, case: RefusalCase) -> None:
    """Arguments outside their range raise ValueError."""
    expect_refused(student, case, "speculative")


def _told(seed: int, **settings: Any) -> SamplingCase:
    model = generic(3, seed)
    return SamplingCase("one model twice", TOLD, model, (1, 2), 3, model, (2,), settings)


RING = (3, 1, 4, 0, 5, 2)
SURE_OF_THEMSELVES = [
    SamplingCase("all accepted", SURE, circle(RING), (4, 0), 9, circle(RING), (3,)),
    SamplingCase("all rejected", SURE, circle(RING), (1,), 4, circle(RING, slips=RING), (2,)),
    SamplingCase("some", SURE, circle(RING), (3, 1, 4), 17, circle(RING, slips=(1, 5, 2)), (3,)),
    SamplingCase("a gamma of 1", SURE, circle(RING), (2, 3), 6, circle(RING, slips=(5,)), (1,)),
    SamplingCase("more gamma than text", SURE, circle(RING), (5,), 3, circle(RING), (8,)),
    SamplingCase("one token", SURE, circle(RING), (0, 5), 1, circle(RING), (2,)),
]
OPEN_CASES = {
    "speculative": [
        SamplingCase("two", LAW, generic(2, 1, 0.1), (1, 0), 3, generic(2, 2, 0.1)),
        SamplingCase("three", LAW, generic(3, 3), (2,), 3, generic(3, 4), (1,)),
        SamplingCase("a text that may end early", LAW, generic(2, 5), (1, 0, 1), 4,
                     generic(2, 6), (3,), {"eos": 1}),
        SamplingCase("nothing in common", LAW, disjoint(3, 7, is_draft=False), (0,), 3,
                     disjoint(3, 7, is_draft=True)),
        _told(21, temperature=0.5, top_k=2),
        _told(22, temperature=1.6, top_p=0.7),
        SamplingCase("greedy", GREEDY, Network(8), (5, 2, 9), 24, Network(8, bias=2.0), (3,),
                     {"temperature": 0}),
        *SURE_OF_THEMSELVES,
        SamplingCase("no token wanted", ENDS, circle(RING), (1, 4), 0, circle(RING)),
        SamplingCase("ends among the drafted", ENDS, circle(RING), (1,), 9, circle(RING), (4,),
                     {"eos": 5}),
        SamplingCase("silent now and then", SILENT, circle(RING), (3,), 8,
                     circle(RING, silent=(1, 0)), (3,)),
        SamplingCase("a new gamma each time", ASKED, circle(RING), (2, 3), 9, circle(RING),
                     (2, 0, 3, 0)),
        SamplingCase("rng", REPEATED, generic(3, 8), (1, 0), 40, generic(3, 9), (3,)),
        *SENSELESS,
        RefusalCase("gamma is 0", (("gamma", 0),)),
        RefusalCase("the draft's cache holds another text", ONE_TOKEN, cached=(("draft", 2),)),
        RefusalCase("the draft has 4 tokens, the target 5", ONE_TOKEN, draft_vocab=4),
    ],
}  # fmt: skip
