"""Every figure of lab 6: those of the notebook and of its player, on recorded data."""

from collections.abc import Iterator
from functools import partial

from labkit import speculative
from labkit.labs.speculative import figures as speculative_figures
from labkit.labs.speculative import pictures as speculative_pictures
from labkit.labs.speculative import speed_figures
from labkit.labs.speculative import widget as speculative_widget
from labkit.measuring.plots import CourseFigure
from labkit.measuring.records import has_rows, recorded_results
from labkit.zoo import load_pair


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    records = recorded_results("speculative-*.jsonl") | recorded_results("batched-*.jsonl")
    for name, draw in speculative_figures.figures_of(records).items():
        yield name, draw()
    predicted = {
        "gains": (speed_figures.gains_by_gamma, "speculation"),
        "residuals": (speed_figures.residuals, "speculation"),
        "regimes": (speed_figures.regimes, "regimes"),
    }
    for name, record in records.items():
        for what, (draw, experiment) in predicted.items():
            if has_rows(record, experiment):
                yield f"{name} {what} predicted", draw(record, speculative.speedup)
    pair = load_pair("tiny", device="cpu")
    name = partial(speculative_widget.token_name, pair)
    played = speculative_widget.play(
        speculative.distribution, speculative.residual, pair, **speculative_widget.CHOSEN
    )
    block = speculative_widget.telling_block(played)
    yield "still", speculative_pictures.draw_block(block, name)
    for moment in block:
        yield f"player {moment.what}", speculative_pictures.draw(moment, name)
