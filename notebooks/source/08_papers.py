# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 8: papers
#
# After this lab you can
#
# * explain speculative decoding and FlashAttention from the papers that introduced them;
# * find in a paper what a claim needs: the algorithm, the formula, the measurement;
# * check a reported number by computing it.
#
# **You need** labs 6 and 7 for the numbers, and lab 3 for the last three questions. The
# [glossary](../docs/glossary.md) explains the words in English and Chinese. Each question names the
# place to read, so you need not read the papers from the first page to the last.
#
# **Time:** 6 to 8 hours with the reading. {points}: twenty questions with half a point each.
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# The papers:
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
# * two newer papers, which change from term to term: questions 10 and 12 name theirs.
#
# The questions come in English and in Traditional Chinese.
#
# 題目有英文與繁體中文兩種版本。本單元共 20 題，每題 0.5 分，連同閱讀約需 6 到 8 小時。每一題都註明
# 要讀論文的哪一節，不必從頭讀到尾。第 10 與 12 題是較新的論文，每學期會換。名詞請查
# [詞彙表](../docs/glossary.md)。

# %% given="setup"
import math
from math import ceil

from labkit.checks import Checker
from labkit.labs.papers.questions import Asker

check = Checker("papers", globals())
ask = Asker(globals())

# %% [markdown]
# ## Your id and your language
#
# Your student id decides the order of the options, and the numbers that you compute with. So your
# letters differ from your neighbour's. First write your id and your language here, and check the
# id: if you change it later, letters and numbers change too.
#
# If you like to read on paper, run `ask.printed()` in a cell of your own. It writes all questions in
# both languages into `questions.html`.
#
# 選項的順序與題目裡的數字都由學號決定。請先填好學號，再選語言（`"en"` 或 `"zh"`），並確認學號無誤：
# 之後若更改學號，字母與數字也會跟著改變。想在紙上閱讀的話，可以自己加一個儲存格執行
# `ask.printed()`：它會把兩種語言的所有題目寫進 `questions.html`。

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"
language = "en"  # "en" or "zh"; English if you write nothing

# %% [markdown]
# ## How to answer, and how it is marked
#
# Run all cells first: each question appears below its cell. Then replace the `...` by your answer:
#
# ```
# q02 = "A C E"
# q03_numbers = {"top_kept": 1 / 3, "any_kept": 0.1}
# ```
#
# * **Letters.** Choose exactly as many as the question says. You earn (right − wrong) / (number of
#   right options) of the points, and at least 0.
# * **Order.** Each step that is directly followed by the right step earns an equal part.
# * **Audits.** One of five sentences is false. Find it, and the number that belongs there.
# * **Numbers.** Counts must be exact. Others may be wrong by 0.5 %, `instead` by 2 %, and a
#   percentage by half a point.
#
# The check says only what it reads. You see whether it is right after you hand it in.
#
# 請先執行全部儲存格，題目會出現在各題的儲存格下方，再把 `...` 換成答案（數字可以寫成 Python 算式）。選
# 擇題得分為（選對數 − 選錯數）÷ 應選數，最低 0 分；排序題看每一步之後是否緊接著正確的下一步；查核題
# 要從五句話裡，找出錯的那一句，並寫出正確的數字。個數須完全正確，其餘容許 0.5 % 的誤差
# （`instead` 為 2 %，百分比為半個百分點）。檢查只顯示讀到的內容，繳交後才會評分。

# %% [markdown]
# ## Drafting and verifying: the papers on speculative decoding

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

# %% item="q07" points=0.25

# %% item="q07_numbers" points=0.25

# %% item="q08" points=0.25

# %% [markdown]
# **A reproduction.** Question 7 has a table of what attention of GPT-2 medium moves. You can predict
# such a cell with `standard_traffic` and `flash_1_traffic` of lab 7. The next cell does it for
# standard attention, where the paper measured 40.3 GB. By the same way of counting, its backward
# pass moves 16.1 GB. The paper's program also has a mask and dropout. Both go over the N × N
# numbers again, so it moves more than we count. Paste your own functions into a cell above it, or
# use those of the kit. Then predict the other row, with the tiles that question 8 names for you.

# %% given="lab_7"
from labkit.flash_attention import flash_1_traffic, standard_traffic

# %% experiment="gpt2_reproduction"
forward = 2 * 64 * 16 * sum(standard_traffic(1024, 64)) / 1e9
predicted = forward + 16.1
error = 100 * (predicted / 40.3 - 1)
print(f"predicted {predicted:.1f} GB, measured 40.3 GB: {error:+.0f} %")

# %% item="q08_numbers" points=0.25

# %% item="q09" points=0.5

# %% [markdown]
# ## A newer paper
#
# Lab 5 explains the words of serving, lab 6 those of drafts, and lab 7 those of kernels.

# %% item="q10" points=0.25

# %% item="q10_numbers" points=0.25

# %% [markdown]
# ## Speculative decoding in code, and another newer paper
#
# Lab 6 has the code.

# %% item="q11" points=0.25

# %% item="q11_numbers" points=0.25

# %% item="q12" points=0.25

# %% item="q12_numbers" points=0.25

# %% [markdown]
# ## Speculative decoding in numbers
#
# These are measured in lab 6. The questions contain the numbers.

# %% item="q13" points=0.25

# %% [markdown]
# **A reproduction.** The paper predicts speed-ups from α, γ and the time of a draft, and then
# measures them (its Tables 2 and 4). You can do the same with `speedup` of lab 6, for times in steps
# of the target. The next cell does it for one row: English to German, temperature 1, T5-base as the
# draft. Paste your own `speedup` into a cell above it, or use that of the kit.
# Then predict the row that question 13 names for you, and say how far off the prediction is.

# %% given="lab_6"
from labkit.speculative import speedup

# %% experiment="reproduction"
predicted = speedup(alpha=0.68, gamma=5, draft_s=0.04, target_s=1, verify_s=1)
print(
    f"predicted {predicted:.3f}, measured 2.4: {100 * (predicted / 2.4 - 1):+.1f} %"
)

# %% item="q13_numbers" points=0.25

# %% item="q14" points=0.25

# %% item="q14_numbers" points=0.25

# %% item="q15" points=0.25

# %% item="q15_numbers" points=0.25

# %% [markdown]
# ## Counting what FlashAttention moves
#
# Lab 7 has the counters. Remember the two units: a data sheet gives a chip's shared memory in
# bytes, and the paper's M is in numbers.

# %% item="q16" points=0.25

# %% item="q16_numbers" points=0.25

# %% item="q17" points=0.25

# %% item="q17_numbers" points=0.25

# %% [markdown]
# ## What a serving engine shows
#
# Lab 3 measured three things on an H100: four questions about one document, edits of a cached
# prompt, and weights that stay in the memory of the host. The next questions have the numbers.

# %% item="q18" points=0.25

# %% item="q18_numbers" points=0.25

# %% item="q19" points=0.25

# %% item="q19_numbers" points=0.25

# %% item="q20" points=0.25

# %% item="q20_numbers" points=0.25

# %% [markdown]
# ## Your answers
#
# This cell lists your answers, and says which are missing:

# %% experiment="summary"
ask.summary()

# %% [markdown]
# ## What you have shown
#
# You have checked the central claims of these papers against your own counts and our records. The
# methods move fewer bytes, wait less, or guess with a cheap model. The seven older papers also show
# that their method keeps the result: the same values, or the same distribution.
#
# **Read next**
#
# * [Efficient Memory Management for Large Language Model Serving with
#   PagedAttention](https://arxiv.org/abs/2309.06180) describes the blocks of the last questions.
# * [MagicDec](https://arxiv.org/abs/2408.11049) shows when speculation helps with large batches.
