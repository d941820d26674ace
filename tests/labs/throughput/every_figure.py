"""Every figure of lab 2: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator

from labkit.labs.throughput import figures as throughput_figures
from labkit.labs.throughput import widget as roofline_widget
from labkit.measuring.plots import CourseFigure
from labkit.measuring.records import recorded_results


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    records = recorded_results("throughput-*.jsonl")
    for name, draw in throughput_figures.figures_of(records).items():
        yield name, draw()
    gpus = recorded_results("speculative-h?00.jsonl") | recorded_results("serving-2gpu*.jsonl")
    for name, draw in throughput_figures.figures_of(gpus).items():
        yield name, draw()
    own = {"yours": recorded_results("steps-cpu.jsonl")["steps-cpu"]}
    yield "user or card", throughput_figures.user_or_card(recorded_results("serving-2gpu*.jsonl"))
    yield "own user or card", throughput_figures.user_or_card(own)
    for name, record in records.items():
        for batch in (1, 64, 1024):
            yield f"{name} roofline {batch}", roofline_widget.draw(record, batch)
