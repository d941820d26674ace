"""Checks of `acceptance_rate`, part of `labkit.labs.speculative.checks`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from statistics import fmean
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, told
from labkit.checks.core import check
from labkit.checks.forms import expect_refusals
from labkit.checks.slips import is_number

SINGLE_PRECISION = 1e-5


@dataclass(frozen=True, slots=True)
class BlocksCase:
    """Blocks as (tokens drafted, tokens accepted, prompt), and accepted over examined tokens.

    kind: "rejected" if in each as many tokens are examined, and more drafted; in the others all
    drafted tokens are examined, and "full" has blocks that are accepted whole, "sum" blocks of
    unlike size, "plain" blocks without drafts.
    """

    kind: str
    blocks: tuple[tuple[int, int, str], ...]
    rate: float

    def __str__(self) -> str:
        counts = ", ".join(f"{kept} of {drafted}" for drafted, kept, _ in self.blocks)
        return f"blocks with {counts} drafted tokens accepted"

    def expect(self, student: Student, why: str = "") -> None:
        """Raise Wrong unless the student finds this rate."""
        got = number_in(student.acceptance_rate(blocks_of(student, self.blocks)), "the rate")
        fitting = told(text for text, slip in self.slips().items() if is_number(got, slip))
        said = {"relative": SINGLE_PRECISION, "why": fitting or why}
        expect_number(got, self.rate, "the acceptance rate", **said)

    def slips(self) -> dict[str, float]:
        """The rates that known mistakes give, by what is said of them."""
        n_drafted = sum(drafted for drafted, _, _ in self.blocks)
        n_accepted = sum(accepted for _, accepted, _ in self.blocks)
        tried = [block for block in self.blocks if block[0]]
        rates, cut, by_prompt = [], [], {}
        for drafted, accepted, prompt in tried:
            examined = _examined((drafted, accepted, prompt))
            rates.append(accepted / examined)
            cut += [(accepted, examined)] * (accepted < drafted)
            by_prompt.setdefault(prompt, []).append((accepted, examined))
        return {
            "That is accepted over drafted tokens: it falls with gamma.": n_accepted / n_drafted,
            "Do not count the tokens that the target adds.": (
                (n_accepted + len(self.blocks)) / n_drafted
            ),
            "In a block that is accepted whole, no token is rejected.": (
                n_accepted / (n_accepted + len(tried))
            ),
            "Blocks that are accepted whole count, too.": _ratio(cut),
            "If nothing is drafted, nothing is examined.": (
                n_accepted / (sum(map(_examined, self.blocks)) + len(self.blocks) - len(tried))
            ),
            "That is a mean over blocks: short blocks count too much.": fmean(rates),
            "That is a mean over prompts: short texts count too much.": (
                fmean(map(_ratio, by_prompt.values()))
            ),
        }


def _examined(block: tuple[int, int, str]) -> int:
    drafted, accepted, _ = block
    return min(accepted + 1, drafted)


def _ratio(counts: Sequence[tuple[int, int]]) -> float:
    """The sum of the first numbers divided by that of the second; NaN without any."""
    accepted, examined = (sum(pair[i] for pair in counts) for i in (0, 1))
    return accepted / examined if examined else nan


def blocks_of(student: Student, counts: Sequence[tuple[int, int, str]]) -> list[Any]:
    """The blocks, made where the student's code runs; they stand one after the other."""
    made, position = [], 1
    for n_drafted, n_accepted, prompt in counts:
        made.append(hold(student.Block, n_drafted, n_accepted, position, "", prompt))
        position += n_accepted + 1
    return made


_rate = partial(check, "acceptance_rate", gate=True)


@_rate(
    "rejected",
    weight=2,
    hint="Count the accepted tokens and the rejected one as examined, not those after it.",
)
def what_was_not_examined_does_not_count(student: Student, case: BlocksCase) -> None:
    """Drafted tokens after a rejected one are not examined, and do not count."""
    case.expect(student, "Examined are the tokens up to the first rejected one.")


@_rate("full", hint="If all drafted tokens are accepted, count no rejected one.")
def a_block_accepted_whole_has_no_rejected_token(student: Student, case: BlocksCase) -> None:
    """If all drafted tokens are accepted, exactly these are examined."""
    case.expect(student)


@_rate("sum", hint="Add up over all blocks first, then divide once.")
def every_examined_token_weighs_the_same(student: Student, case: BlocksCase) -> None:
    """The rate is all accepted tokens divided by all examined ones, not a mean of ratios."""
    case.expect(student)


@_rate("plain", hint="Count 0 examined tokens for a block with n_drafted = 0.")
def a_plain_step_examines_nothing(student: Student, case: BlocksCase) -> None:
    """A block without drafted tokens does not change the rate."""
    case.expect(student)


@_rate("full", weight=0.5, hint="Raise ValueError if no token was examined.", gate=False)
def without_trials_there_is_no_rate(student: Student, case: BlocksCase) -> None:
    """Without any examined token, acceptance_rate raises ValueError."""
    plain = ((), ((0, 0, "a"),) * 3)
    refused = {f"the rate of {len(each)} plain steps": [blocks_of(student, each)] for each in plain}
    expect_refusals(student.acceptance_rate, refused)
    half = student.acceptance_rate(blocks_of(student, ((2, 1, "a"),)))
    expect_number(half, 0.5, "the rate of one of two tokens", relative=SINGLE_PRECISION)


OPEN_CASES = {
    "acceptance_rate": [
        BlocksCase("rejected", ((5, 2, "a"), (3, 2, "a"), (7, 2, "b")), 2 / 3),
        BlocksCase("rejected", ((4, 0, "a"), (2, 0, "b")), 0.0),
        BlocksCase("full", ((3, 3, "a"), (3, 2, "a"), (3, 3, "a")), 8 / 9),
        BlocksCase("full", ((4, 4, "a"), (4, 4, "a")), 1.0),
        BlocksCase("sum", ((1, 0, "a"), (8, 7, "b"), (3, 2, "a")), 0.75),
        BlocksCase("plain", ((3, 2, "a"), (0, 0, "a"), (3, 2, "b"), (0, 0, "c")), 2 / 3),
    ],
}
