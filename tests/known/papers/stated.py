"""Where each number of the questions comes from: by item, what a paper or a record gives, and more.

`PAPERS` has what the named paper prints; `RECORDS` reads the record; `CHOSEN` are numbers of our
own, such as an example; `DERIVED` is computed from these, beside what the audits' tests compute.
"""

from collections.abc import Callable
from math import ceil

from autograder.labs.papers.attention import moved_by_first, moved_by_standard
from autograder.labs.papers.numbers import tokens_per_step
from labkit.measuring.records import Row, read_record
from labkit.models.facts import data_path
from tests.known.papers.newer import DISTSERVE, EAGLE, MOONCAKE, SARATHI

Numbers = list[float]
GAMMAS = (1, 2, 3, 5, 7, 10)


def found(record: str, experiment: str) -> dict[tuple[str, bool], Row]:
    """The rows of an experiment by setting and cache."""
    rows = read_record(data_path("results") / f"{record}.jsonl").of(experiment)
    return {(row.setting, row.use_cache): row for row in rows}


def regimes() -> dict[str, Row]:
    """The rows of lab 6's two kinds of prompts, by setting."""
    return {setting: row for (setting, _), row in found("regimes-cpu", "regimes").items()}


def of_two_prompts() -> Numbers:
    rows, numbers = regimes(), []
    for kind in ("simple", "normal"):
        alone = rows[f"alone, {kind}, 64 new"]
        row = rows[f"gamma 3, {kind}, 64 new, n-gram"]
        n_passes = row.counts["blocks"] / row.counts["runs"]
        numbers += [row.n_input, alone.time_s, row.time_s, row.counts["prefill_s"], n_passes]
        numbers += [row.counts["accepted"] / row.counts["examined"], alone.n_new]
        numbers.append(1e3 * (row.time_s - row.counts["prefill_s"]) / n_passes)
    return numbers


def of_two_drafts() -> Numbers:
    rows = regimes()
    counts = rows["gamma 10, simple, 64 new, model"].counts
    return [counts["draft_step_s"] / rows["alone, simple, 64 new"].counts["target_step_s"]] + [
        rows[f"alone, {kind}, 64 new"].time_s
        / rows[f"gamma {gamma}, {kind}, 64 new, {draft}"].time_s
        for kind in ("simple", "normal")
        for draft in ("model", "n-gram")
        for gamma in GAMMAS
    ]


def of_a_slow_pair() -> Numbers:
    rows = regimes()
    row, counts = (slow := rows["gamma 10, simple, 64 new, model"]), slow.counts
    n_blocks = counts["blocks"] / counts["runs"]
    peak = found("regimes-cpu", "roofline")["", False].counts["float32"]
    return [
        1e3 * rows["alone, simple, 64 new"].counts["target_step_s"],
        1e3 * counts["target_step_s"],
        1e3 * counts["draft_step_s"],
        counts["drafted"] / counts["blocks"],
        1e3 * (row.time_s - counts["prefill_s"]) / n_blocks,
        row.n_new / n_blocks,
        counts["accepted"] / counts["examined"],
        round(peak / 1e6, -4),  # a million a second, and in units of 10^8
        round(peak / 1e8, -2),
    ]


def of_rounds() -> Numbers:
    rows = found("cache-h100", "multi_turn").values()
    counts = [row.counts[name] for row in rows for name in ("prompt_tokens", "prefill_tokens")]
    return [*counts, *(1e3 * row.time_s for row in rows)]


def of_edits() -> Numbers:
    rows = [found("cache-h100", "invalidation")[edit, True]
            for edit in ("same", "space before", "space after")]  # fmt: skip
    return [n for row in rows for n in row.counts.values()]


def of_offloading() -> Numbers:
    rows = [found("cache-h100", "offload")[setting, True] for setting in ("none", "half", "all")]
    sizes = [row.counts["offloaded_bytes"] / 1e9 for row in rows]
    links = [row.counts["link_bandwidth"] / 1e9 for row in rows]
    return [*sizes, *links, *(1e3 * row.time_s / row.n_new for row in rows)]


PAPERS: dict[str, Numbers] = {
    "q02": [0.2, 0.53, 0.82],
    "q03": [2.01, 1.92],
    "q05": [68, 70, 85, 89, 52, 57, 96, 97],
    "q07": [66.6, 75.2, 40.3, 4.4, 41.7, 7.3],
    "q09": [989, 3.9, 2024],
    "q17": [8.1, 320],
    "deepseek_v3": [0.85, 0.90, 1.8, 36.7, 2.4, 512, 64, 61, 128],
    "distserve": [7.4, 90, *DISTSERVE, *(share for row in DISTSERVE.values() for share in row)],
    "eagle_3": [n for row in EAGLE.values() for n in row] + [158.34, 373.25, 64, 1.38],
    "flash_attention_4": [128, 768, 1024, 2560, 3328, 8192, 1613, 2250, 16, 10, 25, 740, 989],
    "in_general": [0.2, 7.3, 41.7, 989, 3.9],
    "mooncake": [n for row in MOONCAKE.values() for n in row]
    + [40, 80, 128, 200, 400, 498, 157, 59, 0.1, 0.2, 0.3],
    "sarathi_serve": [n for row in SARATHI.values() for n in row] + [99, 1024, 7059],
}
RECORDS: dict[str, Callable[[], Numbers]] = {
    "q13": of_two_prompts,
    "q14": of_two_drafts,
    "q15": of_a_slow_pair,
    "q18": of_rounds,
    "q19": of_edits,
    "q20": of_offloading,
}
CHOSEN: dict[str, Numbers] = {
    "q13": [64, 0.9, 0.5, 100],
    "q14": [64, 0.7, *GAMMAS],
    "q15": [10, 0.6, 60],  # γ, and a step's million operations
    "q16": [1024, 64, 250],
    "q17": [2048, 64, 64_000, 250, 0.85],
    "q18": [3.2, 16, 10, 12],
    "q19": [16],
    "q20": [10, 16],
    "deepseek_v3": [1000, 0.9],
    "flash_attention_4": [64, 10, 12],
    "in_general": [10, 12, 0.2, 0.8, 8192, 0.3, 0.6],
    "mooncake": [131_072, 10],
    "the_ratio": [1.0, 0.4, 0.3, 0.2, 0.1, 0.5],
}
DERIVED: dict[str, Numbers] = {
    "q02": [tokens_per_step(0.2, 3)],
    "q07": [1e3 * 40.3 / 41.7],
    "q08": [64 * 16, 1024, 100, 4.4, 384],  # heads, the length of GPT-2, percent
    "q09": [4 * 32, 8 * 32],  # threads of four warps, and of eight
    "q13": [71 - 15, 5 * 64, 285 - 212, 0.9**4, 0.5**4, 0.15 - 0.08, 3.24 - 2.44],
    "q14": [24, 5.44, 7.18, 4.56],  # sums of rows: the means are computed from the entries
    "q15": [21.6 - 15.5, 15.5 + 9.5 * 0.39, 0.71],
    "q16": [2 * 64 + 2, 3 * 1024 * 64, 2 * 1024**2],
    "q17": [
        1.90, 2.46, 1.16, 16_384, ceil(2048 / 64), 32 / 9,
        *(round(n / 1e5) / share for share in (10, 0.1) for n in (
            moved_by_first(2048, 64, 250).total, moved_by_first(2048, 64, 64).total,
            moved_by_standard(2048, 64).total,
        )),
    ],
    "q18": [5790 + 5823 + 5853, 32],  # also the parameters in units of 10^8
    "q20": [0.115],
    "deepseek_v3": [512 + 64, 1 + 0.85, 2 * 128 * 128 / 576, 100 * 0.85 / 1.85],
    "distserve": [97.0 / 100, 23.6 / 100, 0.5, 52.8 - 51.0],
    "flash_attention_4": [740 / 989, 512],
    "in_general": [41.7 / 7.3],
    "mooncake": [498 / 100, 87 / 100, 190 / 400, 131_072 * 327_680 / 1e9],
}  # fmt: skip
