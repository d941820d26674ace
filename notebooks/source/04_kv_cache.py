# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 4: the KV cache
#
# A transformer that writes one token at a time looks, for each of them, at the keys and values of
# all tokens before it. Those do not change once they are computed. In this lab we build
#
# 1. the attention, the model step and the generation loop that keep them: a **KV cache**;
# 2. the count that says what the cache saves, before any clock runs;
# 3. three ways to store it: an **arena** that is allocated once and rewound by a pointer, a
#    **ring** that keeps a sliding window, and **pages** that many sequences share;
#
# and at the end we measure how much of the saving in tokens arrives as a saving in time.
#
# Everything runs on a CPU. Letters in shapes: B batch, H query heads, Hkv KV heads, Q query
# length, P cached length, D head dimension, V vocabulary, T tokens of one append.

# %% given="setup"
import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from labkit.checks import Checker
from labkit.labs.kv_cache.figures import cache_timing
from labkit.measuring import timing
from labkit.measuring.machine import ready, use_one_thread
from labkit.models.transformer import (
    GPT2_XL,
    LayerCache,
    Pick,
    Transformer,
    TransformerConfig,
    causal_mask,
    generate_uncached,
    greedy,
    masked_attention,
    sampler,
)

use_one_thread()  # several threads wait for each other when the machine is busy
check = Checker("kv_cache", globals())
print(ready())

# %% [markdown]
# ## The model we start from
#
# `labkit.models.transformer` is GPT-2 in some 200 lines, with one thing added: several query heads
# may share a KV head. It knows nothing about caches. Read it before you go on; these are the parts
# that we will need:
#
# | part | shapes |
# |---|---|
# | `model.embed(tokens, positions)` | (B Q), (Q,) to (B Q d_model) |
# | `block.project(x)` | to queries (B H Q D), keys and values (B Hkv Q D) |
# | `masked_attention(queries, keys, values, mask)` | mask (Q S), True where a query sees a key |
# | `block.merge(x, attended)` | attended (B H Q D) to the next x |
# | `model.unembed(x)` | to logits (B Q V) |
#
# With the sizes of the largest GPT-2 it has 1,555.97 million parameters, the learned positions not
# counted. We build that one on PyTorch's `meta` device, which keeps shapes and no numbers.

# %% experiment="gpt2_xl"
with torch.device("meta"):
    gpt2_xl = Transformer(GPT2_XL)
print(f"{gpt2_xl.n_params / 1e6:,.2f}M parameters")

# %% [markdown]
# ## 1. Attention with a past
#
# Take a sequence of five tokens of which three are cached. The two new ones bring two queries, and
# see five keys. The causal mask of the whole sequence is 5 × 5; the queries we have belong to its
# last two rows:
#
# ```
#             key 0  1  2  3  4
# query 3         1  1  1  1  0
# query 4         1  1  1  1  1
# ```
#
# So the mask is no longer square, and the mistake to watch for is the right shape with the wrong
# rows. With grouped queries there are fewer KV heads than query heads; `masked_attention` shares
# them out, so the cache never needs a copy per query head.
#
# Make new tensors, such as masks and positions, on the `device` of those that you are given: then
# the experiments run on a GPU as well.

# %% exercise="labkit.kv_cache:attend_cached" points=2

# %% [markdown]
# ## 2. One step of the model
#
# A step embeds the new tokens, sends them through the blocks, and scores what comes next. Two
# things depend on the past: at which **positions** the new tokens stand, and which **layer's**
# keys and values each block attends to.
#
# The attention is passed in as `attend`. So this step works with whatever store we build later,
# and it is marked apart from the exercise before.

# %% exercise="labkit.kv_cache:forward_cached" points=2

# %% [markdown]
# ## 3. Generation
#
# *Prefill*: the whole prompt goes through the model once. *Decode*: each further step feeds one
# token, the one that was just picked. Ask for each token: does the model have to see it, and when?

# %% exercise="labkit.kv_cache:generate" points=2

# %% [markdown]
# Together, the three should make the very tokens that the uncached baseline makes, greedily and,
# with the same seed, sampled.

# %% experiment="equality"
config = TransformerConfig(
    n_layers=4, n_heads=8, n_kv_heads=2, d_model=256, vocab_size=512, n_context=512
)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = Transformer.random(config, torch.Generator(device).manual_seed(0))
prompt = torch.randint(config.vocab_size, (2, 12), device=device)


def step(tokens, past):
    return forward_cached(model, tokens, past, attend_cached)


def seeded_sampler(seed):
    return sampler(torch.Generator(device).manual_seed(seed))


for name, make_pick in (("greedy", lambda: greedy), ("sampled", lambda: seeded_sampler(1))):
    plain = generate_uncached(model, prompt, 40, make_pick())
    with_cache = generate(step, prompt, 40, make_pick(), n_context=config.n_context)
    print(f"{name}: {(plain == with_cache).sum()} of {plain.numel()} tokens are the same")

# %% [markdown]
# ## 4. Counting before timing
#
# How many tokens go through the model while it generates? The count needs no clock and no GPU, and
# it is what the cache changes.

# %% exercise="labkit.kv_cache:tokens_processed" points=1

# %% experiment="counts"
print(f"{'prompt':>7} {'new':>5} {'without cache':>14} {'with cache':>11} {'ratio':>7}")
for n_prompt, n_new in [(1, 1), (1, 512), (32, 128), (1000, 10), (32_000, 512)]:
    counts = [tokens_processed(n_prompt, n_new, cached) for cached in (False, True)]
    ratio = counts[0] / counts[1]
    print(f"{n_prompt:7,} {n_new:5} {counts[0]:14,} {counts[1]:11,} {ratio:7.1f}")

# %% [markdown]
# ## 5. An arena
#
# `torch.cat` makes a new tensor in every step and copies into it all that was cached before. If
# the largest length is known, one allocation will do: an *arena*, and a number that says how much
# of it is filled. Appending writes behind the filled part; what attention reads is a view.
#
# Forgetting is cheaper still: lower the number. That is what speculative decoding (lab 6) does
# with each rejected draft.

# %% exercise="labkit.kv_cache:ArenaCache" points=2

# %% [markdown]
# How much memory does either way ask for? We let one layer of the model above cache 256 tokens,
# one at a time, and add up the bytes of every storage that we are handed.

# %% experiment="memory"
n_tokens, sizes = 256, (1, config.n_kv_heads, 1, config.head_dim)
keys, values, queries = torch.ones(sizes), torch.ones(sizes), torch.ones(1, 8, 1, config.head_dim)
arena = ArenaCache(1, 1, config.n_kv_heads, config.head_dim, n_tokens)
past, sizes_by_cat, arenas_seen = None, [], {}
for _ in range(n_tokens):
    _, past = attend_cached(queries, keys, values, past)
    sizes_by_cat.append(sum(part.untyped_storage().nbytes() for part in past))
    for view in arena.append(0, keys, values):
        arenas_seen[view.untyped_storage().data_ptr()] = view.untyped_storage().nbytes()

print(f"concatenation: {sum(sizes_by_cat):12,} bytes in {2 * n_tokens} tensors,")
print(f"               {sum(sizes_by_cat[-2:]):12,} of them at once, while the last copy is made")
print(f"arena:         {sum(arenas_seen.values()):12,} bytes in {len(arenas_seen)} tensors")

# %% [markdown]
# Now the model runs on the arena. We feed one token at a time: a single new token sees everything
# that is cached, so its mask is all True. Halfway we let the model follow a wrong path for five
# tokens, rewind, and go on as if nothing had happened.

# %% experiment="arena_in_the_model"
arena = ArenaCache(config.n_layers, 2, config.n_kv_heads, config.head_dim, 64)
layers = itertools.cycle(range(config.n_layers))


def attend_in_arena(queries, keys, values, past):
    views = arena.append(next(layers), keys.cpu(), values.cpu())
    mask = torch.ones(1, views[0].shape[2], dtype=torch.bool)
    return masked_attention(queries.cpu(), *views, mask).to(queries.device), views


def feed(tokens):
    past = None
    if arena.length:
        past = [(layer, layer) for layer in arena.keys[..., : arena.length, :]]
    return forward_cached(model, tokens, past, attend_in_arena)[0]


tokens = prompt
for i in range(40 + prompt.shape[1] - 1):
    logits = feed(tokens[:, i : i + 1])
    if i == 25:
        for wrong_token in range(5):
            feed(torch.full_like(prompt[:, :1], wrong_token))
        arena.rewind(5)
    if i >= prompt.shape[1] - 1:
        tokens = torch.cat([tokens, greedy(logits[:, -1])[:, None]], dim=1)
same = tokens == generate_uncached(model, prompt, 40)
print(f"{same.sum()} of {same.numel()} tokens are those of the uncached run")

# %% [markdown]
# ## 6. A ring
#
# A model with sliding-window attention never looks back more than `window` tokens, so its cache
# need not grow: the token at position p goes to slot p % window, over the token that has just left
# the window. Three things are easy to get wrong: what lies in a slot (`positions` says so), which
# slots a query may see (`mask`), and a prompt that is longer than the window.

# %% exercise="labkit.kv_cache:RingCache" points=2

# %% experiment="ring_and_window"
window, n_tokens = 16, 100
queries = torch.randn(1, 4, n_tokens, 8)
keys, values = torch.randn(2, 1, 2, n_tokens, 8)
ring = RingCache(batch=1, n_kv_heads=2, head_dim=8, window=window)
largest = 0.0
for t in range(n_tokens):
    now, newest = slice(t, t + 1), slice(max(0, t + 1 - window), t + 1)
    ring.append(keys[:, :, now], values[:, :, now])
    wrapped = masked_attention(
        queries[:, :, now], ring.keys, ring.values, ring.mask(torch.tensor([t]))
    )
    sees_all = torch.ones(1, newest.stop - newest.start, dtype=torch.bool)
    unrolled = masked_attention(
        queries[:, :, now], keys[:, :, newest], values[:, :, newest], sees_all
    )
    largest = max(largest, float((wrapped - unrolled).abs().max()))
print(f"{n_tokens} tokens through {window} slots: largest difference {largest:.1e}")

# %% [markdown]
# Two limits of the ring are worth knowing. It gives memory back, not positions: a model with
# *learned* positions, like ours, has none beyond its context, however small the cache. And a chunk
# must be attended to before it is appended, or be one token long: appending several tokens to a
# full ring overwrites what the first of them should still have seen.

# %% [markdown]
# ## 7. Pages
#
# A server holds many sequences and knows none of their lengths. An arena for each would be sized
# for the longest; so it cuts the memory into small blocks and gives every sequence a *block
# table*, like an operating system does with pages. A block belongs to one sequence or is free, and
# that must stay true through every append, rewind and free.

# %% exercise="labkit.kv_cache:PagedCache" points=2

# %% experiment="reserved_memory"
lengths = {"a": 37, "b": 500, "c": 6, "d": 120}
paged = PagedCache(n_blocks=64, block_size=16, n_kv_heads=2, head_dim=8)
for sequence_id, length in enumerate(lengths.values()):
    paged.append(sequence_id, *torch.randn(2, 2, length, 8))
n_taken = (64 - paged.n_free_blocks) * 16
print(f"tokens cached                      {sum(lengths.values()):6,}")
print(f"places in blocks of 16             {n_taken:6,}")
print(f"places in an arena of 512 for each {512 * len(lengths):6,}")

# %% [markdown]
# ## 8. What the cache saves, by the clock
#
# We time both ways of generating after a prompt of 32 tokens, in turns, seven runs each after one
# to warm up; the figure shows medians, and bars that hold the middle half of the runs. Beside the
# measured ratio stands the ratio of tokens that you counted. The same is done with a model an
# eighth as wide. On a GPU the models are larger; try your own sizes.

# %% experiment="cache_timing"
if device == "cuda":
    larger = TransformerConfig(16, 16, 4, 2048, 32_000, 1024)
    smaller = TransformerConfig(16, 16, 4, 256, 32_000, 1024)
    new_lengths = [1, 8, 32, 128, 256]
else:
    larger = TransformerConfig(4, 8, 2, 256, 512, 256)
    smaller = TransformerConfig(4, 8, 2, 32, 512, 256)
    new_lengths = [1, 4, 16, 32, 64, 128]
n_prompt = 32


def time_generation(config):
    rng = torch.Generator(device).manual_seed(0)
    model = Transformer.random(config, rng)
    tokens = torch.randint(config.vocab_size, (1, n_prompt), device=device, generator=rng)

    def step(tokens, past):
        return forward_cached(model, tokens, past, attend_cached)

    rows = [
        timing.time_in_turns(
            {
                "without": lambda n=n: generate_uncached(model, tokens, n),
                "with": lambda n=n: generate(step, tokens, n),
            },
            n_repeats=7,
        )
        for n in new_lengths
    ]
    return [row["without"] for row in rows], [row["with"] for row in rows]


uncached, cached = time_generation(larger)
small_uncached, small_cached = time_generation(smaller)

# %% experiment="cache_timing_figure"
token_ratios = [
    tokens_processed(n_prompt, n, False) / tokens_processed(n_prompt, n, True) for n in new_lengths
]
small_ratios = [a.median_s / b.median_s for a, b in zip(small_uncached, small_cached, strict=True)]

print(f"{'new':>4} {'tokens':>7} {'time':>6} {'smaller model':>14}")
for i, n in enumerate(new_lengths):
    ratio = uncached[i].median_s / cached[i].median_s
    print(f"{n:4} {token_ratios[i]:6.1f}x {ratio:5.2f}x {small_ratios[i]:13.2f}x")
print(f"\n{new_lengths[-1]} new tokens without cache: {uncached[-1]}")
print(f"{new_lengths[-1]} new tokens with cache:    {cached[-1]}")
cache_timing(new_lengths, uncached, cached, token_ratios, small_ratios, timing.machine())

# %% [markdown]
# **Question 1.** Explain the shape of your curves from the counts: how does the time without and
# with the cache grow with the number of new tokens, where does the cache not pay, and why is the
# ratio of times so much smaller than the ratio of tokens? Give two of your numbers.

# %% [markdown] written="curve" points=1
# Without the cache, `n` new tokens after a prompt of `p` process `n*p + n*(n-1)/2` tokens: a
# straight line at first, bent upwards by the square once `n` is comparable to `p`. With it they
# process `p + n-1`, and time is a straight line in `n`. For one new token both process the prompt
# once: the ratio is 1, and the cache only costs a little.
#
# On two CPU cores the ratio of tokens is 77 for 128 new tokens, that of times 4.2 (0.725 s and
# 0.174 s), and 2.5 for the small model, because the time of a step is not proportional to its
# tokens. Each step, however few tokens it has, starts the same operations in every layer and reads
# all the weights once. The cache saves work in proportion to tokens; it saves no steps. For a small
# model, or on a fast GPU, that fixed part is nearly all of a step, and the cache hardly pays. The
# ratio of times approaches that of tokens only where the work on tokens outweighs the fixed cost:
# wide models, long prompts, large batches.

# %% [markdown]
# **Question 2.** Rewinding the arena takes the same time for 1 token and for 1,000. Why? And why
# can the ring, once it is full, not be rewound at all?

# %% [markdown] written="rewinding" points=1
# In the arena, tokens are written at their position and nothing else is ever written there while
# they are cached. So the tokens before the rewound ones are all still in place, and forgetting is
# one subtraction; the next append writes over what was forgotten. No byte is moved, so the number
# of tokens does not matter: O(1).
#
# In a full ring, each new token was written over the one that left the window at that moment.
# After going back r tokens, the window should begin r positions earlier, but those r keys and
# values are the ones that were overwritten. The pointer could be moved, the data is gone: one
# would have to compute it again, or keep a ring that is longer than the window by the largest
# rewind (for speculative decoding, window + gamma slots).

# %% [markdown]
# ## What we have seen
#
# With a cache, 32 + 128 tokens go through the model as 159 instead of 12,224, 77 times fewer, and
# the same tokens come out. The clock is less impressed: two CPU cores took 0.174 s instead of
# 0.725 s. On an H200 a model of 16 layers of width 2048 wrote 512 tokens in 2.6 s instead of 8.4 s,
# and one of width 256 was only 1.07 times faster, with 271 times fewer tokens: there a step costs
# the same whatever it is fed. (A cache for gpt2-xl on an L40S is reported to turn 21.3 s into
# 10.5 s.) What is missing is cheaper steps and fewer of them: that is what batching (lab 5),
# speculation (lab 6) and better kernels (lab 7) are about.
