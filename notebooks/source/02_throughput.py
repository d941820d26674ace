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
# <!-- picture: The host queues six launches at once.
# The GPU runs six kernels one after the other. -->
#
# After this lab you can
#
# * time a run correctly, also on a GPU that works while your program goes on;
# * measure a model at many settings, and keep the results if the memory runs out;
# * split the time of a generation into *prefill* and *decode steps*;
# * say what a step waits for (launching, memory or computing), and recognise impossible numbers.
#
# **You need** lab 1 and Python functions that take functions as arguments. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU is
# enough: there the cells run small models. On a GPU they run larger ones. Our measurements on both
# ship with the lab as *records*, so you can analyse a real GPU without having one. Cells with
# `TODO` are yours. The check below each runs a few visible tests. After you hand in, the grader
# runs it on hidden tests.
#
# **Time:** 3 to 4.5 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** On an H100, Llama-3.1-8B generated 512 tokens. The first run took 37 s, and the
# second one {measured:cache-h100 cache_or_not setting=baseline n_new=512 use_cache=True | s .0f} s.
# Which of the two is the speed of the model? Is one of them wrong? The numbers alone do not say.
# So this lab measures with care, and compares each number with the least time that physics allows.
#
# **These words come first.** A *pass* is one call of the model. The first pass of a generation
# reads the whole prompt and makes the first new token: this is the *prefill*. Each later pass reads
# the last token and makes the next one: this is a *step* of *decode*.

# %% given="setup"
import statistics
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy
import torch

from labkit import kit
from labkit.labs import throughput as lab

check = kit.start("throughput", globals())

# %% [markdown]
# ## 1. A timer
#
# A GPU works while your program goes on. A call *queues* work and returns at once. For example,
# multiply two matrices of 8,192 × 8,192 numbers on an H200. This is 1.1 TFLOP, and the card does at
# most 989 TFLOP/s. So it takes at least 1.1 ms. The call returns long before that. If you read the
# clock before the GPU has finished, you measure only how long it takes to queue the work.
#
# The first runs are also different from later ones. They load programs for the GPU (*kernels*),
# allocate memory and choose algorithms. So we first do a few runs that we do not time. This is the
# *warm-up*.
#
# The run, the clock and the wait are arguments of your timer. The check passes a simulated clock
# and a simulated device, so the result is the same on every machine. It judges only *when* you read
# the clock, and never how fast your computer is.
#
# Write it in three stages, and run the check after each:
#
# 1. Loop over the timed runs. Read the clock before and after each. Which lines of the check fail?
# 2. Wait for the device where a failing line asks for it.
# 3. Add the warm-up, and the ValueError.

# %% given="clock"
import time

# %% exercise="labkit.throughput:time_runs" points=2

# %% experiment="cold_and_warm"
loaded = kit.zoo.load("tiny-target", profile="cpu")
tokens = torch.randint(loaded.vocab_size, (4, 64))
times_s = time_runs(
    lambda: loaded.model(tokens), time.perf_counter, kit.device.synchronize, 0, 8
)
print("eight forward passes, in ms:", [round(1e3 * each, 1) for each in times_s])
print(f"first / median: {times_s[0] / statistics.median(times_s):.1f}")

# %% [markdown]
# On a CPU the first run is hardly slower than the others. On a GPU it is clearly slower, and this
# happens again at each new setting. In our record of an H200, most first runs took 1.4 to 2.4 times
# the median. The reason is the library that computed the attention: it prepares new kernels for
# each new length. A generation of 64 tokens has 64 lengths. So the warm-up must be the same run
# that we then time. The next table divides the first run of each setting by the median of the
# others. Which machine needs the warm-up more?

# %% experiment="first_runs"
rows = {}
for record in kit.recorded_results("throughput-*.jsonl").values():
    for row in record.of("output_sweep"):
        if row.is_ok:
            ratio = f"{row.counts['first_s'] / row.time_s:.1f}"
            rows.setdefault(row.n_new, []).append(ratio)
headings = ["new tokens", *kit.recorded_results("throughput-*.jsonl")]
kit.Table(headings, [[n, *r] for n, r in rows.items()], "first run / median")

# %% [markdown]
# ## 2. Exactly so many tokens
#
# To compute tokens per second, you need a known number of tokens, and the same work in each run. By
# default, `model.generate` of transformers guarantees neither:
#
# * A model may stop early, at its end-of-text token.
# * Its `generation_config`, which comes with the weights, may switch sampling on.
# * It may ignore prompt tokens whose id equals the id of the padding. Random prompts contain such
#   tokens.
#
# Write one call that prevents all three. Read [the arguments of
# `generate`](https://huggingface.co/docs/transformers/main_classes/text_generation). The model's
# settings for beam search and for the cache are right already: leave them as they are.

# %% exercise="labkit.throughput:generate_fixed" points=1.5

# %% experiment="tokens_made"
for n_new in (1, 5, 20):
    made = generate_fixed(loaded.model, tokens, n_new)
    print(f"asked for {n_new:2}, made {tuple(made.shape)}")

# %% [markdown]
# ## 3. A sweep that survives
#
# A *sweep* measures many settings, which we call points. The largest ones run out of memory. That
# is a *result*: it belongs in the table, and the sweep goes on. Two things are easy to get wrong:
#
# * **When a row is saved.** If a sweep of one hour is interrupted in minute 59, it should lose only
#   the last minute. So save each row before the next point begins. A second call skips the points
#   that are done.
# * **When memory is freed.** An exception keeps the local variables of every function that it
#   passed through. Among them are large tensors. They cannot be freed while the exception object
#   exists.
#
# Run the next two cells to see that. There `memory_errors_alive()` counts the MemoryErrors that still
# exist. Then write `sweep` in three stages, and run the check after each:
#
# 1. Measure each point and save its row. Skip the points that are done.
# 2. Catch MemoryError, and save its row.
# 3. Free the memory at a place where the exception no longer exists.


# %% given="alive"
from labkit.kit import memory_errors_alive


# %% experiment="what_an_exception_holds"
def too_much():
    buffer = bytearray(10_000_000)
    raise MemoryError(f"no room beside {len(buffer):,} bytes")


try:
    too_much()
except MemoryError as error:
    frame = error.__traceback__.tb_next.tb_frame
    n_bytes = len(frame.f_locals["buffer"])
    n_alive = memory_errors_alive()
    print(f"inside except: {n_alive} exception, holding {n_bytes:,} bytes")
    del frame
print(f"after it:      {memory_errors_alive()} exceptions")

# %% exercise="labkit.throughput:sweep" points=2

# %% [markdown]
# ## 4. Tokens per second
#
# An example: a batch has 4 sequences, and a run makes 16 new tokens for each. Three runs took 0.5,
# 0.5 and 3.5 s.
#
# | how | tokens/s | problem |
# |---|---|---|
# | 64 tokens ÷ median time | 128 | |
# | 64 tokens ÷ mean time | 43 | one slow run changes the result |
# | mean of the three rates | 91 | the slow run takes most of the time, but counts only one third |
#
# We take the median.

# %% exercise="labkit.throughput:tokens_per_s" points=0.5

# %% [markdown]
# ## 5. The experiments
#
# Now your functions measure real models. The file `my_throughput.jsonl` stores each row with its
# raw samples. The first line of the file says where they come from. If you run the cell again, it
# continues where it stopped, and measures what had no room in memory. Delete the file to start
# again. `kit.profile()` has the models and sizes for your machine.
#
# There are four experiments:
#
# * `input_sweep` varies the length of the prompt;
# * `output_sweep` varies the number of new tokens;
# * `three_models` runs a small, a medium and an older model;
# * `forward_by_batch` times one pass over 256 tokens and varies the batch size.
#
# The models for a GPU have random weights: nothing is downloaded, and the times are the same. The
# first experiment makes 64 new tokens on a GPU, and 16 on a CPU. `kit.short(kit.profile())`
# measures only some of the points, which takes about a minute on a CPU. If you have time, replace
# it by `kit.profile()`: this measures all of them.
#
# Each experiment prints two tables, one with times and one with rates:
#
# | column | meaning |
# |---|---|
# | `in`, `new` | tokens of the prompt, and new tokens, of each sequence |
# | `n` | number of timed runs |
# | `time s` | median time of a run, in seconds, by the clock |
# | `middle half` | the range that contains the middle 50 % of the times |
# | `events s` | median time by CUDA events (a GPU's own clock); only on a GPU |
# | `first` | time of the first warm-up run divided by the median |
# | `ms/seq`, `ms/layer` | milliseconds of one pass: per sequence of the batch, and per layer |
# | `MFU` | model FLOPs utilisation: the model's FLOPs per second as a share of the machine's peak |

# %% experiment="measure"
setting = kit.short(kit.profile())
here = kit.Provenance.here(setting, "lab 02_throughput")
recorder = kit.Recorder("my_throughput.jsonl", here)
harness = lab.experiments.Harness(time_runs, generate_fixed, sweep)
bench = kit.Bench(setting, recorder, harness, point_s=2.0)
print(here)
for experiment in lab.experiments.EXPERIMENTS.values():
    experiment(bench)
mine = recorder.record()
print(recorder)

# %% experiment="tables"
for name in lab.experiments.EXPERIMENTS:
    display(lab.tables.table(mine, name))

# %% [markdown]
# The figures show a record of an H200 first, and then yours. Points are medians. Bars show the
# middle half of the runs. The grey area is below the *floor*: the time that moving the data and
# computing take at least. No correct measurement lies in the grey area.

# %% experiment="sweep_figures"
records = {"yours": mine, **kit.recorded_results("throughput-*.jsonl")}
lab.figures.input_sweep(records["throughput-h200"])

# %% experiment="own_input_figure"
lab.figures.input_sweep(records["yours"])

# %% [markdown]
# Would each prompt have room on a smaller card? The H200's record stores the peak memory of each
# run. A run needs a card with at least this memory. So we can predict which runs have room.
# We also measured it: the course's command `labkit measure --memory-gb 24` uses only 24 GB of a GPU,
# and `--memory-gb 80` only 80 GB. You need not run it. Compare the columns "predicted" and
# "measured".

# %% experiment="smaller_cards"
cut = kit.recorded_results("memory-*.jsonl").values()
lab.tables.memory_table(records["throughput-h200"], cut, (24, 80))

# %% experiment="output_figure"
lab.figures.output_sweep(records["throughput-h200"])

# %% experiment="own_output_figure"
lab.figures.output_sweep(records["yours"])

# %% experiment="forward_figure"
lab.figures.forward_by_batch(records["throughput-h200"])

# %% experiment="own_forward_figure"
lab.figures.forward_by_batch(records["yours"])

# %% [markdown]
# ## 6. Prefill and step
#
# On one core of a CPU, one new token takes {measured:throughput-cpu output_sweep n_new=1 | s .3f} s
# and 64 tokens take {measured:throughput-cpu output_sweep n_new=64 | s .3f} s. Draw a straight line
# through such times. Its slope is the time of one *step*. Its value at one new token is the
# *prefill*, because the prefill already makes the first token. Before you write the function,
# compute the step from these two times.

# %% exercise="labkit.throughput:fit_steps" points=1

# %% experiment="prefill_and_step"
fits = []
for name, record in records.items():
    rows = [row for row in record.of("output_sweep") if row.is_ok]
    if len(rows) < 2:
        fits.append([name, "a line needs two times", None, None, None])
        continue
    n_new, medians_s = [row.n_new for row in rows], [row.time_s for row in rows]
    prefill_s, step_s = fit_steps(n_new, medians_s)
    line = [prefill_s + (n - 1) * step_s for n in n_new]
    r_squared = 1 - numpy.var(numpy.subtract(medians_s, line)) / numpy.var(
        medians_s
    )
    times = f"{1e3 * prefill_s:.1f}", f"{1e3 * step_s:.2f}", f"{r_squared:.4f}"
    fits.append([name, rows[0].model, *times])
kit.Table(["record", "model", "prefill ms", "step ms", "R²"], fits)

# %% [markdown]
# Look at the H200. By its fitted line, the prefill takes 7 ms. But the run with one new token took
# {measured:throughput-h200 output_sweep n_new=1 | ms .0f} ms, and this run *is* a prefill. The
# slope is right: the runs take about 33 ms for each token. The line's value at one token is wrong,
# because the long runs decide where the line lies. The five runs with 256 new tokens took between
# 8.0 and 9.8 s. A change of 1 % in their median is 85 ms, more than the whole prefill. So take the
# step from the slope, and the prefill from the run with one new token. (Your `fit_steps` is right:
# keep it.) R² is 1 if all points lie on the line. Here it is close to 1, and does not show the
# problem.
#
# ## 7. What does a step wait for?
#
# For a step of Qwen3-8B with a batch of 8, an H200 moves 15.1 GB of weights at 4.8 TB/s. This takes
# 3.2 ms. (These are all weights but the input embedding: a step reads only a few of its rows.)
# Computing takes 0.12 ms. The measured step takes 33 ms. So the step waits neither for memory nor
# for computing. It waits for the CPU (the *host*), which *launches* the GPU's kernels one by one.
# Each of the 36 layers has dozens of kernels, and launching those of one layer takes 0.91 ms.
# PyTorch's default is to launch each operation when Python reaches it. This is called *eager*.
#
# So three times compete, and the longest one is the limit:
#
# | limit | time | it shrinks with |
# |---|---|---|
# | `"launch"` | layers × launch time per layer | fewer layers, CUDA graphs, compiled code |
# | `"memory"` | bytes moved ÷ bandwidth | fewer bits per number, shared KV heads |
# | `"compute"` | FLOPs ÷ peak FLOP/s | fewer tokens, smaller models |
#
# The last two are *floors*. The bytes are those of the weights and of the KV cache, and the FLOPs
# are about 2 × parameters × tokens. Launching is not a floor in this
# sense, because *CUDA graphs* (many launches, replayed as one) can remove most of it. A measured
# step cannot be below a floor. If it is, the measurement is wrong, or the floor is: on a CPU the
# floor is measured too, and other programs disturb it.
#
# If launching is the limit, a step takes the same time for a large and for a small `d_model`. On a
# CPU, *launch time* means the fixed cost of each layer: the time that Python and PyTorch need,
# whatever the size of the tensors.

# %% exercise="labkit.throughput:limit_of" points=1

# %% [markdown]
# ### Question: three models
#
# Choose one record, for example `"throughput-cpu"`. For each of its three models, how many
# milliseconds does a step take per layer? Take the time of the run in `three_models`, divided by
# its new tokens, as the step. This time contains a share of the prefill, which is small. The column
# `ms/layer` shows the result: compute one of the three yourself, and compare.
#
# Which of the three models use multi-head attention? They have as many KV heads as query heads. The
# cell prints the heads of each model.

# %% experiment="three_models_table"
for name in kit.recorded_results("throughput-*.jsonl"):
    print(name)
    display(lab.tables.table(records[name], "three_models"))
    for role in ("small", "medium", "older"):
        model = kit.profile(records[name].provenance.profile).roles[f"sweep-{role}"]
        s = kit.ModelWork.of(model).shape
        heads = f"{s.n_heads} query heads, {s.n_kv_heads} KV heads"
        print(f"{role}: {model}, {s.n_layers} layers, {heads}")

# %% answer="three_models" points=0.5
three_models = {
    "record": "throughput-cpu",
    "ms_per_layer": {  # milliseconds of one step / layers
        "small": 0.71,
        "medium": 1.20,
        "older": 1.36,
    },
    "without_shared_kv_heads": ["older"],  # of "small", "medium", "older"
}

# %% [markdown]
# ### Question: which limit holds?
#
# Use the same record. Which limit holds in each of these five cases?
#
# * `decode_small_model`, `decode_medium_model`: a decode step with 64 cached tokens;
# * `prefill_longest`: the prefill of the longest prompt that ran;
# * `forward_one`, `forward_sixteen`: one pass over 256 tokens, for 1 text and for 16 texts.
#
# The launch time is layers × launch time per layer. Take the smallest of your three numbers above
# as launch time per layer, because it contains the least moving and computing. The cell below
# prints the layers and the two floors. The check accepts each limit whose time is within a factor
# of 1.5 of the longest.


# %% experiment="floors"
def layers_and_floor(record, role, n_new, n_cached, batch_size):
    model = kit.profile(record.provenance.profile).roles[role]
    machine, _ = kit.machine_of(record)
    floor = kit.pass_floor(
        machine, model, n_new, n_cached, batch_size, record.provenance.dtype
    )
    return kit.ModelWork.of(model).shape.n_layers, floor


rows = []
for name in kit.recorded_results("throughput-*.jsonl"):
    batch_size = kit.profile(records[name].provenance.profile).sweep_batch_size
    longest = max(
        row.n_input for row in records[name].of("input_sweep") if row.is_ok
    )
    for region, sizes in {
        "decode_small_model": ("sweep-small", 1, 64, batch_size),
        "decode_medium_model": ("sweep-medium", 1, 64, batch_size),
        "prefill_longest": ("sweep-medium", longest, 0, batch_size),
        "forward_one": ("forward", 256, 0, 1),
        "forward_sixteen": ("forward", 256, 0, 16),
    }.items():
        n_layers, floor = layers_and_floor(records[name], *sizes)
        floors_ms = (1e3 * floor.moving_s, 1e3 * floor.computing_s)
        rows.append([name, region, n_layers, *(f"{ms:.3f}" for ms in floors_ms)])
kit.Table(["record", "case", "layers", "moving ms", "computing ms"], rows)

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
# Copy your output sweep into the table. The next cell prints it ready to paste. It also measures
# one row a second time, for the entry `"again"`.
#
# A slow machine costs you no points. The check compares the rows with each other, with your second
# measurement, and with what the machine can do. `"machine"` is `"CPU"`, the name of your card as in
# lab 1, or `"another GPU"`. For a row that did not run, write `"out of memory"` or `"skipped"`. Three
# rows must have run. If the GPU has no room for them, measure on the CPU: in section 5, write
# `kit.profile("cpu")` for `kit.profile()`, and another file name.

# %% experiment="table_to_paste"
rows = {row.n_new: row for row in mine.of("output_sweep")}
again_row = max(
    (row for row in rows.values() if row.is_ok and row.n_new <= 64),
    key=lambda row: row.n_new,
    default=None,
)
again_s = lab.experiments.measured_again(bench, again_row) if again_row else []
size = f"batch of {setting.sweep_batch_size}, 64 in"
print(f"{setting.roles['sweep-medium']} on {here.device}, {here.dtype}, {size}")
for n, row in rows.items():
    if row.is_ok:
        rate = tokens_per_s(row.batch_size, n, row.samples_s)
        cell = f'{{"time_s": {row.time_s:.5f}, "tokens_per_s": {rate:.2f}}}'
        print(f'"{n} new": {cell},')
    else:
        print(f'"{n} new": "{row.outcome}",')
if again_s:
    median_s = statistics.median(again_s)
    print(f'"again": {{"n_new": {again_row.n_new}, "time_s": {median_s:.5f}}}')
else:
    print("No row of at most 64 tokens could be measured again.", recorder)

# %% answer="my_table" points=0.5
my_table = {
    # the machine is "CPU", "L40S", ...
    "run": {"model": "tiny-target", "machine": "CPU", "dtype": "float32"},
    "batch_size": 4,
    "n_input": 64,
    "rows": {
        "1 new": {"time_s": 0.09932, "tokens_per_s": 40.27},
        "4 new": {"time_s": 0.11455, "tokens_per_s": 139.67},
        "16 new": {"time_s": 0.23363, "tokens_per_s": 273.94},
        "64 new": {"time_s": 0.69945, "tokens_per_s": 366.00},
        "256 new": {"time_s": 2.71705, "tokens_per_s": 376.88},
    },
    "again": {"n_new": 64, "time_s": 0.7180},  # a row, measured a second time
}

# %% [markdown]
# The *physics gate* compares the time of each row with the floors of its passes, and the memory
# that the row needs with the memory of the machine. Then it compares the rows of a sweep with each
# other: a longer run cannot take less time, and the prefill from the fitted line cannot be
# negative. If it rejects a row, the row is wrong, or other programs disturbed the measurement:
# measure it again. The gate finds only impossible rows: a row that it accepts can still be wrong.

# %% experiment="physics_gate"
for name, record in records.items():
    found = kit.refusals(record)
    print(
        f"{name}: {len(record.rows)} rows, {len(found)} rejected",
        *found,
        sep="\n  ",
    )

# %% [markdown]
# ## 9. A report with six faults
#
# We made up a report about an H100. It has 18 entries, A to R, and each of the six faults is in
# exactly one entry. You find some by a division and some by comparing rows. One needs the floors of
# section 7. One needs the heads of the models, which section 7 prints for the H200's record.
#
# The data sheet of the card says 3,350 GB/s, and 989 TFLOP/s in bfloat16. Here the check tests only
# that you name six different entries. A green tick does not mean that they are right: that is
# judged after you hand in.

# %% experiment="read_the_report"
display(
    {"text/markdown": kit.data_path("flawed_report.md").read_text("utf-8")},
    raw=True,
)

# %% answer="flawed_report" points=1.5
flawed_report = {
    "cold_start": "A",  # a letter from A to R; here: a first run was timed
    "impossible_row": "H",  # faster than the floors allow
    "mean_of_rates": "P",  # section 4 has the example
    "wrong_unit": "Q",
    "batch_mislabelled": "L",  # the numbers are those of another batch size
    "mha_taken_for_gqa": "N",  # this model's query heads do not share KV heads
}

# %% [markdown]
# ## 10. The roofline, with your points on it
#
# The *roofline* shows the best that a machine can do. The y axis shows FLOP/s. The x axis shows the
# *arithmetic intensity* of a pass: FLOPs for each byte that it must move. On the left, the line is
# bandwidth × intensity. On the right, it is the peak FLOP/s. The corner is the *ridge*: there,
# moving and computing take equally long.
#
# Each dot is a measured pass. If a dot is far below the roof, the pass waits for something else,
# for example launching. Move the slider for the batch: at which batch size would a decode step
# reach the ridge? (This question gives no points.)

# %% experiment="roofline_widget"
lab.widget.roofline_explorer(mine)

# %% [markdown]
# ### Other machines
#
# The table shows Qwen3-8B on the cards of lab 1, from their data sheets. It gives the floor of a
# decode step and of a prefill, and the ridge point. The numbers are floors, not measurements.

# %% experiment="other_cards"
lab.tables.cards_table("Qwen/Qwen3-8B")

# %% [markdown]
# ### Written answer: other people's numbers
#
# 1. A report on GPT-2 says: "Batch 1: 32 new tokens took 3.74 s, which is 17.1 tokens/s." Is this
#    right? Give the number that you compute, and one mistake that could explain the difference.
# 2. Qwen3-8B has 36 layers. A host launches one layer in 0.94 ms, and the batch is 1. Use the table
#    above. On which cards is launching the limit of a decode step? Somebody replaces an L40S by an
#    H200: what becomes faster, a decode step or a prefill of 8,192 tokens?

# %% [markdown] written="other_numbers" points=0.5
# *1.* No. 32 / 3.74 = 8.6 tokens/s. The reported number is twice as large. A possible mistake: the
# 32 tokens of a prompt were counted as well, since 64 / 3.74 = 17.1. (A batch of 2 that was not
# mentioned would also explain it.)
#
# *2.* Launching takes 36 × 0.94 = 34 ms. On the L4 the floor of a step is 50 ms, so memory is the
# limit. The T4's floor is 47 ms too, but the weights (16.4 GB) do not fit on it. On all other cards
# the floor is 3 to 20 ms, so launching is the limit. A decode step stays at about 34 ms on the
# H200. The prefill becomes faster: its floor falls from 369 to 135 ms, because computing is the
# limit.
#
# *Marking (0.5 points):*
#
# * *0.25 for 8.6 tokens/s and one mistake that gives the factor 2.*
# * *0.25 if launching (34 ms) is compared with the floors, and only the prefill becomes faster.*

# %% [markdown]
# ### Written answer: what limits what?
#
# Describe *your own* four experiments of section 5, with their figures and tables. Write 3 to 4
# sentences for each, with numbers, and name the limit each time (launch, memory or compute). Say
# how you know.
#
# 1. Prompt length: how do time and throughput change, and why? In the H200's table of section 5,
#    which prompt is the first without room on a card of 24 GB, and on one of 80 GB?
# 2. New tokens: is the curve a line? Which part is prefill, and which is steps?
# 3. Three models: which one is fastest per layer? Does its size explain this?
# 4. Batch: from which batch size on does a pass take longer than for one text, and why?

# %% [markdown] written="reflection" points=2
# These are the answers for the record of one CPU core, with the H200 for comparison.
#
# *1.* With 1 to 16 prompt tokens, the time stays between
# {measured:throughput-cpu input_sweep n_input=1 | s .2f}
# and {measured:throughput-cpu input_sweep n_input=16 | s .2f} s. There are 16 passes of
# about 9 ms, and the prefill is only one of them. From 128 tokens on the time grows. From 512 to
# 2,048 tokens it grows from {measured:throughput-cpu input_sweep n_input=512 | s .2f}
# to {measured:throughput-cpu input_sweep n_input=2048 | s .1f} s. This is more than in proportion,
# because attention has a
# quadratic term. The throughput falls, because the same 64 tokens take more time. Long prompts are
# limited by computing: their computing floor is the longest of the three times. By the peaks of the
# H200, the first prompt without room has 4,096 tokens at 24 GB, and 32,768 tokens at 80 GB.
#
# *2.* The curve is nearly a line:
# {measured:throughput-cpu output_sweep n_new=1 | ms .0f} ms for the first token, and about 10 ms
# for each further
# token. Throughput rises from {measured:throughput-cpu output_sweep n_new=1 | tokens/s .0f}
# to {measured:throughput-cpu output_sweep n_new=64 | tokens/s .0f} tokens/s at 64 new tokens,
# because more tokens share the
# prefill. Then it hardly rises:
# {measured:throughput-cpu output_sweep n_new=256 | tokens/s .0f} tokens/s at 256. The steps now
# take nearly all of the time.
#
# *3.* A layer takes {measured:throughput-cpu three_models model=tiny-target | ms/192 .2f} ms
# in the medium model and {measured:throughput-cpu three_models model=tiny-mha | ms/192 .2f} ms
# in the older one. In the small model
# its only layer takes {measured:throughput-cpu three_models model=tiny-draft | ms/16 .2f} ms,
# although it has 24 times fewer weights. The floors of the medium
# model's layer are 0.14 ms (moving) and 0.10 ms (computing). So neither moving nor computing
# decides. Each layer has a fixed cost, which this lab calls launching. (The small model's layer
# also carries the cost of each step outside the layers.) On an H200 it is similar:
# {measured:throughput-h200 three_models model=Qwen3-1.7B | ms/1792 .2f} ms for Qwen3-1.7B
# and {measured:throughput-h200 three_models model=Qwen3-8B | ms/2304 .2f} ms for Qwen3-8B, although
# their floors differ by a factor of four.
#
# *4.* On one core, a pass takes {measured:throughput-cpu forward_by_batch batch_size=1 | ms .0f} ms
# for one text and {measured:throughput-cpu forward_by_batch batch_size=8 | ms .0f} ms for eight. It
# grows in proportion
# from the start, because computing is the limit. On the H200 it takes
# {measured:throughput-h200 forward_by_batch batch_size=4 | ms .0f}
# to {measured:throughput-h200 forward_by_batch batch_size=1 | ms .0f} ms for 1, 2 and 4
# texts, because launching takes longer than computing. Then it takes
# {measured:throughput-h200 forward_by_batch batch_size=8 | ms .0f}
# and {measured:throughput-h200 forward_by_batch batch_size=16 | ms .0f} ms.
#
# *Marking (2 points). Fast numbers earn nothing:*
#
# * *0.5 for the prompt length: a flat part and a growing part, the reason for each, two numbers.*
# * *0.5 for new tokens: a line, with prefill and step named and given in ms.*
# * *0.5 for the models: time per layer compared, and a fixed cost per layer instead of size as the
#   reason.*
# * *0.5 for the batch: where the time begins to grow, and which limit holds before and after.*

# %% [markdown]
# ## What you have shown
#
# Your timer and your sweep give numbers that another person can trust. With them you found what a
# step waits for. A step of an 8B model takes 33 ms on an H200, although its memory could supply the
# weights in 3.2 ms. So the memory is busy for a tenth of the step. The rest is waiting for
# launches. Larger batches share the launch time (lab 5), CUDA graphs remove it, and speculation
# (lab 6) makes fewer steps. Lab 3 asks when a KV cache helps.
#
# **Read next**
#
# * [Making Deep Learning Go Brrrr From First Principles](https://horace.io/brrr_intro.html) (He,
#   2022): computing, moving data and launching as the three limits.
# * [Transformer Inference Arithmetic](https://kipp.ly/transformer-inference-arithmetic/) (Chen,
#   2022): floors of a step, computed by hand.
