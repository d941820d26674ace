"""Every figure of lab 3: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator

from labkit.cache_benchmark import predicted_time_s
from labkit.labs.cache_benchmark import figures as cache_figures
from labkit.labs.cache_benchmark import widget as cache_widget
from labkit.measuring.plots import CourseFigure
from labkit.measuring.records import recorded_results
from labkit.models.sizes import kv_bytes_per_token


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    records = recorded_results("cache-*.jsonl")
    for name, draw in cache_figures.figures_of(records).items():
        yield name, draw()
    chosen = {"model": "meta-llama/Llama-3.1-8B", "gpu": "H100-SXM", "launch_ms": 0.75}
    for n_prompt, n_new in ((8, 512), (4096, 512), (32_768, 4)):
        sizes = {"n_prompt": n_prompt, "n_new": n_new}
        figure = cache_widget.draw(predicted_time_s, kv_bytes_per_token, **chosen, **sizes)
        yield f"growth {n_prompt}", figure
