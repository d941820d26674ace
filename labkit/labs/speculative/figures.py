"""The figures of lab 6, drawn from records; predictions too, by a function of speedup."""

import math
from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from labkit.labs.speculative.panels import break_even, done, panels, with_bars
from labkit.labs.speculative.records import (
    OWN,
    Speedup,
    floor_s,
    gains,
    settings_of,
    step_s,
)
from labkit.labs.speculative.sweep_figures import acceptance_by_source, by_batch, regimes
from labkit.measuring.plots import COLORS, FAMILY_COLORS, course_style
from labkit.measuring.profiles import PAIRS
from labkit.measuring.records import Record, has_rows, with_rows
from labkit.models.tiny import facts_of

SETTING_COLORS = {"eager": COLORS["weights"]} | dict.fromkeys(
    ("captured", "lean", OWN), COLORS["cache"]
)
CLOSE = 0.15  # a prediction within this part of the measurement is a good one


def steps_by_model(records: Mapping[str, Record]) -> Figure:
    """Milliseconds of a one-token step: eager, by the engine, and the floor; a panel per record.

    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "decode_steps")
    figure, (row,) = panels(1, len(records), (5.6, 3.4))
    with course_style():
        for axes, (name, record) in zip(row, records.items(), strict=True):
            models = _models(record)
            bars = {
                setting: [1e3 * step_s(record, model, setting) for model in models]
                for setting in reversed(settings_of(record))
            }
            bars["floor"] = [1e3 * floor_s(record, model) for model in models]
            for i, (label, heights) in enumerate(bars.items()):
                color = SETTING_COLORS.get(label, COLORS["reference"])
                places = [place + 0.27 * (i - 1) for place in range(len(models))]
                drawn = axes.bar(places, heights, 0.26, color=color, label=label)
                axes.bar_label(drawn, fmt=_height, fontsize=7)
            layers = [facts_of(model)["num_hidden_layers"] for model in models]
            labels = [
                f"{model.rpartition('/')[2]}\n{n} layer{'s' * (n > 1)}"
                for model, n in zip(models, layers, strict=True)
            ]
            axes.set_xticks(range(len(models)), labels, fontsize=7.5)
            axes.grid(axis="x", visible=False)
            axes.margins(y=0.12)
            axes.set(title=name, ylabel="ms per step of one token")
            axes.legend(fontsize=8)
    return done(figure)


def verify_cost(records: Mapping[str, Record]) -> Figure:
    """Seconds of a step over several tokens, in steps over one: what verification costs.

    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "decode_steps")
    figure, (row,) = panels(1, len(records), (4.8, 3.2))
    with course_style():
        for axes, (name, record) in zip(row, records.items(), strict=True):
            targets = dict.fromkeys(PAIRS[pair][0] for pair in _pairs(record) or ["tiny"])
            targets = [target for target in targets if target in _models(record)]
            for line, target in zip(("o-", "s--", "^:"), targets, strict=False):
                for setting in settings_of(record):
                    rows = [r for r in record.of("decode_steps", target) if r.setting == setting]
                    if not rows:
                        continue
                    first_s = step_s(record, target, setting)
                    axes.plot(
                        [each.n_input for each in rows],
                        [each.time_s / first_s for each in rows],
                        line,
                        color=SETTING_COLORS[setting],
                        label=f"{target.rpartition('/')[2]}, {setting}",
                    )
            axes.set(title=name, xlabel="tokens in one step", ylabel="times a step of one token")
            axes.set_ylim(0, 1.1 * max(line.get_ydata().max() for line in axes.lines))
            axes.legend(fontsize=8)
    return done(figure)


def gains_by_gamma(record: Record, speedup: Speedup | None = None) -> Figure:
    """Speedup and acceptance by gamma: a column per pair; predictions are dashed.

    Bars: of a speedup from the least to the greatest round, of alpha its 95 % interval.
    Raises: ValueError if the record has no such rows.
    """
    every = gains(record, speedup)
    pairs = list(dict.fromkeys(gain.row.model for gain in every))
    figure, (above, below) = panels(2, len(pairs), (3.7, 2.6))
    with course_style():
        for upper, lower, pair in zip(above, below, pairs, strict=True):
            of_pair = [gain for gain in every if gain.row.model == pair]
            gammas = [gain.gamma for gain in of_pair]
            with_bars(upper, gammas, [gain.speedup for gain in of_pair], "measured", "black")
            for setting in of_pair[0].predicted:
                heights = [gain.predicted[setting] for gain in of_pair]
                color, label = SETTING_COLORS[setting], f"predicted, {setting} steps"
                upper.plot(gammas, heights, "--", color=color, label=label)
            break_even(upper)
            upper.set_title(pair)
            alphas = [gain.alpha for gain in of_pair]
            with_bars(lower, gammas, alphas, "alpha: of the examined", COLORS["weights"])
            ratios = [gain.accepted_of_drafted for gain in of_pair]
            label = "accepted of the drafted"
            lower.plot(gammas, ratios, "s:", color=COLORS["reference"], label=label, ms=4)
            lower.set(xlabel="gamma", ylim=(-0.03, 1.05), xticks=gammas)
            upper.set(ylim=(0, None), xticks=gammas)
        above[0].set_ylabel("speedup")
        below[0].set_ylabel("acceptance")
        above[0].legend(fontsize=7.5)
        below[0].legend(fontsize=7.5)
        figure.supxlabel(f"{every[0].row.note}; {record.provenance}", fontsize=8, color="#555555")
    return done(figure)


def residuals(records: Mapping[str, Record], speedup: Speedup | None = None) -> Figure:
    """Measured speedup over the predicted one, by gamma; the band is 15 % to either side.

    Raises: ValueError if no record has such rows.
    """
    records = with_rows(records, "speculation")
    figure, (row,) = panels(1, len(records), (4.8, 3.2), share_y=True)
    with course_style():
        for axes, (name, record) in zip(row, records.items(), strict=True):
            every, used = gains(record, speedup), {}
            for color, pair in zip(FAMILY_COLORS, _pairs(record), strict=False):
                line = [gain for gain in every if gain.row.model == pair and gain.predicted]
                fast = [next(iter(gain.predicted)) for gain in line]
                used |= dict.fromkeys(fast)
                heights = [
                    gain.speedup[0] / gain.predicted[setting]
                    for gain, setting in zip(line, fast, strict=True)
                ]
                gammas = [gain.gamma for gain in line]
                axes.plot(gammas, heights, "o-", color=color, label=pair, ms=4)
            axes.axhspan(1 - CLOSE, 1 + CLOSE, color=COLORS["free"])
            axes.set(title=f"{name}: {', '.join(used)} steps", xlabel="gamma", ylim=(0, None))
            axes.legend(fontsize=8)
        row[0].set_ylabel("measured / predicted")
    return done(figure)


def figures_of(records: Mapping[str, Record]) -> dict[str, Figure]:
    """Every figure of lab 6 that the records have rows for, by the name of its file."""
    found: dict[str, Figure] = {}
    of_all = {"steps": (steps_by_model, "decode_steps"), "verify": (verify_cost, "decode_steps")}
    of_all["residuals"] = (residuals, "speculation")
    for name, (draw, experiment) in of_all.items():
        if any(has_rows(record, experiment) for record in records.values()):
            found[f"speculative-{name}"] = draw(records)
    of_each: dict[str, tuple[Callable[[Record], Figure], str]] = {
        "gains": (gains_by_gamma, "speculation"),
        "sources": (acceptance_by_source, "by_source"),
        "regimes": (regimes, "regimes"),
        "batches": (by_batch, "batch_sweep"),
    }
    for record_name, record in records.items():
        for name, (draw, experiment) in of_each.items():
            if has_rows(record, experiment):
                found[f"{record_name}-{name}"] = draw(record)
    return found


def _pairs(record: Record) -> list[str]:
    return list(dict.fromkeys(row.model for row in record.of("speculation") if row.is_ok))


def _models(record: Record) -> list[str]:
    return list(dict.fromkeys(row.model for row in record.of("decode_steps") if row.is_ok))


def _height(ms: float) -> str:
    return "" if math.isnan(ms) else f"{ms:.3g}"
