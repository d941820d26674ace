"""Checks of lab 1's answer on recorded peaks: what the overhead is, and what it will be."""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, expect_close, field_of
from labkit.checks.core import check
from labkit.labs.memory.checks.tables import config_of
from labkit.labs.memory.peaks import BATCH, MODEL, N_NEW, WHOLE, peak_of
from labkit.models.facts import models

SHORT, LONG, LONGEST, CHUNK = 8192, 16384, 32768, 2048

_peaks = partial(check, "peaks")


@_peaks(hint="Divide the growth of the overhead by the growth of all prompt tokens of the batch.")
def overhead_grows_with_the_tokens_of_the_pass(student: Student, case: AnswerCase) -> None:
    """`bytes_per_token` is how much the overhead grows with each prompt token of the pass."""
    got = field_of(student, case, "bytes_per_token")
    right = _per_token(student, case)
    of_peaks = (peak_of(LONG) - peak_of(SHORT)) / (BATCH * (LONG - SHORT))
    slips = {
        right * BATCH: "That is for one token of each sequence: the pass has 8 times as many.",
        of_peaks: "The cache is in it: take the overhead, not the peak.",
        right / 1e9: "That is in GB: give bytes.",
        right / 1e3: "That is in kB: give bytes.",
        models()[MODEL]["intermediate_size"] * 2.0: "That is one vector of the MLP only.",
    }
    source = "two rows of the record"
    expect_close(case, got, right, "bytes_per_token", source, relative=0.01, slips=slips)


@_peaks(hint="Add weights, cache of 32,768 + 64 tokens, and your bytes of all prompt tokens.")
def peak_of_a_longer_prompt_follows(student: Student, case: AnswerCase) -> None:
    """`peak_gb` is the peak with prompts of 32,768 tokens, predicted within 2 %."""
    got = field_of(student, case, "peak_gb")
    formula, over = _formula(student, case, LONGEST), _overhead(student, case, LONG)
    right = formula + _per_token(student, case) * BATCH * LONGEST
    slips = {
        formula / 1e9: "Those are weights and cache. Add the overhead.",
        right / 2**30: "That is in GiB: give GB.",
        (formula + over) / 1e9: "The overhead doubles too: the pass has twice the tokens.",
        (right - _weights()) / 1e9: "Add the weights.",
        2 * peak_of(LONG) / 1e9: "The weights do not double with the length.",
    }
    source = "weights, cache and overhead at this length"
    expect_close(case, got, right / 1e9, "peak_gb", source, relative=0.02, slips=slips)


@_peaks(hint="Only the overhead becomes smaller: its pass has 8 x 2,048 tokens.")
def chunks_shrink_the_overhead_alone(student: Student, case: AnswerCase) -> None:
    """`peak_gb_in_chunks` is the same peak if each pass has 2,048 tokens of each prompt."""
    got = field_of(student, case, "peak_gb_in_chunks")
    formula, per_token = _formula(student, case, LONGEST), _per_token(student, case)
    right = formula + per_token * BATCH * CHUNK
    slips = {
        formula / 1e9: "Those are weights and cache. A chunk has an overhead too.",
        (formula + per_token * CHUNK) / 1e9: "A pass has 2,048 tokens of each of 8 prompts.",
        peak_of(CHUNK) / 1e9: "The cache still holds all 32,768 tokens.",
        peak_of(LONGEST, WHOLE) / 16e9: "Only the overhead becomes 16 times smaller.",
    }
    source = "weights, the whole cache and the overhead of one chunk"
    expect_close(case, got, right / 1e9, "peak_gb_in_chunks", source, relative=0.003, slips=slips)


def _per_token(student: Student, case: AnswerCase) -> float:
    """The overhead's growth in bytes per prompt token of the pass."""
    short, long = (_overhead(student, case, n) for n in (SHORT, LONG))
    return (long - short) / (BATCH * (LONG - SHORT))


def _overhead(student: Student, case: AnswerCase, n_input: int) -> float:
    """The recorded peak less weights and cache, by the functions that judge."""
    return peak_of(n_input) - _formula(student, case, n_input)


def _formula(student: Student, case: AnswerCase, n_input: int) -> float:
    functions = case.right or student
    sizes = config_of(functions, MODEL), n_input + N_NEW, BATCH
    return _weights() + ask(functions, "kv_cache_bytes", *sizes)


def _weights() -> int:
    return 2 * models()[MODEL]["params_exact"]


OPEN_CASES = {"peaks": [AnswerCase("peaks")]}
