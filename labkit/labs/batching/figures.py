"""The lab's figures of many runs: goodput by load, and what the budget of a pass decides."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from labkit.labs.batching.log import Event, Run
from labkit.labs.batching.metrics import summarize
from labkit.measuring.panels import WIDTH, panels, say
from labkit.measuring.plots import COLORS, CourseFigure

LOOKS = {  # by the first word of a way to serve; one colour has one meaning in all labs
    "separate": {"color": COLORS["cache"], "marker": "o"},
    "together": {"color": COLORS["plain"], "marker": "s"},
    "chunked 512": {"color": COLORS["method"], "marker": "^"},
    "chunked 8192": {"color": COLORS["other"], "marker": "v"},
}
Shares = Mapping[str, Mapping[float, Sequence[float]]]


def longest_pause_s(run: Run) -> float:
    """Seconds between two successive steps, for a request that is in both."""
    return max((b.end_s - a.end_s for a, b in _shared_steps(run)), default=0.0)


def _shared_steps(run: Run) -> Iterator[tuple[Event, Event]]:
    """Steps that follow each other and have a request in common."""
    steps = pairwise(run.events("decode"))
    return ((a, b) for a, b in steps if {*a.ids} & {*b.ids})


def draw_loads(by_limit: Mapping[float, Shares]) -> CourseFigure:
    """The part of the requests in time by load, a panel for each limit on a token's seconds.

    by_limit: by the limit, the way to serve and ρ, the parts of several runs. A line goes through
    their medians; its band goes from the smallest to the largest.
    """
    with panels(1, len(by_limit), (WIDTH, 3.6), sharey=True) as (figure, (row,)):
        for axes, (limit_s, shares) in zip(row, by_limit.items(), strict=True):
            for way, parts in shares.items():
                rhos, look = [*parts], LOOKS[way]
                percents = [[100 * each for each in parts[rho]] for rho in rhos]
                lows, highs = [min(each) for each in percents], [max(each) for each in percents]
                axes.fill_between(rhos, lows, highs, color=look["color"], alpha=0.15, linewidth=0)
                axes.plot(rhos, [median(each) for each in percents], label=way, ms=5, **look)
            axes.set(
                xlabel="ρ: load of one card that computes all prompts", ylim=(0, 103), xticks=rhos
            )
            axes.set_title(f"a token every {1e3 * limit_s:.0f} ms", fontsize=10)
        row[0].set_ylabel("requests in time, %")
        row[0].legend(loc="lower left")
        caption = "Lines: the median of several runs. Bands: the smallest and the largest of them."
        return say(figure, "Which way is best depends on the limit and on the load", "", caption)


def draw_budgets(runs: Mapping[int, Sequence[Run]]) -> CourseFigure:
    """By the budget of a pass: the longest pause in an answer, and the median TTFT.

    runs: several for each budget. A bar goes from the smallest number to the largest.
    """
    with panels(1, 2, (WIDTH, 3.2)) as (figure, (row,)):
        numbers = {
            "longest pause, ms": (longest_pause_s, "too much"),
            "median TTFT, ms": (lambda run: summarize(run).ttft_s.median, "method"),
        }
        for axes, (label, (number_of, color)) in zip(row, numbers.items(), strict=True):
            found = [[1e3 * number_of(run) for run in each] for each in runs.values()]
            axes.plot([*runs], [median(each) for each in found], "o-", color=COLORS[color])
            lows, highs = [min(each) for each in found], [max(each) for each in found]
            axes.vlines([*runs], lows, highs, color=COLORS[color], linewidth=5, alpha=0.3)
            axes.set_xscale("log", base=2)
            axes.set_xticks([*runs], [f"{budget:,}" for budget in runs])
            axes.set(xlabel="budget of a pass, tokens", ylabel=label)
            axes.set_ylim(bottom=0)
        caption = "Points: the median of several runs. Bars: the smallest and the largest of them."
        return say(figure, "A smaller budget: shorter pauses, a later first token", "", caption)
