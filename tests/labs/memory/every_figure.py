"""Every figure of lab 1: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator

from labkit.labs.memory.figures import (
    MODELS_OF_SEVEN_YEARS,
    caches_by_year,
    kv_growth,
    vram_bar,
)
from labkit.measuring.plots import CourseFigure
from labkit.memory import kv_cache_bytes
from labkit.models.configs import ModelConfig
from labkit.models.facts import vram_readings


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    names = [f"Qwen/Qwen3-{size}" for size in ("0.6B", "1.7B", "4B", "14B", "32B")]
    family = {name: ModelConfig.of(name) for name in names}
    cards = {name: vram_readings(name)["driver"][0] for name in ("L4", "L40S", "H100-SXM")}
    yield "kv_growth", kv_growth(family, kv_cache_bytes, cards, batch_size=4)
    yield "caches_by_year", caches_by_year(kv_cache_bytes, MODELS_OF_SEVEN_YEARS)
    yield "fits", vram_bar(29 * 10**9, 10**10, 48 * 10**9, "Qwen3-14B on L40S: 8 x 8,192 tokens")
    yield "does not fit", vram_bar(29 * 10**9, 10**11, 48 * 10**9, "Qwen3-14B on L40S")
