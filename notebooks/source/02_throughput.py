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
# * say what a step waits for (launching, memory, computing), and recognise impossible numbers;
# * choose a batch size by speed for one user, by throughput and by price.
#
# **You need** lab 1 and Python functions that take functions as arguments. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU is
# enough: there the cells run small models. On a GPU they run larger ones. Our measurements on both
# ship with the lab as *records*, so you can analyse a real GPU without having one. Yours are each
# `TODO`, each `...`, and your name. The check below such a cell runs a few visible tests. After you
# hand in, the grader runs it on hidden tests.
#
# **Time:** 4 to 5.5 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** On an H100, Llama-3.1-8B generated 512 tokens. The first run took 37 s, and the
# second one {measured:cache-h100 cache_or_not setting=baseline n_new=512 use_cache=True | s .0f} s.
# Which of the two is the speed of the model? Is one of them wrong? The numbers alone do not say.
# So this lab measures with care, and compares each number with a *floor*: the least time that the
# hardware needs.
#
# **These words come first.** A *pass* is one call of the model. The first pass of a generation
# reads the whole prompt and makes the first new token: this is the *prefill*. Each later pass reads
# the last token and makes the next one: this is a *step* of *decode*.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
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
# most 989 TFLOP/s in bfloat16. So it takes at least 1.1 ms. The call returns long before that. If
# you read the clock before the GPU has finished, you measure only how long it takes to queue the
# work.
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

# %% exercise="labkit.throughput:time_runs" points=2 minutes=25 level=2

# %% experiment="cold_and_warm"
loaded = kit.zoo.load("tiny-target", profile="cpu")
tokens = torch.randint(loaded.vocab_size, (4, 64))
times_s = time_runs(
    lambda: loaded.model(tokens), time.perf_counter, kit.device.synchronize, 0, 8
)
print("eight forward passes, in ms:", [round(1e3 * each, 1) for each in times_s])
print(f"first / median: {times_s[0] / statistics.median(times_s):.1f}")

# %% [markdown]
# On a CPU the first run is hardly slower than the others. On a GPU it is clearly
# slower, and this happens again at most new settings. In our record of an H200, seven of nine first
# runs took 1.4 to 2.3 times the median, and one took 10 times. The reason for the seven is the
# library that computed the attention (cuDNN): it prepares new kernels for each new length. The one
# was the first generation with a decode step, which loads more. (The first setting of each model had
# a run before, so its value is of a second run.) A generation of 64
# tokens has 64 lengths. So the warm-up must be the same run that we then time. (The 37 s above were
# such a first run.) The next table divides the first run of each setting by the median of the timed
# ones.

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
# ## 2. Find the three bugs
#
# To compute tokens per second, you need a known number of tokens, and the same work in each run.
# This function should see to that. It has three bugs, and none of them raises an error:
#
# ```python
# def generate_fixed(model, tokens, n_new):
#     made = model.generate(tokens, max_new_tokens=n_new)
#     return made[:, tokens.shape[1] :]
# ```
#
# Run the next cell. It gives the function a small model that has the settings of many published
# ones. Each line shows what a bug does. Then write the function without them. You find what you
# need in [the arguments of
# `generate`](https://huggingface.co/docs/transformers/main_classes/text_generation). The settings
# for beam search and for the cache are right already: leave them as they are. (Pass arguments to
# `generate`. Do not pass a `GenerationConfig`: there, `eos_token_id=None` means the model's own.)

# %% experiment="three_bugs"
lab.bugs.symptoms(loaded.model)

# %% exercise="labkit.throughput:generate_fixed" points=1 minutes=25 level=2

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
#   exists. (On a GPU, PyTorch raises `torch.OutOfMemoryError`, which is no MemoryError. Our
#   functions turn it into one.)
#
# Run the next two cells to see that. There `memory_errors_alive()` counts the MemoryErrors that
# still exist. Then write `sweep` in three stages, and run the check after each:
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

# %% exercise="labkit.throughput:sweep" points=2 minutes=30 level=2

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
# The median is the typical run, and we take it. All users together got 43 tokens/s, which servers
# report beside the slowest 1 % of the requests.

# %% exercise="labkit.throughput:tokens_per_s" points=0.5 minutes=5 level=1

# %% [markdown]
# ## 5. The experiments
#
# Now your functions measure real models. The file `my_throughput.jsonl` stores each row with its
# raw samples. The first line of the file says where they come from. If you run the cell again, it
# continues where it stopped, and tries again what ran out of memory. Delete the file to start
# again. `kit.profile()` has the models and sizes for your machine.
#
# There are three experiments:
#
# * `input_sweep` varies the length of the prompt;
# * `output_sweep` varies the number of new tokens;
# * `forward_by_batch` times one pass over texts of 256 tokens and varies the batch size.
#
# The models for a GPU have random weights: nothing is downloaded, and for these models the times
# are the same. The first experiment makes 64 new tokens on a GPU, and 16 on a CPU. Each point is
# run 10 times, or 5 times if a run takes more than 5 s. `kit.short(kit.profile())` measures only
# some of the points, which takes three to five minutes on a CPU. If you have time, replace it by
# `kit.profile()`: this measures all of them.
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
# | `first` | time of the first warm-up run divided by the median of the timed runs |
# | `ms/seq`, `ms/layer` | milliseconds of one pass: per sequence of the batch, and per layer |
# | `MFU` | model FLOPs utilisation: the model's FLOPs per second as a share of the machine's peak |

# %% experiment="measure"
setting = kit.short(kit.profile())
here = kit.Provenance.here(setting, "lab 02_throughput")
recorder = kit.Recorder("my_throughput.jsonl", here)
harness = lab.experiments.Harness(time_runs, generate_fixed, sweep)
bench = kit.Bench(setting, recorder, harness, point_s=2.0, is_thorough=True)
print(here)
for name in lab.experiments.OWN:
    lab.experiments.EXPERIMENTS[name](bench)
mine = recorder.record()
print(recorder)

# %% experiment="tables"
for name in lab.experiments.OWN[1:]:
    display(lab.tables.table(mine, name))

# %% [markdown]
# The figures show a record of an H200 first, and then yours. On the H200 the batch is
# 8, the model of the first two is Qwen3-8B, and that of the third is Qwen3-4B. Points are medians.
# Bars show the middle half of the runs. The grey area is below the *floor*: the longer of the times
# that moving the data and computing take at least. On a card with a data sheet, no correct
# measurement lies in the grey area. The floor of a CPU is itself measured, so other programs can
# disturb it.

# %% experiment="sweep_figures"
records = {"yours": mine, **kit.recorded_results("throughput-*.jsonl")}
lab.figures.input_sweep(records["throughput-h200"])

# %% experiment="own_input_figure"
lab.figures.input_sweep(records["yours"])

# %% [markdown]
# Would each prompt have room on a smaller card? The H200's record stores the peak memory of each
# run. A run needs a card with at least this memory. So we can predict which runs have room. We also
# measured it, on an H100 limited to 24 GB and on an H200 limited to 80 GB. (These are 10⁹ bytes. By
# the driver, a card of "80 GB" has 85.5: a run of 83.1 GB may just have room there.)

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
# through such times. Its slope is the time of one *step*. Its value at one new token estimates the
# *prefill*, because the prefill already makes the first token. Before you write the function,
# compute the step from these two times.

# %% exercise="labkit.throughput:fit_steps" points=1 minutes=20 level=2

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
# Look at the H200. By its fitted line, the prefill takes 7 ms. But the run with one
# new token took {measured:throughput-h200 output_sweep n_new=1 | ms .0f} ms, and this run *is* a
# prefill. The slope is right: the runs take about 33 ms for each token. The line's value at one
# token is wrong, because the long runs decide where the line lies. The five runs with 256 new
# tokens took between 8.0 and 9.8 s. If their median changes by 1 %, the line's value at one token
# moves by 7 ms, and it is only 7 ms. So take the step from the slope, and the prefill from the run
# with one new token. (Your `fit_steps` is right: keep it.) R² is 1 if all points lie on the line.
# Here it is close to 1, and does not show the problem.
#
# ## 7. Count what a step launches
#
# For a step of Qwen3-8B with a batch of 8, an H200 moves 15.14 GB of weights at 4.8 TB/s. This
# takes 3.2 ms. (These are all weights except the input embedding: a step reads only a few of its
# rows.) Computing takes 0.12 ms. The measured step takes 33 ms. At peak rates, memory and computing
# explain a tenth of it. Slow kernels or the CPU (the *host*) take the rest, and we test the CPU
# first. It tells the GPU which kernels to run, one by one. This is called *launching*. PyTorch's
# default is to launch each operation when Python reaches it. This is called *eager*.
#
# So how many operations does a step have? PyTorch sends each one through its *dispatcher*, which
# chooses the code for it. A `TorchDispatchMode` sees them all:
#
# ```python
# class Watching(TorchDispatchMode):
#     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
#         ...  # called for each operation, in place of it
#
# with Watching():
#     ...  # operations in here are seen
# ```

# %% given="dispatch"
from collections import Counter

from torch.utils._python_dispatch import TorchDispatchMode

# %% exercise="labkit.throughput:count_operations" points=1.5 minutes=25 level=2

# %% [markdown]
# Now count a decode step. The width of a model changes no count, so the cell builds thin models with
# a width of 16. A model with four layers has one layer more than a model with three: their
# difference is a layer. Some operations only make a *view*: another shape for the same numbers, such
# as `aten.t.default`. A view starts no kernel on a GPU. The cell counts views separately.

# %% experiment="layer_counts"
FAMILIES = ("Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B", "allenai/OLMo-7B-0724-hf")
of_a_layer, counted = {}, []
for name in FAMILIES:
    three, four = (
        Counter(count_operations(lab.steps.pass_of(model)))
        for model in (
            lab.steps.thin_model(name, n, dtype="bfloat16") for n in (3, 4)
        )
    )
    of_a_layer[name] = four - three
    n_launched, n_views = lab.steps.launched(of_a_layer[name])
    outside = lab.steps.launched(three)[0] - 3 * n_launched
    counted.append([name, n_launched, n_views, outside])
kit.Table(["model", "a layer", "views of a layer", "outside the layers"], counted)

# %% experiment="most_common"
for name, counts in of_a_layer.items():
    print(name, counts.most_common(4))

# %% [markdown]
# A Qwen3 layer has four norms, and each needs eight operations: convert to float32,
# square, mean, add, root, multiply, convert back, multiply. A Llama layer has two norms. Both have
# seven products of matrices (`aten.mm`), beside the attention. So the number of operations says
# little about the number of FLOPs.
#
# The next table shows eager decode steps of a batch of one after 300 cached tokens. Another table
# shows the heads of four models.

# %% experiment="eager_steps"
for name, record in kit.recorded_results("speculative-h?00.jsonl").items():
    print(name)
    display(lab.tables.eager_table(record))
lab.tables.heads_table()

# %% [markdown]
# ### Question: the time of an operation
#
# Choose one of the two records. For each of three models, how many operations does a step launch?
# Views are not counted. Multiply the operations of a layer by the layers, and add those outside.
# (Qwen3-1.7B has the same layers as Qwen3-8B, but fewer.) Divide the time of the step by that. A
# difference of 15 % in the count is accepted, because versions of transformers differ. (This
# assumes that a step is only launching. Section 8 tests that.)
#
# Which of the four models use multi-head attention? They have as many KV heads as query heads.

# %% answer="operations" points=0.5
operations = {
    "record": "speculative-h200",
    "operations": {  # launched by one step: all layers, and what is outside them
        "Qwen3-1.7B": 28 * 56 + 21,
        "Qwen3-8B": 36 * 56 + 21,
        "Llama-3.1-8B": 32 * 40 + 21,
    },
    "us_per_operation": {  # microseconds of the eager step / operations
        "Qwen3-1.7B": 14.2,
        "Qwen3-8B": 14.1,
        "Llama-3.1-8B": 16.1,
    },
    "without_shared_kv_heads": ["OLMo-7B"],  # of the four models
}

# %% [markdown]
# An operation takes nearly the same time in all three models, 14 to 16 µs on the H200. If views
# count as well, it is 8.5 to 8.7 µs in all three: the host needs time for a view, too. A step of
# Qwen3-0.6B takes as long as one of Qwen3-1.7B, although it moves a third of the bytes: both have
# 28 equal layers, so equally many operations. So on these cards, in eager mode and with a batch of
# one, the *operations* decide, and not the parameters. That is why OLMo-7B can be faster than
# Qwen3-8B: it has fewer layers, and fewer operations in each.
#
# ## 8. What does a step wait for?
#
# The time of a pass has four parts. On a CPU they add up. On a GPU, launching and the others run at
# the same time, so there the rest can be larger than the table says.
#
# | part | time | it shrinks with |
# |---|---|---|
# | `"launch"` | operations × time of an operation | fewer operations, CUDA graphs, compiled code |
# | `"memory"` | bytes moved ÷ bandwidth | fewer bits per number, shared KV heads |
# | `"compute"` | FLOPs ÷ peak FLOP/s | fewer tokens, smaller models |
# | the rest | 100 % − launch − the larger of memory and compute, at least 0 % | better kernels |
#
# Memory and compute are *floors*, and a processor does both at the same time. The bytes are those
# of the weights and of the KV cache. The FLOPs are about 2 × parameters × tokens, and those of the
# attention. In a prefill of Qwen3-8B, these are a sixth more at 8,192 tokens and two thirds more at
# 32,768. A decode step after as many tokens has twice this share. A measured step cannot be below a
# floor. If it is, the measurement is wrong, or the floor is.
#
# Launching can be measured. A *thin* model has the same layers with a width of 16. Its step
# dispatches the same operations, and moves and computes next to nothing. So its time is the time of
# launching. On a CPU there is no GPU to launch on, but the same happens: Python and PyTorch need
# time for each operation, whatever the size of its tensors. There, one processor does all of it, one
# after the other. On a GPU the host launches the next operations while the GPU works, so a pass
# takes the longer of the two: all launches, or all work of the GPU.
#
# The next cell measures passes and their thin copies with your `count_operations`. It takes about a
# minute on a CPU.

# %% experiment="own_launches"
bench.fill(lab.launches.launches, count=count_operations)
lab.shares.shares_table(recorder.record())

# %% experiment="recorded_shares"
for name, record in kit.recorded_results("steps-*.jsonl").items():
    print(name)
    display(lab.shares.shares_table(record))

# %% [markdown]
# ### Question: which limit holds?
#
# Use a recorded table, whose name is above it. Which of launch, memory and compute is the
# largest in each of these cases? (The rest has no single cause.) The check also accepts a share that
# is close: at least two thirds of the largest one. On a GPU the work hides the launches, so there
# launching is the limit only if it takes at least two thirds of the pass.
#
# * `decode_one`: a decode step of one text with 64 cached tokens;
# * `decode_medium_model`: the same model with a batch of 4, on a GPU of 8;
# * `decode_small_model`: a smaller model with such a batch;
# * `prefill`: the prefill of one long prompt;
# * `forward_sixteen`: one pass over 16 texts of 256 tokens each.

# %% answer="which_limit" points=1
which_limit = {
    "record": "steps-cpu",
    "decode_one": "launch",  # "launch", "memory" or "compute"
    "decode_medium_model": "launch",
    "decode_small_model": "launch",
    "prefill": "compute",
    "forward_sixteen": "compute",
}

# %% [markdown]
# ### Take the launches away
#
# A *CUDA graph* stores all launches of a step, for one batch size and fixed addresses, and replays
# them as one. Then the host has nearly nothing to do. How long will a step take? Predict it before
# you look: the step cannot be faster than its floor. The cell prints the floors.

# %% experiment="step_floors"
for name, record in kit.recorded_results("speculative-h?00.jsonl").items():
    print(name)
    display(lab.tables.floors_table(record))

# %% [markdown]
# ### Question: without launches
#
# Choose one record. Predict the step of each model as a CUDA graph whose kernels are also fused, in
# milliseconds. The check accepts one to two times the floor. For which of the three models is the
# eager step the largest multiple of its floor? It gains most.

# %% answer="without_launches" points=0.5
without_launches = {
    "record": "speculative-h200",
    "ms": {"Qwen3-1.7B": 1.0, "Qwen3-8B": 4.0, "Llama-3.1-8B": 4.0},
    "gains_most": "Qwen3-1.7B",
}

# %% experiment="reveal"
recorded = kit.recorded_results("speculative-h?00.jsonl")
lab.figures.with_and_without_launches(recorded["speculative-h200"])

# %% [markdown]
# A step of Qwen3-8B takes
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=eager | ms .1f}
# ms eager, and
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=captured | ms .1f}
# ms as a CUDA graph. This graph also has fewer operations, because some of its kernels do the work
# of several. A graph of the same operations was measured on an H100: there the eager step takes
# {measured:steps-h100 launches model=Qwen3-8B batch_size=1 n_input=1 setting=eager | ms .1f}
# ms, and the graph
# {measured:steps-h100 launches model=Qwen3-8B batch_size=1 n_input=1 setting=CUDA_graph | ms .1f}
# ms. The steps of the 8B models use 78 % of the H200's
# bandwidth now, so memory is the limit. Qwen3-0.6B uses 37 %: its many small kernels are the limit.
# Large engines use CUDA graphs for decode by default. The price: a graph for each batch size,
# memory for it, and time at the start.

# %% [markdown]
# ## 9. One user or many
#
# Memory is the limit now, and a step reads all weights for each batch. So a larger batch shares
# them. (In a mixture of experts, it also reads more experts.) The next figure compares the speed
# for one user with the throughput of the card. Three words belong to it:
#
# * *TTFT*, time to first token: without a queue, about the prefill.
# * *TPOT*, time per output token: the time of a step. Its inverse is the tokens/s of one user.
# * *tokens/s of the card*: the batch size ÷ TPOT. It decides the price of decode on a full card.
#   Prefill and empty slots come on top.
#
# *Cached* tokens are the context: what each sequence has in its KV cache. The record `serving-2gpu`
# is of H100 cards, and `serving-2gpu-h200` of H200 cards; each step ran on one card.

# %% experiment="trade_off"
served = kit.recorded_results("serving-2gpu*.jsonl")
lab.figures.user_or_card(served)

# %% experiment="serving_table"
lab.tables.serving_table(served["serving-2gpu"], 2.58, (1, 8, 32, 64, 128))

# %% experiment="joules_by_batch"
energy = kit.recorded_results("steps-h100.jsonl")["steps-h100"]
lab.tables.serving_table(energy, 2.58, (1, 8, 64, 256))

# %% [markdown]
# The steps are those of Llama-3.1-8B as a CUDA graph, in the engine of lab 5. (It has
# no such special kernels as the graph of section 8, so a batch of one takes longer.) In October
# 2026 one list had an H100 from 2.58 dollars an hour, and an H200 from 3.45. With 512 cached
# tokens, a batch of 64 takes
# {measured:serving-2gpu decode_pass batch_size=64 setting=512_cached | ms .1f}
# ms, and a batch of one
# {measured:serving-2gpu decode_pass batch_size=1 setting=512_cached | ms .1f}
# ms. So each of 64 users still gets 79 % of the speed of one. With 8,192 cached tokens,
# the caches of 14 users are as large as the weights, and each further user costs time. The last two
# rows of the table had no room. TTFT is the prefill of one such prompt alone. With 256 new tokens
# for each prompt of 8,192, it would cost more than the decode steps of a batch of 32.
#
# The second table is of eager steps of Qwen3-8B. Up to a batch of 128 they are limited by
# launching, so they do not grow with the batch. They differ because the host was not equally fast:
# at a batch of one, nearly the same step took
# {measured:steps-h100 launches model=Qwen3-8B batch_size=1 n_input=1 setting=eager | ms .0f}
# ms in section 8. At 256 the work of the GPU takes
# longer than the launches. The driver counts the joules of the card, so J/token shows that energy
# is shared as well. The host and the cooling are not counted.

# %% exercise="labkit.throughput:cheapest_batch" points=1 minutes=15 level=2

# %% experiment="best_batches"
dollars_per_hour = {"serving-2gpu": 2.58, "serving-2gpu-h200": 3.45}
for name, record in served.items():
    for n_cached in lab.served.contexts_of(record):
        steps = lab.served.steps_by_batch(record, n_cached)
        batch_size, dollars = cheapest_batch(steps, dollars_per_hour[name], 0.020)
        print(f"{name}, {n_cached:5,} cached: batch {batch_size},", end=" ")
        print(f"{dollars:.3f} dollars")

# %% [markdown]
# ### Question: a promise of 100 tokens per second
#
# You promise each user 100 tokens/s. Which TPOT is this? Choose a record and a price of an hour,
# for example one that you find today. For 512 and for 8,192 cached tokens, give the cheapest of the
# measured batches that keeps the promise, and its price. Call your function; the cell above shows
# how.

# %% answer="serving_point" points=1
serving_point = {
    "record": "serving-2gpu",
    "dollars_per_hour": 2.58,  # of one card
    "most_tpot_ms": 10,
    "batch": {"512 cached": 64, "8192 cached": 8},
    "dollars_per_million": {"512 cached": 0.0963, "8192 cached": 0.872},
}

# %% [markdown]
# Now measure your own machine: decode steps by batch size, up to 256. Where does a larger batch
# begin to cost each user time?

# %% experiment="own_batches"
lab.experiments.EXPERIMENTS["decode_by_batch"](bench)
mine = recorder.record()
lab.figures.user_or_card({"yours": mine})

# %% [markdown]
# ### Is a number possible?
#
# The *physics gate* compares the time of each row with the floors of its passes, and the memory
# that the row needs with the memory of the machine. Then it compares the rows of a sweep with each
# other: a longer run cannot take a fifth less time in all its samples. The prefill from the fitted
# line cannot be clearly negative. The floor of a CPU is taken from the fastest of its kind, so a
# row a little above the measured roof passes. If the gate rejects a row, the row is wrong, or other
# programs disturbed the measurement: measure it again. The gate finds only impossible rows: a row
# that it accepts can still be wrong.
#
# So there is a second test. Two sweeps that measure the same run have to agree within 10 %. To
# measure again, close other programs, delete `my_throughput.jsonl`, and run the notebook's
# measurements again. No mark depends on it: you may also say in your text which rows disagree. We
# measured three rows again because they did not.

# %% experiment="physics_gate"
for name, record in {**records, "yours": mine}.items():
    found, apart = kit.refusals(record), kit.disagreements(record)
    words = f"{len(found)} rejected, {len(apart)} that disagree"
    print(f"{name}: {len(record.rows)} rows, {words}", *found, *apart, sep="\n  ")

# %% [markdown]
# ## 10. A report with six faults
#
# We made up a report about an H100. It has 18 entries, A to R, and each of the six faults is in
# exactly one entry. You find some by a division and some by comparing rows. One needs the floors of
# section 8 (a larger batch only raises a floor). One needs the heads of the models, which section 7
# prints.
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
# ## 11. The roofline, with your points on it
#
# The *roofline* shows the best that a machine can do. The y axis shows FLOP/s. The x axis shows the
# *arithmetic intensity* of a pass: FLOPs for each byte that it must move. On the left, the line is
# bandwidth × intensity. On the right, it is the peak FLOP/s. The corner is the *ridge*: there,
# moving and computing take equally long.
#
# Each dot is a measured pass. If a dot is far below the roof, the pass waits for something else,
# for example launching. The roof of a CPU is measured before the passes: on a busy machine a dot can
# be slightly above it. Move the slider for the batch: at which batch size would a decode step reach
# the ridge? With a long context it never does, because each sequence brings its own cache. (This
# question gives no points.)

# %% experiment="roofline_widget"
lab.widget.roofline_explorer(mine)

# %% [markdown]
# ### Other machines
#
# The table shows Qwen3-8B on the cards of lab 1, from their data sheets. It gives the floor of a
# decode step and of a prefill, and the ridge point. The numbers are floors, not measurements. The
# T4 has no room for the weights.

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
# ### Written answer: prompt and batch
#
# Describe *your own* experiments; refer to their figures and tables. Write 3 to 4 sentences for
# each, with numbers, and name the limit each time: launch, memory or compute. Say how you know.
# Section 8 has the shares for a short and for a long prompt. If the rest is the largest share, say
# so, and name what comes second.
#
# 1. Prompt length: how do time and throughput change, and why? In the H200's table of section 5,
#    which prompt is the first without room on a card of 24 GB, and on one of 80 GB?
# 2. Batch, in `forward_by_batch`: from which batch size on does a pass take longer than for one
#    text, and why? How do the milliseconds per sequence change?

# %% [markdown] written="reflection" points=1
# These are the answers for the record of one CPU core, with the H200 for comparison.
#
# *1.* With 1 to 16 prompt tokens, the time stays between
# {measured:throughput-cpu input_sweep n_input=1 | s .2f}
# and {measured:throughput-cpu input_sweep n_input=16 | s .2f} s. There are 16 passes of
# about 9 ms, and the prefill is only one of them. From 32 tokens on the time grows: by a fifth at
# 32, and by half at 64. From 512 to
# 2,048 tokens it grows from {measured:throughput-cpu input_sweep n_input=512 | s .2f}
# to {measured:throughput-cpu input_sweep n_input=2048 | s .1f} s. This is more than in proportion,
# because attention has a
# quadratic term. The throughput falls, because the same 64 tokens take more time. Long prompts are
# limited by computing: that is the largest of the four shares. By the peaks of the
# H200, the first prompt without room has 4,096 tokens at 24 GB, and 32,768 tokens at 80 GB.
#
# *2.* On one core, a pass takes {measured:throughput-cpu forward_by_batch batch_size=1 | ms .0f} ms
# for one text and {measured:throughput-cpu forward_by_batch batch_size=8 | ms .0f} ms for eight. It
# grows in proportion
# from the start, because computing is the limit: each text takes about 88 ms. On the H200 it takes
# {measured:throughput-h200 forward_by_batch batch_size=4 | ms .0f}
# to {measured:throughput-h200 forward_by_batch batch_size=1 | ms .0f} ms for 1, 2 and 4
# texts, because launching takes longer than computing. Then it takes
# {measured:throughput-h200 forward_by_batch batch_size=8 | ms .0f}
# and {measured:throughput-h200 forward_by_batch batch_size=16 | ms .0f} ms. A text takes
# {measured:throughput-h200 forward_by_batch batch_size=1 | ms .0f} ms alone, and
# {measured:throughput-h200 forward_by_batch batch_size=16 | ms/16 .1f} ms in a batch of 16.
#
# *Marking (1 point). Fast numbers earn nothing:*
#
# * *0.5 for the prompt length: a flat part and a growing part, the reason for each, two numbers.*
# * *0.5 for the batch: where the time begins to grow, which limit holds before and after, and the
#   time per sequence.*

# %% [markdown]
# ## What you have shown
#
# Your timer and your sweep give numbers that another person can trust. With them you found what a
# step waits for. An eager step of Qwen3-8B took 29 ms with our software and host, for 2,037
# operations and 1,302 views. The memory of the H200 could supply the weights in 3.2 ms, and a CUDA
# graph with fused kernels takes 4 ms. Larger batches share the weights (lab 5), and speculation
# (lab 6) makes fewer steps. Lab 3 asks when a KV cache helps.
#
# **Read next**
#
# * [Making Deep Learning Go Brrrr From First Principles](https://horace.io/brrr_intro.html) (He,
#   2022): computing, moving data and launching as the three limits.
# * [Transformer Inference Arithmetic](https://kipp.ly/transformer-inference-arithmetic/) (Chen,
#   2022): floors of a step, computed by hand.
