"""Every figure of lab 5: those of the notebook and of its player, on recorded data."""

import random
from collections.abc import Iterator
from dataclasses import replace

from labkit import batching
from labkit.labs.batching import figures, timeline
from labkit.labs.batching import widget as batching_widget
from labkit.labs.batching.card import serve_on_card
from labkit.labs.batching.driver import serve
from labkit.labs.batching.policies import StaticDecodeLoop
from labkit.labs.batching.recorded import MeasuredCosts
from labkit.labs.batching.workload import (
    FixedCosts,
    Job,
    Setup,
    exponential_lengths,
    poisson,
)
from labkit.measuring.plots import CourseFigure
from labkit.measuring.records import recorded_results


def every_figure() -> Iterator[tuple[str, CourseFigure]]:
    """Names and figures."""
    jobs = [Job(i, 20 + i, max_new=2 + i % 7, arrival_s=i // 3) for i in range(8)]
    jobs.append(Job(8, 900, 7, arrival_s=3))
    small = Setup(prefill_batch=3, prefill_capacity=200, decode_batch=3, decode_capacity=120)
    loops = batching.PrefillLoop(), batching.DecodeLoop()
    run = serve(jobs, small, *loops, costs=FixedCosts(prefill=2, decode=1, transfer=0.5))
    yield "first", timeline.draw(run, "Nine requests on small servers")
    lengths = exponential_lengths(24, 12, random.Random(4))
    jobs = [Job(i, 16, n) for i, n in enumerate(lengths)]
    ways = {"static batches of 8": StaticDecodeLoop(loops[1]), "continuous, 8 slots": loops[1]}
    runs = {
        name: serve(jobs, Setup(prefill_batch=24, decode_batch=8), loops[0], loop,
                    costs=FixedCosts(prefill=3))
        for name, loop in ways.items()
    }  # fmt: skip
    yield "beside", timeline.draw_beside(runs)
    long = Setup(prefill_capacity=20_000, decode_capacity=600_000, max_length=8192)
    jobs = poisson(40, 6, random.Random(1), n_input=range(3000, 5001), n_output=range(5, 300))
    costs, rhos = MeasuredCosts.recorded(), (0.3, 0.5, 0.7, 0.9)
    yield "loads", figures.draw_loads({
        limit_s: {
            way: {rho: [limit_s * 50 - rho * i / 5 for i in range(3)] for rho in rhos}
            for way in figures.LOOKS
        }
        for limit_s in (0.02, 0.01)
    })  # fmt: skip
    yield "ledger", figures.figures_of(recorded_results())["ledger"]()
    yield "budgets", figures.draw_budgets({
        n: [serve_on_card(jobs, replace(long, budget=n), batching.Scheduler(), costs=costs)]
        for n in (256, 1024, 4096)
    })  # fmt: skip
    run = batching_widget.simulate(
        batching.PrefillLoop, batching.DecodeLoop, **batching_widget.CHOSEN
    )
    yield "player", batching_widget.draw(run)
    yield "half of it", batching_widget.draw(run, run.makespan_s / 2)
