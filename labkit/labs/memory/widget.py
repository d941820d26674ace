"""A calculator for the memory of a model and its KV cache, on the student's own function.

It needs ipywidgets; without it there is a table of the same numbers.
"""

from collections.abc import Callable
from typing import Any

from labkit.labs.memory.figures import vram_bar
from labkit.measuring.tables import Table
from labkit.measuring.widgets import Control, has_widgets, player
from labkit.models.configs import ModelConfig, recent_models
from labkit.models.facts import gpus, models, vram_readings

BATCH_SIZES = tuple(2**i for i in range(8))
LENGTHS = tuple(2**i for i in range(8, 18))
TABLE_BATCH, TABLE_LENGTH = 8, 8192


def vram_calculator(
    kv_cache_bytes: Callable[..., int],
    model: str = "Qwen/Qwen3-14B",
    gpu: str = "L40S",
) -> Any:
    """Sliders for model, card, batch and length, and a bar that turns red where it is too much.

    The function is called as kv_cache_bytes(config, n_tokens, batch_size, bytes_per_number).
    Without ipywidgets: returns `vram_table`.
    """
    if not has_widgets("a table instead of the calculator"):
        return vram_table(kv_cache_bytes, gpu)
    widths = {"4 bytes": 4, "2 bytes": 2, "1 byte": 1, "half a byte": 0.5}
    lengths = [(f"{n:,}", n) for n in LENGTHS]
    return player(
        [
            [
                Control("model", "model", model, _models(), is_menu=True),
                Control("batch_size", "sequences", 8, BATCH_SIZES),
                Control("weight_width", "weights", 2, widths),
            ],
            [
                Control("gpu", "card", gpu, list(gpus()), is_menu=True),
                Control("n_tokens", "tokens", 8192, lengths),
                Control("cache_width", "cached numbers", 2, widths),
            ],
        ],
        dict,
        lambda chosen: _draw(kv_cache_bytes, **chosen),
    )


def demo() -> Any:
    """The calculator with this labkit's own answers, for `labkit show`."""
    from labkit.memory import kv_cache_bytes

    return vram_calculator(kv_cache_bytes)


def vram_table(kv_cache_bytes: Callable[..., int], gpu: str = "L40S") -> Table:
    """Weights, cache and free memory on one card, a line per model."""
    card_bytes = _card_bytes(gpu)
    title = (
        f"{gpu}, {card_bytes / 1e9:.1f} GB, {TABLE_BATCH} sequences of {TABLE_LENGTH:,} tokens, "
        "2 bytes per number"
    )
    rows = []
    for name in _models():
        weights = 2 * _n_params(name)
        cache = int(kv_cache_bytes(ModelConfig.of(name), TABLE_LENGTH, TABLE_BATCH, 2))
        left = card_bytes - weights - cache
        sizes = [f"{size / 1e9:.2f}" for size in (weights, cache, left)]
        rows.append([name, *sizes, "fits" if left >= 0 else "does not fit"])
    return Table(["model", "weights GB", "cache GB", "left GB", ""], rows, title)


def _draw(
    kv_cache_bytes: Callable[..., int],
    *,
    model: str,
    gpu: str,
    batch_size: int,
    n_tokens: int,
    weight_width: float,
    cache_width: float,
) -> Any:
    return vram_bar(
        int(_n_params(model) * weight_width),
        int(kv_cache_bytes(ModelConfig.of(model), n_tokens, batch_size, cache_width)),
        _card_bytes(gpu),
        title=f"{model.rpartition('/')[2]} on {gpu}: {batch_size} x {n_tokens:,} tokens",
    )


def _models() -> list[str]:
    """All models of the tables, whatever their layers cache."""
    return [*models(), *recent_models()]


def _n_params(name: str) -> int:
    return {**models(), **recent_models()}[name]["params_exact"]


def _card_bytes(gpu: str) -> int:
    """The driver's readings of memory: the middle one, and the one that a server plans with."""
    return vram_readings(gpu)["driver"][0]
