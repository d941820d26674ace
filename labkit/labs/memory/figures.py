"""The figures of lab 1: caches that grow, and one card's memory as a bar."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from labkit.measuring.panels import SMALL, WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, GB, GROUND, CourseFigure

LENGTHS = [2**i for i in range(8, 18)]


def kv_growth(
    shapes: Sequence[Any],
    kv_cache_bytes: Callable[..., int],
    cards: Mapping[str, int],
    batch_size: int = 1,
) -> CourseFigure:
    """How the KV cache of each model grows with the sequence, beside what whole cards hold.

    kv_cache_bytes(shape, n_tokens, batch_size) is the caller's; cards gives bytes by label. Models
    whose caches are equal share one line. Left on linear axes, right on logarithmic ones.
    """
    families: dict[tuple[int, ...], list[str]] = {}
    for shape in shapes:
        sizes = tuple(kv_cache_bytes(shape, length, batch_size) for length in LENGTHS)
        families.setdefault(sizes, []).append(shape.name.rpartition("/")[2])
    with panels(1, 2, (WIDTH, 4.0)) as (figure, ((linear, log),)):
        for axes in (linear, log):
            for sizes, names in families.items():
                gb = [size / GB for size in sizes]
                axes.plot(LENGTHS, gb, color=COLORS["cache"], label=_common(names), lw=1.6)
            for label, card_bytes in cards.items():
                _card_line(axes, label, card_bytes / GB)
            axes.set_xlabel("tokens per sequence")
        linear.set(ylabel="KV cache (GB)", title="linear axes")
        linear.set(xlim=(0, LENGTHS[-1]), ylim=(0, 1.15 * max(cards.values()) / GB))
        linear.set_xticks([0, 2**15, 2**16, 3 * 2**15, 2**17], ["0", "32k", "64k", "96k", "128k"])
        log.set(xscale="log", yscale="log", title="the same, logarithmic axes")
        log.set_xticks([2**i for i in (8, 10, 12, 14, 16)], ["256", "1k", "4k", "16k", "64k"])
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
