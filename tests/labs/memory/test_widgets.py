"""The calculator calls the student's functions, with and without ipywidgets."""

import pytest
from shown import controls_of

from labkit.labs.memory import widget as widgets
from labkit.memory import kv_cache_bytes


def test_moving_a_slider_calls_the_functions_and_redraws():
    pytest.importorskip("ipywidgets")
    seen = []

    def own_cache(config, n_tokens, batch_size, bytes_per_number):
        seen.append((config.num_hidden_layers, n_tokens, batch_size, bytes_per_number))
        return kv_cache_bytes(config, n_tokens, batch_size, bytes_per_number)

    controls, picture = controls_of(widgets.vram_calculator(own_cache))
    first = picture.value
    controls["tokens"].value = 131_072
    controls["cached numbers"].value = 1
    controls["model"].value = "Qwen/Qwen3-8B"
    assert seen[0] == (40, 8192, 8, 2)
    assert seen[-1] == (36, 131_072, 8, 1)
    assert picture.value.startswith("<figure")
    assert picture.value != first


def test_models_with_windows_latents_and_states_are_offered():
    pytest.importorskip("ipywidgets")
    controls, _ = controls_of(widgets.vram_calculator(kv_cache_bytes))
    for name in ("Qwen/Qwen3-14B", "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-V3"):
        assert name in controls["model"].options


def test_without_ipywidgets_there_is_a_table(no_ipywidgets, capsys):
    table = widgets.vram_calculator(kv_cache_bytes)
    assert "ipywidgets is not installed" in capsys.readouterr().out
    assert "Qwen/Qwen3-14B" in str(table)


def test_the_table_marks_what_does_not_fit():
    table = widgets.vram_table(kv_cache_bytes, gpu="L40S")
    by_model = {line[0]: line[1:] for line in table.lines}
    assert by_model["Qwen/Qwen3-32B"][-1] == "does not fit"
    assert by_model["Qwen/Qwen3-14B"] == ["29.54", "10.74", "8.03", "fits"]
