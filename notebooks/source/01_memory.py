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
# <!-- picture: Left, eight query heads have eight KV heads. Right, they share two:
# a token takes a quarter of the bytes. -->
#
# After this lab you can
#
# * compute how much memory a model needs when it is trained, and when it generates text;
# * compute how large a model, or how long a text, fits on a given card;
# * explain why models share KV heads, and how much longer the texts become.
#
# **You need** Python and a rough idea of a transformer: layers, heads, tokens. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU is
# enough. Cells that can use a GPU also work without one.
#
# Cells with `TODO` are yours. The check below each cell runs a few visible tests, and says what
# fails and why. After you hand in, the grader runs the same checks on hidden tests.
#
# **Time:** 1.5 to 2.5 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.

# %% given="setup"
from collections.abc import Mapping

import torch

from labkit import kit
from labkit.kit import ModelShape
from labkit.labs import memory as lab

FAMILY = [f"Qwen3-{size}B" for size in ("0.6", "1.7", "4", "8", "14", "32")]

check = kit.start("memory", globals())

# %% [markdown]
# ## 1. The numbers of a model
#
# A `ModelShape` holds the numbers of a model that decide its memory. They come from the
# `config.json` of each model. `n_params` counts the parameters of all tensors. If two layers share
# a tensor, it counts once.

# %% experiment="family"
rows = []
for model in FAMILY:
    s = ModelShape.of(f"Qwen/{model}")
    heads = s.n_heads, s.n_kv_heads, s.head_dim
    rows.append([model, s.n_layers, *heads, s.d_model, s.n_params])
names = ["layers", "heads", "KV heads", "head_dim", "d_model", "parameters"]
kit.Table(["model", *names], rows)

# %% [markdown]
# Look at Qwen3-4B. It has 32 heads, and each has 128 numbers: 32 × 128 = 4,096. But its `d_model`
# is 2,560. So never compute the width of a head as `d_model / n_heads`: use `head_dim`. Also, the
# number of parameters is not exactly what the name says. "0.6B" has 596,049,920.
#
# ## 2. Weights
#
# A model with 7,000,000,000 parameters in 16 bits takes 14,000,000,000 bytes. Everything below uses
# this product. Python's integers are exact at any size, but floats only up to 2^53. So use integers
# in all functions of this lab. Where you divide, use `//`, not `/`.

# %% exercise="labkit.memory:weight_bytes" points=0.5

# %% [markdown]
# ## 3. Training keeps more than weights
#
# Take a 7B model, trained with the optimizer Adam in *mixed precision*: it computes in 16 bits, and
# updates the weights in 32 bits. It needs 112 GB, more than a card with 80 GB has. This does not
# yet include the *activations*: the outputs of the layers, which training keeps for the backward
# pass. The recipe of [ZeRO, section 3.1](https://arxiv.org/abs/1910.02054) keeps for each parameter
#
# * the weight and its gradient, in 16 bits each;
# * a master copy of the weight in 32 bits, because a small update of a 16-bit number is rounded
#   away;
# * the two moments of Adam (running means of the gradient and of its square), in 32 bits each.
#
# The master copy and the moments are the *state of the optimizer*. Other recipes keep other things,
# so the recipe is an argument of your function.

# %% exercise="labkit.memory:training_bytes" points=0.5

# %% [markdown]
# ## 4. The KV cache
#
# A model generates one token at a time. Each new token attends to all earlier ones: its query is
# compared with their keys, and their values are mixed. These keys and values do not change, so they
# are stored. The store is the *KV cache*. It is the reason why memory grows while a model
# generates.
#
# Per token, Llama-2-7B stores 524,288 bytes and Llama-3.1-8B only 131,072. Yet Llama-3.1-8B is
# larger, and has the same number of layers and query heads. The difference is *grouped-query
# attention* ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)). Llama-3.1-8B has 32 query
# heads but only 8 *KV heads*, and 4 query heads share the keys and values of one KV head. A query
# is used once and then dropped. Keys and values are stored.

# %% exercise="labkit.memory:kv_bytes_per_token" points=1

# %% exercise="labkit.memory:kv_cache_bytes" points=0.5

# %% [markdown]
# ### Question: training and generation
#
# How many bytes per parameter do training and generation keep? For training, use the recipe of
# section 3. For generation with 16-bit weights, fill in the same five fields. A field may be 0.
#
# Two numbers follow. `"optimizer_over_weights"` is the state of the optimizer divided by the 16-bit
# weights. `"kv_bytes_per_token_of_8b"` is what one more token of Qwen3-8B adds to the cache.

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
    "optimizer_over_weights": 6,  # state of the optimizer / 16-bit weights
    "kv_bytes_per_token_of_8b": 147_456,  # one more token of Qwen3-8B, 16 bits
}

# %% [markdown]
# ### Written answer: what is in VRAM?
#
# VRAM is the GPU's own memory. Answer in 3 to 5 sentences:
#
# 1. What is in VRAM during training, and what is in it during generation?
# 2. For which of the two can you not compute the memory before the run? Name the unknown
#    quantities.

# %% [markdown] written="training_or_generation" points=1
# *1.* Training keeps the weights, the gradients and the state of the optimizer: 16 bytes per
# parameter with Adam in mixed precision. It also keeps the activations that the backward pass
# needs. Generation keeps the weights (2 bytes per parameter), a small buffer for the layer that is
# being computed, and the KV cache. Each token of each sequence adds the same number of bytes to the
# cache.
#
# *2.* You cannot compute it for generation. In training, the batch size and the length are chosen
# before the run, so all memory is known. In generation, nobody knows when a model will produce its
# end-of-text token, or how many requests will arrive. So the server must track the length of each
# sequence and the number of running sequences.
#
# *Marking (1 point):*
#
# * *0.25 for training: gradients, state of the optimizer and activations, besides the weights.*
# * *0.25 for generation: weights and a cache that grows with the tokens.*
# * *What is unknown, one of:*
#   * *0.5 if it is the length of the output, or the number of running requests.*
#   * *0.25 if the answer only says that the cache grows.*

# %% [markdown]
# ## 5. How large is a card?
#
# An L40S is sold with 48 GB. There are several ways to say that in bytes:
#
# * 48 GB are 48.0 × 10⁹ bytes. 48 GiB would be 51.5 × 10⁹ bytes.
# * The driver shows 46,068 MiB, which is 48.3 × 10⁹ bytes.
# * PyTorch shows 44.3 to 44.4 GiB, which is 47.6 to 47.7 × 10⁹ bytes. It depends on the driver.
#
# These numbers differ by up to 8 %, which is room for 24,000 tokens of Qwen3-14B. None of them is
# wrong. So always write down which one you used:
#
# | name | how the size is read |
# |---|---|
# | `"GB"` | the number on the box times 10⁹ |
# | `"GiB"` | the number on the box times 2³⁰, because memory chips have sizes in powers of two |
# | `"driver"` | what `nvidia-smi` shows; some cards use 1/16 of the memory for error correction |
# | `"torch"` | what a program can get: the driver keeps a part for itself |

# %% experiment="cards"
rows = []
for card in kit.gpus():
    ranges = [
        (low / 1e9, high / 1e9) for low, high in kit.vram_readings(card).values()
    ]
    cells = [
        f"{low:.1f}" if low == high else f"{low:.1f}-{high:.1f}"
        for low, high in ranges
    ]
    rows.append([card, *cells])
kit.Table(["card", *kit.vram_readings("L40S")], rows, "memory in 10^9 bytes")

# %% experiment="this_gpu"
if torch.cuda.is_available():
    device = torch.cuda.get_device_properties(0)
    card = kit.match_gpu(device.name, device.total_memory)
    print(
        f"This machine: {device.name}. "
        f"torch sees {device.total_memory / 2**30:.2f} GiB."
    )
    if card is None:
        print(
            "The table above has no such card. Its numbers are for comparison only."
        )
    else:
        low, high = kit.vram_readings(card)["torch"]
        print(
            f"The table says {low / 2**30:.2f} to {high / 2**30:.2f} GiB "
            f"for {card}."
        )
else:
    print("This machine has no GPU. This lab does not need one.")

# %% [markdown]
# ## 6. The largest model
#
# Section 2 computed bytes from parameters. Now compute parameters from bytes. A card has 24 GB, and
# 2 GB of it hold other things than weights. The other 22 GB hold 11,000,000,000 parameters of 2
# bytes. You cannot store a part of a parameter, so round down with `//`.

# %% exercise="labkit.memory:largest_model" points=0.5

# %% [markdown]
# ### Question: one forward pass on 80 GB
#
# What is the largest model whose *single forward pass* fits on one 80 GB card? Its weights have 16
# bits. Answer in whole billions of parameters, rounded down or to the nearest. You may take any 80
# GB card of the table. There is one pass over one text, as when we measure how well a model
# predicts a text. Nothing is generated, and no cache is kept.
#
# Enter three assumptions beside your answer:
#
# * `"vram"`: how you read 80 GB, one of the four names of section 5;
# * `"n_tokens"`: the length of the text, 1 to 4,096 tokens;
# * `"overhead_gb"`: the extra memory that you assume, in GB. Which things are in memory together
#   with the weights? You may enter 0, or estimate a number. The check accepts any number up to a
#   limit, which grows with `n_tokens`. In section 9 you explain your number.
#
# `kit.vram_readings("H100-SXM")` gives two numbers of bytes for each of the four names: the lowest
# and the highest.

# %% answer="largest_on_80_gb" points=1
largest_on_80_gb = {
    "vram": "GB",  # one of the four names in the table of section 5
    "n_tokens": 2048,  # length of the one text, at most 4,096
    "overhead_gb": 2.0,  # in memory besides the weights, in GB (10^9 bytes)
    "billions": 39,  # parameters, in whole billions
}

# %% [markdown]
# ## 7. The longest sequence
#
# An example: 400,000 of 1,000,000 bytes are weights, and each token takes 100 bytes. Then 6,000
# tokens fit. With four sequences, 1,500 tokens fit in each. If the weights fill the card, or do not
# fit at all, the answer is 0. A length is never negative.

# %% exercise="labkit.memory:longest_sequence" points=1

# %% [markdown]
# ### Question: Qwen3-14B on an L40S
#
# How long can 8 sequences become at the same time on one L40S? The model is
# [Qwen/Qwen3-14B](https://huggingface.co/Qwen/Qwen3-14B) in half precision (16 bits). A sequence is
# a prompt and its output together. Count only weights and KV cache. Answer to the nearest 10
# tokens.
#
# The answer depends on two choices. Enter both:
#
# * `"vram"`: how you read 48 GB; for `"torch"`, the lowest and the highest number are both right;
# * `"params"`: how you count the parameters. `"exact"` is the number in the table of section 1.
#   `"card"` is the 14.8 billion of the model card. `"name"` is the 14 billion of its name. One of
#   them is too far from the real number.

# %% answer="longest_on_l40s" points=1.5
longest_on_l40s = {
    "vram": "driver",  # one of the four names in the table of section 5
    "params": "exact",  # "exact", "card" or "name"
    "n_tokens": 14_320,  # tokens in each of the 8 sequences
}

# %% [markdown]
# ## 8. A family of caches
#
# How large is the KV cache of each Qwen3 model at a length of 32k, for batches of 1, 2 and 4? Take
# 16-bit numbers and a *static* cache: its memory is allocated at the full length from the start.
# Enter the unit, and which number you take for 32k. Two decimals are enough. You may also write
# expressions that call your functions.

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
# ### Question: one number, factor by factor
#
# Choose one number of `kv_table`: one model and one batch size. Give each factor. Then multiply
# them, and give the bytes.

# %% answer="one_cell" points=0.5
one_cell = {
    "model": "Qwen3-32B",  # which row
    "k_and_v": 2,  # vectors stored per KV head and token
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
# The figure draws *your* `kv_cache_bytes`. The left axes are linear. The right axes are
# logarithmic: there y = c · xˢ is a straight line with slope s. Each dashed line is the whole
# memory of a card: no weights are subtracted. Change the batch size, or put other models into the
# list.

# %% experiment="kv_growth"
cards = {}
for card in ("L4", "L40S", "H100-SXM"):
    total = kit.vram_readings(card)["driver"][0]
    cards[f"{card}, {total / 1e9:.0f} GB"] = total
lab.figures.kv_growth(
    [ModelShape.of(f"Qwen/{m}") for m in FAMILY],
    kv_cache_bytes,
    cards,
    batch_size=4,
)

# %% [markdown]
# ### Question: what does the cache depend on?
#
# * `"batch_slope"`: the number s, if the cache grows as c · (batch size)ˢ;
# * `"params_ratio"`: the parameters of the largest Qwen3 divided by those of the smallest;
# * `"kv_ratio"`: the same for the KV cache, at equal length;
# * `"kv_over_weights"`: for each model, the cache of one sequence of 32,768 tokens divided by the
#   weights. Weights and cached numbers take 2 bytes each.

# %% answer="scaling" points=1
scaling = {
    "batch_slope": 1,
    "params_ratio": 55,  # parameters of Qwen3-32B over those of Qwen3-0.6B
    "kv_ratio": 2.29,  # KV caches of Qwen3-32B and Qwen3-0.6B, at equal length
    "kv_over_weights": {  # two or three significant digits
        "Qwen3-0.6B": 3.15,
        "Qwen3-1.7B": 1.09,
        "Qwen3-4B": 0.60,
        "Qwen3-8B": 0.295,
        "Qwen3-14B": 0.18,
        "Qwen3-32B": 0.131,
    },
}

# %% [markdown]
# ### Written answer: growth, and your two estimates
#
# Write 6 to 10 sentences, with numbers:
#
# 1. How does the cache grow with the batch size and with the length?
# 2. Which numbers of the `config.json` decide how large the cache of each Qwen3 model is, and which
#    do not? What follows for a small model that serves long texts?
# 3. Show your work for `largest_on_80_gb`: which assumptions do you make, and how do they give your
#    answer?
# 4. Show your work for `longest_on_l40s`: give each factor, and the steps to your answer.

# %% [markdown] written="growth" points=1
# *1.* The cache is proportional to the batch size and to the length: each token of each sequence
# adds the same bytes.
#
# *2.* Across models the cache depends only on layers × KV heads × head_dim. All six models have 8
# KV heads of 128 numbers, so the cache follows the number of layers (28 to 64). It grows 2.3 times
# while the parameters grow 55 times. Width, vocabulary and MLP make weights, not cache. For the
# 0.6B model at 32k, the cache of one sequence is three times the weights. For the 32B model it is
# an eighth. So for small models with long texts, the cache decides how many sequences fit.
#
# *3.* I read 80 GB as 80 × 10⁹ bytes, and take 2,048 tokens. During the pass the logits are in
# memory: 2,048 × 151,936 numbers. In 16 bits, with a 32-bit copy, they are 1.9 GB. The activations
# of one layer take 0.1 to 0.3 GB. I round to 2 GB. The other 78 GB hold 78 × 10⁹ / 2 = 39 × 10⁹
# parameters.
#
# *4.* The driver shows 46,068 MiB = 48.306 × 10⁹ bytes. The weights take 14.768 × 10⁹ × 2 = 29.537
# × 10⁹, so 18.769 × 10⁹ are left. A token takes 2 × 40 layers × 8 KV heads × 128 × 2 bytes =
# 163,840 bytes. For 8 sequences that is 1,310,720 bytes. 18.769 × 10⁹ / 1,310,720 = 14,320 tokens.
#
# *Marking (1 point):*
#
# * *0.25 if the cache is linear in batch size and in length, with the reason.*
# * *0.25 if layers × KV heads × head_dim decide, not the parameters, with one consequence for
#   serving.*
# * *0.25 for the work on 80 GB: bytes of the card, a named overhead (or 0, with the reason), 2
#   bytes per parameter.*
# * *0.25 for the work on the L40S: weights taken off, each factor of a token, 8 sequences. A wrong
#   number with right steps earns it too.*

# %% [markdown]
# ## 10. The calculator
#
# This section has no points. The sliders call your functions. Red means that it does not fit.
# Choose Qwen3-0.6B and an L4 with 8,192 tokens. What is the largest batch on the slider that fits?
# Then choose Qwen3-32B and an L40S. Which helps more, weights of 1 byte or a shorter text?

# %% experiment="calculator"
lab.widget.vram_calculator(weight_bytes, kv_cache_bytes)

# %% [markdown]
# ## 11. The result
#
# We take two models of nearly the same size, one card, and eight conversations at the same time.
# How long may each conversation become?

# %% experiment="result"
card_bytes, rows = kit.vram_readings("L4")["driver"][0], []
for name in ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B"):
    shape = ModelShape.of(name)
    n_tokens = longest_sequence(
        card_bytes,
        weight_bytes(shape.n_params),
        kv_bytes_per_token(shape),
        batch_size=8,
    )
    rows.append([name, f"{shape.n_params / 1e9:.1f}B", n_tokens])
kit.Table(
    ["model", "parameters", "tokens of each sequence"], rows, "8 sequences on an L4"
)

# %% [markdown]
# With Llama-2-7B, each conversation may have 2,545 tokens. With Llama-3.1-8B it may have 7,717. The
# new model has 1.3 billion more
# parameters, so it leaves less of the card free. Yet its conversations can be three times as long,
# because 32 query heads share 8 KV heads. Keys and values that are shared are stored once.
#
# ## What you have shown
#
# Your six functions say what fits on a card. With them you have shown that one change in the
# attention lets an L4 hold conversations three times as long. The next labs find similar gains.
# They store fewer bytes, move fewer bytes, or use the bytes that they move for many tokens.
#
# ## Words
#
# * **VRAM** is the GPU's own memory (the V once meant video). Weights and cache must be in it while
#   they are used. If they were copied from the CPU's memory for each token, a token would take tens
#   of times as long. Lab 3 computes this.
# * **Classes of cards**: those most used for language models around 2025 have 80 GB (A100, H100),
#   48 GB (RTX A6000, L40, L40S) or 40 GB (the first A100). Larger ones exist: an H200 has 141 GB.
# * **GB and GiB** are 10⁹ and 2³⁰ bytes. They differ by 7.4 %. Boxes, data sheets and papers mix
#   them.
# * A **static cache** is allocated at its full length from the start. A *growing* cache is
#   reallocated. A *paged* cache ([Kwon et al. 2023](https://arxiv.org/abs/2309.06180)) is kept in
#   blocks that need not be neighbours.
# * **Out of memory (OOM)** means that an allocation did not fit. The message shows the memory that
#   torch could get, not the number on the box.
#
# ## Read next
#
# * [Transformer Inference Arithmetic](https://kipp.ly/transformer-inference-arithmetic/) (Chen,
#   2022): the computations of this lab and of the next.
# * [GQA: Training Generalized Multi-Query Transformer Models](https://arxiv.org/abs/2305.13245)
#   (Ainslie et al., 2023): query heads that share keys and values.
# * [ZeRO: Memory Optimizations Toward Training Trillion Parameter
#   Models](https://arxiv.org/abs/1910.02054) (Rajbhandari et al., 2020), section 3: where the
#   memory of training goes.
# * [Making Deep Learning Go Brrrr From First Principles](https://horace.io/brrr_intro.html) (He,
#   2022): read it before lab 2.
