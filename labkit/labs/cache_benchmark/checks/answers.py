"""Checks of lab 3's answer cells.

Every number is computed again from the facts, the records or the tokenizer: in the notebook with
the student's functions, with hidden cases by those of `case.right`.
"""

from functools import cache
from typing import Any

from labkit.bridge.student import Student, hold
from labkit.checks.answers import (
    AnswerCase,
    ask,
    choice_in,
    expect_close,
    fields_of,
    finite_number_in,
    is_near,
    record_named,
    refuse,
)
from labkit.checks.compare import expect_mapping, list_in, show
from labkit.checks.core import Wrong, check
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.memory import kv_bytes_per_token, longest_sequence, weight_bytes
from labkit.models.facts import vram_readings
from labkit.models.shapes import ModelShape

CARD, DTYPE, N_CONTEXT = "H200-SXM", "bfloat16", 40_000
LAUNCH_S_PER_LAYER = 0.75e-3
SETTINGS = {  # model, and the length at which passes are compared
    "baseline": ("meta-llama/Llama-3.1-8B", 512),
    "long prompt": ("meta-llama/Llama-3.1-8B", 32_000),
    "smaller": ("meta-llama/Llama-3.2-1B", 512),
    "older": ("meta-llama/Llama-2-7b-hf", 512),
}
MODEL_SETTINGS = ("baseline", "smaller", "older")
LIMITS = ("launch", "memory", "compute")
BLOCK_SIZE = 16
OFFLOAD_CARD, OFFLOAD_MODEL = "L40S", "Qwen/Qwen3-14B"
OFFLOADED_BYTES = {"nothing": 0, "4 GB": 4 * 10**9, "8 GB": 8 * 10**9}
OFFLOAD_CONTEXT, LINK_BANDWIDTH = 4096, 25e9


@check("four_settings", hint="Count keys and values of all layers. Use the number of KV heads.")
def cache_bytes_follow_the_kv_heads(student: Student, case: AnswerCase) -> None:
    """`kv_bytes_per_token` counts the KV heads of each model, not its query heads."""
    for setting in MODEL_SETTINGS:
        what = f"{setting}, kv_bytes_per_token"
        got = _number(student, case, setting, "kv_bytes_per_token")
        shape = ModelShape.of(SETTINGS[setting][0])
        right = kv_bytes_per_token(shape, 2)
        why = ""
        if is_near(got, right * shape.n_heads / shape.n_kv_heads, 1e-6) and got != right:
            why = "You counted query heads. A group of query heads shares one KV head."
        expect_close(case, got, right, what, relative=1e-3, why=why)


@check("four_settings", hint="Call leaves_launch_floor_at with 0.75 ms times the layers.")
def each_model_leaves_the_floor_at_its_length(student: Student, case: AnswerCase) -> None:
    """Each model's length is the one at which a pass takes longer than its launch."""
    functions = case.right or student
    for setting in MODEL_SETTINGS:
        got = _number(student, case, setting, "leaves_launch_floor_at")
        machine, work = _machine_and_work(functions, setting)
        launch_s = _launch_s(setting)
        arguments = (machine, work, launch_s, N_CONTEXT, DTYPE)
        right = ask(functions, "leaves_launch_floor_at", *arguments)
        expect_close(case, got, right, f"{setting}, leaves_launch_floor_at", relative=0.02)


@check("four_settings", hint="Compare three times: launching, moving, computing. Name the longest.")
def the_limit_of_each_pass_is_its_longest_time(student: Student, case: AnswerCase) -> None:
    """The limit of each pass is the longest of launching, moving and computing."""
    for setting, (model, length) in SETTINGS.items():
        for key, n_fed in (("cached_step", 1), ("uncached_pass", length)):
            answer = expect_mapping(_part(student, case, setting), (key,), f'"{setting}"')
            got = choice_in(answer[key], LIMITS, f"{setting}, {key}")
            floor = pass_floor(CARD, model, n_fed, length - n_fed, dtype=DTYPE)
            right = floor.limit if floor.seconds > _launch_s(setting) else "launch"
            if got != right:
                moving_s, computing_s = 1e3 * floor.moving_s, 1e3 * floor.computing_s
                times = f"Moving takes {moving_s:.3g} ms, computing {computing_s:.3g} ms."
                what = f"{setting}, {key}: {got} does not take the longest"
                raise Wrong(what, why="" if case.right else times)


@check("speed_up", hint="Take slopes(...)[-1] of both curves of the setting baseline.")
def slopes_are_those_of_the_record(student: Student, case: AnswerCase) -> None:
    """Both slopes are those of the record that you name, between its two longest lengths."""
    for use_cache, key in ((True, "cached_s_per_token"), (False, "uncached_s_per_token")):
        got = finite_number_in(fields_of(student, case, (key,))[key], key)
        right = _last_slope(student, case, use_cache)
        why = "Give seconds, not milliseconds." if is_near(got, 1e3 * right, 0.02) else ""
        expect_close(case, got, right, key, relative=0.02, why=why)


@check("speed_up", hint="Divide uncached_s_per_token by cached_s_per_token.")
def speed_up_is_a_ratio_of_slopes(student: Student, case: AnswerCase) -> None:
    """`ratio` is the ratio of the two slopes, not a mean of ratios over lengths."""
    got = finite_number_in(fields_of(student, case, ("ratio",))["ratio"], "ratio")
    right = _last_slope(student, case, False) / _last_slope(student, case, True)
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
    refuse(case, f"ratio, {show(got)}", why, cause="ratio")


@check("tokens_found", hint="Compare the tokens of each run with those of the first run.")
def hits_of_the_three_runs_are_those_counted(student: Student, case: AnswerCase) -> None:
    """For same, space before and space after, you count the tokens of equal blocks."""
    for edit in ("same", "space before", "space after"):
        _expect_hit(student, case, edit)


@check("tokens_found", hint="Find the first token that differs, and the block that it is in.")
def the_edited_block_and_all_after_it_are_lost(student: Student, case: AnswerCase) -> None:
    """After a name has changed, only the blocks before it are found."""
    _expect_hit(student, case, "one name")


@check(
    "offload_plan",
    hint="Pass ModelWork.moved_bytes at 4,096 tokens to offload_step_s.",
)
def steps_slow_down_by_the_link(student: Student, case: AnswerCase) -> None:
    """A step moves resident bytes at the GPU's bandwidth and offloaded bytes at the link's."""
    functions = case.right or student
    moved = ModelWork.of(OFFLOAD_MODEL).moved_bytes(OFFLOAD_CONTEXT, 1, 2)
    bandwidth = Roofline.of(OFFLOAD_CARD).bandwidth
    for setting, n_bytes in OFFLOADED_BYTES.items():
        got = _number(student, case, setting, "step_ms")
        right = 1e3 * ask(functions, "offload_step_s", moved, n_bytes, bandwidth, LINK_BANDWIDTH)
        why = "Give milliseconds, not seconds." if is_near(1e3 * got, right, 0.02) else ""
        expect_close(case, got, right, f"{setting}, step_ms", relative=0.01, why=why)


@check("offload_plan", hint="Call longest_sequence of lab 1 with fewer bytes of weights.")
def room_grows_by_what_is_offloaded(student: Student, case: AnswerCase) -> None:
    """`kv_tokens` is the longest sequence besides the weights that stay on the card."""
    shape = ModelShape.of(OFFLOAD_MODEL)
    vram_bytes = vram_readings(OFFLOAD_CARD)["driver"][0]
    for setting, n_bytes in OFFLOADED_BYTES.items():
        resident = weight_bytes(shape.n_params) - n_bytes
        right = longest_sequence(vram_bytes, resident, kv_bytes_per_token(shape))
        got = _number(student, case, setting, "kv_tokens")
        expect_close(case, got, right, f"{setting}, kv_tokens", relative=0.005)


def _part(student: Student, case: AnswerCase, key: str) -> Any:
    return fields_of(student, case, (key,))[key]


def _number(student: Student, case: AnswerCase, part: str, key: str) -> float:
    found = expect_mapping(_part(student, case, part), (key,), f'the entry "{part}"')
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
    from labkit.labs.cache_benchmark.records import curve

    name = fields_of(student, case, ("record",))["record"]
    return curve(record_named(name, "cache-*.jsonl"), "baseline", use_cache)


def _last_slope(student: Student, case: AnswerCase, use_cache: bool) -> float:
    """Of the two longest lengths, by the functions that judge."""
    functions = case.right or student
    lengths, times_s = _curve(student, case, use_cache)
    got = functions.slopes(lengths[-2:], times_s[-2:])
    (slope,) = list_in(got, "what your slopes gives for two points", "one number", 1)
    return finite_number_in(slope, "what your slopes gives")


@cache
def _edited_tokens() -> dict[str, list[int]]:
    """The prompts of the invalidation test, as the tiny pair's tokenizer cuts them."""
    from labkit.labs.cache_benchmark.prompts import edited_prompts
    from labkit.zoo.choose import kit_tokenizer

    tokenizer = kit_tokenizer("tiny-target")
    return {name: tokenizer(text)["input_ids"] for name, text in edited_prompts().items()}


def _expect_hit(student: Student, case: AnswerCase, edit: str) -> None:
    got = finite_number_in(_part(student, case, edit), edit)
    tokens, cached = _edited_tokens()[edit], _edited_tokens()["same"]
    if case.right:
        hashes, known = (case.right.block_hashes(each, BLOCK_SIZE) for each in (tokens, cached))
    else:
        hashes, known = (hold(student.block_hashes, each, BLOCK_SIZE) for each in (tokens, cached))
    arguments = (hashes, known, len(tokens), BLOCK_SIZE)
    right = ask(case.right or student, "longest_cached_prefix", *arguments)
    why = ""
    if got in (len(tokens) - right, right / BLOCK_SIZE):
        why = "Give the tokens that are found, not the computed tokens or the blocks."
    elif got % BLOCK_SIZE:
        why = f"Only whole blocks of {BLOCK_SIZE} tokens are found."
    expect_close(case, got, right, f"{edit}, {show(got)} tokens found", relative=1e-9, why=why)


OPEN_CASES = {
    name: [AnswerCase(name)]
    for name in ("four_settings", "speed_up", "tokens_found", "offload_plan")
}
