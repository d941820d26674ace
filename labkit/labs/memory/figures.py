"""The figures of lab 1: caches that grow, caches of seven years, one card's memory as a bar."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from labkit.measuring.panels import SMALL, WIDTH, keep_written, name_ends, panels, say
from labkit.measuring.plots import COLORS, GB, GROUND, CourseFigure
from labkit.models.configs import ModelConfig, recent_models
from labkit.models.facts import models

NARROW = 6.2  # inches: its letters can be read in half a window
LENGTHS = [2**i for i in range(8, 18)]
MODELS_OF_SEVEN_YEARS = (
    "gpt2-xl",
    "meta-llama/Llama-2-7b-hf",
    "mistralai/Mixtral-8x7B-v0.1",
    "meta-llama/Llama-3.1-8B",
    "deepseek-ai/DeepSeek-V3",
    "MiniMaxAI/MiniMax-Text-01",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-30B-A3B",
    "moonshotai/Kimi-K2-Instruct",
    "zai-org/GLM-4.5",
    "openai/gpt-oss-120b",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "Qwen/Qwen3.5-27B",
    "Qwen/Qwen3.5-397B-A17B",
)
LAYERS = {  # the colour, the marker and the words for models that have such layers
    "latent_attention": (COLORS["other"], "D", "one latent vector per token"),
    "linear_attention": (COLORS["method"], "s", "most layers keep a state"),
    "sliding_attention": (COLORS["weights"], "^", "half of the layers or more keep a window"),
    "full_attention": (COLORS["cache"], "o", "keys and values of every token"),
}


def kv_growth(
    configs: Mapping[str, Any],
    kv_cache_bytes: Callable[..., int],
    cards: Mapping[str, int],
    batch_size: int = 1,
) -> CourseFigure:
    """How the KV cache of each model grows with the sequence, beside what whole cards hold.

    kv_cache_bytes(config, n_tokens, batch_size) is the caller's; configs and cards are by label.
    Models whose caches are equal share one line. Left on linear axes, right on logarithmic ones.
    """
    families: dict[tuple[int, ...], list[str]] = {}
    for name, config in configs.items():
        sizes = tuple(kv_cache_bytes(config, length, batch_size) for length in LENGTHS)
        families.setdefault(sizes, []).append(name.rpartition("/")[2])
    with panels(1, 2, (NARROW, 4.0)) as (figure, ((linear, log),)):
        for axes in (linear, log):
            for sizes, names in families.items():
                gb = [size / GB for size in sizes]
                axes.plot(LENGTHS, gb, color=COLORS["cache"], label=_common(names), lw=1.6)
            for label, card_bytes in cards.items():
                _card_line(axes, label, card_bytes / GB)
            axes.set_xlabel("tokens per sequence")
        linear.set(ylabel="KV cache (GB)", title="linear axes")
        linear.set(xlim=(0, LENGTHS[-1]), ylim=(0, 1.15 * max(cards.values()) / GB))
        linear.set_xticks([0, 2**16, 2**17], ["0", "64k", "128k"])
        log.set(xscale="log", yscale="log", title="logarithmic axes")
        log.set_xticks([2**i for i in (8, 12, 16)], ["256", "4k", "64k"])
        log.yaxis.set_major_formatter("{x:g}")
        log.minorticks_off()
        caption = (
            "Each line is the cache of one or more models with the same KV heads and layers. "
            "Dashed lines are the memory of whole cards."
        )
        say(figure, _first_to_fill(families, cards, batch_size), caption=caption)
        name_ends(log)
    return figure


def _first_to_fill(
    families: Mapping[tuple[int, ...], Sequence[str]], cards: Mapping[str, int], batch_size: int
) -> str:
    """At which length the largest cache alone fills the smallest card."""
    sizes = max(families, key=lambda each: each[-1])
    card, room = min(cards.items(), key=lambda each: each[1])
    filling = [length for length, size in zip(LENGTHS, sizes, strict=True) if size > room]
    name = _common(families[sizes])
    if not filling:
        return f"{batch_size} sequences: no cache fills a card"
    words = f"{batch_size} sequences: the cache of {name} fills a whole card"
    return f"{words} ({card}) before {filling[0]:,} tokens"


def caches_by_year(
    kv_cache_bytes: Callable[..., int], names: Sequence[str], n_tokens: int = 32_768
) -> CourseFigure:
    """Bytes of cache per token of these models at one length, beside their parameters.

    kv_cache_bytes(config, n_tokens) is the caller's. The colour says what the layers store.
    """
    known = {**models(), **recent_models()}
    points = []
    for name in names:
        config = ModelConfig.of(name)
        kinds = [kind for kind in LAYERS if kind in config.layer_types]
        per_token = kv_cache_bytes(config, n_tokens) / n_tokens
        label = f"{name.rpartition('/')[2]} {known[name]['year']}"
        points.append((known[name]["params_exact"] / 1e9, per_token / 1e3, kinds[0], label))
    with panels(1, 1, (WIDTH, 4.6)) as (figure, ((axes,),)):
        axes.set(xscale="log", yscale="log", xlim=(0.4, 9000), ylim=(12, 900))
        for kind, (color, marker, words) in LAYERS.items():
            own = [point for point in points if point[2] == kind]
            if own:
                x, y, *_ = zip(*own, strict=True)
                axes.plot(x, y, marker, color=color, label=words, ms=7)
        axes.set(xlabel="parameters, 10^9", ylabel=f"cache per token at {n_tokens:,} tokens (kB)")
        axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
        axes.set_yticks([20, 50, 100, 200, 500], ["20", "50", "100", "200", "500"])
        axes.minorticks_off()
        figure.legend(loc="outside lower left", ncols=2)
        most, least = max(points, key=lambda each: each[1]), min(points, key=lambda each: each[1])
        title = (
            f"{most[3]} stores {most[1]:,.0f} kB per token, "
            f"{least[3]} {least[1]:,.0f} kB: the layers decide, not the size"
        )
        caption = (
            f"Each point is a model: the cache of one sequence of {n_tokens:,} tokens in 16 bits, "
            "with windows and states, divided by its tokens."
        )
        say(figure, title, caption=caption)
        keep_written(figure, lambda letters: _name_points(axes, sorted(points), letters))
    return figure


def _name_points(
    axes: Axes, points: Sequence[tuple[float, float, str, str]], letters: float
) -> Iterator[Text]:
    """Write each label beside its point, where it covers no other label and no point."""
    axes.figure.draw_without_rendering()
    places = [axes.transData.transform(point[:2]) for point in points]
    taken = [Bbox.from_bounds(x - 7, y - 7, 14, 14) for x, y in places]
    up = 1.15 * letters
    for (x, y, _, label), here in zip(points, places, strict=True):
        for dx, dy, side in ((7, 0, "left"), (-7, 0, "right"), (5, up, "left"), (5, -up, "left"),
                             (-5, up, "right"), (-5, -up, "right"), (5, 2 * up, "left"),
                             (5, -2 * up, "left"), (-5, -2 * up, "right")):  # fmt: skip
            text = axes.annotate(
                label, (x, y), (dx, dy), textcoords="offset points",
                ha=side, va="center", fontsize=letters,
            )  # fmt: skip
            box = text.get_window_extent()
            others = [each for each in taken if not each.contains(*here)]
            if box.x1 < axes.bbox.x1 and box.x0 > axes.bbox.x0 and not box.count_overlaps(others):
                break
            if (dx, dy) != (-5, -2 * up):
                text.remove()
        taken.append(box)
        yield text


def vram_bar(
    weights_bytes: int, cache_bytes: int, card_bytes: int, title: str = ""
) -> CourseFigure:
    """One bar for a card: weights, KV cache, what is left, and in red what does not fit."""
    with panels(1, 1, (WIDTH, 2.3)) as (figure, ((axes,),)):
        start = 0.0
        for label, size in (("weights", weights_bytes), ("cache", cache_bytes)):
            inside = max(0.0, min(size, card_bytes - start))
            _segment(axes, start, inside, label)
            _segment(axes, start + inside, size - inside, "too much")
            start += size
        _segment(axes, start, card_bytes - start, "free")
        axes.axvline(card_bytes / GB, color="black", linewidth=1.5)
        axes.set(yticks=[], xlabel="GB (10^9 bytes)", ylim=(-0.6, 0.6))
        axes.set_xlim(0, 1.04 * max(card_bytes, start) / GB)
        axes.grid(False)
        axes.spines["left"].set_visible(False)
        room = (
            ("too much", start - card_bytes) if start > card_bytes else ("free", card_bytes - start)
        )
        entries = [("weights", weights_bytes), ("cache", cache_bytes), room]
        names = {"cache": "KV cache", "too much": "does not fit:"}
        words = [f"{names.get(label, label)} {size / GB:,.1f} GB" for label, size in entries]
        figure.legend(
            [Patch(**_look(label)) for label, _ in entries],
            words,
            ncols=3,
            loc="outside lower left",
        )
        caption = "The vertical line is the memory of the card."
        say(figure, f"{title}: {words[-1]}" if title else words[-1], caption=caption)
    return figure


def _segment(axes: Axes, start: float, size: float, label: str) -> None:
    """A piece of a bar, if it has any length."""
    if size > 0:
        axes.barh(0, size / GB, left=start / GB, **_look(label))


def _look(label: str) -> dict[str, Any]:
    """Colour and hatching of a part, the same in the bar and in its legend."""
    hatch = "////" if label == "too much" else None
    return {"facecolor": COLORS[label], "edgecolor": GROUND, "hatch": hatch}


def _card_line(axes: Axes, label: str, gb: float) -> None:
    """A horizontal line at what a card holds, its name at the left end."""
    axes.axhline(gb, color=COLORS["reference"], linewidth=1.1, linestyle=(0, (5, 3)))
    axes.annotate(
        label,
        xy=(0.015, gb),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        color="#444444",
        fontsize=SMALL,
    )


def _common(names: Sequence[str]) -> str:
    """ "Qwen3-4B" and "Qwen3-8B" as "Qwen3-4B, 8B"."""
    first, *others = names
    prefix = first.rpartition("-")[0] + "-"
    return ", ".join([first, *(name.removeprefix(prefix) for name in others)])
