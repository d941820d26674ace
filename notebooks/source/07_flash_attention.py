# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 7: FlashAttention, counted
#
# Attention over N tokens makes N × N scores. For N = 8,192 and one head with D = 64 that is 67
# million numbers, which are written to memory, read, turned into weights, written and read again,
# although the queries, keys, values and the output together are only 2 million. A GPU computes
# faster than it can move numbers (lab 2), so those trips decide the time.
#
# FlashAttention computes the same output, up to rounding, and never writes a score. In this lab we
# build it on a memory that counts, and
#
# 1. write the one trick behind it: a softmax that sees its scores in pieces;
# 2. write standard attention and both orders of FlashAttention, and look at what each of them
#    moves;
# 3. find closed forms for the counts, and see a well-known slide go wrong by more than ten and a
#    homework by almost three;
# 4. predict times, find where the clever method loses, and compare with real kernels.
#
# Everything runs on a CPU in a minute. Records of an H200 stand beside it. **17 points**, 2 of them
# for words.

# %% answer="student_id" points=0
student_id = "instructor"

# %% [markdown]
# Some numbers in this lab are your own: they follow from your student id. Write it above as your
# course knows it; capitals and spaces do not matter.

# %% given="setup"
import math
from collections.abc import Iterator
from math import ceil

import torch
from torch import Tensor

from labkit.checks import Checker
from labkit.labs.flash_attention import figures as flash_figures
from labkit.labs.flash_attention import tables as flash_tables
from labkit.labs.flash_attention.backward import flash_backward_2, standard_backward
from labkit.labs.flash_attention.experiments import sdpa
from labkit.labs.flash_attention.own_head import own_head
from labkit.labs.flash_attention.widget import tile_player
from labkit.measuring.machine import use_one_thread
from labkit.measuring.profiles import profile
from labkit.measuring.records import Provenance, Recorder, recorded_results
from labkit.models.counted_memory import Memory, Traffic, attention_memory, tile_scores, tiles

use_one_thread()  # several threads wait for each other when the machine is busy
check = Checker("flash_attention", globals())
queries, keys, values = torch.randn(3, 96, 16, generator=torch.Generator("cpu").manual_seed(7))

# %% [markdown]
# ## 1. A softmax in pieces
#
# The weights of a query are exp(score) divided by their sum. Two things seem to need all scores at
# once: the largest of them, which is subtracted first so that no exponential overflows, and the
# sum.
#
# Neither does. Suppose that for the keys so far we keep three things: the largest score m, the sum
# l = Σ exp(score − m), and o = Σ exp(score − m) · value. A new tile of keys may bring a larger
# score. Then what we have is too large by the factor exp(m_new − m), the same for l and for every
# number in o: multiply by exp(m − m_new), and go on. At the end o / l is the output.

# %% exercise="labkit.flash_attention:online_softmax" points=2

# %% [markdown]
# Whatever the pieces, the result is the same:

# %% experiment="in_pieces"
scores = tile_scores(queries[:4], keys, 0, 0, is_causal=False)
for size in (96, 32, 5, 1):
    state = torch.full((4,), -math.inf), torch.zeros(4), torch.zeros(4, 16)
    for start, stop in tiles(96, size):
        tile = scores[:, start:stop].clone(), values[start:stop].clone()
        state = [torch.as_tensor(each) for each in online_softmax(*state, *tile)]
    maximum, total, output = state
    error = (output / total[:, None] - scores.softmax(-1) @ values).abs().max()
    print(f"pieces of {size:>2}: largest error {error:.1e}")

# %% [markdown]
# ## 2. A memory that counts
#
# `attention_memory(queries, keys, values)` puts the three matrices into a large, slow memory, as
# "Q", "K" and "V", and has room for results: "O", the scores "S", the weights "P", and vectors.
# Code that wants numbers must bring them to the chip: `memory.load("K", 32, 64)` gives a copy of
# rows 32 to 63, `memory.store("O", 32, rows)` writes rows back from row 32 on. Both are counted.
# What has not been written holds NaN.
#
# The chip is small. Every matrix has one buffer there, so the next tile of K takes the place of the
# last one, and a tile that does not fit beside the other buffers is refused. Do not keep a tile in
# a variable beyond its turn: on a chip it would be gone. (Scores of one pair of tiles, and vectors,
# live in registers, which we do not count.)
#
# `memory.n_rows` is N and `memory.head_dim` is D; matrices have N rows, and "m", "l" and "L" one
# number for each. `tiles(n_rows, tile)` gives first and last row (exclusive) of each tile, the last
# one smaller if need be, and `tile_scores(queries, keys, first_query, first_key, is_causal)` the
# scores of a pair of tiles, scaled, with -inf for keys that a query must not see. Nothing else of a
# memory is needed, and the checks offer nothing else. Load the tile of the outer loop before those
# of the inner one.
#
# First the standard way, where every matrix comes and goes as a whole. Assume that the chip is
# large enough for that.

# %% exercise="labkit.flash_attention:standard_attention" points=1

# %% experiment="standard_moves"
memory = attention_memory(queries, keys, values)
standard_attention(memory)
print(f"read {memory.n_read:,} numbers, written {memory.n_written:,}")
flash_figures.moves(memory)

# %% [markdown]
# ## 3. FlashAttention
#
# Now in tiles, with the first paper's order: the outer loop brings a tile of keys and values, the
# inner loop goes through all tiles of queries and takes these keys into account for each. Between
# two outer turns the state of a query (its maximum, its total, its output) has to wait somewhere:
# in memory, as "m", "l" and "O".

# %% exercise="labkit.flash_attention:flash_attention_1" points=3

# %% experiment="flash_1_moves"
memory = attention_memory(queries, keys, values)
flash_attention_1(memory, 16, 24)
print(f"read {memory.n_read:,} numbers, written {memory.n_written:,}")
flash_figures.moves(memory)

# %% [markdown]
# The picture shows what it costs to keep the state in memory: O comes and goes in every turn. The
# second paper swaps the loops. A tile of queries stays on the chip with its state until it has seen
# all keys; the division by the total happens once, at the end.

# %% exercise="labkit.flash_attention:flash_attention_2" points=2

# %% experiment="flash_2_moves"
memory = attention_memory(queries, keys, values)
flash_attention_2(memory, 16, 24)
print(f"read {memory.n_read:,} numbers, written {memory.n_written:,}")
flash_figures.moves(memory)

# %% [markdown]
# Play it slowly: which tile is where, and what the running maximum and total of one query do.

# %% experiment="player"
tile_player(flash_attention_1, flash_attention_2)

# %% [markdown]
# ## 4. How large may a tile be?
#
# The first paper gives a tile of keys a quarter of the chip: tiles of Q, K, V and O lie there at
# the same time. Its M counts *numbers*; data sheets give *bytes*. A T4 has 64 KB of shared memory
# for each multiprocessor, so 16,384 numbers in float32 and 32,768 in float16.

# %% exercise="labkit.flash_attention:tile_sizes" points=1

# %% [markdown]
# ## 5. Counting without running
#
# Now closed forms. The counters above will tell you whether you are right: the checks compare your
# formulas with what the algorithms really move.

# %% exercise="labkit.flash_attention:standard_traffic" points=0.5

# %% exercise="labkit.flash_attention:flash_1_traffic" points=1

# %% exercise="labkit.flash_attention:flash_2_traffic" points=0.5

# %% [markdown]
# ### Question: your own head
#
# `own_head(student_id)` is one attention head and one chip. Give the tiles that `tile_sizes`
# allows, what `flash_attention_1` then reads and writes, in numbers (the first writing of O, l and
# m included), and all of it together in megabytes (10^6 bytes).

# %% experiment="my_head_numbers"
print(own_head(student_id))

# %% answer="my_head" points=1
my_head = {
    "tile_kv": 109,
    "tile_q": 56,
    "reads": 5_663_560,
    "writes": 2_883_760,
    "megabytes": 17.09,
}

# %% [markdown]
# ### Question: a slide
#
# A lecture slide lists what FlashAttention moves: it reads Q, K, V, O, l and m and writes O, l and
# m, each once, in all N (5 D + 4) numbers. The first writing of O, l and m is not in it; leave it
# out here too. For how many turns of the outer loop is the slide right (`n_turns`)? And for your
# own head: how many times *as much* as the slide says does `flash_attention_1` move (`ratio`)?

# %% answer="slide" points=0.5
slide = {"n_turns": 1, "ratio": 13.11}

# %% [markdown]
# ### Question: a homework
#
# A homework asks what FlashAttention reads for N = 1,024 and D = 64 in float32 on a chip with
# "M = 64K". Its expected answer is about 800,000. Give the reads of `flash_attention_1` if that
# means 64,000 numbers, 65,536 numbers, or 65,536 bytes.

# %% answer="homework" points=0.5
homework = {"numbers_64000": 796_672, "numbers_65536": 663_552, "bytes_65536": 2_260_992}

# %% [markdown]
# ### In words
#
# The slide gives 331,776 numbers in all for this head, the homework about 800,000 reads. Two other
# readings of M have given you two more counts. Say for each of the four what exactly was assumed,
# and which of them a T4 with its 64 KB comes closest to.

# %% [markdown] written="wrong_numbers" points=1
# The slide loads and stores Q, O, l and m once, as if one tile of K held all keys. Algorithm 1 does
# it for each of the T_c tiles of K. The expected 796,672 reads 64 K as 64,000 numbers: B_c = 250,
# T_c = 5; with 65,536 numbers B_c = 256 and T_c = 4. Both take a size in bytes for a count of
# numbers. A T4 has 65,536 bytes, which are 16,384 float32 numbers: B_c = 64, T_c = 16, and
# 2,260,992 reads: that is the count of the real chip, almost three times the expected one.

# %% [markdown]
# ## 6. Operations and seconds
#
# FlashAttention does not save arithmetic; it does a little more. We count every addition,
# multiplication, exponential, division and maximum as one operation.

# %% exercise="labkit.flash_attention:standard_flops" points=0.5

# %% exercise="labkit.flash_attention:flash_flops" points=0.5

# %% exercise="labkit.flash_attention:run_times" points=0.5

# %% [markdown]
# The homework's model of a T4: 8.1 TFLOP/s (no tensor cores), 320 GB/s, computing and moving one
# after the other, 64,000 numbers on the chip. Beside it the truth about the chip, 65,536 bytes, and
# the assumption that moving overlaps with computing.

# %% experiment="predicted_speedups"
T4 = (8.1e12, 320e9)
print(f"{'N':>6}{'reads':>12}{'speedup':>10}{'bytes':>10}{'overlap':>10}")
for n_rows in (1024, 2048, 4096, 8192):
    slow = standard_flops(n_rows, 64), 4 * sum(standard_traffic(n_rows, 64))
    line = ""
    for sram_bytes, which in ((256_000, 0), (65_536, 0), (65_536, 1)):
        _, tile_kv = tile_sizes(sram_bytes, 64, 4)
        fast = flash_flops(n_rows, 64, tile_kv), 4 * sum(flash_1_traffic(n_rows, 64, tile_kv))
        line += f"{run_times(*slow, *T4)[which] / run_times(*fast, *T4)[which]:>10.6f}"
    print(f"{n_rows:>6}{flash_1_traffic(n_rows, 64, 250).reads:>12,}{line}")

# %% [markdown]
# Your functions take any card. With the shared memory, rates and bandwidth of each data sheet:

# %% experiment="cards"
standard, flash_1 = (standard_traffic, standard_flops), (flash_1_traffic, flash_flops)
print(flash_tables.cards_table(tile_sizes, standard, flash_1, run_times))

# %% [markdown]
# In float32 an A100 computes so slowly that moving hides behind it (overlap 1.00): there is nothing
# to gain. In float16 its tensor cores are sixteen times as fast, and moving decides.
#
# ## 7. Where the clever method loses
#
# A small chip makes small tiles, small tiles many turns, and in every turn all of O comes and goes.

# %% exercise="labkit.flash_attention:least_tile" points=0.5

# %% experiment="crossover"
for head_dim in (64, 128, 256):
    tile_kv = tile_sizes(65_536, head_dim, 4)[1]
    least = least_tile(4096, head_dim)
    print(f"D = {head_dim}: at least {least} rows; 64 KB hold {tile_kv} in float32")
flash_figures.traffic_by_tile(standard_traffic, flash_1_traffic, flash_2_traffic, least_tile)

# %% [markdown]
# With D = 128 in float32, 64 KB hold 32 rows, and the first order of FlashAttention moves *more*
# than standard attention. The second order does not write O in every turn; what counts there is the
# tile of queries.
#
# And over the length of the text:

# %% experiment="over_length"
flash_figures.traffic_by_length(standard_traffic, flash_1_traffic, flash_2_traffic, tile_sizes)

# %% [markdown]
# The first paper measured 40.3 GB for standard attention and 4.4 GB for its own, forward and
# backward, for the heads of GPT-2 medium. Our counts for the same sizes:

# %% experiment="paper_anchor"
print(flash_tables.gpt2_table(standard_traffic, flash_1_traffic))

# %% [markdown]
# ## 8. The way back
#
# Training needs gradients, and the standard way keeps the weights P for it: N × N numbers from the
# forward to the backward pass. FlashAttention keeps L, one number a query, and computes the weights
# of each pair of tiles again. `labkit.labs.flash_attention.backward` has it in the same
# style; read it.

# %% experiment="way_back"
d_output = torch.randn(96, 16, generator=torch.Generator("cpu").manual_seed(8))
ways = {
    standard_attention: (standard_backward, ()),
    flash_attention_2: (flash_backward_2, (16, 24)),
}
for forward, (back, tile_rows) in ways.items():
    memory = attention_memory(queries, keys, values, more={"dO": d_output})
    forward(memory, *tile_rows)
    memory.accesses.clear()
    back(memory, *tile_rows)
    n_moved = memory.n_read + memory.n_written
    print(f"{back.__name__:>18}: {n_moved:>9,} numbers")

# %% [markdown]
# ## 9. Measured
#
# PyTorch has several ways to compute `scaled_dot_product_attention`. "math" is the standard way,
# the others are FlashAttention and its relatives; "plain" is the formula typed in, and "labkit" is
# the kernel in `labkit.engine.triton_flash`, the same loops as your `flash_attention_2` in a
# language for GPUs. The cell measures on this machine; what it measures stays in
# `flash-here.jsonl`.

# %% experiment="measured"
here = profile()
recorder = Recorder("flash-here.jsonl", Provenance.here(here, "lab 7"))
for row in sdpa(here, is_done=recorder.is_done):
    recorder.save(row)
records = {**recorded_results("flash-*.jsonl"), "here": recorder.record()}
for name, record in records.items():
    print(f"{name}: {flash_tables.back_ends_table(record, standard_traffic, flash_2_traffic)}\n")

# %% experiment="back_ends_figure"
flash_figures.back_ends(records["flash-h200"], standard_traffic, flash_2_traffic)

# %% experiment="own_back_ends_figure"
flash_figures.back_ends(records["here"], standard_traffic, flash_2_traffic)

# %% [markdown]
# ### In words
#
# From the record of the H200: how do time and peak memory of "math" and of FlashAttention grow with
# N, and what in the counts says so? FlashAttention does *more* operations than standard attention;
# why is it faster all the same, and is its time at N = 16,384 the time of moving or of computing?

# %% [markdown] written="back_ends" points=1
# Peak memory of "math" grows with N² (39 GB at N = 16,384 and D = 64), for it holds the scores and
# the weights of all heads; that of FlashAttention grows with N (135 MB): Q, K, V, O and one number
# a query. Both times grow with N², since the two products are 4 N² D operations either way. The
# standard way also moves 4 N² numbers, 8.4 ms even at the full bandwidth, and takes 17 ms and more;
# the tiles are 2.1 ms, the products 1.4 ms, and FlashAttention takes 2.4 to 3.7 ms, a few more
# operations included. At D = 128 the best kernel needs 3.3 ms where the products alone need 2.9: it
# computes. Our count of the tiles would be 4.2 ms of moving: they come from the cache between chip
# and memory, where one program's tiles of K and V lie ready for the next.

# %% [markdown]
# ## What you have now
#
# The same output without one score in memory, and counts that you can check by hand for any chip.
# Lab 8 asks about the papers behind labs 6 and 7, with these numbers at hand.
