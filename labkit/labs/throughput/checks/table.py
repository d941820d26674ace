"""Checks of lab 2's answers that bring numbers along: the student's own table, the flawed report.

No time is right or wrong by itself. A table has to agree with itself, with a second measurement and
with what a machine can do.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, choice_in, fields_of, finite_number_in, is_near
from labkit.checks.compare import expect_mapping, joined, show
from labkit.checks.core import Wrong, check
from labkit.measuring.bounds import ANY_CPU, ANY_GPU, bound_of
from labkit.measuring.physics import NOISE, implausible
from labkit.measuring.records import Row
from labkit.measuring.roofline import BYTES, Roofline
from labkit.models.facts import gpus
from labkit.models.tiny import has_facts

LENGTHS = (1, 4, 16, 64, 256)
KEYS = ("run", "batch_size", "n_input", "rows", "again")
ANOTHER_GPU = "another gpu"
DID_NOT_RUN = ("out of memory", "skipped")
LEAST_ROWS = 3
AGREEMENT = 1.5  # a second measurement on a machine that others use too
STEPS_SHOW, SHORT_PROMPT = 4, 64  # after so few, 256 tokens take 4 times what one does, or more

_table = partial(check, "my_table")
_report = partial(check, "flawed_report")


@dataclass(frozen=True, slots=True)
class Table:
    """The student's table, checked for form: seconds and tokens per second by new tokens.

    Rows that did not run are not in it. machine: the upper limits of its kind.
    """

    model: str
    machine: Roofline
    dtype: str
    batch_size: int
    n_input: int
    time_s: dict[int, float]
    tokens_per_s: dict[int, float]
    again: tuple[int, float]


def table_of(student: Student, case: AnswerCase) -> Table:
    """The table. Raises Wrong naming the row and the field that is missing or no number."""
    answer = fields_of(student, case, KEYS)
    names = tuple(f"{n} new" for n in LENGTHS)
    rows = expect_mapping(answer["rows"], names, 'the entry "rows"')
    time_s, rate = {}, {}
    for n, name in zip(LENGTHS, names, strict=True):
        if n > 1 and str(rows[name]).strip().lower() in DID_NOT_RUN:
            continue
        row = expect_mapping(rows[name], ("time_s", "tokens_per_s"), f'the row "{name}"')
        time_s[n] = _positive(row["time_s"], f'time_s of the row "{name}"')
        rate[n] = _positive(row["tokens_per_s"], f'tokens_per_s of the row "{name}"')
    if len(time_s) < LEAST_ROWS:
        raise Wrong(
            "rows that ran",
            expected=f"at least {LEAST_ROWS}",
            got=show(len(time_s)),
            why="If the GPU has no room, measure on the CPU: write "
            '`kit.profile("cpu")` in section 5.',
            cause="rows that ran",
        )
    again = expect_mapping(answer["again"], ("n_new", "time_s"), 'the entry "again"')
    n_again = _count(again["n_new"], "n_new measured again")
    if n_again not in time_s:
        raise Wrong("n_new measured again", expected=f"one of {list(time_s)}", got=show(n_again))
    run = expect_mapping(answer["run"], ("model", "machine", "dtype"), 'the entry "run"')
    model = run["model"]
    if not isinstance(model, str) or not has_facts(model):
        raise Wrong("the model", expected="a name of `labkit.zoo.describe()`", got=show(model))
    return Table(
        model=model,
        machine=_machine(run["machine"]),
        dtype=choice_in(run["dtype"], tuple(BYTES), "the dtype"),
        batch_size=_count(answer["batch_size"], "batch_size"),
        n_input=_count(answer["n_input"], "n_input"),
        time_s=time_s,
        tokens_per_s=rate,
        again=(n_again, _positive(again["time_s"], "time_s measured again")),
    )


def _machine(got: Any) -> Roofline:
    """The bound of the machine that is named; of several cards of one name, the fastest."""
    others = {"cpu": ANY_CPU, ANOTHER_GPU: ANY_GPU}
    named = got.strip().lower() if isinstance(got, str) else ""
    if named in others:
        return others[named]
    words = named.replace("-", " ").split()
    cards = [card for card in gpus() if card.lower() == named]
    cards = cards or [card for card in gpus() if _number_of(card) in words]
    if not cards:
        choice_in(got, ("CPU", ANOTHER_GPU, *gpus()), "the machine")  # says what there is
    return bound_of(max(map(Roofline.of, cards), key=lambda card: card.bandwidth))


def _number_of(card: str) -> str:
    """The word with a number in a card's name: "h100", not its memory or slot."""
    words = card.lower().replace("-", " ").split()
    return next(word for word in words if any(map(str.isdigit, word)))


def _positive(got: Any, what: str) -> float:
    number = finite_number_in(got, what)
    if not number > 0:
        raise Wrong(what, expected="more than 0", got=show(number))
    return float(number)


def _count(got: Any, what: str) -> int:
    number = finite_number_in(got, what)
    if number != int(number) or not 1 <= number <= 10**6:
        raise Wrong(what, expected="a whole number, at least 1", got=show(number))
    return int(number)


@_table(hint="Divide batch_size * new tokens by the seconds of the same row.", gate=True)
def throughput_follows_from_each_row(student: Student, case: AnswerCase) -> None:
    """In each row, tokens_per_s is batch_size * new tokens / time_s."""
    table = table_of(student, case)
    for n, seconds in table.time_s.items():
        right, got = table.batch_size * n / seconds, table.tokens_per_s[n]
        if not is_near(got, right, 0.02):
            why = _rate_slips(table)
            raise Wrong(
                f"{n} new tokens: {show(got)} tokens/s",
                expected=f"{table.batch_size} x {n} / {show(seconds)}",
                got=show(got),
                why=why,
                cause=why or f"the tokens/s at {n} new tokens",
            )


def _rate_slips(table: Table) -> str:
    """The sentences for the tokens/s: mistakes that give those of all wrong rows."""
    thousand = "The result is wrong by a factor of 1,000. Is time_s in seconds?"
    factors = (
        (lambda _: 1 / table.batch_size, "batch_size is missing: multiply by it."),
        (lambda n: (table.n_input + n) / n, "The prompt was counted. Count only new tokens."),
        (lambda _: 1e-3, thousand),
        (lambda _: 1e3, thousand),
    )
    got = table.tokens_per_s
    rates = {n: table.batch_size * n / seconds for n, seconds in table.time_s.items()}
    wrong = [n for n in rates if not is_near(got[n], rates[n], 0.02)]
    return joined(
        why
        for factor, why in factors
        if all(is_near(got[n], factor(n) * rates[n], 0.02) for n in wrong)
    )


@_table(hint="Check the unit, the model and the batch. Check that your timer waits for the device.")
def no_row_is_faster_than_the_machine(student: Student, case: AnswerCase) -> None:
    """No time is below the floor of the machine that you name."""
    table = table_of(student, case)
    for n, seconds in table.time_s.items():
        sizes = (table.batch_size, table.n_input, n)
        row = Row("my_table", table.model, *sizes, True, samples_s=(seconds,))
        if reasons := implausible(row, table.model, table.machine, table.dtype):
            raise Wrong(f"{n} new tokens", why=reasons[0], cause="faster than the machine")


@_table(hint="Measure the first row again, after a warm-up.")
def time_rises_with_new_tokens(student: Student, case: AnswerCase) -> None:
    """More new tokens take more time. After a short prompt, 256 take much longer than 1."""
    table = table_of(student, case)
    for shorter, longer in pairwise(table.time_s):
        if table.time_s[longer] < NOISE * table.time_s[shorter]:
            raise Wrong(
                f"{longer} new tokens in {show(table.time_s[longer])} s, {shorter} in "
                f"{show(table.time_s[shorter])} s",
                why="More tokens take more time. Without a warm-up, the first row takes too long."
                if shorter == min(table.time_s)
                else "More tokens take more time.",
            )
    longest = max(table.time_s)
    least = STEPS_SHOW if longest == LENGTHS[-1] and table.n_input <= SHORT_PROMPT else 1
    if table.time_s[longest] <= least * table.time_s[1]:
        raise Wrong(
            f"{longest} new tokens take hardly longer than 1",
            why=f"They need {longest - 1} more steps.",
        )


@_table(hint="Run the cell again, and copy all its numbers.")
def a_second_measurement_agrees(student: Student, case: AnswerCase) -> None:
    """The second measurement of a row is within a factor of 1.5 of the first."""
    table = table_of(student, case)
    n_new, again_s = table.again
    first_s = table.time_s[n_new]
    if not 1 / AGREEMENT <= again_s / first_s <= AGREEMENT:
        raise Wrong(
            f"{n_new} new tokens measured again: {show(again_s)} s after {show(first_s)} s",
            why=f"They differ by more than a factor of {AGREEMENT}. Close other programs, and "
            "measure both again.",
        )
    if len(set(table.time_s.values())) < len(table.time_s):
        raise Wrong(
            "two rows with exactly the same time",
            why="Measured times are never equal in all digits.",
        )
    if again_s == first_s != float(f"{first_s:.3g}"):
        raise Wrong(
            f"{n_new} new tokens measured again: {show(again_s)} s, exactly the same digits",
            why="Measured times are never equal in all digits. Measure the row again.",
        )


ENTRIES = tuple("ABCDEFGHIJKLMNOPQR")
FAULTS = (
    "cold_start",
    "impossible_row",
    "mean_of_rates",
    "wrong_unit",
    "batch_mislabelled",
    "mha_taken_for_gqa",
)


def _expect_entry(student: Student, case: AnswerCase, fault: str) -> None:
    """The entry named for a fault is named for no other, and, where that is known, has it."""
    answer = fields_of(student, case, FAULTS)
    entries = {name: choice_in(answer[name], ENTRIES, name) for name in FAULTS}
    entry = entries[fault]
    others = [name for name in FAULTS if name != fault and entries[name] == entry]
    if others:
        what = f"is named for {fault} and for {others[0]}: each fault has its own entry"
        raise Wrong(f"{entry} {what}", cause=f"one entry {what}")
    if case.right is not None and entry != case.right[fault]:
        raise Wrong(f"{entry} is not the entry with this fault", cause=f"the entry with {fault}")


@_report(hint="Look for a time that is longer than that of a run with more tokens.")
def the_cold_start_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the run without warm-up, and name it for no other fault."""
    _expect_entry(student, case, "cold_start")


@_report(hint="Compare the times with the floors of their passes.")
def the_impossible_row_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the impossible row, and name it for no other fault."""
    _expect_entry(student, case, "impossible_row")


@_report(hint="Divide all tokens of table 1 by all its seconds. Compare with the text.")
def the_mean_of_rates_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the mean of rates, and name it for no other fault."""
    _expect_entry(student, case, "mean_of_rates")


@_report(hint="Look for a number that is a thousand times too large.")
def the_wrong_unit_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the number with a wrong unit, and name it for no other fault."""
    _expect_entry(student, case, "wrong_unit")


@_report(hint="Compute batch * new tokens / seconds for each row.")
def the_mislabelled_batch_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the row with another batch, and name it for no other fault."""
    _expect_entry(student, case, "batch_mislabelled")


@_report(hint="Compare the text with the heads that section 7 prints for each model.")
def the_confused_heads_are_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the wrong statement on KV heads, and name it for no other fault."""
    _expect_entry(student, case, "mha_taken_for_gqa")


OPEN_CASES = {name: [AnswerCase(name)] for name in ("my_table", "flawed_report")}
