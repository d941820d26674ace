"""Lab 1's figures: what they show, that they leave no settings, and that each is drawn once."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from labkit.labs.memory.figures import (
    MODELS_OF_SEVEN_YEARS,
    caches_by_year,
    kv_growth,
    vram_bar,
)
from labkit.measuring import plots
from labkit.memory import kv_cache_bytes
from labkit.models.configs import ModelConfig

NAMES = [f"Qwen/Qwen3-{size}" for size in ("0.6B", "1.7B", "4B", "32B")]
CONFIGS = {name: ModelConfig.of(name) for name in NAMES}
CARDS = {"small": 24 * 10**9, "large": 80 * 10**9}


@pytest.fixture
def growth():
    return kv_growth(CONFIGS, kv_cache_bytes, CARDS, batch_size=4)


def lines_of(axes):
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_models_with_equal_caches_share_a_line(growth):
    for axes in growth.axes:
        assert list(lines_of(axes)) == ["Qwen3-0.6B, 1.7B", "Qwen3-4B", "Qwen3-32B"]


def test_the_lines_are_the_function_s_values(growth):
    x, y = lines_of(growth.axes[0])["Qwen3-4B"].get_data()
    assert [value * 1e9 for value in y] == pytest.approx(
        [kv_cache_bytes(CONFIGS[NAMES[2]], n_tokens, 4) for n_tokens in x]
    )


def test_one_pair_of_axes_is_linear_and_one_logarithmic(growth):
    assert [axes.get_yscale() for axes in growth.axes] == ["linear", "log"]
    linear, log = ({text.get_text() for text in axes.texts} for axes in growth.axes)
    assert linear == set(CARDS)
    assert log == {*CARDS, *lines_of(growth.axes[1])}  # at the ends of the lines


def test_the_points_of_seven_years_are_the_function_s_values_and_each_has_a_name():
    figure = caches_by_year(kv_cache_bytes, MODELS_OF_SEVEN_YEARS)
    [axes] = figure.axes
    drawn = {y for line in axes.lines for y in line.get_ydata()}
    for name in MODELS_OF_SEVEN_YEARS:
        per_token = kv_cache_bytes(ModelConfig.of(name), 32_768) / 32_768
        assert any(y == pytest.approx(per_token / 1e3) for y in drawn), name
    named = [text.get_text().rpartition(" ")[0] for text in axes.texts]
    assert sorted(named) == sorted(name.rpartition("/")[2] for name in MODELS_OF_SEVEN_YEARS)


def bar_parts(figure):
    return [
        (patch.get_width(), matplotlib.colors.to_hex(patch.get_facecolor()))
        for patch in figure.axes[0].patches
    ]


def test_a_bar_that_fits_has_room_left_and_no_red():
    parts = bar_parts(vram_bar(10 * 10**9, 5 * 10**9, 24 * 10**9))
    assert [width for width, _ in parts] == [10, 5, 9]
    assert plots.COLORS["too much"] not in [color for _, color in parts]


@pytest.mark.parametrize(
    ("weights", "cache", "red"), [(10, 20, 6), (30, 20, 26), (24, 1, 1), (24, 0, 0)]
)
def test_what_does_not_fit_is_red(weights, cache, red):
    figure = vram_bar(weights * 10**9, cache * 10**9, 24 * 10**9)
    parts = bar_parts(figure)
    assert sum(width for width, color in parts if color == plots.COLORS["too much"]) == red
    assert sum(width for width, _ in parts) == max(24, weights + cache)


def test_the_legend_says_whole_sizes():
    figure = vram_bar(30 * 10**9, 20 * 10**9, 24 * 10**9)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["weights 30.0 GB", "KV cache 20.0 GB", "does not fit: 26.0 GB"]


def test_figures_are_closed_and_settings_restored(growth):
    before = dict(plt.rcParams)
    vram_bar(1, 1, 10**9)
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == before


def test_a_figure_becomes_a_png(growth):
    assert plots.png_bytes(growth).startswith(b"\x89PNG")
