"""The reference harness of lab 2: what it times, what it keeps, what it survives."""

import statistics

import numpy
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from labkit import zoo
from labkit.labs.throughput.checks.timer import ScriptedDevice, TimerCase
from labkit.labs.throughput.programs import STEPS, expected, play, value_of
from labkit.throughput import (
    cheapest_batch,
    count_operations,
    fit_steps,
    generate_fixed,
    sweep,
    time_runs,
    tokens_per_s,
)


def timed(case):
    device = ScriptedDevice(case)
    samples = time_runs(
        device.run, device.read_clock, device.synchronize, case.n_warmup, case.n_repeats
    )
    return device, samples


def test_a_sample_is_launch_and_work_of_one_run_and_warm_up_is_not_kept():
    device, samples = timed(TimerCase((9.0, 9.0, 0.5, 2.0, 1.0), n_warmup=2))
    assert samples == [0.625, 2.125, 1.125]
    assert device.count("run") == 5


def test_what_the_device_was_doing_before_is_charged_to_nobody():
    _, samples = timed(TimerCase((0.5, 0.5), n_warmup=0, begins_busy=True))
    assert samples == [0.625, 0.625]


@pytest.mark.parametrize("counts", [(0, 0), (-1, 3), (2, -1)])
def test_counts_that_time_nothing_are_refused_before_anything_runs(counts):
    device = ScriptedDevice(TimerCase((1.0,), 0))
    with pytest.raises(ValueError, match="cannot time"):
        time_runs(device.run, device.read_clock, device.synchronize, *counts)
    assert device.log == []


def test_a_real_model_makes_exactly_the_tokens_asked_for_even_if_it_wants_to_stop():
    model = zoo.load("tiny-draft", profile="cpu").model
    tokens = torch.randint(4096, (3, 5), generator=torch.Generator().manual_seed(0))
    tokens[0, 0] = model.generation_config.pad_token_id
    favourite = int(model(tokens).logits[0, -1].argmax())
    model.generation_config.eos_token_id = favourite  # now it would stop at once
    assert generate_fixed(model, tokens, 6).shape == (3, 6)
    assert generate_fixed(model, tokens, 1).shape == (3, 1)


def test_new_tokens_are_the_greedy_ones():
    model = zoo.load("tiny-draft", profile="cpu").model
    model.generation_config.eos_token_id = None
    tokens = torch.randint(4096, (2, 7), generator=torch.Generator().manual_seed(1))
    made = generate_fixed(model, tokens, 4)
    seen = tokens
    for i in range(4):
        best = model(seen).logits[:, -1].argmax(-1)
        assert best.tolist() == made[:, i].tolist()
        seen = torch.cat([seen, best[:, None]], dim=1)


def swept(points, too_large=(), done=(), broken=None):
    rows, freed = [], []

    def measure(point):
        if point in too_large:
            raise MemoryError
        if point == broken:
            raise RuntimeError("broke")
        return [float(point[0])]

    def save(*row):
        rows.append(row)

    try:
        sweep(iter(points), measure, save, lambda: freed.append(len(rows)), done)
    except RuntimeError as error:
        return rows, freed, str(error)
    return rows, freed, ""


def test_a_sweep_records_what_does_not_fit_and_goes_on():
    rows, freed, _ = swept([(1,), (2,), (3,)], too_large=[(2,)])
    assert rows == [((1,), [1.0], "ok"), ((2,), [], "out of memory"), ((3,), [3.0], "ok")]
    assert freed == [2]


def test_a_sweep_loses_nothing_to_another_error_and_skips_what_is_done():
    rows, _, raised = swept([(1,), (2,), (3,)], done=[(1,)], broken=(3,))
    assert (rows, raised) == ([((2,), [2.0], "ok")], "broke")


def test_the_rate_is_that_of_the_median_run():
    assert tokens_per_s(4, 16, [0.5, 0.5, 3.5]) == 128
    assert tokens_per_s(4, 16, numpy.array([0.5])) == 128
    with pytest.raises(ValueError, match="no samples"):
        tokens_per_s(4, 16, [])


def test_the_line_begins_where_the_first_token_is_made():
    prefill_s, step_s = fit_steps((1, 2, 5), (0.5, 0.75, 1.5))
    assert (prefill_s, step_s) == (pytest.approx(0.5), pytest.approx(0.25))
    noisy = fit_steps([1, 3, 5], [1.0, 2.0, 6.0])
    assert noisy == (pytest.approx(0.5), pytest.approx(statistics.linear_regression(
        [0, 2, 4], [1, 2, 6]).slope))  # fmt: skip


@pytest.mark.parametrize("lengths", [[4], [4, 4, 4], []])
def test_one_length_determines_no_line(lengths):
    with pytest.raises(ValueError, match="two different"):
        fit_steps(lengths, [1.0] * len(lengths))


def test_operations_are_counted_by_name_and_the_run_is_what_it_was():
    x, made = torch.ones(3, 3), []
    counts = count_operations(lambda: made.append(torch.add(x @ x, x, alpha=2).t()))
    assert counts == {"aten.mm.default": 1, "aten.add.Tensor": 1, "aten.t.default": 1}
    assert made[0].tolist() == [[5.0] * 3] * 3
    assert count_operations(lambda: None) == {}


@pytest.mark.parametrize("steps", [(), tuple(STEPS), ("multiply", "center", "multiply", "turn")])
def test_the_programs_of_the_check_dispatch_what_they_say(steps):
    assert count_operations(lambda: value_of(steps)) == expected(steps)


def test_a_mode_that_was_never_left_does_not_outlive_the_check():
    def leaky(run):
        class Leaky(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        Leaky().__enter__()
        run()
        return {}

    play(leaky, [["add"], ["relu"]], lambda value: None)
    assert _get_current_dispatch_mode_stack() == []


def test_the_cheapest_batch_is_fast_enough_and_the_smaller_of_two():
    steps = {1: 0.5, 2: 1.0, 4: 1.0, 8: 2.0, 16: 8.0}
    assert cheapest_batch(steps, 3.6, 2.0) == (4, pytest.approx(250.0))
    assert cheapest_batch(steps, 3.6, 0.5) == (1, pytest.approx(500.0))
    with pytest.raises(ValueError, match=r"within 0\.4 s"):
        cheapest_batch(steps, 3.6, 0.4)
