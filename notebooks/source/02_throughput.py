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
# <!-- picture: the queue of launches and the clock -->
#
# After this lab you can
#
# * write a **timer** that cold starts and a busy device cannot deceive;
# * measure a **sweep** over settings that survives running out of memory, and an interruption;
# * split a measured time into prefill and decode steps;
# * say what limits a step: launching, memory or computing.
#
# **You need** Python and a little PyTorch. Lab 1 explains the sizes of models. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU is
# enough: it runs the kit's tiny models, and a GPU runs the handout's models in the same cells.
# Records of an H200 ship with the kit. Cells with `TODO` are yours. The check below each plays a
# few open cases. After you hand in, the same checks play other cases.
#
# **Time:** 4 to 6 hours. **14 points**, 2 of them for written answers:
#
# | part | points |
# |---|---|
# | 1. A timer | 2 |
# | 2. Exactly so many tokens | 1.5 |
# | 3. A sweep that survives | 2 |
# | 4. Tokens per second | 0.5 |
# | 6. Prefill and step | 1 |
# | 7. What does a step wait for? | 2.5 |
# | 8. Your table | 1 |
# | 9. A report with six faults | 1.5 |
# | 10. The roofline, with your points on it | 2 |
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** The same model made the same 512 tokens on the same H200 twice. The first run
# took 42 s, the second 12 s. Which of the two is right? You cannot see it in the number. So a
# measurement needs a method, and this lab builds one. At the end, every number of yours stands
# next to the shortest time that physics allows.

# %% given="setup"
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy
import torch
from IPython.display import Markdown
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
# A GPU works in the background: a call only *queues* work, and returns at once. On an H200, a
# product of two matrices of 8,192 rows is queued in 20 µs and computed in 1.4 ms, which is 70
# times as long. If you read the clock without waiting for the device, you measure the queueing.
#
# The first runs also differ from the others. They load kernels, allocate memory and choose
# algorithms. So we warm up, and keep no time of the warm-up runs.
#
# The clock, the device and the run are arguments. In the check below they follow a script, so the
# same answer comes out on every machine. The check judges *what you read when*. It never judges
# how fast your computer is.

# %% exercise="labkit.throughput:time_runs" points=2

# %% experiment="cold_and_warm"
loaded = zoo.load("tiny-target", profile="cpu")
tokens = torch.randint(loaded.vocab_size, (4, 64))
times_s = time_runs(lambda: loaded.model(tokens), time.perf_counter, device.synchronize, 0, 8)
print("one forward pass after the other, in ms:", [round(1e3 * each, 1) for each in times_s])
print(f"first over median: {times_s[0] / statistics.median(times_s):.1f}")

# %% [markdown]
# On a CPU the first run hardly differs. On a GPU it does, and more than once. In our record of an
# H200, the first run of *each new length* is slow again, because its attention kernels are
# prepared for each length. The first generation of 64 tokens is slow in every step, even if the
# model has been running for minutes. So the run that warms up must be the same run that we then
# time. The record keeps the first run of every point, and no median counts it.

# %% experiment="first_runs"
for name, record in recorded_results("throughput-*.jsonl").items():
    rows = [row for row in record.of("output_sweep") if row.is_ok]
    ratios = {row.n_new: round(row.counts["first_s"] / row.time_s, 1) for row in rows}
    print(f"{name}, first run over median, by new tokens: {ratios}")

# %% [markdown]
# ## 2. Exactly so many tokens
#
# Throughput is tokens per second, so we must know how many tokens a run makes. But a model may
# stop early, may sample because its own settings say so, and may treat a token as padding because
# it has the padding's id. With random tokens this happens. Write the one call that fixes all of
# this. (`model.generate` belongs to transformers; see [its
# arguments](https://huggingface.co/docs/transformers/main_classes/text_generation).)

# %% exercise="labkit.throughput:generate_fixed" points=1.5

# %% experiment="tokens_made"
for n_new in (1, 5, 20):
    made = generate_fixed(loaded.model, tokens, n_new)
    print(f"asked for {n_new:2}, made {tuple(made.shape)}")

# %% [markdown]
# ## 3. A sweep that survives
#
# The largest settings run out of memory. This is a *result*: it belongs in the table, and the
# sweep goes on. Two things are easy to get wrong:
#
# * **When to save.** Save each row at once. A sweep of one hour that is interrupted after 59
#   minutes should lose only one minute. So save each row before the next point begins. A second
#   call skips what is done.
# * **Why memory stays full.** An exception keeps every function that it came through, with their
#   variables, and these are the tensors that did not fit. While the exception exists, this memory
#   cannot be freed.


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
# tokens per second. The mean of the times gives 43, because one slow run changes it much. The
# mean of the three rates gives 91, because it counts a fast run as much as a slow one, although
# the fast run took much less time.

# %% exercise="labkit.throughput:tokens_per_s" points=0.5

# %% [markdown]
# ## 5. The experiments
#
# Your functions now run real models. Their results go into `my_throughput.jsonl`, one row after
# the other, with all samples. The first line of the file says where the numbers come from. If you
# run the cell again, it continues where it stopped. Delete the file to measure again from the
# beginning.
#
# There are four experiments: throughput by prompt length, throughput by number of new tokens,
# three models, and the duration of one forward pass by batch size. Before you run the cell,
# predict: which of them will grow in proportion, and which will stay flat at first? On a CPU the
# fixed number of new tokens is 16 instead of 64. `short` keeps only the rows of the tables.
# Remove it if you have time.

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
# First look at the kit's record of an H200, then at your machine. Points are medians, and bars
# hold the middle half of the runs. The grey area is below the floor. Nothing can be that fast,
# because moving the data and computing take at least that long.

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
# On one core, one new token takes 0.059 s and 64 new tokens take 0.635 s. Draw a line through the
# times. Its slope is the duration of a decode *step*. Its value at one token is the *prefill*,
# which already makes the first token.

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
# An H200 moves the weights of an 8B model in 3.2 ms, but the measured step takes 34 ms. So the
# step waits neither for the memory nor for the arithmetic. It waits for the *processor*, which
# launches dozens of kernels for each layer, one after the other: 0.94 ms per layer. There are
# three durations to compare, and the longest one limits the step:
#
# | limit | duration | shrinks with |
# |---|---|---|
# | `"launch"` | layers × launch time per layer | fewer layers, captured graphs, compiled steps |
# | `"memory"` | bytes moved ÷ bandwidth | fewer bits, shared KV heads, larger batches |
# | `"compute"` | FLOPs ÷ peak rate | fewer tokens, smaller models |
#
# A step that launching limits takes the same time for any width of the model. So such numbers do
# not show that "throughput scales with model size". `labkit.measuring.roofline` gives the other
# two durations. They are *floors*: nothing can be faster, so a measurement below a floor is
# wrong.

# %% exercise="labkit.throughput:limit_of" points=1

# %% [markdown]
# ### Question: three models
#
# Choose a record of the kit, for instance `"throughput-cpu"`. For each of its three models: how
# many milliseconds does a step take per layer? To get the step, divide the time in `three_models`
# by its new tokens. Which of the three models do not share KV heads among query heads?

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
# Take the same record and five regions. Two are a decode step at 64 cached tokens, of the small
# and of the medium model. One is the prefill of the longest prompt that ran. Two are a forward
# pass over 256 tokens, for 1 text and for 16. Which limit holds in each? As the launch time per
# layer, use the smallest of the three values that you have just computed. If two limits are
# within a factor of 1.5, both answers are accepted.


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
# Copy your output sweep into the table; the cell prints it in the right form. Then measure one of
# its rows again. No time is right or wrong by itself, and a faster one earns no more points. The
# check compares the table with itself, with your second measurement, and with what a machine can
# do. As the machine, write `"CPU"`, the name of your card, or `"another GPU"` if lab 1 has no
# facts about it. For a row that did not run, write `"out of memory"` or `"skipped"`.

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
# The *physics gate* compares every row of a record with the floors of its passes, and with what
# must fit into memory. A row that it refuses cannot have happened. It only finds what is
# impossible. A row that it accepts can still be wrong.

# %% experiment="physics_gate"
for name, record in records.items():
    found = refusals(record)
    print(f"{name}: {len(record.rows)} rows, {len(found)} impossible", *found, sep="\n  ")

# %% [markdown]
# ## 9. A report with six faults
#
# Somebody measured an H100 and wrote a report. It has six faults, each in exactly one entry. A
# division shows some of them, and comparing rows shows others. One needs the floors of section 7,
# and one needs the models' configs.
#
# The data sheet of the card says 3,350 GB/s, and 989 TFLOP/s in bfloat16. The open check only
# sees whether you name six different entries. The grader judges which are right.

# %% experiment="read_the_report"
Markdown(data_path("flawed_report.md").read_text(encoding="utf-8"))

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
# A *roofline* shows the highest possible rate. Left of the *ridge*, bandwidth limits it, so the
# line rises. Right of the ridge, the peak rate of the arithmetic limits it. Each dot is a
# measured pass: how many FLOPs it does per byte that it must move, and how many it did per
# second. The share of the peak rate that a pass reaches is its *MFU* (model FLOPs utilization). A
# dot far below the roof waits for something else, such as launching. Move the slider: how large
# must the batch be for a decode step to reach the ridge?

# %% experiment="roofline_widget"
roofline_widget.roofline_explorer(mine)

# %% [markdown]
# ### In words: what limits what?
#
# Explain your own figures in a few sentences each, with numbers. How do time and throughput
# change with the length of the prompt, and with the number of new tokens? Why? Which model is
# fastest per layer, and is its size the reason? From which batch size on does a forward pass take
# longer? Name the limit each time, and say how you know it.

# %% [markdown] written="reflection" points=2
# *Prompt length* (tiny-target, batch 4, 16 new tokens, one core): from 1 to 16 tokens the time
# stays between 0.13 and 0.15 s. The 16 steps of about 9 ms take most of it, and the prefill is
# one more pass. From 128 tokens on it grows. From 512 to 2,048 tokens it goes from 0.83 to 4.4 s,
# more than in proportion, because attention adds a quadratic term. Throughput falls, since the
# same 64 tokens take longer. Computing limits the long prompts: its floor grows with them and is
# the longest of the three.
#
# *New tokens*: nearly a straight line (R² 0.995), with 59 ms for the first token and about 10 ms
# for each further one. Throughput rises from 68 to 417 tokens/s at 128 new tokens, because more
# tokens share one prefill. It approaches batch ÷ step. At 256 it falls a little again, because
# the cache has grown and every step copies it.
#
# *Three models*: a layer takes 1.09 ms in the medium model and 1.27 ms in the one without shared
# KV heads. In the small one it takes 1.33 ms, although that has a fiftieth of the weights. The
# floors of moving differ by that factor, but the times per layer do not. So launching is the
# limit. (The one layer of the small model also carries what every step costs beside its layers.)
# Whole steps follow the number of layers. An H200 shows the same: Qwen3-1.7B and 8B take 0.85 and
# 0.94 ms per layer, and their floors differ by a factor of four. OLMo-7B launches fewer kernels
# per layer and takes 0.66 ms.
#
# *Batch*: on one core a pass over 256 tokens takes 64 ms for one text and 456 ms for eight. This
# is in proportion, because computing is the limit from the start. On the H200 it takes 27 to 28
# ms for 1, 2 and 4 texts, as long as launching takes longer than computing, and then 44 and 85
# ms. ("Time per batch" and "time per sequence" are different columns: the first rises, the second
# falls.)
#
# *Marking:*
#
# * *0.5 if the input sweep has a flat and a growing region, each with its reason.*
# * *0.5 if the output sweep is a line, and the answer separates prefill and step.*
# * *0.5 if the models are compared per layer, and launching, not size, explains them, with
#   numbers.*
# * *0.5 if the answer says where a pass begins to grow with the batch, and why.*
#
# *A fast number is worth nothing by itself.*

# %% [markdown]
# ## What you have shown
#
# A step of the tiny model takes 10 ms on one core. Moving its weights would take 3.8 ms, and
# computing 0.6 ms. A step of an 8B model takes 34 ms on an H200, although the memory needs only
# 3.2 ms. On the core more than half of a step, and on the H200 nine tenths of it, tell the device
# what to do. Larger batches share this cost (lab 5), captured graphs remove it, and speculation
# (lab 6) makes fewer steps. A KV cache, which is next, saves arithmetic. You now know when
# arithmetic is not the limit.
#
# ## What to read next
#
# * [Making Deep Learning Go Brrrr From First Principles](https://horace.io/brrr_intro.html) (He,
#   2022): computing, memory and overhead.
# * [Roofline: An Insightful Visual Performance Model for Multicore
#   Architectures](https://dl.acm.org/doi/10.1145/1498765.1498785) (Williams et al., 2009).
# * [Efficiently Scaling Transformer Inference](https://arxiv.org/abs/2211.05102) (Pope et al.,
#   2022): prefill, decode and MFU of large models.
