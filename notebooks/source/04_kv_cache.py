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
# <!-- picture: An arena with its length, a ring of four slots, and pages with a block table. -->
#
# After this lab you can
#
# * write **rotary positions**, a model step and a generation loop that use a **KV cache**;
# * count what the cache saves before you measure anything;
# * store the cache in three ways with one interface: an **arena**, a **ring** and **pages**;
# * share pages between sequences, as engines do: reference counts and copy on write;
# * explain why fewer tokens do not always mean less time.
#
# **You need** PyTorch tensors and the formula of attention. Lab 3 measures what a KV cache saves;
# here you write one. The [glossary](../docs/glossary.md) explains the words of this lab in
# English and Chinese. A CPU is enough. Cells with `TODO` are yours. The check below each runs a
# few visible tests. After you hand in, the grader runs it on hidden tests.
#
# **Time:** 4.5 to 7 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** A transformer writes one token at a time. For each new token it needs the keys
# and values of all tokens before it. These do not change once they are computed. Without a cache,
# the model computes all of them again for every token. With a cache, it computes each of them
# once.
#
# Letters in shapes: B batch, H query heads, Hkv KV heads, D head dimension, V vocabulary. Q counts
# the queries, P the cached tokens, S = P + Q all keys, and T the tokens of one append.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
from collections.abc import Callable, Hashable, Sequence
from itertools import takewhile

import torch
from torch import Tensor

from labkit import kit
from labkit.kit import LayerCache, Pick, Seen, Transformer, greedy, masked_attention
from labkit.labs import kv_cache as lab

check = kit.start("kv_cache", globals())

# %% [markdown]
# ## The model we start from
#
# `labkit.models.transformer` has the blocks of GPT-2, with two additions: several query heads may
# share a KV head, and the positions are *rotary*. It has no cache. You will need the parts below.
#
# | part | shapes |
# |---|---|
# | `model.embed(tokens)` | (B Q) to (B Q d_model) |
# | `model.blocks` | the blocks, one per layer |
# | `block.project(x)` | x (B Q d_model) to queries (B H Q D), keys and values (B Hkv Q D) |
# | `masked_attention(queries, keys, values, mask)` | mask (Q S), True where a query sees a key |
# | `block.merge(x, attended)` | attended (B H Q D) to the next x |
# | `model.unembed(x)` | to logits (B Q V) |
# | `LayerCache`, `Seen` | the types of (keys, values) of one layer, and of (keys, values, mask) |
# | `Pick` | the type of a function from logits (B V) to tokens (B,) |
#
# With the sizes of the largest GPT-2, this model has 1,555.97 million parameters.
#
# **One interface.** You will write several stores for keys and values. The model uses all of them
# in the same way. In each layer it calls
#
# ```
# keys, values, mask = store.append(layer, keys, values)
# ```
#
# It passes the keys and values of the new tokens. It gets back the keys and values that these tokens
# may see, and a mask. `store.length` is the position of the next token.

# %% [markdown]
# ## 1. A cache that grows
#
# The simplest store joins old and new tensors in each step with `torch.cat`.
#
# The mask: take a sequence of five tokens, of which three are cached. The two new tokens bring two
# queries, and these see up to five keys. The causal mask of the whole sequence is 5 × 5. Our two
# queries are its last two rows:
#
# ```
#             key 0  1  2  3  4
# query 3         1  1  1  1  0
# query 4         1  1  1  1  1
# ```
#
# So the mask is no longer square. A common mistake is a mask of the right shape with the wrong
# rows. With grouped queries there are fewer KV heads than query heads. `masked_attention` shares
# each KV head among its query heads, so the cache never stores a copy for each query head.
#
# Create new tensors, such as masks and positions, on the `device` of the tensors that you are
# given. Then the experiments also run on a GPU.

# %% exercise="labkit.kv_cache:GrowingCache" points=1.5 minutes=30 level=2

# %% [markdown]
# ## 2. Rotary positions
#
# Attention itself does not know where a token stands. Most models of today tell it by *rotary
# positions* (RoPE). Each head vector of D numbers is taken as D/2 pairs, and each pair as a point in
# the plane. A token at position p turns its points by angles that grow with p. The first pair turns
# the fastest. The score of a query and a key then depends only on their distance: if both move by
# the same number of positions, it stays the same.
#
# Queries and keys are rotated, values are not. A key is rotated once, *before* it is cached, by its
# own position. So a step must know how many tokens stand before it.
#
# Which two numbers form a pair? In the weights of Llama and Qwen on the Hugging Face Hub, number i
# of the first half and number i of the second half. In other code a pair is two neighbours, 2i and
# 2i + 1. If you take the wrong one, nothing raises an error.

# %% exercise="labkit.kv_cache:rotate" points=1 minutes=20 level=2

# %% [markdown]
# The table shows the score of one query and one key at several positions. In each row the distance
# is the same.

# %% experiment="distance"
query, key = torch.randn(
    2, 1, 1, 1, 64, generator=torch.Generator("cpu").manual_seed(0)
)


def score(query_position, key_position):
    turned = [
        rotate(part, torch.tensor([position]))
        for part, position in ((query, query_position), (key, key_position))
    ]
    return float((turned[0] * turned[1]).sum())


rows = [
    [
        distance,
        *(f"{score(key_at + distance, key_at):.3f}" for key_at in (0, 10, 1000)),
    ]
    for distance in (0, 1, 5, 100)
]
kit.Table(
    ["distance", "key at 0", "key at 10", "key at 1,000"],
    rows,
    "score of one query and one key",
)

# %% [markdown]
# ## 3. One step of the model
#
# A step embeds the new tokens, sends them through the blocks, and computes the logits of the next
# token. Three things depend on what is cached: the positions of the new tokens, what each layer
# attends to, and the mask.
#
# The check brings its own model, store and `rotate`: a mistake in section 1 or 2 costs you no points
# here.

# %% exercise="labkit.kv_cache:forward_cached" points=2 minutes=25 level=2

# %% [markdown]
# ## 4. Generation
#
# *Prefill*: the whole prompt goes through the model once. *Decode*: each further step feeds one
# token, the one that was just picked. The last new token is never fed.

# %% exercise="labkit.kv_cache:generate" points=1.5 minutes=20 level=2

# %% [markdown]
# Together, your functions must give exactly the tokens of the baseline without a cache. This
# holds for greedy decoding, and for sampling with the same seed.

# %% experiment="equality"
config = kit.TransformerConfig(
    n_layers=4, n_heads=8, n_kv_heads=2, d_model=256, vocab_size=512, n_context=512
)
device = kit.device_for(8e9)  # the CPU where other programs fill the GPU
model = Transformer.random(config, torch.Generator(device).manual_seed(0))
prompt = torch.randint(config.vocab_size, (2, 12), device=device)


def model_with(store):
    return lambda tokens: forward_cached(model, tokens, store, rotate)


def seeded_sampler(seed):
    return kit.sampler(torch.Generator(device).manual_seed(seed))


for name, make_pick in (
    ("greedy", lambda: greedy),
    ("sampled", lambda: seeded_sampler(1)),
):
    plain = kit.generate_uncached(model, prompt, 40, make_pick())
    step = model_with(GrowingCache(config.n_layers))
    with_cache = generate(step, prompt, 40, make_pick(), n_context=config.n_context)
    n_same = (plain == with_cache).sum()
    print(f"{name}: {n_same} of {plain.numel()} tokens are the same")

# %% [markdown]
# ## 5. Counting before timing
#
# How many tokens go through the model while it generates? This count needs no clock and no GPU.
# It is the number that the cache changes.

# %% exercise="labkit.kv_cache:tokens_processed" points=0.5 minutes=10 level=1

# %% experiment="counts"
rows = []
for n_prompt, n_new in [(1, 1), (1, 512), (32, 128), (1000, 10), (32_000, 512)]:
    counts = [tokens_processed(n_prompt, n_new, cached) for cached in (False, True)]
    rows.append([n_prompt, n_new, *counts, f"{counts[0] / counts[1]:.1f}"])
kit.Table(
    ["prompt", "new", "without cache", "with cache", "ratio"],
    rows,
    "tokens processed",
)

# %% [markdown]
# ## 6. An arena
#
# `GrowingCache` allocates a new tensor in each step and copies all cached tokens into it. If the
# largest length is known, one allocation is enough: an *arena*, and a number that says how many
# tokens it holds. `append` writes after the last token. Attention reads a view, which is no copy.
#
# To forget tokens, only lower the number. In lab 6 a small model guesses tokens, and wrong guesses
# are forgotten in this way. An example with room for six tokens:
#
# ```
# append 4 tokens    a b c d . .     length 4
# rewind 2           a b c d . .     length 2   c and d are still there, but nobody reads them
# append 1 token     a b e d . .     length 3
# ```

# %% exercise="labkit.kv_cache:ArenaCache" points=2 minutes=30 level=2

# %% [markdown]
# Now the model runs on the arena. Halfway it follows a wrong path for five tokens. Then we rewind,
# and it goes on as if nothing had happened.

# %% experiment="arena_in_the_model"
arena = ArenaCache(
    config.n_layers, 2, config.n_kv_heads, config.head_dim, 64, device=device
)
step = model_with(arena)
tokens = generate(step, prompt, 20)
step(torch.zeros_like(prompt[:, :5]))  # five wrong tokens
arena.rewind(5)
tokens = torch.cat([tokens[:, :-1], generate(step, tokens[:, -1:], 20)], dim=1)
same = tokens == kit.generate_uncached(model, prompt, 40)
print(f"{same.sum()} of {same.numel()} tokens are those of the uncached run")

# %% [markdown]
# ### A trained model speaks through your arena
#
# The small trained model of the kit also has rotary positions. `lab.QwenParts` gives it the parts
# that your `forward_cached` calls. So it runs through your own functions, and its keys and values go
# into your `ArenaCache`. Then three classic bugs are built in, one at a time. None of them raises an
# error. You only see the text.

# %% experiment="speech"
trained, tokenizer = kit.load_shipped("tiny-target")
speaker = lab.QwenParts(trained)
beginning = "Once upon a time,"
first = tokenizer(beginning, return_tensors="pt").input_ids
room = first.shape[1] + 24


def said(store):
    tokens = generate(
        lambda fed: forward_cached(speaker, fed, store, rotate), first, 24
    )
    return tokenizer.decode(tokens[0, first.shape[1] :])


rows = [
    [what, said(lab.WithBug(ArenaCache(*speaker.sizes, room), bug))]
    for bug, what in lab.BUGS.items()
]
kit.Table(["bug", f"the text after {beginning!r}"], rows)

# %% [markdown]
# Read the three wrong texts. With the wrong rows of the mask, a new token sees only the first token
# of the prompt. With a wrong offset, the new key is rotated as if it stood at the beginning: the
# text stays fluent, so this bug is the hardest to notice. With the cache of another layer, the words
# no longer fit together.

# %% [markdown]
# ### An arena of 8 bits
#
# The tokens of a cache can be stored as whole numbers from −127 to 127. Each needs one byte. A
# *scale* says what one step is worth. Here each token has a scale of 4 bytes in each head, for its
# key and for its value. `lab.QuantisedArena` keeps both in arenas of yours: one holds the numbers,
# a second one the scales. Three questions: how large is the error, how many tokens more fit into the
# same memory, and does the model still say the same?
#
# Some heads have much larger keys than others. The table also shows the error of the other heads
# when one head is 100 times as large. If all numbers share one scale, that head decides it.

# %% experiment="quantised"
rng = torch.Generator("cpu").manual_seed(0)
errors = lab.quantisation_errors(lambda: torch.randn(8, 256, 64, generator=rng))
rows = [
    [name, *(f"{error:.3f}" for error in pair)] for name, pair in errors.items()
]
headings = ["one scale for", "largest error", "with a head 100 times as large"]
display(kit.Table(headings, rows, "in parts of the mean size of a number"))
n_bytes = [
    lab.bytes_per_token(64, 8, 2),
    lab.bytes_per_token(64, 8, 1, scale_width=4),
]
print(
    f"bytes per token and layer: {n_bytes[0]:,} with 16 bits, {n_bytes[1]:,} with 8"
)
print(f"so {n_bytes[0] / n_bytes[1]:.2f} times as many tokens fit")
in_floats = ArenaCache(*speaker.sizes, room)
in_8_bits = lab.QuantisedArena(ArenaCache, *speaker.sizes, room)
for name, store in {"32 bits": in_floats, "8 bits": in_8_bits}.items():
    print(f"{name}: {said(store)}")

# %% [markdown]
# ## 7. A ring
#
# With sliding-window attention, a query sees at most `window` tokens: itself and the `window` − 1
# tokens before it. So the cache does not have to grow: the token at position p goes to slot p %
# window, and replaces the token that has just left the window. An example with a window of 4:
#
# ```
# positions 0 1 2 3    slots hold 0 1 2 3
# append position 4    slots hold 4 1 2 3    4 % 4 = 0: position 0 has left the window
# append position 5    slots hold 4 5 2 3    the query at position 5 sees positions 2, 3, 4, 5
# ```
#
# Two things are easy to get wrong. The first is a prompt that is longer than the window. The second
# is a chunk of several tokens: its last token takes the slot of a key that its first token must still
# see. So `append` returns the keys that were there before, and those of the chunk. The mask says who
# sees what. (A kernel would not make this copy: it reads the ring and the chunk where they lie.)

# %% exercise="labkit.kv_cache:RingCache" points=2 minutes=40 level=3

# %% [markdown]
# With the ring the model has a sliding window in every layer. It must write the same text as without
# a cache, if each query there sees only the newest tokens, too. The text is longer than the window.

# %% experiment="ring_and_window"
window = 16
ring = RingCache(
    config.n_layers, 2, config.n_kv_heads, config.head_dim, window, device=device
)
with_ring = generate(model_with(ring), prompt, 40)
without = kit.generate_uncached(lambda tokens: model(tokens, window), prompt, 40)
print(f"{(with_ring == without).sum()} of {without.numel()} tokens are the same")
print(f"slots: {window}; tokens that went through them: {ring.length}")

# %% [markdown]
# The ring saves memory, and the text may become as long as you like. Models with sliding windows use
# it in most layers and keep all tokens in the others. A full ring cannot be rewound.

# %% [markdown]
# ## 8. Pages
#
# A server holds many sequences, and does not know how long they will become. If each sequence had
# an arena, every arena would need the largest length. So the server divides the memory into small
# blocks and gives each sequence a *block table*, as an operating system does with pages. Each block
# has room for the same number of tokens. The room for one token is a *place*. An example with
# blocks of 4 places:
#
# ```
# sequence a, 6 tokens    block table [0, 2]    block 0 is full, block 2 holds 2 tokens
# sequence b, 3 tokens    block table [1]
# free blocks: 3, 4, 5
# a gets 3 more tokens    block table [0, 2, 3] block 2 takes 2 of them, block 3 takes 1
# ```
#
# Two sequences that begin with the same text have the same keys and values there. So a block may be
# in the tables of several sequences. Count for each block in how many tables it is: its *reference
# count*. A block is free when its count is 0. `fork` makes a second sequence from one, for example
# to try two answers to one question. It copies no token, it only counts.
#
# Then one of the two gets a token, and the last block has empty places. If the token went in there,
# the other sequence would lose its place. So the block is copied first, into a free block, and the
# table of the writer names the copy. This is *copy on write*:
#
# ```
# a, 6 tokens             block table [0, 2]    reference counts: block 0: 1, block 2: 1
# fork a to c             block table [0, 2]    block 0: 2, block 2: 2
# c gets a token          c has [0, 3]          block 0: 2, block 2: 1, block 3: 1 (a copy of 2)
# a gets a token          a has [0, 2]          nobody else has block 2: no copy
# free a                  c has [0, 3]          block 2 is free, block 0 is not
# ```
#
# A new request can also find blocks that an earlier one computed. In lab 3 you gave each full block
# a hash, which stands for the block and all tokens before it. `name_blocks` remembers these hashes,
# and `begin` starts a sequence with the blocks that it finds. A name must end when its block no
# longer holds these tokens. You may take any free block. The methods whose names begin with `_` are
# suggestions: write others, or none.
#
# Write the class in five stages, and run the check after each:
#
# 1. `__init__`, `n_free_blocks`, `block_table`, `append` and `gather`. Compute the block and the
#    place of each new token, and write all of them with one indexed assignment.
# 2. `rewind` and `free`.
# 3. The MemoryError and the ValueError, with nothing changed.
# 4. `fork`, with the copy in `append`. Now `rewind` and `free` count too.
# 5. `name_blocks` and `begin`.

# %% exercise="labkit.kv_cache:PagedCache" points=3 minutes=90 level=3

# %% [markdown]
# The model can use your pages, too. `lab.PagedRows` gives them the interface of the other stores. It
# holds a `PagedCache` for each layer, and a row of the batch is a sequence. A server has one block
# table for all layers, since each layer would have the same.

# %% experiment="one_loop"
sizes = (config.n_layers, 2, config.n_kv_heads, config.head_dim)
n_blocks = 2 * -(-52 // 16)  # for two rows of 52 tokens
stores = {
    "grows": GrowingCache(config.n_layers),
    "arena": ArenaCache(*sizes, 52, device=device),
    "ring, window 64": RingCache(*sizes, 64, device=device),
    "pages of 16": lab.PagedRows(
        PagedCache(n_blocks, 16, *sizes[2:], device=device)
        for layer in range(config.n_layers)
    ),
}
plain = kit.generate_uncached(model, prompt, 40)
for name, store in stores.items():
    same = generate(model_with(store), prompt, 40) == plain
    print(f"{name}: {same.sum()} of {same.numel()} tokens are the same")

# %% experiment="reserved_memory"
lengths = {"a": 37, "b": 500, "c": 6, "d": 120}
paged = PagedCache(n_blocks=64, block_size=16, n_kv_heads=2, head_dim=8)
for sequence_id, length in enumerate(lengths.values()):
    paged.append(sequence_id, *torch.randn(2, 2, length, 8))
n_taken = (64 - paged.n_free_blocks) * 16
rows = [
    ["tokens cached", sum(lengths.values())],
    ["places in blocks of 16", n_taken],
    ["places in an arena of 512 for each", 512 * len(lengths)],
]
kit.Table(["what", "tokens"], rows)

# %% [markdown]
# Four requests have the same instructions of 200 tokens and then a question of their own. The first
# computes everything. The others begin with the blocks that are found. Here a tuple of all tokens up
# to the end of a block stands for its hash. The last full block of the instructions is shared as
# well, but not the rest of 8 tokens: it has no hash.

# %% experiment="shared_instructions"
instructions = list(range(200))
prompts = [instructions + [1000 + i] * 24 for i in range(4)]
paged = PagedCache(n_blocks=64, block_size=16, n_kv_heads=2, head_dim=8)
rows = []
for i, tokens in enumerate(prompts):
    hashes = [tuple(tokens[:end]) for end in range(16, len(tokens) + 1, 16)]
    n_found = paged.begin(i, hashes)
    paged.append(i, *torch.randn(2, 2, len(tokens) - n_found, 8))
    paged.name_blocks(i, hashes)
    rows.append([i, n_found, len(tokens) - n_found, 64 - paged.n_free_blocks])
kit.Table(
    ["request", "tokens found", "tokens computed", "blocks in use"],
    rows,
    f"prompts of {len(prompts[0])} tokens; alone, each needs 14 blocks",
)

# %% [markdown]
# ### The stores by the clock
#
# One layer with 32 query heads, 8 KV heads and a head dimension of 64 has 4,096 tokens cached. Each
# step appends a token and attends to all. All ways give the same numbers:
#
# * *concatenation* copies all cached keys and values in each step, *arena* copies none;
# * *gathered* pages are copied into one tensor, and attention reads that;
# * *walked* pages are read where they lie. Attention runs over one block after the other. Each block
#   gives a maximum, a total and an output, and these are merged. Lab 7 explains the merge.
#
# Which way is the fastest on your machine, and which block size?

# %% experiment="store_timing"
store_times = lab.time_stores(ArenaCache, PagedCache, 4096, device)
rows = [
    [way, f"{1e6 * timing.median_s / lab.N_STEPS:,.0f}"]
    for way, timing in store_times.items()
]
kit.Table(
    ["store", "µs per step"], rows, f"one layer on {device}, 4,096 tokens cached"
)

# %% [markdown]
# The same on an H100, in 16 bits and for more tokens. *One kernel* is that of the kit's own engine: it
# walks the block table inside one launch, and many of its programs share one cache.

# %% experiment="recorded_stores"
recorded = kit.recorded_results("stores-*.jsonl")["stores-h100"]
lengths = sorted({row.n_input for row in recorded.of("cache_stores")})
rows = {row.setting: [] for row in recorded.of("cache_stores")}
for row in recorded.of("cache_stores"):
    rows[row.setting].append(f"{1e6 * row.time_s:,.0f}")
kit.Table(
    ["store", *(f"{n:,}" for n in lengths)],
    [[way, *times] for way, times in rows.items()],
    "µs per step, by cached tokens",
)

# %% [markdown]
# Each way loses somewhere:
#
# * Concatenation copies all cached tokens in each step. On a CPU this takes more time than the
#   attention. On the H100 it adds 12 to 16 %, because the card copies fast, and PyTorch's attention
#   of one query uses only a small part of the card.
# * An arena reserves its largest length. It loses memory, not time.
# * Gathering copies as concatenation does, and its copies are not contiguous.
# * Walking loses when the blocks are small: each block starts a few operations of its own. On the
#   H100, 4,096 blocks of 16 tokens take 0.7 s.
# * One kernel over the table has none of these costs. At 4,096 tokens it is slower than the arena,
#   because it is launched from Python, in two parts. At 65,536 it takes a third of the arena's time.
#   Servers use such a kernel.

# %% [markdown]
# ### The three stores side by side
#
# The player fills *your* three classes with the same tokens, one operation after the other. Every
# letter is a token. You first see the moment after a rewind: a new token is written over a
# forgotten one. Change the block size, and see how many places of the last blocks stay empty.

# %% experiment="stores"
lab.store_player(ArenaCache, RingCache, PagedCache)

# %% [markdown]
# ## 9. What the cache saves, by the clock
#
# A course asked its students to add a cache to GPT-2 XL. It gave these times for 512 tokens on one
# L40S: without a cache 21.3 s, with a cache 10.5 s. With a short prompt the cache saves more than 200 of
# 256 tokens that go through the model. The time is only halved. Why?
#
# We measure both ways of generating after a prompt of 32 tokens. Their runs alternate: one run of
# each to warm up, and then seven. The figure shows medians. The bars hold the middle half of the
# runs. Next to the measured ratio you see the ratio of tokens that you counted. A second model,
# with 1/8 of the `d_model`, is measured in the same way. On a GPU the models are larger. Try your
# own sizes.

# %% experiment="cache_timing"
if device == "cuda":
    larger = kit.TransformerConfig(16, 16, 4, 2048, 32_000, 1024)
    smaller = kit.TransformerConfig(16, 16, 4, 256, 32_000, 1024)
    new_lengths = [1, 8, 32, 64, 128]
else:
    larger = kit.TransformerConfig(4, 8, 2, 256, 512, 256)
    smaller = kit.TransformerConfig(4, 8, 2, 32, 512, 256)
    new_lengths = [1, 4, 16, 32, 64, 128]
n_prompt = 32


def time_generation(config):
    rng = torch.Generator(device).manual_seed(0)
    model = Transformer.random(config, rng)
    tokens = torch.randint(
        config.vocab_size, (1, n_prompt), device=device, generator=rng
    )

    def with_cache(n_new):
        store = GrowingCache(config.n_layers)
        return generate(
            lambda new: forward_cached(model, new, store, rotate), tokens, n_new
        )

    ways = {
        "without": lambda n: kit.generate_uncached(model, tokens, n),
        "with": with_cache,
    }
    runs = {
        (way, n): lambda run=run, n=n: run(n)
        for n in new_lengths
        for way, run in ways.items()
    }
    times = kit.timing.time_in_turns(
        runs, n_repeats=7, title=f"d_model {config.d_model}"
    )
    return [[times[way, n] for n in new_lengths] for way in ways]


uncached, cached = time_generation(larger)
small_uncached, small_cached = time_generation(smaller)

# %% experiment="cache_timing_figure"
token_ratios = [
    tokens_processed(n_prompt, n, False) / tokens_processed(n_prompt, n, True)
    for n in new_lengths
]
small_ratios = [
    a.median_s / b.median_s
    for a, b in zip(small_uncached, small_cached, strict=True)
]

rows = []
for i, n in enumerate(new_lengths):
    ratio = uncached[i].median_s / cached[i].median_s
    rows.append(
        [n, f"{token_ratios[i]:.1f}", f"{ratio:.2f}", f"{small_ratios[i]:.2f}"]
    )
headings = ["new tokens", "tokens", "time", "time, smaller model"]
display(kit.Table(headings, rows, "without cache divided by with cache"))
print(f"{new_lengths[-1]} new tokens without cache: {uncached[-1]}")
print(f"{new_lengths[-1]} new tokens with cache:    {cached[-1]}")
lab.cache_timing(
    new_lengths,
    uncached,
    cached,
    token_ratios,
    small_ratios,
    kit.timing.machine(device),
)

# %% [markdown]
# ### Written answer: your curves
#
# Write 5 to 7 sentences, with at least two of your numbers:
#
# 1. How does the time grow with the number of new tokens, without and with the cache? Explain it
#    from the counts.
# 2. Where does the cache save no time?
# 3. Why is the ratio of times so much smaller than the ratio of tokens? (Lab 2 shows what a step
#    waits for.)

# %% [markdown] written="curve" points=1
# Without the cache, `n` new tokens after a prompt of `p` process `n*p + n*(n-1)/2` tokens. At
# first this is a straight line; it bends upwards when `n` is about as large as `p`. With the
# cache they process `p + n-1` tokens, and the time is a straight line in `n`. For one new token
# both process the prompt once, so the ratio is 1.
#
# For 128 new tokens the ratio of tokens is 77. The last row of the table has a much smaller ratio
# of times, for both models. The reason: the time of a step is not proportional to its tokens. Each
# step starts the same operations in every layer and reads all weights once, however few tokens it
# has. The cache saves work on tokens, but it saves no steps. For a small
# model, or on a fast GPU, this fixed part is almost the whole step, and the cache hardly pays.
# The two ratios come close only where the work on tokens is much larger than the fixed part: wide
# models, long prompts, large batches.
#
# *Marking:*
#
# * *0.25 if the answer derives both growths from the counts: a square without the cache, a line
#   with it.*
# * *0.25 if it says where the cache does not pay: one new token, a small model, or short
#   lengths.*
# * *0.3 if it explains the smaller ratio by the fixed part of a step.*
# * *0.2 if it gives two own numbers that support this.*

# %% [markdown]
# ### Written answer: rewinding
#
# Write one or two sentences: rewinding an arena takes the same time for 1 token and for 1,000, and a
# full ring cannot return to an earlier state. Why?

# %% [markdown] written="rewinding" points=0.5
# In the arena the kept tokens stay in place, so a rewind is one subtraction, however many tokens it
# forgets. In a full ring each new token replaced the one that left the window, so the tokens that
# would come back into the window are gone.
#
# *Marking:*
#
# * *0.25 if the answer says that the kept tokens stay in place and only a number changes.*
# * *0.25 if it says that a full ring has replaced the tokens that would return to the window.*

# %% [markdown]
# ## What you have shown
#
# Take a prompt of 32 tokens and 128 new ones. Without a cache, 12,224 tokens go through the model.
# With a cache, 159 tokens do, which is 77 times fewer, and the result is the same. The clock shows
# less: see the last row of your table. Each step has a fixed part, and the cache saves none of it.
# Two things are missing: cheaper steps, and fewer steps. Batching (lab 5), speculation (lab 6) and
# better kernels (lab 7) are about these.
#
# ## What to read next
#
# * [Fast Transformer Decoding: One Write-Head is All You Need](https://arxiv.org/abs/1911.02150)
#   (Shazeer, 2019): why decoding is limited by moving keys and values.
# * [GQA](https://arxiv.org/abs/2305.13245) (Ainslie et al., 2023): query heads that share KV
#   heads.
# * [Efficient Memory Management for Large Language Model Serving with
#   PagedAttention](https://arxiv.org/abs/2309.06180) (Kwon et al., 2023): the cache in pages.
# * [Mistral 7B](https://arxiv.org/abs/2310.06825) (Jiang et al., 2023): sliding windows and a
#   rolling cache.
