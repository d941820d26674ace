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
# 512 new tokens after a prompt of 8 take 512 passes over the model, with a KV cache or without:
# with it 519 tokens go through the model in all, without it 134,912. That is 260 times as many,
# and yet on a fast GPU both can take the same time. In this lab we
#
# 1. predict what a generation costs with and without a cache: FLOPs, bytes, seconds;
# 2. hold the prediction against measurements of four settings (a short prompt, a long one, a
#    smaller model, an older one), here and on other hardware;
# 3. keep the cache beyond one request: **prefix caching**, by blocks with chained hashes;
# 4. move weights out of the way: what **offloading** buys, and what it costs per step.
#
# At the end we count what a cached document is worth when four questions are asked about it.
#
# Everything runs on a CPU. **12 points**, 2 of them for words.

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
# Three new tokens after a prompt of five take three passes either way. Without a cache they are
# fed 5, 6 and 7 tokens. With one they are fed 5, 1 and 1, and the cache holds 0, 5 and 6 tokens
# when they begin. All costs in this lab are sums over such a list.

# %% exercise="labkit.cache_benchmark:generation_passes" points=0.5

# %% [markdown]
# ## 2. FLOPs and bytes
#
# `ModelWork` knows what one pass over a model takes:
#
# * `work.flops(n_new, n_cached, n_logits)`: the FLOPs to feed `n_new` tokens after `n_cached`, and
#   to compute logits for `n_logits` of them;
# * `work.moved_bytes(n_tokens, batch_size, width)`: the bytes that have to come from memory, all
#   weights and the KV cache of `n_tokens`, with `width` bytes per number.
#
# A pass over Llama-3.1-8B moves 15 GB in 16 bits, whether it is fed one token or five hundred. So
# we expect the cache to save FLOPs, and next to no bytes.

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
# A pass cannot be faster than its floor, the longer of moving and computing (`pass_floor`, lab 2).
# On a GPU there is a second floor: the host has to *launch* every kernel of the pass. With eager
# PyTorch that takes some 0.75 ms per layer (0.6 to 0.95 in our records), 24 ms for the 32 layers of
# an 8B model, whose decode step needs 3.1 ms on an H200. While the host launches, the GPU works; so
# a pass takes the longer of the two.

# %% exercise="labkit.cache_benchmark:predicted_time_s" points=1

# %% [markdown]
# As long as launching is what takes the time, a pass over 500 tokens costs as much as a pass over
# one: the curve without cache lies on the curve with it. Where does it leave?

# %% exercise="labkit.cache_benchmark:leaves_launch_floor_at" points=1

# %% [markdown]
# ### Question: four settings, before we measure
#
# Take an H200 (`Roofline.of("H200-SXM")`), bfloat16, and a launch of 0.75 ms per layer. For each
# model of the handout: the bytes that one token adds to the KV cache, and the length at which a
# pass without a cache leaves the launch floor (contexts up to 40,000). For each setting: what
# limits a cached decode step, and what limits a pass without cache, both at the length given:
# `"launch"`, `"memory"` or `"compute"`?

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
# Now we measure the four settings on this machine: on a CPU with the tiny models and a long prompt
# of 2,048 tokens, on a GPU with those of the handout. Each generation is run once to its longest
# length, and the clock is read on the way whenever the number of new tokens is a power of two; the
# first run of all warms up. (On the H200 that first run takes 42 s where the next takes 12: each
# new length is cold.) A pass over a single token is timed too, and stands for the launch in our
# prediction.
#
# The cell takes half a minute on a CPU. What it has measured stays in `cache-here.jsonl`; run
# again, it goes on where it was stopped.

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
# Points are measured; dashed lines are what *your* `predicted_time_s` says. First this machine, on
# linear axes and on logarithmic ones. Then the kit's record of an H200.

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
# Two things are in a prediction. The floors of moving and computing hold: nothing beats them. The
# launch time is a measurement of its own, and the same host launches now faster, now slower: on the
# H200 the baseline's one-token pass took 29 ms, and a minute later steps took 21, so ratios of 0.8
# are no wonder. What lies above 1 says what the floor leaves out: operations that move their
# results to memory and back, or an attention that copies its keys in every step.
#
# And the main thing: on the H200, 512 tokens of an 8B model take 11.6 s without a cache and 11.9 s
# *with* one. Nothing is saved as long as launching is what we wait for.
#
# ### Slopes
#
# 3.4 times faster: that is the mean, over the lengths 1 to 512, of the ratios of the baseline's
# recorded times on a CPU. Over the lengths 128 to 512 alone it is 6.6. So such a number says which
# lengths were chosen; and the first of them, one new token, has nothing to do with the cache. What
# the cache changes is the price of the *next* token: the slope.

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
# Take the baseline of one recorded result (the names are those of `RECORDS`). What did a further
# token cost between the two longest lengths, with the cache and without, and what is the speed-up
# there?

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
# Compare the baseline with the three other settings: how do the curves with and without a cache
# grow with the number of new tokens, and why does the long prompt, the smaller model and the older
# one look different, or alike? Say which limit holds where, and give numbers.

# %% [markdown] written="four_curves" points=1
# Every new token is one pass. With a cache each pass but the first is fed one token, so the curve
# is a straight line. Without one each pass is fed everything: as long as that hides behind the
# launch (on an H200 up to 1,650 tokens for the 8B model) the curve is the same straight line: 21 ms
# per further token with the cache, 21 to 24 without, up to 512 tokens. Beyond it the curve bends
# upwards, since each pass is longer than the last. On a CPU there is little to
# launch, so the tiny model's curve bends from the start: at 512 tokens a further token costs 104 ms
# without the cache and 7.2 ms with it (our record).
#
# *Long prompt*: without cache every pass is fed the whole prompt and is bound by computing, so the
# curve is a straight line again, with a slope of one prefill per token (on the H200 1.30 s, where
# the floor is 0.72, against 22 ms with the cache). *Smaller model*: with launch-bound steps the
# time follows the number of layers (13 ms for 16 layers, 21 for 32), not the six times fewer
# parameters; it leaves the launch floor three times later. *Older model*: as many layers, so nearly
# the same curves; its cache is four times as large (one KV head per query head, 524,288 bytes per
# token instead of 131,072), which shows only where the cache is long enough to be read in a time
# that counts.
#
# *Marking: half for straight against bent and why, half for naming the limit of two of the three
# comparisons with a number.*

# %% [markdown]
# ## 5. Keeping the cache: blocks and hashes
#
# Four questions about one document of 360 tokens: 360 tokens are computed four times, and their
# keys and values are the same every time. They depend on the token, its position and everything
# before it, and on nothing after it. So what two prompts share *at the front* can be kept.
#
# Engines such as vLLM cut prompts into blocks of 16 tokens and give each block a name: a hash of
# the block's tokens **and of the hash of the block before it**. Equal names then mean equal text
# from the very beginning, and one look into a table tells whether a block's keys and values are
# there.
#
# ```
# tokens   t0 .. t15 | t16 .. t31 | t32 .. t40
# hashes      h0     |     h1     |  (not full: no hash)
#          of the salt   of h0
#          and t0..t15   and t16..t31
# ```

# %% exercise="labkit.cache_benchmark:block_hashes" points=1.5

# %% [markdown]
# A prompt of 48 tokens, all of whose blocks are known, still needs 16 of them computed: somebody
# has to produce the logits from which the first new token is picked, and blocks come whole.

# %% exercise="labkit.cache_benchmark:longest_cached_prefix" points=1

# %% [markdown]
# ### Four questions on one document
#
# `labkit.labs.cache_benchmark.prefix_cache` is an engine in 170 lines that runs the model with
# *your* two functions: look up, compute the rest, generate, keep. Each question is asked after the
# document and all earlier questions and answers. The recorded H200 has a longer document.

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
# ### What a space can do
#
# Now one prompt is cached, and small edits of it are asked: a space before it, a space after it.

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
# The space before makes `"Chapter"` another first token; everything after it has another
# beginning. The space after is one more token at the end.
#
# Look at the H200: 368 of 382 tokens are found, and the prefill takes *longer*. A pass over 382
# tokens is bound by launching, and so is one over 14; putting the blocks back only adds to it. For
# the document of 5,761 tokens above the cache halves the time.
#
# ### Question: and the fifth run?
#
# In the fifth run one name in the document is another: `"Aldo"` becomes `"Otto"`, once, where it
# first stands. How many tokens will be found? Predict it from the tokens, then look at
# `edits["one name"]`. Give the other runs too.

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
# time of day in front of them, the other behind them. What will each find in the cache, and why
# must a hash cover what stands before its block, not the block alone? What would go wrong
# otherwise, and would anybody notice?

# %% [markdown] written="broken_prefix" points=1
# With the time in front, the first block differs in every request; since each hash covers all
# tokens before it, all later hashes differ as well and nothing is found. With the time behind the
# instructions, their 125 blocks of 16 tokens are found and only the last few tokens are computed.
#
# The keys and values of a token are computed from everything before it: positions are rotated into
# the keys, and from the second layer on each token has attended to its predecessors. The same 16
# tokens after another beginning have other keys and values. If the hash covered the block alone,
# the engine would put keys of one text behind the beginning of another. It would not crash, and
# the answers would be fluent: wrong text, sometimes, depending on who asked what before. Only a
# comparison with an uncached run, token by token, would show it.
#
# *Marking: half for what both applications find, half for the dependence of keys and values on
# what comes before, with a consequence of ignoring it.*

# %% [markdown]
# ## 6. Moving weights out of the way
#
# A card that is full of weights has no room for a cache. Weights can wait in the host's memory and
# come over the link, layer by layer, in every step. An L40S reads its own memory at 864 GB/s;
# over PCIe come some 25 GB/s, 35 times fewer.

# %% exercise="labkit.cache_benchmark:offload_step_s" points=0.5

# %% [markdown]
# On a GPU, `labkit.labs.cache_benchmark.offload` copies from pinned host memory. A CPU has one
# memory only: there an offloaded layer is copied from one place in it to another, which costs less,
# but in the same way. The prediction is the measured step without offloading, plus what the copies
# should take.

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
# On the H200, half of the layers should cost 25 ms for the step and 51 ms for the copies. They cost
# 57 together, although nothing was asked to overlap: those 25 ms are the *host's*, which launches
# the next kernels while the copies run. A sum is right where both parts keep the same device busy.

# %% [markdown]
# ### Question: is it worth it?
#
# Qwen3-14B on an L40S in 16 bits, one sequence of 4,096 tokens: what does a decode step take, in
# milliseconds, with nothing, 4 GB and 8 GB (10⁹ bytes) of the weights offloaded, one transfer
# after the other, over a link of 25 GB/s? And how many tokens of KV cache fit beside the weights
# that stay (`longest_sequence` of lab 1, the card as the driver shows it)? Moved bytes are those
# of `ModelWork`, bandwidth is that of `Roofline.of("L40S")`.

# %% answer="offload_plan" points=0.5
offload_plan = {
    "nothing": {"step_ms": 33.2, "kv_tokens": 114_558},
    "4 GB": {"step_ms": 188.5, "kv_tokens": 138_972},
    "8 GB": {"step_ms": 343.9, "kv_tokens": 163_386},
}

# %% [markdown]
# Five times slower, for a fifth more room: as a price for one sequence that is absurd. It can pay
# where the room decides whether a model runs at all, or where a large batch shares each transfer.
#
# ## 7. Play with it
#
# The sliders call your `generation_passes` and `predicted_time_s`. Try: at which prompt does the
# cache begin to matter on an H200 with a launch of 24 ms, and what if launching cost nothing?

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
# 1,711 tokens without, 463 with: the document is computed once, and each further question costs
# some 27 tokens instead of 440. Within one request the cache saves FLOPs by the hundred, and time
# only where computing is what takes the time. Between requests it saves the prefill itself. Both
# rest on one fact: keys and values depend on what came before, and on nothing that comes after.
#
# ## Words
#
# * **Prefix caching**: keeping keys and values beyond the request that computed them, to be found
#   by what the next prompt begins with.
# * **Block hash**: the name of a block of tokens, made from its tokens and the name of the block
#   before.
# * **Salt**: what is hashed in front of everything else, so that two users share nothing. Without
#   it, one could find out from the time of an answer whether somebody has asked the same.
# * **Launch floor**: the time in which the host starts the kernels of a pass, whatever their size.
# * **Offloading**: weights or keys that wait in a slower memory and are brought over in each step.
# * **Pinned memory**: host memory that the operating system may not move, so that a GPU can copy
#   from it on its own.
#
# ## Further reading
#
# * [Efficient Memory Management for Large Language Model Serving with
#   PagedAttention](https://arxiv.org/abs/2309.06180) (Kwon et al., 2023): blocks, and sharing them.
# * [SGLang: Efficient Execution of Structured Language Model
#   Programs](https://arxiv.org/abs/2312.07104) (Zheng et al., 2023): the same idea as a tree of
#   prefixes.
# * [FlexGen: High-Throughput Generative Inference of Large Language Models with a Single
#   GPU](https://arxiv.org/abs/2303.06865) (Sheng et al., 2023): offloading, and when it pays.
