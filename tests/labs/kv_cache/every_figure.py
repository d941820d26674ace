"""Every figure of lab 4: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator

from labkit.kv_cache import ArenaCache, PagedCache, RingCache
from labkit.labs.kv_cache import widget as kv_widget
from labkit.labs.kv_cache.figures import cache_timing
from labkit.labs.kv_cache.moments import moments
from labkit.measuring.plots import CourseFigure
from labkit.measuring.timing import Timing


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    lengths = [1, 4, 16, 32, 64, 128]
    uncached, cached = (
        [Timing((0.97 * s, s, 1.05 * s)) for s in times_s]
        for times_s in (
            (0.009, 0.03, 0.1, 0.18, 0.35, 0.73),
            (0.009, 0.012, 0.03, 0.05, 0.09, 0.17),
        )
    )
    smaller = [0.9, 1.1, 1.4, 1.7, 2.0, 2.5]
    ratios = [1, 3.2, 11, 20, 39, 77]
    yield "timing", cache_timing(lengths, uncached, cached, ratios, smaller, "one core of a CPU")
    for block_size in kv_widget.BLOCKS:
        chosen = kv_widget.CHOSEN | {"block_size": block_size}
        told = moments(ArenaCache, RingCache, PagedCache, **chosen)
        for n in (0, kv_widget.telling_moment(told), len(told) - 1):
            yield f"stores {block_size} {n}", kv_widget.picture(told, n)
