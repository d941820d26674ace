"""The figures that `labkit figures` draws: those of lab 6's notebook, and two more."""

import math
from collections.abc import Callable, Mapping
from functools import partial

from labkit.labs.speculative.batches import EXPERIMENT, by_batch
from labkit.labs.speculative.records import Speedup, best, gains, settings_of, step_s, words_of
from labkit.labs.speculative.speed_figures import (
    SETTING_COLORS,
    gains_by_gamma,
    models_in,
    pairs_in,
    regimes,
    residuals,
    short_name,
    steps_by_model,
)
from labkit.measuring.panels import WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure, Drawing
from labkit.measuring.profiles import PAIRS
from labkit.measuring.records import NothingMeasured, Record, has_rows
from labkit.measuring.tables import or_sentence


@or_sentence
def verify_cost(record: Record) -> CourseFigure:
    """Seconds of a step over several tokens, in steps over one: what verification costs."""
    targets = [PAIRS[pair][0] for pair in pairs_in(record)] or models_in(record)[:1]
    targets = [target for target in dict.fromkeys(targets) if target in models_in(record)]
    fastest, costs = settings_of(record)[0], []
    with panels(1, 1, (WIDTH, 3.4)) as (figure, ((axes,),)):
        for line, target in zip(("o-", "s--", "^:"), targets, strict=False):
            for setting in settings_of(record):
                steps = record.of("decode_steps", target)
                rows = [row for row in steps if row.is_ok and row.setting == setting]
                ratios = [row.time_s / step_s(record, target, setting) for row in rows]
                label = f"{short_name(target)}, {setting}"
                color = SETTING_COLORS[setting]
                axes.plot([row.n_input for row in rows], ratios, line, color=color, label=label)
            costs.append(step_s(record, target, fastest, 8) / step_s(record, target, fastest))
        axes.set(xlabel="tokens in one step", ylabel="duration, in steps of one token")
        axes.set_ylim(0.8, max(1.3, axes.get_ylim()[1]))
        cost = max((cost for cost in costs if not math.isnan(cost)), default=math.nan)
        title = f"Eight tokens take {cost:.2f} times as long as one"
        caption = "Each line is a model that verifies, by the way of its steps."
        say(figure, title, record.provenance, caption)
        name_ends(axes)
    return figure


@or_sentence
def acceptance_by_source(
    record: Record, pair: str = "tiny", speedup: Speedup | None = None
) -> CourseFigure:
    """alpha and speedup of each source of prompts, at the pair's best gamma."""
    of_pair = [gain for gain in gains(record, speedup) if gain.row.model == pair]
    if not of_pair:
        raise NothingMeasured.of(record.of("speculation", pair), "speculation")
    chosen = best(of_pair)
    every = gains(record, speedup, "by_source")
    shown = [gain for gain in every if (gain.row.model, gain.gamma) == (pair, chosen.gamma)]
    sources = [words_of(gain.row)[1] for gain in shown]
    with panels(1, 2, (WIDTH, 3.2)) as (figure, ((left, right),)):
        for axes, name, label in ((left, "alpha", "α"), (right, "speedup", "speedup")):
            middles, lows, highs = zip(*(getattr(gain, name) for gain in shown), strict=True)
            places = range(len(shown))
            axes.bar(places, middles, 0.6, color=COLORS["other"])
            axes.vlines(places, lows, highs, color="black", linewidth=1.5)
            mean = getattr(chosen, name)[0]
            axes.axhline(mean, color=COLORS["reference"], ls="--", lw=1.2, label="all prompts")
            axes.set_xticks(places, sources)
            axes.grid(axis="x", visible=False)
            axes.set_title(f"{label} at γ = {chosen.gamma}")
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", fontsize=9)
        alphas = {gain.alpha[0]: source for gain, source in zip(shown, sources, strict=True)}
        title = f"α is highest for {alphas[max(alphas)]} and lowest for {alphas[min(alphas)]}"
        caption = "The bars hold 95 % of α, and the least and the greatest round of the speedup."
        return say(figure, title, record.provenance, caption)


def figures_of(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """What draws each figure of lab 6 that the records have rows for, by the name of its file."""
    drawings: dict[str, tuple[Callable[[Record], CourseFigure], str]] = {
        "steps": (steps_by_model, "decode_steps"),
        "verify": (verify_cost, "decode_steps"),
        "residuals": (residuals, "speculation"),
        "gains": (gains_by_gamma, "speculation"),
        "sources": (acceptance_by_source, "by_source"),
        "regimes": (regimes, "regimes"),
        "batches": (by_batch, EXPERIMENT),
    }
    return {
        f"{record_name}-{name}": partial(draw, record)
        for record_name, record in records.items()
        for name, (draw, experiment) in drawings.items()
        if has_rows(record, experiment)
    }
