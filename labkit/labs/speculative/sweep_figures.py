"""The figures of lab 6 from texts that were really written: by source, by regime, by batch."""

from matplotlib.figure import Figure

from labkit.labs.speculative.panels import break_even, done, panels, with_bars
from labkit.labs.speculative.records import ALONE, Gain, Speedup, best, gains, token_s, words_of
from labkit.measuring.plots import COLORS, FAMILY_COLORS, course_style
from labkit.measuring.records import Record


def acceptance_by_source(
    record: Record, pair: str = "tiny", speedup: Speedup | None = None
) -> Figure:
    """alpha and speedup of each source of prompts, at the pair's best gamma.

    Raises: ValueError if the record has no such rows.
    """
    chosen = best(gain for gain in gains(record, speedup) if gain.row.model == pair)
    every = gains(record, speedup, "by_source")
    shown = [gain for gain in every if (gain.row.model, gain.gamma) == (pair, chosen.gamma)]
    figure, ((left, right),) = panels(1, 2, (4.4, 3.0))
    with course_style():
        for axes, name in ((left, "alpha"), (right, "speedup")):
            middles, lows, highs = zip(*(getattr(gain, name) for gain in shown), strict=True)
            places = range(len(shown))
            axes.bar(places, middles, 0.6, color=FAMILY_COLORS[: len(shown)])
            axes.vlines(places, lows, highs, color="black", linewidth=1.5)
            axes.axhline(getattr(chosen, name)[0], color=COLORS["reference"], ls="--", lw=1.2)
            axes.set_xticks(places, [words_of(gain.row)[1] for gain in shown])
            axes.grid(axis="x", visible=False)
            axes.set(title=f"{name}, gamma {chosen.gamma} (dashed: all prompts)")
    return done(figure)


def regimes(record: Record, speedup: Speedup | None = None) -> Figure:
    """Speedup by gamma: a panel per kind of prompt, a line per draft and number of new tokens.

    A ring marks the best gamma of a line; below the thick line at 1 drafting is a loss.
    Raises: ValueError if the record has no such rows.
    """
    every = gains(record, speedup, "regimes")
    kinds = list(dict.fromkeys(words_of(gain.row)[1] for gain in every))
    figure, (row,) = panels(1, len(kinds), (4.8, 3.4), share_y=True)
    with course_style():
        for axes, kind in zip(row, kinds, strict=True):
            lines: dict[str, list[Gain]] = {}
            for gain in every:
                _, found, length, draft = words_of(gain.row)
                if found == kind:
                    lines.setdefault(f"{draft}, {length}", []).append(gain)
            lengths = list(dict.fromkeys(label.partition(", ")[2] for label in lines))
            for label, line in lines.items():
                draft, _, length = label.partition(", ")
                color = COLORS["weights"] if draft == "model" else COLORS["cache"]
                style = "s--" if lengths.index(length) else "o-"
                points = [(gain.gamma, gain.speedup[0]) for gain in line]
                axes.plot(*zip(*points, strict=True), style, color=color, label=label, ms=3.5)
                top = best(line)
                axes.plot(top.gamma, top.speedup[0], "o", ms=11, mfc="none", mec=color)
            break_even(axes)
            axes.set(title=f"{kind} prompts", xlabel="gamma")
        row[0].set_ylabel("speedup")
        row[0].legend(fontsize=8)
    return done(figure)


def by_batch(record: Record, speedup: Speedup | None = None) -> Figure:
    """alpha by the size of the batch, and tokens per second with the draft and without.

    Raises: ValueError if the record has no such rows.
    """
    every = gains(record, speedup, "batch_sweep")
    sizes = [gain.row.batch_size for gain in every]
    alone = {r.batch_size: r for r in record.of("batch_sweep") if r.setting == ALONE}
    figure, ((left, right),) = panels(1, 2, (4.4, 3.0))
    with course_style():
        with_bars(left, sizes, [gain.alpha for gain in every], "alpha", COLORS["weights"])
        left.set(title="alpha", ylim=(0, 1))
        rates = {
            every[0].row.setting: [gain.row.batch_size / gain.token_s for gain in every],
            ALONE: [size / token_s(alone[size]) for size in sizes],
        }
        for color, (label, heights) in zip(FAMILY_COLORS[1::2], rates.items(), strict=False):
            right.plot(sizes, heights, "o-", color=color, label=label)
        right.set(title="tokens per second, all rows together", ylim=(0, None))
        right.legend(fontsize=8)
        for axes in (left, right):
            axes.set(xlabel="texts in a batch", xticks=sizes)
    return done(figure)
