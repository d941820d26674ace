"""Rules for whole sweeps: what no machine can do is found, an honest sweep passes."""

from dataclasses import replace

import pytest

from labkit.measuring.bounds import bound_of
from labkit.measuring.records import Row, recorded_results
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.measuring.series import implausible_series, too_short_for_the_prompt

QWEN = "Qwen/Qwen3-8B"
HONEST = Row("output_sweep", QWEN, 8, 64, 64, True, (1.925, 1.93))


def sweep(name, times_s):
    """Rows like the honest one, by the size that differs."""
    return [replace(HONEST, **{name: n}, samples_s=(time_s,)) for n, time_s in times_s.items()]


def test_more_tokens_in_less_time_are_refused_beyond_noise():
    rows = [replace(HONEST, n_new=n, samples_s=(t, 1.05 * t)) for n, t in ((1, 1.0), (4, 0.9))]
    assert implausible_series(rows) == []
    rows[1] = replace(rows[1], samples_s=(0.3, 0.31))
    (sentence,) = implausible_series(rows)
    assert "output_sweep, Qwen/Qwen3-8B, batch 8, 64 in, 4 new: " in sentence
    assert "4 new tokens in 0.305 s" in sentence
    assert implausible_series([replace(rows[0], samples_s=(1.0, 0.2)), rows[1]]) == []


def test_a_longer_prompt_in_less_time_is_refused_too():
    (sentence,) = implausible_series(sweep("n_input", {64: 2.0, 512: 1.0}))
    assert "512 prompt tokens in 1 s cannot take less than 64 in 2 s" in sentence


def test_times_that_fall_little_by_little_are_no_series_either():
    rows = sweep(
        "n_new", dict(zip((1, 4, 16, 64, 256), (1.0, 0.81, 0.66, 0.54, 0.44), strict=True))
    )
    found = implausible_series(rows)
    assert len(found) == 3
    assert all("less than 1 in 1 s" in sentence for sentence in found)
    assert implausible_series(rows[:2]) == []


def test_rows_of_another_setting_are_no_series():
    other = replace(HONEST, n_new=128, samples_s=(0.7,), n_input=1)
    assert implausible_series([HONEST, other]) == []


@pytest.mark.parametrize(
    ("times_s", "n_found"), [((1.0, 1.1), 0), ((1.0, 0.9), 0), ((1.0, 0.7), 1)]
)
def test_throughput_grows_at_most_as_the_batch_does(times_s, n_found):
    """A batch of 2 with half the tokens each: at best half the time, as for half the steps."""
    first, second = times_s
    rows = [
        replace(HONEST, batch_size=1, n_new=1000, samples_s=(first,)),
        replace(HONEST, batch_size=2, n_new=500, samples_s=(second / 2,)),
    ]
    found = implausible_series(rows)
    assert len(found) == n_found
    assert all("more than 2 times the 1000 tokens/s for 1" in sentence for sentence in found)


def test_longer_runs_of_larger_batches_are_no_measure_for_shorter_ones():
    """They spread their prefill over more tokens."""
    rows = [
        replace(HONEST, batch_size=1, n_new=1, samples_s=(1.0,)),
        replace(HONEST, batch_size=2, n_new=100, samples_s=(2.0,)),
    ]
    assert implausible_series(rows) == []


def test_a_line_that_begins_below_zero_is_refused():
    honest = {n: 0.06 + 0.033 * (n - 1) for n in (1, 4, 16, 64, 128)}
    assert implausible_series(sweep("n_new", honest)) == []
    (sentence,) = implausible_series(sweep("n_new", honest | {256: 10.57}))
    assert "256 new: with it, the line through 6 lengths gives a prefill of -" in sentence
    assert implausible_series(sweep("n_new", {64: 2.1, 256: 10.57})) == []  # too few lengths


def test_steps_that_grow_with_the_cache_are_no_alarm():
    grows = {n: 0.006 * n + 2e-6 * n * n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)}
    assert implausible_series(sweep("n_new", grows)) == []


HOMEWORK = {  # an input sweep that was handed in: seconds by tokens in, Qwen3-8B, A100-80GB
    **dict.fromkeys((1, 4, 16, 64, 256), 2.41),
    1024: 2.4505,
    4096: 2.7188,
}


def too_short(times_s):
    card = bound_of(Roofline.of("A100-SXM-80GB"))
    rows = sweep("n_input", times_s)
    return too_short_for_the_prompt(rows, ModelWork.of(QWEN), card, "bfloat16")


def test_the_input_sweep_of_a_homework_is_refused_from_1024_tokens_on():
    """Its two longest rows are not in our hands; with the same extra per token they fall too."""
    extra_s = (2.7188 - 2.41) / 4096
    times_s = HOMEWORK | {n: 2.41 + extra_s * n for n in (16_384, 32_768)}
    found = too_short(times_s)
    assert [sentence.split(" in, ")[0].rsplit(" ")[-1] for sentence in found] == [
        "1024", "4096", "16384", "32768",
    ]  # fmt: skip
    assert "took 0.0405 s more than" in found[0]
    assert "0.373 s at least on A100-SXM-80GB" in found[0]
    assert implausible_series(sweep("n_input", HOMEWORK)) == []  # no other rule finds it


def test_prompts_that_take_what_they_must_pass():
    work, card = ModelWork.of(QWEN), Roofline.of("A100-SXM-80GB")
    for share in (1.0, 0.7):  # of the card's peak
        times_s = {
            n: 2.41 + pass_floor(card, work, n, 0, 8, "bfloat16").computing_s / share
            for n in HOMEWORK
        }
        assert too_short(times_s) == []


def test_one_slow_sample_of_a_short_prompt_refuses_no_long_one():
    record = recorded_results()["throughput-h200"]
    rows = [row for row in record.of("input_sweep") if row.n_input >= 256]
    rows[0] = replace(rows[0], samples_s=(*rows[0].samples_s, 9.0))
    card = bound_of(Roofline.of("H200-SXM"))
    assert too_short_for_the_prompt(rows, ModelWork.of(QWEN), card, "bfloat16") == []
