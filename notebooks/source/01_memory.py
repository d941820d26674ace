# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 1: What fits on a GPU?
#
# We build a memory calculator: six short functions that say how many bytes a model needs, and,
# solved backwards, how large a model or how long a text a card can hold. With them we answer the
# questions that come before every experiment, and at the end we see how many tokens of
# conversation one change in a model's attention buys on a card that costs the same.
#
# Nothing here needs a GPU. Where a cell can use one it says so, and says when there is none.
#
# **How it works.** Cells marked `TODO` are yours; the check below each of them shows at once what
# passes and why something fails. Handed in, the same checks run on other cases. **12 points.**

# %% given="setup"
from collections.abc import Mapping

import torch

from labkit.checks import Checker
from labkit.labs.memory import widget as widgets
from labkit.labs.memory.figures import kv_growth
from labkit.measuring.machine import ready
from labkit.models.facts import gpus, match_gpu, vram_readings
from labkit.models.shapes import ModelShape

FAMILY = ["Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B"]

check = Checker("memory", globals())
print(ready())

# %% [markdown]
# ## 1. The numbers of a model
#
# A `ModelShape` holds what memory depends on. The numbers come from the models' own
# `config.json`, and the parameters are counted tensor by tensor, shared ones once.

# %% experiment="family"
titles = ("layers", "heads", "KV heads", "head_dim", "d_model")
print(f"{'model':<12}" + "".join(f"{title:>10}" for title in titles) + f"{'parameters':>18}")
for model in FAMILY:
    s = ModelShape.of(f"Qwen/{model}")
    row = (s.n_layers, s.n_heads, s.n_kv_heads, s.head_dim, s.d_model)
    print(f"{model:<12}" + "".join(f"{number:>10,}" for number in row) + f"{s.n_params:>18,}")

# %% [markdown]
# 32 × 128 is 4,096, and Qwen3-4B has 32 heads of 128 numbers each, yet its `d_model` is 2,560. So
# a head's width is a number of its own: we never compute it as `d_model / n_heads`. And the last
# column is not the name: "0.6B" is 596,049,920.
#
# ## 2. Weights
#
# 7,000,000,000 parameters in 16 bits are 14,000,000,000 bytes: everything below rests on this
# product. Python's whole numbers are exact at any size, floats only up to 2^53, so we stay with
# whole numbers.

# %% exercise="labkit.memory:weight_bytes" points=0.5

# %% [markdown]
# ## 3. Training keeps more than weights
#
# 112 GB: that is what a 7B model takes before the first activation when it is trained with Adam
# in mixed precision, more than the largest card of its day. The recipe of [ZeRO, section
# 3.1](https://arxiv.org/abs/1910.02054) keeps for every parameter
#
# * the weight and its gradient, in 16 bits each,
# * a master copy of the weight, in 32 bits, because 16 bits swallow small updates,
# * Adam's first and second moment, in 32 bits each.
#
# Master copy and moments are the *optimizer's state*. Other recipes keep other things, so the
# function takes the recipe as an argument.

# %% exercise="labkit.memory:training_bytes" points=0.5

# %% [markdown]
# ## 4. The KV cache
#
# When a model generates, every new token attends to all earlier ones. Their keys and values do
# not change, so they are kept: that is the KV cache, and it is why the memory of generation grows
# while it runs.
#
# Llama-2-7B keeps 524,288 bytes for each token, Llama-3.1-8B 131,072, a quarter, in a larger
# model with as many layers and heads. The difference is *grouped-query attention* ([Ainslie et
# al. 2023](https://arxiv.org/abs/2305.13245)): 32 query heads ask, in groups of four, 8 heads of
# keys and values. What is asked is used once and forgotten; what is asked *for* is stored.

# %% exercise="labkit.memory:kv_bytes_per_token" points=1

# %% exercise="labkit.memory:kv_cache_bytes" points=0.5

# %% [markdown]
# ### Question: training against generation
#
# How many bytes per parameter does each phase keep? Use the recipe of section 3 for training. For
# generation, count the same five; a zero is an answer too.

# %% answer="training_and_generation" points=0.5
training_and_generation = {
    "training": {
        "weights": 2,  # bytes per parameter
        "gradients": 2,
        "master_weights": 4,
        "first_moment": 4,
        "second_moment": 4,
    },
    "generation": {
        "weights": 2,
        "gradients": 0,
        "master_weights": 0,
        "first_moment": 0,
        "second_moment": 0,
    },
    "optimizer_over_weights": 6,  # optimizer's state as a multiple of the 16-bit weights
    "kv_bytes_per_token_of_8b": 147_456,  # what one more token of Qwen3-8B adds, in 16 bits
}

# %% [markdown]
# ### In words: what is in VRAM, and what is not known beforehand?
#
# In two or three sentences: what is on the card in training, what in generation? What has to be
# known and tracked in each, and in which of the two is it less certain how much will be needed,
# and why?

# %% [markdown] written="training_or_generation" points=1
# Training keeps weights, gradients, the optimizer's state (16 bytes per parameter with Adam in
# mixed precision, 12 of them the optimizer's) and the activations saved for the backward pass;
# batch size and sequence length are fixed before the run, so all of it can be sized in advance.
# Generation keeps the weights (2 bytes per parameter), a small buffer for the layer at work, and
# a KV cache that grows by a fixed number of bytes with every token of every live sequence. What
# has to be tracked is the length of each sequence and how many are live, and that is the
# uncertain part: nobody knows when a model will emit its stop token, or how many requests will
# arrive.
#
# *Marking: half for the contents of both phases (gradients, optimizer state and activations
# against a growing cache), half for naming output length or number of live requests as what is
# unknown in generation.*

# %% [markdown]
# ## 5. How large is a card?
#
# An L40S is sold with 48 GB. The driver shows 46,068 MiB, which is 48.3 × 10⁹ bytes; PyTorch
# shows 44.3 to 44.4 GiB, which is 47.7 × 10⁹; and 48 GiB would be 51.5 × 10⁹. These readings are
# 8 % apart, more than a whole conversation. None of them is wrong, so whenever a number depends
# on one we write beside it which we used:
#
# | name | reading |
# |---|---|
# | `"GB"` | the number on the box times 10⁹ |
# | `"GiB"` | the number on the box times 2³⁰, as memory chips are made |
# | `"driver"` | what `nvidia-smi` shows; GDDR6 with error correction loses a sixteenth |
# | `"torch"` | what a program can get: the driver keeps a part for itself |

# %% experiment="cards"
print("in 10^9 bytes:")
print(f"{'card':<30}" + "".join(f"{name:>14}" for name in vram_readings("L40S")))
for card in gpus():
    ranges = [(low / 1e9, high / 1e9) for low, high in vram_readings(card).values()]
    cells = [f"{low:.1f}" if low == high else f"{low:.1f}-{high:.1f}" for low, high in ranges]
    print(f"{card:<30}" + "".join(f"{cell:>14}" for cell in cells))

# %% experiment="this_gpu"
if torch.cuda.is_available():
    device = torch.cuda.get_device_properties(0)
    card = match_gpu(device.name, device.total_memory)
    print(f"This machine: {device.name}, torch sees {device.total_memory / 2**30:.2f} GiB.")
    if card is None:
        print("The table has no such card; its numbers are for comparison only.")
    else:
        low, high = vram_readings(card)["torch"]
        print(f"The table says {low / 2**30:.2f} to {high / 2**30:.2f} GiB for {card}.")
else:
    print("No GPU here. Nothing in this lab needs one.")

# %% [markdown]
# ## 6. The largest model
#
# A product can be solved for one of its factors. 24 GB, less 2 GB for everything that is not
# weights, hold 11,000,000,000 parameters of 2 bytes; a parameter fits whole or not at all, so the
# division is a whole one.

# %% exercise="labkit.memory:largest_model" points=0.5

# %% [markdown]
# ### Question: one forward pass on 80 GB
#
# What is the largest model whose *single forward pass* fits on one 80 GB card, with 16-bit
# weights, to the nearest billion parameters? One pass over one text, as when we measure
# perplexity: nothing is generated and no cache is kept.
#
# Name your reading of 80 GB, the length of the text (at most 4,096 tokens) and the overhead that
# you reckon with: what else is alive at the same time? You may leave it out (0), or derive it
# from the length.

# %% answer="largest_on_80_gb" points=1
largest_on_80_gb = {
    "vram": "GB",  # one of the four names in the table of section 5
    "n_tokens": 2048,  # length of the one text that passes through
    "overhead_gb": 2.0,  # what is alive beside the weights, in GB (10^9 bytes)
    "billions": 39,  # parameters, to the nearest billion
}

# %% [markdown]
# ## 7. The longest sequence
#
# 1,000,000 bytes of memory, 400,000 of them weights, and 100 bytes per token leave room for 6,000
# tokens, or for 1,500 in each of four sequences. Weights that fill the card leave room for 0, and
# so do weights that do not even fit: a length is never negative.

# %% exercise="labkit.memory:longest_sequence" points=1

# %% [markdown]
# ### Question: Qwen3-14B on an L40S
#
# To which length can 8 sequences grow at once on one L40S, with
# [Qwen/Qwen3-14B](https://huggingface.co/Qwen/Qwen3-14B) in half precision, starting from the
# empty prompt? Reckon with VRAM, weights and KV cache alone, and give the answer to the nearest
# 10 tokens.
#
# Two choices decide the number, so they stand beside it. The reading of 48 GB is one. The other
# is how the parameters are counted: `"exact"` as in the table of section 1, `"card"` for the 14.8
# billion of the model card, or `"name"` for the 14 billion of its name.

# %% answer="longest_on_l40s" points=1.5
longest_on_l40s = {
    "vram": "driver",  # one of the four names in the table of section 5
    "params": "exact",  # "exact", "card" or "name"
    "n_tokens": 14_320,  # tokens in each of the 8 sequences
}

# %% [markdown]
# ## 8. A family of caches
#
# How large is the KV cache of each Qwen3 model at a length of 32k, for batches of 1, 2 and 4?
# Take half precision and a static cache, one that is allocated at its full length from the start.
# Name the unit and how you read 32k; two decimals are enough.

# %% answer="kv_table" points=1.5
kv_table = {
    "unit": "GiB",  # "GB" (10^9 bytes) or "GiB" (2^30 bytes)
    "n_tokens": 32_768,  # 32,768 or 32,000
    "Qwen3-0.6B": [3.5, 7.0, 14.0],  # batch 1, 2 and 4
    "Qwen3-1.7B": [3.5, 7.0, 14.0],
    "Qwen3-4B": [4.5, 9.0, 18.0],
    "Qwen3-8B": [4.5, 9.0, 18.0],
    "Qwen3-14B": [5.0, 10.0, 20.0],
    "Qwen3-32B": [8.0, 16.0, 32.0],
}

# %% [markdown]
# ### Question: one cell, factor by factor
#
# Show the work for one cell of your choice: each factor by itself, then their product in bytes.

# %% answer="one_cell" points=0.5
one_cell = {
    "model": "Qwen3-32B",  # which row
    "k_and_v": 2,  # how many vectors are kept per head and token
    "n_layers": 64,
    "n_kv_heads": 8,
    "numbers_per_head": 128,
    "bytes_per_number": 2,
    "n_tokens": 32_768,
    "batch_size": 1,
    "bytes": 8_589_934_592,  # the product
}

# %% [markdown]
# ## 9. How it grows
#
# The figure draws *your* `kv_cache_bytes`: left on linear axes, right on logarithmic ones, where
# a power law is a straight line and its slope the exponent. The dashed lines are whole cards,
# weights not yet on them. Change the batch size, or put other models into the list.

# %% experiment="kv_growth"
cards = {}
for card in ("L4", "L40S", "H100-SXM"):
    total = vram_readings(card)["driver"][0]
    cards[f"{card}, {total / 1e9:.0f} GB"] = total
kv_growth([ModelShape.of(f"Qwen/{m}") for m in FAMILY], kv_cache_bytes, cards, batch_size=4)

# %% [markdown]
# ### Question: what does the cache follow?
#
# Give the slope of log(cache) over log(batch size); by which factors parameters and cache grow
# from the smallest to the largest Qwen3; and for each model the cache of one sequence of 32,768
# tokens divided by the model's weights, both in 16 bits.

# %% answer="scaling" points=1
scaling = {
    "batch_slope": 1,
    "params_ratio": 55,  # parameters of Qwen3-32B over those of Qwen3-0.6B
    "kv_ratio": 2.29,  # KV cache of Qwen3-32B over that of Qwen3-0.6B, at equal length
    "kv_over_weights": {  # two or three digits
        "Qwen3-0.6B": 3.15,
        "Qwen3-1.7B": 1.09,
        "Qwen3-4B": 0.60,
        "Qwen3-8B": 0.295,
        "Qwen3-14B": 0.18,
        "Qwen3-32B": 0.131,
    },
}

# %% [markdown]
# ### In words: why does it grow like that?
#
# How does the cache grow with batch size and with sequence length? How does it grow across this
# family, which numbers of the config decide it, and which do not? What follows for serving a
# small model with long texts?

# %% [markdown] written="growth" points=1
# The cache is exactly proportional to the batch size and to the length: every token of every
# sequence adds the same bytes. Across models it depends on layers × KV heads × head_dim only. All
# six share 8 KV heads of 128 numbers, so the cache follows the depth (28, 28, 36, 36, 40, 64
# layers) and grows 2.3 times while the parameters grow 55 times; width, vocabulary and MLP make
# weights, not cache. So for the 0.6B model at 32k the cache of a single sequence is three times
# the weights, for the 32B model an eighth: with small models and long texts the cache, not the
# weights, decides how many sequences fit.
#
# *Marking: a third for linear in batch and length, a third for depth (or layers × KV heads ×
# head_dim) rather than parameters, a third for the consequence.*

# %% [markdown]
# ## 10. The calculator
#
# The sliders call your functions; red is what does not fit. Try: how many sequences of 8,192
# tokens does an L4 hold with Qwen3-0.6B? Which helps more on an L40S with Qwen3-32B, weights of 1
# byte or a shorter text?

# %% experiment="calculator"
widgets.vram_calculator(weight_bytes, kv_cache_bytes)

# %% [markdown]
# ## 11. The result
#
# Two models of nearly the same size, one card, eight conversations at once. How long may each
# become?

# %% experiment="result"
card_bytes = vram_readings("L4")["driver"][0]
for name in ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B"):
    shape = ModelShape.of(name)
    n_tokens = longest_sequence(
        card_bytes, weight_bytes(shape.n_params), kv_bytes_per_token(shape), batch_size=8
    )
    print(f"{name:<26}{shape.n_params / 1e9:5.1f}B parameters, 8 x {n_tokens:>6,} tokens on an L4")

# %% [markdown]
# 2,545 tokens against 7,717: the newer model has 1.3 billion more parameters, leaves less of the
# card free, and still holds conversations three times as long, because eight heads of keys and
# values serve thirty-two that ask. What is shared is not stored twice, and in the labs to come
# most gains are of this kind: bytes that we do not keep, do not move, or move once for many
# tokens.
#
# ## Words
#
# * **VRAM**: the GPU's own memory (the V once stood for video). Weights and cache have to be in
#   it while they are used; moving them over from the host for each token would be tens of times
#   slower.
# * **The 80, 48 and 40 GB classes**: the cards most used for language models around 2025. 80:
#   A100, H100; 48: RTX A6000, L40, L40S; 40: the first A100. Larger ones exist (H200: 141).
# * **GB and GiB**: 10⁹ and 2³⁰ bytes, 7.4 % apart. Boxes, data sheets and papers mix them.
# * **Static cache**: allocated at its full length from the start; a *growing* one is reallocated
#   or, with *paged attention* ([Kwon et al. 2023](https://arxiv.org/abs/2309.06180)), kept in
#   blocks that need not be neighbours.
# * **Out of memory (OOM)**: the allocation that did not fit. It names what torch could get, not
#   the number on the box.
#
# ## Further reading
#
# * [Transformer Inference Arithmetic](https://kipp.ly/transformer-inference-arithmetic/) (Chen,
#   2022): the sums of this lab and of the next, with a KV cache of its own.
# * [Making Deep Learning Go Brrrr From First Principles](https://horace.io/brrr_intro.html) (He,
#   2022): compute, bandwidth, overhead; the frame of lab 2.
# * [Mixed Precision Training](https://arxiv.org/abs/1710.03740) (Micikevicius et al., 2018): why
#   there is a master copy.
# * [ZeRO: Memory Optimizations Toward Training Trillion Parameter
#   Models](https://arxiv.org/abs/1910.02054) (Rajbhandari et al., 2020): where training memory
#   goes.
# * [GQA: Training Generalized Multi-Query Transformer Models](https://arxiv.org/abs/2305.13245)
#   (Ainslie et al., 2023).
# * [Qwen3 Technical Report](https://arxiv.org/abs/2505.09388) (2025): the family of section 8.
# * [Understanding CUDA Memory Usage](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html)
#   (PyTorch): what really lies on the card, tensor by tensor.
