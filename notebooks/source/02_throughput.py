# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 2: measuring throughput
#
# 42 seconds, then 12: the same 512 tokens of the same model on the same H200, the first time and
# the second. A number from a stopwatch is a claim, and most of what can be wrong with it cannot be
# seen in it. In this lab we build
#
# 1. a **timer** that is not fooled by cold starts or by a device that works behind our back;
# 2. a **generation** of exactly as many tokens as we ask for, and a **sweep** over settings that
#    survives running out of memory and being interrupted;
# 3. the **reading** of what comes out: tokens per second, prefill and step, and the limit that
#    each of them meets: launching, memory, or computing;
#
# and at the end every number of ours stands beside the least time that physics allows.
#
# Everything runs on a CPU with the tiny models of the kit; on a GPU the same cells run the models
# of the handout. Results of both kinds of hardware ship with the kit, so without a GPU we analyse
# real numbers of one all the same. **14 points**, 2 of them for words.

# %% given="setup"
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor

from labkit import zoo
from labkit.checks import Checker
from labkit.labs.throughput import experiments, figures
from labkit.labs.throughput import widget as roofline_widget
from labkit.measuring import device
from labkit.measuring.bench import Bench
from labkit.measuring.bounds import machine_of
from labkit.measuring.device import memory_errors_alive
from labkit.measuring.machine import ready, use_one_thread
from labkit.measuring.physics import refusals
from labkit.measuring.profiles import profile, short
from labkit.measuring.records import Provenance, Recorder, recorded_results
from labkit.measuring.roofline import pass_floor
from labkit.models.facts import data_path

use_one_thread()  # several threads wait for each other when the machine is busy
check = Checker("throughput", globals())
print(ready())

# %% [markdown]
# ## 1. A timer
#
# A GPU works behind our back: a call *queues* work and returns at once. On an H200, a product of
# two matrices of 8,192 rows is queued in 20 µs and computed in 1.4 ms, 70 times as long. Whoever
# reads the clock without waiting for the device measures the queueing.
#
# And the first runs are not like the others: they load kernels, allocate memory, pick algorithms.
# So we warm up, and keep no time of it.
#
# The clock, the device and the run are arguments. In the check below they are scripted, so the
# same answer comes out on every machine: what is judged is *what you read when*, never how fast
# your computer is.

# %% exercise="labkit.throughput:time_runs" points=2

# %% experiment="cold_and_warm"
loaded = zoo.load("tiny-target", profile="cpu")
tokens = torch.randint(loaded.vocab_size, (4, 64))
times_s = time_runs(lambda: loaded.model(tokens), time.perf_counter, device.synchronize, 0, 8)
print("one forward pass after the other, in ms:", [round(1e3 * each, 1) for each in times_s])
print(f"first over median: {times_s[0] / statistics.median(times_s):.1f}")

# %% [markdown]
# On a CPU the first run hardly stands out. On a GPU it does, and not only once: in our record of
# an H200 the first run of *each new length* is slow again, because its attention kernels are
# prepared anew for each length that they meet. The first generation of 64 tokens is cold at every
# single step, even if the model has been running for minutes. So what we warm up is the very run
# that we then time. The record keeps the first run of every point, and no median counts it.

# %% experiment="first_runs"
for name, record in recorded_results("throughput-*.jsonl").items():
    rows = [row for row in record.of("output_sweep") if row.is_ok]
    ratios = {row.n_new: round(row.counts["first_s"] / row.time_s, 1) for row in rows}
    print(f"{name}, first run over median, by new tokens: {ratios}")

# %% [markdown]
# ## 2. Exactly so many tokens
#
# A throughput over a *known* number of tokens needs runs of a known number of tokens. Models stop
# when they have had enough, sample when their own settings say so, and take a token for padding
# when it has the padding's id and nobody says otherwise; with random tokens that happens. Write the
# one call that leaves nothing open. (`model.generate` is transformers'; [its
# arguments](https://huggingface.co/docs/transformers/main_classes/text_generation).)

# %% exercise="labkit.throughput:generate_fixed" points=1.5

# %% experiment="tokens_made"
for n_new in (1, 5, 20):
    made = generate_fixed(loaded.model, tokens, n_new)
    print(f"asked for {n_new:2}, made {tuple(made.shape)}")

# %% [markdown]
# ## 3. A sweep that survives
#
# The largest settings run out of memory; that is a *result*. It belongs into the table, and the
# sweep goes on. Two things are easy to get wrong:
#
# * **What is saved when.** A sweep over an hour that is interrupted in minute 59 should have lost a
#   minute. So each row is saved before the next point begins, and a second call skips what is done.
# * **What holds the memory.** An exception remembers every function that it came through, with
#   their variables, and these are the tensors that did not fit. As long as it lives, freeing frees
#   nothing.


# %% experiment="what_an_exception_holds"
def too_much():
    buffer = bytearray(10_000_000)
    raise MemoryError(f"no room beside {len(buffer):,} bytes")


try:
    too_much()
except MemoryError as error:
    frame = error.__traceback__.tb_next.tb_frame
    print(
        f"inside except: {memory_errors_alive()} alive, holding {len(frame.f_locals['buffer']):,}"
    )
    del frame
print(f"after it:      {memory_errors_alive()} alive")

# %% exercise="labkit.throughput:sweep" points=2

# %% [markdown]
# ## 4. Tokens per second
#
# Three runs of 4 sequences and 16 new tokens took 0.5, 0.5 and 3.5 s. The median run made 128
# tokens per second. The mean run says 43, the mean of the three rates 91: one slow run moves the
# one, and a mean of rates weighs a fast run, which took hardly any time, as much as a slow one.

# %% exercise="labkit.throughput:tokens_per_s" points=0.5

# %% [markdown]
# ## 5. The experiments
#
# Your functions now run real models. What they measure goes into `my_throughput.jsonl`, row by row
# with its raw samples, behind one line that says where the numbers come from. Run the cell again
# and it goes on where it stopped; delete the file to measure afresh.
#
# The four experiments: throughput by prompt length; by number of new tokens; of three models; and
# the time of one forward pass by batch size. On a CPU the kept length is 16 tokens instead of 64.
# `short` takes the rows of the tables only: leave it out if you have the time.

# %% experiment="measure"
setting = short(profile())
here = Provenance.here(setting, "lab 02_throughput")
recorder = Recorder("my_throughput.jsonl", here)
harness = experiments.Harness(time_runs, generate_fixed, sweep)
bench = Bench(setting, recorder, harness, point_s=2.0)
print(here)
for experiment in experiments.EXPERIMENTS.values():
    experiment(bench)
mine = recorder.record()

# %% experiment="tables"
print(figures.table(mine, "input_sweep"))
print(figures.table(mine, "output_sweep"))
print(figures.table(mine, "three_models"))
print(figures.table(mine, "forward_by_batch"))

# %% [markdown]
# Two machines: first the kit's record of an H200, then yours. Points are medians, and bars hold the
# middle half of the runs. The grey area is below the floor: nothing can be faster, because moving
# the data and computing take at least that long.

# %% experiment="sweep_figures"
records = {"yours": mine, **recorded_results("throughput-*.jsonl")}
figures.input_sweep(records["throughput-h200"])

# %% experiment="own_input_figure"
figures.input_sweep(records["yours"])

# %% experiment="output_figure"
figures.output_sweep(records["throughput-h200"])

# %% experiment="own_output_figure"
figures.output_sweep(records["yours"])

# %% experiment="forward_figure"
figures.forward_by_batch(records["throughput-h200"])

# %% experiment="own_forward_figure"
figures.forward_by_batch(records["yours"])

# %% [markdown]
# ## 6. Prefill and step
#
# 0.059 s for one new token, 0.635 s for 64, on one core: the line through the times has a slope,
# the *step*, and a beginning, the *prefill*. The prefill already makes the first token.

# %% exercise="labkit.throughput:fit_steps" points=1

# %% experiment="prefill_and_step"
for name, record in records.items():
    rows = [row for row in record.of("output_sweep") if row.is_ok]
    n_new, medians_s = [row.n_new for row in rows], [row.time_s for row in rows]
    prefill_s, step_s = fit_steps(n_new, medians_s)
    line = [prefill_s + (n - 1) * step_s for n in n_new]
    r_squared = 1 - numpy.var(numpy.subtract(medians_s, line)) / numpy.var(medians_s)
    print(
        f"{name}: prefill {1e3 * prefill_s:.1f} ms, step {1e3 * step_s:.2f} ms, "
        f"R² {r_squared:.4f}, {rows[0].model}"
    )

# %% [markdown]
# ## 7. What does a step wait for?
#
# An H200 moves the weights of an 8B model in 3.2 ms. Its measured step takes 34 ms. Neither the
# memory nor the arithmetic is what it waits for: the *processor* is, which launches dozens of
# kernels for each layer, one after the other, at 0.94 ms per layer. So there are three times to
# compare, and the longest is the limit:
#
# | limit | takes | shrinks with |
# |---|---|---|
# | `"launch"` | layers × launch time per layer | fewer layers, captured graphs, compiled steps |
# | `"memory"` | bytes moved ÷ bandwidth | fewer bits, shared KV heads, larger batches |
# | `"compute"` | FLOPs ÷ peak rate | fewer tokens, smaller models |
#
# A launch-bound step costs the same whatever the model's width: "throughput scales with model size"
# is not what such numbers show. The two floors come from `labkit.measuring.roofline`; nothing beats
# them, so a measurement that does is wrong.

# %% exercise="labkit.throughput:limit_of" points=1

# %% [markdown]
# ### Question: three models
#
# Choose a record of the kit (`"throughput-cpu"`, for instance). For each of its three models: how
# many milliseconds does a step take per layer? Take the time of `three_models` divided by its new
# tokens as the step. And which of the three share no KV heads among query heads?

# %% experiment="three_models_table"
for name in recorded_results("throughput-*.jsonl"):
    print(name)
    print(figures.table(records[name], "three_models"))

# %% answer="three_models" points=0.5
three_models = {
    "record": "throughput-cpu",
    "ms_per_layer": {  # of one step
        "small": 1.33,
        "medium": 1.09,
        "older": 1.27,
    },
    "without_shared_kv_heads": ["older"],  # of "small", "medium", "older"
}

# %% [markdown]
# ### Question: which limit holds?
#
# For the same record, which limit holds in each of five regions: a decode step at 64 cached tokens
# of the small and of the medium model; the prefill of the longest prompt that ran; one forward pass
# over 256 tokens, for 1 text and for 16? As launch time per layer take the least of the three that
# you have just computed. Where two limits are within a factor of 1.5, either is accepted.


# %% experiment="floors"
def floors(record, role, n_new, n_cached, batch_size):
    model = profile(record.provenance.profile).roles[role]
    machine, _ = machine_of(record)
    return pass_floor(machine, model, n_new, n_cached, batch_size, record.provenance.dtype)


for name in recorded_results("throughput-*.jsonl"):
    batch_size = profile(records[name].provenance.profile).sweep_batch_size
    longest = max(row.n_input for row in records[name].of("input_sweep") if row.is_ok)
    for region, sizes in {
        "decode_small_model": ("sweep-small", 1, 64, batch_size),
        "decode_medium_model": ("sweep-medium", 1, 64, batch_size),
        "prefill_longest": ("sweep-medium", longest, 0, batch_size),
        "forward_one": ("forward", 256, 0, 1),
        "forward_sixteen": ("forward", 256, 0, 16),
    }.items():
        floor = floors(records[name], *sizes)
        print(
            f"{name}, {region:<20} moving {1e3 * floor.moving_s:9.3f} ms, "
            f"computing {1e3 * floor.computing_s:9.3f} ms"
        )

# %% answer="which_limit" points=1
which_limit = {
    "record": "throughput-cpu",
    "decode_small_model": "launch",  # "launch", "memory" or "compute"
    "decode_medium_model": "launch",
    "prefill_longest": "compute",
    "forward_one": "compute",
    "forward_sixteen": "compute",
}

# %% [markdown]
# ## 8. Your table
#
# Copy your output sweep into the table (the cell prints it ready to paste), and measure one of its
# rows again. No time is right or wrong by itself, and none earns more than another. What is checked
# is that the table agrees with itself, with your second measurement, and with what a machine can
# do: `"CPU"`, the name of your card, or `"another GPU"` if lab 1 has no facts on it. A row that did
# not run is `"out of memory"` or `"skipped"`.

# %% experiment="table_to_paste"
rows = {row.n_new: row for row in mine.of("output_sweep")}
again_row = rows[max(n for n in rows if n <= 64 and rows[n].is_ok)]
again_model = zoo.load_for_timing("sweep-medium", setting)
again_tokens = torch.randint(again_model.vocab_size, (again_row.batch_size, 64)).to(
    again_model.device
)
again_s = time_runs(
    lambda: generate_fixed(again_model.model, again_tokens, again_row.n_new),
    time.perf_counter,
    device.synchronize,
    1,
    3,
)
print(f"{again_row.model} on {here.device}, {here.dtype}, batch of {again_row.batch_size}, 64 in")
for n, row in rows.items():
    if row.is_ok:
        rate = tokens_per_s(row.batch_size, n, row.samples_s)
        print(f'"{n} new": {{"time_s": {row.time_s:.5f}, "tokens_per_s": {rate:.2f}}},')
    else:
        print(f'"{n} new": "{row.outcome}",')
print(f'"again": {{"n_new": {again_row.n_new}, "time_s": {statistics.median(again_s):.5f}}}')

# %% answer="my_table" points=1
my_table = {
    "run": {"model": "tiny-target", "machine": "CPU", "dtype": "float32"},  # or L40S, H100-SXM, ...
    "batch_size": 4,
    "n_input": 64,
    "rows": {
        "1 new": {"time_s": 0.05896, "tokens_per_s": 67.85},
        "4 new": {"time_s": 0.09356, "tokens_per_s": 171.02},
        "16 new": {"time_s": 0.19752, "tokens_per_s": 324.03},
        "64 new": {"time_s": 0.63511, "tokens_per_s": 403.08},
        "256 new": {"time_s": 2.80191, "tokens_per_s": 365.46},
    },
    "again": {"n_new": 64, "time_s": 0.6610},  # one of the rows, measured a second time
}

# %% [markdown]
# The *physics gate* holds every row of a record against the floors of its passes, and against what
# must fit into memory. A row that it refuses cannot have happened. It knows only what is
# impossible: a row that it lets through can still be wrong.

# %% experiment="physics_gate"
for name, record in records.items():
    found = refusals(record)
    print(f"{name}: {len(record.rows)} rows, {len(found)} impossible", *found, sep="\n  ")

# %% [markdown]
# ## 9. A report with six faults
#
# Somebody measured an H100 and wrote it up. Each of the six faults stands in exactly one entry.
# Some show by a division, some by comparing rows, one needs the floors of section 7, one the
# models' configs.
#
# The data sheet of the card: 3,350 GB/s, 989 TFLOP/s in bfloat16. The open check sees only that
# you name six different entries; which are right is judged when you hand in.

# %% experiment="read_the_report"
print(data_path("flawed_report.md").read_text(encoding="utf-8"))

# %% answer="flawed_report" points=1.5
flawed_report = {
    "cold_start": "A",  # a letter from A to R
    "impossible_row": "H",
    "mean_of_rates": "P",
    "wrong_unit": "Q",
    "batch_mislabelled": "L",
    "mha_taken_for_gqa": "N",
}

# %% [markdown]
# ## 10. The roofline, with your points on it
#
# Left of the ridge the slope is the memory's bandwidth, right of it the ceiling is the arithmetic's
# peak. Each dot is a measured pass: how many FLOPs it does per byte that it must move, and how many
# it did per second. A dot far below the roof waits for something that the roof does not know.
# Slide the batch and see where a decode step would have to go to reach the ridge.

# %% experiment="roofline_widget"
roofline_widget.roofline_explorer(mine)

# %% [markdown]
# ### In words: what limits what?
#
# Describe your four experiments in a few sentences each, with numbers. How do time and throughput
# change with the prompt's length and with the number of new tokens, and why? Which model is fastest
# per layer, and does its size explain it? From which batch size on does a forward pass take longer?
# Name the limit each time, and say how you know.

# %% [markdown] written="reflection" points=2
# *Prompt length* (tiny-target, batch 4, 16 new tokens, one core): from 1 to 16 tokens the time
# stays between 0.13 and 0.15 s, because 16 steps of some 9 ms do the waiting and the prefill is
# one more pass; from 128 on it grows, and from 512 to 2,048 tokens it goes from 0.83 to 4.4 s, more
# than in proportion, because attention adds a quadratic term. Throughput falls accordingly: the
# same 64 tokens are made in more time. The long prompts are bound by computing: the floor of
# computing grows with them and is the longest of the three times.
#
# *New tokens*: nearly a straight line (R² 0.995), some 10 ms for each further token behind 59 ms
# for the first. Throughput rises from 68 to 417 tokens/s at 128 new tokens, since the prefill is
# shared out among more of them, and approaches batch ÷ step; at 256 it falls a little again, for
# the cache has grown and is copied at every step.
#
# *Three models*: 12 layers take 1.09 ms each in the medium model and 1.27 ms in the one without
# shared KV heads, the single layer of the small one 1.33 ms, although it has a fiftieth of the
# weights. The floors of moving differ by that factor, the times per layer do not: launching is the
# limit. (The small model's one layer also carries what every step costs beside its layers.) Whole
# steps follow the number of layers. On an H200 it is the same: Qwen3-1.7B and 8B cost 0.85 and
# 0.94 ms per layer, with floors that differ by a factor of four; OLMo-7B, whose layers launch fewer
# kernels, costs 0.66.
#
# *Batch*: on one core a pass over 256 tokens takes 64 ms for one text and 456 ms for eight, in
# proportion, since computing is the limit from the start. On the H200 it is 27 to 28 ms for 1, 2
# and 4 texts, as long as launching takes longer than computing, then 44 and 85 ms. ("Time per
# batch" and "time per sequence" are different columns: the first rises, the second falls.)
#
# *Marking: half a point each for (1) input: flat region and growth, with the reason; (2) output:
# linear, prefill and step told apart; (3) models: per layer, launch rather than size, with numbers;
# (4) batch: where it begins to grow, and why. No marks for fast numbers.*

# %% [markdown]
# ## What we have seen
#
# A step of the tiny model takes 10 ms on one core; moving its weights would take 3.8, computing
# 0.6. A step of an 8B model takes 34 ms on an H200 whose memory could feed it in 3.2. In the one
# most, in the other nine tenths of a step are spent telling the device what to do. Larger batches
# share that cost (lab 5), graphs remove it, speculation (lab 6) makes fewer steps; a KV cache,
# which comes next, saves arithmetic, and we now know where arithmetic is not what we wait for.
