"""Checks of lab 6's answers on records: sources of prompts, two GPUs, batches.

Names are compared with hidden cases alone. Speedups follow from the functions: in the notebook the
student's own, with hidden cases those of `case.right`.
"""

from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, choice_in, expect_close, fields_of
from labkit.checks.compare import finite_number_in, show, truth_in
from labkit.checks.core import OnlyRead, Wrong, check
from labkit.checks.recorded import record_named as record_of
from labkit.labs.speculative.batches import ALPHA, SHORT, BatchSteps, batch_steps, places_of
from labkit.labs.speculative.records import Gain, gains, words_of
from labkit.models.facts import gpus

SOURCES = ("graph", "instruction", "choice", "pattern")
CARDS = ("H200-SXM", "L4")
NEAR = 0.01
BATCHED = ("first_without_gain", "keeps_all", "keeps_512")
N_TEXTS, N_CACHED = 32, 16_384

_compared = partial(check, "compared")
_batches = partial(check, "batches")


def _by_source(gamma: int) -> dict[str, Gain]:
    """The tiny pair's gains in the course's record of a CPU, by source."""
    found = gains(record_of("speculative-cpu", "speculative-cpu*"), _no_speedup, "by_source")
    chosen = [gain for gain in found if (gain.row.model, gain.gamma) == ("tiny", gamma)]
    return {words_of(gain.row)[1]: gain for gain in chosen}


def _no_speedup(*_: float) -> float:
    """Nothing is predicted here: what was measured decides."""
    return 1.0


@_compared(hint="Look in the column α, at γ = 3.")
def the_sources_of_the_highest_and_the_lowest_alpha(student: Student, case: AnswerCase) -> None:
    """At γ = 3, the sources with the highest and the lowest α are named."""
    answer = fields_of(student, case, ("highest", "lowest"))
    named = [choice_in(answer[key], SOURCES, key) for key in ("highest", "lowest")]
    if named[0] == named[1]:
        raise Wrong("highest and lowest are the same source", cause="one source for both")
    if case.right is None:
        raise OnlyRead
    by_source = _by_source(3)
    order = sorted(by_source, key=lambda name: by_source[name].alpha[0])
    if named == [order[0], order[-1]]:
        raise Wrong("highest and lowest are exchanged", cause="exchanged")
    for key, name, right in zip(("highest", "lowest"), named, (order[-1], order[0]), strict=True):
        if name != right:
            why = "The middle of the interval decides, not its ends."
            raise Wrong(f"{key}, {name}: that is not what the table says", why=why, cause=key)


@_compared(hint="Two intervals overlap if each begins before the other ends.")
def the_two_sources_that_cannot_be_told_apart(student: Student, case: AnswerCase) -> None:
    """At γ = 3, the two sources whose intervals of α overlap are named."""
    named = fields_of(student, case, ("overlap",))["overlap"]
    if not isinstance(named, list | tuple | set) or len(named) != 2:
        raise Wrong("overlap", expected="a list of two sources", got=show(named))
    pair = {choice_in(name, SOURCES, "overlap") for name in named}
    if len(pair) < 2:
        raise Wrong("overlap", expected="two sources", got=show(named))
    if case.right is None:
        raise OnlyRead
    (_, low, high), (_, other_low, other_high) = (_by_source(3)[name].alpha for name in pair)
    if low > other_high or other_low > high:
        raise Wrong("overlap: the intervals of these two do not overlap", cause="overlap")


@_compared(hint="It is a number of the second γ in the table.")
def what_a_long_block_gains_for_the_worst_source(student: Student, case: AnswerCase) -> None:
    """The speedup of the source with the lowest α, at γ = 7."""
    got = finite_number_in(fields_of(student, case, ("lowest_at_7",))["lowest_at_7"], "lowest_at_7")
    if case.right is None:
        raise OnlyRead
    found, short = _by_source(7), _by_source(3)
    lowest = min(short, key=lambda name: short[name].alpha[0])
    slips = {
        found[lowest].alpha[0]: "That is α. The speedup is wanted.",
        short[lowest].speedup[0]: "That is the speedup at γ = 3.",
        max(gain.speedup[0] for gain in found.values()): "That is the best source's.",
    }
    right, source = found[lowest].speedup[0], "the course's record"
    expect_close(case, got, right, "lowest_at_7", source, relative=NEAR, slips=slips)


@_compared(hint="Divide the numbers of the data sheets, the H200's by the L4's.")
def the_factors_of_two_data_sheets(student: Student, case: AnswerCase) -> None:
    """Memory bandwidth and bf16 FLOP/s of the H200 are so many times those of the L4."""
    fields = {
        "bandwidth_factor": "bandwidth_GBps",
        "flops_factor": "dense_bf16_tensor_TFLOPS",
    }
    answer = fields_of(student, case, tuple(fields))
    ratios = {name: _ratio(field) for name, field in fields.items()}
    for name, right in ratios.items():
        other = next(ratio for key, ratio in ratios.items() if key != name)
        slips = {1 / right: "That is the inverse.", other: "That is the other factor."}
        got = finite_number_in(answer[name], name)
        expect_close(case, got, right, name, "the data sheets", relative=0.03, slips=slips)


def _ratio(field: str) -> float:
    fast, slow = (float(gpus()[card][field]) for card in CARDS)
    return fast / slow


@_compared(hint="Compare a verification of 8 tokens with a step of one, on these cards.")
def what_decides_about_a_verification(student: Student, case: AnswerCase) -> None:
    """A verification of 8 tokens waits for the memory or for the arithmetic."""
    got = fields_of(student, case, ("verification_waits_for",))["verification_waits_for"]
    named = choice_in(got, ("bandwidth", "flops"), "verification_waits_for")
    if case.right is None:
        raise OnlyRead
    if named != "bandwidth":
        why = "Eight tokens do eight times the arithmetic, and take as long as one."
        raise Wrong("verification_waits_for: the times say otherwise", why=why, cause="waits for")


@_compared(hint="Compare the brackets of the two cards in the table of the same settings.")
def which_card_gained_more(student: Student, case: AnswerCase) -> None:
    """The card that gained more in the records, and whether the difference may be chance."""
    answer = fields_of(student, case, ("gained_more", "may_be_chance"))
    card = choice_in(answer["gained_more"], ("H100", "H200"), "gained_more")
    is_chance = truth_in(answer["may_be_chance"], "may_be_chance")
    if case.right is None:
        raise OnlyRead
    if card != "H100":
        why = "Look at the speedup, not at the milliseconds."
        raise Wrong("gained_more: the measured speedups say otherwise", why=why, cause="card")
    if is_chance:
        why = "The brackets hold all rounds. They do not overlap."
        raise Wrong("may_be_chance: the brackets say otherwise", why=why, cause="chance")


def _steps(n_texts: int, n_cached: int, draft_cached: int = 0) -> BatchSteps:
    record = record_of("batches-h200", "batches-*")
    return batch_steps(record, n_texts, n_cached, draft_cached)


def _plan(functions: Any, steps: BatchSteps) -> tuple[int, float]:
    """The best gamma of a batch, and its speedup."""
    times_s = (steps.draft_s, steps.target_s)
    gamma = int(ask(functions, "best_gamma", ALPHA, *times_s, steps.verify_s, steps.max_gamma))
    if not 0 <= gamma <= steps.max_gamma:
        raise Wrong("what your best_gamma gives", expected=f"at most {steps.max_gamma}", got=gamma)
    if not gamma:
        return 0, 1.0
    return gamma, ask(functions, "speedup", ALPHA, gamma, *times_s, steps.verify_s(gamma))


@_batches(hint="Call best_gamma for each number of texts, with 512 cached tokens.")
def the_batch_from_which_nothing_is_gained(student: Student, case: AnswerCase) -> None:
    """With 512 cached tokens, the smallest batch of the record whose best γ is 0."""
    got = finite_number_in(fields_of(student, case, BATCHED)[BATCHED[0]], BATCHED[0])
    functions, record = case.right or student, record_of("batches-h200", "batches-*")
    sizes = [n for n, n_cached in places_of(record) if n_cached == SHORT]
    without = [n for n in sizes if not _plan(functions, _steps(n, SHORT))[0]]
    if got not in sizes:
        expected = "one of " + ", ".join(map(str, sizes))
        raise Wrong(BATCHED[0], expected=expected, got=show(got), cause="no such batch")
    if not without or got != without[0]:
        source = f"best_gamma at α = {ALPHA}"
        why = "There the best γ is above 0." if got not in without else "A smaller batch has none."
        expect_close(case, got, -1.0, BATCHED[0], source, relative=0, why=why)


def _expect_gain(student: Student, case: AnswerCase, key: str) -> None:
    got = finite_number_in(fields_of(student, case, BATCHED)[key], key)
    functions = case.right or student
    whole, short = (_steps(N_TEXTS, N_CACHED, kept) for kept in (0, SHORT))
    steps, other = (whole, short) if key == "keeps_all" else (short, whole)
    gamma, right = _plan(functions, steps)
    slips = {
        _plan(functions, other)[1]: "That is the gain with the other draft.",
        float(gamma): "That is the best γ. The speedup there is wanted.",
        1 / right: "That is the inverse.",
        _plan(functions, _steps(1, N_CACHED, 0 if steps is whole else SHORT))[1]: (
            "That is the gain of one text."
        ),
        _plan(functions, _steps(N_TEXTS, SHORT))[1]: "That is the gain with short texts.",
    }
    slips.pop(right, None)
    source = f"speedup at the best γ and α = {ALPHA}"
    expect_close(case, got, right, key, source, relative=NEAR, slips=slips)


@_batches(hint="Take lab.batch_steps(record, 32, 16_384), then best_gamma and speedup.")
def what_a_draft_with_all_tokens_gains(student: Student, case: AnswerCase) -> None:
    """The speedup of 32 long texts at the best γ, if the draft keeps all tokens in its cache."""
    _expect_gain(student, case, "keeps_all")


@_batches(hint="Take lab.batch_steps(record, 32, 16_384, 512): the draft has 512 tokens.")
def what_a_draft_with_a_short_cache_gains(student: Student, case: AnswerCase) -> None:
    """The same if the draft keeps only 512 tokens."""
    _expect_gain(student, case, "keeps_512")


OPEN_CASES = {name: [AnswerCase(name)] for name in ("compared", "batches")}
