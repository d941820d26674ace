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
# * read the `config.json` of a model, and count its parameters to the last one;
# * compute the KV cache of models with full, windowed, latent and linear layers;
# * compute what fits on a card or on a node, and explain the overhead that formulas leave out.
#
# **You need** Python and a rough idea of a transformer: layers, heads, tokens. The
# [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU is
# enough.
#
# Yours are each `TODO`, each `...`, and your name. The check below each cell runs a few visible
# tests, and says what fails and why. After you hand in, the grader runs the same checks on hidden
# tests.
#
# **Time:** 2.5 to 4 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
import torch

from labkit import kit
from labkit.kit import ModelConfig
from labkit.labs import memory as lab

FAMILY = [f"Qwen3-{size}B" for size in ("0.6", "1.7", "4", "8", "14", "32")]

check = kit.start("memory", globals())

# %% [markdown]
# ## 1. Parameters
#
# Each model on Hugging Face has a file `config.json`. A `ModelConfig` holds its numbers, by the
# names that they have in Qwen3's file. `ModelConfig.of` looks a model up in the kit's tables.
# `ModelConfig.read` takes a `config.json` that you have parsed, also of other families. `read`
# reports a missing field or an unknown kind of layer.

# %% experiment="family"
rows = []
for name in (*FAMILY, "Qwen3-30B-A3B"):
    c = ModelConfig.of(f"Qwen/{name}")
    heads = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    experts = (
        f"{c.num_experts}, {c.num_experts_per_tok} used" if c.num_experts else ""
    )
    rows.append([name, c.num_hidden_layers, c.hidden_size, *heads, experts])
names = ["layers", "hidden_size", "heads", "KV heads", "head_dim", "experts"]
kit.Table(["model", *names], rows)

# %% [markdown]
# Look at Qwen3-4B. It has 32 heads, and each has 128 numbers: 32 × 128 = 4,096. But its
# `hidden_size` is 2,560. So never compute the width of a head as
# `hidden_size / num_attention_heads`: use `head_dim`.
#
# The last row is a *mixture of experts*. Instead of one MLP, each of its layers has 128 small ones.
# A *router* chooses 8 of them for each token. All experts must be in memory, but a token uses few
# of them. So such a model has two sizes: all parameters, and those that one token uses.
#
# "A3B" in its name says that a token uses about 3 billion.
#
# Your function counts models of the families Llama, Qwen3, Mixtral and GLM-4.5 exactly as the
# transformers library builds them. Its docstring names each weight that they have. (`qk_norm` is in
# no file of Qwen3: the code of the family decides it, so our tables have it. With `attention_bias`,
# new versions of Llama and Qwen3 also have a bias in the output. No model here uses it.) These are
# the shapes of the matrices:
#
# | part | shape of its matrices |
# |---|---|
# | embedding, output head | `vocab_size` × `hidden_size` each |
# | queries | `hidden_size` × (`num_attention_heads` × `head_dim`) |
# | keys, values | `hidden_size` × (`num_key_value_heads` × `head_dim`) each |
# | output projection | (`num_attention_heads` × `head_dim`) × `hidden_size` |
# | MLP: gate, up, down | `hidden_size` × `intermediate_size` each |
#
# `config.layer_types` is a list with the kind of each layer (section 3). Every kind has the same
# weights here, except for two, which you refuse. A bias of queries has as many numbers as all query
# heads together, and one of keys or values as many as all KV heads. Use integers: Python's are exact
# at any size, but floats only up to 2^53.

# %% exercise="labkit.memory:n_params" points=2 minutes=35 level=3

# %% experiment="counted"
rows = []
for name in (*(f"Qwen/{model}" for model in FAMILY), "Qwen/Qwen3-30B-A3B",
             "mistralai/Mixtral-8x7B-v0.1", "zai-org/GLM-4.5-Air"):  # fmt: skip
    every, used = n_params(ModelConfig.of(name))
    rows.append([name, f"{every:,}", f"{used:,}", f"{2 * every / 1e9:.1f}"])
kit.Table(["model", "all", "used by a token", "weights, GB in 16 bits"], rows)

# %% [markdown]
# "0.6B" has 596,049,920 parameters, and you counted each of them. Others count in another way. The
# hub's file of Qwen3-0.6B stores the tied head a second time, so tools that add up its tensors
# report 751,632,384. Model cards of mixtures often leave out the embedding, or embedding and head.
# Without both, a token of Qwen3-30B-A3B uses 2.73 billion parameters, not 3.35. So always say which
# number you mean.
#
# The count is wrong if a family has other weights. The norms of OLMo-7B have none: your function
# gives 266,240 too many. The files of GLM-4.5 hold one more layer, which predicts a second token;
# this count leaves it out.
#
# Experts save work, not memory. Qwen3-30B-A3B takes 61 GB in 16 bits, nearly as much as Qwen3-32B
# with 65.5 GB. On a card with 48 GB, neither fits in 16 bits. With a small
# batch, the GPU also reads only a few experts. With a large batch, it reads nearly all.
#
# ## 2. Training keeps more than weights
#
# Training a 7B model needs 112 GB, more than a card with 80 GB has. This is for the optimizer Adam
# in *mixed precision*: the layers compute in 16 bits, and Adam updates the weights in 32 bits.
# Training also keeps *activations* for the backward pass: the outputs of the layers. 112 GB do not
# include them. The recipe of [ZeRO, section 3.1](https://arxiv.org/abs/1910.02054) keeps for each
# parameter
#
# * the weight and its gradient, in 16 bits each;
# * a master copy of the weight in 32 bits, because a small update of a 16-bit number is rounded
#   away;
# * the two moments of Adam (running means of the gradient and of its square), in 32 bits each.
#
# The master copy and the moments are the *state of the optimizer*. The cell asks for the bytes of
# each. Then multiply: how many GB (10⁹ bytes) are these five for all of Qwen3-30B-A3B?

# %% answer="training" points=0.25
training = {
    "weights": 2,  # bytes per parameter
    "gradients": 2,
    "master_weights": 4,
    "first_moment": 4,
    "second_moment": 4,
    "gb_of_30b": 488.5,  # for all parameters of Qwen3-30B-A3B
}

# %% [markdown]
# ### Written answer: what is in VRAM?
#
# VRAM is the GPU's own memory. (If you do not know what a KV cache is, read section 3 first.) Answer
# in 2 to 4 sentences:
#
# 1. What is in VRAM during training, and what is in it during generation?
# 2. For one of the two you can compute the memory before the run, for the other you cannot. Which
#    numbers are unknown there?

# %% [markdown] written="training_or_generation" points=0.5
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
# *Marking (0.5 points):*
#
# * *0.25 for what is in memory: training has gradients, state of the optimizer and activations,
#   generation a cache that grows with the tokens.*
# * *0.25 for what is unknown: the length of the output, or the number of running requests.*

# %% [markdown]
# ## 3. The KV cache
#
# A model generates one token at a time. Each new token attends to earlier ones: its query is
# compared with their keys, and their values are mixed. Keys and values do not change, so they are
# stored. The store is the *KV cache*. What a layer stores depends on its kind:
#
# * **Full attention** stores the keys and values of every token. Several query heads may share one
#   *KV head* (*grouped-query attention*, [Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)).
#   A query is used once and then dropped.
# * **A sliding window** attends to the last tokens only, 1,024 in Gemma 3 27B and 128 in gpt-oss.
#   Older keys and values can be dropped. So the window is an upper limit: the cache grows up to it,
#   then no more.
# * **A latent** ([multi-head latent attention](https://arxiv.org/abs/2405.04434), DeepSeek-V2, V3
#   and Kimi K2) stores one short vector per token and layer. The keys and values of all heads are
#   computed from it. A few numbers more hold the position (`qk_rope_head_dim`).
# * **Linear attention** (most layers of Qwen3-Next, Qwen3.5 and MiniMax-Text-01) adds each token to
#   a *state* of fixed size. It stores nothing per token.
#
# The numbers may be stored in 16 bits (2 bytes), in FP8 (1 byte), or in 4 bits (0.5 bytes). With 1
# byte or less, engines also store scale factors: 12 % more with 4 bits in SGLang. This lab does not
# count them. There are more kinds of layers: DeepSeek-V3.2 also stores an index for each token.

# %% exercise="labkit.memory:kv_cache_bytes" points=2 minutes=30 level=3

# %% experiment="years"
lab.figures.caches_by_year(kv_cache_bytes, lab.MODELS_OF_SEVEN_YEARS)

# %% [markdown]
# (The figure divides the cache of 32,768 tokens by the tokens. At 1,024 tokens, Gemma's windows
# save nothing yet, and states weigh more.) In 16 bits, Llama-2-7B stores 524,288 bytes per token,
# 7.5 times as many as DeepSeek-V3 with 70,272, which has 100 times the parameters. The formula for
# grouped heads is no help here. The `config.json` of DeepSeek-V3 says 128 KV heads. With keys of
# 192 and values of 128 numbers, they would make 4,997,120 bytes per token, 71 times as many.
#
# Each way has its price:
#
# * Shared heads and latents are part of the trained model. To change them, train it again for a
#   while.
# * A layer with a window cannot see older tokens. Only other layers can pass on what they say. So
#   Gemma 3 and gpt-oss keep some full layers.
# * A latent needs more computing: in each step the GPU computes keys and values from it, or changes
#   the queries to its width.
# * A state costs memory from the first token on, for every sequence. For a short sequence it is
#   larger than a normal cache would be. MiniMax-Text-01 keeps 280 MiB for each sequence, in 32
#   bits. At 256 requests that is 70 GiB before the first token.
# * Narrow numbers are less exact. [SGLang's
#   documents](https://docs.sglang.ai/advanced_features/quantized_kv_cache.html) show it for
#   DeepSeek-R1. On the hard problems of AIME 2025, it solves 51 % with 16 bits, 49 % with FP8 and
#   40 % with 4 bits. AIME has 30 problems, so the first difference may be chance. On the easier
#   GSM8K it solves 91.6, 91.5 and 91.2 %.
#
# ## 4. How large is a card?
#
# An L40S is sold with 48 GB. There are several ways to say that in bytes:
#
# * 48 GB are 48.0 × 10⁹ bytes. 48 GiB would be 51.5 × 10⁹ bytes.
# * The driver shows 46,068 MiB, which is 48.3 × 10⁹ bytes.
# * PyTorch shows 44.3 to 44.4 GiB, which is 47.6 to 47.7 × 10⁹ bytes. It depends on the driver.
#
# These numbers differ by up to 8 %, which is room for 24,000 tokens of Qwen3-14B. All of them are
# in use, but no program gets more than the last. So always write down which one you used:
#
# | name | how the size is read |
# |---|---|
# | `"GB"` | the number on the box times 10⁹ |
# | `"GiB"` | the number on the box times 2³⁰ |
# | `"driver"` | what `nvidia-smi` shows; some cards use 1/16 of the memory for error correction |
# | `"torch"` | all that PyTorch reports; the driver keeps a part, and a program gets a little less |

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
# ## 5. The largest model
#
# Section 1 computed bytes from parameters. Now compute parameters from bytes. A card has 24 GB, and
# 2 GB of it hold other things than weights. The other 22 GB hold 11,000,000,000 parameters of 2
# bytes. You cannot store a part of a parameter, so round down with `//`.

# %% exercise="labkit.memory:largest_model" points=0.25 minutes=5 level=1

# %% [markdown]
# ### Question: one forward pass on 80 GB
#
# What is the largest model whose *single forward pass* fits on one 80 GB card? Its weights have 16
# bits. Answer in whole billions of parameters, rounded down or to the nearest. You may take any 80
# GB card of the table. There is one pass over one text, as when we measure how well a model
# predicts a text. (This needs the logits of all positions.) Nothing is generated, and no cache is
# kept.
#
# Enter three assumptions beside your answer:
#
# * `"vram"`: how you read 80 GB, one of the four names of section 4;
# * `"n_tokens"`: the length of the text, 1 to 4,096 tokens;
# * `"overhead_gb"`: the extra memory that you assume, in GB. Which things are in memory together
#   with the weights? You may enter 0, or estimate a number. The check accepts any number up to a
#   limit, which grows with `n_tokens`.
#   Explain your number in the written answer of section 8.
#
# `kit.vram_readings("H100-SXM")` gives two numbers of bytes for each of the four names: the lowest
# and the highest.

# %% answer="largest_on_80_gb" points=0.5
largest_on_80_gb = {
    "vram": "GB",  # one of the four names in the table of section 4
    "n_tokens": 2048,  # length of the one text, at most 4,096
    "overhead_gb": 2.0,  # in memory besides the weights, in GB (10^9 bytes)
    "billions": 39,  # parameters, in whole billions
}

# %% [markdown]
# ## 6. The longest sequence
#
# An example: 400,000 of 1,000,000 bytes are weights, and each token takes 100 bytes. Then 6,000
# tokens fit. With four sequences, 1,500 tokens fit in each. If the weights fill the card, or do not
# fit at all, the answer is 0. A length is never negative. `token_bytes` is `kv_cache_bytes(config,
# 1)` where all layers are full. This function is for such models only.

# %% exercise="labkit.memory:longest_sequence" points=0.5 minutes=10 level=2

# %% [markdown]
# ### Question: Qwen3-14B on an L40S
#
# How long can 8 sequences become at the same time on one L40S? The model is
# [Qwen/Qwen3-14B](https://huggingface.co/Qwen/Qwen3-14B) in half precision (16 bits). A sequence is
# a prompt and its output together. Count only weights and KV cache. Enter what your
# `longest_sequence` gives; a difference of 10 tokens is accepted.
#
# The answer depends on two choices. Enter both:
#
# * `"vram"`: how you read 48 GB; for `"torch"`, the lowest and the highest number are both right;
# * `"params"`: how you count the parameters. `"exact"` is what your `n_params` gives.
#   `"card"` is the 14.8 billion of the model card. `"name"` is the 14 billion of its name. The check
#   rejects one of these three, because it is too far from the real number.

# %% answer="longest_on_l40s" points=0.75
longest_on_l40s = {
    "vram": "driver",  # one of the four names in the table of section 4
    "params": "exact",  # "exact", "card" or "name"
    "n_tokens": 14_320,  # tokens in each of the 8 sequences
}

# %% [markdown]
# ## 7. A family of caches
#
# How large is the KV cache of each Qwen3 model at a length of 32k, for batches of 1, 2 and 4? Take
# 16-bit numbers and a *static* cache: its memory is allocated at the full length from the start.
# Enter the unit, and which number you take for 32k. Two decimals are enough. You may also write
# expressions that call your functions.

# %% answer="kv_table" points=0.75
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
# ## 8. How it grows
#
# The figure draws *your* `kv_cache_bytes`. The left axes are linear. The right axes are
# logarithmic: there y = c · xˢ is a straight line with slope s. Each dashed line is the whole
# memory of a card: no weights are subtracted. You may change the batch size and run it again.

# %% experiment="kv_growth"
cards = {}
for card in ("L4", "L40S", "H100-SXM"):
    total = kit.vram_readings(card)["driver"][0]
    cards[f"{card}, {total / 1e9:.0f} GB"] = total
lab.figures.kv_growth(
    {model: ModelConfig.of(f"Qwen/{model}") for model in FAMILY},
    kv_cache_bytes,
    cards,
    batch_size=4,
)

# %% [markdown]
# ### Question: what does the cache depend on?
#
# * `"batch_slope"`: the number s, if the cache grows as c · (batch size)ˢ;
# * `"params_ratio"`: the parameters of Qwen3-32B divided by those of Qwen3-0.6B;
# * `"kv_ratio"`: the same for the KV cache, at equal length;
# * `"kv_over_weights"`: for each of these two, the cache of one sequence of 32,768 tokens divided
#   by the weights. Weights and cached numbers take 2 bytes each;
# * `"crossing"`: from which length on is the cache of `Qwen/Qwen3-Next-80B-A3B-Instruct` smaller
#   than that of `Qwen/Qwen3-30B-A3B`? (Below, the states of its linear layers make it larger. A
#   difference of one token is accepted.)

# %% answer="scaling" points=0.5
scaling = {
    "batch_slope": 1,
    "params_ratio": 55,  # parameters of Qwen3-32B over those of Qwen3-0.6B
    "kv_ratio": 2.29,  # KV caches of Qwen3-32B and Qwen3-0.6B, at equal length
    "kv_over_weights": {  # two or three significant digits
        "Qwen3-0.6B": 3.15,
        "Qwen3-32B": 0.131,
    },
    "crossing": 1057,  # tokens of one sequence, 16-bit numbers
}

# %% [markdown]
# ### Written answer: growth, and your two estimates
#
# Write 5 to 8 sentences, with numbers:
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
# of one layer take 0.2 to 0.4 GB. I round to 2 GB. The other 78 GB hold 78 × 10⁹ / 2 = 39 × 10⁹
# parameters.
#
# *4.* The driver shows 46,068 MiB = 48.306 × 10⁹ bytes. The weights take 14.768 × 10⁹ × 2 = 29.537
# × 10⁹, so 18.769 × 10⁹ are left. A token takes 2 × 40 layers × 8 KV heads × 128 × 2 bytes =
# 163,840 bytes. For 8 sequences that is 1,310,720 bytes. 18.769 × 10⁹ / 1,310,720 = 14,319 tokens,
# rounded down.
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
# ## 9. What the formula leaves out
#
# The formula adds weights and cache. The record below was measured on an H200, and only 80 GB of
# its 141 were allowed: Qwen3-8B, 8 sequences, 64 new tokens each. It ran with transformers, which
# computes the logits of the last position only. The peak is what PyTorch's allocator counted.
# Compare the second column with the third.

# %% experiment="recorded_peaks"
lab.peaks.peaks_table(kv_cache_bytes)

# %% [markdown]
# With prompts of 16,384 tokens, the formula says 35.8 GB, and the record 49.8. The 14
# GB between them are the *activations* of the prefill, which computes all 8 × 16,384 prompt tokens
# in one pass. Only one layer's activations are in memory at a time. The peak is inside the MLP.
# There, each prompt token has three vectors of `intermediate_size` and four of `hidden_size`
# numbers: (3 × 12,288 + 4 × 4,096) × 2 bytes = 106,496 bytes. Up to 128 tokens, the overhead does
# not follow the length: it is 63 to 87 MB. If a pass computes whole prompts, a flat "20 % on top"
# is too much for short prompts and too little for long ones.
#
# ### Question: predict a peak
#
# * `"bytes_per_token"`: by how many bytes does the overhead grow with each prompt token of the
#   pass? Compute it from the rows with 8,192 and 16,384 tokens. (It is a little more than the
#   vectors.)
# * `"peak_gb"`: predict the peak in GB with prompts of 32,768 tokens and 64 new ones. This needs
#   more than 80 GB, so this record has no such row. Another run on the whole card has it;
# * `"peak_gb_in_chunks"`: the same, if each pass computes only 2,048 tokens of each of the 8
#   prompts (*chunked prefill*). The engine reads the cache where it lies, as vLLM does, and copies
#   none of it. The check accepts a small difference.

# %% answer="peaks" points=0.5
peaks = {
    "bytes_per_token": 107_040,  # bytes
    "peak_gb": 83.1,  # GB (10^9 bytes)
    "peak_gb_in_chunks": 56.9,
}

# %% experiment="peak_of_32k"
predicted = peaks["peak_gb"]
recorded = lab.peaks.peak_of(32_768, lab.peaks.WHOLE) / 1e9
if predicted is ...:
    print("Write your prediction first. Then run this cell again.")
else:
    print(f"You predicted {predicted} GB. The whole H200 needed {recorded:.1f} GB.")

# %% [markdown]
# vLLM and SGLang compute prompts in chunks, so that the overhead has a limit. In vLLM the running
# requests take part in each pass, so no long prompt stops them for long (lab 5). (SGLang by default
# computes all chunks of a prompt before the next decode step.) vLLM runs one pass of the largest
# size when it starts, and measures its peak. It gives the rest of its share of the card to the
# cache; the share is 0.92 by default. Small chunks have a price: each one reads the weights and the
# earlier cache again.
#
# ## 10. A node and its price
#
# A *node* is a server, here with eight cards. DeepSeek-V3 has 671,026,404,352 parameters, and its
# weights are published in FP8, 1 byte each. (Its embedding, head and norms stay in 16 bits: about 2
# GB more, which you may leave out.) Do 8 × H100 hold it? How many conversations of 32,768 tokens
# fit on 8 × H200? What does a token cost?
#
# In plain *tensor parallelism* each card computes a part of the heads, but a latent is shared by
# all heads. So every card keeps a copy of each latent. If the cards attend to different requests
# instead (*data-parallel attention*), each cache is on one card only. DeepSeek's own servers do
# that, and SGLang does if you turn it on. (It has a price: each card then has all weights of the
# attention, 11 GB, which this question leaves out.)
#
# The cost needs a rate that someone measured. A data sheet has no such rate: it has FLOP/s, and
# real servers are far below them. These numbers are not ours: the file `data/prices.json` of the
# course names their source. The prices are those of one list. In it, two large clouds ask 6.88
# and 12.29 dollars for an H100.

# %% experiment="rates"
lab.node.tables()

# %% [markdown]
# ### Question: the node
#
# * `"left_gb"`: what the FP8 weights leave of 8 × H100-SXM and of 8 × H200-SXM, in GB. Read the
#   cards as the driver shows them (`kit.vram_readings`);
# * `"overhead_gb"`: what you set aside on each card for activations, communication and the CUDA
#   context, 1 to 60 GB;
# * `"bytes_per_number"`: 2 or 1 bytes for each cached number;
# * `"spread"`: how many conversations of 32,768 tokens fit on 8 × H200, if each cache is on one
#   card only? Add up what is free on all cards, and round down once;
# * `"copied"`: the same, if each card keeps a copy of every cache. Each card has an eighth of the
#   weights;
# * `"usd_per_card_hour"` and `"price_date"`: what an H200 costs per hour, and the day on which this
#   was seen, such as `"2026-10-24"`. Take one of the table, or look one up;
# * `"usd_per_million"`: dollars per million output tokens with 8 users and with 64, by the measured
#   rates of the table.

# %% answer="node" points=0.5
node = {
    "left_gb": [13.1, 535.0],  # 8 x H100-SXM, 8 x H200-SXM
    "overhead_gb": 10,  # on each card
    "bytes_per_number": 2,  # in the cache
    "spread": 197,  # conversations of 32,768 tokens on 8 x H200
    "copied": 24,
    "usd_per_card_hour": 3.45,
    "price_date": "2026-10-24",
    "usd_per_million": [12.85, 4.29],  # output tokens, with 8 and with 64 users
}

# %% [markdown]
# The weights fit on 8 × H100 on paper only: 13 GB are left, 1.6 GB on each card. The parts in 16
# bits, the CUDA context and the buffers of the network take more than that. With a copy on every
# card, 8 × H200 hold an eighth of the conversations. So it pays to share the work well.
#
# The number of users decides the price. With 8 users, each gets a token every 12.8 ms. With 64
# users, each waits 34.6 ms, but a million tokens cost one third. DeepSeek reported 14,800 tokens/s
# for a node of eight H800, in March 2025. That is eight times the rate of the table with 64 users.
# Each of its users got 20 to 22 tokens/s, so a node served about 700. Such nodes only decode, each
# card keeps the caches of its own users, and 18 nodes share the experts. Lab 5 is about such
# servers.
#
# ## 11. The calculator
#
# This section has no points. The sliders call your `kv_cache_bytes`. Red means that it does not fit.
# Choose Qwen3-0.6B and an L4 with 8,192 tokens. What is the largest batch on the slider that fits?
# Then choose Qwen3-32B and an L40S. Which helps more, weights of 1 byte or a shorter text?

# %% experiment="calculator"
lab.widget.vram_calculator(kv_cache_bytes)

# %% [markdown]
# ## 12. The result
#
# We take two models of similar size, one card, and eight conversations at the same time.
# How long may each conversation become?

# %% experiment="result"
card_bytes, rows = kit.vram_readings("L4")["driver"][0], []
for name in ("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B"):
    config = ModelConfig.of(name)
    every, _ = n_params(config)
    token_bytes = kv_cache_bytes(config, 1)
    n_tokens = longest_sequence(card_bytes, 2 * every, token_bytes, batch_size=8)
    rows.append([name, f"{every / 1e9:.1f}B", n_tokens])
kit.Table(
    ["model", "parameters", "tokens of each sequence"], rows, "8 sequences on an L4"
)

# %% [markdown]
# With Llama-2-7B, each conversation may have 2,545 tokens. With Llama-3.1-8B it may
# have 7,717. The new model has 1.3 billion more parameters, so it leaves less of the card free. Yet
# its conversations can be three times as long, because 32 query heads share 8 KV heads.
#
# ## What you have shown
#
# Your functions count the parameters of a model and the bytes of its cache. They say what fits on
# a card, and the record says what the formula lacks. The next labs store fewer bytes, move fewer
# bytes, or use the bytes that they move for many tokens.
#
# ## Words
#
# * **VRAM** is the GPU's own memory (the V once meant video). Weights and cache must be in it while
#   they are used. If they were copied from the CPU's memory for each token, a token would take tens
#   of times as long. Lab 3 computes this.
# * **Classes of cards**, for example: 24 GB (L4), 48 GB (L40S), 80 GB (H100), 141 GB (H200), 192 GB
#   (MI300X), 288 GB (B300).
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
# * [DeepSeek-V2](https://arxiv.org/abs/2405.04434) (DeepSeek-AI, 2024): section 2.1 explains
#   multi-head latent attention.
# * [ZeRO: Memory Optimizations Toward Training Trillion Parameter
#   Models](https://arxiv.org/abs/1910.02054) (Rajbhandari et al., 2020), section 3: where the
#   memory of training goes.
# * [Making Deep Learning Go Brrrr From First Principles](https://horace.io/brrr_intro.html) (He,
#   2022): read it before lab 2.
