"""Two loops that serve many requests: continuous batching, prefill and decode apart.

Many requests are served on two servers, one for prefill and one for decode, on a virtual clock:

workload   what clients ask for, what the servers hold, what their work takes
traffic    requests as two services had them; traces: as you have downloaded them
log        all that happened in a run, and stretches of time in it
servers    the primitives that a scheduler calls; every call goes into the log
card       one card, whose passes a scheduler fills; passes: its log read again
driver     lets two loops run, in the order of time or against it
replay     a log read again: who waited and who held what at each place; rules and faults
rules      the rules of the lab, each also a check of a loop in `checks`
policies   other ways to make batches
metrics    what users and operators see, and bounds to hold it against
timeline   a run as a picture; figures: many runs
real       the same loops on a real model, and on GPUs
measured   what it takes on GPUs, for a record; recorded: costs from one; compared: both
"""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.batching": "LOOK_AHEAD",
        "labkit.labs.batching.": "timeline",
        "labkit.labs.batching.checks.partners": "BatchByBatchDecode",
        "labkit.labs.batching.card": "serve_on_card",
        "labkit.labs.batching.compared": "on_two_gpus",
        "labkit.labs.batching.driver": "ORDERS serve",
        "labkit.labs.batching.figures": "draw_budgets draw_loads",
        "labkit.labs.batching.metrics": "alike mean_ttft_md1 padding_waste summarize",
        "labkit.labs.batching.policies": "StaticDecodeLoop",
        "labkit.labs.batching.real.one_process": "generate_alone serve_real",
        "labkit.labs.batching.recorded": "MeasuredCosts",
        "labkit.labs.batching.replay": "in_words",
        "labkit.labs.batching.rules": "faults",
        "labkit.labs.batching.traces": "read_trace",
        "labkit.labs.batching.traffic": "at_load chat_like code_like evenly",
        "labkit.labs.batching.widget": "batching_player",
        "labkit.labs.batching.workload": "FixedCosts Job RooflineCosts Setup "
        "exponential_lengths poisson",
    },
)
