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
# <!-- picture: Launching takes the same time for every pass.
# Moving and computing grow with its tokens. -->
#
# After this lab you can
#
# * predict the FLOPs, bytes and seconds of a generation, with and without a KV cache;
# * compare a prediction with a measurement, and explain the difference;
# * keep a cache for the next request: **prefix caching**, by blocks with chained hashes;
# * say what **offloading** weights costs per step, and when it pays.
#
# **You need** lab 1 (bytes of weights and cache) and lab 2 (floors of a pass: moving and
# computing). The [glossary](../docs/glossary.md) explains the words of this lab in English and
# Chinese. A CPU is enough. Cells with `TODO` are yours. The check below each plays a few open
# cases. After you hand in, the same checks play other cases.
#
# **Time:** 4 to 6 hours. **12 points**, 2 of them for written answers:
#
# | part | points |
# |---|---|
# | 1. Passes | 0.5 |
# | 2. FLOPs and bytes | 1 |
# | 3. Seconds | 3 |
# | 4. Measured | 2.5 |
# | 5. Keeping the cache: blocks and hashes | 4 |
# | 6. Moving weights out of the way | 1 |
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** A model writes 512 new tokens after a prompt of 8. This takes 512 passes over
# the model, with a KV cache or without. With the cache, 519 tokens go through the model in all.
# Without it, 134,912 do, which is 260 times as many. And yet on a fast GPU both can take the same
# time. Why?

# %% given="setup"
import hashlib
from bisect import bisect_right
from collections.abc import Container, Sequence
from itertools import pairwise

from labkit.checks import Checker
from labkit.labs.cache_benchmark import figures as cache_figures
from labkit.labs.cache_benchmark import widget as cache_widget
from labkit.labs.cache_benchmark.experiments import cache_or_not, invalidation, multi_turn, offload
from labkit.labs.cache_benchmark.prompts import edited_prompts
from labkit.labs.cache_benchmark.records import curve, predicted_curve, settings_of
from labkit.measuring.bench import Bench, roofline
from labkit.measuring.machine import ready, use_one_thread
from labkit.measuring.profiles import profile
from labkit.measuring.records import Provenance, Recorder, recorded_results
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.memory import kv_bytes_per_token, longest_sequence, weight_bytes
from labkit.models.shapes import ModelShape
from labkit.zoo.choose import kit_tokenizer

RECORDS = recorded_results("cache-*.jsonl")
use_one_thread()  # several threads wait for each other when the machine is busy
check = Checker("cache_benchmark", globals())
print(ready())

# %% [markdown]
# ## 1. Passes
#
# Three new tokens after a prompt of five take three passes, with a cache or without. Without a
# cache the passes are fed 5, 6 and 7 tokens. With a cache they are fed 5, 1 and 1 tokens, and the
# cache holds 0, 5 and 6 tokens when they begin. All costs in this lab are sums over such a list.

# %% exercise="labkit.cache_benchmark:generation_passes" points=0.5

# %% [markdown]
# ## 2. FLOPs and bytes
#
# `ModelWork` knows what one pass over a model costs:
#
# * `work.flops(n_new, n_cached, n_logits)`: the FLOPs to feed `n_new` tokens after `n_cached`
#   tokens, and to compute the logits of `n_logits` of them;
# * `work.moved_bytes(n_tokens, batch_size, width)`: the bytes that must come from memory. These
#   are all weights and the KV cache of `n_tokens` tokens, with `width` bytes per number.
#
# In 16 bits, a pass over Llama-3.1-8B moves 15 GB, whether it is fed one token or five hundred.
# So we expect the cache to save FLOPs and almost no bytes.

# %% exercise="labkit.cache_benchmark:generation_cost" points=1

# %% experiment="costs"
print(f"{'512 new tokens after a prompt of 8':<34}{'TFLOP':>18}{'TB moved':>18}")
print(f"{'':<34}{'without':>9}{'with':>9}{'without':>9}{'with':>9}")
for name in ("Llama-3.1-8B", "Llama-3.2-1B", "Llama-2-7b-hf"):
    work = ModelWork.of(f"meta-llama/{name}")
    plain, cached = (generation_cost(work, 8, 512, use_cache) for use_cache in (False, True))
    cells = [plain[0] / 1e12, cached[0] / 1e12, plain[1] / 1e12, cached[1] / 1e12]
    print(f"{name:<34}" + "".join(f"{cell:>9.4g}" for cell in cells))

# %% [markdown]
# ## 3. Seconds
#
# A pass cannot be faster than its floor: the longer of moving and computing (`pass_floor`, lab
# 2). On a GPU there is a second floor, because the host must *launch* every kernel of the pass.
# With *eager* PyTorch, which launches one kernel after the other from Python, this takes about
# 0.75 ms per layer (0.6 to 0.95 ms in our records). The 32 layers of an 8B model take 24 ms, but
# moving its weights takes only 3.1 ms on an H200. The GPU works while the host launches, so a
# pass takes the longer of the two.

# %% exercise="labkit.cache_benchmark:predicted_time_s" points=1

# %% [markdown]
# As long as launching is the longer of the two, a pass over 500 tokens takes as long as a pass
# over one. Then the curves with and without a cache coincide. At which length do they separate?

# %% exercise="labkit.cache_benchmark:leaves_launch_floor_at" points=1

# %% [markdown]
# ### Question: four settings, before we measure
#
# Take an H200 (`Roofline.of("H200-SXM")`), bfloat16, and a launch of 0.75 ms per layer. For each
# of the three models, give two numbers. One is the bytes that one token adds to the KV cache. The
# other is the length at which a pass without a cache leaves the launch floor, for contexts up to
# 40,000. For each of the four settings, say what limits a decode step with the cache, and what
# limits a pass without it, at the given length: `"launch"`, `"memory"` or `"compute"`.

# %% answer="four_settings" points=1
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
# Now we measure the four settings on this machine. On a CPU these are the tiny models and a long
# prompt of 2,048 tokens. On a GPU they are the handout's models. Each generation runs once to its
# longest length. We read the clock whenever the number of new tokens is a power of two. A first
# run warms up, and is not kept. (On the H200 that first run takes 42 s, and the next one takes 12
# s.) We also time a pass over a single token. It stands for the launch in our prediction.
#
# The cell takes half a minute on a CPU. Its results are saved in `cache-here.jsonl`. If you stop
# it and run it again, it continues where it stopped.

# %% experiment="measure"
here = profile()
recorder = Recorder("cache-here.jsonl", Provenance.here(here, "lab 3"))
roofline(Bench(here, recorder))
longest, seconds = (None, 30) if here.device == "cuda" else (64, 2)
rows = cache_or_not(here, longest=longest, seconds_per_curve=seconds, is_done=recorder.is_done)
for row in rows:
    recorder.save(row)
    if row.experiment == "one_token_pass":
        print(f"{row.setting}: {row.model}, one token takes {1e3 * row.time_s:.2f} ms")
records = {**RECORDS, "here": recorder.record()}

# %% [markdown]
# Points are measured. Dashed lines are the prediction of *your* `predicted_time_s`. The first two
# figures show this machine, with linear and with logarithmic axes. The third shows our record of
# an H200.

# %% experiment="curves"
cache_figures.with_and_without(records["here"], predicted_time_s, "linear")

# %% experiment="curves_log"
cache_figures.with_and_without(records["here"], predicted_time_s, "log")

# %% experiment="curves_h200"
cache_figures.with_and_without(records["cache-h200"], predicted_time_s, "log")

# %% experiment="residuals"
print(f"{'':<12}{'setting':<14}{'cache':<9}{'new':>5}{'predicted':>12}{'measured':>11}{'ratio':>8}")
for name, record in records.items():
    for setting in settings_of(record):
        for use_cache in (False, True):
            lengths, expected = predicted_curve(record, setting, use_cache, predicted_time_s)
            _, measured = curve(record, setting, use_cache)
            how = "with" if use_cache else "without"
            if lengths:
                print(
                    f"{name:<12}{setting:<14}{how:<9}{lengths[-1]:>5}{expected[-1]:>10.3g} s"
                    f"{measured[-1]:>9.3g} s{measured[-1] / expected[-1]:>8.2f}"
                )

# %% [markdown]
# A prediction has two parts. The floors of moving and computing are hard: no pass is faster. The
# launch time is itself a measurement, and the same host is sometimes faster and sometimes slower.
# On the H200 the baseline's one-token pass took 29 ms, and a minute later a step took 21 ms. So a
# ratio of 0.8 is no surprise. A ratio above 1 shows work that the floor leaves out. Operations
# write their results to memory and read them again, or attention copies its keys in every step.
#
# The main result is this. On the H200, 512 tokens of an 8B model take 11.6 s without a cache and
# 11.9 s *with* one. As long as launching takes the time, the cache saves nothing.
#
# ### Slopes
#
# "3.4 times faster" is the mean ratio of the baseline's recorded times on a CPU, over the lengths
# 1 to
# 512. Over the lengths 128 to 512 alone it is 6.6. So such a number depends on the lengths that
#   were chosen. The first length, one new token, does not even use the cache. The cache changes
#   the duration of each *further* token. That duration is the slope of the curve.

# %% exercise="labkit.cache_benchmark:slopes" points=0.5

# %% experiment="slopes_by_length"
for name, record in records.items():
    for use_cache in (False, True):
        lengths, times_s = curve(record, "baseline", use_cache)
        cells = [f"{1e3 * slope:8.2f}" for slope in slopes(lengths, times_s)]
        print(f"{name:<12}{'with' if use_cache else 'without':<8}", *cells, " ms per further token")
cache_figures.slopes_by_length(records["cache-cpu"], slopes)

# %% experiment="slopes_h200"
cache_figures.slopes_by_length(records["cache-h200"], slopes)

# %% [markdown]
# ### Question: what does the cache save?
#
# Take the baseline of one recorded result; the names are the keys of `RECORDS`. How many seconds
# did a further token take between the two longest lengths, with the cache and without? What is
# their ratio?

# %% answer="speed_up" points=1
speed_up = {
    "record": "cache-cpu",  # the name of one record in RECORDS
    "cached_s_per_token": 0.00716,
    "uncached_s_per_token": 0.1039,
    "ratio": 14.5,
}

# %% [markdown]
# ### In words: four curves
#
# Explain each of the four settings of your own figure, or of a record: baseline, long prompt,
# smaller and older model. How do the curves with and without a cache grow with the number of new
# tokens? Why do the three other settings look different from the baseline, or alike? For each,
# say which limit decides (launch, memory or compute), and give numbers.

# %% [markdown] written="four_curves" points=1
# Every new token is one pass. With a cache, each pass but the first is fed one token, so the
# curve is a straight line. Without a cache, each pass is fed everything. *Baseline*: on an H200
# this is shorter than the launch up to 1,650 tokens. So up to 512 tokens the curve is nearly the
# same straight line: 21 ms per further token with the cache, 21 to 24 ms without. Beyond that,
# each further token takes longer. A CPU has little to launch, so the tiny model's curve bends
# from the start. At 512 tokens a further token takes 104 ms without the cache and 7.2 ms with it
# (our record).
#
# *Long prompt*: without a cache, every pass is fed the whole prompt and is limited by computing.
# So the curve is a straight line again, with one prefill per token: on the H200 1.30 s, where the
# floor is 0.72 s, against 22 ms with the cache. *Smaller model*: launching limits the steps, so
# the time follows the number of layers (13 ms for 16 layers, 21 ms for 32). The parameters, six
# times fewer, do not matter. It leaves the launch floor at three times the length. *Older model*:
# it has as many layers, so its curves are nearly the same. Its cache is four times as large
# (524,288 bytes per token instead of 131,072), but this only shows when reading a long cache
# takes more time than launching.
#
# *Marking:*
#
# * *0.25 if the baseline is explained: a straight line with the cache, and what bends the line
#   without it.*
# * *0.25 for each of the three other settings that is compared with the baseline and explained by
#   its limit, with a number.*

# %% [markdown]
# ## 5. Keeping the cache: blocks and hashes
#
# Four questions are asked about one document of 360 tokens. Then 360 tokens are computed four
# times, and their keys and values are the same every time. The keys and values of a token depend
# on the token, its position and everything before it. They do not depend on anything after it. So
# what two prompts share *at the beginning* can be kept.
#
# Engines such as vLLM cut prompts into blocks of 16 tokens and give each block a name. The name
# is a hash of the block's tokens **and of the hash of the block before it**. Equal names then
# mean equal text from the very beginning. One look into a table tells whether a block's keys and
# values are kept.
#
# ```
# tokens   t0 .. t15 | t16 .. t31 | t32 .. t40
# hashes      h0     |     h1     |  (not full: no hash)
#          of the salt   of h0
#          and t0..t15   and t16..t31
# ```

# %% exercise="labkit.cache_benchmark:block_hashes" points=1.5

# %% [markdown]
# A prompt of 48 tokens, of which all three blocks are kept, still needs 16 tokens computed. The
# first new token is picked from the logits of the last prompt token, and these must be computed.
# Blocks are used whole.

# %% exercise="labkit.cache_benchmark:longest_cached_prefix" points=1

# %% [markdown]
# ### Four questions on one document
#
# `labkit.labs.cache_benchmark.prefix_cache` is an engine in 170 lines. It runs the model with
# *your* two functions: find what is kept, compute the rest, generate, keep. Each question comes
# after the document and all earlier questions and answers. The record of the H200 has a longer
# document.

# %% experiment="four_questions"
mine = {"block_hashes": block_hashes, "longest_cached_prefix": longest_cached_prefix}
turns = list(multi_turn(here, **mine))
plain, kept = turns[:4], turns[4:]
conversations = {name: record.of("multi_turn") for name, record in RECORDS.items()}
print(f"{'':<12}{'':<10}{'prompt':>8}{'computed':>10}{'prefill':>10}{'without':>10}")
for name, rows in {**conversations, "here": turns}.items():
    for without, row in zip(rows[:4], rows[4:], strict=True):
        n_prompt, n_computed = (int(row.counts[key]) for key in ("prompt_tokens", "prefill_tokens"))
        print(
            f"{name:<12}{row.setting:<10}{n_prompt:>8}{n_computed:>10}{1e3 * row.time_s:>7.0f} ms"
            f"{1e3 * without.time_s:>7.0f} ms"
        )
cache_figures.prefill_by_round(turns)

# %% [markdown]
# ### A single space
#
# Now one prompt is kept, and small edits of it are asked: a space before it, and a space after
# it.

# %% experiment="small_edits"
edits = {row.setting: row for row in invalidation(here, **mine)}
for name in ("first", "same", "space before", "space after"):
    n_prompt, n_saved, n_computed = map(int, edits[name].counts.values())
    print(f"{name:<14}{n_prompt:>5} tokens,{n_saved:>5} found,{n_computed:>5} computed")
for name, record in RECORDS.items():
    recorded = {row.setting: row for row in record.of("invalidation")}
    first_s, same_s = recorded["first"].time_s, recorded["same"].time_s
    print(f"{name}: whole prefill {1e3 * first_s:.0f} ms, of the same again {1e3 * same_s:.0f} ms")

# %% [markdown]
# The space before the prompt changes its first token, and then everything after it has another
# beginning. The space after it only adds one token at the end.
#
# Look at the H200. There 368 of 382 tokens are found, and yet the prefill takes *longer*. A pass
# over 382 tokens is limited by launching, and so is a pass over 14. Putting the blocks back only
# adds to it. For the document of 5,761 tokens above, the cache halves the time.
#
# ### Question: and the fifth run?
#
# In the fifth run the document has another name: `"Aldo"` becomes `"Otto"`, once, where it first
# occurs. How many tokens will be found? Predict it from the tokens. Then look at `edits["one
# name"]`. Give the other runs as well.

# %% experiment="edited_tokens"
tokenizer = kit_tokenizer("tiny-target")
tokens = {name: tokenizer(text)["input_ids"] for name, text in edited_prompts().items()}
print({name: len(each) for name, each in tokens.items()})

# %% answer="tokens_found" points=0.5
tokens_found = {  # in the cache, of each run
    "same": 368,
    "space before": 0,
    "space after": 368,
    "one name": 96,
}

# %% experiment="fifth_run"
n_prompt, n_saved, _ = map(int, edits["one name"].counts.values())
print(f"{n_saved} of {n_prompt} tokens were found")

# %% [markdown]
# ### In words: what breaks a cache
#
# Two applications send the same instructions of 2,000 tokens with every request. One writes the
# time of day before them, the other after them. What will each find in the cache? Why must a hash
# cover what comes before its block, and not only the block? What would go wrong otherwise, and
# would anybody notice?

# %% [markdown] written="broken_prefix" points=1
# If the time comes first, the first block differs in every request. Each hash covers all tokens
# before it, so all later hashes differ as well, and nothing is found. If the time comes after the
# instructions, their 125 blocks of 16 tokens are found, and only the last few tokens are
# computed.
#
# The keys and values of a token are computed from everything before it. Its position is rotated
# into the key, and from the second layer on, each token has attended to the tokens before it. The
# same 16 tokens after another beginning have other keys and values. If the hash covered the block
# alone, the engine would put keys of one text after the beginning of another. It would not crash,
# and the answers would be fluent. But they would sometimes be wrong, depending on earlier
# requests. Only a comparison with a run without the cache, token by token, would show it.
#
# *Marking:*
#
# * *0.25 if nothing is found when the time comes first, because all later hashes change.*
# * *0.25 if the instructions are found when the time comes after them.*
# * *0.25 if keys and values depend on everything before them.*
# * *0.25 if it names the consequence: wrong text without an error.*

# %% [markdown]
# ## 6. Moving weights out of the way
#
# A card that is full of weights has no memory left for a cache. Weights can stay in the host's
# memory, and come over the link layer by layer in every step. An L40S reads its own memory at 864
# GB/s. Over PCIe it gets about 25 GB/s, which is 35 times less.

# %% exercise="labkit.cache_benchmark:offload_step_s" points=0.5

# %% [markdown]
# On a GPU, `labkit.labs.cache_benchmark.offload` copies from pinned host memory. A CPU has only
# one memory. There, an offloaded layer is copied from one place in it to another, which is faster
# but works in the same way. The prediction is the measured step without offloading, plus the
# expected duration of the copies.

# %% experiment="offloaded_steps"
steps = {name: record.of("offload") for name, record in RECORDS.items()}
print(f"{'':<12}{'offloaded':<20}{'MB per step':>12}{'predicted':>12}{'measured':>12}")
for name, rows in {**steps, "here": list(offload(here))}.items():
    resident_s = rows[0].time_s / rows[0].n_new
    for row in rows:
        n_bytes, link_bandwidth = row.counts["offloaded_bytes"], row.counts["link_bandwidth"]
        expected_s = resident_s + offload_step_s(n_bytes, n_bytes, 1.0, link_bandwidth)
        if "overlapping" in row.setting:
            expected_s = max(resident_s, n_bytes / link_bandwidth)
        print(
            f"{name:<12}{row.setting:<20}{n_bytes / 1e6:>12.1f}{1e3 * expected_s:>9.2f} ms"
            f"{1e3 * row.time_s / row.n_new:>9.2f} ms"
        )

# %% [markdown]
# On the H200, half of the layers should take 25 ms for the step and 51 ms for the copies.
# Together they take 57 ms, although nothing was asked to overlap. The reason: the 25 ms are time
# of the *host*, which launches the next kernels while the copies run. A sum is right only if both
# parts use the same device.

# %% [markdown]
# ### Question: is it worth it?
#
# Take Qwen3-14B on an L40S in 16 bits, with one sequence of 4,096 tokens. Nothing, 4 GB or 8 GB
# (10⁹ bytes) of the weights are offloaded, over a link of 25 GB/s, one transfer after the other.
# How many milliseconds does a decode step take? How many tokens of KV cache fit next to the
# weights that stay (`longest_sequence` of lab 1, memory of the card as the driver shows it)? Take
# the moved bytes from `ModelWork` and the bandwidth from `Roofline.of("L40S")`.

# %% answer="offload_plan" points=0.5
offload_plan = {
    "nothing": {"step_ms": 33.2, "kv_tokens": 114_558},
    "4 GB": {"step_ms": 188.5, "kv_tokens": 138_972},
    "8 GB": {"step_ms": 343.9, "kv_tokens": 163_386},
}

# %% [markdown]
# The step is more than five times slower, for one fifth more room. For one sequence this is a bad
# trade. It can pay if the model would not run at all otherwise, or if a large batch shares each
# transfer.
#
# ## 7. Play with it
#
# The sliders call your `generation_passes` and `predicted_time_s`. At which prompt does the cache
# begin to matter on an H200 with a launch of 24 ms? What changes if launching takes no time?

# %% experiment="growth"
cache_widget.cache_growth(predicted_time_s, kv_bytes_per_token)

# %% [markdown]
# ## 8. The result
#
# What did the prefix cache save in the conversation above?

# %% experiment="result"
n_plain = sum(row.counts["prefill_tokens"] for row in plain)
n_kept = sum(row.counts["prefill_tokens"] for row in kept)
print(f"prefill of four questions: {n_plain:,.0f} tokens without, {n_kept:,.0f} with prefix cache")
later = [row.time_s for row in plain[1:]], [row.time_s for row in kept[1:]]
print(f"the three later prefills: {1e3 * sum(later[0]):.0f} ms and {1e3 * sum(later[1]):.0f} ms")

# %% [markdown]
# Without the prefix cache, 1,711 tokens are computed; with it, 463. The document is computed
# once, and each further question adds about 27 tokens instead of 440. Within one request, a cache
# saves hundreds of times the FLOPs, but it saves time only where computing takes the time.
# Between requests, it saves the prefill itself. Both rest on one fact: keys and values depend on
# what comes before them, and on nothing that comes after.
#
# ## What to read next
#
# * [Efficient Memory Management for Large Language Model Serving with
#   PagedAttention](https://arxiv.org/abs/2309.06180) (Kwon et al., 2023): blocks, and sharing
#   them.
# * [SGLang: Efficient Execution of Structured Language Model
#   Programs](https://arxiv.org/abs/2312.07104) (Zheng et al., 2023): the same idea with a tree of
#   prefixes.
# * [FlexGen: High-Throughput Generative Inference of Large Language Models with a Single
#   GPU](https://arxiv.org/abs/2303.06865) (Sheng et al., 2023): offloading, and when it pays.
