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
# <!-- picture: Tiles of Q, K and V are loaded from memory to the chip.
# The scores stay on the chip. -->
#
# After this lab you can
#
# * write attention that never stores the N × N scores, and show that its output is the same;
# * count the numbers that an attention algorithm moves between memory and chip, for any chip;
# * predict when FlashAttention is faster, and when it loses;
# * share one query's work out to many multiprocessors;
# * write FlashAttention as a kernel in Triton.
#
# **You need** matrix products, softmax and PyTorch tensors. Lab 2 explains bandwidth and FLOP/s.
# The [glossary](../docs/glossary.md) explains the words of this lab in English and Chinese. A CPU
# is enough: all cells together run for about a minute. Cells with `TODO` are yours. The check below
# each runs a few visible tests. After you hand in, the grader runs it on hidden tests.
#
# **Time:** 6 to 8 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% [markdown]
# Some questions use numbers of your own, which follow from your student id. Write your id above as
# the course knows it. Capital letters and spaces do not matter.
#
# **The problem.** Attention over N tokens computes N × N scores: one for each pair of a query and a
# key. For N = 8,192 and one head with D = 64 these are 67 million numbers. The queries, keys,
# values and the output together are only 2 million. The standard algorithm writes the scores to
# memory and reads them back. It does the same with the weights, which are the softmax of the
# scores. A GPU computes faster than it moves numbers (lab 2), so this traffic decides the time.
#
# FlashAttention computes the same output, up to rounding, and never writes a score to memory.

# %% given="setup"
import math
from math import ceil, inf

import torch
from torch import Tensor

from labkit import kit
from labkit.labs import flash_attention as lab
from labkit.labs.flash_attention import Memory, Traffic, tile_scores, tiles

check = kit.start("flash_attention", globals())

# %% [markdown]
# ## 1. A softmax in pieces
#
# The weights of a query are exp(score) divided by their sum. To compute them we seem to need all
# scores at once, for two reasons. We subtract the largest score before exp, so that nothing
# overflows. And we divide by the sum.
#
# There is another way. For the keys so far we keep three things for each query: the largest score
# m, the sum l = Σ exp(score − m), and o = Σ exp(score − m) · value. The next *tile* is the next
# group of keys. It may bring a larger score, so that m grows to m_new. Then l and o are too large,
# both by the factor exp(m_new − m). We multiply them by exp(m − m_new) and add the new tile's
# terms. At the end, the output is o / l.
#
# An example with one query: the scores so far are 1 and 3, so m = 3 and l = exp(−2) + 1 = 1.135.
# The next score is 5. Now m_new = 5, and l = 1.135 · exp(3 − 5) + exp(5 − 5) = 1.154.

# %% exercise="labkit.flash_attention:online_softmax" points=2 minutes=30 level=2

# %% [markdown]
# The size of the pieces must not change the result:

# %% given="one_head"
queries, keys, values = torch.randn(
    3, 96, 16, generator=torch.Generator("cpu").manual_seed(7)
)

# %% experiment="in_pieces"
scores = tile_scores(queries[:4], keys, 0, 0, is_causal=False)
for size in (96, 32, 5, 1):
    state = torch.full((4,), -inf), torch.zeros(4), torch.zeros(4, 16)
    for start, stop in tiles(96, size):
        tile = scores[:, start:stop].clone(), values[start:stop].clone()
        state = [torch.as_tensor(each) for each in online_softmax(*state, *tile)]
    maximum, total, output = state
    error = (output / total[:, None] - scores.softmax(-1) @ values).abs().max()
    print(f"pieces of {size:>2}: largest error {error:.1e}")

# %% [markdown]
# ## 2. A memory that counts
#
# A GPU has two kinds of memory. The large one is slow (HBM). The small one is on the chip and fast
# (SRAM), and programs compute only with what is there. Our `memory` counts what moves between them.
#
# `lab.attention_memory(queries, keys, values)` puts the three matrices into the large memory, as
# "Q", "K" and "V". There is room for results: the output "O", the scores "S", the weights "P", and
# the vectors "m", "l" and "L". You use four things of a memory, and the checks offer only these:
#
# | name | meaning |
# |---|---|
# | `memory.n_rows` | N, the rows of each matrix and the numbers in each vector |
# | `memory.head_dim` | D, the numbers in a row of Q, K, V and O |
# | `memory.load("K", 32, 64)` | returns a copy of rows 32 to 63, and counts them as read |
# | `memory.store("O", 32, rows)` | writes rows from row 32 on, and counts them as written |
#
# Without row numbers, `load` returns all rows. An array that was never stored holds NaN.
#
# The chip is small, and has one buffer for each matrix. The next tile of K takes the place of the
# last tile of K. So do not use a tile after you have loaded the next one of its matrix: load it
# again. A tile of O needs room on the chip too, even if you only store it. If a tile does not fit
# beside the tiles of the other matrices, `load` or `store` raises `lab.SramOverflow`. (Vectors, and the
# scores of one pair of tiles, are in registers. They take no room here.)
#
# Two functions help you:
#
# * `tiles(n_rows, tile)` gives the first row and the last row (exclusive) of each tile. The last
#   tile may have fewer rows.
# * `tile_scores(queries, keys, first_query, first_key, is_causal)` gives the scores of one pair of
#   tiles, divided by √D. `first_query` and `first_key` are the rows where the two tiles begin. If
#   `is_causal`, keys that come after a query get the score -inf.
#
# In nested loops, load the tile of the outer loop before the inner loop begins.
#
# We begin with the standard algorithm, which loads and stores whole matrices. Assume here that the
# chip is large enough for them.

# %% exercise="labkit.flash_attention:standard_attention" points=1 minutes=15 level=1

# %% experiment="standard_moves"
memory = lab.attention_memory(queries, keys, values)
standard_attention(memory)
print(f"read {memory.n_read:,} numbers, written {memory.n_written:,}")
lab.figures.moves(memory)

# %% [markdown]
# The figure has one lane for each array, and time goes to the right. The width of a block is how
# many numbers it moves. S and P take most of it.
#
# ## 3. FlashAttention
#
# Now we use tiles. The first paper has this order: the outer loop loads a tile of keys and values.
# The inner loop goes through all tiles of queries and updates each of them with these keys. A
# *turn* is one pass of the outer loop. Between two turns, the state of each query (its maximum, its
# total and its output) has to wait in memory, as "m", "l" and "O".
#
# Build it in stages, and run the two cells below after each:
#
# 1. Store the first values of O, l and m. Then write both loops, without a mask. With one tile for
#    all keys (`tile_kv` = 96) the state is updated only once.
# 2. Try two and more tiles of keys. Now O and l of earlier turns count.
# 3. Try tiles that do not divide 96. Use the row numbers that `tiles` gives you.
# 4. Add `is_causal`: pass it to `tile_scores`, and skip pairs of tiles that it masks entirely.

# %% exercise="labkit.flash_attention:flash_attention_1" points=3 minutes=50 level=3

# %% experiment="flash_1_stages"
stages = ((96, 96, False), (16, 24, False), (20, 28, False), (16, 24, True))
for stage, (tile_q, tile_kv, is_causal) in enumerate(stages, 1):
    memory, whole = (lab.attention_memory(queries, keys, values) for _ in range(2))
    standard_attention(whole, is_causal)
    flash_attention_1(memory, tile_q, tile_kv, is_causal)
    error = (memory.arrays["O"] - whole.arrays["O"]).abs().max()
    print(f"stage {stage}: largest difference from standard attention {error:.1e}")

# %% experiment="flash_1_moves"
memory = lab.attention_memory(queries, keys, values)
flash_attention_1(memory, 16, 24)
print(f"read {memory.n_read:,} numbers, written {memory.n_written:,}")
lab.figures.moves(memory)

# %% [markdown]
# The figure shows the price of keeping the state in memory: in every turn all of O is loaded and
# stored again. The second paper swaps the loops. A tile of queries and its state stay on the chip
# until the queries have seen all keys. The output is divided by the total once, at the end.

# %% exercise="labkit.flash_attention:flash_attention_2" points=2 minutes=30 level=2

# %% experiment="flash_2_moves"
memory = lab.attention_memory(queries, keys, values)
flash_attention_2(memory, 16, 24)
print(f"read {memory.n_read:,} numbers, written {memory.n_written:,}")
lab.figures.moves(memory)

# %% [markdown]
# The player shows the same run step by step. Watch which tiles are on the chip, and how the maximum
# and the total of one query change.

# %% experiment="player"
lab.tile_player(flash_attention_1, flash_attention_2)

# %% [markdown]
# ## 4. How large may a tile be?
#
# In the first paper, tiles of Q, K, V and O lie on the chip at the same time, so a tile of keys may
# take a quarter of it. The paper's M is the size of the chip in *numbers*. Data sheets give it in
# *bytes*. A T4 has many multiprocessors. Each has its own SRAM of 64 KB, called shared memory; here
# it is "the chip". These are 65,536 bytes: 16,384 numbers in float32, or 32,768 numbers in float16.

# %% exercise="labkit.flash_attention:tile_sizes" points=1 minutes=15 level=2

# %% [markdown]
# ## 5. Counting without running
#
# Now we write the counts as formulas. You can test them with your own algorithms: `memory.n_read`
# and `memory.n_written` are the true counts of a run. The checks compare with such counts.

# %% exercise="labkit.flash_attention:standard_traffic" points=0.5 minutes=10 level=1

# %% exercise="labkit.flash_attention:flash_1_traffic" points=1 minutes=20 level=2

# %% exercise="labkit.flash_attention:flash_2_traffic" points=0.5 minutes=10 level=2

# %% [markdown]
# ### Question: your own head
#
# `own_head(student_id)` gives you one attention head and one chip. Answer with five numbers:
#
# * `tile_kv` and `tile_q`: the rows that `tile_sizes` allows;
# * `reads` and `writes`: what `flash_attention_1` then reads and writes, in numbers, with the first
#   store of O, l and m;
# * `megabytes`: what both are together, in megabytes (10^6 bytes).

# %% given="own_head"
from labkit.labs.flash_attention.own_head import own_head

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
# ### Question: a homework
#
# A homework of another course asks what FlashAttention reads for N = 1,024 and D = 64 in float32,
# on a chip with "M = 64K". Its solution says about 800,000. How many numbers does
# `flash_attention_1` read if "64K" means 64,000 numbers, 65,536 numbers, or 65,536 bytes?

# %% answer="homework" points=0.5
homework = {
    "numbers_64000": 796_672,
    "numbers_65536": 663_552,
    "bytes_65536": 2_260_992,
}

# %% [markdown]
# ### Written answer: four counts
#
# A lecture slide counts what FlashAttention moves. It reads Q, K, V, O, l and m once, and it writes
# O, l and m once. Together these are N (5 D + 4) numbers. So you now have four counts for the
# homework's head (N = 1,024, D = 64, float32). By the slide's formula, 331,776 numbers are read and
# written. The three readings of "64K" give three numbers of reads. For each of the four, write what was assumed. Then say which of the four describes a T4
# best, with its 65,536 bytes on the chip, and why. (4 to 6 sentences.)

# %% [markdown] written="wrong_numbers" points=1
# *Slide.* It loads and stores Q, O, l and m once, as if one tile of K held all keys. Algorithm 1
# does this in each of its T_c turns. (Its 331,776 are reads and writes; the reads alone would be
# N (4 D + 2) = 264,192.)
#
# *64,000 numbers.* This gives B_c = 250 rows of K, T_c = 5 turns and 796,672 reads: the expected
# answer.
#
# *65,536 numbers.* This gives B_c = 256, T_c = 4 and 663,552 reads. Like the reading before, it
# takes a size in bytes for a count of numbers.
#
# *65,536 bytes.* These are 16,384 numbers in float32, so B_c = 64, T_c = 16 and 2,260,992 reads.
# This is the T4, because 64 KB is a size in bytes. The T4 reads almost three times the expected
# answer.
#
# *Marking (1 point):*
#
# * *0.25 if the answer says that the slide has one turn.*
# * *0.25 if it says that 64,000 and 65,536 numbers take bytes for numbers, with B_c or T_c.*
# * *0.25 if it turns 65,536 bytes into 16,384 numbers.*
# * *0.25 if it names the last count for the T4, with the reads or the factor.*

# %% [markdown]
# ## 6. Operations and seconds
#
# We count every addition, multiplication, exponential, division and maximum as one operation. (On a
# GPU an exponential takes longer than that. Section 9 counts exponentials by themselves.)

# %% exercise="labkit.flash_attention:standard_flops" points=0.5 minutes=5 level=1

# %% [markdown]
# `lab.flash_flops(n_rows, head_dim, tile_kv)` counts the operations of your `flash_attention_1`.
# `lab.flash_flops??` in a cell of your own shows the formula.

# %% experiment="operations"
rows = []
for tile_kv in (32, 64, 128, 256, 512):
    more = lab.flash_flops(4096, 64, tile_kv) / standard_flops(4096, 64) - 1
    rows.append([tile_kv, f"{100 * more:+.2f} %"])
kit.Table(["rows of K", "more operations"], rows)

# %% [markdown]
# So FlashAttention does about as many operations as standard attention. With 64 rows of K in a tile
# it does 0.82 % more, with 256 rows 0.08 % fewer. It saves one division for each score. In each
# turn, merging costs 4 D + 7 operations for each row of Q, and the products save D additions. So 3
# D + 7 remain. The larger count in the first paper (75.2 GFLOPs, standard 66.6) contains the
# backward pass, which computes the scores a second time.

# %% exercise="labkit.flash_attention:run_times" points=0.5 minutes=10 level=1

# %% [markdown]
# The homework has a simple model of a T4. It computes 8.1 TFLOP/s (without tensor cores) and moves
# 320 GB/s. A speedup is the time of standard attention divided by the time of FlashAttention. The
# columns differ in two points:
#
# | column | size of the chip | moving and computing |
# |---|---|---|
# | speedup | 64,000 numbers, as in the homework | one after the other |
# | bytes | 65,536 bytes, the true size | one after the other |
# | overlap | 65,536 bytes | at the same time |

# %% experiment="predicted_speedups"
T4, rows = (8.1e12, 320e9), []
for n_rows in (1024, 2048, 4096, 8192):
    slow = standard_flops(n_rows, 64), 4 * sum(standard_traffic(n_rows, 64))
    gains = []
    for sram_bytes, which in ((256_000, 0), (65_536, 0), (65_536, 1)):
        _, tile_kv = tile_sizes(sram_bytes, 64, 4)
        fast = (
            lab.flash_flops(n_rows, 64, tile_kv),
            4 * sum(flash_1_traffic(n_rows, 64, tile_kv)),
        )
        gains.append(run_times(*slow, *T4)[which] / run_times(*fast, *T4)[which])
    reads = flash_1_traffic(n_rows, 64, 250).reads
    rows.append([n_rows, reads, *(f"{gain:.6f}" for gain in gains)])
kit.Table(["N", "reads", "speedup", "bytes", "overlap"], rows)

# %% [markdown]
# Your functions work for every GPU. This table takes shared memory, FLOP/s and bandwidth from the
# data sheets. "In turn" means that moving and computing follow each other. GPUs compute
# exponentials in *special-function units*: 16 in a clock and multiprocessor. The table adds their
# time to the time of computing.

# %% experiment="cards"
standard, flash_1 = (
    (standard_traffic, standard_flops),
    (flash_1_traffic, lab.flash_flops),
)
lab.tables.cards_table(tile_sizes, standard, flash_1, run_times)

# %% [markdown]
# In float32 an A100 computes slowly. With overlap, computing takes longer than moving, also for
# standard attention. So nothing is gained (overlap 1.00). In float16 its tensor cores are sixteen
# times as fast. Then standard attention waits for its moves, and with overlap the gain is 3.2 to
# 4.2. Without the exponentials it would be 4.8 to 6.1.
#
# ## 7. Where the clever method loses
#
# A small chip has room for small tiles only. Small tiles mean many turns, and in every turn all of
# O is loaded and stored. From how many rows of K in a tile does FlashAttention-1 move less?

# %% experiment="crossover"
lab.figures.traffic_by_tile(standard_traffic, flash_1_traffic, flash_2_traffic)

# %% [markdown]
# With D = 128, FlashAttention-1 moves less from 98 rows on. In float32, 64 KB hold 32 rows. There it
# moves *more* than standard attention. FlashAttention-2 stores O only once. For it the tile of
# queries decides: with 32 rows of Q it moves twice as much as standard attention.
#
# The next figure shows the counts over the length of the text:

# %% experiment="over_length"
lab.figures.traffic_by_length(
    standard_traffic, flash_1_traffic, flash_2_traffic, tile_sizes
)

# %% [markdown]
# The first paper measured what attention moves in GPT-2 medium, forward and backward: 40.3 GB with
# standard attention and 4.4 GB with FlashAttention. The table has our counts for the same sizes.
# Click its title to open it.

# %% experiment="paper_anchor"
lab.tables.gpt2_table(standard_traffic, flash_1_traffic)

# %% [markdown]
# ## 8. The backward pass
#
# Training needs gradients. Standard attention keeps the weights P for them, which are N × N
# numbers. FlashAttention keeps only L, one number for each query. In the backward pass it computes
# the weights of each pair of tiles again from L. The code is in
# `labkit.labs.flash_attention.backward`, in the same style as yours. `lab.flash_backward_2??` in a
# cell of your own shows it. Find the line that uses L.

# %% experiment="way_back"
d_output = torch.randn(96, 16, generator=torch.Generator("cpu").manual_seed(8))
ways = {
    standard_attention: (lab.standard_backward, ()),
    flash_attention_2: (lab.flash_backward_2, (16, 24)),
}
for forward, (back, tile_rows) in ways.items():
    memory = lab.attention_memory(queries, keys, values, more={"dO": d_output})
    forward(memory, *tile_rows)
    memory.accesses.clear()
    back(memory, *tile_rows)
    n_moved = memory.n_read + memory.n_written
    print(f"{back.__name__:>18}: {n_moved:>9,} numbers")

# %% [markdown]
# ## 9. Measured
#
# PyTorch has several programs (*back ends*) for `scaled_dot_product_attention`:
#
# | name | what it is |
# |---|---|
# | plain | the formula, typed in with PyTorch operations |
# | math | PyTorch's own standard attention; it computes in 32 bits |
# | efficient, flash, cudnn | kernels that work tile by tile, as FlashAttention does |
# | labkit | `labkit.engine.triton_flash`: the loops of your `flash_attention_2`, for GPUs |
#
# The cell measures them on this machine and saves the rows in `flash-here.jsonl`. Then it shows
# three tables for each record, that of an H200 first: times, peak memory, and lower bounds of the
# times. (Tables with a mask or the backward pass are folded.) There are four bounds:
#
# * **products** is the time of the matrix products at the machine's measured peak rate.
# * **exponentials** is the time of one exponential for each score that is not masked, 16 in a clock
#   and multiprocessor. It is known for cards of our table only. An H200 has 132 multiprocessors at
#   1.98 GHz, so it computes 4.2 · 10^12 exponentials per second.
# * **scores moved** is the time to move what `standard_traffic` counts.
# * **tiles moved** is the time to move what `flash_2_traffic` counts, with 128 rows of Q in a tile.

# %% experiment="measured"
here = kit.profile()
recorder = kit.Recorder("flash-here.jsonl", kit.Provenance.here(here, "lab 7"))
for row in lab.experiments.sdpa(here, is_done=recorder.is_done):
    recorder.save(row)
records = {**kit.recorded_results("flash-*.jsonl"), "here": recorder.record()}
print(recorder)
for name, record in records.items():
    print(name)
    display(lab.tables.back_ends_table(record, standard_traffic, flash_2_traffic))

# %% experiment="back_ends_figure"
lab.figures.back_ends(records["flash-h200"], standard_traffic, flash_2_traffic)

# %% [markdown]
# ### Exponentials
#
# For each score the tensor cores do 4 D operations, and the special-function units compute one
# exponential. By the data sheet of an H200, 237 operations of the tensor cores take as long as one
# exponential. With D = 64 there are 256. So a kernel has two jobs of about the same length. If they
# overlap, the longer one decides. If they take turns, the sum decides.
#
# Look at "cudnn" at N = 16,384. At D = 64 the longer one takes 1.40 ms and the sum is 2.43 ms. It
# takes {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_64 | ms .2f} ms, so most
# exponentials are not hidden. At D = 128 it takes
# {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_128 | ms .2f} ms, and the sum is
# 3.84 ms. With a causal mask and D = 128 it takes
# {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_128,_causal | ms .2f} ms, and the sum
# is 1.92 ms. With a causal mask and D = 64 it takes
# {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_64,_causal | ms .2f} ms, which is
# more than the sum, 1.22 ms. Our bounds leave some work out, for example the masked half of the
# tiles on the diagonal.
#
# *FlashAttention-3* lets two groups of warps take turns: while one computes exponentials, the
# tensor cores multiply for the other. Within a group, the exponentials of one tile also overlap the
# products of the next. In its paper the first step brings 570 TFLOP/s to 620 or more at D = 128,
# and the second to 661 TFLOP/s.
#
# *FlashAttention-4* is for newer GPUs (B200). They multiply 2.3 times as fast, but a
# multiprocessor has only as many special-function units as before. So it computes 10 to 25 % of the exponentials as
# polynomials, by ordinary multiplications and additions. It also rescales the output only if the
# maximum has grown by much, which saves operations.

# %% experiment="own_back_ends_figure"
lab.figures.back_ends(records["here"], standard_traffic, flash_2_traffic)

# %% [markdown]
# ### Written answer: time and memory
#
# Use the record of the H200, forward and without a mask. (6 to 8 sentences, with numbers.)
#
# 1. How do time and peak memory of "math" grow with N, and how do those of "flash"? Which of your
#    counts explains it?
# 2. FlashAttention does about as many operations as standard attention. Why is it faster?
# 3. At N = 16,384, does "cudnn" spend its time moving, on products, or on exponentials? Look at D =
#    64 and at D = 128, and compare with the lower bounds. At one of them the kernel is *faster* than
#    "tiles moved". What does the H200 have between its memory and the chip's SRAM that makes this
#    possible?

# %% [markdown] written="back_ends" points=1
# *1.* The peak memory of "math" grows with N² (39 GB at N = 16,384 and D = 64): it holds the scores
# and the weights of all heads. The memory of "flash" grows with N (135 MB): Q, K, V, O and one
# number for each query. Both times grow with N², because the two products are 4 N² D operations
# either way.
#
# *2.* Standard attention also moves 4 N² numbers. That takes 8.25 ms at the full bandwidth. "plain"
# needs
# {measured:flash-h200 sdpa model=plain n_input=16384 setting=D_64 | ms .0f} ms
# and "math" {measured:flash-h200 sdpa model=math n_input=16384 setting=D_64 | ms .0f} ms.
# ("math" computes in 32 bits, so its scores take twice as many bytes.) The tiles
# need 2.07 ms of moving and the products 1.40 ms;
# the FlashAttention kernels take
# {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_64 | ms .1f} to
# {measured:flash-h200 sdpa model=flash n_input=16384 setting=D_64 | ms .1f} ms.
#
# *3.* At D = 64, products and exponentials take 1.40 + 1.03 = 2.43 ms one after the other. "cudnn"
# takes {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_64 | ms .2f} ms, so it computes
# nearly all the time. "tiles moved" is 2.07 ms, which can overlap. At D = 128 it takes
# {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_128 | ms .2f} ms; the products alone
# need 2.81 ms, and the exponentials 1.03 ms. "tiles moved" would be 4.14 ms. The kernel is faster
# than our count of moves allows. So many tiles do not come from the large memory, but from the L2
# cache: many programs load the same tiles of K and V at about the same time. The time is that of
# computing: the products, and those exponentials that do not overlap them.
#
# *Marking (1 point):*
#
# * *0.25 if memory grows with N² in one case and with N in the other, and the answer says why.*
# * *0.25 if both times grow with N², and standard attention also moves the N × N arrays. An
#   answer that gives fewer operations as the reason earns nothing here.*
# * *0.25 if D = 128 shows that the kernel computes, or D = 64 that products and exponentials fill
#   the time, with two numbers.*
# * *0.25 if a cache (L2) holds tiles that several programs load.*

# %% [markdown]
# ## 10. One query over a long cache
#
# While a model writes a text, each new token has one query in each head. The query sees the keys and
# values of all tokens before it, which are in the KV cache (lab 4). Several query heads, a *group*,
# use the same KV head. So we put the queries of a group into one tile of Q, a row for each head. Then
# each tile of K and V is loaded once for all of them.
#
# On a GPU, many *programs* run at once, each on a multiprocessor. For one text, `flash_attention_2`
# would have one program for each KV head. With 8 KV heads, 8 of the 132 multiprocessors of an H200 then
# work, however long the cache is. The others wait.
#
# *Split KV*, also called FlashDecoding, cuts the cache into parts. Each part has a program of its
# own. It goes through its keys as before, and stores its state: the maximum, the total and the
# output of each query. At the end one program merges the states of all parts.

# %% exercise="labkit.flash_attention:merge" points=1 minutes=20 level=2

# %% [markdown]
# `lab.flash_decode` is given. It calls your `online_softmax` in each part, and then your `merge`.
# The next cell has a group of 4 heads and a cache of 96 tokens. With 40 parts, some parts are empty.

# %% experiment="in_parts"
group = torch.randn(4, 16, generator=torch.Generator("cpu").manual_seed(9))
right = (tile_scores(group, keys, 0, 0, is_causal=False)).softmax(-1) @ values
for n_parts in (1, 3, 8, 40):
    memory = lab.decode_memory(group, keys, values, n_parts)
    lab.flash_decode(memory, n_parts, 24, online_softmax, merge)
    error = (memory.arrays["O"] - right).abs().max()
    moved = f"read {memory.n_read:,} numbers, written {memory.n_written:,}"
    print(f"{n_parts:>2} parts: largest error {error:.1e}, {moved}")

# %% [markdown]
# More parts move more numbers. Write the count as a formula. The cell above shows true counts.

# %% exercise="labkit.flash_attention:decode_traffic" points=0.5 minutes=15 level=2

# %% experiment="parts"
lab.tables.parts_table(decode_traffic)

# %% [markdown]
# With one part, 8 multiprocessors work. With 16 parts, 128 of the 132 work, and each program goes
# through 512 keys in place of 8,192. With 32 parts there are more programs than multiprocessors. If a
# multiprocessor runs one program at a time, some programs wait, and 32 parts gain nothing over 16. Real
# ones can run several. The states of 16 parts cost 1.2 % more moves. When many texts are written at
# once, there are enough programs without parts.
#
# `labkit.engine.triton_attention` is a kernel with split KV. The cell measures it in 1, 8 and 32 parts where
# a GPU can run it (an H100 or later), and PyTorch's attention everywhere. The model has the heads of
# the table above. "Cache moved" is the time to read the keys and values of one layer once.

# %% experiment="decode_measured"
for row in lab.experiments.decode_split(here, is_done=recorder.is_done):
    recorder.save(row)
split = {**kit.recorded_results("split-*.jsonl"), "here": recorder.record()}
for name, record in split.items():
    print(name)
    display(lab.tables.decode_table(record))

# %% [markdown]
# In the record of the H200, with 131,072 tokens in the cache, one part takes
# {measured:split-h200 decode_split model=labkit n_input=131072 setting=1_part | ms .2f} ms. Eight parts
# take {measured:split-h200 decode_split model=labkit n_input=131072 setting=8_parts | ms .3f} ms, and 32
# parts {measured:split-h200 decode_split model=labkit n_input=131072 setting=32_parts | ms .3f} ms.
# PyTorch's kernel takes {measured:split-h200 decode_split model=pytorch n_input=131072 | ms .3f} ms, and
# to read the cache takes 0.137 ms at the bandwidth of a copy. So 32 parts take about
# as long as the reading. PyTorch's kernel is faster than that, perhaps because it only reads, and a copy
# also writes. With one part, each doubling of the cache doubles the time.
#
# With 1,024 tokens, 32 parts lose. They take
# {measured:split-h200 decode_split model=labkit n_input=1024 setting=32_parts | ms .3f} ms, and 8 parts
# {measured:split-h200 decode_split model=labkit n_input=1024 setting=8_parts | ms .3f} ms. Each part has
# 32 keys only, and one program has to merge 32 states at the end.

# %% [markdown]
# ### Blocks, and narrow numbers
#
# In lab 4 the keys and values of a text lie in blocks, anywhere in memory. A *block table* says
# where: entry i is the number of the block with the i-th group of rows. Engines also store keys and
# values in 8 bits (FP8). Neither changes your algorithm. `load` looks the rows up in the table, and
# only K and V become narrower.

# %% experiment="pages"
table, rows = (4, 0, 3, 5, 1, 2), []
half = [each.half() for each in (queries, keys, values)]
narrow = [half[0], *(each.to(torch.float8_e4m3fn) for each in (keys, values))]
ways = {
    "one piece, 16 bits": lab.attention_memory(*half),
    "6 blocks, 16 bits": lab.attention_memory(*half, block_table=table),
    "6 blocks, FP8": lab.attention_memory(*narrow, block_table=table),
}
right = tile_scores(queries, keys, 0, 0, is_causal=False).softmax(-1) @ values
for name, memory in ways.items():
    flash_attention_2(memory, 32, 24)
    n_bytes = [
        sum(each.n_bytes for each in memory.accesses if each.name in names)
        for names in ("K", "V", "QOL")
    ]
    error = (memory.arrays["O"].float() - right).abs().max()
    rows.append([name, memory.n_read, *n_bytes, f"{error:.0e}"])
headings = ["K and V", "numbers read", "bytes of K", "of V", "of Q, O, L", "error"]
kit.Table(headings, rows)

# %% [markdown]
# A tile of 24 rows lies in two blocks of 16 rows. The counts of numbers are the same with blocks. In
# FP8 the bytes of K and of V are half, and the error is larger. While a text is written, nearly all
# that is moved is K and V, so FP8 saves nearly half of the time that moving takes.

# %% [markdown]
# ## 11. A kernel of your own
#
# Now you write `flash_attention_2` as a program for a GPU. *Triton* is a language for such kernels.
# It looks like Python, and a compiler makes a GPU program of it. A kernel says what one *program*
# does. Many programs run at once, each with its own number. Here program i computes tile i of O.
#
# Triton also has an *interpreter*, which runs a kernel on a CPU. It runs one program after the other,
# so it says whether a kernel is right, and not how fast it is. The checks use it where there is no
# GPU. Triton can be installed on Linux only (`pip install triton`; Colab has it). Without Triton you
# can still write the kernel. The grader runs it when you hand it in. Or leave it out.
#
# | in Triton | what it is |
# |---|---|
# | `tl.program_id(0)` | i, the number of this program |
# | `tl.arange(0, TILE_Q)` | the numbers 0 to TILE_Q − 1, as a vector |
# | `tl.load(ptr + place, mask=m, other=0.0)` | the numbers at these places after `ptr`; 0 where m is false |
# | `tl.store(ptr + place, x, mask=m)` | writes x to these places, where m is true |
# | `tl.dot(a, b)` | a matrix product, summed in float32; a and b have the same type |
# | `tl.trans(a)` | the transpose |
# | `tl.maximum(a, b)`, `tl.minimum(a, b)` | the larger numbers, the smaller numbers |
# | `tl.exp(x)`, `tl.max(x, axis=1)`, `tl.sum(x, axis=1)` | as in PyTorch |
# | `tl.where(m, a, b)`, `x.to(tl.float16)` | as in PyTorch |
# | `tl.full((TILE_Q, HEAD_DIM), 0.0, tl.float32)` | a matrix of zeros; `(TILE_Q,)` gives a vector |
# | `float("-inf")` | minus infinity |
# | `m & n` | where both masks are true; a mask of one column fits each column |
#
# `place` is a matrix of whole numbers. Number d of row n lies at n · HEAD_DIM + d:
#
# ```
# place = row[:, None] * HEAD_DIM + column[None, :]
# ```
#
# The names in capitals are constants for the compiler, and powers of two: `if IS_CAUSAL:` costs nothing
# when the kernel runs. Write no decorator. Use no name of another cell but `tl`: the compiler does not
# see them. This kernel stores O alone, not L. `range(0, n_rows, TILE_KV)` is a loop over tiles. Build the kernel in four stages. The table
# below it shows the error of each:
#
# 1. *One tile.* There is one tile of queries, one of keys and one of values. Load them, compute the
#    softmax of the scores, and store O. Convert the weights to float16 for their product with V.
# 2. *The loop.* Go through the tiles of keys. Keep maximum, total and output, as in
#    `online_softmax`.
# 3. *The last tile.* Mask each load and store. Keys after the last row get the score -inf.
# 4. *The causal skip.* Hide later keys, and end the loop after the last query of the program.

# %% given="triton"
from labkit.labs.flash_attention import tl

# %% exercise="labkit.flash_attention:flash_kernel" points=2 minutes=90 level=3

# %% experiment="kernel_stages"
lab.kernel.stages_table(flash_kernel)

# %% [markdown]
# On a GPU the next table shows how fast your kernel is. PyTorch's kernel reads the next tile while
# it computes with the last one, and chooses the sizes of its tiles. Without a GPU the table shows
# the interpreter, which is slow.

# %% experiment="kernel_times"
lab.kernel.times_table(flash_kernel)

# %% [markdown]
# ## What you have shown
#
# Your `flash_attention_2` gives the output of standard attention without storing one score. For
# your 96 tokens it moves 21,600 numbers, and standard attention 43,008. The checks compared your
# formulas with counts of runs, so you can count for any chip. On an H200, at 16,384 tokens, the
# best kernel takes {measured:flash-h200 sdpa model=cudnn n_input=16384 setting=D_64 | ms .1f} ms
# and PyTorch's standard attention
# {measured:flash-h200 sdpa model=math n_input=16384 setting=D_64 | ms .0f} ms.
#
# **Read next**
#
# * [FlashAttention](https://arxiv.org/abs/2205.14135), section 3 and algorithm 1: this is the first
#   order.
# * [FlashAttention-2](https://arxiv.org/abs/2307.08691), section 3: the second order, and how the
#   work is shared.
# * [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867), algorithm 3: this
#   is your `online_softmax`.
# * [FlashAttention-3](https://arxiv.org/abs/2407.08608), section 3: how moving and computing
#   overlap.
# * [Flash-Decoding](https://pytorch.org/blog/flash-decoding/): how a cache in parts became common.
# * [FlashAttention-4](https://arxiv.org/abs/2603.05451), section 3: how exponentials become faster.
#
# Lab 8 asks about the papers of labs 6 and 7.
