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
# 500 requests, some 200 new tokens each, an 8B model on two H200. That takes 314 s if they are
# served one after the other, and 43.7 s in batches of 32 that wait for their longest. If whoever is
# done leaves at once and the next one takes the free place, it takes 12.8 s, or 6.8 s with 128
# places. Same cards, same tokens, and no step became faster. In this lab we build what makes the
# difference:
#
# 1. the **request**, the **queue**, and the question whether something fits;
# 2. two loops for two servers: one computes prompts (**prefill**), one makes tokens (**decode**),
#    in a batch that requests join and leave between any two steps;
# 3. a virtual clock to run them on, in the order of time and against it; then the same loops on a
#    real model, with KV caches that really move;
# 4. what users and operators see of it: TTFT, TPOT, goodput, padding.
#
# At the end we say beforehand by how much continuous batching wins, and let the simulator answer.
#
# Everything runs on a CPU. Times of the H200 are floors (lab 2): what its data sheet allows at
# best. **16 points**, 2 of them for words.

# %% given="setup"
import random
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice, pairwise
from typing import Any

from labkit.batching import LOOK_AHEAD
from labkit.checks import Checker
from labkit.labs.batching import timeline
from labkit.labs.batching.driver import ORDERS, serve
from labkit.labs.batching.metrics import Formulas, mean_ttft_md1, summarize
from labkit.labs.batching.policies import POLICIES, StaticDecodeLoop
from labkit.labs.batching.real.one_process import generate_alone, serve_real
from labkit.labs.batching.real.two_processes import serve_in_two_processes
from labkit.labs.batching.replay import in_words
from labkit.labs.batching.rules import faults
from labkit.labs.batching.widget import batching_player
from labkit.labs.batching.workload import (
    FixedCosts,
    Job,
    RooflineCosts,
    Setup,
    exponential_lengths,
    poisson,
)
from labkit.measuring.machine import ready, use_one_thread
from labkit.measuring.roofline import ModelWork, Roofline
from labkit.memory import kv_bytes_per_token
from labkit.models.prompts import prompts
from labkit.models.shapes import ModelShape

use_one_thread()  # several threads wait for each other when the machine is busy
check = Checker("batching", globals())
print(ready())

# %% [markdown]
# ## 1. One step for many
#
# A decode step has to bring all weights from memory, 15 GB here, whether it makes one token or
# sixty-four. What is added for each further request is its KV cache. So how much does company cost?

# %% experiment="one_step"
costs = RooflineCosts(Roofline.of("H200-SXM"), ModelWork.of("meta-llama/Llama-3.1-8B"))
kv_bytes = kv_bytes_per_token(ModelShape.of("meta-llama/Llama-3.1-8B"))
print(f"{'requests of 512 tokens':<24}{'one step':>11}{'all together':>18}{'KV caches':>13}")
for n in (1, 4, 16, 64, 256, 1024):
    step_s = costs.decode_s(n, n * 512)
    print(f"{n:<24,}{1e3 * step_s:>8.2f} ms{n / step_s:>10,.0f} tokens/s", end="")
    print(f"{n * 512 * kv_bytes / 1e9:>10.1f} GB")

# %% [markdown]
# The 64th costs nearly nothing: 4.02 ms instead of 3.14, and 50 times the tokens per second. What
# ends it is memory, first its bandwidth and then its size. So we want full steps, always; and the
# trouble is that requests come when they like, and end when the model likes.
#
# ## 2. A request
#
# It reaches us as a dict with three keys: `"id"`; `"input_length"`, the tokens of its prompt; and
# `"output_length"`, how many new tokens its client wants at most (`None` if it did not say). On its
# way it is in one of four states:
#
# ```
# "queued"  ──>  "prefill"  ──>  "decode"  ──>  "done"
#                    └─────────────────────────────┘
#                      if its first token is its last
# ```
#
# Three things to get right:
#
# * The prefill makes the **first new token**, and it counts.
# * A request ends with the end-of-text token, which belongs to it, or with the last token that it
#   may have, whichever comes first.
# * How many it may have (its `limit`) is what the client wants, but prompt and answer together have
#   at most `max_length` tokens. Where the client said nothing, that is the only limit. The limit of
#   a prompt that is too long is zero or negative; such a request will be refused.
#
# A new request is "queued". A token can make it "done"; the two states between are set by the loops
# that you write in section 6. Each of them makes a `Request` of its own from the dict:
# `Request({"id": 7, "input_length": 30, "output_length": 6}, max_length=64)`.

# %% exercise="labkit.batching:Request" points=1.5

# %% [markdown]
# ## 3. Is there anything left to do?
#
# Two loops run side by side, so each has to know when it may stop. A first draft of this lab, as
# pseudo-code, had two functions for that:
#
# ```
# has_prefill_requests(requests):  all requests are in "decode" or "done"
# has_decode_requests(requests):   all requests are in "done"
# ```
#
# As conditions of a `while`, they answer:
#
# | states | `has_prefill_requests`, as drafted | `has_decode_requests`, as drafted |
# |---|---|---|
# | no requests at all | True | True |
# | queued | False | False |
# | prefill, done | False | False |
# | decode, done | True | False |
# | done, done | True | True |
#
# Say for each row whether there is a prompt left to compute, and whether anybody still waits for
# tokens; then look at the table again. With these, both loops would end as long as there is work,
# and run on when there is none. Write the ones that were meant.

# %% exercise="labkit.batching:has_prefill_requests" points=0.5

# %% exercise="labkit.batching:has_decode_requests" points=0.5

# %% experiment="truth_table"
print(f"{'states':<24}{'prompts to compute':>20}{'tokens to make':>16}")
for states in ([], ["queued"], ["prefill", "done"], ["decode", "done"], ["done", "done"]):
    answers = has_prefill_requests(states), has_decode_requests(states)
    print(f"{', '.join(states) or 'none':<24}{answers[0]!s:>20}{answers[1]!s:>16}")

# %% [markdown]
# ## 4. Does it fit?
#
# When a request joins the batch, nobody knows how long it will get. If room is counted for what it
# has now, a batch that fits today is too large a hundred steps later, and somebody has to be thrown
# out in mid-sentence. So we stay on the safe side: a request takes the room of all that it may
# still become, from the beginning. (Engines with paged caches take the risk instead, and *preempt*;
# that is a policy of its own.)

# %% exercise="labkit.batching:does_fit" points=0.5

# %% [markdown]
# ## 5. The queue
#
# Whoever does not fit waits, and the queue must not lose anybody. `constrained_get` gives the
# oldest request that meets a condition **and takes it out**; all others keep their places. If no
# request meets the condition, it returns `None`. The commonest way to lose a request is to take it
# out first and to ask afterwards whether it fits. `n_most` says how far it looks at most: our loops
# look at the first 256 (`LOOK_AHEAD`), so that a step stays quick however many wait.

# %% exercise="labkit.batching:RequestQueue" points=1

# %% experiment="queue_in_use"
queue = RequestQueue()
for i, length in enumerate([300, 80, 500, 90]):
    queue.add({"id": i, "input_length": length})
short = queue.constrained_get(lambda request: request["input_length"] < 100)
print(f"out: {short}\n{len(queue)} left, the oldest of them {queue.oldest()}")
print("nobody has fewer than 50:", queue.constrained_get(lambda each: each["input_length"] < 50))

# %% [markdown]
# ## 6. Two servers, two loops
#
# Prefill feeds a whole prompt at once and is bound by computing. Decode feeds one token and is
# bound by moving. On one card they are in each other's way: while a long prompt is computed, nobody
# gets a token. So we give each its own server, as DistServe does, and put a store between them:
#
# ```
#  requests ──> PREFILL SERVER ──save──> store ──load──> DECODE SERVER ──> answers
#                PrefillLoop              KV                DecodeLoop
# ```
#
# The loops share nothing but that store. You write `step(server)`, which does what can be done now
# and returns; somebody else calls it, again and again. Through `server` a loop knows what its
# server holds (`capacity`, `max_batch` and a few more numbers: the cells below list them) and gets
# things done:
#
# | | | |
# |---|---|---|
# | both | `arrivals()` | the requests that have come since it was last called, oldest first |
# | | `free_tokens()` | room left on this server |
# | | `free_kv(id)` | gives a request's room on this server back |
# | | `finish(id)` | tells the client that it has all its tokens |
# | prefill | `run_prefill(ids)` | computes prompts, takes room; returns their first tokens |
# | | `save_kv(id)` | sends a copy of a KV cache to the store, and takes its room there at once |
# | | `storage_room()` | room left in the store; `None` if that has no limit |
# | | `refuse(id, reason)` | tells the client that it will not be served |
# | decode | `load_kv(id, reserve)` | fetches a KV cache, reserves room for so many tokens in all |
# | | `free_stored(id)` | gives a request's room in the store back |
# | | `decode_step(ids)` | one more token for each; returns them |
#
# These do what they are told. A server that is full lets you take more, and memory can be freed
# twice; but every call is in a log, and the checks read the log. What comes while `step` runs is in
# the `arrivals()` of its next call.
#
# ### The prefill loop
#
# Prompts are computed as a rectangle: all are padded to the longest of the batch.
#
# ```
# request 3   ████████████░░░░░░░░   12 tokens and 8 of padding
# request 7   ████████████████████   20
# request 9   ██████████████████░░   18, and 2 of padding
# ```
#
# That takes room and time for 60 tokens, though there are 50. So whom to take together?
#
# * **Similar lengths**: longest and shortest differ by at most `server.tolerance`. Take requests
#   along that are not exactly as long: one batch for each length would be far too many.
# * **Room**: the rectangle fits into what is free on the server, and the prompts, without padding,
#   into what is free in the store. If the store is full, the prefill waits for the decode server:
#   that is *back-pressure*.
# * **No room wasted**: a batch has at most `server.max_batch` requests. Add every waiting request
#   that fits and is exactly as long as one of the batch. In a crowd that has room for all, make at
#   most 1.5 times as many batches as a simple loop, with at most twice its padding. (The simple
#   loop begins each batch with the oldest request, and adds all that are similar, oldest first.)
# * **Fairness**: equal lengths go in the order in which they came. And among the requests that
#   fit, the one that has waited longest is left out of at most three batches in all. A loop that
#   always takes the commonest length lets the rare ones starve.
# * **No idling**: a call does something if the request that has waited longest fits. (If it does
#   not, you may wait for room, or let others pass it. Passing keeps the server busy, and a large
#   prompt may wait for long behind many small ones.)
# * **Refusing**: whoever could not be served even on empty servers is refused, with a reason, and
#   nobody else is. The prompt has to fit on this server and in the store; prompt and answer have to
#   fit into `server.decode_capacity`; there has to be room for one new token at least, and the
#   client has to want one.
#
# After the prefill, whoever is done is finished here. All others are saved. Each gives its room
# back once. All that is done before the next batch is computed, so that the decode server can begin
# with them meanwhile.
#
# The cell below has methods whose names begin with `_`. They show one way to divide the work: you
# may change or delete them. Only `__init__` and `step` are called from outside. A loop that does
# not make batches of similar prompts earns at most half of the points.

# %% exercise="labkit.batching:PrefillLoop" points=3

# %% [markdown]
# ### The decode loop
#
# This is where batching becomes continuous. Between any two steps
#
# * whoever is **done** has left: finished, its room free for others in the very next step;
# * whoever **fits** has come in: as long as there is a slot (`server.max_batch`) and room, nobody
#   waits for anybody's end. No step starts without the request that has waited longest if that one
#   fits.
# * nobody **starves**. You may let in a small request before a large one. But look at the requests
#   that fit when you let one in: newer ones may join before the one that has waited longest at
#   three steps at most. A loop that always lets in the newest or the shortest first keeps some
#   waiting to the very end.
#
# Whoever comes in has its KV cache loaded, with room reserved for all that it may become, and freed
# in the store. Its dict carries one thing more, `"token"`: the first new token, which the prefill
# has made. Then one step makes one token for everybody in the batch, and the call is over: one step
# in a call, so that whoever has come meanwhile can be in the next.
#
# In a crowd, your loop may take at most 1.35 times the least possible number of steps. A loop that
# takes more even where memory is ample does not batch continuously, and earns at most half of the
# points.

# %% exercise="labkit.batching:DecodeLoop" points=3

# %% [markdown]
# ## 7. A run
#
# `serve` in `labkit.labs.batching.driver` lets both loops run. Each server has a clock; a
# step of prefill or decode moves it on by what that takes. Without its bookkeeping it is
#
# ```python
# while some request is neither finished nor refused:
#     server = the one whose clock is behind
#     server.begin_step()              # what has come by now can be taken
#     loops[server].step(server)       # yours
# ```
#
# (It reads off the log what your `has_decode_requests` reads off the states.) A loop that does
# nothing is called again when something may have changed; if nothing is coming and both do nothing,
# the run is stopped, and says so. Eight requests on small servers, where a prefill takes 2 s, a
# step 1 s and a transfer half a second:

# %% experiment="first_run"
few_jobs = [
    Job(0, n_input=30, max_new=6),
    Job(1, n_input=28, max_new=3),
    Job(2, n_input=31, max_new=9),
    Job(3, n_input=60, max_new=2),
    Job(4, n_input=12, max_new=5, arrival_s=2),
    Job(5, n_input=14, max_new=1, arrival_s=3),
    Job(6, n_input=900, max_new=7, arrival_s=3),
    Job(7, n_input=20, max_new=8, arrival_s=4),
]
small = Setup(prefill_batch=3, prefill_capacity=200, decode_batch=3, decode_capacity=120)
by_hand = FixedCosts(prefill=2, decode=1, transfer=0.5)
first_run = serve(few_jobs, small, PrefillLoop(), DecodeLoop(), costs=by_hand)
lines = sorted(
    (event for event in first_run.log if event.what != "step"), key=lambda event: event.begin_s
)
print(*lines[:30], "...", sep="\n")

# %% [markdown]
# The log reads like a diary. As a picture it is quicker to read. Where does request 3 wait, and for
# whom? Why is 5 never seen on the decode server?

# %% experiment="first_timeline"
timeline.draw(first_run, "Eight requests on small servers")

# %% [markdown]
# ### Against the order of time
#
# In earnest the loops are two processes, and nothing says in which order their steps come. A loop
# must be right in any order, so `serve` can also let one side run as far as it gets, or toss a coin
# at each turn. `faults` reads the rules of this lab off a log, each by its name.

# %% experiment="orders"
rng = random.Random(0)
crowd = [Job(i, rng.choice([20, 22, 60]), rng.randint(1, 12)) for i in range(40)]
tight = Setup(
    prefill_batch=4, prefill_capacity=200, decode_batch=6, decode_capacity=200, storage=180
)
for order in ORDERS:
    seeds = range(100 if order == "random" else 1)
    runs = [serve(crowd, tight, PrefillLoop(), DecodeLoop(), order=order, seed=i) for i in seeds]
    broken = {name for run in runs for name in faults(run)}
    print(f"{order:<15}{len(runs):>4} runs; rules broken: {', '.join(broken) or 'none'}")

# %% [markdown]
# And this is what a mistake looks like. We let your loops run on a decode server that ignores
# `free_kv`, and ask what is wrong.


# %% experiment="a_fault"
class Forgetful:
    """Your decode loop on a server on which nothing is freed."""

    def __init__(self):
        self.loop = DecodeLoop()

    def step(self, server):
        self.server = server
        self.loop.step(self)

    def __getattr__(self, name):
        return getattr(self.server, name)

    def free_kv(self, request_id):
        """Does nothing."""


run = serve(few_jobs[:3], small, PrefillLoop(), Forgetful(), costs=by_hand)
for name, fault in faults(run).items():
    print(f"{name}: {in_words(run, fault, n_lines=5)}\n")

# %% [markdown]
# ### At scale
#
# 24 of 60 requests per second, prompts of 200 to 1,800 tokens, answers of 60 on average that end
# when the model likes, 8 slots, two H200.

# %% experiment="h200_timeline"
rng = random.Random(0)
answers = exponential_lengths(200, 60, rng)
jobs = poisson(24, 60, rng, n_input=range(200, 1800), n_output=answers, known=False)
two_cards = Setup(
    prefill_capacity=16_384, decode_capacity=24_000, decode_batch=8, tolerance=400, max_length=2048
)
h200_run = serve(jobs, two_cards, PrefillLoop(), DecodeLoop(), costs=costs)
timeline.draw(h200_run, "Llama-3.1-8B on two H200, 60 requests per second")

# %% [markdown]
# No client said how much it wants, so each has 2,048 tokens reserved; the dark part is what is
# filled. The gap between the two is the price of the safe side.
#
# ## 8. The same loops on a real model
#
# Nothing in your loops knows that the clock was virtual. `serve_real` offers the same primitives on
# the tiny target: prompts are computed, KV caches written to pages (lab 4), saved, loaded and
# freed. Each request must get the very tokens that it gets alone: whoever else is in its batch, and
# however it was padded, must make no difference. Here the servers take turns on one processor, so a
# request on the decode server is paused while a prompt is computed.

# %% experiment="real_model"
texts = [prompt.text for prompt in prompts()[::3]]
wanted = [24, 6, 32, 12, 20, 8, 16]
real_setup = Setup(
    prefill_batch=4, prefill_capacity=1024, decode_batch=4, decode_capacity=1024, tolerance=32
)
real_run, tokens = serve_real(texts, real_setup, PrefillLoop(), DecodeLoop(), max_new=wanted)
alone = [generate_alone(text, n) for text, n in zip(texts, wanted, strict=True)]
n_same = sum(tokens[i] == each for i, each in enumerate(alone))
print(f"{n_same} of {len(texts)} requests have the tokens that they get alone")
print(f"rules broken: {', '.join(faults(real_run)) or 'none'}")
timeline.draw(real_run, "The tiny target, in one process: the servers take turns")

# %% [markdown]
# And in two processes, which is what we wrote them for. Now both work at the same time, and every
# KV cache is a file that one writes and the other reads. (A notebook's classes reach another
# process by `fork`, so elsewhere than on Linux the cell does without.)

# %% experiment="two_processes"
serve_split = serve_in_two_processes if sys.platform == "linux" else serve_real
split_run, split_tokens = serve_split(
    texts, real_setup, PrefillLoop(), DecodeLoop(), max_new=wanted
)
n_same = sum(split_tokens[i] == each for i, each in enumerate(alone))
print(f"{n_same} of {len(texts)} requests have the tokens that they get alone")
timeline.draw(split_run, "The tiny target, in two processes")

# %% [markdown]
# ## 9. Length buckets
#
# `PrefillLoop` looks through its queue for requests of a similar length. With thousands waiting,
# either that is a long look for every batch, or it sees only the first few hundred. The other way
# is to sort them when they come: a bucket for
# each range of lengths, and batches from one bucket. Which bucket is next? Taking the fullest would
# starve the rare lengths, so it is the one that holds the oldest request of all.

# %% exercise="labkit.batching:BucketQueue" points=1

# %% experiment="buckets"
buckets = BucketQueue(width=100)
for i, length in enumerate([310, 80, 390, 95, 1200, 20, 350]):
    buckets.add({"id": i, "input_length": length})
while len(buckets):
    print([request["input_length"] for request in buckets.take(n_most=2)])

# %% [markdown]
# ## 10. Moving the cache
#
# Between the servers each KV cache crosses a link. A token of Llama-3.1-8B is 131,072 bytes, a
# prompt of 2,000 tokens 262 MB. What does that take?

# %% exercise="labkit.batching:transfer_s" points=0.5

# %% experiment="links"
prefill_s = costs.prefill_s([2000])
print(f"computing a prompt of 2,000 tokens takes {1e3 * prefill_s:.1f} ms; moving it")
links = {"NVLink, 450 GB/s": 450e9, "400 Gbit/s": 50e9, "100 Gbit/s": 12.5e9, "10 Gbit/s": 1.25e9}
for link, bandwidth in links.items():
    seconds = transfer_s(2000, kv_bytes, bandwidth, 1e-3)
    print(f"  {link:<18}{1e3 * seconds:>7.1f} ms, {seconds / prefill_s:>5.0%} of computing it")
for model in ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-2-7b-hf"):
    shape, work = ModelShape.of(model), ModelWork.of(model)
    rate = 2000 / RooflineCosts(Roofline.of("H200-SXM"), work).prefill_s([2000])
    need = rate * kv_bytes_per_token(shape)
    print(f"{model}: a card computes {rate:,.0f} tokens/s, which is {need / 1e9:.1f} GB/s of cache")

# %% [markdown]
# The last lines are the ones to remember. A prefill server fills its link with so many bytes per
# second; a slower link is the bottleneck, whatever the cards can do, and on it computing the prompt
# again would be quicker than moving it. For Llama-3.1-8B 9 GB/s suffice: a link of 100 Gbit/s is
# enough, one of 10 is not. Without shared KV heads it is four times as much. The transfer is not on
# the way of the *first* token, which the prefill server has already sent; it delays the second.
#
# ## 11. What users see
#
# A user sees two things: how long until something appears, and how fast it then comes. **TTFT**,
# the time to the first token, counts from the arrival. **TPOT**, the time per output token, is the
# mean time of each *further* one.

# %% exercise="labkit.batching:latencies" points=0.5

# %% [markdown]
# An operator has promised something for both. A request that comes late is served, and paid for,
# and no use. **Goodput** counts the requests per second that kept both limits; a limit that is just
# met is kept.

# %% exercise="labkit.batching:goodput" points=0.5

# %% [markdown]
# And a prefill batch pays for its rectangle. What part of the tokens that were computed is padding?
# (A ratio of sums, over all batches; not the mean of their ratios.)

# %% exercise="labkit.batching:padding_waste" points=0.5

# %% [markdown]
# `summarize` puts your three formulas to work on a whole run; the rest it counts from the log.

# %% experiment="summary"
mine = Formulas(latencies, goodput, padding_waste)
print(summarize(h200_run, limits_s=(0.2, 0.01), formulas=mine))

# %% [markdown]
# ### How much tolerance?
#
# Prompts of 16 to 256 tokens, 400 at once. Small batches leave the server waiting for its weights
# (a prompt below some 200 tokens is bound by moving them), large ones are mostly padding.

# %% experiment="tolerances"
rng = random.Random(1)
burst = [Job(i, rng.randint(16, 256), max_new=1) for i in range(400)]
print(f"{'tolerance':>9}{'batches':>9}{'padding':>9}{'all prompts':>13}")
for tolerance in (0, 4, 16, 64, 240):
    setup = Setup(prefill_batch=16, prefill_capacity=8192, tolerance=tolerance)
    run = serve(burst, setup, PrefillLoop(), DecodeLoop(), costs=costs)
    result, n_batches = summarize(run, formulas=mine), sum(1 for _ in run.events("prefill"))
    cells = f"{tolerance:>9}{n_batches:>9}{result.padding_waste:>9.1%}"
    print(f"{cells}{1e3 * result.seconds:>10.0f} ms")

# %% [markdown]
# A little is best: 821 ms with a tolerance of 4 tokens, 966 without any, and 1,388 with 43 %
# padding where everybody goes with everybody.
#
# ### Can we trust the clock?
#
# A prefill server that takes one prompt at a time, all of the same length, with arrivals that know
# nothing of each other, is the best known queue there is (M/D/1), and the mean TTFT has a formula:
# D + R·D² / (2(1 − R·D)), for R requests per second of D seconds each.

# %% experiment="known_queue"
each_s = costs.prefill_s([2000])
one_by_one = Setup(prefill_batch=1, max_length=4096)
for load in (0.2, 0.5, 0.8, 0.9):
    rate = load / each_s
    jobs = poisson(6000, rate, random.Random(1), n_input=[2000], n_output=[1])
    run = serve(jobs, one_by_one, PrefillLoop(), DecodeLoop(), costs=costs)
    measured, law = summarize(run, formulas=mine).ttft_s.mean, mean_ttft_md1(rate, each_s)
    print(f"{load:.0%} busy: {1e3 * measured:6.1f} ms simulated, {1e3 * law:6.1f} ms by the law")

# %% [markdown]
# The simulator keeps to it within 2 %. And a server that is busy for 90 % of the time lets its
# users wait more than five times as long as an idle one, without anybody's mistake.
#
# ### Separate, or together?
#
# Two cards, prompts of some 4,000 tokens, answers of 200 on average. Either each card does all of
# the work for half of the requests, or one does the prefill for everybody and the other the decode.
# How many requests get their first token within half a second and then a token every 10 ms on
# average, or every 6? And how long is the longest pause between two steps?


# %% experiment="separate_or_together"
def serve_long_prompts(rate, together):
    """The run of one of two cards that share the work, or of both if they divide it."""
    rng = random.Random(2)
    answers = exponential_lengths(1000, 200, rng)
    share = rate / 2 if together else rate
    jobs = poisson(200, share, rng, n_input=range(3000, 5001), n_output=answers, known=False)
    setup = Setup(
        prefill_capacity=20_000, decode_capacity=600_000, prefill_batch=4, decode_batch=64,
        max_length=8192, tolerance=64,
    )  # fmt: skip
    return serve(jobs, setup, PrefillLoop(), DecodeLoop(), costs=costs, shared=together)


def part_in_time(run, tpot_s):
    result = summarize(run, (0.5, tpot_s), mine)
    return result.goodput / result.requests_per_s


def longest_pause_s(run):
    """Of somebody who is in two steps that follow each other."""
    steps = pairwise(run.events("decode"))
    return max(b.end_s - a.end_s for a, b in steps if set(a.ids) & set(b.ids))


print(f"{'':>10}{'in time, 10 ms':>23}{'in time, 6 ms':>24}{'longest pause':>24}")
print(f"{'requests/s':>10}" + f"{'separate':>12}{'together':>12}" * 3)
for rate in (4, 8, 12, 16):
    runs = [serve_long_prompts(rate, together) for together in (False, True)]
    shares = [part_in_time(run, limit_s) for limit_s in (0.010, 0.006) for run in runs]
    pauses = [f"{1e3 * longest_pause_s(run):>9.1f} ms" for run in runs]
    print(f"{rate:>10}" + "".join(f"{share:>12.0%}" for share in shares), *pauses, sep="")

# %% [markdown]
# At 12 requests per second 99 % are in time with separate cards and 86 % together if a token may
# take 10 ms; if it may take 6, 96 against 43 %. Together, each prompt that is computed stops all
# answers of its card for some 60 ms, and several in a row for half a second. A mean over 200 tokens
# hides much of that; whoever reads along sees it. At 16 per second one card cannot compute so many
# prompts, and four of ten requests are late with their first token. So separation makes no more of
# the cards: it keeps two kinds of work from hurting each other, and one has to know how much there
# is of each. Here the decode card has little to do.
#
# ### In words: when is one enough?
#
# Everything so far says: batch. Describe two settings in which a batch size of one is right, or
# even necessary. Name the traits of the setting that make it so, not just an example of it; two or
# three sentences each.

# %% [markdown] written="batch_of_one" points=1
# *One user, on a device of their own.* There is only ever one request at a time, for instance when
# a phone completes a sentence, and its weights are on that device because the text must not leave
# it or because there is no network. Company for the step does not exist; waiting for it would add
# latency to something that is judged by its latency alone, and a second KV cache would need memory
# that the device does not have. (On an H200 one request gets a token every 3.14 ms, 64 get one
# every 4.02: where that quarter counts, for a robot or a live interpreter, one serves alone
# although it wastes the card.)
#
# *Runs that must be comparable.* A latency benchmark, or an experiment that has to give the same
# tokens again: in a batch, the sums of a matrix product are formed in another order than alone, so
# logits differ in their last bits and an argmax may tip; padding and masks are further places for
# mistakes. With a batch of one, what is measured or compared does not depend on who else was there.
# The load is known and finite, nobody waits, and throughput is not the point.
#
# (Also right: memory that holds one sequence only, with a very long context or a model that barely
# fits; arrivals so rare that two requests hardly ever meet; each request depending on the answer to
# the one before, as in an agent's loop.)
#
# *Marking: half a point for each setting that names a trait (one request at a time; a hard limit on
# latency; memory for one; results that must not depend on company) **and** says why batching would
# not help or would harm. An example without a trait, or the same trait twice: a quarter. "Small
# model" or "small data" alone: nothing.*

# %% [markdown]
# ## 12. Three ways to make batches
#
# * **Static**: a batch starts when it has its full number, and ends when all of it is done.
# * **Dynamic**: the same, but it also starts when its first request has waited for a set time.
# * **Continuous**: requests come and go between any two steps.
#
# (`StaticDecodeLoop`, with which you compare yours below, starts with whoever is there when the
# batch before it is done. It cannot know whether anybody else will come, and the last requests
# would wait for ever.)
#
# ### Question: which is it?
#
# Six servers with eight places each. Which way does each of them batch?
#
# * **A.** Eight requests start together. Seven have their last token after 20 steps; nobody takes
#   their places until the eighth has its own, after 400. Then the next eight start, never fewer.
# * **B.** A batch starts with eight requests, or with fewer once 50 ms have passed since the first
#   of them came. Whoever comes later waits until all of them are done.
# * **C.** A request comes while others are at their 150th token. In the next step it gets its
#   second one, together with their 151st.
# * **D.** At night a lone request is started 50 ms after it came. Another, 10 ms behind that start,
#   waits for the whole of the first one's answer.
# * **E.** At night a lone request gets no token at all until seven others have come.
# * **F.** The number of requests in a step changes from step to step, and the room of a finished
#   one is in use again in the next.

# %% answer="which_batching" points=0.5
which_batching = {  # "static", "dynamic" or "continuous"
    "A": "static",
    "B": "dynamic",
    "C": "continuous",
    "D": "dynamic",
    "E": "static",
    "F": "continuous",
}

# %% [markdown]
# ### Question: little, or much?
#
# Take a server with B slots, memory for all, and many requests that are all there at once. Count
# steps. Continuous batching keeps every slot busy (but for the very end). Static batches take as
# many steps as their longest request, so the ratio is the longest of B answers, on average, over
# the mean answer.
#
# If all are equally long, that is easy. Now let lengths be *exponential*: an answer is as likely to
# end at its next token as any other, however long it has already become. B of them run, of mean
# length m. The first to end does so after m/B on average, for there are B that may. Those that are
# left are as if they had just begun.
#
# What are the three ratios? Compute them by hand.

# %% answer="predicted_ratio" points=0.5
predicted_ratio = {  # steps with static batches over steps with continuous batching
    "equal lengths, 8 slots": 1.0,
    "exponential lengths, 8 slots": 2.72,
    "exponential lengths, 32 slots": 4.06,
}

# %% [markdown]
# The simulator answers the same question for other numbers of slots. Do you get its ratios for 4
# and 16 slots when you compute them as you did above?

# %% experiment="simulated_ratio"
for n_slots, kind in ((4, "equal"), (4, "exponential"), (16, "exponential")):
    n, rng = 200 * n_slots, random.Random(3)
    lengths = [30] * n if kind == "equal" else exponential_lengths(n, 30, rng)
    jobs = [Job(i, 8, max_new=1 + length) for i, length in enumerate(lengths)]
    roomy = Setup(prefill_batch=64, decode_batch=n_slots, decode_capacity=10**6)
    n_steps = [
        sum(1 for _ in serve(jobs, roomy, PrefillLoop(), loop).events("decode"))
        for loop in (StaticDecodeLoop(DecodeLoop()), DecodeLoop())
    ]
    ratio, setting = n_steps[0] / n_steps[1], f"{kind} lengths, {n_slots} slots"
    print(f"{setting:<30}{n_steps[0]:>7,} over {n_steps[1]:>6,} steps: {ratio:.2f}")

# %% experiment="beside"
jobs = [Job(i, 16, n) for i, n in enumerate(exponential_lengths(24, 12, random.Random(4)))]
setup = Setup(prefill_batch=24, decode_batch=8)
loops = {"static batches of 8": StaticDecodeLoop(DecodeLoop()), "continuous, 8 slots": DecodeLoop()}
beside = {
    name: serve(jobs, setup, PrefillLoop(), loop, costs=FixedCosts(prefill=3))
    for name, loop in loops.items()
}
timeline.draw_beside(beside)

# %% experiment="sorted_lengths"
lengths = exponential_lengths(1600, 30, random.Random(3))
jobs = [Job(i, 8, max_new=1 + length) for i, length in enumerate(lengths)]
roomy = Setup(prefill_batch=64, decode_batch=16, decode_capacity=10**6)
for way in ("static", "static, grouped by length", "continuous", "continuous, longest first"):
    run = serve(jobs, roomy, PrefillLoop(), POLICIES[way](DecodeLoop()))
    print(f"{way:<28}{sum(1 for _ in run.events('decode')):>7,} steps")

# %% [markdown]
# The slots of a static batch empty one by one, and the last request has the card to itself. How
# much that costs depends on how different the lengths are, and on how many slots there are.
#
# *Little* is to be had where all answers are equally long (labels, a choice between A and D, a
# fixed number of tokens in a benchmark), where they can be sorted by their length beforehand
# (sorted, static batches needed only 3 % more steps above), or where there are only a few requests
# at a time, so that slots are empty anyway. *Much* where many wait and lengths spread wide: chat,
# code, reasoning, where one answer is a word and the next a thousand. The gain grows with the
# number of slots, for one of 32 is more likely to be very long than one of 8. And where memory is
# short, a place that is free a hundred steps earlier is a request more.
#
# ### In words: your design
#
# Describe your two loops to a colleague who has to run them. What did you assume? Say for each of
# these what you decided: when a request starts; when it stops; who changes its state; whom you
# prefill together; how requests join and leave the decode batch; when KV caches are reserved, moved
# and freed. Then name the first thing that you would change for a service with real users, and the
# number that should get better by it.

# %% [markdown] written="design" points=1
# *Assumptions.* Transfers do not fail, servers do not die, clients do not leave, and room is
# counted in tokens, so it does not matter how it is laid out. Nobody knows when an answer ends;
# lengths of prompts are known.
#
# *Start.* A request that could not be served on empty servers is refused when it comes. All others
# wait in order. A prefill batch is made around the oldest that fits; decoding starts for the oldest
# that fits when there is a slot. *Stop.* With the end-of-text token or at the limit, the lower of
# the client's wish and what `max_length` leaves; the first token, which the prefill makes, counts,
# so a request may be done before it ever reaches the decode server. *State.* The prefill loop sets
# "prefill", the decode loop "decode", and whatever adds a token decides whether it is "done"; no
# other place does. *Prefill batches.* Prompts that differ by at most the tolerance; the padded
# rectangle must fit into memory, the true lengths into the store. If the store is full the loop
# does nothing, and the decode server catches up. *Decode batch.* Before each step whoever fits
# comes in, after it whoever is done goes out; a request that does not fit keeps its place and lets
# others pass. *KV caches.* Room for prompt and limit is reserved at loading. Saved right after the
# prefill and freed there at once; freed in the store when it is loaded; freed on the decode server
# with the last token.
#
# *The first change.* In section 7, reserving up to the limit left half of the reserved memory
# unfilled. With blocks that are taken as an answer grows, and preempting the newest when they run
# out, more requests fit: tokens per second would rise, as long as memory and not the slots is the
# limit. (Also good: let small requests pass a large one only so many times, for its TTFT or
# waiting; chunked prefill on one card, for the longest pause; a goodput limit per client.)
#
# *Marking: half a point for the description (at least four of the six decisions, and an assumption
# that the code relies on), half for a change with the measure that it improves and a reason. A
# change without a number that it should move: a quarter.*

# %% [markdown]
# ## 13. Play with it
#
# The loops are yours. Try: how far can arrivals rise before the waiting lines grow? Which is the
# better buy then, twice the slots, twice the memory, or both? From which spread on do static
# batches hurt, and why not at 5 requests per second?

# %% experiment="player"
batching_player(PrefillLoop, DecodeLoop)

# %% [markdown]
# ## 14. The result
#
# The numbers of the first paragraph: 500 requests that are all there at once, Llama-3.1-8B on two
# H200, prompts of 64 to 512 tokens, answers of 200 on average.

# %% experiment="result"
rng = random.Random(5)
answers = exponential_lengths(500, 200, rng)
jobs = [Job(i, rng.randint(64, 512), stops_after=n) for i, n in enumerate(answers)]
ways = {
    "one after the other": (1, DecodeLoop()),
    "static batches of 32": (32, StaticDecodeLoop(DecodeLoop())),
    "continuous, 32 slots": (32, DecodeLoop()),
    "continuous, 128 slots": (128, DecodeLoop()),
}
for way, (n_slots, loop) in ways.items():
    setup = Setup(
        prefill_capacity=16_384, decode_capacity=800_000, decode_batch=n_slots, max_length=4096,
        tolerance=64,
    )  # fmt: skip
    result = summarize(serve(jobs, setup, PrefillLoop(), loop, costs=costs), formulas=mine)
    print(f"{way:<24}{result.seconds:>8.1f} s{result.tokens_per_s:>9,.0f} tokens/s", end="")
    print(f"{result.n_steps:>9,} steps, {result.occupancy:.0%} of the slots taken")

# %% [markdown]
# 314 s, 43.7, 12.8, 6.8. The first step down is the batch: one reading of the weights serves 32.
# The second is the loop that you wrote: 85 % of the slots taken instead of 23 %, 3,668 steps
# instead of 13,523. The third is memory, which makes room for 128. And the last thing that keeps
# all of them from being faster is the step itself: lab 6 makes several tokens in one.
#
# ## Words
#
# * **Prefill, decode**: computing a prompt, all tokens at once; making new tokens, one per step.
# * **Slot**: a place in the batch of a decode step.
# * **Static, dynamic, continuous batching**: a batch of full number that runs to its end; the same,
#   started after a set time at the latest; one that requests join and leave between steps (Orca
#   calls it iteration-level scheduling).
# * **Disaggregation**: prefill and decode on servers of their own, with KV caches moved between.
# * **TTFT, TPOT**: time to the first token; mean time of each further one.
# * **Goodput**: requests per second that kept the promised limits.
# * **Back-pressure**: a full store stops the prefill, instead of letting work pile up.
# * **Head-of-line blocking**: a large request at the front that does not fit, and everybody behind
#   it waits too. **Starvation**: the opposite, it is passed over for ever.
# * **Preemption**: throwing a running request out to make room, and computing or fetching its KV
#   cache again later.
#
# ## Further reading
#
# * [Orca: A Distributed Serving System for Transformer-Based Generative
#   Models](https://www.usenix.org/conference/osdi22/presentation/yu) (Yu et al., OSDI 2022):
#   joining and leaving between steps.
# * [Efficient Memory Management for Large Language Model Serving with
#   PagedAttention](https://arxiv.org/abs/2309.06180) (Kwon et al., 2023): vLLM; blocks instead of
#   reservations, and preemption.
# * [DistServe: Disaggregating Prefill and Decoding for Goodput-optimized Large Language Model
#   Serving](https://arxiv.org/abs/2401.09670) (Zhong et al., 2024): two servers, and the queue of
#   section 11.
# * [Taming Throughput-Latency Tradeoff in LLM Inference with
#   Sarathi-Serve](https://arxiv.org/abs/2403.02310) (Agrawal et al., 2024): long prompts in pieces
#   between the steps of others, on one server.
# * [Vidur: A Large-Scale Simulation Framework For LLM Inference](https://arxiv.org/abs/2405.05465)
#   (Agrawal et al., 2024): a simulator with measured times, and what it finds.
