"""The physics gate: every impossible row is refused with its reason, every honest one passes."""

from dataclasses import replace

import pytest

from labkit.physics import (
    ANY_CPU,
    implausible,
    implausible_series,
    least_time_s,
    machine_of,
    refusals,
)
from labkit.records import Row, recorded_results
from labkit.roofline import decode_floor_s, prefill_floor_s

QWEN = "Qwen/Qwen3-8B"
HONEST = Row("output_sweep", QWEN, 8, 64, 64, True, (1.925, 1.93))


def gate(row, model=QWEN, card="H100-SXM", dtype="bfloat16", **claims):
    return implausible(row, model, card, dtype, **claims)


def test_an_honest_row_passes():
    assert gate(HONEST) == []
    assert gate(HONEST, tokens_per_s=8 * 64 / 1.9275) == []


def test_the_floor_is_that_of_prefill_and_all_steps():
    row = replace(HONEST, n_input=1024)
    floors = prefill_floor_s("H100-SXM", QWEN, 1024, 8, "bfloat16") + sum(
        decode_floor_s("H100-SXM", QWEN, 1024 + i, 8, "bfloat16") for i in range(1, 64)
    )
    least = least_time_s(row, QWEN, "H100-SXM", "bfloat16")
    assert 0.95 * floors < least <= floors


IMPOSSIBLE = [
    ("steps faster than the weights move", {"samples_s": (0.2,)}, {}, "needs at least"),
    ("a prompt faster than it computes", {"n_input": 16_384, "samples_s": (1.9,)}, {}, "needs at"),
    ("one fast sample is enough", {"samples_s": (2.0, 2.0, 0.01)}, {}, "needs at least"),
    ("without a cache all is computed again",
     {"n_input": 4096, "use_cache": False, "samples_s": (4.0,)}, {}, "64 passes"),
    ("milliseconds taken for seconds", {"samples_s": (0.001925,)}, {}, "needs at least"),
    ("a rate that does not follow", {}, {"tokens_per_s": 33.2}, "is not 8 x 64"),
    ("a rate with the prompt in it", {}, {"tokens_per_s": 531.0}, "is not 8 x 64"),
    ("a cache that does not fit", {"batch_size": 64, "n_input": 16_384, "samples_s": (900.0,)},
     {}, "cannot have run"),
    ("out of memory with room to spare", {"samples_s": (), "outcome": "out of memory"}, {},
     "cannot have run out"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "claims", "reason"),
    [case[1:] for case in IMPOSSIBLE],
    ids=[c[0] for c in IMPOSSIBLE],
)
def test_an_impossible_row_is_refused_with_its_reason(change, claims, reason):
    (sentence,) = gate(replace(HONEST, **change), **claims)
    assert reason in sentence
    assert sentence.endswith(".")
    assert any(letter.isdigit() for letter in sentence)


def test_a_model_that_fits_no_card_did_not_run():
    row = Row("output_sweep", "Qwen/Qwen3-32B", 1, 1, 1, True, (9.0,))
    assert "cannot have run" in gate(row, "Qwen/Qwen3-32B", "L40S")[0]


PLAUSIBLE = [
    ("out of memory where logits of all positions fill the card",
     {"n_input": 32_768, "samples_s": (), "outcome": "out of memory"}),
    ("a large batch", {"batch_size": 32, "n_input": 1024, "samples_s": (3.6,)}),
    ("one token", {"n_new": 1, "samples_s": (0.034,)}),
    ("a forward pass", {"n_new": 0, "samples_s": (0.034,)}),
    ("skipped", {"samples_s": (), "outcome": "skipped"}),
]  # fmt: skip


@pytest.mark.parametrize("change", [case[1] for case in PLAUSIBLE], ids=[c[0] for c in PLAUSIBLE])
def test_an_honest_row_passes_whatever_it_is(change):
    assert gate(replace(HONEST, **change)) == []


def test_a_tiny_model_may_be_faster_than_memory_since_it_fits_into_a_cache():
    row = Row("output_sweep", "tiny-target", 1, 1, 256, True, (0.15,))
    assert implausible(row, "tiny-target", ANY_CPU, "float32") == []
    assert implausible(row, "tiny-target", "H100-SXM", "bfloat16") == []


def test_more_tokens_in_less_time_are_refused_beyond_noise():
    rows = [replace(HONEST, n_new=n, samples_s=(t, 1.05 * t)) for n, t in ((1, 1.0), (4, 0.9))]
    assert implausible_series(rows) == []
    rows[1] = replace(rows[1], samples_s=(0.3, 0.31))
    (sentence,) = implausible_series(rows)
    assert "4 new tokens in 0.305 s" in sentence
    assert implausible_series([replace(rows[0], samples_s=(1.0, 0.2)), rows[1]]) == []


def test_rows_of_another_setting_are_no_series():
    other = replace(HONEST, n_new=128, samples_s=(0.7,), n_input=1)
    assert implausible_series([HONEST, other]) == []


@pytest.mark.parametrize("name", recorded_results())
def test_no_false_alarm_over_the_recorded_results(name):
    record = recorded_results()[name]
    if not record.of("roofline"):
        pytest.skip("a record without a roofline says nothing about its machine")
    machine, _ = machine_of(record)
    assert machine.bandwidth > 0
    assert refusals(record) == []


def report_rows():
    """The timed rows of the flawed report by entry: claimed time and rate, with what was run."""
    from labkit.facts import data_path

    found, heading = {}, ""
    for line in data_path("flawed_report.md").read_text(encoding="utf-8").splitlines():
        heading = line if line.startswith("**Table") else heading
        cells = [cell.strip().replace(",", "") for cell in line.strip("|").split("|")]
        if len(cells) == 4 and len(cells[0]) == 1:
            entry, what, seconds, rate = cells
            model = {"OLMo-7B": "allenai/OLMo-7B-0724-hf"}.get(what, f"Qwen/{what}")
            number = int(what) if what.isdigit() else 64
            n_input, n_new = (64, number) if "Table 1" in heading else (number, 64)
            name = model if "Table 3" in heading else QWEN
            row = Row(heading[2:9], name, 8, n_input, n_new, True, (float(seconds),))
            found[entry] = (row, float(rate))
    return found


def test_the_flawed_report_has_just_the_impossible_rows_that_it_should_have():
    rows = report_rows()
    assert len(rows) == 12
    refused = {
        entry: gate(row, row.model, tokens_per_s=rate) for entry, (row, rate) in rows.items()
    }
    assert {entry for entry, reasons in refused.items() if reasons} == {"H", "L"}
    assert "needs at least" in refused["H"][0]
    assert "is not 8 x 64" in refused["L"][0]
    cold = implausible_series([row for row, _ in rows.values()])
    assert len(cold) == 1
    assert "4 new tokens" in cold[0]
