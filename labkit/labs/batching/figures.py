"""Figures of many runs: goodput by load, what a budget decides, and the ledger of all labs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import median

from labkit.labs.batching.log import Event, Run
from labkit.labs.batching.metrics import summarize
from labkit.measuring.drawn import with_bars
from labkit.measuring.panels import WIDTH, panels, say
from labkit.measuring.plots import COLORS, CourseFigure, Drawing
from labkit.measuring.records import Record
from labkit.measuring.roofline import Roofline

LOOKS = {  # by the way to serve; one colour has one meaning in all labs
    "separate": {"color": COLORS["cache"], "marker": "o"},
    "together": {"color": COLORS["plain"], "marker": "s"},
    "chunked 512": {"color": COLORS["method"], "marker": "^"},
    "chunked 8192": {"color": COLORS["other"], "marker": "v"},
}
LEDGER = ("cache-h100", "speculative-h100", "serving-2gpu")  # records of one card
MODEL, PAIR = "meta-llama/Llama-3.1-8B", "llama-8b-1b"
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
            values = [(median(each), min(each), max(each)) for each in found]
            with_bars(axes, [*runs], values, label, COLORS[color])
            axes.set_xscale("log", base=2)
            axes.set_xticks([*runs], [f"{budget:,}" for budget in runs])
            axes.set(xlabel="budget of a pass, tokens", ylabel=label)
            axes.set_ylim(bottom=0)
        caption = "Points: the median of several runs. Bars: the smallest and the largest of them."
        return say(figure, "A smaller budget: shorter pauses, a later first token", "", caption)


def figures_of(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """The figure of the ledger, if the records of all its rows are there."""
    found = {name: records[name] for name in LEDGER if name in records}
    return {"ledger": partial(draw_ledger, found)} if len(found) == len(LEDGER) else {}


def ledger(records: Mapping[str, Record]) -> dict[str, float]:
    """Tokens per second of one model on one card, by what each lab adds.

    records: those of `LEDGER`, all of one H100 and Llama-3.1-8B.
    """
    cache, steps, serving = (records[name] for name in LEDGER)
    generated = {
        (row.setting, row.use_cache, row.n_new): row.tokens_per_s or 0.0
        for row in cache.of("cache_or_not", MODEL)
    }
    captured = {
        row.setting: 1 / row.time_s for row in steps.of("decode_steps", MODEL) if row.n_input == 1
    }
    drafted = [row.tokens_per_s or 0.0 for row in steps.of("speculation") if PAIR in row.model]
    many = {
        row.batch_size: row.batch_size / row.time_s
        for row in serving.of("decode_pass", MODEL)
        if row.counts["n_cached"] == 2048
    }
    return {
        "prompt of 32,000, no cache (lab 3)": generated["long prompt", False, 32],
        "prompt of 32,000, cache (lab 3)": generated["long prompt", True, 32],
        "short prompt, cache (lab 2)": generated["baseline", True, 512],
        "one CUDA graph a step (lab 6)": captured["captured"],
        "and a scripted draft of 1B (lab 6)": max(drafted),
        "64 requests in a step (lab 5)": many[64],
    }


def draw_ledger(records: Mapping[str, Record]) -> CourseFigure:
    """The ledger as bars on a logarithmic axis, beside the floor of one request."""
    numbers = ledger(records)
    step_bytes = records[LEDGER[1]].of("decode_steps", MODEL)[0].counts["step_bytes"]
    floor = Roofline.of("H100-SXM").bandwidth / step_bytes
    with panels(1, 1, (WIDTH, 3.4)) as (figure, ((axes,),)):
        places = range(len(numbers))
        axes.barh(places, [*numbers.values()], color=COLORS["method"], height=0.6)
        for place, number in zip(places, numbers.values(), strict=True):
            is_long = number > 10  # its number stands inside
            axes.annotate(
                f"{number:,.2g}" if number < 1 else f"{number:,.0f}", (number, place),
                (-4 if is_long else 4, 0), textcoords="offset points", va="center",
                ha="right" if is_long else "left", color="white" if is_long else "black",
            )  # fmt: skip
        axes.axvline(floor, color=COLORS["reference"], linestyle="--", label="floor of one request")
        axes.set_yticks(places, [*numbers])
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="tokens per second", xlim=(0.3, 4 * max(numbers.values())))
        axes.legend(loc="upper right")
        caption = (
            "Each bar is a row of a record; the first two make 32 tokens. The floor reads all "
            "weights once for each token, at the bandwidth of the data sheet. The draft is "
            "scripted: it is accepted as often as the record says. The requests of lab 5 have "
            "2,048 tokens."
        )
        title = "One model, one card: what each lab adds (Llama-3.1-8B, H100)"
        return say(figure, title, str(records[LEDGER[1]].provenance), caption)
