# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 6: speculative decoding
#
# <!-- picture: One pass checks a draft of three tokens.
# Areas show accepted, rejected and residual probability. -->
#
# After this lab you can
#
# * write a speculative sampler, and show that its text has exactly the target's distribution;
# * verify a tree of guesses, and say which other rules are lossless;
# * predict whether speculation is faster, for one text and for a batch.
#
# **You need** lab 4 (KV cache), lab 2 (what limits a step), and conditional probability. The
# [glossary](../docs/glossary.md) explains the words. A CPU is enough. Cells with `TODO` are yours. The
# check below each runs a few visible tests, the grader runs hidden ones.
#
# **Time:** 6 to 8 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook, with all cells run and saved.
#
# **The problem.** A decode step reads all weights to make one token (lab 2). The same step could
# check eight tokens in nearly the same time. So a *draft* guesses them: a small model, or no model at
# all. The *target* is the large model whose text we want. It checks all guesses in one call and keeps
# those that it accepts. The text has exactly the target's distribution. Only the speed changes.
#
# The speed can also get worse. On one H200, the same algorithm with the same pair of models is 1.5
# times as fast as plain decoding in one implementation. In the other one it loses in 28 of 30 rounds.
# In this lab you find out why.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Generator, Tensor

from labkit import kit
from labkit.kit import Block, CachedModel, check_tree, cut_after, keep_top, sample
from labkit.labs import speculative as lab
from labkit.models.arguments import check_rows, check_sampling, check_start

check = kit.start("speculative", globals())

# %% [markdown]
# ## 1. Two papers, two alphabets
#
# Two groups published the method within weeks of each other, with opposite meanings of p and q:
# [Leviathan et al., Algorithm 1](https://arxiv.org/abs/2211.17192) and [Chen et al., Algorithm
# 2](https://arxiv.org/abs/2302.01318). With one formula from each paper, the text is fluent and its
# distribution wrong. So this lab says `target_probs` and `draft_probs`.
#
# ### Question: which letter is which?
#
# Look up in each paper the letters of the target's and the draft's distribution, and the *residual*.
# This is the difference whose positive part gives the distribution of the token after a rejection.
# Write it like `"a - b"`.

# %% answer="notation" points=0.25
notation = {
    "Leviathan et al., Algorithm 1": {
        "target": "p",
        "draft": "q",
        "residual": "p - q",
    },
    "Chen et al., Algorithm 2": {"target": "q", "draft": "p", "residual": "q - p"},
}

# %% [markdown]
# ## 2. From logits to a distribution
#
# A model returns *logits*: one number for each token of the vocabulary. Divided by the temperature,
# softmax turns them into probabilities. Temperature 0 is a limit: the largest logit gets all
# probability. Top-k and top-p then keep only likely tokens. Speculation keeps the distribution of the
# target *with these settings*.
#
# These functions are given. To refuse means to raise a `ValueError`.
#
# | name | what it does |
# |---|---|
# | `check_sampling(temperature, top_k, top_p)` | refuses settings out of range |
# | `keep_top(probs, top_k, top_p)` | applies top-k, then top-p, to probabilities (... V) |
# | `check_start(prompt, n_new, target)` | refuses an empty prompt, n_new < 0, a cache in use |
# | `check_start(prompt, n_new, target, draft, gamma)` | also refuses unequal vocabularies, γ < 1 |
# | `check_rows(drafted, draft_probs, target_probs)` | refuses shapes that do not fit |
# | `sample(probs, rng)` | draws one token from probabilities (V,), an int |
# | `cut_after(tokens, eos)` | returns the tokens up to the first `eos`, and `eos` itself |

# %% exercise="labkit.speculative:distribution" points=0.5 minutes=25 level=2

# %% [markdown]
# A model in this lab is an object with a cache. `feed(tokens)` appends at least one token to the
# cached ones. It returns logits with one row for each fed token: row i is about the token after
# `tokens[i]`. `rewind(n)` forgets all but the first n tokens. `n_cached()` returns how many are
# cached.

# %% exercise="labkit.speculative:autoregressive" points=0.75 minutes=20 level=2

# %% [markdown]
# ## 3. Accept or replace
#
# The draft has drawn a token x with probability draft(x). The target gives it target(x).
#
# * x is accepted with probability min(1, target(x) / draft(x)), and otherwise rejected.
# * After a rejection, the token is drawn from the *residual*: max(0, target − draft), divided by
#   its sum.
#
# Why does the result have the target's distribution? x is drafted and accepted with probability
# min(draft(x), target(x)). To reach target(x), max(0, target(x) − draft(x)) is missing. The residual
# adds exactly this: a rejection has probability 1 − Σ min(draft, target), the sum of all missing parts.

# %% exercise="labkit.speculative:residual" points=0.5 minutes=10 level=1

# %% [markdown]
# A drafted token is accepted with probability Σ min(draft, target): the overlap of the two
# distributions. Its average over the text is called **α**, the acceptance rate.
#
# A block drafts at most γ tokens (`gamma`). The target checks its k drafted tokens from left to right,
# each with a random number *of its own*. The first rejection ends the block: the tokens after it
# continue a token that is not in the text. If no token is rejected, the target's last row gives one
# more token, the *bonus token*.

# %% exercise="labkit.speculative:verify" points=2 minutes=40 level=3

# %% [markdown]
# ## 4. The sampler
#
# Both models have a cache, and rejected tokens must leave both. One rule keeps this simple: **the
# last token of the text is not in any cache yet.** A *block* drafts and verifies once:
#
# | | target | draft |
# |---|---|---|
# | at the start | feed all of the prompt but its last token | the same |
# | drafting | | feed what its cache lacks, draw x₁; feed x₁, draw x₂; ... |
# | verifying | feed the last token and x₁ ... xₖ in *one* call: k + 1 rows | |
# | at the end | rewind to the text without its last token | rewind to the same length, if longer |
#
# * After a block in which all k tokens were accepted, the draft lacks two tokens: xₖ, which it was
#   never fed, and the bonus token. If you forget xₖ, the distribution stays right, but the proposals
#   get worse. So the checks count what both models are fed.
# * If r tokens are still wanted, draft at most r − 1. Cut off what follows `eos` with `cut_after`.
# * `blocks`, if it is a list, gets one `Block(n_drafted, n_accepted, position)` for each block. The
#   bonus token counts in neither number. `position` is the length of the text before the block.
# * A draft with nothing to propose returns a row of logits that are all -inf. Then drafting ends,
#   perhaps without a token, and the target verifies what there is.
# * `gamma` may be a function without arguments. Call it once before each block; 0 is a plain step.
#
# Build `speculative` in stages, and run the cell below after each:
#
# 1. a draft equal to the target;
# 2. another draft;
# 3. an `n_new` or `eos` inside a block;
# 4. `gamma` as a function, and a draft with nothing to propose.

# %% exercise="labkit.speculative:speculative" points=3.5 minutes=75 level=3


# %% experiment="stages"
def toy_model(seed):
    return lab.TableModel.random(5, Generator("cpu").manual_seed(seed))


class Silent(lab.TableModel):
    def feed(self, tokens):
        return super().feed(tokens) - torch.inf  # nothing to propose


gammas = iter([3, 0, 2, 1] * 10)
greedy = {"temperature": 0}
silent = Silent.random(5, Generator("cpu").manual_seed(2))
for stage, seed, draft, gamma, more in (
    (1, 1, toy_model(1), 3, {}),
    (2, 1, toy_model(2), 3, {}),
    (3, 3, toy_model(2), 3, {"eos": 2}),
    (4, 1, toy_model(2), lambda: next(gammas), {}),
    (4, 1, silent, 3, {}),
):
    wanted = autoregressive(toy_model(seed), [0, 1], 13, **greedy, **more)
    new = speculative(toy_model(seed), draft, [0, 1], 13, gamma, **greedy, **more)
    made = new[:13] if stage < 3 else new  # until stage 3, too many do not matter
    print(
        f"stage {stage}:",
        "right" if made == wanted else f"{made} should be {wanted}",
    )

# %% [markdown]
# ### Every outcome at once
#
# Does the text have the target's distribution? In a million texts you would not see that a rare text
# comes half a percent too often. `kit.exact_law` runs your code again and again. In each run, the
# requests for random numbers get other answers, until every path was followed. The probability of each
# path is known, so the distribution of the texts is *exact*.

# %% experiment="every_outcome"
rng = Generator("cpu").manual_seed(6)
toy_target, toy_draft = lab.TableModel.random(3, rng), lab.TableModel.random(3, rng)


def play(source):
    toy_target.rewind(0)
    toy_draft.rewind(0)
    with kit.scripted(source, globals()):
        return speculative(toy_target, toy_draft, [0], 4, 2, eos=2)


def next_probs(new):
    toy_target.rewind(0)
    return distribution(toy_target.feed([0, *new])[-1]).tolist()


law, expected = kit.exact_law(play), kit.text_law(next_probs, 4, eos=2)
print(f"{law.n_paths} paths, {len(law.probabilities)} texts")
for text in sorted(expected, key=expected.get)[-5:]:
    found = law.probabilities[text]
    print(f"{text!s:<16}target {expected[text]:.6f}   speculative {found:.6f}")
print(f"largest difference: {law.deviation(expected):.1e}")

# %% [markdown]
# Try it: use `target_probs[i]` in place of the residual in your `verify`, run the cells again, look
# at the difference, and undo the change.
#
# ### Question: which rules are lossless?
#
# Engines do not all accept by the ratio. `lab.RULES` has five rules for one drafted token x. A rule
# is **lossless** if the text's token has exactly the target's distribution.
#
# | rule | the draft | x is kept | otherwise, the text gets | used in |
# |---|---|---|---|---|
# | `ratio` | draws x | with probability min(1, target(x) / draft(x)) | a token of the residual | the two papers; vLLM |
# | `one_hot` | takes its most likely x | with probability target(x) | a token of the target, but not x | vLLM with n-grams; EAGLE |
# | `strict` | draws x | if the target draws x, too | the token that the target drew | vLLM of early 2026 |
# | `threshold` | draws x | if target(x) ≥ 0.3 | a token of the target | SGLang, as an option |
# | `greedy` | draws x | if x is the target's most likely token | that most likely token | SGLang without its sampling kernel |
#
# `lab.rule_law(rule, temperature).probabilities` has every outcome `(is_kept, token)` for a toy draft
# and a toy target. `lab.toy_probs(temperature)` returns their two distributions. Use both at
# temperatures 1.0 and 0.2:
#
# * `lossless`: `True` if the text's token, kept or replaced, has the target's distribution at both
#   temperatures, or else `False`.
# * `kept`: the probability that the drafted token is kept, at 1.0 and at 0.2, to three decimals (an
#   error up to 0.005 is accepted).

# %% answer="acceptance_rules" points=0.5
acceptance_rules = {
    "ratio": {"lossless": True, "kept": {1.0: 0.866, 0.2: 0.62}},
    "one_hot": {"lossless": True, "kept": {1.0: 0.415, 0.2: 0.657}},
    "strict": {"lossless": True, "kept": {1.0: 0.332, 0.2: 0.37}},
    "threshold": {"lossless": False, "kept": {1.0: 0.639, 0.2: 0.587}},
    "greedy": {"lossless": False, "kept": {1.0: 0.376, 0.2: 0.504}},
}

# %% [markdown]
# ## 5. Drafts without a model
#
# Text repeats itself: a name, a line of code, the words of a question in its answer. *Prompt lookup*
# looks for an earlier place of the last few tokens, an *n-gram*, and proposes the tokens that follow
# there. Its distribution is one-hot: the proposed token has probability 1. `verify` stays as it is.
#
# *Inference with reference* copies from another text. The cell after the exercise writes one greedy
# text with the draft model, with your n-grams, and with itself as the reference. The player then shows
# blocks token by token.

# %% exercise="labkit.speculative:ngram_draft" points=0.75 minutes=20 level=2

# %% experiment="reference"
pair = kit.load_pair("tiny", profile="cpu")
tokenizer = pair.target.tokenizer
prompt = tokenizer("The kettle on the stove")["input_ids"]


def model(loaded):
    return lab.TransformersModel(loaded.model)


plain = autoregressive(model(pair.target), prompt, 60, temperature=0)
print(tokenizer.decode(prompt + plain))
vocab_size = model(pair.target).vocab_size
drafts = {
    "draft model": model(pair.draft),
    "n-grams": lab.CopyDraft(ngram_draft, vocab_size),
    "reference": lab.CopyDraft(
        lambda text, n: ngram_draft([*prompt, *plain, *text], n), vocab_size
    ),
}
for name, draft in drafts.items():
    target, blocks = lab.Counted(model(pair.target)), []
    new = speculative(target, draft, prompt, 60, 5, temperature=0, blocks=blocks)
    counts = " ".join(f"{block.n_accepted}/{block.n_drafted}" for block in blocks)
    print(
        f"{name}: the same text: {new == plain}; {target.n_feeds} calls; {counts}"
    )
lab.speculation_player(distribution, residual, pair)

# %% [markdown]
# ## 6. How much is accepted
#
# You estimate the probability α by counting: divide successes by trials. A trial is a token that was
# *examined*. Of 5 drafted tokens with 2 accepted, three were examined: those two and the rejected one.
# The bonus token was not drafted, so it is no trial.
#
# A common mistake is to divide by all drafted tokens. For Qwen3-8B with Qwen3-0.6B, a homework's table
# has accepted / drafted of 68.5, 62.0, 52.5 and 46.7 % at γ = 2, 3, 5 and 7. All four follow from α
# between 0.77 and 0.81, by (α + α² + ... + α^γ) / γ.

# %% exercise="labkit.speculative:acceptance_rate" points=0.5 minutes=5 level=1

# %% [markdown]
# ## 7. What it gains
#
# A block of γ drafted tokens adds 1 + α + ... + α^γ tokens to the text, on average. It takes γ steps
# of the draft and one *verification*, a call of the target over γ + 1 tokens. So α and three durations
# decide about the speed.

# %% exercise="labkit.speculative:speedup" points=0.75 minutes=10 level=1

# %% exercise="labkit.speculative:best_gamma" points=0.75 minutes=15 level=2

# %% experiment="adaptive"
display(lab.tables.planning_tables(speedup, best_gamma))
blocks = []


def gamma_now():
    recent = [block for block in blocks if block.n_drafted][-6:]
    alpha = acceptance_rate(recent) if len(recent) > 2 else 0.7
    return best_gamma(alpha, 0.06, 1.0, lambda gamma: 1 + 0.04 * gamma, 10)


rng = Generator("cpu").manual_seed(0)
both = model(pair.target), model(pair.draft)
new = speculative(*both, prompt, 80, gamma_now, rng=rng, blocks=blocks)
print("accepted / drafted:")
print(*(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# If every layer takes equally long, a step of a draft of 28 layers takes 28 / 36 = 0.78 of that of a
# target of 36. If a verification is as fast as a step, then even at α = 0.8 the best gain is 1 %.
# Gemma 3 has such a pair, of 18 and 26 layers. With eager steps on an H200 and γ = 3, 50 tokens take
# {measured:homework-h200 homework_settings model=gemma-1b-270m setting=gamma_3 | s .1f} s, and alone
# {measured:homework-h200 homework_settings model=gemma-1b-270m setting=alone | s .1f} s (acceptance
# scripted).
#
# In the last lines your `best_gamma` chooses γ before every block, from what was accepted so far. The
# choice depends only on tokens that are already written, so an adaptive γ is *lossless*. It is *lossy*
# to draft a block again because its first token was rejected: then tokens that the draft prefers come
# too often.
#
# ## 8. Measured
#
# "eager" steps are the default of the transformers library: the CPU (the host) launches every kernel.
# The engine of this course is "captured" on a GPU: its steps are CUDA graphs. On a CPU it is "lean".
#
# Three tiny pairs really write. The draft of `tiny-untrained` has learned nothing, and `tiny-self` is
# its own draft. Large pairs have random weights here, so how many tokens a block keeps is *scripted*, by
# the homework's rates. (Random *prompts* overstate the throughput by about 23 %:
# [SPEED-Bench](https://arxiv.org/abs/2604.09557).)
#
# The first cell shows your machine. It takes a minute on a CPU, a few on a GPU, and continues where it
# stopped. On a GPU, `kit.brief` chooses one pair. The second cell has an H200: steps of one token, and
# steps of eight in steps of one. "floor" is the time to read the weights once.

# %% experiment="measure"
here = kit.brief(kit.profile())
recorder = kit.Recorder(
    "speculative-here.jsonl", kit.Provenance.here(here, "lab 6")
)
mine, done = (
    lab.Samplers(autoregressive, speculative, ngram_draft),
    {"is_done": recorder.is_done},
)
for row in lab.runs.decode_steps(here, n_samples=3, **done):
    recorder.save(row)
for row in lab.runs.speculation(
    here, mine, ("tiny",), n_samples=1, n_per_source=3, **done
):
    recorder.save(row)
extreme = ("tiny-untrained", "tiny-self")
for row in lab.runs.speculation(
    here, mine, extreme, (2, 7), n_samples=1, n_per_source=1, **done
):
    recorder.save(row)
if here.device == "cuda":
    ratios = lab.ratios_of(recorder.record())
    for row in lab.runs.speculation(here, mine, ratios=ratios, n_samples=3, **done):
        recorder.save(row)
records = {**kit.recorded_results("speculative-*.jsonl"), "here": recorder.record()}
display(lab.steps_by_model(records["here"]))
lab.gains_by_gamma(records["here"], speedup)

# %% experiment="steps"
display(lab.tables.steps_table(records["speculative-h200"]))
lab.steps_by_model(records["speculative-h200"])

# %% [markdown]
# On the H200, an eager step takes
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=eager | ms .0f} ms
# with 0.6 billion parameters, and
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=eager | ms .0f} ms with 8
# billion. The floors are 0.28 and 3.6 ms. So the time is that of launching 28 or 36 layers: 0.8 ms
# for each. Captured, they take
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=captured | ms .2f}
# and {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=captured | ms .2f}
# ms, and a verification of eight tokens only 1.12 steps. With the 0.6B model two tokens cost 1.55
# steps: its matrices had too few rows for all processors. With smaller blocks of rows it is 1.33
# (record `small-steps-h200`).
#
# The next tables have every pair of the H200. "speedup" is alone ms / ms, with the smallest and the
# largest round in brackets. "by captured" is your `speedup`, from alpha and steps that were timed
# alone. "outside" is the share of the time in neither model.

# %% experiment="gains"
display(lab.tables.gains_table(records["speculative-h200"], speedup))
lab.gains_by_gamma(records["speculative-h200"], speedup)

# %% [markdown]
# With captured steps the H200 reaches 1.79 (0.6B draft, γ = 7), 1.51 (1.7B draft, γ = 3) and 1.82
# (Llama, γ = 7). The 1.7B draft is right more often, and gains less: its step takes
# {measured:speculative-h200 decode_steps model=Qwen3-1.7B n_input=1 setting=captured | ms .2f} ms,
# and that of the 0.6B draft
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=captured | ms .2f} ms.
#
# With eager steps the prediction for the Qwen pairs is a loss. The table has one of them in rounds:
# the target alone, then γ = 2 and γ = 5, on a quiet core. Ratios are taken within a round. The figure
# has measured over predicted speedup with captured steps.

# %% experiment="residuals"
eager = kit.recorded_results("eager-*.jsonl")["eager-h200"]
display(lab.tables.rounds_table(eager, speedup))
lab.residuals(records["speculative-h200"], speedup)

# %% [markdown]
# At γ = 5 speculation is slower in 28 of 30 rounds, and at γ = 2 in 24 of 30. With captured steps the
# speedup is 2 to 6 % below the prediction, which leaves out for instance the drawing of tokens.
#
# ## 9. Other texts, other machines
#
# First comes the pair `tiny` on a CPU by four sources of prompts; γ is 3, the best of all sources
# together, or 7. The figure has γ from 1 to 10, two drafts, and prompts of `pattern` ("simple") or
# `instruction` ("normal").
#
# Then come the best and the worst setting of the H200 on two GPUs, and one pair on five GPUs by data
# sheets. There an eager step is the longer of two times: 0.75 ms for each layer that the host
# launches, and the reading of the weights.
#
# ### Question: sources and GPUs
#
# * `"highest"` and `"lowest"`: the sources with the highest and the lowest α at γ = 3;
# * `"overlap"`: a list of the two sources whose intervals of α overlap at γ = 3;
# * `"lowest_at_7"`: the measured speedup of the source with the lowest α, at γ = 7, with two decimals;
# * `"bandwidth_factor"`, `"flops_factor"`: the H200's GB/s and TFLOP/s, divided by those of the L4 (an
#   error up to 3 % is accepted);
# * `"verification_waits_for"`: does a verification of 8 tokens without launches wait for
#   `"bandwidth"` or `"flops"`? Compare the last two columns of milliseconds;
# * `"gained_more"`: which card has the higher measured speedups, `"H100"` or `"H200"`?
# * `"may_be_chance"`: write `True` if the brackets of the two cards overlap in a row, or else `False`.

# %% experiment="compared_records"
display(lab.tables.sources_table(records["speculative-cpu"], speedup))
ten_gammas = kit.recorded_results("regimes-*.jsonl")["regimes-cpu"]
display(lab.regimes(ten_gammas, speedup))
two_gpus = [records["speculative-h100"], records["speculative-h200"]]
display(lab.tables.same_settings_table(two_gpus, speedup))
lab.cards_table(speedup, best_gamma, "qwen3-8b-0.6b", 0.78)

# %% answer="compared" points=0.5
compared = {
    "highest": "choice",
    "lowest": "pattern",
    "overlap": ["instruction", "pattern"],
    "lowest_at_7": 0.85,
    "bandwidth_factor": 16,
    "flops_factor": 8.2,
    "verification_waits_for": "bandwidth",
    "gained_more": "H100",
    "may_be_chance": False,
}

# %% [markdown]
# α differs between sources because the overlap of the two models differs. The draft model is best at γ
# = 1 for simple prompts, and at γ = 4 for normal prompts. Copied tokens cost no draft step, but on this
# CPU a verification of four tokens takes 1.6 times as long as a step. So copying gains only for simple
# prompts at γ = 1. On an H200 this small pair waits for launches, so a verification takes hardly longer
# than a step. There copying gains for simple prompts up to γ = 9 (record `regimes-h200`).
#
# On the L4 the eager target waits for its memory, and the draft for its launches: speculation gains.
# On the other GPUs both wait for launches. Without launches, a faster card shortens all three durations
# by about the same factor, so the gain is the same on every GPU. Measured gains are smaller.
#
# ### Written answer: choosing γ
#
# Use the tables of the H200 (captured steps). (6 to 8 sentences, with numbers.)
#
# 1. Accepted / drafted falls with γ. Why, if α does not?
# 2. *Draft sizes.* Which draft of Qwen3-8B is accepted more often, and which is faster in the end?
#    Why?
# 3. *Families.* Compare the Llama pair with the Qwen pair that has the nearest α. What explains the
#    difference in speedup?
# 4. How would you choose γ for a new pair on a new GPU? Name what you measure, the rule that you
#    apply, and when the answer is "do not speculate".

# %% [markdown] written="trends" points=1
# *1.* After a rejection, the other tokens of the block are lost without being examined. A longer
# block loses more of them. With α = 0.8, 72 % of 2 drafted tokens are accepted and 45 % of 7:
# (α + ... + α^γ) / γ.
#
# *2.* The 1.7B draft is accepted more often (α = 0.84 against 0.78 at γ = 3) and gains less (1.51
# against 1.71). Its step takes
# {measured:speculative-h200 decode_steps model=Qwen3-1.7B n_input=1 setting=captured | ms .2f} ms
# against 0.70, that is 0.30 against 0.17 of a target step.
# Its best γ is 3, and the curve then falls; the cheaper draft still rises a little up to γ = 7.
#
# *3.* At γ = 7 the Llama pair and the 1.7B pair have the same α (0.84), and the gains are 1.82 and
# 1.45. The drafts take
# {measured:speculative-h200 decode_steps model=Llama-3.2-1B n_input=1 setting=captured | ms .2f}
# and {measured:speculative-h200 decode_steps model=Qwen3-1.7B n_input=1 setting=captured | ms .2f}
# ms, with targets of about 4 ms: the Llama draft has 16 layers,
# the Qwen draft 28. (The rates are scripted, so only the durations differ here.)
#
# *4.* Measure α on the service's own prompts (accepted / examined), a draft step, a target step,
# and verifications for several γ. Compute `speedup` for each γ and take the largest; the curve is
# flat there, so a smaller γ is safe. Stop where one more token, which brings α^(γ+1) tokens, adds a
# larger share to the time of a block than to its tokens. If a draft step takes more than α of a
# target step, no γ helps. Measure again when prompts, GPU or batch size change.
#
# *Marking (1 point):*
#
# * *0.25 for 1: unexamined tokens, or the geometric sum. "The draft gets worse" earns nothing.*
# * *0.25 for 2: higher α but lower speedup, explained by the duration of a step.*
# * *0.25 for 3: a comparison at similar α, explained by the duration or the layers of the draft.*
# * *0.25 for 4: measured α and durations, the largest predicted speedup, and a case without gain.*

# %% [markdown]
# ## 10. Drafts of today
#
# Since 2024 large models come with a *draft head* ([EAGLE](https://arxiv.org/abs/2401.15077),
# DeepSeek-V3's [MTP](https://arxiv.org/abs/2412.19437)): one more layer, which reads the target's own
# last hidden state and the token that was drawn. It needs no second model in memory. To your
# `speculative` it is a draft like any other. The tiny target has one, trained in minutes. The table has
# three drafts on a CPU at γ = 3.

# %% experiment="draft_head"
drafts = kit.recorded_results("drafts-*.jsonl")["drafts-cpu"]
display(lab.tables.drafts_table(drafts, speedup))
target = lab.TransformersModel(pair.target.model)
head = lab.HeadDraft(lab.load_head(pair.target), target)
blocks = []
new = speculative(target, head, prompt, 60, 3, temperature=0, blocks=blocks)
print(f"the same text: {new == plain}; accepted / drafted:")
print(*(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# The head's α is 0.88, and that of the draft model 0.75: the head knows what the target has computed.
# But its call takes 0.20 of a target step, and one of this narrow draft model 0.07. So this CPU shows
# no difference between the speedups, 1.28 and 1.25. In large models the head is cheap. In SGLang on an
# H100, [EAGLE-3](https://arxiv.org/abs/2503.01840) makes Llama-3.1-8B
# 1.81 times as fast with 2 texts in a batch, and 1.38 times with 64 (its Table 3).
#
# ## 11. Several texts at once
#
# In a batch, every row has its own number of accepted tokens, so the rows get different lengths. Two
# common faults are padding without a mask, and rewinding all caches to the shortest row. Then models
# see other texts, and α falls. `verify` can be computed for all rows at once: compare all ratios with
# uniforms, and take the *cumulative* product along each row. All entries after a rejection are 0, and
# the sum is the number of accepted tokens.

# %% exercise="labkit.speculative:verify_batch" points=0.75 minutes=20 level=2

# %% [markdown]
# The table has steps of a serving engine on an H200: B texts with 1 to 8 new tokens each, after 512,
# 4,096 or 16,384 cached ones. *Your* `speedup` and `best_gamma` predict from them, at α = 0.78.
# "verify / step" is a verification of 8 tokens, or of the number in brackets.
#
# ### Question: from which batch on?
#
# `lab.batch_steps(record, n_texts, n_cached)` gives the steps of a batch: `draft_s`, `target_s`,
# `verify_s(gamma)` and `max_gamma`. With 512 as a fourth argument, the draft keeps only so many
# tokens. Use α = 0.78, and `max_gamma` as the last argument of your `best_gamma`.
#
# * `"first_without_gain"`: the smallest number of texts whose best γ is 0, with 512 cached tokens;
# * `"keeps_all"`: the speedup at the best γ of 32 texts with 16,384 cached tokens;
# * `"keeps_512"`: the same if the draft keeps only 512 tokens.
#
# Write the speedups with two decimals.

# %% experiment="batch_sizes"
batches_h200 = kit.recorded_results("batches-*.jsonl")["batches-h200"]
display(lab.batches_table(batches_h200, speedup, best_gamma))
lab.by_batch(batches_h200, speedup, best_gamma)

# %% answer="batches" points=0.5
batches = {"first_without_gain": 256, "keeps_all": 1.07, "keeps_512": 2.22}

# %% [markdown]
# With short texts the gain falls when B grows: 128 texts with 8 tokens each are beyond the ridge point
# (lab 2), and the verification takes 3.6 steps. With long texts, a step mostly reads the KV caches, and
# a verification reads them once for all its tokens: 1.4 steps with 32 texts of 16,384 tokens. A draft
# with a cache of its own reads that, too. If it keeps only 512 tokens, the gain *grows* with B
# ([MagicDec](https://arxiv.org/abs/2408.11049)). Such a draft sees less, so
# measure its real α.
#
# α does not depend on B: the tiny pair had 0.758, 0.753 and 0.754 with 1, 2 and 4 texts. A project
# report has 0.858, 0.649 and 0.618 (Llama-3.2, 3B with 1B, on a T4): suspect one of the two faults. Its
# plain decoding of 16.99 tokens/s is 59 ms a step, but the floor is 20 ms, so the steps wait for
# launches. Then the draft, with 16 layers of 28, speeds up at most 1.21 times, even at α = 0.858.
#
# ### Written answer: batches
#
# Write pseudo-code for one block of speculative decoding with B rows (10 to 15 lines). Then name
# three difficulties that a single text does not have. For each, say what goes wrong if you ignore
# it and what your pseudo-code does about it.

# %% [markdown] written="batched" points=1
# ```
# alive = rows that are not done
# for j in 1 .. max(gamma of the alive rows):
#     feed the draft: for each row what its own cache lacks, at its own positions, padding masked
#     draw x[row, j] from draft_probs[row, j]              (not for rows with j > gamma[row])
# feed the target once: [last token, x[row, 1..k]] for each row, padding masked
# n_kept, following = verify_batch(x, n_drafted, draft_probs, target_probs)
# for each alive row:
#     new = x[row, :n_kept[row]] + [following[row]], cut after eos and at n_new
#     append new to text[row]
#     target.rewind(row, len(text[row]) - 1)
#     draft.rewind(row, min(cached by the draft, len(text[row]) - 1))
#     the row is done if eos came or n_new is reached; free its slot for a waiting request
# ```
#
# *Ragged lengths.* Each row keeps another number of tokens. Positions, masks and cache lengths must
# be kept for each row. If all rows are rewound to the shortest, accepted tokens are lost; if
# padding is not masked, the distribution changes and α falls.
#
# *Random numbers.* Each row needs uniforms of its own. A shared uniform makes rows depend on each
# other, although each row alone looks right.
#
# *Waiting.* The block takes as long as its slowest row: the draft goes on until the longest row has
# its tokens, and finished rows idle. Rows leave and join between blocks (continuous batching).
#
# *Cost.* With B rows the target checks B (k + 1) tokens. Beyond the ridge point this takes longer
# than a step, so the best γ falls with B. (Any three of the four.)
#
# *Marking (1 point):*
#
# * *0.25 if the pseudo-code calls the target once for all rows.*
# * *0.25 if it has n_kept, lengths and rewinds for each row, with an end for each row.*
# * *The difficulties, one of:*
#   * *0.5 if the answer names three with their consequence.*
#   * *0.25 if it names two, or three without a consequence.*

# %% [markdown]
# ## 12. Trees
#
# *SpecInfer* drafts a tree: several guesses for one place, all verified in one call. A mask lets each
# token see the text, its ancestors and itself (`lab.ancestor_mask`). The position of a token is its
# depth in the tree. The decision is new: if a child is rejected, its next sibling gets a chance.
# `check_tree(tokens, parents, draft_probs, target_probs)` refuses what is no tree.
#
# The cell after the exercise counts every outcome, as in section 4. Widths of `[2, 1]` mean two
# children of the text's last token, and one child of each.

# %% exercise="labkit.speculative:verify_tree" points=1.5 minutes=45 level=3

# %% experiment="trees"
rng = Generator("cpu").manual_seed(57)
tree_models = [lab.TableModel.random(3, rng) for _ in range(2)]
mine = {"verify_tree": verify_tree, "distribution": distribution}


def tree_text(source, n_new, widths, blocks=None):
    for each in tree_models:
        each.rewind(0)
    with kit.scripted(source, globals()):
        return lab.speculative_tree(
            *tree_models, [0], n_new, widths, blocks=blocks, **mine
        )


def tree_next_probs(new):
    tree_models[0].rewind(0)
    return distribution(tree_models[0].feed([0, *new])[-1]).tolist()


def tokens_per_call(widths):
    def block(source):
        blocks = []
        tree_text(source, len(widths) + 1, widths, blocks)
        return [1 + blocks[0].n_accepted]

    of_block = kit.exact_law(block).probabilities
    return sum(n * share for (n,), share in of_block.items())


law = kit.exact_law(lambda source: tree_text(source, 3, [2, 1]))
difference = law.deviation(kit.text_law(tree_next_probs, 3))
print(f"{law.n_paths} paths; largest difference: {difference:.1e}")
guesses = {(1,): 1, (2,): 2, (3,): 3, (1, 1): 2, (2, 1): 4}
rows = [
    [str([*widths]), n, f"{tokens_per_call(widths):.3f}"]
    for widths, n in guesses.items()
]
kit.Table(["widths", "guesses in a tree", "tokens per call of the target"], rows)

# %% [markdown]
# Each further guess for the same place brings less, and it costs a draft step.
#
# ## What you have shown
#
# Your samplers have exactly the target's distribution: you added up every possible outcome. On the
# H200 the three pairs run 1.51 to 1.82 times as fast with captured steps, at their best γ. With eager
# steps, the pair with the 1.7B draft loses in most rounds. In a batch, it matters what a step waits
# for: weights, arithmetic or KV caches.
#
# **Read next**: section 3 of [Leviathan et al. (2023)](https://arxiv.org/abs/2211.17192);
# [SpecInfer](https://arxiv.org/abs/2305.09781) (Miao et al., 2024).
