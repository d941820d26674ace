"""Wrong and right values for the answer cells of the lab."""

from copy import deepcopy
from typing import Any

_HEADS = "cache_bytes_follow_the_kv_heads"
_LENGTH = "each_model_leaves_the_floor_at_its_length"
_LIMIT = "the_limit_of_each_pass_is_its_longest_time"
_SLOPES = "slopes_are_those_of_the_record"
_RATIO = "speed_up_is_a_ratio_of_slopes"
_THREE = "hits_of_the_three_runs_are_those_counted"
_EDITED = "the_edited_block_and_all_after_it_are_lost"
_LINK = "steps_slow_down_by_the_link"
_ROOM = "room_grows_by_what_is_offloaded"


def four_settings(**changed: dict[str, Any]) -> str:
    """The cell on the four settings; `changed` by setting ("long_prompt" for the long prompt)."""
    answer: dict[str, dict[str, Any]] = {
        name: {
            "kv_bytes_per_token": n_bytes,
            "leaves_launch_floor_at": length,
            "cached_step": "launch",
            "uncached_pass": "launch",
        }
        for name, n_bytes, length in (
            ("baseline", 131_072, 1650),
            ("smaller", 32_768, 5193),
            ("older", 524_288, 1770),
        )
    }
    answer["long prompt"] = {"cached_step": "launch", "uncached_pass": "compute"}
    for name, values in changed.items():
        answer[name.replace("_", " ")].update(values)
    return f"four_settings = {answer!r}"


def of_each(key: str, *values: Any) -> dict[str, dict[str, Any]]:
    """The same key of all three models, in their order."""
    names = ("baseline", "smaller", "older")
    return {name: {key: value} for name, value in zip(names, values, strict=True)}


_CACHED = 'lab.slopes(*lab.curve(RECORDS["cache-cpu"], "baseline", True))[-1]'
_UNCACHED = 'lab.slopes(*lab.curve(RECORDS["cache-cpu"], "baseline", False))[-1]'
_CURVES = """\
lengths, with_cache = lab.curve(RECORDS["cache-cpu"], "baseline", True)
_, without = lab.curve(RECORDS["cache-cpu"], "baseline", False)
ratios = [a / b for a, b in zip(without, with_cache)]
"""


def speed_up(
    cached: str = _CACHED,
    uncached: str = _UNCACHED,
    ratio: str = f"{_UNCACHED} / {_CACHED}",
    record: str = '"cache-cpu"',
) -> str:
    """The cell on the speed-up, each value as an expression."""
    return _CURVES + (
        f'speed_up = {{"record": {record}, "cached_s_per_token": {cached}, '
        f'"uncached_s_per_token": {uncached}, "ratio": {ratio}}}'
    )


def tokens_found(same: Any, before: Any, after: Any, one_name: Any) -> str:
    """The cell on the edited prompts."""
    answer = {
        "same": same,
        "space before": before,
        "space after": after,
        "one name": one_name,
    }
    return f"tokens_found = {answer!r}"


PLAN = {
    "nothing": {"step_ms": 33.2, "kv_tokens": 114_558},
    "4 GB": {"step_ms": 188.5, "kv_tokens": 138_972},
    "8 GB": {"step_ms": 343.9, "kv_tokens": 163_386},
}


def offload_plan(key: str, *values: Any) -> str:
    """The cell on offloading with one column changed."""
    plan = deepcopy(PLAN)
    for setting, value in zip(plan, values, strict=True):
        plan[setting][key] = value
    return f"offload_plan = {plan!r}"


FOUR_SETTINGS = [
    ("query heads", (_HEADS,), four_settings(**of_each("kv_bytes_per_token", 2**19, 2**17, 2**19))),
    ("keys alone", (_HEADS,), four_settings(**of_each("kv_bytes_per_token", 2**16, 2**14, 2**18))),
    ("all like the baseline", (_HEADS,), four_settings(older={"kv_bytes_per_token": 131_072})),
    ("kilobytes", (_HEADS,), four_settings(**of_each("kv_bytes_per_token", 131, 32.8, 524))),
    ("one for all", (_LENGTH,), four_settings(**of_each("leaves_launch_floor_at", *[1650] * 3))),
    (
        "32 layers for all",
        (_LENGTH,),
        four_settings(**of_each("leaves_launch_floor_at", 1650, 9293, 1770)),
    ),
    ("none leaves", (_LENGTH,), four_settings(**of_each("leaves_launch_floor_at", *[40_000] * 3))),
    (
        "no cache needed to launch",
        (_LENGTH,),
        four_settings(**of_each("leaves_launch_floor_at", 52, 161, 55)),
    ),
    (
        "decode is bound by memory, as one reads",
        (_LIMIT,),
        four_settings(**of_each("cached_step", *["memory"] * 3)),
    ),
    ("a long prompt like any", (_LIMIT,), four_settings(long_prompt={"uncached_pass": "launch"})),
    (
        "prefill is bound by computing, as one reads",
        (_LIMIT,),
        four_settings(**of_each("uncached_pass", *["compute"] * 3)),
    ),
    ("another word", (_LIMIT,), four_settings(long_prompt={"uncached_pass": "the GPU"})),
]
SPEED_UP = [
    ("milliseconds", (_SLOPES,), speed_up(f"1e3 * {_CACHED}", f"1e3 * {_UNCACHED}")),
    ("changed places", (_SLOPES,), speed_up(_UNCACHED, _CACHED)),
    (
        "time by length",
        (_SLOPES,),
        speed_up("with_cache[-1] / lengths[-1]", "without[-1] / lengths[-1]"),
    ),
    (
        "first slopes",
        (_SLOPES,),
        speed_up(*(value.replace("[-1]", "[0]") for value in (_CACHED, _UNCACHED))),
    ),
    ("whole times", (_SLOPES,), speed_up("with_cache[-1]", "without[-1]")),
    ("mean of ratios", (_RATIO,), speed_up(ratio="sum(ratios) / len(ratios)")),
    ("ratio of whole times", (_RATIO,), speed_up(ratio="ratios[-1]")),
    ("inverse", (_RATIO,), speed_up(ratio=f"{_CACHED} / {_UNCACHED}")),
    ("percent", (_RATIO,), speed_up(ratio=f"100 * {_UNCACHED} / {_CACHED}")),
    ("no such record", (_SLOPES, _RATIO), speed_up(record='"my GPU"')),
    ("NaN", (_SLOPES, _RATIO), speed_up('float("nan")', ratio='float("nan")')),
]
TOKENS_FOUND = [
    ("computed instead", (_THREE, _EDITED), tokens_found(14, 381, 15, 288)),
    ("blocks", (_THREE, _EDITED), tokens_found(23, 0, 23, 6)),
    ("all of the same prompt", (_THREE,), tokens_found(382, 0, 368, 96)),
    ("a space changes little", (_THREE,), tokens_found(368, 352, 368, 96)),
    ("a space changes all", (_THREE,), tokens_found(368, 0, 0, 96)),
    ("all is lost", (_EDITED,), tokens_found(368, 0, 368, 0)),
    ("one block is lost", (_EDITED,), tokens_found(368, 0, 368, 352)),
    ("up to the token", (_EDITED,), tokens_found(368, 0, 368, 104)),
    ("the edited block too", (_EDITED,), tokens_found(368, 0, 368, 112)),
]
OFFLOAD_PLAN = [
    ("overlapping", (_LINK,), offload_plan("step_ms", 33.2, 160.0, 320.0)),
    ("from both", (_LINK,), offload_plan("step_ms", 33.2, 193.2, 353.2)),
    ("seconds", (_LINK,), offload_plan("step_ms", 0.0332, 0.1885, 0.3439)),
    ("no difference", (_LINK,), offload_plan("step_ms", 33.2, 33.2, 33.2)),
    ("no more room", (_ROOM,), offload_plan("kv_tokens", *[114_558] * 3)),
    ("less room", (_ROOM,), offload_plan("kv_tokens", 114_558, 90_144, 65_729)),
    ("one layer's tokens", (_ROOM,), offload_plan("kv_tokens", 4_582_320, 5_558_880, 6_535_440)),
    ("the box", (_ROOM,), offload_plan("kv_tokens", 112_691, 137_105, 161_519)),
]

MUTANTS = {
    "four_settings": FOUR_SETTINGS,
    "speed_up": SPEED_UP,
    "tokens_found": TOKENS_FOUND,
    "offload_plan": OFFLOAD_PLAN,
}


VARIANTS = {
    "four_settings": {
        "as in the key": four_settings(),
        "rounded, in capitals": four_settings(
            baseline={"leaves_launch_floor_at": 1640, "cached_step": "Launch"},
            smaller={"leaves_launch_floor_at": 5200.0},
            long_prompt={"uncached_pass": "COMPUTE"},
        ),
        "computed": four_settings().replace(
            "524288", 'kit.kv_bytes_per_token(kit.ModelShape.of("meta-llama/Llama-2-7b-hf"))'
        ),
    },
    "speed_up": {
        "as in the key": speed_up(),
        "the file's whole name": speed_up().replace(
            '"record": "cache-cpu"', '"record": "cache-cpu.jsonl"'
        ),
        "by hand": speed_up(
            "(with_cache[-1] - with_cache[-2]) / (lengths[-1] - lengths[-2])",
            "(without[-1] - without[-2]) / (lengths[-1] - lengths[-2])",
            "(without[-1] - without[-2]) / (with_cache[-1] - with_cache[-2])",
        ),
        "rounded": speed_up(
            'round(lab.slopes(*lab.curve(RECORDS["cache-cpu"], "baseline", True))[-1], 5)',
            'round(lab.slopes(*lab.curve(RECORDS["cache-cpu"], "baseline", False))[-1], 4)',
        ),
    },
    "tokens_found": {
        "as in the key": tokens_found(368, 0, 368, 96),
        "floats": tokens_found(368.0, 0.0, 368.0, 96.0),
        "computed from the tokens": """from labkit.zoo.choose import kit_tokenizer

_cut = kit_tokenizer("tiny-target")
_ids = {name: _cut(text)["input_ids"] for name, text in lab.edited_prompts().items()}
tokens_found = {}
for _name, _each in _ids.items():
    _same = [a == b for a, b in zip(_each, _ids["same"])]
    _n = _same.index(False) if False in _same else len(_same)
    tokens_found[_name] = min(_n, len(_each) - 1) // 16 * 16""",
    },
    "offload_plan": {
        "as in the key": f"offload_plan = {PLAN!r}",
        "rounded to three digits": """offload_plan = {
    "nothing": dict(step_ms=33.2, kv_tokens=115_000),
    "4 GB": dict(step_ms=188, kv_tokens=139_000),
    "8 GB": dict(step_ms=344, kv_tokens=163_000),
}""",
        "computed": """from labkit.models.facts import vram_readings

_shape = kit.ModelShape.of("Qwen/Qwen3-14B")
_moved = ModelWork.of("Qwen/Qwen3-14B").moved_bytes(4096, 1, 2)
offload_plan = {
    name: {
        "step_ms": 1e3 * offload_step_s(_moved, n, Roofline.of("L40S").bandwidth, 25e9),
        "kv_tokens": (vram_readings("L40S")["driver"][0] - 2 * _shape.n_params + n) // 163_840,
    }
    for name, n in (("nothing", 0), ("4 GB", 4 * 10**9), ("8 GB", 8 * 10**9))
}""",
    },
}
