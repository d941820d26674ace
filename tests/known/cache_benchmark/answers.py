"""Wrong and right values for the answer cells of the lab."""

from typing import Any

_HEADS = "cache_bytes_follow_the_kv_heads"
_LENGTH = "each_model_leaves_the_floor_at_its_length"
_LIMIT = "the_limit_of_each_pass_is_its_longest_time"
_SLOPES = "slopes_are_those_of_the_record"
_RATIO = "speed_up_is_a_ratio_of_slopes"
_THREE = "hits_of_the_three_runs_are_those_counted"
_EDITED = "the_edited_block_and_all_after_it_are_lost"
_FETCH = "the_fetch_is_bytes_over_the_link"
_EVEN = "at_break_even_both_take_as_long"
_DOLLARS = "dollars_follow_from_what_is_found"
_PAYS = "caching_pays_from_its_first_saving_use"
_PREDICTED = "the_prediction_is_that_of_the_record"
_MEASURED = "the_measured_length_is_the_first_longer_one"
_FACTOR = "a_factor_on_the_floor_moves_the_prediction"
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


def tiers(**changed: float) -> str:
    """The cell on tiers; `changed` by entry."""
    numbers = {
        "kv_MB": 660.7,
        "fetch_ms": 12.2,
        "break_even_GB_per_s": 7.35,
        "tokens_for_4_GB": 24_414,
    }
    return f"tiers = {numbers | changed!r}"


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


def bill(**changed: float) -> str:
    """The cell on the bill; `changed` by entry."""
    numbers = {"before": 13.125, "after": 1.625, "no_cache": 10.5, "pays_from_use": 2}
    return f"bill = {numbers | changed!r}"


BILL = [
    ("all is found", (_DOLLARS,), bill(before=1.625)),
    ("before is fresh", (_DOLLARS,), bill(before=10.5)),
    ("nothing is found", (_DOLLARS,), bill(after=13.125)),
    ("what is new is free", (_DOLLARS,), bill(after=1.0)),
    ("written without a cache", (_DOLLARS,), bill(no_cache=13.125)),
    ("one request", (_DOLLARS,), bill(before=0.013125, after=0.001625, no_cache=0.0105)),
    ("cents", (_DOLLARS,), bill(before=1312.5, after=162.5, no_cache=1050)),
    ("not per million", (_DOLLARS,), bill(no_cache=10_500.0)),
    ("the first use", (_PAYS,), bill(pays_from_use=1)),
    ("the third use", (_PAYS,), bill(pays_from_use=3)),
]


def crossing(**changed: Any) -> str:
    """The cell on the crossing; `changed` by entry."""
    numbers = {
        "record": "cache-cpu",
        "predicted": 25,
        "measured": 9.5,
        "factor": 1.34,
        "with_factor": 19,
    }
    return f"crossing = {numbers | changed!r}"


CROSSING = [
    ("for the H100", (_PREDICTED,), crossing(predicted=1166)),
    ("where it was measured", (_PREDICTED,), crossing(predicted=9.5)),
    ("the longest", (_MEASURED,), crossing(measured=390.5)),
    ("one token", (_MEASURED,), crossing(measured=1)),
    ("none", (_MEASURED,), crossing(measured=None)),
    ("upside down", (_FACTOR,), crossing(factor=0.748)),
    ("without the factor", (_FACTOR,), crossing(with_factor=25)),
    ("longer by the factor", (_FACTOR,), crossing(with_factor=34)),
]
TIERS = [
    ("bytes", (_FETCH,), tiers(kv_MB=660_717_568)),
    ("MiB", (_FETCH,), tiers(kv_MB=630.1)),
    ("gigabytes", (_FETCH,), tiers(kv_MB=0.6607)),
    ("one layer", (_FETCH,), tiers(kv_MB=23.6)),
    ("keys alone", (_FETCH,), tiers(kv_MB=330.4)),
    ("seconds", (_FETCH,), tiers(fetch_ms=0.0122)),
    ("another link", (_FETCH,), tiers(fetch_ms=26.4)),
    ("bytes per second", (_EVEN,), tiers(break_even_GB_per_s=7.35e9)),
    ("megabytes per second", (_EVEN,), tiers(break_even_GB_per_s=7350)),
    ("the link", (_EVEN,), tiers(break_even_GB_per_s=54)),
    ("by the floor", (_EVEN,), tiers(break_even_GB_per_s=17.1)),
    ("tokens of one layer", (_ROOM,), tiers(tokens_for_4_GB=976_562)),
    ("keys without values", (_ROOM,), tiers(tokens_for_4_GB=48_828)),
    ("GiB", (_ROOM,), tiers(tokens_for_4_GB=26_214)),
]


MUTANTS = {
    "four_settings": FOUR_SETTINGS,
    "speed_up": SPEED_UP,
    "tokens_found": TOKENS_FOUND,
    "crossing": CROSSING,
    "tiers": TIERS,
    "bill": BILL,
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
    "crossing": {
        "as in the key": crossing(),
        "on the H100": crossing(
            record="cache-h100", predicted=1166, measured=1166, factor=1.314, with_factor=892
        ),
        "computed": """_record = RECORDS["cache-cpu"]
_machine, _work = kit.roofline_of(_record), ModelWork.of("tiny-target")
_launch, _passes = lab.launch_s(_record, "baseline"), lab.passes(_record)
_floor = pass_floor(_machine, _work, int(_passes[-1][0]), dtype="float32")
_factor = _passes[-1][1] / _floor.seconds
crossing = dict(
    record="cache-cpu.jsonl",
    predicted=leaves_launch_floor_at(_machine, _work, _launch, 1000, "float32"),
    measured=min(n for n, time_s in _passes if time_s > 1.5 * _launch),
    factor=_factor,
    with_factor=leaves_launch_floor_at(_machine, _work, _launch / _factor, 1000, "float32"),
)""",
    },
    "tiers": {
        "as in the key": tiers(),
        "computed": """_bytes = 5761 * kit.kv_bytes_per_token(
    kit.ModelShape.of("meta-llama/Llama-3.2-3B-Instruct")
)
tiers = dict(
    kv_MB=_bytes / 1e6,
    fetch_ms=_bytes / 54e6,
    break_even_GB_per_s=_bytes / RECORDS["cache-h100"].of("multi_turn")[0].time_s / 1e9,
    tokens_for_4_GB=4 * 10**9 // kit.kv_bytes_per_token(kit.ModelShape.of("Qwen/Qwen3-14B")),
)""",
        "rounded": tiers(kv_MB=661, fetch_ms=12.2, break_even_GB_per_s=7.4, tokens_for_4_GB=24_400),
    },
    "bill": {
        "as in the key": bill(),
        "rounded": bill(before=13.13, after=1.63),
        "computed": """_price = lab.prompt_prices()["Claude Opus 5"]
bill = {
    "before": 2100 * 1000 * _price["written"] / 1e6,
    "after": (2000 * _price["read"] + 100 * _price["written"]) * 1000 / 1e6,
    "no_cache": 2.1 * _price["fresh"],
    "pays_from_use": 2,
}""",
    },
}
