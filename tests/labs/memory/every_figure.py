"""Every figure of lab 1: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator

from labkit.labs.memory.figures import kv_growth, vram_bar
from labkit.measuring.plots import CourseFigure
from labkit.memory import kv_cache_bytes
from labkit.models.facts import vram_readings
from labkit.models.shapes import ModelShape


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    family = [ModelShape.of(f"Qwen/Qwen3-{size}") for size in ("0.6B", "1.7B", "4B", "14B", "32B")]
    cards = {name: vram_readings(name)["driver"][0] for name in ("L4", "L40S", "H100-SXM")}
    yield "kv_growth", kv_growth(family, kv_cache_bytes, cards, batch_size=4)
    yield "fits", vram_bar(29 * 10**9, 10**10, 48 * 10**9, "Qwen3-14B on L40S: 8 x 8,192 tokens")
    yield "does not fit", vram_bar(29 * 10**9, 10**11, 48 * 10**9, "Qwen3-14B on L40S")
