"""Checks of lab 3's crossing: where a pass was predicted to leave its launch, and where it did.

All is computed from the record that the answer names.
"""

from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, expect_close, field_of, fields_of
from labkit.checks.compare import finite_number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.recorded import record_named
from labkit.labs.cache_benchmark.records import first_row, launch_s, passes
from labkit.measuring.bounds import roofline_of
from labkit.measuring.records import Record
from labkit.measuring.roofline import ModelWork, pass_floor

N_CONTEXT = 8192
LONGER = 1.5  # times the pass over one token

_crossing = partial(check, "crossing")


@_crossing(hint="Call leaves_launch_floor_at with the roofline and the launch time of the record.")
def the_prediction_is_that_of_the_record(student: Student, case: AnswerCase) -> None:
    """`predicted` is the length at which the floor passes the record's launch time."""
    record, launch = _record_and_launch(student, case)
    right = _leaves_at(student, case, record, launch)
    in_eager = _leaves_at(student, case, record, 0.75e-3 * _work(record).shape.n_layers)
    slips = {in_eager: "That is for 0.75 ms per layer. Take the record's pass over one token."}
    got, source = field_of(student, case, "predicted"), "the record's roofline and launch time"
    expect_close(case, got, right, "predicted", source, relative=0.02, slips=slips)


@_crossing(hint="Take the first length whose pass takes more than 1.5 times the launch time.")
def the_measured_length_is_the_first_longer_one(student: Student, case: AnswerCase) -> None:
    """`measured` is the first length of `lab.passes` above 1.5 launch times; None without one."""
    record, launch = _record_and_launch(student, case)
    right = next((n for n, time_s in passes(record) if time_s > LONGER * launch), None)
    got = fields_of(student, case, ("measured",))["measured"]
    if right is None:
        if got is not None:
            why = "No pass of this record takes 1.5 times its launch time."
            raise Wrong("measured", expected="None", got=show(got), why=why)
        return
    number = finite_number_in(got, "measured")
    slips = {passes(record)[-1][0]: "That is the longest pass.", 1: "That is the launch itself."}
    expect_close(case, number, right, "measured", "lab.passes", relative=0.01, slips=slips)


@_crossing(hint="Divide the time of the longest pass by its floor. Divide the launch time by that.")
def a_factor_on_the_floor_moves_the_prediction(student: Student, case: AnswerCase) -> None:
    """`factor` is the longest pass over its floor; `with_factor` is predicted with this factor."""
    record, launch = _record_and_launch(student, case)
    n, time_s = passes(record)[-1]
    dtype = record.provenance.dtype
    floor_s = pass_floor(roofline_of(record), _work(record), int(n), dtype=dtype).seconds
    factor = time_s / floor_s
    slips = {1 / factor: "Divide the measured time by the floor.", time_s: "Those are seconds."}
    got = field_of(student, case, "factor")
    source = "the longest pass of the record and its floor"
    expect_close(case, got, factor, "factor", source, relative=0.02, slips=slips)
    right = _leaves_at(student, case, record, launch / factor)
    slips = {
        _leaves_at(student, case, record, launch): "That is the prediction without the factor.",
        _leaves_at(student, case, record, launch * factor): "The floor grows by the factor, so the "
        "length gets shorter.",
    }
    got, source = field_of(student, case, "with_factor"), "the launch time divided by factor"
    expect_close(case, got, right, "with_factor", source, relative=0.05, slips=slips)


def _record_and_launch(student: Student, case: AnswerCase) -> tuple[Record, float]:
    name = fields_of(student, case, ("record",))["record"]
    record = record_named(name, "cache-*.jsonl")
    return record, launch_s(record, "baseline")


def _work(record: Record) -> ModelWork:
    return ModelWork.of(first_row(record, "baseline").model)


def _leaves_at(student: Student, case: AnswerCase, record: Record, launch: float) -> Any:
    functions, dtype = case.right or student, record.provenance.dtype
    machine: Any = roofline_of(record)
    work: Any = _work(record)
    if not case.right:
        name = first_row(record, "baseline").model
        machine = hold(student.Roofline, machine.name, machine.bandwidth, dict(machine.peaks))
        work = hold(student.ModelWork.of, name)
    return ask(functions, "leaves_launch_floor_at", machine, work, launch, N_CONTEXT, dtype)


OPEN_CASES = {"crossing": [AnswerCase("crossing")]}
