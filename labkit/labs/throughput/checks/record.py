"""Checks of lab 2's answers that are read off a record: operations, limits, CUDA graphs, prices.

Nothing right is written down here. The record that an answer names is opened, and what follows from
its numbers is computed again, with the floors of `labkit.measuring.roofline`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, choice_in, fields_of, is_near
from labkit.checks.compare import expect_mapping, finite_number_in, joined, show
from labkit.checks.core import Wrong, check
from labkit.checks.recorded import record_named
from labkit.labs.throughput import served
from labkit.labs.throughput.shares import LIMITS, shares_of
from labkit.measuring.records import Record
from labkit.models.tiny import facts_of

REGIONS = (
    "decode_one",
    "decode_medium_model",
    "decode_small_model",
    "prefill",
    "forward_sixteen",
)
MODELS = {each.rpartition("/")[2]: each for each in served.EAGER_MODELS}
HEADS = ("Qwen3-1.7B", "Qwen3-8B", "Llama-3.1-8B", "OLMo-7B")
COUNTED = 0.15  # versions of transformers differ by a few operations of a layer
MOST_OVER_FLOOR = 2.0  # of a prediction for a step that launches nothing

_operations = partial(check, "operations")
_which = partial(check, "which_limit")
_graphs = partial(check, "without_launches")


def _by_model(answer: Mapping[str, Any], key: str) -> dict[str, float]:
    given = expect_mapping(answer[key], tuple(MODELS), f'the entry "{key}"')
    return {name: finite_number_in(given[name], f"{key} of {name}") for name in MODELS}


@_operations(gate=True, hint="Multiply the operations of a layer by the layers. Add those outside.")
def a_step_launches_all_its_layers(student: Student, case: AnswerCase) -> None:
    """The operations are those of all layers and of the rest, without views."""
    given = _by_model(fields_of(student, case, ("operations",)), "operations")
    for name, got in given.items():
        counts = served.counts_of_step(MODELS[name])
        right = served.launched_by_step(counts)
        if abs(got - right) > COUNTED * right:
            raise Wrong(
                f"{name}: {show(got)} operations of a step",
                why=_operation_slips(given),
                cause=f"operations of a step of {name}",
            )


def _operation_slips(got: Mapping[str, float]) -> str:
    """The sentences for the operations: mistakes that give all wrong ones."""

    def by(mistake: str, counts: Mapping[str, float]) -> float:
        layers, own, views = (counts[name] for name in ("layers", "operations", "views"))
        return {
            "These are the operations of one layer. Multiply by the layers.": own,
            "Views are counted. A view starts no kernel.": layers * (own + views)
            + counts["outside"],
            "These are the views. Take the other operations.": layers * views,
        }[mistake]

    names = (
        "These are the operations of one layer. Multiply by the layers.",
        "Views are counted. A view starts no kernel.",
        "These are the views. Take the other operations.",
    )
    steps = {name: served.counts_of_step(model) for name, model in MODELS.items()}
    wrong = [
        name
        for name in got
        if not is_near(got[name], served.launched_by_step(steps[name]), COUNTED)
    ]
    return joined(
        text for text in names if all(is_near(got[one], by(text, steps[one]), 0.1) for one in wrong)
    )


@_operations(hint="Divide the microseconds of the eager step by your number of operations.")
def time_per_operation_follows_from_the_record(student: Student, case: AnswerCase) -> None:
    """The microseconds per operation follow from the record and from your operations."""
    keys = ("record", "operations", "us_per_operation")
    answer = fields_of(student, case, keys)
    record = record_named(answer["record"], served.GRAPH_RECORDS)
    counts, given = (_by_model(answer, key) for key in keys[1:])
    steps = {name: served.step_s(record, MODELS[name], served.EAGER) for name in MODELS}
    rights = {name: 1e6 * steps[name] / max(1, counts[name]) for name in MODELS}
    wrong = [name for name in MODELS if not is_near(given[name], rights[name], 0.05)]
    if not wrong:
        return
    factors = {
        "These are milliseconds. Give microseconds.": lambda name: 1e-3,
        "That is a whole step. Divide by its operations.": lambda name: counts[name],
        "That is the step as a CUDA graph. Take the eager step.": lambda name: (
            served.step_s(record, MODELS[name], served.GRAPH) / steps[name]
        ),
        "That is the time of a layer. Divide by all operations of the step.": lambda name: (
            counts[name] / facts_of(MODELS[name])["num_hidden_layers"]
        ),
    }
    raise Wrong(
        f"{wrong[0]}: {show(given[wrong[0]])} µs per operation does not follow from its step",
        cause=f"µs per operation of {wrong[0]}",
        why=joined(
            why
            for why, factor in factors.items()
            if all(is_near(given[one], factor(one) * rights[one], 0.05) for one in wrong)
        ),
    )


@_operations(hint="Compare the numbers of query heads and KV heads that the cell prints.")
def shared_heads_are_read_off_the_config(student: Student, case: AnswerCase) -> None:
    """The list names exactly the models with as many KV heads as query heads."""
    given = fields_of(student, case, ("without_shared_kv_heads",))["without_shared_kv_heads"]
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list | tuple | set):
        raise Wrong("the models", expected="a list of names", got=show(given))
    named = {choice_in(each, HEADS, "a model") for each in given}
    full = {"OLMo-7B": "allenai/OLMo-7B-0724-hf", **MODELS}
    facts = {name: facts_of(full[name]) for name in HEADS}
    right = {
        name
        for name, each in facts.items()
        if each["num_key_value_heads"] == each["num_attention_heads"]
    }
    if named != right:
        raise Wrong(
            "the models without shared KV heads",
            got=show(sorted(named)),
            expected="those with as many KV heads as query heads",
            why="With shared KV heads it is grouped-query attention (GQA). With one KV head for "
            "each query head it is multi-head attention (MHA).",
        )


def _limit_check(student: Student, case: AnswerCase, regions: tuple[str, ...]) -> None:
    answer = fields_of(student, case, ("record", *regions))
    record: Record = record_named(answer["record"], served.SHARE_RECORDS)
    for region in regions:
        got = choice_in(answer[region], LIMITS, region)
        shares = shares_of(record, region)
        if got not in shares.accepted():
            said = ", ".join(f"{name} {getattr(shares, name):.0%}" for name in LIMITS)
            what = f'{region}: "{got}" is not the largest of the three there'
            raise Wrong(what, why=f"The shares are: {said}.", cause=what)


@_which(hint="Compare the three shares in the rows of the three decode steps.")
def decode_is_explained(student: Student, case: AnswerCase) -> None:
    """For the decode steps, you name the largest share, or one that comes close to it."""
    _limit_check(student, case, REGIONS[:3])


@_which(hint="Compare the three shares in the rows of the prefill and of the sixteen texts.")
def long_passes_are_explained(student: Student, case: AnswerCase) -> None:
    """For the prefill and for sixteen texts, you name the largest share, or one close to it."""
    _limit_check(student, case, REGIONS[3:])


@_graphs(hint="Without launches, a step takes its floor at least. Predict 1 to 2 times the floor.")
def predictions_follow_from_the_floors(student: Student, case: AnswerCase) -> None:
    """Each predicted step is at least its floor, and at most twice its floor."""
    answer = fields_of(student, case, ("record", "ms"))
    record = record_named(answer["record"], served.GRAPH_RECORDS)
    for name, got in _by_model(answer, "ms").items():
        floor_ms = 1e3 * served.floor_of_step(record, MODELS[name]).seconds
        if not 0.99 * floor_ms <= got <= MOST_OVER_FLOOR * floor_ms:
            what = f"{name}: ms of a step that launches nothing"
            expected = f"{floor_ms:.2f} to {MOST_OVER_FLOOR * floor_ms:.2f}"
            why = "No step is faster than its floor." * (got < floor_ms)
            if is_near(got, 1e3 * served.step_s(record, MODELS[name], served.EAGER), 0.05):
                why = "That is the eager step, with its launches."
            if is_near(got, floor_ms / 1e3, 0.3):
                why = "These are seconds. Give milliseconds."
            raise Wrong(what, expected=expected, got=show(got), why=why, cause=f"a step of {name}")


@_graphs(hint="Divide each eager step by its floor. Name the model with the largest quotient.")
def the_largest_gain_is_named(student: Student, case: AnswerCase) -> None:
    """You name the model that gains most, by the eager steps and the floors."""
    answer = fields_of(student, case, ("record", "gains_most"))
    record = record_named(answer["record"], served.GRAPH_RECORDS)
    got = choice_in(answer["gains_most"], tuple(MODELS), "the model that gains most")
    gains = {
        name: served.step_s(record, model, served.EAGER)
        / served.floor_of_step(record, model).seconds
        for name, model in MODELS.items()
    }
    if got != max(gains, key=gains.get):
        said = ", ".join(f"{name} {gain:.0f}" for name, gain in gains.items())
        raise Wrong(
            f"{got} does not gain most", why=f"Eager step / floor: {said}.", cause="the gain"
        )


OPEN_CASES = {
    name: [AnswerCase(name)] for name in ("operations", "which_limit", "without_launches")
}
