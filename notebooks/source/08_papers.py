# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 8: seven papers
#
# The earlier labs built what these papers describe. Here we read them: four on speculative
# decoding, three on FlashAttention, and what three runs of a serving engine show. Twenty questions,
# each worth half a point, **10 points** in all; every question names the place to read.
#
# * [Fast Inference from Transformers via Speculative Decoding](https://arxiv.org/abs/2211.17192)
# * [Accelerating Large Language Model Decoding with Speculative
#   Sampling](https://arxiv.org/abs/2302.01318)
# * [Inference with Reference: Lossless Acceleration of Large Language
#   Models](https://arxiv.org/abs/2304.04487)
# * [SpecInfer: Accelerating Generative Large Language Model Serving with Tree-based Speculative
#   Inference and Verification](https://arxiv.org/abs/2305.09781)
# * [FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness](https://arxiv.org/abs/2205.14135)
# * [FlashAttention-2: Faster Attention with Better Parallelism and Work
#   Partitioning](https://arxiv.org/abs/2307.08691)
# * [FlashAttention-3: Fast and Accurate Attention with Asynchrony and
#   Low-precision](https://arxiv.org/abs/2407.08608)
#
# The questions come in English and in Traditional Chinese. 題目有英文與繁體中文兩種版本。

# %% given="setup"
from labkit.labs.cache_benchmark import figures as cache_figures
from labkit.labs.papers.checks.notebook import PapersChecker
from labkit.labs.papers.widget import Asker
from labkit.measuring.records import recorded_results

check = PapersChecker(globals())
ask = Asker(globals())

# %% [markdown]
# ## Who answers
#
# The order of the options and the numbers in the questions are drawn from your student id, so the
# letters of a neighbour are of no use. Write it here first, and the language that you want to read.
#
# 選項的順序與題目裡的數字都由學號決定，請先填好學號，再選語言（`"en"` 或 `"zh"`）。

# %% answer="student_id" points=0
student_id = "instructor"
language = "en"  # "en" or "zh"; English as long as it is left open

# %% [markdown]
# ## How to answer, and how it is marked
#
# Run a cell and click; the line below the question says what is stored, and as which line of code.
# Or write the answer into the cell: `q02 = "A C E"`. Either is enough. If both are there and
# differ, the question counts as answered twice and earns nothing until one of them goes. Clicks are
# stored in this notebook (and beside it, in `papers-answers.json`, so that they survive a restart).
# After reloading the page, run a question's cell again before you click. **Before you hand it in:
# run all cells, and save.**
#
# * **Letters.** Each question says how many options are right; name that many. It earns the right
#   ones less the wrong ones, over how many there are, and never less than nothing: of three, three
#   right ones earn all, two right and one wrong a third.
# * **Order.** Name all steps, first to last. Each step that is directly followed by the right one
#   counts the same.
# * **Numbers.** Ten questions have a second half with numbers of your own, worth a quarter of a
#   point like the first. Counts have to be exact, all else within half a percent.
#
# The check below a question says whether your answer can be read and is complete. Whether it is
# right is said after you hand it in.
#
# 點選或直接在程式格裡寫答案皆可，擇一即可；兩者不一致時視為重複作答，不計分。選擇題得分為（選對數 −
# 選錯數）÷ 應選數，最低 0 分；排序題看每一步後面緊接的是不是正確的下一步；計算題中，個數須完全正
# 確，其餘容許 0.5 % 的誤差。重新整理網頁後，請先重跑該題的程式格再點選。**繳交前請先全部執行一次
# 並存檔。**

# %% [markdown]
# ## Drafting and judging: the papers on speculative decoding

# %% item="q01" points=0.5

# %% item="q02" points=0.25

# %% item="q02_numbers" points=0.25

# %% item="q03" points=0.25

# %% item="q03_numbers" points=0.25

# %% item="q04" points=0.5

# %% item="q05" points=0.25

# %% item="q05_numbers" points=0.25

# %% [markdown]
# ## Tiles: the papers on FlashAttention

# %% item="q06" points=0.5

# %% item="q07" points=0.5

# %% item="q08" points=0.25

# %% item="q08_numbers" points=0.25

# %% item="q09" points=0.5

# %% [markdown]
# ## All seven

# %% item="q10" points=0.5

# %% [markdown]
# ## Speculative decoding in code and in numbers
#
# Lab 6 has the code; the measured numbers stand in the questions.

# %% item="q11" points=0.25

# %% item="q11_numbers" points=0.25

# %% item="q12" points=0.5

# %% item="q13" points=0.5

# %% item="q14" points=0.5

# %% item="q15" points=0.5

# %% [markdown]
# ## Counting what FlashAttention moves
#
# Lab 7 has the counters. Mind what M counts: a card's shared memory is given in bytes, the paper's
# M is in numbers.

# %% item="q16" points=0.25

# %% item="q16_numbers" points=0.25

# %% item="q17" points=0.25

# %% item="q17_numbers" points=0.25

# %% [markdown]
# ## What a serving engine shows
#
# Lab 3 measured all three on an H200: four questions on one document, edits of a cached prompt, and
# weights that wait on the host. Its record has every number of the next questions; drawn, the first
# and the last of them look like this.

# %% experiment="recorded"
record = recorded_results("cache-h200.jsonl")["cache-h200"]
cache_figures.prefill_by_round(record.of("multi_turn"), title="Llama-3.2-3B-Instruct on an H200")

# %% experiment="offloaded"
cache_figures.offloaded_steps({"cache-h200": record})

# %% item="q18" points=0.25

# %% item="q18_numbers" points=0.25

# %% item="q19" points=0.25

# %% item="q19_numbers" points=0.25

# %% item="q20" points=0.25

# %% item="q20_numbers" points=0.25

# %% [markdown]
# ## Before you hand it in
#
# What is answered, and what is still missing:

# %% experiment="summary"
ask.summary()

# %% [markdown]
# Save the notebook now. Was every question worth reading the paper for? The one sentence of all
# seven: a fast program moves less, waits less, or lets somebody guess, and each time it has to show
# that the result is the same.
