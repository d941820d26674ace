"""The physics gate: every impossible row is refused with its reason, every honest one passes."""

from dataclasses import replace

import pytest
from instances import each_nth

from labkit.measuring.bounds import ANY_CPU, bound_of, machine_of, roofline_of
from labkit.measuring.physics import implausible, least_time_s, refusals
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import Record, RecordError, Row, recorded_results
from labkit.measuring.roofline import BYTES, Roofline, pass_floor
from labkit.measuring.series import implausible_series

QWEN = "Qwen/Qwen3-8B"
HONEST = Row("output_sweep", QWEN, 8, 64, 64, True, (1.925, 1.93))
LOST = {"samples_s": (), "outcome": "out of memory"}
GB = 10**9


def record_of(*rows, card="H100-SXM", dtype="bfloat16", n_threads=56, **counts):
    """A record of these rows on a card of the table, or on a processor if there is none."""
    device = "NVIDIA" if card else "a processor"
    here = replace(Provenance.here(CPU, "labkit measure"), device=device, dtype=dtype)
    here = replace(here, driver="580" if card else "", n_threads=n_threads)
    counts = {"bandwidth": 3e12, "peak": 7e14, **counts}
    kind = "cuda" if card else "cpu"
    machine = Row("roofline", kind, 1, 0, 0, False, outcome="counted", note=card, counts=counts)
    return Record(here, (machine, *rows))


def gate(row, model=QWEN, card="H100-SXM", dtype="bfloat16", **memory):
    return implausible(row, model, card, dtype, **memory)


def test_an_honest_row_passes():
    assert gate(HONEST) == []


def test_the_floor_is_that_of_prefill_and_all_steps():
    row = replace(HONEST, n_input=1024)
    passes = [(1024, 0), *((1, 1024 + i) for i in range(63))]
    floors = sum(
        pass_floor("H100-SXM", QWEN, n_new, n_cached, 8, "bfloat16").seconds
        for n_new, n_cached in passes
    )
    least = least_time_s(row, QWEN, "H100-SXM", "bfloat16")
    assert 0.95 * floors < least <= floors


IMPOSSIBLE = [
    ("steps faster than the weights move", {"samples_s": (0.2,)}, "needs at least"),
    ("a prompt faster than it computes", {"n_input": 16_384, "samples_s": (1.9,)}, "needs at"),
    ("one fast sample is enough", {"samples_s": (2.0, 2.0, 0.01)}, "needs at least"),
    ("without a cache all is computed again",
     {"n_input": 4096, "use_cache": False, "samples_s": (4.0,)}, "64 passes"),
    ("milliseconds taken for seconds", {"samples_s": (0.001925,)}, "needs at least"),
    ("a cache that does not fit", {"batch_size": 64, "n_input": 16_384, "samples_s": (900.0,)},
     "cannot have run"),
    ("out of memory with room to spare", LOST, "cannot have run out"),
    ("more memory than there is", {"peak_bytes": 120 * GB}, "but the machine has 85.5 GB"),
    ("less memory than the weights take", {"peak_bytes": 8 * GB}, "less than the weights"),
    ("a clock that did not wait", {"events_s": (1.925, 2.5)}, "before the device was done"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"), [case[1:] for case in IMPOSSIBLE], ids=[case[0] for case in IMPOSSIBLE]
)
def test_an_impossible_row_is_refused_with_its_reason(change, reason):
    (sentence,) = gate(replace(HONEST, **change))
    assert reason in sentence
    assert sentence.endswith(".")
    assert any(letter.isdigit() for letter in sentence)


def test_a_model_that_fits_no_card_did_not_run():
    row = Row("output_sweep", "Qwen/Qwen3-32B", 1, 1, 1, True, (9.0,))
    assert "cannot have run" in gate(row, "Qwen/Qwen3-32B", "L40S")[0]


PLAUSIBLE = [
    ("out of memory where logits of all positions fill the card", LOST | {"n_input": 32_768}),
    ("out of memory where one text's scores fill the card",
     LOST | {"n_input": 24_576, "batch_size": 1}),
    ("weights and a little more", {"peak_bytes": 16_504_815_616}),
    ("events as slow as the clock", {"events_s": (1.925, 1.9301)}),
    ("a device that waits for its host", {"events_s": (0.4, 0.4)}),
    ("a large batch", {"batch_size": 32, "n_input": 1024, "samples_s": (3.6,)}),
    ("one token", {"n_new": 1, "samples_s": (0.034,)}),
    ("a forward pass", {"n_new": 0, "samples_s": (0.034,)}),
    ("skipped", {"samples_s": (), "outcome": "skipped"}),
]  # fmt: skip


@pytest.mark.parametrize("change", [case[1] for case in PLAUSIBLE], ids=[c[0] for c in PLAUSIBLE])
def test_an_honest_row_passes_whatever_it_is(change):
    assert gate(replace(HONEST, **change)) == []


def test_out_of_memory_by_eager_attention_is_no_alarm_on_the_largest_card():
    row = Row(
        "input_sweep", "meta-llama/Llama-2-7b-hf", 1, 24_576, 64, True, outcome=LOST["outcome"]
    )
    assert gate(row, row.model, "H200-SXM") == []
    assert "cannot have run out" in gate(replace(row, n_input=1024), row.model, "H200-SXM")[0]


def test_float32_may_go_through_tf32_where_the_card_has_it():
    row = Row("input_sweep", "Qwen/Qwen3-4B", 8, 4096, 1, True, (4.0,))
    assert gate(row, row.model, "A100-SXM-80GB", "float32") == []
    for seconds, card in ((1.0, "A100-SXM-80GB"), (4.0, "T4")):
        fast = replace(row, samples_s=(seconds,))
        assert "needs at least" in gate(fast, row.model, card, "float32", memory_bytes=90 * GB)[0]
    assert bound_of(Roofline.of("A100-SXM-80GB")).peak("float32") == 156e12
    assert bound_of(Roofline.of("T4")).peak("float32") == 8.1e12
    assert bound_of(ANY_CPU) is ANY_CPU


def test_sixteen_bits_on_a_processor_with_matrix_units_are_no_alarm():
    row = Row("input_sweep", "Qwen/Qwen3-1.7B", 8, 1024, 1, True, (1.2,))
    for dtype in BYTES:
        assert refusals(record_of(row, card="", dtype=dtype)) == []
        assert gate(row, row.model, ANY_CPU, dtype) == []
    (sentence,) = refusals(record_of(row, card="", n_threads=1))
    assert "any CPU needs at least" in sentence


def test_offloaded_weights_need_no_room_on_the_card():
    counts = {"offloaded_bytes": 60e9, "link_bandwidth": 50e9}
    row = Row("offload", "Qwen/Qwen3-32B", 1, 1, 16, True, (20.0,), counts=counts)
    assert refusals(record_of(row, card="L40S")) == []
    assert refusals(record_of(replace(row, peak_bytes=8 * GB), card="L40S")) == []
    assert "less than" in refusals(record_of(replace(row, peak_bytes=4 * GB), card="L40S"))[0]
    assert "cannot have run" in refusals(record_of(replace(row, counts={}), card="L40S"))[0]


def test_a_window_bounds_the_cache_that_must_fit():
    row = Row("input_sweep", "google/gemma-3-1b-it", 20, 32_768, 64, True, (60.0,))
    assert gate(row, row.model, "T4", "float16") == []
    assert "cannot have run" in gate(replace(row, batch_size=200), row.model, "T4", "float16")[-1]


def test_an_emulated_dtype_is_slow_and_no_alarm():
    row = Row("input_sweep", "Qwen/Qwen3-0.6B", 1, 64, 64, True, (9.0,))
    assert refusals(record_of(row, card="T4")) == []
    fast = replace(row, samples_s=(0.01,))
    assert "needs at least" in refusals(record_of(fast, card="T4"))[0]
    with pytest.raises(ValueError, match="no hardware"):  # a table that names the pair
        gate(row, row.model, "T4")


def test_a_model_without_facts_has_no_floors_but_clocks_and_a_series():
    short = Row("output_sweep", "my/model", 1, 64, 4, True, (1.0,), events_s=(1.0,))
    long = replace(short, n_new=64, samples_s=(1e-6,), events_s=())
    assert refusals(record_of(short, replace(long, samples_s=(2.0,)))) == []
    assert "cannot take less than 4" in refusals(record_of(short, long))[0]
    slow = replace(short, events_s=(3.0,), peak_bytes=90 * GB)
    memory, clocks = refusals(record_of(slow, memory_bytes=85e9))
    assert memory.startswith(
        "output_sweep, my/model, batch 1, 64 in, 4 new: its peak memory is 90.0 GB"
    )
    assert "CUDA events" in clocks


def test_a_dtype_without_facts_raises_nothing():
    assert refusals(record_of(HONEST, dtype="int8")) == []


def test_the_roofline_to_judge_by_is_the_data_sheet_and_that_to_predict_by_is_measured():
    record = record_of(card="H200-SXM", memory_bytes=150e9)
    assert machine_of(record) == (Roofline.of("H200-SXM"), 150 * GB)
    assert (roofline_of(record).bandwidth, roofline_of(record).peak("bfloat16")) == (3e12, 7e14)
    record = record_of(card="", dtype="float32", float32=6e14)
    assert machine_of(record) == (roofline_of(record), None)
    assert roofline_of(record).peaks == {"float32": 6e14}


@pytest.mark.parametrize("missing", ["peak", "bandwidth"])
def test_a_roofline_that_does_not_say_enough_is_named(missing):
    record = record_of(card="")
    (row,) = record.rows
    counts = {name: value for name, value in row.counts.items() if name != missing}
    record = replace(record, rows=(replace(row, counts=counts),))
    for read in (machine_of, roofline_of):
        with pytest.raises(RecordError, match=f"roofline has no {missing}"):
            read(record)
        with pytest.raises(ValueError, match="measure it first"):
            read(replace(record, rows=()))


def test_a_tiny_model_may_be_faster_than_memory_since_it_fits_into_a_cache():
    row = Row("output_sweep", "tiny-target", 1, 1, 256, True, (0.15,))
    assert implausible(row, "tiny-target", ANY_CPU, "float32") == []
    assert implausible(row, "tiny-target", "H100-SXM", "bfloat16") == []


DISTURBED = {  # records to be measured again, and what is known to be wrong in them
    "batched-cpu": "tokens/s for 1.",
}


@pytest.mark.parametrize("name", each_nth(recorded_results(), 3))
def test_no_false_alarm_over_the_recorded_results(name):
    record = recorded_results()[name]
    if not record.of("roofline"):
        pytest.skip("a record without a roofline says nothing about its machine")
    machine, _ = machine_of(record)
    assert machine.bandwidth > 0
    known = DISTURBED.get(name)
    found = [sentence for sentence in refusals(record) if not known or known not in sentence]
    assert found == []


def test_milliseconds_taken_for_seconds_are_found_on_a_processor_too():
    record = recorded_results()["throughput-cpu"]
    rows = [replace(row, samples_s=tuple(s / 1e3 for s in row.samples_s)) for row in record.rows]
    assert len(refusals(replace(record, rows=tuple(rows)))) > len(rows) / 2


def report_rows():
    """The timed rows of the flawed report by entry: claimed time and rate, with what was run."""
    from labkit.models.facts import data_path

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
    reasons = {entry: gate(row, row.model) for entry, (row, _) in rows.items()}
    assert {entry for entry, found in reasons.items() if found} == {"H"}
    assert "needs at least" in reasons["H"][0]
    rates = {entry: row.n_new * row.batch_size / row.time_s for entry, (row, _) in rows.items()}
    wrong = {
        entry for entry, (_, rate) in rows.items() if rate != pytest.approx(rates[entry], rel=0.02)
    }
    assert wrong == {"L"}
    series = implausible_series([row for row, _ in rows.values()])
    cold = [sentence for sentence in series if "new tokens in" in sentence]
    assert [sentence.split(" new: ")[0].split()[-1] for sentence in cold] == ["4", "16"]
    assert all("less than 1 in 1.84 s" in sentence for sentence in cold)
    (other,) = set(series) - set(cold)
    assert "4096 prompt tokens in 0.21 s cannot take less than 1024" in other
