# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 3: what the cache saves
#
# <!-- picture: The full blocks of a prompt are found by a chain of hashes, which begins with a salt.
# Blocks that a request has found are in use. Of the others, the least recently used one is evicted
# to a slower memory. -->
#
# After this lab you can
#
# * predict what a generation costs with and without a KV cache: FLOPs, bytes, seconds;
# * compare the prediction with measurements, and explain where a cache saves no time;
# * build a **prefix cache**, which reuses keys and values of earlier requests within a budget;
# * decide for a slower memory whether to **fetch** keys and values from it, or to recompute them.
#
# **You need** labs 1 and 2: KV cache, prefill, decode step, floor, launch. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU is
# enough. Cells with `TODO` are yours. The check below each runs a few visible tests. After you hand
# in, the grader runs it on hidden tests.
#
# **Time:** 4 to 6 hours, best on two days: sections 1 to 4, then 5 to 8. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** We generate 512 tokens after a prompt of 8. With or without a KV cache, this
# takes 512 passes over the model. With a cache, 519 tokens go through the model in total. Without
# one it is 134,912 tokens, which is 260 times as many. But on a fast GPU both can take the same
# time. Why?

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
import hashlib
import random
from bisect import bisect_right
from collections.abc import Sequence

from labkit import kit
from labkit.kit import ModelWork, Roofline, kv_bytes_per_token, pass_floor
from labkit.labs import cache_benchmark as lab

check = kit.start("cache_benchmark", globals())

# %% [markdown]
# ## 1. Passes
#
# Three new tokens after a prompt of five take three passes. The table shows how many tokens each
# pass is fed, and how many tokens are in the cache before it:
#
# | pass | without a cache: fed | with a cache: fed | in the cache |
# |---|---|---|---|
# | 1 | 5 | 5 | 0 |
# | 2 | 6 | 1 | 5 |
# | 3 | 7 | 1 | 6 |
#
# All costs in this lab are sums over such a list. Build the list first.

# %% exercise="labkit.cache_benchmark:generation_passes" points=0.5 minutes=5 level=1

# %% [markdown]
# ## 2. FLOPs and bytes
#
# A `ModelWork` knows the cost of one pass over a model:
#
# * `work.flops(n_new, n_cached, n_logits)` is the number of FLOPs. The pass is fed `n_new` tokens
#   after `n_cached` tokens, and computes logits for `n_logits` of them.
# * `work.moved_bytes(n_tokens, batch_size, width)` is the number of bytes that come from memory.
#   These are the weights that a pass reads, and the KV cache of `n_tokens`, with `width` bytes per
#   number.
#
# Here `n_new` counts the tokens that one pass is fed. In your functions, `n_new` counts the new
# tokens of the whole generation.
#
# A pass over Llama-3.1-8B moves 15 GB in 16 bits, for one token and for five hundred. (The model
# has 16 GB of weights. A pass reads all of them except the input embedding, 1 GB.) So what does a
# cache save: FLOPs, bytes or both? The table below the check shows it.

# %% exercise="labkit.cache_benchmark:generation_cost" points=1 minutes=15 level=2

# %% experiment="costs"
rows = []
for name in ("Llama-3.1-8B", "Llama-3.2-1B", "Llama-2-7b-hf"):
    work = ModelWork.of(f"meta-llama/{name}")
    plain, cached = (
        generation_cost(work, 8, 512, use_cache) for use_cache in (False, True)
    )
    cells = [plain[0] / 1e12, cached[0] / 1e12, plain[1] / 1e12, cached[1] / 1e12]
    rows.append([name, *(f"{cell:.4g}" for cell in cells)])
headings = [
    f"{what} {how} cache" for what in ("TFLOP", "TB") for how in ("without", "with")
]
kit.Table(["model", *headings], rows, "512 new tokens after a prompt of 8")

# %% [markdown]
# ## 3. Seconds
#
# A pass cannot be faster than its floor. This is the longer of two times, moving and computing.
# `pass_floor(machine, model, n_new, n_cached, batch_size, dtype)` of lab 2 gives it. Its result has
# the fields `moving_s`, `computing_s` and `seconds`, which is the longer of the two.
#
# There is a second bound: the CPU (the *host*) has to *launch* every kernel of the pass. With eager
# PyTorch, where each operation is launched by itself, lab 2 found 14 to 16 µs for each operation. A
# layer of Llama-3.1-8B has 40 operations, and one of Qwen3-8B has 56. In our records, launching a
# layer takes between 0.53 and 0.81 ms. This lab takes 0.75 ms per layer. For the 32 layers of
# Llama-3.1-8B it is 24 ms. The floor of its decode step on an H100 is only 4.5 ms.
#
# The GPU works while the host launches. So a pass takes the longer of the two times, not their sum.

# %% exercise="labkit.cache_benchmark:predicted_time_s" points=1 minutes=15 level=2

# %% [markdown]
# If launching takes the longest, a pass over 500 tokens takes as long as a pass over one. Draw the
# seconds over the number of new tokens: the curves with and without a cache coincide. At which
# length do they separate? The floor never falls when the length grows. So a loop over the lengths
# finds it, and Python's `bisect_right` finds it faster.

# %% exercise="labkit.cache_benchmark:leaves_launch_floor_at" points=1 minutes=20 level=2

# %% [markdown]
# ### Question: four settings, before we measure
#
# Take an H100 (`Roofline.of("H100-SXM")`), bfloat16, and a launch time of 0.75 ms per layer.
# Multiply this time by the number of layers of each model, which is `work.shape.n_layers` for
# `work = ModelWork.of("meta-llama/Llama-3.1-8B")`.
#
# * `"kv_bytes_per_token"`: the bytes that one token adds to the KV cache, as
#   `kit.kv_bytes_per_token(work.shape)` counts them;
# * `"leaves_launch_floor_at"`: the length at which the two curves separate, with `n_context` =
#   40,000;
# * `"cached_step"`: the limit of a decode step with a cache, at the length in the comment (512: one
#   token is fed after 511 cached ones);
# * `"uncached_pass"`: the limit of a pass without a cache over the same length (512 tokens are
#   fed).
#
# A limit is the longest of three times: `"launch"`, `"memory"` (moving) or `"compute"`.
#
# The three values of `"leaves_launch_floor_at"` are predictions. Section 4 confronts such a
# prediction with measured passes.

# %% answer="four_settings" points=0.5
four_settings = {
    "baseline": {  # meta-llama/Llama-3.1-8B, at 512 tokens
        "kv_bytes_per_token": 131_072,
        "leaves_launch_floor_at": 1650,
        "cached_step": "launch",
        "uncached_pass": "launch",
    },
    "long prompt": {  # the same model, at 32,000 tokens
        "cached_step": "launch",
        "uncached_pass": "compute",
    },
    "smaller": {  # meta-llama/Llama-3.2-1B, at 512 tokens
        "kv_bytes_per_token": 32_768,
        "leaves_launch_floor_at": 5193,
        "cached_step": "launch",
        "uncached_pass": "launch",
    },
    "older": {  # meta-llama/Llama-2-7b-hf, at 512 tokens
        "kv_bytes_per_token": 524_288,
        "leaves_launch_floor_at": 1770,
        "cached_step": "launch",
        "uncached_pass": "launch",
    },
}

# %% [markdown]
# ## 4. Measured
#
# Now we measure four settings on this machine: a baseline, a long prompt, a smaller model and an
# older model. On a CPU the models are small, and the long prompt has 2,048 tokens. On a GPU they
# are those of section 3.
#
# Each generation runs once, up to its longest length. We read the clock whenever the number of new
# tokens is a power of two. Each curve begins with one run that is not counted: the warm-up. We also
# time a pass over a single token. In the predictions below, this time is the launch time.
#
# The cell takes half a minute on a CPU. `cache-here.jsonl` stores the results. If you run the cell
# again, it continues where it stopped, and measures what had no room in memory.

# %% given="recorded"
RECORDS = kit.recorded_results("cache-*.jsonl")

# %% experiment="measure"
here = kit.profile()
recorder = kit.Recorder("cache-here.jsonl", kit.Provenance.here(here, "lab 3"))
kit.roofline(kit.Bench(here, recorder))
longest, seconds = 64, 4 if here.device == "cuda" else 2
limits = {"longest": longest, "seconds_per_curve": seconds, "longest_run_s": 15}
for row in lab.experiments.cache_or_not(here, **limits, is_done=recorder.is_done):
    recorder.save(row)
    if row.experiment == "one_token_pass" and row.is_ok:
        print(
            f"{row.setting}: {row.model}, one token takes {1e3 * row.time_s:.2f} ms"
        )
records = {**RECORDS, "here": recorder.record()}
print(recorder)

# %% [markdown]
# Points are measured. Dashed lines show *your* `predicted_time_s`. You see this machine first: the
# baseline beside the long prompt, then the smaller model beside the older one. Then you see a
# record of an H100. The axes are logarithmic. In a cell, replace `"log"` by `"linear"`: there, a
# constant time per token is a straight line.

# %% experiment="curves"
lab.figures.with_and_without(records["here"], predicted_time_s, "log")

# %% experiment="curves_log"
others = ["smaller", "older"]
lab.figures.with_and_without(records["here"], predicted_time_s, "log", others)

# %% experiment="curves_h100"
lab.figures.with_and_without(records["cache-h100"], predicted_time_s, "log")

# %% experiment="residuals"
rows = []
for name, record in records.items():
    for setting in lab.settings_of(record):
        for use_cache in (False, True):
            lengths, expected = lab.predicted_curve(
                record, setting, use_cache, predicted_time_s
            )
            _, measured = lab.curve(record, setting, use_cache)
            how = "with" if use_cache else "without"
            if lengths:
                times = f"{expected[-1]:.3g}", f"{measured[-1]:.3g}"
                ratio = f"{measured[-1] / expected[-1]:.2f}"
                rows.append([name, setting, how, lengths[-1], *times, ratio])
kit.Table(
    ["record", "setting", "cache", "new", "predicted s", "measured s", "ratio"],
    rows,
)

# %% [markdown]
# The last column is the measured time divided by the predicted time. A prediction has two
# ingredients:
#
# * **The floors.** No measurement can be below them. A ratio well above 1 shows what the floors
#   leave out. For example, operations write their results to memory and read them again, or
#   attention copies its keys in each step.
# * **The launch time.** It is measured, and it varies. On the H100 the one-token pass of the
#   baseline took {measured:cache-h100 one_token_pass setting=baseline | ms .0f} ms. Minutes later
#   the same pass of the same model took
#   {measured:cache-h100 one_token_pass setting=long_prompt | ms .0f} ms. So a ratio of 0.8 is not
#   surprising.
#
# The most important result: on the H100, 512 tokens of an 8B model take
# {measured:cache-h100 cache_or_not setting=baseline n_new=512 use_cache=False | s .1f} s
# without a cache and
# {measured:cache-h100 cache_or_not setting=baseline n_new=512 use_cache=True | s .1f} s
# *with* one. The cache saves no time while launching takes the longest. It even costs some,
# because storing the keys and values takes launches too.
#
# Compare the other two models as well. On the H100 the time of the smaller model follows
# its layers: 9 to 12 ms per token for 16 layers, and 18 to 27 ms for 32. It does not follow the
# parameters, which are six times fewer. The older model has as many layers as the baseline, so its
# curves are nearly the same. Its cache is four times as large, because each query head has its own
# KV head. This shows only when reading the cache takes longer than launching.
#
# ### One pass, by its length
#
# Section 3 predicts at which length a pass takes longer than its launch. Single passes test this.
# The next cell measures passes over 1, 2, 4, ... tokens on this machine, and one at the length that
# your function predicts. The table shows them for each record. `lab.passes(record)` gives pairs of
# tokens and seconds, shortest first. A record without such passes gives them by its curve: a further
# token without a cache takes one pass. Its number of tokens can end in a half.

# %% experiment="passes_here"
up_to = 4096 if here.device == "cuda" else 512
expected = lab.predicted_crossing(records["here"], leaves_launch_floor_at)
also = [expected] if expected else []
for row in lab.experiments.pass_by_length(
    here, also=also, longest=up_to, is_done=recorder.is_done
):
    recorder.save(row)
records["here"] = recorder.record()
rows = lab.rows_of_passes(records)
kit.Table(["record", "tokens", "pass, ms", "floor, ms", "launch, ms"], rows)

# %% [markdown]
# ### Question: predicted and measured
#
# Choose one record of `RECORDS`. Its machine is `kit.roofline_of(record)`, its launch time is
# `lab.launch_s(record, "baseline")`, and its type of numbers is `record.provenance.dtype`. The
# baseline of `cache-cpu` is `tiny-target`, that of `cache-h100` is `meta-llama/Llama-3.1-8B`.
#
# * `"predicted"`: the length that `leaves_launch_floor_at` gives, with `n_context` = 8,192;
# * `"measured"`: the first length of `lab.passes(record)` whose pass takes more than 1.5 times the
#   launch time;
# * `"factor"`: the time of the pass with most tokens, divided by its floor. For the floor, leave a
#   half token out;
# * `"with_factor"`: the predicted length, if every floor is longer by this factor. A pass then
#   takes longer than its launch when its floor is above the launch time divided by the factor.

# %% answer="crossing" points=0.5
crossing = {
    "record": "cache-cpu",
    "predicted": 25,
    "measured": 9.5,
    "factor": 1.34,
    "with_factor": 19,
}

# %% [markdown]
# On the CPU the measured length is shorter than the predicted one, for two reasons. A real pass
# takes longer than its floor, which is the factor. And nothing overlaps: one processor launches and
# computes, so both times add up.
#
# On a GPU the launches run beside the computing. Both lengths are equal on the H100, but by chance.
# At the predicted 1,166 tokens the pass took
# {measured:cache-h100 pass_by_length n_input=1166 | ms .0f} ms, which is 1.6 times its floor. So it
# takes longer than its launch at fewer tokens already. But the measured length asks for 1.5 times
# the launch time. And launching was faster on the day of these passes: 256 tokens took
# {measured:cache-h100 pass_by_length n_input=256 | ms .0f} ms, less than one token before.
#
# ### Slopes
#
# How much faster is a generation with a cache? Take the baseline of the record `cache-cpu`. At each
# length, divide the time without a cache by the time with one. The mean of the ratios over the
# lengths 1 to 512 is 3.8. Over 128 to 512 it is 8.7. So such a mean depends on the lengths that
# were chosen. And the first length, one new token, does not use the cache at all. The cache changes
# the time of each *further* token. This is the slope of the curve. `lab.slopes(lengths, times)`
# gives it between each length and the next.

# %% experiment="slopes_by_length"
rows = []
for name, record in records.items():
    slopes_ms = {}
    for column, use_cache in enumerate((False, True)):
        n, times_s = lab.curve(record, "baseline", use_cache)
        for n_new, slope in zip(n[1:], lab.slopes(n, times_s), strict=True):
            slopes_ms.setdefault(n_new, [None, None])[column] = f"{1e3 * slope:.2f}"
    if not slopes_ms:
        rows.append([name, "a slope needs two times", None, None])
    rows += [[name, f"up to {n}", *cells] for n, cells in sorted(slopes_ms.items())]
display(
    kit.Table(
        ["record", "new tokens", "without cache", "with cache"],
        rows,
        "ms per further token",
    )
)
lab.figures.slopes_by_length(records["cache-cpu"])

# %% experiment="slopes_h100"
lab.figures.slopes_by_length(records["cache-h100"])

# %% [markdown]
# ### Question: what does the cache save?
#
# Choose one record of `RECORDS`, and take its baseline. Look at the two longest lengths that both
# curves have. How many seconds does a further token take between them, with a cache and without?
# The speed-up there is the time without a cache divided by the time with one. The table above
# prints milliseconds. Enter seconds.

# %% answer="speed_up" points=0.5
speed_up = {
    "record": "cache-cpu",  # the name of one record in RECORDS
    "cached_s_per_token": 0.00714,
    "uncached_s_per_token": 0.1536,
    "ratio": 21.5,
}

# %% [markdown]
# ### Written answer: four settings
#
# Use the figures: your own, and the one of the H100. Write 2 to 4 sentences for each part, with
# numbers.
#
# 1. **Baseline:** how do the curves with and without a cache grow on your machine? How do they grow
#    on the H100? Why?
# 2. **Long prompt:** compare with the baseline, and explain.
# 3. **Prediction:** find the ratio in the table of ratios that is furthest from 1. Give it, and one
#    possible reason. Then compare the predicted with the measured length in your answer `crossing`.
#    What explains the difference?

# %% [markdown] written="four_curves" points=1
# *1.* Each new token is one pass. With a cache, each pass but the first is fed one token, so the
# curve is a straight line. Without a cache each pass is fed everything. On one CPU core the passes
# soon take longer than their fixed cost, and the curve bends upwards. At 512 tokens a further token
# costs 154 ms without a cache and 7.1 ms with one. On the H100 both curves are nearly the same
# line: 20 to 23 ms per further token without a cache, and 22 to 27 ms with one. Storing keys and
# values takes launches too. The prediction is that launching takes the longest up to 1,166 tokens,
# and these curves end at 519.
#
# *2.* With the long prompt, a pass without a cache is fed the whole prompt, and computing is the
# limit. All passes are about equally long, so the curve is a straight line. Its slope is one
# prefill per token: 1.34 s on the H100, where the floor is 0.72 s. With a cache it is 20 ms, about
# as for the baseline.
#
# *3.* On one core, 512 tokens of the smaller model take
# {measured:cache-cpu cache_or_not setting=smaller n_new=512 use_cache=False | s .2f} s
# without a cache. My prediction is
# 0.22 s, a ratio of 2.4. The floors assume peak FLOP/s and that each number moves once. Operations
# on tensors this narrow reach less, and they write intermediate results to memory. In the
# record `cache-cpu` I predicted 25 tokens, and passes are longer from 9.5 tokens on. A pass takes
# 1.34 times its floor, which gives 19 tokens. The rest is the launch: on a CPU, a launch and its
# computation follow one another.
#
# *Marking (1 point):*
#
# * *0.25 for the baseline: straight against bent, or both equal while launching takes the longest.*
# * *0.25 for the long prompt: a comparison with a number, and the limit that explains it.*
# * *0.4 for the prediction: 0.2 for a ratio from the student's own table, 0.2 for a reason that
#   fits it.*
# * *0.1 for the difference of the two lengths: the factor, or times that add up.*

# %% [markdown]
# ## 5. Keeping the cache: blocks and hashes
#
# Four questions are asked about one document of 360 tokens. Without prefix caching, the 360 tokens
# are computed four times, and their keys and values are the same each time. They depend on the
# token, on its position and on all tokens before it. They do not depend on later tokens. So two
# prompts that *begin* with the same tokens can share keys and values. This is *prefix caching*.
#
# Engines such as vLLM cut prompts into blocks of 16 tokens. Each block gets a name: a hash of its
# tokens **and of the hash of the block before it**. If two names are equal, the texts are equal
# from the very beginning. So one look-up in a table shows whether the keys and values of a block
# are stored.
#
# ```
# tokens   t0 .. t15 | t16 .. t31 | t32 .. t40
# hashes      h0     |     h1     |  (not full: no hash)
#          of the salt   of h0
#          and t0..t15   and t16..t31
# ```
#
# The *salt* is a text that is hashed before everything else. Users with different salts share
# nothing.
#
# Write `block_hashes` in three stages, and run the check after each:
#
# 1. Cut the prompt into full blocks, and hash each block alone. Which lines of the check fail?
# 2. Add the hash of the block before to what you hash.
# 3. Begin the chain with the salt.

# %% exercise="labkit.cache_benchmark:block_hashes" points=1 minutes=20 level=2

# %% [markdown]
# ### The prefix cache
#
# A hash names a block. The *prefix cache* knows which blocks are kept. Every request calls it twice:
#
# ```
# find(1, prompt)             how many tokens need not be computed?    request 1 starts
#     the engine computes the rest of the prompt, and the answer       its blocks are in use
# keep(1, prompt + answer)    keep the full blocks                     request 1 ends
# ```
#
# Four rules make it correct:
#
# * **Whole blocks.** A prompt has 48 tokens, and all of its three blocks are kept. 16 tokens must
#   still be computed, not 0: the logits for the first new token are not stored. And only whole
#   blocks are reused, so the last block is computed again.
# * **A budget.** The memory has room for `n_blocks` blocks. If it is full, the block goes that was
#   not used for the longest time (*LRU*, least recently used).
# * **In use.** A running request reads the blocks that it has found. They must stay, also if two
#   requests use them and one has ended.
# * **Beginnings last.** Without its beginning, no block of a prompt can be found. So the last block
#   of a prompt goes first.
#
# vLLM works by these rules. It numbers its blocks, counts the users of each, and has a queue of
# those without users. You may store the blocks in any way, and leave `_has_room` out.

# %% exercise="labkit.cache_benchmark:PrefixCache" points=2.5 minutes=50 level=3

# %% [markdown]
# ### Four questions on one document
#
# `labkit.labs.cache_benchmark.prefix_cache` runs the model with *your* cache, in blocks of 16 tokens.
# It stores the keys and values of the blocks that your cache keeps. Each question
# comes after the document and all earlier questions and answers. The H100's record has a longer
# document. In the table, `prefill` is the time with a prefix cache, and `without` the time without
# one.

# %% experiment="four_questions"
mine = {"block_hashes": block_hashes, "prefix_cache": PrefixCache}
turns = list(lab.experiments.multi_turn(kit.brief(here), **mine))
plain, kept = (
    [row for row in turns if row.is_ok and row.use_cache == use_cache]
    for use_cache in (False, True)
)
conversations = {name: record.of("multi_turn") for name, record in RECORDS.items()}
lines = []
for name, rows in {**conversations, "here": turns}.items():
    for without, row in zip(rows[:4], rows[4:], strict=True):
        if not (without.is_ok and row.is_ok):
            lines.append(
                [name, row.setting, None, None, row.outcome, without.outcome]
            )
            continue
        n_prompt, n_computed = (
            int(row.counts[key]) for key in ("prompt_tokens", "prefill_tokens")
        )
        times = f"{1e3 * row.time_s:.0f} ms", f"{1e3 * without.time_s:.0f} ms"
        lines.append([name, row.setting, n_prompt, n_computed, *times])
display(
    kit.Table(
        ["record", "question", "prompt", "computed", "prefill", "without"], lines
    )
)
lab.figures.prefill_by_round(turns)

# %% [markdown]
# ### A space can break a cache
#
# Now one prompt is computed and cached. We send it again without a change, then with a space before
# it, then with a space after it. Which of the three runs finds the fewest tokens?

# %% experiment="small_edits"
edits = {
    row.setting: row
    for row in lab.experiments.invalidation(kit.brief(here), **mine)
}
for name in ("first", "same", "space before", "space after"):
    if not edits[name].is_ok:
        print(f"{name:<14}{edits[name].outcome}")
        continue
    n_prompt, n_saved, n_computed = map(int, edits[name].counts.values())
    words = f"{n_prompt:>5} tokens,{n_saved:>5} found,{n_computed:>5} computed"
    print(f"{name:<14}{words}")
for name, record in RECORDS.items():
    recorded = {row.setting: row for row in record.of("invalidation")}
    first, same = (
        f"{1e3 * recorded[key].time_s:.0f} ms" for key in ("first", "same")
    )
    print(f"{name}: the first prefill takes {first}, the same again {same}")

# %% [markdown]
# With a space in front, the first token is no longer `"Chapter"`. So every block has a different
# beginning, and no block is found. With a space at the end, there is only one more token at the
# end.
#
# Look at the H100: 368 of 382 tokens are found, but the prefill takes *longer*. A pass over 382
# tokens and a pass over 14 are both limited by launching. In addition, the cached blocks must be
# copied into the cache. With the document of the H100's record (5,761 tokens, in the table of the
# four questions), the cache saves more than half of the time of a prefill.
#
# ### Question: and the fifth run?
#
# In the fifth run we change one name in the document: the first `"Aldo"` becomes `"Otto"`. How many
# tokens are found in the cache? Predict it: the cell below cuts the prompts into tokens. The first
# run has the prompt of `"same"`. Find the first token of `tokens["one name"]` that differs from
# `tokens["same"]`, and its block. Enter the other runs too. The cell after your answer prints what
# was found.

# %% experiment="edited_tokens"
tokenizer = kit.kit_tokenizer("tiny-target")
tokens = {
    name: tokenizer(text)["input_ids"]
    for name, text in lab.edited_prompts().items()
}
print({name: len(each) for name, each in tokens.items()})

# %% answer="tokens_found" points=0.5
tokens_found = {  # tokens found in the cache, for each run
    "same": 368,
    "space before": 0,
    "space after": 368,
    "one name": 96,
}

# %% experiment="fifth_run"
if edits["one name"].is_ok:
    n_prompt, n_saved, _ = map(int, edits["one name"].counts.values())
    print(f"{n_saved} of {n_prompt} tokens were found")
else:
    print(f"The fifth run has no result: {edits['one name'].outcome}.")

# %% [markdown]
# ### Conversations and agents
#
# Now your cache serves an hour of requests: chats that come back with a longer text, and agents
# that send the result of a tool after each call. Pauses and lengths are drawn from distributions of
# two public traces (`data/traffic.json`). Each application has instructions with which all of its
# prompts begin: 1,000 tokens for a chat, 3,000 for an agent. No model runs here. We count tokens.
#
# The *hit rate* is the part of all prompts' tokens that is found. How does it depend on the budget?

# %% experiment="hits_by_budget"
hour = lab.conversations_and_agents(random.Random(0))
n_tokens = sum(request.n_prompt for request in hour)
print(f"{len(hour)} requests with {n_tokens:,} tokens of prompts")
rows = []
for n_blocks in (250, 500, 1000, 2000, 4000, 16_000):
    cache = PrefixCache(n_blocks, 16)
    found = lab.play(hour, [cache])
    rows.append(
        [f"{n_blocks:,}", f"{16 * n_blocks:,}", f"{lab.hit_rate(found):.1%}"]
    )
kit.Table(["blocks", "tokens", "hit rate"], rows, "one replica")

# %% [markdown]
# The rate stops growing when every block that is asked for again is still there.
#
# Next, each prompt contains the time of day, in 8 tokens that are always different. Where does it
# stand? And several replicas can serve the hour: four caches with 1,000 blocks each. Which replica
# gets a request? The last column is the part of all computed tokens that the busiest replica
# computes. A quarter would be fair.

# %% experiment="hits_by_place"
by_place = {}
for place in lab.PLACES:
    timed = lab.conversations_and_agents(random.Random(0), time_of_day=place)
    by_place[place] = lab.play(timed, [PrefixCache(4000, 16)])
rows = [[place, f"{lab.hit_rate(found):.1%}"] for place, found in by_place.items()]
kit.Table(["the time of day stands", "hit rate"], rows, "one replica, 4,000 blocks")

# %% experiment="hits_by_route"
rows = []
for route in lab.ROUTES:
    replicas = [PrefixCache(1000, 16) for _ in range(4)]
    found = lab.play(hour, replicas, route)
    shares = lab.hit_rate(found), lab.busiest_share(found)
    rows.append([route, *(f"{share:.1%}" for share in shares)])
kit.Table(
    ["replica chosen", "hit rate", "of the busiest"],
    rows,
    "four replicas, 1,000 blocks each",
)

# %% [markdown]
# By session, a conversation finds its own blocks again. By beginning, all requests of an
# application meet in one replica, which has most hits and an uneven load. Engines weigh both.

# %% [markdown]
# ### The bill
#
# Providers sell cached tokens. A token of a prompt is *fresh*, or *written* into the cache, or
# *read* from it, and each has its price (`data/prices.json` has dates and sources). What do the
# prompts of the hour cost, by the place of the time of day?

# %% experiment="bill_by_place"
rows = []
for place, found in by_place.items():
    bills = [lab.bill_usd(found, price) for price in lab.prompt_prices().values()]
    rows.append([place, *(f"{usd:.3f}" for usd in bills)])
kit.Table(
    ["the time of day stands", *lab.prompt_prices()],
    rows,
    "US dollars for all prompts of the hour",
)

# %% [markdown]
# ### Question: the time of day in dollars
#
# An application sends 1,000 requests. Each has 2,000 tokens of instructions, and 100 tokens that
# are always different. The time of day is one of these 100. It stands before the instructions or
# after them. An earlier request has filled the cache, in blocks of 16 tokens. Take the prices of
# Claude Opus 5, which `lab.prompt_prices()` has. Every token that is not read is written. Answers
# are not counted.
#
# * `"before"` and `"after"`: the dollars of all 1,000 prompts;
# * `"no_cache"`: the same without caching, where every token is fresh;
# * `"pays_from_use"`: a text is written once and read in all later uses. At how many uses does this
#   cost less than fresh tokens, for the first time? The writing is use 1.

# %% answer="bill" points=0.5
bill = {
    "before": 13.125,
    "after": 1.625,
    "no_cache": 10.5,
    "pays_from_use": 2,
}

# %% [markdown]
# If nothing is found, a cached prompt costs more than a fresh one.
#
# ### The leak
#
# A hit makes the time to the first token (TTFT) shorter, and a user can measure it. Somebody has
# sent our document to the server. An attacker knows the text, but not the name in it. So the
# attacker sends it with each of four names, and takes the time. In the last column each user has a
# salt. (vLLM got its salt for this reason: CVE-2025-46570.)

# %% experiment="guessed_names"
guesses = {
    row.setting: row for row in lab.experiments.leak(kit.brief(here), **mine)
}
rows = []
for name in ("Aldo", "Emma", "Nils", "Otto"):
    both = guesses[name], guesses[f"{name}, salted"]
    times = (
        f"{1e3 * row.time_s:.0f}" if row.is_ok else row.outcome for row in both
    )
    rows.append([name, *times])
kit.Table(
    ["name", "TTFT, ms", "TTFT with salts, ms"],
    rows,
    "which name was in the prompt?",
)

# %% [markdown]
# The right name has the shortest TTFT. On the H100, with a document of 5,747 tokens, it is
# {measured:cache-h100 leak setting=Aldo | ms .0f} ms. A wrong name takes
# {measured:cache-h100 leak setting=Emma | ms .0f} ms. With salts nothing is found, so the times say
# nothing about the name. They are {measured:cache-h100 leak setting=Emma,_salted | ms .0f} ms there,
# less than for the wrong name. The reason: PyTorch has its fastest attention only for a prefill that
# begins with no cached tokens.
#
# Salts have a price: users with the same instructions no longer share them. A salt for each
# *tenant*, such as a company, keeps most hits.

# %% experiment="hits_by_salt"
salts = {
    "one for all": lambda request: "",
    "one for each tenant": lambda request: f"tenant {request.tenant}",
    "one for each session": lambda request: f"session {request.session}",
}
rows = []
for name, salt_of in salts.items():
    found = lab.play(hour, [PrefixCache(16_000, 16)], salt_of=salt_of)
    rows.append([name, f"{lab.hit_rate(found):.1%}"])
kit.Table(["salt", "hit rate"], rows, "one replica, 16,000 blocks, five tenants")

# %% [markdown]
# ### Written answer: what breaks a cache?
#
# Why must a hash cover everything before its block? What would go wrong otherwise, and would
# anybody notice? Write 3 to 5 sentences.

# %% [markdown] written="broken_prefix" points=0.5
# The keys and values of a token depend on all tokens before it. Each key contains its
# position. From the second layer on, each token has attended to earlier tokens. So the same 16
# tokens have different keys and values after a different beginning. If the hash covered only the
# block, the engine would use keys of one text in another text. It would not crash, and the answers
# would be fluent but sometimes wrong. Only a comparison with an uncached run, token by token, would
# show it.
#
# *Marking (0.5 points):*
#
# * *0.25 if keys and values depend on the tokens before.*
# * *0.25 for the consequence: wrong text without a crash, which is hard to notice.*

# %% [markdown]
# ## 6. Fetch or recompute
#
# An evicted block need not be lost. Engines keep evicted blocks in slower memories, called *tiers*:
# the host's memory, a disk, another machine. If a prompt asks for such a block, there are two ways:
# *fetch* its keys and values over a *link*, or *recompute* them by a pass over the tokens.
#
# To fetch, time grows with the bytes. To recompute, it grows with the FLOPs. A real prefill takes
# longer than its floor, so your function gets a factor.

# %% exercise="labkit.cache_benchmark:fetch_and_recompute_s" points=0.5 minutes=10 level=1

# %% [markdown]
# The H100 of our record computed the document's 5,761 tokens in
# {measured:cache-h100 multi_turn setting=round_1 use_cache=False | ms .0f} ms. Its link to the host
# copies 54 GB/s. The factor below is the measured prefill divided by its floor. The bandwidths of
# the other tiers are those of data sheets, except for the other machine. That one is Mooncake's
# figure for four network cards of 200 Gbit/s.

# %% experiment="tiers_by_length"
prefill = RECORDS["cache-h100"].of("multi_turn")[0]
card, work = Roofline.of("H100-SXM"), ModelWork.of(prefill.model)
factor = (
    prefill.time_s
    / pass_floor(card, work, prefill.n_input, dtype="bfloat16").seconds
)
print(f"a prefill of {work.shape.name} takes {factor:.2f} times its floor")
links = {"another machine": 87, "host, PCIe 5": 54, "host, PCIe 4": 25}
links |= {"disk, NVMe 5": 14, "disk, NVMe 4": 7, "Ethernet, 10 Gbit/s": 1.2}
rows = []
for tier, gb_per_s in links.items():
    cells = []
    for n_tokens in (512, 5761, 32_768, 100_000):
        fetch_s, recompute_s = fetch_and_recompute_s(
            card, work, n_tokens, 1e9 * gb_per_s, factor, dtype="bfloat16"
        )
        cells.append(f"{recompute_s / fetch_s:.2g}")
    rows.append([tier, gb_per_s, *cells])
kit.Table(
    ["tier", "GB/s", "512", "5,761", "32,768", "100,000"],
    rows,
    "seconds to recompute, divided by seconds to fetch, by tokens of the prompt",
)

# %% [markdown]
# Above 1, to fetch is faster. To recompute one more token takes longer in a long prompt, because it
# attends to all others. To fetch a token always takes the same. So to fetch wins over every tier, if
# the prompt is long enough. For a small model on a fast card, to recompute wins more often. The
# table leaves out the time before the first byte arrives. Do not trust its ratios for short prompts.
#
# **Weights** can also wait in the host's memory (*offloading*), to make room for the cache. But a
# prompt's blocks are fetched once, and weights in every step. On the H100 of our record, half of
# the layers of the 3B model come over the link in each step. A step without copies takes
# {measured:cache-h100 offload setting=none | ms/16 .0f} ms, and the copies should take 52 ms.
# Together they take {measured:cache-h100 offload setting=half | ms/16 .0f} ms, because the host launches the next
# kernels while the copies run.
#
# ### Question: which tiers pay?
#
# * `"kv_MB"`: the KV cache of the document's 5,761 tokens in MB (10⁶ bytes), for the 3B model
#   (`meta-llama/Llama-3.2-3B-Instruct`) in 16 bits;
# * `"fetch_ms"`: the time to fetch it over 54 GB/s, in milliseconds;
# * `"break_even_GB_per_s"`: the bandwidth at which to fetch takes as long as the recorded prefill.
#   That is the first row of `RECORDS["cache-h100"].of("multi_turn")`, its `time_s`;
# * `"tokens_for_4_GB"`: the tokens of KV cache that fit on a card in place of 4 GB (10⁹ bytes) of
#   weights, for Qwen3-14B in 16 bits.

# %% answer="tiers" points=0.5
tiers = {
    "kv_MB": 660.7,
    "fetch_ms": 12.2,
    "break_even_GB_per_s": 7.35,
    "tokens_for_4_GB": 24_414,
}

# %% [markdown]
# ## 7. Play with it
#
# This section gives no points. The sliders call your `predicted_time_s`. Choose an H100 and 0.75 ms
# per layer. At which prompt length does the cache begin to save time? Then set the launch time to
# 0. What changes?

# %% experiment="growth"
lab.widget.cache_growth(predicted_time_s, kit.kv_bytes_per_token)

# %% [markdown]
# ## 8. The result
#
# How much did the prefix cache save in the conversation above?

# %% experiment="result"
if plain and kept:
    n_plain = sum(row.counts["prefill_tokens"] for row in plain)
    n_kept = sum(row.counts["prefill_tokens"] for row in kept)
    print("prefill of four questions:")
    print(f"{n_plain:,.0f} tokens without, {n_kept:,.0f} with prefix cache")
    later = (1e3 * sum(row.time_s for row in rows[1:]) for rows in (plain, kept))
    print("the three later prefills:", " and ".join(f"{ms:.0f} ms" for ms in later))
else:
    print("The conversation could not be measured: the memory had no room.")

# %% [markdown]
# ## What you have shown
#
# Without a prefix cache, the four questions need 1,711 tokens of prefill. With one they need 463.
# The document is computed once, and each further question costs about 27 tokens instead of 440.
# Within one request, a KV cache divides the FLOPs by more than a hundred, but saves time only if
# computing takes the longest. Between requests, a prefix cache saves the prefill. Both work because
# keys and values depend only on earlier tokens. Your own cache found most tokens of an hour
# of requests within its budget. With salts, no user finds the blocks of another.
#
# **Read next**
#
# * [Efficient Memory Management for Large Language Model Serving with
#   PagedAttention](https://arxiv.org/abs/2309.06180) (Kwon et al., 2023): a cache in blocks, and
#   how requests share them.
# * [SGLang: Efficient Execution of Structured Language Model
#   Programs](https://arxiv.org/abs/2312.07104) (Zheng et al., 2024): the same idea as a tree of
#   prefixes.
# * [FlexGen: High-Throughput Generative Inference of Large Language Models with a Single
#   GPU](https://arxiv.org/abs/2303.06865) (Sheng et al., 2023): offloading, and when it helps.
