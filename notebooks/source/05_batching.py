# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 5: batching
#
# <!-- picture: A request goes from the prefill server over a store to the decode server. -->
#
# After this lab you can
#
# * write the two loops of a serving engine: one for **prefill**, one for **decode**;
# * write a scheduler as in vLLM, which mixes both in one pass;
# * explain why continuous batching serves the same requests several times faster;
# * say how far a simulator can be trusted, by runs on two real GPUs.
#
# **You need** Python classes and queues, the times of a GPU (lab 2), caches (labs 3 and 4), and the
# [glossary](../docs/glossary.md) in English and Chinese. A CPU is enough. The check below an
# exercise runs a few visible tests, and the grader hidden ones. Of an answer to a question, the
# check only tests the form; it is marked after you hand in.
#
# **Time:** 6 to 7 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.
#
# **The problem.** Two H200 serve an 8B model, one for prompts and one for answers. They get 500
# requests, of 200 new tokens on average. In our simulator, which has measured durations, these take
# 513 s one after the other. In batches of 32 that wait for their longest request they take 69.5 s.
# If a finished request leaves at once and the next one takes its slot, they take 21.8 s, and 11.2 s
# with 128 slots. In this lab you write the code that makes the difference.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from labkit import kit
from labkit.labs import batching as lab

check = kit.start("batching", globals())

# %% [markdown]
# ## 1. One step for many
#
# *Prefill* computes all tokens of a prompt in one pass. *Decode* then makes one new token of each
# request per pass; one such pass is a *step*. A step reads all weights but the input embedding,
# 15 GB here, whether it serves one request or 128. Each further request adds its KV cache.
#
# The times of H200 cards in this lab come from a record: the course's engine on two of them, with
# the shape of Llama-3.1-8B. `lab.MeasuredCosts` reads it. Beside them are floors (lab 2), the best
# that the data sheet allows.

# %% experiment="one_step"
costs = lab.MeasuredCosts.recorded()
floors = lab.RooflineCosts(
    kit.Roofline.of("H200-SXM"), kit.ModelWork.of("meta-llama/Llama-3.1-8B")
)
rows = []
for n in (1, 4, 16, 64, 128):
    step_s, floor_s = costs.decode_s(n, n * 512), floors.decode_s(n, n * 512)
    times = f"{1e3 * step_s:.2f}", f"{1e3 * floor_s:.2f}"
    rows.append([f"step, {n} requests", *times, f"{n / step_s:,.0f}"])
for n in (512, 4000):
    prompt_s, floor_s = costs.prefill_s([n]), floors.prefill_s([n])
    times = f"{1e3 * prompt_s:.1f}", f"{1e3 * floor_s:.1f}"
    rows.append([f"prompt of {n} tokens", *times, f"{n / prompt_s:,.0f}"])
kit.Table(
    ["pass, 512 tokens a request", "measured, ms", "floor, ms", "tokens/s"], rows
)

# %% [markdown]
# A step for 64 requests takes 6.49 ms, and a step for one takes 5.12 ms. So 64
# requests get 50 times as many tokens per second. Passes take 1.6 to 1.8 times their floor. So a
# card that looks 60 % busy by floors has no time left.
#
# ## 2. A request
#
# A request arrives as a dict. `"id"` is its number, and `"input_length"` the tokens of its prompt.
# `"output_length"` is the largest number of new tokens that its client wants, or `None` if the
# client did not say. There may be other keys. A request is always in one of four states:
#
# ```
# "queued"  ──>  "prefill"  ──>  "decode"  ──>  "done"
#                    └─────────────────────────────┘
#                      if its first token is its last
# ```
#
# * The prefill makes the **first new token**, and this token counts.
# * A request ends with the end-of-text token, which belongs to the answer, or with the last token
#   that it may have. The earlier of the two ends it.
# * `limit` is the largest number of new tokens that it may have: what the client wants, but prompt
#   and answer together have at most `max_length` tokens. If the prompt is too long, `limit` is below
#   1; section 5 refuses such a request.
#
# `add_token` can make a request "done", and sets no other state. The loops of section 5 may set the
# two states between. Each makes a `Request` of its own. It must be hashable, as each plain class is
# (a `@dataclass` needs `eq=False`):
# `Request({"id": 7, "input_length": 30, "output_length": 6}, max_length=64)`.

# %% exercise="labkit.batching:Request" points=1 minutes=15 level=1

# %% [markdown]
# ## 3. Does it fit?
#
# When a request joins the batch, nobody knows how long its answer will be. So these loops reserve
# the largest size that it can reach, as engines did in 2022. (Section 8 reserves less.) A server's
# `free_tokens()` is what is neither reserved nor used: do not subtract it again.

# %% exercise="labkit.batching:does_fit" points=0.25 minutes=5 level=1

# %% [markdown]
# ## 4. The queue
#
# A request that does not fit waits. `constrained_get` takes the oldest request that meets a
# condition **out of the queue** and returns it, or `None` if there is none. All others keep their
# places. `n_most` says how many requests it looks at, from the front: our loops look at 256
# (`LOOK_AHEAD`), so a step stays fast even if thousands wait. You may add methods.

# %% exercise="labkit.batching:RequestQueue" points=0.75 minutes=15 level=2

# %% [markdown]
# ## 5. Two servers, two loops
#
# Prefill is limited by computing, decode by reading weights and KV caches. On one card each makes
# the other slower. So each gets a server, as in the paper DistServe, and a store lies between them:
#
# ```
#  requests ──> PREFILL SERVER ──save──> store ──load──> DECODE SERVER ──> answers
#                PrefillLoop              KV                DecodeLoop
# ```
#
# You write `step(server)`. It does what can be done now, and returns; a driver calls it again and
# again. `server` has numbers (`capacity`, `max_batch` and others, see the cells) and functions:
#
# | loop | function | what it does |
# |---|---|---|
# | both | `arrivals()` | returns the requests that came since its last call, oldest first |
# | | `free_tokens()` | returns the free memory of this server, in tokens |
# | | `free_kv(id)` | frees a request's memory on this server |
# | | `finish(id)` | tells the client that it has all its tokens |
# | prefill | `run_prefill(ids)` | computes prompts, takes memory, returns their first new tokens |
# | | `save_kv(id)` | sends a copy of a KV cache to the store, and takes memory there at once |
# | | `storage_room()` | returns the free memory of the store, or `None` if it has no limit |
# | | `refuse(id, reason)` | tells the client that it will not be served |
# | decode | `load_kv(id, reserve)` | fetches a KV cache, reserves memory for `reserve` tokens |
# | | `free_stored(id)` | frees a request's memory in the store |
# | | `decode_step(ids)` | makes one more token for each, and returns a list of them |
#
# A returned list has the order of `ids`. A prompt takes as much memory as it has tokens, until
# `free_kv(id)`.
#
# The functions do not stop you from making mistakes, but each call is written to a log, which the
# checks read. A request that arrives while `step` runs is in the next `arrivals()`.
#
# ### The prefill loop
#
# A batch of prompts is one pass of the model. Its prompts are *packed*: they stand one after the
# other in one row, and each token attends to its own prompt only. So the size of a pass is the sum
# of its prompts, and the server has a *budget* for it. The check lists the rules of each stage, and
# which of them hold.
#
# **Stage 1: one request at a time.** In each call, take the arrivals. Then compute the oldest
# request, or the oldest that fits here and in the store, and give its memory back.
#
# * **Refusing**: refuse a request, with a reason, if it could not be served even on empty servers,
#   and only then. The prompt must fit into `server.capacity` and `server.storage`. Prompt and the
#   longest allowed answer (`size`) together must fit into `server.decode_capacity`. All three hold
#   even if the limit is 1. There must be room for at least one new token, and the client must want
#   at least one.
# * **After the prefill**: if the first token is the last, finish the request here. Save every
#   other request. Then free the memory of each request once. Do all this before the next batch is
#   computed, so that the decode server can already begin.
# * **No idling**: a call must do something if the request that has waited longest fits. Never wait
#   for later arrivals. (If it does not fit, you may wait, or let others pass it.)
#
# **Stage 2: batches.** Now take several requests at once.
#
# * **Budget**: a batch has at most `server.max_batch` requests, whose prompts together have at most
#   `server.budget` tokens. A prompt that is longer than the budget is computed alone.
# * **Memory**: the prompts of a batch together must fit into the free memory of the server, and
#   of the store. If the store is full, the prefill waits for the decode server: *back-pressure*.
# * **Full batches**: a batch leaves out a waiting request only if it is full. It is full when it has
#   `max_batch` requests, or when the oldest of the others does not fit beside them (budget, memory,
#   store). Then you may stop, or look for another one that still fits, among the first
#   `LOOK_AHEAD` = 256.
# * **Fairness**: requests of equal length go in the order of arrival. If a request fits and has
#   waited longer than all others that fit, it may be left out of three batches, not more.
#
# **Stage 3 has many requests**, and enough memory for all.
#
# * **Few batches**: make at most 1.5 times as many as a simple loop, which takes requests in order
#   until the next one does not fit.
#
# While a loop breaks one of these rules, it earns at most half of the points.

# %% given="look_ahead"
from dataclasses import replace

from labkit.batching import LOOK_AHEAD

# %% exercise="labkit.batching:PrefillLoop" points=2.5 minutes=60 level=3

# %% [markdown]
# ### The decode loop
#
# Here batching becomes continuous. Between any two steps
#
# * a request that is **done** has left: it is finished, and its memory is free for the very next
#   step;
# * a request that **fits** has joined. Take the request that has waited longest of all. If there are
#   a free slot (`server.max_batch` in all) and memory for it, it joins before the next step;
# * no request **starves**. While the oldest does not fit, newer ones may pass it. But if a request
#   fits, newer ones may join before it at three steps at most.
#
# When a request joins, load its KV cache. Reserve memory for the largest size that it can reach:
# this includes the prompt. Free its memory in the store. Its dict has one more key, `"token"`: the
# first new token, which the prefill has made. Add it to your `Request`. Then one `decode_step`
# makes one token for every request in the batch. Finish those that are done, free their memory, and
# return: only one step in a call, so that others can join the next one.
#
# If many requests wait, your loop may take at most 1.35 times the smallest possible number of
# steps. A loop earns at most half of the points if it
#
# * takes more, although there is memory for all, or breaks a limit of the server;
# * lets a free slot wait, or does nothing though there is work;
# * makes several steps in one call, or lets a request starve.

# %% exercise="labkit.batching:DecodeLoop" points=2.5 minutes=50 level=3

# %% [markdown]
# ## 6. A run
#
# `lab.serve` runs both loops. Each server has a clock; each prefill or step moves it on by the
# duration of the work. The server whose clock shows less is next. (A first draft of this lab had two
# functions for its end. `has_prefill_requests` was true if all requests were in "decode" or "done",
# `has_decode_requests` if all were "done". Both are the opposite of what was meant.)
#
# Here are eight requests on small servers. A prefill takes 2 s, a step 1 s, and a transfer half a
# second. Where does request 3 wait, and for which request? Why does request 5 never appear on the
# decode server?

# %% experiment="first_run"
few_jobs = [
    lab.Job(0, n_input=30, max_new=6),
    lab.Job(1, n_input=28, max_new=3),
    lab.Job(2, n_input=31, max_new=9),
    lab.Job(3, n_input=60, max_new=2),
    lab.Job(4, n_input=12, max_new=5, arrival_s=2),
    lab.Job(5, n_input=14, max_new=1, arrival_s=3),
    lab.Job(6, n_input=900, max_new=7, arrival_s=3),
    lab.Job(7, n_input=20, max_new=8, arrival_s=4),
]
small = lab.Setup(
    prefill_batch=3, prefill_capacity=200, prefill_budget=64,
    decode_batch=3, decode_capacity=120,
)  # fmt: skip
by_hand = lab.FixedCosts(prefill=2, decode=1, transfer=0.5)
first_run = lab.serve(few_jobs, small, PrefillLoop(), DecodeLoop(), costs=by_hand)
lab.timeline.draw(first_run, "Eight requests on small servers")

# %% [markdown]
# ### In any order
#
# In real use both loops run at the same time, and their steps come in any order. So `lab.serve` can
# also let one loop run as far as it can, or choose a loop at random at each turn. `lab.faults`
# finds broken rules in a log, each by its name.

# %% experiment="orders"
rng = random.Random(0)
crowd = [
    lab.Job(i, rng.choice([20, 22, 60]), rng.randint(1, 12)) for i in range(40)
]
tight = lab.Setup(
    prefill_batch=4,
    prefill_capacity=200,
    decode_batch=6,
    decode_capacity=200,
    storage=180,
)
for order in lab.ORDERS:
    seeds = range(100 if order == "random" else 1)
    runs = [
        lab.serve(crowd, tight, PrefillLoop(), DecodeLoop(), order=order, seed=i)
        for i in seeds
    ]
    broken = {name for run in runs for name in lab.faults(run)}
    rules = ", ".join(broken) or "none"
    print(f"{order:<15}{len(runs):>4} runs; rules broken: {rules}")

# %% [markdown]
# ### At scale
#
# Here are 24 requests on two H200; 40 arrive per second. Prompts have 200 to 1,800 tokens.
# Answers have about 70 tokens and end when the model ends them. There are 8 slots.

# %% experiment="h200_timeline"
rng = random.Random(0)
answers = lab.exponential_lengths(200, 60, rng)
jobs = lab.poisson(
    24, 40, rng, n_input=range(200, 1800), n_output=answers, known=False
)
two_cards = lab.Setup(
    prefill_capacity=16_384,
    decode_capacity=24_000,
    decode_batch=8,
    max_length=2048,
)
h200_run = lab.serve(jobs, two_cards, PrefillLoop(), DecodeLoop(), costs=costs)
lab.timeline.draw(h200_run, "Llama-3.1-8B on two H200, 40 requests per second")

# %% [markdown]
# No client said how many tokens it wants, so each request reserves 2,048 tokens. Pale orange is
# reserved, and strong orange is really used.
#
# ## 7. The same loops on a real model
#
# `lab.serve_real` runs your loops on a small real model of this course, `tiny-target`. KV caches
# are written to pages (lab 4), saved, loaded and freed. Each request must get exactly the tokens
# that it gets alone, in any batch. Both servers take turns on one processor here; section 10 has
# runs of the course's loops on two GPUs.

# %% experiment="real_model"
texts = [prompt.text for prompt in kit.prompts()[::3]]
wanted = [16, 6, 24, 10, 14, 8, 12]
real_setup = lab.Setup(
    prefill_batch=4,
    prefill_capacity=1024,
    decode_batch=4,
    decode_capacity=1024,
)
real_run, tokens = lab.serve_real(
    texts, real_setup, PrefillLoop(), DecodeLoop(), max_new=wanted
)
alone = [lab.generate_alone(text, n) for text, n in zip(texts, wanted, strict=True)]
n_same = sum(tokens[i] == each for i, each in enumerate(alone))
print(f"{n_same} of {len(texts)} requests have the tokens that they get alone")
print(f"rules broken: {', '.join(lab.faults(real_run)) or 'none'}")
lab.timeline.draw(
    real_run, "The tiny target, in one process: the servers take turns"
)

# %% [markdown]
# ## 8. The scheduler of today
#
# Most engines do not separate the two kinds of work. In vLLM one card does both, in the same pass,
# unless you ask for something else. (SGLang also cuts prompts, but by default it
# computes all pieces of one before the next decode step.)
# A pass has a *budget* of tokens. Each running request takes one token of it, and pieces of prompts
# take the rest (*chunked prefill*). So a long prompt stops nobody for long, and one reading of the
# weights serves both kinds of work.
#
# A request's *known* tokens are its prompt and what was made so far. *Cached* ones have keys and
# values on the card. The others are *due*: at first the whole prompt, later only the newest token.
# A scheduler chooses how many due tokens of which request the next pass computes.
#
# The KV cache lies in blocks (lab 4), numbered from 0 to `card.n_blocks - 1`. You write
# `step(card)`; a call runs at most one pass. The card has the numbers `budget`, `max_batch`,
# `n_blocks`, `block_size`, `max_length`, `eos`, and these functions:
#
# | function | what it does |
# |---|---|
# | `arrivals()` | returns the requests that came since its last call, oldest first; each dict also has `"hashes"`, one for each full block of its prompt (lab 3). A hash stands for its block and all blocks before it |
# | `run_pass(pieces)` | computes one pass; returns for each piece the next token if the piece ends with the last known token of its request, and `None` otherwise |
# | `preempt(id)` | stops a running request, which uses no block any more |
# | `finish(id)`, `refuse(id, reason)` | tell the client; a finished request uses no block any more |
#
# A piece is `(id, start, n, blocks)`: compute n tokens of this request from position `start` on.
# `blocks` are all its blocks so far: `blocks[k]` holds the positions from k × `block_size` on. The
# positions before `start` must be there already, from earlier passes. The card keeps no list of
# free blocks: you do, and any free block may be next. A request *runs* from its first piece until
# it is finished or preempted. The order of the pieces in the list does not matter. You may add
# attributes to a `Request`.
#
# **Stage 1 has whole prompts.** A request that begins takes blocks for its `size`, and a prompt is
# computed in one piece. In the tests of this stage each prompt fits into the budget.
#
# * **Refusing**: refuse a request if its `size` is larger than all blocks together, or if it may
#   have no token. Refuse no other.
# * **Running first**: a running request with one due token is in each pass, as far as the budget
#   reaches. Prompts get what is left.
# * **Limits**: a pass has at most `budget` tokens. At most `max_batch` requests run.
# * **Order**: requests begin in the order of their arrival; a later one never begins first.
# * **Joining**: the oldest begins in the next pass if there are a slot, blocks and enough budget.
#   (Stages 2 and 3 replace "blocks" and "enough budget". One scheduler passes all stages: where a
#   later rule differs, follow the later one.)
# * **Ends**: a request that has its last token is finished before the next pass.
# * **No idling**: a call runs a pass if a request runs, or if the oldest can begin.
#
# **Stage 2 has pieces.** A prompt that is longer than the rest of the budget is cut. Its next piece
# begins where the last one ended.
#
# * **Filled passes**: a pass has fewer tokens than the budget only if nothing more could be in it.
#   All due tokens of running requests are in it then, and the next request finds no slot or not
#   enough blocks for its prompt.
#
# **In stage 3 blocks are taken as answers grow.** Now a request takes blocks for the piece that
# comes next. It may take the blocks of its whole prompt at once, and one block more, but not those
# of its answer.
#
# * **Preemption**: preempt only if there are too few free blocks for the next piece of a running
#   request. Preempt the newest running request, the one that began last; it may be the same one.
#   It uses no block any more and keeps its tokens. It waits again, before all that came after it.
#   When it begins again, its prompt and its tokens are computed again. In a call that preempts, no
#   request has to begin.
#
# **In stage 4 requests begin alike.** After a pass, every full block of a prompt can be found by
# its hash. A block without a user keeps what it holds until you take it for something else.
#
# * **Prefix hits**: a request that begins uses the blocks of its first hashes, as long as each is
#   found, also after a preemption. At least one known token is left to compute, because only a
#   computed token gives the next one.
# * **Sharing**: a block may have several users, and it is free when the last one has left. Share a
#   block only when an earlier pass has filled it. Nobody writes into a block that has another user.
#
# A scheduler earns at most half of the points if it breaks a rule of stage 1 or preempts the wrong
# request. The same holds if it uses positions that nobody has computed, or writes into a shared
# block. Passes that are not filled, blocks that are reserved, and prefixes that are computed again
# each cost a part.

# %% exercise="labkit.batching:Scheduler" points=5 minutes=120 level=3

# %% experiment="scheduler_alone"
one_card = lab.Setup(
    decode_capacity=96, decode_batch=3, budget=16, block_size=8, max_length=64
)
three = [
    lab.Job(0, n_input=20, max_new=9),
    lab.Job(1, n_input=40, max_new=4),
    lab.Job(2, n_input=6, max_new=12, arrival_s=2),
]
on_card = lab.serve_on_card(three, one_card, Scheduler())
for event in on_card.events("pass"):
    pieces = ", ".join(f"{n} of request {i}" for i, _, n, _ in event.pieces)
    print(f"{event.begin_s:4.0f} s: {pieces}")
print(on_card.stopped or "The run came to its end.")

# %% [markdown]
# ## 9. Moving the cache
#
# Each KV cache crosses a link between the two servers. One token of Llama-3.1-8B takes 131,072
# bytes, so a prompt of 2,000 tokens takes 262 MB. How long does the transfer take?

# %% experiment="links"
shape = kit.ModelShape.of("meta-llama/Llama-3.1-8B")
n_bytes = 2000 * kit.kv_bytes_per_token(shape)
prefill_s = costs.prefill_s([2000])
links = {"between two GPUs, measured": costs.transfer_s(2000)}
for gbit in (400, 100, 10):
    links[f"{gbit} Gbit/s"] = 8 * n_bytes / (gbit * 1e9)
rows = [
    [link, f"{1e3 * seconds:.1f}", f"{seconds / prefill_s:.0%}"]
    for link, seconds in links.items()
]
kit.Table(["link", "ms", "of computing it"], rows, "KV cache of 2,000 tokens")

# %% [markdown]
# A link of 100 Gbit/s keeps up with one prefill card, and delays the second token.
# One of 10 Gbit/s needs 4 times as long as the computation, so it would be faster to compute the
# prompt again. Here the prefill server sends the *first* token, as in DistServe, and the cache
# follows as a whole. Engines can also send it layer by layer.
#
# ## 10. What users see
#
# A user notices two durations. **TTFT**, the time to the first token, counts from the arrival.
# **TPOT**, the time per output token, is the mean time between two tokens of an answer, waiting
# included. An operator promises limits for both. **Goodput** is the number of requests per second
# that kept both. (Below, the run has more steps than the smallest possible number: requests arrive
# one by one, so slots stay empty.)

# %% experiment="summary"
lab.summarize(h200_run, limits_s=(0.2, 0.01)).table

# %% [markdown]
# ### Why are prompts packed?
#
# Before, the prompts of a batch were a rectangle: each was padded to the longest one. Here are 400
# prompts of 16 to 256 tokens, in batches of at most 16 whose lengths differ by at most `tolerance`.

# %% experiment="padded_or_packed"
rng = random.Random(1)
burst = [rng.randint(16, 256) for _ in range(400)]
rows = []
for tolerance in (0, 4, 16, 64, 240):
    batches = lab.alike(burst, tolerance, 16)
    padded_s = sum(costs.prefill_s([max(each)] * len(each)) for each in batches)
    packed_s = sum(costs.prefill_s(each) for each in batches)
    waste = f"{lab.padding_waste(batches):.1%}"
    times = f"{1e3 * padded_s:.0f} ms", f"{1e3 * packed_s:.0f} ms"
    rows.append([tolerance, len(batches), waste, *times])
kit.Table(["tolerance", "batches", "padding", "padded", "packed"], rows)

# %% [markdown]
# With padding, a good tolerance takes 1,367 ms. If any prompt may join any other, it
# is 2,230 ms. Packed, the same batches take 1,283 ms, and nobody has to look for similar prompts.
# So today's engines pack.
#
# ### Bonus: length buckets
#
# Write a queue with one bucket for each range of lengths. A batch comes from the bucket that holds
# the oldest request, so no length starves. Show with numbers when it helps. A person marks it.
#
# ### Can we trust the clock?
#
# A first test has a formula. A prefill server computes one prompt at a time, all of the same length,
# with independent arrivals. The mean TTFT of this queue (it is called M/D/1) is
# D + R·D² / (2(1 − R·D)), for R requests per second of D seconds each.

# %% experiment="known_queue"
each_s = costs.prefill_s([2000])
one_by_one, rows = lab.Setup(prefill_batch=1, max_length=4096), []
for load in (0.2, 0.5, 0.8, 0.9):
    rate = load / each_s
    jobs = lab.poisson(6000, rate, random.Random(1), n_input=[2000], n_output=[1])
    run = lab.serve(jobs, one_by_one, PrefillLoop(), DecodeLoop(), costs=costs)
    measured, known = (
        lab.summarize(run).ttft_s.mean,
        lab.mean_ttft_md1(rate, each_s),
    )
    rows.append([f"{load:.0%}", f"{1e3 * measured:.1f}", f"{1e3 * known:.1f}"])
kit.Table(["busy", "simulated, ms", "by the formula, ms"], rows, "mean TTFT")

# %% [markdown]
# The simulator agrees with the formula within 2 %.
#
# The second test is real cards. On two H200 the course's loops and scheduler served requests.
# Prompts had 3,000 to 5,000 tokens, and answers 200 on average. There are four ways:
#
# * **separate**: one card does all prefill, the other all decode;
# * **together**: each card serves half of the requests, and its two loops take turns;
# * **chunked 512**: each card serves half of them with the scheduler and a budget of 512 tokens;
# * **chunked 8192** does the same with a budget of 8,192.
#
# We give the load as ρ: the part of the time in which one card that computes all prompts is busy.
# The simulator runs *your* code with the same requests. A *pause* is the time between two tokens of
# an answer (inter-token latency); p99 is what 99 % do not exceed. Before you run the cell: which way
# has the longest pauses, and in which is the simulator least right?

# %% experiment="on_two_gpus"
yours = PrefillLoop, DecodeLoop, Scheduler
lab.on_two_gpus(*yours, rho=0.7, seed=1, earlier=1)

# %% [markdown]
# Floors are wrong by a factor of more than 9. With measured costs, tokens per second
# are right within 4 %, and the numbers of "together" and "chunked 8192" within 10 %. Two ways are
# less right:
#
# * "chunked 512" is slower than simulated. A piece attends to the pieces before it, and the
#   simulator takes this for as cheap as attention within a piece. With `earlier=2` it costs double:
#   look again. (We chose 2 by another run, with seed 0.)
# * For "separate" the simulated TTFT is up to 31 % too short, and so are rare pauses. By the
#   record, a step of 64 requests of 2,048 tokens takes 9.2 ms, and 10.4 ms while a KV cache arrives.
#   Also, both loops ran in one Python process. In a queue a small error grows.
#
# ### Which way is best?
#
# How many requests get their first token within half a second, and then a token every 10 ms on
# average? Every 20 ms? Predict first: which way is best at ρ = 0.5, and at 0.9? (The runs above had
# 7.9 requests per second, because their cards computed prompts faster at first. By the record this
# is ρ = 0.79. Below, 0.7 is 7.0 requests per second. A line is the median of five seeds, and its
# band reaches from the worst to the best.)


# %% experiment="ways"
recorded = lab.MeasuredCosts.recorded(earlier=2)
LONG = lab.Setup(
    prefill_capacity=20_000, decode_capacity=320_000, prefill_batch=4,
    decode_batch=64, max_length=10_240, prefill_budget=4096,
)  # fmt: skip
PROMPT_S = recorded.prefill_s([4000])


def long_prompts(rate, seed):
    """Requests with long prompts for 30 s, `rate` of them per second."""
    answers = lab.exponential_lengths(1000, 200, rng := random.Random(seed))
    lengths = {"n_input": range(3000, 5001), "n_output": answers}
    return lab.poisson(round(30 * rate), rate, rng, **lengths, known=False)


def run_of(way, rho, seed):
    """The run of two cards; where they share the requests, of one of them."""
    separate = way == "separate"
    jobs = long_prompts(rho / PROMPT_S / (1 if separate else 2), seed)
    if way.startswith("chunked"):
        setup = replace(LONG, budget=int(way.split()[-1]))
        return lab.serve_on_card(jobs, setup, Scheduler(), costs=recorded)
    loops = PrefillLoop(), DecodeLoop()
    return lab.serve(jobs, LONG, *loops, costs=recorded, shared=not separate)


def in_time(run, tpot_s=0.01):
    result = lab.summarize(run, (0.5, tpot_s))
    return result.goodput / result.requests_per_s


WAYS = ["separate", "together", "chunked 512", "chunked 8192"]
RHOS = (0.3, 0.5, 0.7, 0.9)
runs = {
    (way, rho): [run_of(way, rho, seed) for seed in range(5)]
    for way in WAYS
    for rho in RHOS
}
by_limit = {
    limit: {
        way: {rho: [in_time(run, limit) for run in runs[way, rho]] for rho in RHOS}
        for way in WAYS
    }
    for limit in (0.01, 0.02)
}
lab.draw_loads(by_limit)

# %% [markdown]
# These are the numbers of the course's loops; yours may differ a little. With 10 ms,
# the simulator finds separate cards best at each load, because a step there never waits for a
# prompt. The two H200 agree at ρ = 0.5 and 0.9: there 99 and 52 % of the requests were in time, and
# with "chunked 512" 89 and 42 %. At 0.7 they do not: 63 and 70 % (means of three seeds; one had a
# burst). With 20 ms, "chunked 512" keeps 90 % or more in time at each load, in the median run. So
# separation does not make the cards faster. It keeps two kinds of work from disturbing each other,
# and pays if the limit is tight. At ρ = 0.9 one run says little: of five with separate cards, the
# best has 95 % in time, the worst 30 %.
#
# ### How large a budget?
#
# A small budget makes short passes. It also reads the weights more often for the same prompts. A
# vLLM server takes 8,192 tokens on an H100 or H200, and 2,048 on most other cards.

# %% experiment="budgets"
budgets = {
    budget: [run_of(f"chunked {budget}", 0.7, seed) for seed in range(3)]
    for budget in (256, 512, 1024, 2048, 4096, 8192)
}
lab.draw_budgets(budgets)

# %% [markdown]
# Each doubling of the budget makes the longest pause 1.7 to 1.9 times as long. From 256 to 8,192
# tokens, the first token comes after 115 instead of 221 ms.
#
# ### Real traffic
#
# Poisson arrivals are independent. Real ones often come in bursts. `lab.code_like` and
# `lab.chat_like` make requests like those of two public traces, code completion and chats;
# `lab.read_trace` reads such traces. Here are the same requests twice, on separate cards: at their
# own times, and at independent times of the same mean rate.


# %% experiment="real_traffic"
def times_of(make, seconds, rho, seed):
    """Requests in time: at their own times, and at independent ones."""
    rng = random.Random(seed)
    jobs = make(seconds, rng)
    jobs = lab.at_load(jobs, rho, lambda job: recorded.prefill_s([job.n_input]))
    loops = PrefillLoop(), DecodeLoop()
    return [
        in_time(lab.serve(each, LONG, *loops, costs=recorded))
        for each in (jobs, lab.evenly(jobs, rng))
    ]


rows = []
for name, make, seconds in (
    ("code", lab.code_like, 400),
    ("chat", lab.chat_like, 60),
):
    for rho in (0.1, 0.2, 0.4):
        found = [times_of(make, seconds, rho, seed) for seed in range(3)]
        both = zip(*found, strict=True)
        spread = [f"{min(each):.0%} to {max(each):.0%}" for each in both]
        rows.append([name, rho, *spread])
kit.Table(["requests", "ρ", "own times", "independent"], rows, "requests in time")

# %% [markdown]
# Code completion misses its limits at loads where Poisson arrivals promise
# everything: during a burst the card is overloaded. Chats do not show it at these loads. So a
# benchmark with Poisson arrivals can mislead.
#
# ### Question: how many cards of each kind?
#
# Separate cards pay only if both kinds have work. By the record, a prompt of 4,000 tokens takes 100
# ms (take this number). A step of 64 such requests takes 13.3 ms. An answer has 200 tokens: the
# prefill makes the first one, and each step makes one more for each of 64 requests.
#
# Compute by hand: how many requests per second can a prefill card serve, and how many can a decode
# card? How many prefill cards does one decode card need, as a ratio? And with one prefill card, at
# how many requests per second is the mean TTFT twice the duration of a prefill? (Use the formula
# for M/D/1.) Write numbers with two decimals, or Python expressions. (So one card of each kind, as
# above, is not what one would deploy: the decode card has slots to spare.)

# %% answer="card_ratio" points=0.5
card_ratio = {
    "requests/s of a prefill card": 10.0,
    "requests/s of a decode card": 24.18,
    "prefill cards for a decode card": 2.42,
    "requests/s for twice the TTFT": 6.67,
}

# %% [markdown]
# ### Written answer: when is one enough?
#
# So far, large batches were always better. Describe a setting in which a batch size of one is
# right, or even necessary. Name the property of the setting that makes it so, and say why
# batching would not help. Two or three sentences are enough.

# %% [markdown] written="batch_of_one" points=0.25
# *One user on a device of their own.* An example is a phone that completes sentences. There is
# never more than one request, and the weights are on the device because the text must not leave
# it, or because there is no network. There is no second request to share the step with. To wait
# for one would only add latency, and a second KV cache would need memory that the device does not
# have. (On an H200 one request gets a token every 5.12 ms, and 64 get one every 6.49 ms. If that
# quarter matters, as for a robot, one request is served alone although this wastes the card.)
#
# *Runs that must be comparable.* For instance, a latency benchmark, or an experiment that must
# give the same tokens again. In a batch, the sums of a matrix product are added in another order
# than alone. So logits differ in their last bits, and an argmax may change. With a batch of one,
# the result does not depend on other requests. The load is known, no request waits, and
# throughput does not matter.
#
# Three more settings are right. Memory may hold one sequence only. Arrivals may be so rare that
# two requests hardly ever meet. Or each request may depend on the answer before, as in an agent's
# loop.
#
# *Marking:*
#
# * *It names a property, such as one request at a time, a hard limit on latency, memory for one
#   sequence, or results that must not depend on other requests (0.15).*
# * *It says why batching would not help, or would harm (0.1).*
#
# *One such setting is enough. An answer like "small model" gives no reason (0).*

# %% [markdown]
# ## 11. Three ways to make batches
#
# * **Static**: a batch starts when it is full, and ends when all of its requests are done.
# * **Dynamic**: the same, but it also starts when its first request has waited for a set time.
# * **Continuous**: requests join and leave between any two steps.
#
# `lab.StaticDecodeLoop` also starts a batch that is not full, because it cannot know whether more
# requests will come.
#
# ### Question: how large is the gain?
#
# Take a server with B slots and enough memory. Many requests are there at once. Count steps.
# Continuous batching keeps every slot busy, except at the very end. A static batch takes as many
# steps as its longest request. So the ratio of the steps is (the mean of the longest of B
# answers) / (the mean answer).
#
# If all answers are equally long, this is easy. Now let lengths be *exponential*: an answer ends
# at its next token with the same probability, however long it already is. Take B answers of mean
# length m. The first of them ends after m/B steps on average, because each of the B may end. The
# answers that are left behave as if they had just begun.
#
# What are the three ratios? Compute them by hand. Write numbers with two decimals, or Python
# expressions.

# %% answer="predicted_ratio" points=0.5
predicted_ratio = {  # steps with static batches over steps with continuous batching
    "equal lengths, 8 slots": 1.0,
    "exponential lengths, 8 slots": 2.72,
    "exponential lengths, 32 slots": 4.06,
}

# %% [markdown]
# Does your way to compute agree with the simulator for 4 and 16 slots? Its ratios are
# a few percent lower, because the last answers leave slots empty.

# %% experiment="simulated_ratio"
rows = []
for n_slots, kind in ((4, "equal"), (4, "exponential"), (16, "exponential")):
    n, rng = 200 * n_slots, random.Random(3)
    lengths = [30] * n if kind == "equal" else lab.exponential_lengths(n, 30, rng)
    jobs = [lab.Job(i, 8, max_new=1 + length) for i, length in enumerate(lengths)]
    roomy = lab.Setup(prefill_batch=64, decode_batch=n_slots, decode_capacity=10**6)
    n_steps = [
        sum(1 for _ in lab.serve(jobs, roomy, PrefillLoop(), loop).events("decode"))
        for loop in (lab.StaticDecodeLoop(DecodeLoop()), DecodeLoop())
    ]
    rows.append([kind, n_slots, *n_steps, f"{n_steps[0] / n_steps[1]:.2f}"])
kit.Table(["lengths", "slots", "steps, static", "steps, continuous", "ratio"], rows)

# %% experiment="beside"
jobs = [
    lab.Job(i, 16, n)
    for i, n in enumerate(lab.exponential_lengths(24, 12, random.Random(4)))
]
setup = lab.Setup(prefill_batch=24, decode_batch=8)
loops = {
    "static batches of 8": lab.StaticDecodeLoop(DecodeLoop()),
    "continuous, 8 slots": DecodeLoop(),
}
beside = {
    name: lab.serve(
        jobs, setup, PrefillLoop(), loop, costs=lab.FixedCosts(prefill=3)
    )
    for name, loop in loops.items()
}
lab.timeline.draw_beside(beside)

# %% [markdown]
# ### Question: which part of the engine is it?
#
# Name what causes each effect, with a word of the list in the cell below; two stay unused. The
# [glossary](../docs/glossary.md) explains most of them.
#
# * **A.** Eight requests start together. Seven have their last token after 20 steps. No other
#   request takes their slots until the eighth ends, after 400 steps. At night, a single request gets
#   no token until seven others have arrived.
# * **B.** At night, a single request starts 50 ms after its arrival. Another arrives 10 ms after
#   that start and waits for the whole answer of the first.
# * **C.** A request arrives while others are at their 150th token. In the next step it gets its
#   second token, together with their 151st.
# * **D.** Before, each request reserved KV memory for 2,048 tokens. Now it takes memory for 16
#   tokens at a time.
# * **E.** All 500 requests begin with the same instructions, whose KV cache is computed once.
# * **F.** Before, a prompt of 32,000 tokens stopped the output of all other requests for a second.
#   Now every step computes a part of it, together with the next token of the others.
# * **G.** A decode step took 8 ms, and the GPU was busy for 5 ms of it. Now the CPU starts the
#   whole step with one call, and it takes 5 ms. The results are equal bit for bit.
# * **H.** At batch 1 each pass of the model gives two tokens on average. The probabilities of the
#   texts stay the same.

# %% answer="engine_parts" points=0.25
engine_parts = {
    # "static batches", "dynamic batches", "continuous batching", "chunked prefill",
    # "CUDA graph", "paged cache", "prefix cache", "quantization",
    # "speculative decoding" or "tensor parallelism"
    "A": "static batches",
    "B": "dynamic batches",
    "C": "continuous batching",
    "D": "paged cache",
    "E": "prefix cache",
    "F": "chunked prefill",
    "G": "CUDA graph",
    "H": "speculative decoding",
}

# %% [markdown]
# ### Written answer: little, or much?
#
# Describe one setting in which continuous batching gains little over static batches, and one in
# which it gains much. For each, say what decides it, and support it with a number from any cell.

# %% [markdown] written="gain" points=0.25
# *Little*: all answers are equally long, for instance labels, a choice between A and D, or a
# benchmark with a fixed number of tokens. Then no slot becomes empty early: the ratio for equal
# lengths is 1.0. The same holds if requests can be sorted by their answer's length beforehand,
# or if there are so few requests that slots are empty anyway.
#
# *Much*: many requests wait, and their lengths spread widely, as in chat or reasoning, where one
# answer is a word and the next has a thousand tokens. For exponential lengths the ratio is 2.7
# with 8 slots and 4.1 with 32. It grows with the number of slots, because one of 32 answers is
# more likely to be very long than one of 8.
#
# *Marking:*
#
# * *The answer gives a setting with little gain, because lengths are equal or known beforehand,
#   or because slots are empty (0.1).*
# * *It gives a setting with much gain, because lengths differ widely and many requests wait
#   (0.15).*
# * *A setting without a number from the cells earns less (0.05 instead of 0.15).*

# %% [markdown]
# ### Written answer: your first change
#
# You run these two loops for a service with real users. Name something that your loops assume and
# that does not hold there. What would you change first, and which number should improve?

# %% [markdown] written="design" points=0.25
# The loops assume that an answer may become as long as `limit` allows. In section 6, about half of
# the reserved memory was never used. With blocks that are taken as an
# answer grows, and with preempting the newest request when they run out, as in section 8, more
# requests fit. Tokens per second would rise as long as memory, and not the slots, is the limit.
#
# Other changes are good as well. Small requests may pass a large one only so many times, which
# improves its TTFT. Requests that begin alike share the KV cache of their beginning, which improves
# the TTFT of the second one. Chunked prefill on one card shortens the longest pause.
#
# *Marking:*
#
# * *The change, one of:*
#   * *It names an assumption, a change, and the number that it improves (0.25).*
#   * *It names an assumption and a change without a number (0.15).*

# %% [markdown]
# ## 12. Play with it
#
# The player runs your loops. Does it help to double the slots alone, or the memory alone?

# %% experiment="player"
lab.batching_player(PrefillLoop, DecodeLoop)

# %% [markdown]
# ## 13. The result
#
# These are the requests of the opening. Prompts have 64 to 512 tokens.

# %% experiment="result"
rng = random.Random(5)
answers = lab.exponential_lengths(500, 200, rng)
jobs = [
    lab.Job(i, rng.randint(64, 512), stops_after=n) for i, n in enumerate(answers)
]
ways = {
    "one after the other": (1, DecodeLoop()),
    "static batches of 32": (32, lab.StaticDecodeLoop(DecodeLoop())),
    "continuous, 32 slots": (32, DecodeLoop()),
    "continuous, 128 slots": (128, DecodeLoop()),
}
rows = []
for way, (n_slots, loop) in ways.items():
    setup = lab.Setup(
        prefill_capacity=16_384, decode_capacity=800_000, decode_batch=n_slots,
        max_length=4096,
    )  # fmt: skip
    result = lab.summarize(
        lab.serve(jobs, setup, PrefillLoop(), loop, costs=costs),
    )
    rates = f"{result.seconds:.1f}", f"{result.tokens_per_s:,.0f}"
    rows.append([way, *rates, result.n_steps, f"{result.occupancy:.0%}"])
kit.Table(["policy", "seconds", "tokens/s", "steps", "slots taken"], rows)

# %% [markdown]
# The first gain is the batch: one reading of the weights serves 32 requests. The second is the loop
# that you wrote: 85 % of the slots were taken instead of 24 %. The third is more slots, for which
# there must be memory. Then the longest answer decides: its 1,453 tokens need 1,452 of the 1,740
# steps.
#
# Engines do more: they schedule the next pass while one runs, know priorities, and send a request to
# the card that has its prefix.
#
# ## What to read next
#
# * [Orca](https://www.usenix.org/conference/osdi22/presentation/yu) (2022): requests join and leave
#   between steps.
# * [PagedAttention](https://arxiv.org/abs/2309.06180) (2023): vLLM, with blocks instead of
#   reservations, and preemption.
# * [DistServe](https://arxiv.org/abs/2401.09670) (2024) has two servers, and the queue of section
#   10.
# * [Sarathi-Serve](https://arxiv.org/abs/2403.02310) (2024) cuts long prompts into pieces, on one
#   server.
# * [Vidur](https://arxiv.org/abs/2405.05465) (2024) is a simulator with measured durations.
