"""A run of the student's two loops to play with: sliders for the load and for both servers.

It needs ipywidgets; without it there is the picture of one whole run. Viewers that know no widgets
show that picture too.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from labkit.labs.batching import timeline
from labkit.labs.batching.driver import Loop, serve
from labkit.labs.batching.log import Run
from labkit.labs.batching.policies import DynamicDecodeLoop, StaticDecodeLoop
from labkit.labs.batching.workload import Job, RooflineCosts, Setup
from labkit.measuring.plots import png_bytes, with_still
from labkit.measuring.roofline import ModelWork, Roofline

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
    try:
        import ipywidgets
    except ImportError:
        print("(ipywidgets is not installed: one run instead of the player)")
        return draw(run_with(**CHOSEN))

    look = {"style": {"description_width": "9em"}, "layout": ipywidgets.Layout(width="26em")}
    slider = partial(ipywidgets.SelectionSlider, continuous_update=False, **look)
    controls = {
        "rate": slider(options=RATES, value=CHOSEN["rate"], description="requests/s"),
        "spread": slider(
            options=_named_spreads(), value=CHOSEN["spread"], description="answers' lengths"
        ),
        "slots": slider(options=SLOTS, value=CHOSEN["slots"], description="slots"),
        "memory": slider(
            options=[(f"{n:,}", n) for n in MEMORY], value=CHOSEN["memory"], description="memory"
        ),
        "batches": ipywidgets.Dropdown(options=list(POLICIES), description="batches", **look),
    }
    play = ipywidgets.Play(max=N_FRAMES, interval=FRAME_MS, value=N_FRAMES)
    time = ipywidgets.IntSlider(
        max=N_FRAMES, value=N_FRAMES, description="time", readout=False, **look
    )
    ipywidgets.jslink((play, "value"), (time, "value"))
    picture = ipywidgets.Image(format="png", layout=ipywidgets.Layout(max_width="100%"))
    runs: list[Run] = []

    def show(_: Any = None) -> None:
        now_s = None if time.value == N_FRAMES else runs[-1].makespan_s * time.value / N_FRAMES
        picture.value = png_bytes(draw(runs[-1], now_s))

    def serve_again(_: Any = None) -> None:
        runs[:] = [run_with(**{name: control.value for name, control in controls.items()})]
        show()

    for control in controls.values():
        control.observe(serve_again, names="value")
    time.observe(show, names="value")
    serve_again()
    load, servers = list(controls.values())[:2], list(controls.values())[2:]
    columns = [ipywidgets.VBox([*load, ipywidgets.HBox([play, time])]), ipywidgets.VBox(servers)]
    return with_still(ipywidgets.VBox, lambda box: box.children[-1].value)(
        [ipywidgets.HBox(columns), picture]
    )


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
        prefill_capacity=8192, decode_capacity=memory, decode_batch=slots, tolerance=100,
        max_length=2 * LONGEST,
    )  # fmt: skip
    costs = RooflineCosts(Roofline.of(CARD), ModelWork.of(MODEL))
    return serve(jobs, setup, prefill_loop(), POLICIES[batches](decode_loop()), costs=costs)


def output_lengths(spread: float) -> list[int]:
    """The answers' lengths: all alike without spread, of an exponential law with a spread of 1."""
    rng = random.Random(3)
    if not spread:
        return [MEAN_OUTPUT] * N_REQUESTS
    shape = spread**-2
    drawn = [rng.gammavariate(shape, MEAN_OUTPUT / shape) for _ in range(N_REQUESTS)]
    return [min(LONGEST, 1 + round(length)) for length in drawn]


def draw(run: Run, now_s: float | None = None) -> Figure:
    """The timeline of a run, with its throughput in the title."""
    n_tokens = sum(len(event.ids) for event in run.events("prefill", "decode"))
    model, seconds = MODEL.rpartition("/")[2], run.makespan_s
    title = f"{model} on two {CARD}: {n_tokens / seconds:,.0f} tokens/s" if seconds else model
    return timeline.draw(run, f"stopped: {run.stopped}" if run.stopped else title, now_s=now_s)


def _named_spreads() -> Sequence[tuple[str, float]]:
    names = {0.0: "all alike", 1.0: "exponential"}
    return [(names.get(spread, f"± {spread:.0%}"), spread) for spread in SPREADS]


POLICIES: dict[str, Callable[[Loop], Loop]] = {
    "continuous": lambda loop: loop,
    "dynamic": DynamicDecodeLoop,
    "static": StaticDecodeLoop,
}
