"""Checks of `ngram_draft` and `acceptance_rate`, part of `labkit.labs.speculative.checks`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.bridge.student import Student, hold
from labkit.checks.compare import expect_equal, expect_number, number_in
from labkit.checks.core import check
from labkit.checks.forms import expect_refusals

SINGLE_PRECISION = 1e-5


@dataclass(frozen=True, slots=True)
class LookupCase:
    """A text, and what prompt lookup drafts from it. longest: None for the default.

    kind: "copy" if the last tokens stand at one earlier place, whichever number of them is looked
    for; "longest" if fewer of them stand elsewhere too; "shorter" if only fewer do; "earliest" for
    several places; "end" if the text ends within gamma tokens; "nothing" if there is no place.
    """

    kind: str
    tokens: tuple[int, ...]
    gamma: int
    drafted: tuple[int, ...]
    longest: int | None = None

    def __str__(self) -> str:
        longest = "" if self.longest is None else f", longest {self.longest}"
        return f"the text {list(self.tokens)}, gamma {self.gamma}{longest}"

    def expect(self, student: Student, why: str = "") -> None:
        """Raise Wrong unless the student drafts these tokens."""
        longest = () if self.longest is None else (self.longest,)
        got = student.ngram_draft(list(self.tokens), self.gamma, *longest)
        if self.is_within(got):
            why = "The copy begins after all tokens of the match, and has gamma tokens."
        expect_equal(got, list(self.drafted), "the drafted tokens", why=why)

    def is_within(self, got: Any) -> bool:
        """Whether there are more tokens before these, or after them."""
        n, right = len(self.drafted), list(self.drafted)
        is_longer = isinstance(got, list | tuple) and len(got) > n > 0
        return is_longer and right in (list(got[:n]), list(got[-n:]))


REPEATED = LookupCase("copy", (4, 2, 5, 1, 4, 2, 5), gamma=1, drafted=(1,))


@check("ngram_draft", "copy", gate=True, hint="Copy from the first token after the match on.")
def what_followed_is_copied(student: Student, case: LookupCase) -> None:
    """Up to gamma tokens are copied, from the first token after the match on."""
    case.expect(student)


@check("ngram_draft", "longest", hint="Look for `longest` tokens first.", gate=True)
def the_longest_match_comes_first(student: Student, case: LookupCase) -> None:
    """A match of `longest` tokens is preferred to a shorter match."""
    case.expect(
        student, "Look for `longest` tokens first, and for fewer only if they are not found."
    )


@check(
    "ngram_draft",
    "shorter",
    hint="Try `longest` tokens, then one less, and so on down to 1.",
    gate=True,
)
def fewer_tokens_are_looked_for_then(student: Student, case: LookupCase) -> None:
    """If `longest` tokens have no match, fewer are tried, down to the last token alone."""
    case.expect(student, "`longest` tokens have no match here, but fewer tokens have one.")


@check(
    "ngram_draft",
    "earliest",
    hint="Search from the start of the text, and take the first match.",
    gate=True,
)
def the_earliest_place_counts(student: Student, case: LookupCase) -> None:
    """Of several matches the earliest one counts."""
    case.expect(student, "There are several matches of this length. Take the first.")


@check(
    "ngram_draft",
    "end",
    hint="Slicing past the end of a list is fine: it gives fewer tokens.",
    gate=True,
)
def the_copy_ends_with_the_text(student: Student, case: LookupCase) -> None:
    """If fewer than gamma tokens come after the match, only those are copied."""
    case.expect(student, "The copy ends where the text ends.")


@check(
    "ngram_draft",
    "nothing",
    weight=0.5,
    hint="If the tokens occur nowhere earlier, return an empty list.",
)
def where_nothing_is_found_nothing_is_drafted(student: Student, case: LookupCase) -> None:
    """If the last token occurs nowhere earlier, the result is an empty list."""
    case.expect(student, "Nothing matches, so there is nothing to copy.")
    REPEATED.expect(student, f"This is about {REPEATED}.")


@check("ngram_draft", "copy", weight=0.5, hint="Raise ValueError before you search.")
def no_tokens_wanted_or_compared_is_refused(student: Student, case: LookupCase) -> None:
    """gamma < 1 or longest < 1 raises ValueError."""
    tokens = list(case.tokens)
    pairs = ((0, 3), (-1, 3), (case.gamma, 0), (case.gamma, -2))
    refused = {f"gamma {gamma} and longest {n}": (tokens, gamma, n) for gamma, n in pairs}
    expect_refusals(student.ngram_draft, refused)
    REPEATED.expect(student, f"This is about {REPEATED}.")


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

    def expect(self, student: Student, why: str) -> None:
        """Raise Wrong unless the student finds this rate."""
        n_drafted = sum(drafted for drafted, _, _ in self.blocks)
        n_accepted = sum(accepted for _, accepted, _ in self.blocks)
        slips = {
            n_accepted / n_drafted: "That is accepted over drafted tokens: it falls with gamma.",
            (n_accepted + len(self.blocks))
            / n_drafted: "Do not count the tokens that the target adds.",
        }
        got = number_in(student.acceptance_rate(blocks_of(student, self.blocks)), "the rate")
        said = {"relative": SINGLE_PRECISION, "slips": slips, "why": why}
        expect_number(got, self.rate, "the acceptance rate", **said)


def blocks_of(student: Student, counts: Sequence[tuple[int, int, str]]) -> list[Any]:
    """The blocks, made where the student's code runs; they stand one after the other."""
    made, position = [], 1
    for n_drafted, n_accepted, prompt in counts:
        made.append(hold(student.Block, n_drafted, n_accepted, position, "", prompt))
        position += n_accepted + 1
    return made


@check(
    "acceptance_rate",
    "rejected",
    weight=2,
    gate=True,
    hint="Count the accepted tokens and the rejected one as examined, not those after it.",
)
def what_was_not_examined_does_not_count(student: Student, case: BlocksCase) -> None:
    """Drafted tokens after a rejected one are not examined, and do not count."""
    case.expect(student, "Examined are the tokens up to the first rejected one.")


@check(
    "acceptance_rate",
    "full",
    hint="If all drafted tokens are accepted, count no rejected one.",
    gate=True,
)
def a_block_accepted_whole_has_no_rejected_token(student: Student, case: BlocksCase) -> None:
    """If all drafted tokens are accepted, exactly these are examined."""
    case.expect(student, "In a block that is accepted whole, no token is rejected.")


@check("acceptance_rate", "sum", hint="Add up over all blocks first, then divide once.", gate=True)
def every_examined_token_weighs_the_same(student: Student, case: BlocksCase) -> None:
    """The rate is all accepted tokens divided by all examined ones, not a mean of ratios."""
    case.expect(student, "In a mean of ratios, short blocks and short texts count too much.")


@check(
    "acceptance_rate",
    "plain",
    hint="Count 0 examined tokens for a block with n_drafted = 0.",
    gate=True,
)
def a_plain_step_examines_nothing(student: Student, case: BlocksCase) -> None:
    """A block without drafted tokens does not change the rate."""
    case.expect(student, "If nothing is drafted, nothing is examined.")


@check("acceptance_rate", "full", weight=0.5, hint="Raise ValueError if no token was examined.")
def without_trials_there_is_no_rate(student: Student, case: BlocksCase) -> None:
    """Without any examined token, acceptance_rate raises ValueError."""
    plain = ((), ((0, 0, "a"),) * 3)
    refused = {f"the rate of {len(each)} plain steps": [blocks_of(student, each)] for each in plain}
    expect_refusals(student.acceptance_rate, refused)
    half = student.acceptance_rate(blocks_of(student, ((2, 1, "a"),)))
    expect_number(half, 0.5, "the rate of one of two tokens", relative=SINGLE_PRECISION)


OPEN_CASES = {
    "ngram_draft": [
        LookupCase("copy", (8, 1, 2, 3, 4, 5, 6, 0, 7, 1, 2, 3), gamma=2, drafted=(4, 5)),
        LookupCase("copy", (1, 2, 3, 4, 0, 0, 5, 6, 1, 2, 3), gamma=4, drafted=(4, 0, 0, 5)),
        LookupCase("copy", (31, 5, 2, 1, 7, 6, 9, 1), gamma=2, drafted=(7, 6), longest=1),
        LookupCase("longest", (3, 9, 9, 2, 3, 8, 1, 2, 3, 7, 6, 1, 2, 3), gamma=2, drafted=(7, 6)),
        LookupCase(
            "longest", (3, 4, 5, 9, 2, 1, 2, 3, 4, 5, 7, 8, 1, 2, 3, 4, 5), 1, (7,), longest=5
        ),
        LookupCase("shorter", (1, 6, 7, 8, 9, 5, 6, 7), gamma=2, drafted=(8, 9)),
        LookupCase("shorter", (1, 7, 8, 9, 5, 6, 7), gamma=1, drafted=(8,)),
        LookupCase(
            "earliest", (1, 2, 3, 4, 9, 1, 2, 3, 5, 8, 1, 2, 3, 5, 7, 1, 2, 3), 2, drafted=(4, 9)
        ),
        LookupCase("earliest", (7, 1, 2, 4, 9, 6, 1, 2, 5, 8, 6, 1, 2), 2, (4, 9), longest=2),
        LookupCase("end", (6, 1, 2, 3, 9, 1, 2, 3), gamma=7, drafted=(9, 1, 2, 3)),
        LookupCase("end", (5, 5), gamma=4, drafted=(5,)),
        LookupCase("nothing", (1, 2, 3, 4, 5, 6), gamma=3, drafted=()),
        LookupCase("nothing", (1,), gamma=3, drafted=()),
    ],
    "acceptance_rate": [
        BlocksCase("rejected", ((5, 2, "a"), (3, 2, "a"), (7, 2, "b")), 2 / 3),
        BlocksCase("rejected", ((4, 0, "a"), (2, 0, "b")), 0.0),
        BlocksCase("full", ((3, 3, "a"), (3, 2, "a"), (3, 3, "a")), 8 / 9),
        BlocksCase("full", ((4, 4, "a"), (4, 4, "a")), 1.0),
        BlocksCase("sum", ((1, 0, "a"), (8, 7, "b"), (3, 2, "a")), 0.75),
        BlocksCase("plain", ((3, 2, "a"), (0, 0, "a"), (3, 2, "b"), (0, 0, "c")), 2 / 3),
    ],
}
