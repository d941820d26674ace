"""Checks of lab 3's answers on the four settings and on the speed-up.

Every number is computed again from the facts or the records: in the notebook with the student's
functions, with hidden cases by those of `case.right`.
"""

from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.answers import (
    AnswerCase,
    ask,
    choice_in,
    expect_close,
    field_of,
    fields_of,
    is_near,
    refuse,
)
from labkit.checks.compare import expect_mapping, finite_number_in, joined, show
from labkit.checks.core import Wrong, check
from labkit.checks.recorded import record_named
from labkit.labs.cache_benchmark.records import curve, slopes
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.models.shapes import ModelShape
from labkit.models.sizes import kv_bytes_per_token

CARD, DTYPE, N_CONTEXT = "H100-SXM", "bfloat16", 40_000
LAUNCH_S_PER_LAYER = 0.75e-3
SETTINGS = {  # model, and the length at which passes are compared
    "baseline": ("meta-llama/Llama-3.1-8B", 512),
    "long prompt": ("meta-llama/Llama-3.1-8B", 32_000),
    "smaller": ("meta-llama/Llama-3.2-1B", 512),
    "older": ("meta-llama/Llama-2-7b-hf", 512),
}
MODEL_SETTINGS = ("baseline", "smaller", "older")
LIMITS = ("launch", "memory", "compute")
OTHER_LAYERS = "That is the length with the number of layers of another model."
OTHER_LENGTH = "That is the length of another model."

_settings = partial(check, "four_settings")
_speed_up = partial(check, "speed_up")


@_settings(hint="Count keys and values of all layers. Use the number of KV heads.")
def cache_bytes_follow_the_kv_heads(student: Student, case: AnswerCase) -> None:
    """`kv_bytes_per_token` counts the KV heads of each model, not its query heads."""
    for setting in MODEL_SETTINGS:
        what = f"{setting}, kv_bytes_per_token"
        got = number_of(student, case, setting, "kv_bytes_per_token")
        shape = ModelShape.of(SETTINGS[setting][0])
        right = kv_bytes_per_token(shape, 2)
        source = f"the layers, KV heads and head_dim of {shape.name}"
        slips = {
            right * shape.n_heads / shape.n_kv_heads: "You counted query heads. A group of query "
            "heads shares one KV head.",
            right / 2: "That counts the keys alone, or one byte for each number.",
            right / 1e3: "Give bytes, not kilobytes.",
        }
        for other in MODEL_SETTINGS:
            of_other = kv_bytes_per_token(ModelShape.of(SETTINGS[other][0]), 2)
            slips.setdefault(of_other, f"These are the bytes of {other}.")
        expect_close(case, got, right, what, source, relative=1e-3, slips=slips)


@_settings(hint="Call leaves_launch_floor_at with 0.75 ms times the layers.")
def each_model_leaves_the_floor_at_its_length(student: Student, case: AnswerCase) -> None:
    """Each model's length is the one at which a pass takes longer than its launch."""
    functions = case.right or student
    for setting in MODEL_SETTINGS:
        got = number_of(student, case, setting, "leaves_launch_floor_at")
        slips = {_length(functions, setting, other): OTHER_LAYERS for other in MODEL_SETTINGS}
        slips |= {_length(functions, each, each): OTHER_LENGTH for each in MODEL_SETTINGS}
        slips[N_CONTEXT] = "That is the longest context. A shorter pass leaves the floor."
        right, what = _length(functions, setting, setting), f"{setting}, leaves_launch_floor_at"
        source = f"0.75 ms for each layer of {SETTINGS[setting][0]}"
        expect_close(case, got, right, what, source, relative=0.02, slips=slips)


def _length(functions: Any, setting: str, layers_of: str) -> float:
    """Where this setting's model would leave the launches of that setting's layers."""
    arguments = (*_machine_and_work(functions, setting), _launch_s(layers_of), N_CONTEXT, DTYPE)
    return ask(functions, "leaves_launch_floor_at", *arguments)


@_settings(hint="Compare three times: launching, moving, computing. Name the longest.")
def the_limit_of_each_pass_is_its_longest_time(student: Student, case: AnswerCase) -> None:
    """The limit of each pass is the longest of launching, moving and computing."""
    for setting, (model, length) in SETTINGS.items():
        for key, n_fed in (("cached_step", 1), ("uncached_pass", length)):
            part = fields_of(student, case, (setting,))[setting]
            answer = expect_mapping(part, (key,), f'"{setting}"')
            got = choice_in(answer[key], LIMITS, f"{setting}, {key}")
            floor = pass_floor(CARD, model, n_fed, length - n_fed, dtype=DTYPE)
            right = floor.limit if floor.seconds > _launch_s(setting) else "launch"
            if got != right:
                moving_s, computing_s = 1e3 * floor.moving_s, 1e3 * floor.computing_s
                times = f"Moving takes {moving_s:.3g} ms, computing {computing_s:.3g} ms."
                what = f"{setting}, {key}: {got} does not take the longest"
                raise Wrong(what, why="" if case.right else times)


@_speed_up(hint="Take lab.slopes(...)[-1] of both curves of the setting baseline.")
def slopes_are_those_of_the_record(student: Student, case: AnswerCase) -> None:
    """Both slopes are those of the record that you name, between its two longest lengths."""
    for use_cache, key in ((True, "cached_s_per_token"), (False, "uncached_s_per_token")):
        got = field_of(student, case, key)
        right = _slope(student, case, use_cache)
        slips = _slope_slips(student, case, use_cache, right).items()
        why = joined(text for text, number in slips if is_near(got, number, 0.02))
        source = "the two longest lengths of your record"
        expect_close(case, got, right, key, source, relative=0.02, why=why)


def _slope_slips(
    student: Student, case: AnswerCase, use_cache: bool, right: float
) -> dict[str, float]:
    """Wrong numbers for the last slope of this curve, each with its sentence."""
    lengths, times_s = _curve(student, case, use_cache)
    return {
        "Give seconds, not milliseconds.": 1e3 * right,
        "That is the slope of the other curve.": _slope(student, case, not use_cache),
        "That is the slope between the two shortest lengths.": _slope(
            student, case, use_cache, slice(2)
        ),
        "That is a whole time. A slope is a difference of times for each token.": times_s[-1],
        "Do not divide a whole time by its length: it contains the prefill too.": (
            times_s[-1] / lengths[-1]
        ),
    }


@_speed_up(hint="Divide uncached_s_per_token by cached_s_per_token.")
def speed_up_is_a_ratio_of_slopes(student: Student, case: AnswerCase) -> None:
    """`ratio` is the ratio of the two slopes, not a mean of ratios over lengths."""
    got = field_of(student, case, "ratio")
    right = _slope(student, case, False) / _slope(student, case, True)
    if is_near(got, right, 0.03):
        return
    cached, uncached = (_curve(student, case, use_cache) for use_cache in (True, False))
    with_cache = dict(zip(*cached, strict=True))
    ratios = [t / with_cache[n] for n, t in zip(*uncached, strict=True) if n in with_cache]
    why = ""
    if is_near(got, sum(ratios) / len(ratios), 0.02):
        why = (
            "That is the mean of the ratios over all lengths. It depends on the lengths that "
            "were chosen."
        )
    elif is_near(got, 1 / right, 0.03):
        why = "This is the inverse. Divide the time without the cache by the time with it."
    elif is_near(got, ratios[-1], 0.02):
        why = "This is the ratio of whole times. Both contain the first pass, which is the same."
    source = "the two slopes of your record"
    refuse(case, f"ratio, {show(got)}", source, why, cause="ratio")


def number_of(student: Student, case: AnswerCase, part: str, key: str) -> float:
    """One number of an answer that is a dict of dicts."""
    found = expect_mapping(fields_of(student, case, (part,))[part], (key,), f'the entry "{part}"')
    return finite_number_in(found[key], f"{part}, {key}")


def _machine_and_work(functions: Any, setting: str) -> tuple[Any, Any]:
    """A roofline and a model's work, made where the functions run."""
    model = SETTINGS[setting][0]
    if isinstance(functions, Student):
        return hold(functions.Roofline.of, CARD), hold(functions.ModelWork.of, model)
    return Roofline.of(CARD), ModelWork.of(model)


def _launch_s(setting: str) -> float:
    return LAUNCH_S_PER_LAYER * ModelShape.of(SETTINGS[setting][0]).n_layers


def _curve(student: Student, case: AnswerCase, use_cache: bool) -> tuple[list, list]:
    """Lengths and times of the baseline in the record that the answer names."""
    name = fields_of(student, case, ("record",))["record"]
    return curve(record_named(name, "cache-*.jsonl"), "baseline", use_cache)


def _slope(
    student: Student, case: AnswerCase, use_cache: bool, two: slice = slice(-2, None)
) -> float:
    """Between two lengths, the two longest by default."""
    lengths, times_s = _curve(student, case, use_cache)
    (slope,) = slopes(lengths[two], times_s[two])
    return slope


OPEN_CASES = {name: [AnswerCase(name)] for name in ("four_settings", "speed_up")}
