"""Checks of `ngram_draft`, part of `labkit.labs.speculative.checks`."""

from dataclasses import dataclass
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal
from labkit.checks.core import check
from labkit.checks.forms import expect_refusals


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
        """Raise Wrong unless the student drafts these tokens. why: where nothing else is seen."""
        longest = () if self.longest is None else (self.longest,)
        got = student.ngram_draft(list(self.tokens), self.gamma, *longest)
        if isinstance(got, list) and got and {*map(type, got)} == {int}:
            why = self.what_is_copied(got)
        expect_equal(got, list(self.drafted), "the drafted tokens", why=why)

    def what_is_copied(self, got: list) -> str:
        """What is seen of a wrong copy: where it begins and ends, and what agrees before it."""
        text, right, n = list(self.tokens), list(self.drafted), len(self.drafted)
        if not n:
            return "Nothing matches, so there is nothing to copy."
        if got[:n] == right:
            return "More tokens are copied than gamma, or than the text has."
        agree = partial(agreeing, text)
        first = max((i for i in range(1, len(text)) if text[i : i + n] == right), key=agree)
        places = [i for i in range(len(text)) if text[i : i + len(got)] == got]
        if any(first - agree(first) <= place < first for place in places):
            return "The match itself is copied. Begin after its last token."
        if len(places) != 1:
            return ""
        n_same, n_most = agree(places[0]), min(agree(first), self.longest or 3)
        if 0 < n_same < n_most:
            return f"They follow a match of length {n_same}. There is one of length {n_most}."
        is_later = n_same >= n_most and places[0] > first
        return "There are several matches of this length. Take the first." * is_later


def agreeing(text: list[int], place: int) -> int:
    """How many tokens before a place are the same as those at the end of the text."""
    n = 0
    while n < place and text[place - n - 1] == text[-n - 1]:
        n += 1
    return n


REPEATED = LookupCase("copy", (4, 2, 5, 1, 9, 4, 2, 5), gamma=1, drafted=(1,))


_lookup = partial(check, "ngram_draft", gate=True)


@_lookup("copy", hint="Copy from the first token after the match on.")
def what_followed_is_copied(student: Student, case: LookupCase) -> None:
    """Up to gamma tokens are copied, from the first token after the match on."""
    case.expect(student)


@_lookup("longest", hint="Look for `longest` tokens first.")
def the_longest_match_comes_first(student: Student, case: LookupCase) -> None:
    """A match of `longest` tokens is preferred to a shorter match."""
    case.expect(student)


@_lookup("shorter", hint="Try `longest` tokens, then one less, and so on down to 1.")
def fewer_tokens_are_looked_for_then(student: Student, case: LookupCase) -> None:
    """If `longest` tokens have no match, fewer are tried, down to the last token alone."""
    case.expect(student, "`longest` tokens have no match here, but fewer tokens have one.")


@_lookup("earliest", hint="Search from the start of the text, and take the first match.")
def the_earliest_place_counts(student: Student, case: LookupCase) -> None:
    """Of several matches the earliest one counts."""
    case.expect(student)


@_lookup("end", hint="Slicing past the end of a list is fine: it gives fewer tokens.")
def the_copy_ends_with_the_text(student: Student, case: LookupCase) -> None:
    """If fewer than gamma tokens come after the match, only those are copied."""
    case.expect(student, "The copy ends where the text ends.")


@_lookup(
    "nothing",
    weight=0.5,
    hint="If the tokens occur nowhere earlier, return an empty list.",
)
def where_nothing_is_found_nothing_is_drafted(student: Student, case: LookupCase) -> None:
    """If the last token occurs nowhere earlier, the result is an empty list."""
    case.expect(student, "Nothing matches, so there is nothing to copy.")
    REPEATED.expect(student, f"This is about {REPEATED}.")


@_lookup("copy", weight=0.5, hint="Raise ValueError before you search.", gate=False)
def no_tokens_wanted_or_compared_is_refused(student: Student, case: LookupCase) -> None:
    """gamma < 1 or longest < 1 raises ValueError."""
    tokens = list(case.tokens)
    whys = {
        (-1, 3): "A number of tokens is never negative.",
        (0, 3): "With gamma 0 there is nothing to draft.",
        (case.gamma, 0): "With longest 0 there is nothing to compare.",
        (case.gamma, -2): "A number of tokens is never negative.",
    }
    for (gamma, longest), why in whys.items():
        name = f"gamma {gamma} and longest {longest}"
        refused = {name: (tokens, gamma, longest)}
        refused[f"{name}, where nothing is found"] = (tokens[:1], gamma, longest)
        expect_refusals(student.ngram_draft, refused, why=why)
    REPEATED.expect(student, f"This is about {REPEATED}.")


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
}
