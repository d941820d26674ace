"""Checks of lab 3's bill: what the place of the time of day costs, with and without caching."""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, expect_close, field_of
from labkit.checks.core import check
from labkit.labs.cache_benchmark.traces import prompt_prices

MODEL = "Claude Opus 5"
N_REQUESTS, N_INSTRUCTIONS, N_MORE = 1000, 2000, 100  # tokens, and those that always differ

_bill = partial(check, "bill")


@_bill(hint="Count the tokens that are read and those that are written. Divide by a million.")
def dollars_follow_from_what_is_found(student: Student, case: AnswerCase) -> None:
    """`before`, `after` and `no_cache` are the dollars of 1,000 prompts."""
    price = prompt_prices()[MODEL]
    n_all, million = N_INSTRUCTIONS + N_MORE, 1e6 / N_REQUESTS
    written, fresh = n_all * price["written"] / million, n_all * price["fresh"] / million
    after = (N_INSTRUCTIONS * price["read"] + N_MORE * price["written"]) / million
    right = {"before": written, "after": after, "no_cache": fresh}
    cheap = {N_INSTRUCTIONS * price["read"] / million: "The other 100 tokens are written."}
    slips = {
        "before": {after: "No block of the instructions is found.", fresh: "They are written."},
        "after": {written: "All blocks of the instructions are found.", **cheap},
        "no_cache": {written: "Without caching, no token is written. All are fresh."},
    }
    for name, usd in right.items():
        got = field_of(student, case, name)
        units = {
            usd * million: "Divide by a million: the prices are per million tokens.",
            usd / N_REQUESTS: "That is one request.",
            100 * usd: "Those are cents.",
        }
        source = f"the prices of {MODEL}"
        expect_close(case, got, usd, name, source, relative=0.005, slips=units | slips[name])


@_bill(hint="Compare written + (n - 1) * read with n * fresh, for n = 1, 2, 3.")
def caching_pays_from_its_first_saving_use(student: Student, case: AnswerCase) -> None:
    """`pays_from_use` is the first number of uses at which caching costs less."""
    price = prompt_prices()[MODEL]
    uses = range(1, 1000)
    right = next(n for n in uses if price["written"] + (n - 1) * price["read"] < n * price["fresh"])
    got = field_of(student, case, "pays_from_use")
    slips = {
        right - 1: "The first use is written, at a higher price.",
        right + 1: "It pays sooner.",
    }
    source = f"the prices of {MODEL}"
    expect_close(case, got, right, "pays_from_use", source, relative=1e-9, slips=slips)


OPEN_CASES = {"bill": [AnswerCase("bill")]}
