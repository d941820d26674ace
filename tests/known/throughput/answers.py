"""Wrong and right values for the answer cells of the lab."""

import re
from copy import deepcopy
from dataclasses import replace
from typing import Any

from autograder.labs.throughput.cases import FAULTY_ENTRIES
from labkit.labs.throughput.checks.record import (
    LIMITS,
    REGIONS,
    ROLES,
    Times,
    recorded,
    seconds_per_layer,
    times_of,
)

RECORD = "throughput-cpu"
_DECODE = "decode_is_explained"
_PREFILL = "prefill_is_explained"
_FORWARD = "forward_passes_are_explained"
_PER_LAYER = "time_per_layer_follows_from_the_record"
_HEADS = "shared_heads_are_read_off_the_config"
_RATE = "throughput_follows_from_each_row"
_PHYSICS = "no_row_is_faster_than_the_machine"
_RISES = "time_rises_with_new_tokens"
_AGAIN = "a_second_measurement_agrees"


def right_limit(region: str, record: str = RECORD) -> str:
    """A limit that is accepted for a region."""
    times = times_of(recorded(record), region)
    return max(LIMITS, key=lambda name: getattr(times, name))


def wrong_limit(region: str, record: str = RECORD) -> str:
    """A limit that is not."""
    accepted = times_of(recorded(record), region).accepted()
    return next(name for name in LIMITS if name not in accepted)


def one_layer(region: str, record: str) -> Times:
    """The times of a region if the launches of one layer were all."""
    times = times_of(recorded(record), region)
    return replace(times, launch=times.launch / times.n_layers)


def which(record: str = RECORD, **changed: Any) -> str:
    """The cell on limits, right but for what is changed."""
    answer = {region: right_limit(region) for region in REGIONS} | changed
    return f"which_limit = { ({'record': record} | answer)!r}"


def in_capitals(cell: str) -> str:
    """The cell on limits with its values in capitals, and the file's whole name."""
    name, _, answer = cell.partition(" = ")
    values = re.sub(r"(?<=: )'[^']*'", lambda found: found[0].upper(), answer)
    return f"{name} = {values}".replace(RECORD.upper(), f"{RECORD}.jsonl")


def three(
    factor: float = 1.0,
    changed: dict | None = None,
    without: Any = ("older",),
    record: str = RECORD,
) -> str:
    """The cell on three models, from the record."""
    per_layer = {
        role: factor * 1e3 * seconds_per_layer(recorded(RECORD), role) for role in ROLES
    } | (changed or {})
    answer = {"record": record, "ms_per_layer": per_layer, "without_shared_kv_heads": without}
    return f"three_models = {answer!r}"


TIMES = {1: 0.037, 4: 0.063, 16: 0.185, 64: 0.511, 256: 2.154}
ON_CPU = {"model": "tiny-target", "machine": "CPU", "dtype": "float32"}
ON_H100 = {"model": "Qwen/Qwen3-8B", "machine": "H100-SXM", "dtype": "bfloat16"}
H100_TIMES = {1: 0.034, 4: 0.125, 16: 0.485, 64: 1.925, 256: 7.685}


def table(
    times: dict[int, float] | None = None,
    *,
    again: tuple = (64, 0.538),
    rates: dict[int, float] | None = None,
    on_h100: bool = False,
    run: dict[str, str] | None = None,
    **changed: Any,
) -> str:
    """The student's table, consistent unless told otherwise."""
    seconds = deepcopy(H100_TIMES if on_h100 else TIMES) | (times or {})
    batch_size = 8 if on_h100 else 4
    rate = {n: round(batch_size * n / t, 3) for n, t in seconds.items()} | (rates or {})
    answer = {
        "run": (ON_H100 if on_h100 else ON_CPU) | (run or {}),
        "batch_size": batch_size,
        "n_input": 64,
        "rows": {f"{n} new": {"time_s": seconds[n], "tokens_per_s": rate[n]} for n in seconds},
        "again": {"n_new": again[0], "time_s": again[1]},
    } | changed
    return f"my_table = {answer!r}"


def without_rows(*lengths: int, **settings: Any) -> str:
    """The table with rows that did not run."""
    text = table(**settings)
    for n in lengths:
        text = re.sub(f"'{n} new': {{[^}}]*}}", f"'{n} new': 'out of memory'", text)
    return text


def report(**changed: str) -> str:
    """The cell on the flawed report."""
    return f"flawed_report = {(FAULTY_ENTRIES | changed)!r}"


LIMIT_CELLS = [
    ("decode of the small model", (_DECODE,),
     which(decode_small_model=wrong_limit(REGIONS[0]))),
    ("decode of the medium model", (_DECODE,),
     which(decode_medium_model=wrong_limit(REGIONS[1]))),
    ("everything is compute", (_DECODE,), which(**dict.fromkeys(REGIONS, "compute"))),
    ("prefill", (_PREFILL,), which(prefill_longest=wrong_limit(REGIONS[2]))),
    ("one text", (_FORWARD,), which(forward_one=wrong_limit(REGIONS[3]))),
    ("sixteen texts", (_FORWARD,), which(forward_sixteen=wrong_limit(REGIONS[4]))),
    ("one layer's launch", (_DECODE, _FORWARD), which("throughput-h200", **{
        region: max(LIMITS, key=lambda name: getattr(one_layer(region, "throughput-h200"), name))
        for region in REGIONS})),
    ("everything is memory", (_DECODE, _PREFILL, _FORWARD),
     which(**dict.fromkeys(REGIONS, "memory"))),
    ("another word", (_PREFILL,), which(prefill_longest="the GPU")),
    ("no such record", (_DECODE, _PREFILL, _FORWARD), which(record="throughput-mine")),
]  # fmt: skip
THREE_CELLS = [
    ("seconds", (_PER_LAYER,), three(1e-3)),
    ("a whole step", (_PER_LAYER,), three(changed={"medium": 12 * 1e3 * seconds_per_layer(
        recorded(RECORD), "medium")})),
    ("per sequence", (_PER_LAYER,), three(1 / 4)),
    ("one model's for another's", (_PER_LAYER,), three(changed={"small": 12.0})),
    ("text in a number field", (_PER_LAYER,), three(changed={"older": "0.83 ms"})),
    ("a model left out", (_HEADS,), three(without=[])),
    ("the medium one", (_HEADS,), three(without=["medium"])),
    ("all three", (_HEADS,), three(without=["small", "medium", "older"])),
    ("the newer one too", (_HEADS,), three(without=["older", "small"])),
]  # fmt: skip
TABLE_CELLS = [
    ("tokens of one sequence", (_RATE,), table(rates={n: n / t for n, t in TIMES.items()})),
    ("the prompt counted", (_RATE,), table(rates={64: 4 * 128 / 0.511})),
    ("one rate copied wrongly", (_RATE,), table(rates={256: 375.0})),
    ("milliseconds in the column of seconds", (_RATE, _AGAIN), table(
        {64: 511.0, 256: 2154.0}, rates={64: 500.98, 256: 475.4})),
    ("faster than the memory moves", (_PHYSICS,), table(
        {n: 0.034 + 0.002 * (n - 1) for n in TIMES}, again=(64, 0.16), on_h100=True)),
    ("a larger model's name on it", (_PHYSICS,), table(
        run=ON_H100 | {"model": "Qwen/Qwen3-32B"})),
    ("weights in 4 bytes on a card", (_PHYSICS,), table(
        run={"model": "allenai/OLMo-7B-0724-hf", "machine": "L40S"})),
    ("a card that may be any, and still too fast", (_PHYSICS,), table(
        {n: 1e-4 * n for n in TIMES}, again=(64, 0.0065),
        run=ON_H100 | {"machine": "another GPU"})),
    ("too few rows that ran", (_RATE, _PHYSICS, _RISES, _AGAIN), without_rows(4, 16, 64)),
    ("no first row", (_RATE, _PHYSICS, _RISES, _AGAIN), without_rows(1)),
    ("a toaster", (_RATE, _PHYSICS, _RISES, _AGAIN), table(run={"machine": "toaster"})),
    ("the same digits again", (_AGAIN,), table({64: 0.51137}, again=(64, 0.51137))),
    ("a long prompt, and steps for nothing", (_RISES,), table(
        {n: 5.2 - n / 1e4 for n in TIMES}, again=(64, 5.1), n_input=1024)),
    ("cold first row", (_RISES,), table({1: 1.84})),
    ("one row of another batch", (_RISES,), table({16: 0.045})),
    ("no time for the steps", (_RISES,), table(
        {4: 0.038, 16: 0.039, 64: 0.042, 256: 0.045}, again=(64, 0.04))),
    ("a second time twice as long", (_AGAIN,), table(again=(64, 1.1))),
    ("a second time of another row", (_AGAIN,), table(again=(256, 0.511))),
    ("two rows alike", (_AGAIN,), table({4: 0.037})),
    ("text in a number field", (_RATE, _PHYSICS, _RISES, _AGAIN), table({16: 0.185}).replace(
        "0.185", "'0.185 s'")),
    ("a row is missing", (_RATE, _PHYSICS, _RISES, _AGAIN), table().replace(
        "'64 new'", "'65 new'")),
    ("a batch of none", (_RATE, _PHYSICS, _RISES, _AGAIN), table(batch_size=0)),
    ("infinitely fast", (_RATE, _PHYSICS, _RISES, _AGAIN), table({16: 0.185}).replace(
        "0.185", "float('inf')")),
]  # fmt: skip
_NAMES = {
    "cold_start": "the_cold_start_is_named",
    "impossible_row": "the_impossible_row_is_named",
    "mean_of_rates": "the_mean_of_rates_is_named",
    "wrong_unit": "the_wrong_unit_is_named",
    "batch_mislabelled": "the_mislabelled_batch_is_named",
    "mha_taken_for_gqa": "the_confused_heads_are_named",
}
REPORT_CELLS = [
    *(
        (f"another entry for {fault}", (name,), report(**{fault: "K"}))
        for fault, name in _NAMES.items()
    ),
    ("two mixed up", (_NAMES["cold_start"], _NAMES["batch_mislabelled"]),
     report(cold_start="L", batch_mislabelled="A")),
    ("one entry for two faults", (_NAMES["wrong_unit"], _NAMES["cold_start"]),
     report(wrong_unit="A")),
    ("one entry for all", tuple(_NAMES.values()), report(**dict.fromkeys(_NAMES, "A"))),
    ("not an entry", tuple(_NAMES.values()), report(cold_start="table 1")),
]  # fmt: skip

MUTANTS = {
    "which_limit": LIMIT_CELLS,
    "three_models": THREE_CELLS,
    "my_table": TABLE_CELLS,
    "flawed_report": REPORT_CELLS,
}


VARIANTS = {
    "which_limit": {
        "computed, in capitals": in_capitals(which()),
        "as it is": which(),
        "with more beside it": which().rstrip("}") + ", 'note': 'measured'}",
    },
    "three_models": {
        "all digits": three(),
        "rounded up a little, a tuple": three(1.02, without=("older",)),
        "one name instead of a list": three(0.98, without="older"),
    },
    "my_table": {
        "another table": table({1: 0.0312, 4: 0.081}, again=(4, 0.1)),
        "a card of the handout": table(on_h100=True, again=(16, 0.5)),
        "whole numbers, a slow machine": table(
            {1: 1, 4: 3, 16: 8, 64: 30, 256: 121}, again=(64, 33)),
        "a card that is not in the table": table(
            on_h100=True, again=(16, 0.5),
            run={"machine": "Another GPU", "model": "Qwen/Qwen3-1.7B"}),
        "a name as the driver has it": table(
            on_h100=True, again=(16, 0.5), run={"machine": "NVIDIA H100 80GB HBM3"}),
        "a dtype that the card emulates": table(
            {n: 0.4 * n for n in (1, 4, 16, 64, 256)}, again=(16, 6.1),
            run={"model": "Qwen/Qwen3-1.7B", "machine": "T4", "dtype": "bfloat16"}),
        "the longest rows did not run": without_rows(64, 256, again=(16, 0.2)),
        "after a long prompt": table(
            {1: 5.21, 4: 5.26, 16: 5.45, 64: 6.31, 256: 9.52}, again=(64, 6.5), n_input=2048),
        "two digits, and the same ones again": table({64: 0.51}, again=(64, 0.51)),
        "noise among the short ones": table({1: 0.070, 4: 0.063}),
    },
    "flawed_report": {
        "as it is": report(),
        "small letters": report().replace("'A'", "'a'").replace("'H'", "'h'"),
        "spaces": report().replace("'Q'", "' Q '"),
    },
}  # fmt: skip
