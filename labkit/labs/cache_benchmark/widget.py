"""How the cache grows, and when it pays: sliders for the lecture, on the student's own functions.

It needs ipywidgets; without it there is a table of the same numbers.
"""

from collections.abc import Callable
from typing import Any

from labkit.measuring.panels import WIDTH, panels, say
from labkit.measuring.plots import COLORS, GB, CourseFigure
from labkit.measuring.roofline import ModelWork, Roofline
from labkit.measuring.tables import Table
from labkit.measuring.widgets import Control, has_widgets, player
from labkit.models.facts import gpus, models, vram_readings
from labkit.models.shapes import ModelShape
from labkit.models.sizes import weight_bytes

PROMPTS = tuple(2**i for i in range(0, 16))
NEW_TOKENS = tuple(2**i for i in range(0, 10))
LAUNCHES_MS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)  # per layer


def cache_growth(
    predicted_time_s: Callable[..., float],
    kv_bytes_per_token: Callable[..., int],
    model: str = "meta-llama/Llama-3.1-8B",
    gpu: str = "H100-SXM",
) -> Any:
    """Sliders for prompt, new tokens and launch time: seconds both ways, and the cache beside them.

    The functions are called as predicted_time_s(machine, work, n_prompt, n_new, use_cache,
    launch_s, dtype) and kv_bytes_per_token(shape). Without ipywidgets: returns `growth_table`.
    """
    if not has_widgets("a table instead of the sliders"):
        return growth_table(predicted_time_s, kv_bytes_per_token, model, gpu)
    return player(
        [
            [
                Control("model", "model", model, _models(), is_menu=True),
                Control("gpu", "card", gpu, list(gpus()), is_menu=True),
            ],
            [
                Control("n_prompt", "prompt", 4096, PROMPTS),
                Control("n_new", "new tokens", 512, NEW_TOKENS),
                Control("launch_ms", "launch, ms/layer", 0.75, LAUNCHES_MS),
            ],
        ],
        dict,
        lambda chosen: draw(predicted_time_s, kv_bytes_per_token, **chosen),
    )


def demo() -> Any:
    """The sliders on this labkit's own answers, for `labkit show`."""
    from labkit.cache_benchmark import predicted_time_s
    from labkit.models.sizes import kv_bytes_per_token

    return cache_growth(predicted_time_s, kv_bytes_per_token)


def growth_table(
    predicted_time_s: Callable[..., float],
    kv_bytes_per_token: Callable[..., int],
    model: str = "meta-llama/Llama-3.1-8B",
    gpu: str = "H100-SXM",
) -> Table:
    """Predicted seconds with and without a cache, and the cache's size, for a few prompts."""
    shape = ModelShape.of(model)
    rows = []
    for n_prompt in PROMPTS[::3]:
        times_s = _seconds(predicted_time_s, model, gpu, n_prompt, 64, 0.75)
        size = kv_bytes_per_token(shape) * (n_prompt + 64) / GB
        rows.append([n_prompt, *(f"{seconds:.3g} s" for seconds in times_s), f"{size:.3f}"])
    title = f"{model} on {gpu}, 64 new tokens, 0.75 ms to launch a layer"
    return Table(["prompt", "without cache", "with cache", "cache GB"], rows, title)


def draw(
    predicted_time_s: Callable[..., float],
    kv_bytes_per_token: Callable[..., int],
    *,
    model: str,
    gpu: str,
    n_prompt: int,
    n_new: int,
    launch_ms: float,
) -> CourseFigure:
    """Left: seconds by new tokens. Right: the card's memory for weights and cache.

    The axes of new tokens and of memory never change.
    """
    lengths = [n for n in NEW_TOKENS if n <= n_new]
    pairs = [_seconds(predicted_time_s, model, gpu, n_prompt, n, launch_ms) for n in lengths]
    shape = ModelShape.of(model)
    cache_gb = [kv_bytes_per_token(shape) * (n_prompt + n) / GB for n in lengths]
    weights_gb, card_gb = weight_bytes(shape.n_params) / GB, vram_readings(gpu)["driver"][0] / GB
    with panels(1, 2, (WIDTH, 3.8)) as (figure, ((seconds, memory),)):
        for label, color, width, times_s in zip(
            ("without cache", "with cache"),
            (COLORS["plain"], COLORS["cache"]),
            (4.0, 1.8),
            zip(*pairs, strict=True),
            strict=True,
        ):  # the one below is wider, so that it can be seen where both are equal
            seconds.plot(lengths, times_s, "o-", color=color, label=label, ms=4, lw=width)
        seconds.set(
            xlabel="new tokens", title="seconds, predicted", xlim=(0, NEW_TOKENS[-1]),
            ylim=(0, None),
        )  # fmt: skip
        seconds.legend(loc="upper left", fontsize=9)
        sizes = {"weights": weights_gb, "cache": cache_gb[-1]}
        left = 0.0
        for key, size in sizes.items():
            name = "KV cache" if key == "cache" else key
            memory.barh(0, size, 0.5, left=left, color=COLORS[key], label=f"{name} {size:,.2f} GB")
            left += size
        memory.axvline(card_gb, color="black", linewidth=1.5, label=f"the card, {card_gb:.0f} GB")
        memory.set(xlabel="GB", title="memory", yticks=[], ylim=(-0.6, 1.6))
        memory.set_xlim(0, 1.05 * max(card_gb, left))
        memory.legend(loc="upper left", fontsize=9)
        without, cached = pairs[-1]
        title = (
            f"Prompt of {n_prompt:,}: {n_new} new tokens take {without:.3g} s without a cache, "
            f"{cached:.3g} s with it"
        )
        caption = "Times are predicted. The vertical line is the memory of the card."
        return say(figure, title, f"{model.rpartition('/')[2]} on {gpu}, float16", caption)


def _seconds(
    predicted_time_s: Callable[..., float],
    model: str,
    gpu: str,
    n_prompt: int,
    n_new: int,
    launch_ms: float,
) -> tuple[float, float]:
    """Without and with a cache, in float16, which every card of the table has."""
    machine, work = Roofline.of(gpu), ModelWork.of(model)
    launch_s = 1e-3 * launch_ms * work.shape.n_layers
    without, cached = (
        predicted_time_s(machine, work, n_prompt, n_new, use_cache, launch_s, "float16")
        for use_cache in (False, True)
    )
    return without, cached


def _models() -> list[str]:
    """Models whose every layer caches every token."""
    return [name for name, facts in models().items() if facts["sliding_window"] is None]
