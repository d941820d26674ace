"""Every figure of lab 7: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator

import torch

from labkit import flash_attention
from labkit.labs.flash_attention import figures as flash_figures
from labkit.labs.flash_attention import widget as flash_widget
from labkit.measuring.plots import CourseFigure
from labkit.measuring.records import recorded_results
from labkit.models.counted_memory import attention_memory


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    counts = (
        flash_attention.standard_traffic,
        flash_attention.flash_1_traffic,
        flash_attention.flash_2_traffic,
    )
    for kernel in (flash_attention.standard_attention, flash_attention.flash_attention_1):
        parts = torch.randn(3, 96, 16, generator=torch.Generator("cpu").manual_seed(7))
        moved = attention_memory(*parts)
        kernel(moved, *((16, 24) if kernel is flash_attention.flash_attention_1 else ()))
        yield kernel.__name__, flash_figures.moves(moved)
    yield "by tile", flash_figures.traffic_by_tile(*counts)
    yield "by length", flash_figures.traffic_by_length(*counts, flash_attention.tile_sizes)
    for name, record in recorded_results("flash-*.jsonl").items():
        yield f"{name} back ends", flash_figures.back_ends(record, counts[0], counts[2])
    kernels = flash_attention.flash_attention_1, flash_attention.flash_attention_2
    run = flash_widget.play(
        dict(zip(flash_widget.ORDERS, kernels, strict=True)), **flash_widget.CHOSEN
    )
    for n in (0, flash_widget.telling_moment(run), len(run.moments) - 1):
        yield f"player {n}", run.picture(n, flash_widget.QUERY)
