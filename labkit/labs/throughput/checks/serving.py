"""Checks of the answer on decode batches: the cheapest batch for a limit of the TPOT, its price."""

from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, called, expect_close, fields_of, refuse
from labkit.checks.compare import expect_mapping, finite_number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import numbers_in
from labkit.checks.recorded import record_named
from labkit.labs.throughput import served

CONTEXTS = {"512 cached": 512, "8192 cached": 8192}
KEYS = ("record", "dollars_per_hour", "most_tpot_ms", "batch", "dollars_per_million")

SOURCE = "cheapest_batch, with the record, the price and the limit that you name"

_serving = partial(check, "serving_point")


def _chosen(student: Student, case: AnswerCase, n_cached: int) -> tuple[int, float, dict]:
    """The batch and the price that follow from the conventions of the answer; and the steps."""
    answer = fields_of(student, case, KEYS)
    record = record_named(answer["record"], served.PRICE_RECORDS)
    steps = served.steps_by_batch(record, n_cached)
    price = _positive(answer["dollars_per_hour"], "dollars_per_hour")
    most_s = _positive(answer["most_tpot_ms"], "most_tpot_ms") / 1e3
    if most_s < min(steps.values()):
        raise Wrong(
            "most_tpot_ms",
            got=show(1e3 * most_s),
            expected=f"at least {1e3 * min(steps.values()):.1f} ms, the fastest step",
            cause="most_tpot_ms",
        )
    chosen = called(case.right or student, "cheapest_batch", steps, price, most_s)
    batch_size, dollars = numbers_in(chosen, "what your cheapest_batch gives", 2)
    return batch_size, dollars, steps


def _positive(got: Any, what: str) -> float:
    number = finite_number_in(got, what)
    if not number > 0:
        raise Wrong(what, expected="more than 0", got=show(number))
    return number


def _given(student: Student, case: AnswerCase, key: str) -> dict[str, float]:
    answer = expect_mapping(fields_of(student, case, KEYS)[key], tuple(CONTEXTS), f'"{key}"')
    return {name: finite_number_in(answer[name], f"{key}, {name}") for name in CONTEXTS}


@_serving(hint="Call cheapest_batch with the steps that the cell has, for each context.")
def the_batch_fits_the_limit(student: Student, case: AnswerCase) -> None:
    """For each context, the batch is the cheapest one within your limit of the TPOT."""
    for name, got in _given(student, case, "batch").items():
        right, _, steps = _chosen(student, case, CONTEXTS[name])
        if got != right:
            why = f"The record has the batches {', '.join(map(str, steps))}."
            if got in steps:
                why = f"A step of this batch takes {1e3 * steps[got]:.2f} ms."
            refuse(case, f"the batch after {name}, {show(got)}", SOURCE, why, cause="the batch")


@_serving(hint="The second result of cheapest_batch is the price of a million tokens.")
def the_price_follows_from_the_step(student: Student, case: AnswerCase) -> None:
    """For each context, the price of a million tokens follows from the step of that batch."""
    for name, got in _given(student, case, "dollars_per_million").items():
        batch_size, right, _ = _chosen(student, case, CONTEXTS[name])
        expect_close(
            case,
            got,
            right,
            f"dollars per million tokens, {name}",
            SOURCE,
            relative=0.03,
            slips={
                right * batch_size: "That is the price for one user alone.",
                right / 1e6: "That is the price of one token.",
                right / 1e3: "That is the price of a thousand tokens.",
            },
        )


OPEN_CASES = {"serving_point": [AnswerCase("serving_point")]}
