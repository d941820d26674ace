"""Lab 3's figures and its widget: what they show, from records alone."""

from dataclasses import replace

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from labkit.cache_benchmark import predicted_time_s
from labkit.labs.cache_benchmark import figures as cache_figures
from labkit.labs.cache_benchmark import widget as cache_widget
from labkit.labs.cache_benchmark.records import curve, predicted_curve, settings_of, slopes
from labkit.measuring.records import recorded_results
from labkit.models.sizes import kv_bytes_per_token


@pytest.fixture(scope="module")
def records():
    return recorded_results("cache-*.jsonl")


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_each_of_two_settings_has_its_panel(records, scale):
    for record in records.values():
        figure = cache_figures.with_and_without(record, predicted_time_s, scale)
        assert len(figure.axes) == 2
        assert {axes.get_yscale() for axes in figure.axes} == {scale}
        others = settings_of(record)[2:]
        assert len(cache_figures.with_and_without(record, settings=others).axes) == len(others)
    assert len(cache_figures.with_and_without(record, settings=["baseline"]).axes) == 1
    assert not plt.get_fignums()


def test_points_are_the_medians_of_the_record(records):
    record = next(iter(records.values()))
    axes = cache_figures.with_and_without(record).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    for use_cache, label in ((False, "without cache"), (True, "with cache")):
        lengths, times_s = curve(record, "baseline", use_cache)
        assert list(lines[label].get_xdata()) == lengths
        assert list(lines[label].get_ydata()) == times_s


def test_the_callers_prediction_is_drawn_beside_each_curve(records):
    for record in records.values():
        for setting in settings_of(record):
            figure = cache_figures.with_and_without(record, predicted_time_s, settings=[setting])
            dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
            wanted = [
                predicted_curve(record, setting, use_cache, predicted_time_s)
                for use_cache in (False, True)
            ]
            assert [(list(x), list(y)) for x, y in (line.get_data() for line in dashed)] == wanted


def test_slopes_that_noise_made_negative_are_left_out(records):
    record = records["cache-cpu"]
    figure = cache_figures.slopes_by_length(record, lambda n, t: [-1.0, *slopes(n, t)[1:]])
    for line in figure.axes[0].lines:
        assert (line.get_ydata() > 0).all() if len(line.get_ydata()) else True
    figure = cache_figures.slopes_by_length(record, lambda n, t: [-1.0] * (len(n) - 1))
    assert not any(len(line.get_xdata()) for line in figure.axes[0].lines)


def test_a_record_without_the_experiment_is_refused(records):
    with pytest.raises(ValueError, match="no record has rows of the experiment offload"):
        cache_figures.offloaded_steps({})
    assert "no rows of the experiment multi_turn" in str(cache_figures.prefill_by_round([]))
    assert cache_figures.figures_of({}) == {}


def test_all_figures_are_drawn_from_the_records(records):
    rounds = {f"{name}-rounds" for name in records}
    drawn = cache_figures.figures_of(records)
    assert all(draw().axes for draw in drawn.values())
    curves = {f"{name}-{what}" for name in records for what in ("linear", "log", "slopes")}
    assert set(drawn) == {"cache-offload", *curves, *rounds}
    assert not plt.get_fignums()


def test_what_a_record_does_not_hold_is_left_out(records):
    record = next(iter(records.values()))
    kept = {"cache_or_not": 1, "multi_turn": 8, "offload": 3}
    for experiment, n_rows in kept.items():
        rows = tuple(record.of(experiment)[:n_rows])
        drawn = cache_figures.figures_of({"my": replace(record, rows=rows)})
        names = {
            "cache_or_not": ["my-linear", "my-log", "my-slopes"],
            "multi_turn": ["my-rounds"],
            "offload": ["cache-offload"],
        }
        assert list(drawn) == names[experiment]
        assert all(draw().axes for draw in drawn.values())


def test_moving_a_slider_calls_the_function_and_redraws():
    pytest.importorskip("ipywidgets")
    seen = []

    def own(machine, work, n_prompt, n_new, use_cache, launch_s, dtype):
        seen.append((machine.name, n_prompt, launch_s))
        return predicted_time_s(machine, work, n_prompt, n_new, use_cache, launch_s, dtype)

    sliders, picture = cache_widget.cache_growth(own, kv_bytes_per_token).children
    controls = {box.description: box for column in sliders.children for box in column.children}
    first = picture.value
    controls["prompt"].value = 8
    controls["launch, ms/layer"].value = 0.0
    assert seen[0] == ("H100-SXM", 4096, pytest.approx(0.024))
    assert seen[-1] == ("H100-SXM", 8, 0.0)
    assert picture.value != first


def test_without_ipywidgets_there_is_a_table(no_ipywidgets):
    table = cache_widget.cache_growth(predicted_time_s, kv_bytes_per_token)
    assert table.lines[-1][0] == "32,768"
