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
# <!-- picture: query heads that share KV heads -->
#
# After this lab you can
#
# * compute how many bytes a model needs: its weights, its training, its KV cache;
# * solve this for the largest model, or the longest text, that a card can hold;
# * say which numbers of a model decide the size of its cache, and which do not;
# * show the work of such an estimate, with its units.
#
# **You need** Python functions and the idea of attention: queries, keys and values. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. No cell
# needs a GPU. Cells with `TODO` are yours. The check below each shows at once what passes, and
# why something fails. After you hand in, the same checks play other cases.
#
# **Time:** 2 to 4 hours. **12 points**, 2 of them for written answers:
#
# | part | points |
# |---|---|
# | 2. Weights | 0.5 |
# | 3. Training keeps more than weights | 0.5 |
# | 4. The KV cache | 3 |
# | 6. The largest model | 1.5 |
# | 7. The longest sequence | 2.5 |
# | 8. A family of caches | 2 |
# | 9. How it grows | 2 |
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** Before every experiment you must know whether the model fits on the card, and
# how long its texts can be. In this lab you write six short functions that answer this. At the
# end you see how many more tokens a card can hold after one change in a model's attention.

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
# A `ModelShape` holds the numbers that memory depends on. They come from the models' own
# `config.json`. The parameters are counted tensor by tensor, and a shared tensor counts once.

# %% experiment="family"
titles = ("layers", "heads", "KV heads", "head_dim", "d_model")
print(f"{'model':<12}" + "".join(f"{title:>10}" for title in titles) + f"{'parameters':>18}")
for model in FAMILY:
    s = ModelShape.of(f"Qwen/{model}")
    row = (s.n_layers, s.n_heads, s.n_kv_heads, s.head_dim, s.d_model)
    print(f"{model:<12}" + "".join(f"{number:>10,}" for number in row) + f"{s.n_params:>18,}")

# %% [markdown]
# Qwen3-4B has 32 heads of 128 numbers each. This makes 4,096, but its `d_model` is 2,560. So the
# width of a head is a number of its own, and you must not compute it as `d_model / n_heads`. The
# last column also differs from the name: "0.6B" has 596,049,920 parameters.
#
# ## 2. Weights
#
# A model of 7,000,000,000 parameters in 16 bits takes 14,000,000,000 bytes. Everything below uses
# this product. Python's whole numbers are exact at any size, but floats only up to 2^53. So use
# whole numbers.

# %% exercise="labkit.memory:weight_bytes" points=0.5

# %% [markdown]
# ## 3. Training keeps more than weights
#
# With Adam in mixed precision, training a 7B model takes 112 GB before the first activation. This
# was more than the largest card of its day. The recipe of [ZeRO, section
# 3.1](https://arxiv.org/abs/1910.02054) keeps for every parameter
#
# * the weight and its gradient, in 16 bits each,
# * a master copy of the weight, in 32 bits, because small updates are lost in 16 bits,
# * and it keeps Adam's first and second moment, in 32 bits each.
#
# Master copy and moments are the *optimizer's state*. Other recipes keep other things, so the
# function takes the recipe as an argument.

# %% exercise="labkit.memory:training_bytes" points=0.5

# %% [markdown]
# ## 4. The KV cache
#
# When a model generates, every new token attends to all earlier tokens. Their keys and values do
# not change, so they are stored. This is the KV cache. Because of it, the memory of generation
# grows while it runs.
#
# Llama-2-7B stores 524,288 bytes for each token. Llama-3.1-8B stores 131,072 bytes, a quarter of
# that, although it is larger and has as many layers and heads. The difference is *grouped-query
# attention* ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)): 32 query heads share 8 KV
# heads, in groups of four. A query is used once and then dropped. Keys and values are stored.

# %% exercise="labkit.memory:kv_bytes_per_token" points=1

# %% exercise="labkit.memory:kv_cache_bytes" points=0.5

# %% [markdown]
# ### Question: training against generation
#
# How many bytes per parameter does each phase keep? For training, use the recipe of section 3.
# For generation, give the same five numbers. A number may be 0.

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
# *VRAM* is the GPU's own memory. Answer in two or three sentences. What is on the card in
# training, and what in generation? What must be known and tracked in each? In which of the two is
# it less certain how much memory will be needed, and why?

# %% [markdown] written="training_or_generation" points=1
# Training keeps the weights, the gradients, the optimizer's state, and the activations for the
# backward pass. With Adam in mixed precision these are 16 bytes per parameter, 12 of them for the
# optimizer, plus the activations. Batch size and sequence length are fixed before the run, so all
# of it can be computed in advance. Generation keeps the weights (2 bytes per parameter), a small
# buffer for the current layer, and a KV cache. The cache grows by a fixed number of bytes with
# every token of every active sequence. So the length of each sequence and the number of sequences
# must be tracked. They are the uncertain part: nobody knows when a model will emit its stop
# token, or how many requests will arrive.
#
# *Marking:*
#
# * *0.25 if training has gradients, optimizer's state and activations.*
# * *0.25 if generation has a cache that grows with each token.*
# * *0.5 if the unknown in generation is the output length, or the number of active requests.*

# %% [markdown]
# ## 5. How large is a card?
#
# An L40S is sold with 48 GB. The driver shows 46,068 MiB, which is 48.3 × 10⁹ bytes. PyTorch
# shows 44.3 to 44.4 GiB, which is 47.7 × 10⁹ bytes. And 48 GiB would be 51.5 × 10⁹ bytes. These
# values are up to 8 % apart, which is more than a whole conversation. None of them is wrong. So
# whenever a number depends on one of them, we write which one we used:
#
# | name | value |
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
# You can solve a product for one of its factors. Take 24 GB and subtract 2 GB for everything that
# is not weights. The rest holds 11,000,000,000 parameters of 2 bytes. A parameter fits whole or
# not at all, so divide whole numbers.

# %% exercise="labkit.memory:largest_model" points=0.5

# %% [markdown]
# ### Question: one forward pass on 80 GB
#
# What is the largest model whose *single forward pass* fits on one 80 GB card, with 16-bit
# weights, to the nearest billion parameters? It is one pass over one text, as when one measures
# perplexity. Nothing is generated, and no cache is kept.
#
# Give your value of 80 GB, the length of the text (at most 4,096 tokens) and the overhead: what
# else is in memory at the same time? You may set the overhead to 0, or compute it from the
# length.

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
# Take 1,000,000 bytes of memory, of which 400,000 are weights, and 100 bytes per token. Then
# 6,000 tokens fit, or 1,500 in each of four sequences. If the weights fill the card, 0 tokens
# fit. If the weights do not even fit, the answer is also 0: a length is never negative.

# %% exercise="labkit.memory:longest_sequence" points=1

# %% [markdown]
# ### Question: Qwen3-14B on an L40S
#
# To which length can 8 sequences grow at once on one L40S? The model is
# [Qwen/Qwen3-14B](https://huggingface.co/Qwen/Qwen3-14B) in half precision, and the prompts are
# empty. Count only VRAM, weights and KV cache, and give the answer to the nearest 10 tokens.
#
# Two choices decide the number, so you state them. One is the value of 48 GB. The other is the
# number of parameters. Write `"exact"` as in the table of section 1, `"card"` for the 14.8
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
# How large is the KV cache of each Qwen3 model at a length of 32k, for batches of 1, 2 and 4? Use
# half precision and a *static* cache, which is allocated at its full length from the start. Say
# which unit and which value of 32k you use. Two decimals are enough.

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
# The figure uses *your* `kv_cache_bytes`. On logarithmic axes a power law is a straight line, and
# its slope is the exponent. The dashed lines are whole cards, without any weights. Change the
# batch size, or put other models into the list.

# %% experiment="kv_growth"
cards = {}
for card in ("L4", "L40S", "H100-SXM"):
    total = vram_readings(card)["driver"][0]
    cards[f"{card}, {total / 1e9:.0f} GB"] = total
kv_growth([ModelShape.of(f"Qwen/{m}") for m in FAMILY], kv_cache_bytes, cards, batch_size=4)

# %% [markdown]
# ### Question: what does the cache follow?
#
# Give three things. The first is the slope of log(cache) over log(batch size). The second is the
# two factors by which the parameters and the cache grow from the smallest to the largest Qwen3.
# The third is a ratio for each model: the cache of one sequence of 32,768 tokens divided by the
# model's weights, both in 16 bits.

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
# family? Which numbers of the config decide it, and which do not? What follows for a small model
# with long texts?

# %% [markdown] written="growth" points=1
# The cache is exactly proportional to the batch size and to the length, because every token of
# every sequence adds the same bytes. Across models it depends only on layers × KV heads ×
# head_dim. All six models have 8 KV heads of 128 numbers, so the cache follows the number of
# layers (28, 28, 36, 36, 40, 64). It grows 2.3 times while the parameters grow 55 times. Width,
# vocabulary and MLP make weights, but no cache. So for the 0.6B model at 32k, the cache of one
# sequence is three times the weights. For the 32B model it is an eighth. With small models and
# long texts the cache decides how many sequences fit, and not the weights.
#
# *Marking:*
#
# * *0.35 if the cache is linear in batch size and length, with the reason.*
# * *0.35 if layers, or layers × KV heads × head_dim, decide it, and not the parameters.*
# * *0.3 if it names the consequence for small models and long texts.*

# %% [markdown]
# ## 10. The calculator
#
# The sliders call your functions. Red is what does not fit. How many sequences of 8,192 tokens
# does an L4 hold with Qwen3-0.6B? Which helps more on an L40S with Qwen3-32B: weights of 1 byte,
# or a shorter text?

# %% experiment="calculator"
widgets.vram_calculator(weight_bytes, kv_cache_bytes)

# %% [markdown]
# ## 11. The result
#
# Take two models of nearly the same size, one card, and eight conversations at once. How long may
# each conversation become?

# %% experiment="result"
card_bytes = vram_readings("L4")["driver"][0]
for name in ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B"):
    shape = ModelShape.of(name)
    n_tokens = longest_sequence(
        card_bytes, weight_bytes(shape.n_params), kv_bytes_per_token(shape), batch_size=8
    )
    print(f"{name:<26}{shape.n_params / 1e9:5.1f}B parameters, 8 x {n_tokens:>6,} tokens on an L4")

# %% [markdown]
# ## What you have shown
#
# The older model has 2,545 tokens for each conversation, the newer 7,717. The newer model has 1.3
# billion more parameters and leaves less of the card free. It still holds conversations that are
# three times as long, because eight KV heads serve 32 query heads. Something that is shared is
# not stored twice. Most gains in the next labs are of this kind: bytes that we do not keep, do
# not move, or move once for many tokens.
#
# ## What to read next
#
# * [Transformer Inference Arithmetic](https://kipp.ly/transformer-inference-arithmetic/) (Chen,
#   2022): the sums of this lab and of the next.
# * [ZeRO: Memory Optimizations Toward Training Trillion Parameter
#   Models](https://arxiv.org/abs/1910.02054) (Rajbhandari et al., 2020): where training memory
#   goes.
# * [GQA: Training Generalized Multi-Query Transformer Models](https://arxiv.org/abs/2305.13245)
#   (Ainslie et al., 2023).
# * [Qwen3 Technical Report](https://arxiv.org/abs/2505.09388) (2025): the family of section 8.
# * [Understanding CUDA Memory Usage](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html)
#   (PyTorch): what is really on the card, tensor by tensor.
