"""The figures of lab 6's notebook, drawn from records; predictions too, by a function of speedup.

`batches` has the one of batches, `figures` those that only the course draws.
"""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from labkit.labs.speculative.records import (
    OWN,
    Gain,
    Speedup,
    best,
    floor_s,
    gains,
    settings_of,
    step_s,
    words_of,
)
from labkit.measuring.drawn import break_even, with_bars
from labkit.measuring.panels import SMALL, WIDTH, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.records import NothingMeasured, Record
from labkit.measuring.tables import or_sentence
from labkit.models.tiny import facts_of

SETTING_COLORS = {"eager": COLORS["plain"]} | dict.fromkeys(
    ("captured", "lean", OWN), COLORS["method"]
)
FLOOR = "reading the weights"
CLOSE = 0.15  # a prediction within this part of the measurement is a good one
COLUMNS = 3


@or_sentence
def steps_by_model(record: Record) -> CourseFigure:
    """Milliseconds of a one-token step: eager, by the engine, and the floor; a line per model."""
    models = models_in(record)
    with panels(1, 1, (WIDTH, 1.5 + 0.5 * len(models))) as (figure, ((axes,),)):
        by_setting = {
            setting: [1e3 * _step_or_floor_s(record, model, setting) for model in models]
            for setting in [*settings_of(record), FLOOR]
        }
        for setting, times_ms in by_setting.items():
            color = SETTING_COLORS.get(setting, COLORS["reference"])
            mark = "|" if setting == FLOOR else "o"
            size = {"ms": 14, "mew": 3} if setting == FLOOR else {"ms": 7}
            axes.plot(times_ms, range(len(models)), mark, color=color, label=setting, **size)
        for place, (*steps_ms, least_ms) in enumerate(zip(*by_setting.values(), strict=True)):
            _write(axes, least_ms, place, -16, "center")
            for ms in steps_ms:  # apart, however near their marks are
                _write(axes, ms, place, 8, "right" if ms == min(steps_ms) else "left")
        names = [f"{short_name(model)}, {_layers(model)}" for model in models]
        axes.set_yticks(range(len(models)), names)
        axes.set(xscale="log", xlabel="milliseconds of a step of one token")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="y", visible=False)
        axes.invert_yaxis()
        axes.margins(y=0.25)
        figure.legend(loc="outside lower right", ncols=3, fontsize=9)
        small = min(models, key=lambda model: step_s(record, model, settings_of(record)[0]))
        words = [
            f"{1e3 * _step_or_floor_s(record, small, setting):.3g} ms {setting}"
            for setting in [*settings_of(record), FLOOR]
        ]
        caption = "Each line is a model. The grey tick is the time to read its weights once."
        title = f"A step of {short_name(small)}: {', '.join(words)}"
        return say(figure, title, record.provenance, caption)


@or_sentence
def gains_by_gamma(record: Record, speedup: Speedup | None = None) -> CourseFigure:
    """Speedup by gamma: a panel per pair; predictions are dashed.

    Bars: from the least to the greatest round.
    """
    every = gains(record, speedup)
    by_pair = {pair: [g for g in every if g.row.model == pair] for pair in pairs_in(record)}
    by_pair = {pair: found for pair, found in by_pair.items() if found}
    n_rows = math.ceil(len(by_pair) / COLUMNS)
    n_columns = min(COLUMNS, len(by_pair))
    with panels(n_rows, n_columns, (WIDTH, 0.9 + 2.6 * n_rows), sharey=True) as (figure, grid):
        for axes in grid.flat[len(by_pair) :]:
            axes.set_visible(False)
        for axes, (pair, found) in zip(grid.flat, by_pair.items(), strict=False):
            _draw_gains(axes, found)
            low, high = min(g.alpha[0] for g in found), max(g.alpha[0] for g in found)
            axes.set_title(f"{pair}\nα from {low:.2f} to {high:.2f}", fontsize=9)
            axes.set(xlabel="gamma", xticks=[gain.gamma for gain in found])
        for row in grid:
            row[0].set(ylabel="speedup", ylim=(0, None))
        top = best(every)
        title = (
            f"The best: {top.row.model} at γ = {top.gamma} is {top.speedup[0]:.2f} times as fast "
            "as the target alone"
        )
        caption = (
            "Points are measured, bars reach from the least to the greatest round. "
            "Dashed lines are predicted by speedup."
        )
        say(figure, title, f"{top.row.note}; {record.provenance}", caption)
        name_ends(grid.flat[len(by_pair) - 1])
    return figure


@or_sentence
def residuals(record: Record, speedup: Speedup | None = None) -> CourseFigure:
    """Measured speedup over the predicted one, by gamma; the band is 15 % to either side."""
    every = [gain for gain in gains(record, speedup) if gain.predicted]
    if not every:
        raise NothingMeasured.of(record.of("decode_steps"), "decode_steps")
    ratios = {id(gain): gain.speedup[0] / next(iter(gain.predicted.values())) for gain in every}
    with panels(1, 1, (WIDTH, 3.2)) as (figure, ((axes,),)):
        for mark, pair in zip("os^vD<>", pairs_in(record), strict=False):
            line = [gain for gain in every if gain.row.model == pair]
            heights, gammas = [ratios[id(gain)] for gain in line], [gain.gamma for gain in line]
            axes.plot(gammas, heights, f"{mark}-", color=COLORS["other"], label=pair, ms=5)
        axes.axhspan(1 - CLOSE, 1 + CLOSE, color=COLORS["free"])
        axes.text(0.01, 1 + CLOSE, "±15 %", fontsize=9, transform=axes.get_yaxis_transform())
        axes.set(xlabel="gamma", ylabel="measured / predicted")
        low, high = axes.get_ylim()
        axes.set_ylim(min(0.7, low), max(1.3, high))
        axes.set_xticks(sorted({gain.gamma for gain in every}))
        n_close = sum(abs(ratio - 1) <= CLOSE for ratio in ratios.values())
        title = f"{n_close} of {len(ratios)} predictions are within 15 % of the measured speedup"
        say(figure, title, record.provenance, "Each line is a pair of models.")
        name_ends(axes)
    return figure


@or_sentence
def regimes(record: Record, speedup: Speedup | None = None) -> CourseFigure:
    """Speedup by gamma: a panel per kind of prompt, a line per draft and number of new tokens.

    A ring marks the best gamma of a line; below the line of break-even drafting is a loss.
    """
    every = gains(record, speedup, "regimes")
    kinds = list(dict.fromkeys(words_of(gain.row)[1] for gain in every))
    with panels(1, len(kinds), (WIDTH, 3.6), sharey=True) as (figure, (row,)):
        for axes, kind in zip(row, kinds, strict=True):
            lines: dict[str, list[Gain]] = {}
            for gain in every:
                _, found, length, draft = words_of(gain.row)
                if found == kind:
                    lines.setdefault(f"{draft}, {length}", []).append(gain)
            lengths = list(dict.fromkeys(label.partition(", ")[2] for label in lines))
            for label, line in lines.items():
                draft, _, length = label.partition(", ")
                color = COLORS["other"] if draft == "model" else COLORS["plain"]
                style = "s--" if lengths.index(length) else "o-"
                points = [(gain.gamma, gain.speedup[0]) for gain in line]
                axes.plot(
                    *zip(*points, strict=True), style, color=color, label=label, ms=3.5, lw=1.5
                )
                top = best(line)
                axes.plot(top.gamma, top.speedup[0], "o", ms=11, mfc="none", mec=color)
            break_even(axes)
            axes.set(title=f"{kind} prompts", xlabel="gamma")
        row[0].set_ylabel("speedup")
        top = best(every)
        title = (
            f"The best: {top.speedup[0]:.2f} times as fast as the target alone, at γ = {top.gamma}"
        )
        caption = (
            "A ring marks the best γ of a line. Below the red line, drafting takes longer than the "
            "target alone."
        )
        say(figure, title, record.provenance, caption)
        for axes in row:
            name_ends(axes)
    return figure


def _draw_gains(axes: Axes, found: Sequence[Gain]) -> None:
    gammas = [gain.gamma for gain in found]
    with_bars(axes, gammas, [gain.speedup for gain in found], "measured", "black")
    for setting in found[0].predicted:
        known = [gain for gain in found if setting in gain.predicted]
        points = [[gain.gamma for gain in known], [gain.predicted[setting] for gain in known]]
        axes.plot(*points, "--", color=SETTING_COLORS[setting], label=f"by {setting} steps")
    break_even(axes)


def pairs_in(record: Record) -> list[str]:
    return list(dict.fromkeys(row.model for row in record.of("speculation") if row.is_ok))


def models_in(record: Record) -> list[str]:
    found = [row.model for row in record.of("decode_steps") if row.is_ok]
    if not found:
        raise NothingMeasured.of(record.of("decode_steps"), "decode_steps")
    return list(dict.fromkeys(found))


def _write(axes: Axes, ms: float, place: int, above: int, side: str) -> None:
    if not math.isnan(ms):
        where = {"xytext": (0, above), "textcoords": "offset points", "ha": side}
        axes.annotate(f"{ms:.3g}", (ms, place), fontsize=SMALL, **where)


def _step_or_floor_s(record: Record, model: str, setting: str) -> float:
    return floor_s(record, model) if setting == FLOOR else step_s(record, model, setting)


def short_name(model: str) -> str:
    return model.rpartition("/")[2]


def _layers(model: str) -> str:
    n_layers = facts_of(model)["num_hidden_layers"]
    return f"{n_layers} layer{'s' * (n_layers > 1)}"
