"""Costs over passes, predicted times, slopes, block hashes and fetching, against closed forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.labs import cases_of
from labkit import cache_benchmark as lab
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check
from labkit.kv_cache import tokens_processed
from labkit.labs.cache_benchmark.records import curve, slopes
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.models.facts import gpus
from labkit.models.sizes import kv_bytes_per_token, weight_bytes

WORK = ModelWork.of("meta-llama/Llama-3.2-1B")
SIZES = st.integers(1, 60)


@given(SIZES, st.integers(0, 40), st.booleans())
def test_passes_feed_as_many_tokens_as_lab_4_counts(n_prompt, n_new, use_cache):
    passes = lab.generation_passes(n_prompt, n_new, use_cache)
    assert len(passes) == n_new
    assert sum(n_fed for n_fed, _ in passes) == tokens_processed(n_prompt, n_new, use_cache)
    lengths = [n_fed + n_cached for n_fed, n_cached in passes]
    assert lengths == list(range(n_prompt, n_prompt + n_new))


@given(SIZES, st.integers(1, 20))
def test_a_cache_saves_flops_and_not_a_byte(n_prompt, n_new):
    plain = lab.generation_cost(WORK, n_prompt, n_new, False)
    cached = lab.generation_cost(WORK, n_prompt, n_new, True)
    assert plain[1] == cached[1]
    assert plain[0] >= cached[0]
    assert (plain == cached) == (n_new == 1)


def test_moved_bytes_are_weights_per_pass_and_a_growing_cache():
    shape, n_prompt, n_new = WORK.shape, 10, 7
    head = shape.vocab_size * shape.d_model
    weights = weight_bytes(WORK.n_block_params + head)
    in_cache = sum(range(n_prompt, n_prompt + n_new)) * kv_bytes_per_token(shape)
    moved = lab.generation_cost(WORK, n_prompt, n_new, True)[1]
    assert moved == n_new * weights + in_cache


def test_flops_of_a_cached_generation_are_those_of_one_pass_with_all_logits():
    n_prompt, n_new = 20, 9
    flops = lab.generation_cost(WORK, n_prompt, n_new, True)[0]
    assert flops == WORK.flops(n_prompt + n_new - 1, 0, n_new)


@pytest.mark.parametrize("gpu", ["T4", "H200-SXM"])
def test_where_launching_takes_longest_the_cache_saves_no_time(gpu):
    machine = Roofline.of(gpu)
    times = [lab.predicted_time_s(machine, WORK, 8, 16, cached, 1.0) for cached in (False, True)]
    assert times == [16.0, 16.0]


def test_without_launching_a_pass_takes_its_floor():
    machine = Roofline.of("L40S")
    floors = [pass_floor(machine, WORK, 500), pass_floor(machine, WORK, 1, 500)]
    expected = sum(floor.seconds for floor in floors)
    assert lab.predicted_time_s(machine, WORK, 500, 2, True) == pytest.approx(expected)


@given(st.sampled_from(sorted(gpus())), st.floats(1e-4, 0.1))
def test_the_length_that_leaves_the_launch_floor_is_the_first(gpu, launch_s):
    machine, n_context = Roofline.of(gpu), 3000
    length = lab.leaves_launch_floor_at(machine, WORK, launch_s, n_context)
    if length is None:
        assert pass_floor(machine, WORK, n_context).seconds <= launch_s
        return
    assert pass_floor(machine, WORK, length).seconds > launch_s
    assert length == 1 or pass_floor(machine, WORK, length - 1).seconds <= launch_s


def test_slopes_of_a_line_are_equal_whatever_the_order():
    lengths = [64, 1, 256, 16]
    times_s = [0.5 + 0.01 * n for n in lengths]
    assert slopes(lengths, times_s) == pytest.approx([0.01] * 3)


@pytest.mark.parametrize(("n_new", "times_s"), [([1, 1], [1.0, 2.0]), ([1, 2], [1.0])])
def test_what_has_no_slope_is_refused(n_new, times_s):
    with pytest.raises(ValueError, match="some different lengths"):
        slopes(n_new, times_s)


TOKENS = st.lists(st.integers(0, 151_935), max_size=40)


@given(TOKENS, TOKENS, st.integers(1, 8))
def test_hashes_are_equal_exactly_where_all_tokens_before_are(tokens, others, block_size):
    hashes, other = (lab.block_hashes(each, block_size) for each in (tokens, others))
    assert len(hashes) == len(tokens) // block_size
    for i, (one, two) in enumerate(zip(hashes, other, strict=False)):
        end = (i + 1) * block_size
        assert (one == two) == (tokens[:end] == others[:end])


def test_to_fetch_grows_with_the_bytes_and_to_recompute_faster_than_the_tokens():
    machine = Roofline.of("H100-SXM")
    (fetch_s, pass_s), (fetch_two_s, pass_two_s) = (
        lab.fetch_and_recompute_s(machine, WORK, n, 7e9, 2.0) for n in (8000, 16_000)
    )
    assert fetch_two_s == pytest.approx(2 * fetch_s)
    assert pass_two_s > 2 * pass_s == 4 * pass_floor(machine, WORK, 8000).seconds
    assert fetch_s == pytest.approx(8000 * kv_bytes_per_token(WORK.shape) / 7e9)
    for wrong in ((0, 7e9), (5, 0.0), (5, -1.0)):
        with pytest.raises(ValueError, match="at least 1 token and a bandwidth above 0"):
            lab.fetch_and_recompute_s(machine, WORK, *wrong)


def test_a_mean_of_ratios_is_called_by_its_name():
    lengths = [1, 2, 4]
    namespace = {name: getattr(lab, name) for name in ("generation_cost", "block_hashes")}
    from labkit.measuring.records import recorded_results

    record = recorded_results("cache-*.jsonl")["cache-cpu"]
    (lengths, with_cache), (_, without) = (curve(record, "baseline", c) for c in (True, False))
    ratios = [a / b for a, b in zip(without, with_cache, strict=True)]
    namespace["speed_up"] = {
        "record": "cache-cpu",
        "cached_s_per_token": slopes(lengths, with_cache)[-1],
        "uncached_s_per_token": slopes(lengths, without)[-1],
        "ratio": sum(ratios) / len(ratios),
    }
    right, wrong = (
        play_check(each, local_student(namespace), open_cases_of("cache_benchmark")["speed_up"])
        for each in checks_of("cache_benchmark")["speed_up"]
    )
    assert right.passed
    assert "mean of the ratios" in wrong.message


def test_the_same_seed_gives_the_same_cases_of():
    cases = cases_of("cache_benchmark", 3)
    cases_of.cache_clear()
    again = cases_of("cache_benchmark", 3)
    functions = [name for name in cases if "AnswerCase" not in str(type(cases[name][0]))]
    assert [cases[name] for name in functions] == [again[name] for name in functions]
