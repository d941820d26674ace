"""A run of the student's two loops to play with, moment by moment.

A notebook has sliders for the load and for both servers.

It needs ipywidgets; without it there is the picture of one whole run. Viewers that know no widgets
show that picture too.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from labkit.labs.batching import timeline
from labkit.labs.batching.driver import Loop, serve
from labkit.labs.batching.log import Run
from labkit.labs.batching.policies import POLICIES
from labkit.labs.batching.recorded import MeasuredCosts
from labkit.labs.batching.workload import Job, Setup
from labkit.measuring.plots import CourseFigure
from labkit.measuring.widgets import Control, Frames, has_widgets, player

MODEL, CARD = "meta-llama/Llama-3.1-8B", "H200-SXM"
N_REQUESTS, MEAN_OUTPUT, LONGEST = 24, 60, 1024
RATES = (5, 10, 20, 40, 80, 160, 320)
SPREADS = (0.0, 0.25, 0.5, 1.0, 1.5)
SLOTS = (1, 2, 4, 8, 16, 32)
MEMORY = tuple(2**i for i in range(11, 17))
CHOSEN = {"rate": 80, "spread": 1.0, "slots": 8, "memory": 2**14, "batches": "continuous"}
N_FRAMES, FRAME_MS = 50, 300

LoopMaker = Callable[[], Loop]


def batching_player(prefill_loop: LoopMaker, decode_loop: LoopMaker) -> Any:
    """Sliders for arrivals, lengths, slots and memory; a run of the loops, and a button to play it.

    Both are called without arguments to make a loop, once for each run. Without ipywidgets: returns
    the picture of one run.
    """
    run_with = partial(simulate, prefill_loop, decode_loop)
    if not has_widgets("one run instead of the player"):
        return draw(run_with(**CHOSEN))

    def picture(run: Run, moment: int) -> CourseFigure:
        return draw(run, None if moment == N_FRAMES else run.makespan_s * moment / N_FRAMES)

    controls = [
        Control("rate", "requests/s", CHOSEN["rate"], RATES),
        Control("spread", "answers' lengths", CHOSEN["spread"], _named_spreads()),
        Control("slots", "slots", CHOSEN["slots"], SLOTS),
        Control("memory", "memory", CHOSEN["memory"], [(f"{n:,}", n) for n in MEMORY]),
        Control("batches", "batches", CHOSEN["batches"], list(POLICIES), is_menu=True),
    ]
    frames = Frames("time", lambda run: N_FRAMES, FRAME_MS, is_whole=True)
    return player([[*controls[:2], frames], controls[2:]], run_with, picture)


def demo() -> Any:
    """The player of this labkit's own answers, for `labkit show`."""
    from labkit.batching import DecodeLoop, PrefillLoop

    return batching_player(PrefillLoop, DecodeLoop)


def simulate(
    prefill_loop: LoopMaker,
    decode_loop: LoopMaker,
    *,
    rate: float,
    spread: float,
    slots: int,
    memory: int,
    batches: str,
) -> Run:
    """Serve some requests with these loops; steps take what an H200 takes at least.

    No client says how much it wants, so each reserves room up to the longest length.

    rate: arrivals per second. spread: standard deviation of the answers' lengths over their mean.
    memory: tokens that the decode server holds. batches: a key of `POLICIES`.
    """
    rng = random.Random(8)
    jobs, now_s = [], 0.0
    for i, n_output in enumerate(output_lengths(spread)):
        now_s += rng.expovariate(rate)
        jobs.append(Job(i, rng.randint(100, 900), stops_after=n_output, arrival_s=now_s))
    setup = Setup(
        prefill_capacity=8192, decode_capacity=memory, decode_batch=slots,
        max_length=2 * LONGEST,
    )  # fmt: skip
    costs = MeasuredCosts.recorded()
    return serve(jobs, setup, prefill_loop(), POLICIES[batches](decode_loop()), costs=costs)


def output_lengths(spread: float) -> list[int]:
    """The answers' lengths: all alike without spread, exponential with a spread of 1."""
    rng = random.Random(3)
    if not spread:
        return [MEAN_OUTPUT] * N_REQUESTS
    shape = spread**-2
    drawn = [rng.gammavariate(shape, MEAN_OUTPUT / shape) for _ in range(N_REQUESTS)]
    return [min(LONGEST, 1 + round(length)) for length in drawn]


def draw(run: Run, now_s: float | None = None) -> CourseFigure:
    """The timeline of a run; at its end, with its throughput in the title."""
    n_tokens = sum(len(event.ids) for event in run.events("prefill", "decode"))
    title, seconds = f"{MODEL.rpartition('/')[2]} on two {CARD}", run.makespan_s
    if seconds and now_s is None:
        title = f"{title}: {n_tokens / seconds:,.0f} tokens/s"
    return timeline.draw(run, f"stopped: {run.stopped}" if run.stopped else title, now_s=now_s)


def _named_spreads() -> Sequence[tuple[str, float]]:
    names = {0.0: "all alike", 1.0: "exponential"}
    return [(names.get(spread, f"± {spread:.0%}"), spread) for spread in SPREADS]
