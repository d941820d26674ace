"""The figures of lab 6 from texts that were really written: by source and by regime."""

from labkit.labs.speculative.records import Gain, Speedup, best, gains, words_of
from labkit.measuring.panels import WIDTH, break_even, name_ends, panels, say
from labkit.measuring.plots import COLORS, CourseFigure
from labkit.measuring.records import NothingMeasured, Record
from labkit.measuring.tables import or_sentence


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
