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
# * measure how many drafted tokens are accepted, and count them right;
# * verify a tree of guesses, and say which other rules of acceptance are lossless;
# * predict from three durations and one probability whether speculation is faster, for one text and
#   for a batch.
#
# **You need** lab 4 (KV cache), lab 2 (what limits a step), and conditional probability. The
# [glossary](../docs/glossary.md) explains the words in English and Chinese. A CPU is enough. The
# lab uses a pair of tiny models that have learned the same language, and records of an H200.
# Cells with `TODO` are yours. The check below each runs a few visible tests. After you
# hand in, the grader runs it on hidden tests.
#
# **Time:** 6 to 9 hours. {points}:
#
# {points by section}
#
# **Hand in** this notebook. Before that, run all cells and save it.

# %% [markdown]
# **The problem.** A decode step reads all weights of the model to make one token (lab 2). The same
# step could check eight tokens in nearly the same time. So we need a cheap way to guess eight
# tokens. The *draft* guesses them: it is a small model, or no model at all. The *target* is the
# large model whose text we want. It checks all guesses in one call and keeps those that it accepts.
# The text has exactly the distribution of the target. Only the speed changes.
#
# The speed can also get worse. On one H200, the same algorithm with the same pair of models is 1.5
# times as fast as plain decoding in one implementation. In the other one it loses in 28 of 30 rounds. In
# this lab you find out why. With many texts at once it can lose again, and with long texts it wins
# again.

# %% answer="student_id" points=0
student_name = "instructor"
student_id = "instructor"

# %% given="setup"
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Generator, Tensor

from labkit import kit
from labkit.kit import Block, CachedModel, check_tree, cut_after, sample
from labkit.labs import speculative as lab
from labkit.models.arguments import check_rows, check_sampling, check_start

check = kit.start("speculative", globals())

# %% [markdown]
# ## 1. Two papers, two alphabets
#
# Two groups published the method within weeks of each other. They use the letters p and q, but with
# opposite meanings: [Leviathan et al., Algorithm 1](https://arxiv.org/abs/2211.17192) and [Chen et
# al., Algorithm 2](https://arxiv.org/abs/2302.01318). If you take one formula from each paper, your
# sampler runs and writes fluent text, but its distribution is wrong. So in this lab the names are
# `target_probs` and `draft_probs`.
#
# ### Question: which letter is which?
#
# Look up three things in each paper: the letter of the target's distribution, the letter of the
# draft's distribution, and the *residual*. The residual is the difference whose positive part gives
# the distribution of the token after a rejection. Write all as strings, and the difference like
# `"a - b"`. (A check here only tells you whether your answer can be read.)

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
# A model returns *logits*: one number for each token of the vocabulary. Softmax turns them into
# probabilities. Temperature, top-k and top-p change them first. Both models get the same treatment
# before anything is compared. So speculation keeps the distribution of the target *with these
# settings*.
#
# Temperature 0 is a limit: the largest logit gets all probability. Do not divide by 0.
#
# The package gives you small functions, so that you need not write them. To refuse means to raise a
# `ValueError`.
#
# | name | what it does |
# |---|---|
# | `check_sampling(temperature, top_k, top_p)` | refuses settings out of range |
# | `check_start(prompt, n_new, target)` | refuses an empty prompt, n_new < 0, a cache in use |
# | `check_start(prompt, n_new, target, draft, gamma)` | also refuses unequal vocabularies, γ < 1 |
# | `check_rows(drafted, draft_probs, target_probs)` | refuses shapes that do not fit |
# | `sample(probs, rng)` | draws one token from probabilities (V,) and returns an int |
# | `cut_after(tokens, eos)` | returns the tokens up to the first `eos`, and `eos` itself |

# %% exercise="labkit.speculative:distribution" points=0.5 minutes=25 level=2

# %% [markdown]
# A model in this lab is an object with a cache. It has three functions:
#
# * `feed(tokens)` appends at least one token to the cached ones. It returns logits with one row for
#   each fed token: row i is about the token after `tokens[i]`.
# * `rewind(n)` forgets all but the first n tokens.
# * `n_cached()` returns how many tokens are cached.
#
# The first sampler uses no draft. It makes one token per call. Later we compare everything with it.

# %% exercise="labkit.speculative:autoregressive" points=0.75 minutes=20 level=2

# %% experiment="a_text"
pair = kit.load_pair("tiny", profile="cpu")
tokenizer = pair.target.tokenizer
prompt = tokenizer("The kettle on the stove")["input_ids"]
target = lab.TransformersModel(pair.target.model)
new = autoregressive(target, prompt, 30, rng=Generator("cpu").manual_seed(0))
print(tokenizer.decode(prompt + new))

# %% [markdown]
# ## 3. Accept or replace
#
# The draft has drawn a token x from its own distribution, with probability draft(x). The target
# gives the same token the probability target(x). The rule is:
#
# * If target(x) ≥ draft(x), x is accepted.
# * If not, x is accepted with probability target(x) / draft(x), and otherwise rejected.
# * After a rejection, the token is drawn from the *residual*: max(0, target − draft), divided by
#   its sum.
#
# Why does the result have the target's distribution? The draft proposes x, and x is accepted, with
# probability draft(x) · min(1, target(x) / draft(x)) = min(draft(x), target(x)). To reach
# target(x), the part max(0, target(x) − draft(x)) is missing. It is above 0 where the draft
# proposes x too rarely. The residual adds exactly this part: the probability of a rejection is
# 1 − Σ min(draft, target), and this is the sum of all missing parts. The two ways together give
# min(draft, target) + max(0, target − draft) = target.

# %% exercise="labkit.speculative:residual" points=0.5 minutes=10 level=1

# %% experiment="two_roads"
words = ["the", "a", "his", "no"]
target_probs = torch.tensor([0.50, 0.30, 0.15, 0.05])
draft_probs = torch.tensor([0.70, 0.10, 0.15, 0.05])
kept = torch.minimum(target_probs, draft_probs)
again = (1 - kept.sum()) * residual(target_probs, draft_probs)
rows = [
    [word, *(f"{each:.2f}" for each in probs)]
    for word, *probs in zip(
        words, target_probs, draft_probs, kept, again, kept + again, strict=True
    )
]
headings = ["token", "target", "draft", "accepted", "replaced", "together"]
kit.Table(headings, rows, f"accepted: {kept.sum():.0%}")

# %% [markdown]
# The probability that a drafted token is accepted is the sum of the minima, here 80 %. It is the
# overlap of the two distributions. Its average over the text is called **α**, the acceptance rate.
#
# Now take a block of k drafted tokens. The target checks them from left to right, each with a
# random number *of its own*. The first rejection ends the block: the tokens after it continue a
# token that is not in the text. If no token is rejected, the target's last row is still unused. It
# gives one more token, the *bonus token*.

# %% exercise="labkit.speculative:verify" points=2 minutes=40 level=3

# %% [markdown]
# ## 4. The sampler
#
# Both models have a cache, and rejected tokens must leave both caches. One rule keeps this simple:
# **the last token of the text is not in any cache yet.** A *block* is one round of drafting and
# verifying:
#
# | | target | draft |
# |---|---|---|
# | at the start | feed all of the prompt but its last token | the same |
# | drafting | | feed what its cache lacks, draw x₁; feed x₁, draw x₂; ... |
# | verifying | feed the last token and x₁ ... xₖ in *one* call: k + 1 rows | |
# | at the end | rewind to the text without its last token | rewind to the same length, if longer |
#
# Three details:
#
# * After a block in which all k tokens were accepted, the draft lacks two tokens: xₖ, which it
#   proposed but was never fed, and the bonus token. If you forget xₖ, the text still has the right
#   distribution. But the draft continues from a text with a gap, and its proposals get worse. You
#   cannot see this in the text, so the checks count what both models are fed.
# * If r tokens are still wanted, draft at most r − 1: the target adds one more.
# * The end-of-text token may come inside a block. Cut off the tokens after it with `cut_after`.
#
# `blocks`, if it is a list, gets one `Block(n_drafted, n_accepted, position)` for each block.
# `n_drafted` is k and `n_accepted` is how many were accepted. The bonus token counts in neither.
# `position` is the length of the text before the block.
#
# A draft may have nothing to propose. It says so with a row of logits that are all -inf. Then the
# block ends with the tokens drafted so far, perhaps none. `gamma` may also be a function without
# arguments. Then call it once before each block. If it returns 0, the block is a plain step.
#
# Build `speculative` in stages, and run the cell below after each:
#
# 1. The naive version: temperature 0, a draft equal to the target, blocks without an end-of-text
#    token. All drafted tokens are accepted.
# 2. Another draft: now rejected tokens must leave both caches.
# 3. The end: an `n_new` that is reached inside a block, and `eos`.
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
# Does the text have the target's distribution? You could draw a million texts and compare
# frequencies, but an error of half a percent would still be invisible. For small models there is a
# better way. `kit.exact_law` runs your sampler again and again. Each time your code asks for a
# random number, it takes another possible answer, until it has followed every path. The probability
# of each path is known, so the distribution of the texts is *exact*. The checks above do the same.

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
# Try it: in your `verify`, use `target_probs[i]` in place of the residual, run the cells again, and
# look at the difference. Then undo the change.
#
# ### Other rules of acceptance
#
# Engines do not all accept by the ratio. `lab.RULES` has five rules for one drafted token x:
#
# | rule | the draft | x is kept | otherwise, the text gets | used in |
# |---|---|---|---|---|
# | `ratio` | draws x | with probability min(1, target(x) / draft(x)) | a token of the residual | the two papers; vLLM |
# | `one_hot` | takes its most likely x | with probability target(x) | a token of the target, but not x | vLLM with n-grams; EAGLE |
# | `strict` | draws x | if the target draws x, too | the token that the target drew | vLLM of early 2026 |
# | `threshold` | draws x | if target(x) ≥ 0.3 | a token of the target | SGLang, as an option |
# | `greedy` | draws x | if x is the target's most likely token | that most likely token | SGLang without its sampling kernel |
#
# *Medusa* ([Cai et al., 2024](https://arxiv.org/abs/2401.10774)) has a threshold that falls with the
# target's entropy. It is called typical acceptance. A rule is **lossless** if the text's token has
# exactly the target's distribution.
#
# `lab.one_token(rule, draft_probs, target_probs)` drafts a token and decides about it. It returns
# `is_kept` and the text's token. This cell shows every outcome of `ratio` for two toy models of
# three tokens.


# %% experiment="one_rule"
def rule_law(rule, temperature):
    draft_probs, target_probs = lab.toy_probs(temperature)

    def play_rule(source):
        with kit.scripted(source):
            return lab.one_token(rule, draft_probs, target_probs)

    return kit.exact_law(play_rule)


for name, probs in zip(("draft", "target"), lab.toy_probs(1.0), strict=True):
    print(f"{name:<8}", *(f"{each:.4f}" for each in probs.tolist()))
outcomes = rule_law("ratio", 1.0).probabilities
for (is_kept, token), probability in outcomes.items():
    what = "kept" if is_kept else "replaced"
    print(f"token {token}, {what:<10}{probability:.4f}")

# %% [markdown]
# ### Question: which rules are lossless?
#
# Compute with `rule_law` for every rule, at temperatures 1.0 and 0.2:
#
# * `lossless`: `True` if the text's token has the target's distribution at both temperatures, or
#   else `False`. Add the outcomes with the same token, kept or replaced, and compare.
# * `kept`: the probability that the drafted token is kept, at 1.0 and at 0.2, to three decimals.
#
# Then look at the lossless rules: which one keeps most at 1.0, and which at 0.2?

# %% answer="acceptance_rules" points=0.5
acceptance_rules = {
    "ratio": {"lossless": True, "kept": {1.0: 0.866, 0.2: 0.62}},
    "one_hot": {"lossless": True, "kept": {1.0: 0.415, 0.2: 0.657}},
    "strict": {"lossless": True, "kept": {1.0: 0.332, 0.2: 0.37}},
    "threshold": {"lossless": False, "kept": {1.0: 0.639, 0.2: 0.587}},
    "greedy": {"lossless": False, "kept": {1.0: 0.376, 0.2: 0.504}},
}

# %% [markdown]
# Next comes the real pair, at temperature 0. Its text must be the target's own text, token by
# token.

# %% experiment="greedy"
target, draft = (
    lab.Counted(lab.TransformersModel(pair.target.model)),
    lab.TransformersModel(pair.draft.model),
)
plain = autoregressive(
    lab.TransformersModel(pair.target.model), prompt, 60, temperature=0
)
blocks = []
new = speculative(target, draft, prompt, 60, 5, temperature=0, blocks=blocks)
print(f"the same text: {new == plain}")
print(f"{len(new)} tokens in {target.n_feeds} calls of the target")
print("accepted / drafted of each block:")
print(*(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# ## 5. Drafts without a model
#
# Text repeats itself: a name, a line of code, the words of a question in its answer. *Prompt
# lookup* takes the last few tokens, looks for an earlier place where the same tokens occur, and
# proposes the tokens that follow there. A sequence of n tokens is called an *n-gram*. The
# draft's distribution is one-hot: the proposed token has probability 1. `verify` stays as it is.
# The token is accepted with probability target(x) / 1, and the residual is the target without x.

# %% exercise="labkit.speculative:ngram_draft" points=0.75 minutes=20 level=2

# %% [markdown]
# *Inference with reference* copies from another text, for example a document that the question is
# about. The search is the same, with the reference before the prompt. In this cell the reference is
# the greedy text of the last section, so nearly every token can be copied.

# %% experiment="reference"
reference, blocks = [*prompt, *plain], []
target = lab.TransformersModel(pair.target.model)
draft = lab.CopyDraft(
    lambda text, n: ngram_draft([*reference, *text], n), target.vocab_size
)
new = speculative(target, draft, prompt, 60, 5, temperature=0, blocks=blocks)
print(f"the same text: {new == plain}; accepted / drafted:")
print(*(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# ## 6. How much is accepted
#
# α is a probability, and you estimate a probability by counting: divide successes by trials. Here a
# trial is a token that was *examined*. After the first rejection no token is examined. Take a block
# with 5 drafted and 2 accepted tokens. Three tokens were examined: two accepted ones and the
# rejected one. The other two tell you nothing. The bonus token was not drafted, so it is no trial
# either.
#
# A common mistake is to divide by all drafted tokens. Then the "acceptance rate" falls as γ grows,
# although neither model has changed. Another mistake is to count the bonus token as accepted. Then
# rates above 1 appear.

# %% exercise="labkit.speculative:acceptance_rate" points=0.5 minutes=5 level=1

# %% [markdown]
# ### Question: one pair, four rates
#
# For Qwen3-8B with Qwen3-0.6B as its draft, the homework's table gives accepted / drafted: 68.5 %
# at γ = 2, 62.0 % at 3, 52.5 % at 5 and 46.7 % at 7. Suppose each drafted token is accepted with
# probability α, as long as all before it were accepted. Then accepted / drafted is on average (α +
# α² + ... + α^γ) / γ. Solve this for α at each γ, to three decimals: by bisection, for example, in
# a cell of your own.

# %% answer="published_alpha" points=0.25
published_alpha = {2: 0.773, 3: 0.779, 5: 0.793, 7: 0.809}

# %% [markdown]
# The four values of α are nearly equal, and even rise a little with γ. The pair has not become
# worse. Only accepted / drafted has fallen, and that is a different quantity.
#
# ## 7. What it gains
#
# A block of γ drafted tokens adds between 1 and γ + 1 tokens to the text. How many on average, if
# the acceptance rate is α?

# %% exercise="labkit.speculative:expected_tokens" points=0.5 minutes=15 level=2

# %% [markdown]
# A block takes γ steps of the draft and one call of the target. So three durations decide about the
# speed: a step of the draft, a step of the target, and a verification (a call of the target over
# γ + 1 tokens).

# %% exercise="labkit.speculative:speedup" points=0.5 minutes=10 level=1

# %% exercise="labkit.speculative:best_gamma" points=0.5 minutes=15 level=2

# %% experiment="tables"
gammas, rows = (1, 2, 3, 5, 7, 10), []
for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
    rows.append(
        [f"{alpha}", *(f"{expected_tokens(alpha, gamma):.2f}" for gamma in gammas)]
    )
display(
    kit.Table(
        ["α", *(f"γ = {gamma}" for gamma in gammas)], rows, "tokens per block"
    )
)
costs, rows = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.78), []
for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
    best = [best_gamma(alpha, cost, 1.0, lambda gamma: 1.0) for cost in costs]
    gain = [
        speedup(alpha, g, cost, 1.0, 1.0)
        for g, cost in zip(best, costs, strict=True)
    ]
    cells = (
        f"{g} / {x:.2f}" if g else "none" for g, x in zip(best, gain, strict=True)
    )
    rows.append([f"{alpha}", *cells])
title = (
    "best γ / speedup, by draft step / target step, verification as fast as a step"
)
kit.Table(["α", *map(str, costs)], rows, title)

# %% [markdown]
# Look at the last column of the second table. A draft step takes 78 % of a target step there. Even
# at α = 0.8 the best gain is 1 %. When does that happen? If every layer takes equally long,
# whatever its size, a draft of 28 layers takes 28 / 36 = 0.78 of a target of 36 layers.
#
# ### Question: will it win?
#
# Take the pair of the last question with α = 0.78, in two implementations on one H200. In *eager*
# PyTorch the CPU (the host) launches every kernel. A step of the draft takes
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=eager | ms .0f} ms, a step of the target
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=eager | ms .0f} ms, and a verification
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=8 setting=eager | ms .0f} ms for every γ.
# *Captured* means that the step is recorded as one CUDA graph, here with fused kernels. Then the
# three durations are
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=captured | ms .2f},
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=captured | ms .2f} and
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=8 setting=captured | ms .2f} ms. For
# both: give the best γ, and the speedup there to two decimals. If no γ is faster than plain
# decoding, the best γ is 0 and the speedup is 1.

# %% answer="will_it_win" points=0.25
will_it_win = {
    "eager": {"best_gamma": 0, "speedup": 1.0},
    "captured": {"best_gamma": 4, "speedup": 1.786},
}

# %% [markdown]
# ## 8. Measured
#
# Now we measure both sides of the prediction: the steps of every model, and texts that *your*
# functions write for twelve prompts. The steps are measured in two ways. "eager" is the default way
# of the transformers library. The other way is the engine of this course. On a CPU it is called
# "lean", because it runs the same operations with less Python around them. On a GPU it is called
# "captured", because its steps are CUDA graphs. It keeps KV caches in arenas (lab 4), so a rewind
# only sets a number.
#
# There are three pairs of tiny models:
#
# * `tiny`: both models have learned the same language;
# * `tiny-untrained`: the draft has learned nothing;
# * `tiny-self`: the target is its own draft. The draft is always right, and as slow as the target.
#
# On a GPU three pairs of large models follow. Nothing is downloaded here, so their weights are
# random, and the target would reject nearly every draft. So we set how many tokens each block
# keeps: this number is *scripted*. It follows the rates of the homework's table, which our tables
# call "published", or the rates of your tiny pair. Everything else is really done and timed.
# Random *prompts* are no way out: by the blog of
# [SPEED-Bench](https://arxiv.org/abs/2604.09557), they overstate the throughput by about 23 %.
#
# The cell takes a minute on a CPU. It saves its rows in `speculative-here.jsonl`. If you run it
# again, it continues where it stopped, and measures what had no room in memory.

# %% experiment="measure"
here = kit.profile()
recorder = kit.Recorder(
    "speculative-here.jsonl", kit.Provenance.here(here, "lab 6")
)
kit.roofline(kit.Bench(here, recorder))
mine, done = (
    lab.Samplers(autoregressive, speculative, ngram_draft),
    {"is_done": recorder.is_done},
)
for row in lab.experiments.decode_steps(here, n_samples=3, **done):
    recorder.save(row)
for row in lab.experiments.speculation(
    here, mine, ("tiny",), n_samples=1, n_per_source=3, **done
):
    recorder.save(row)
extreme = ("tiny-untrained", "tiny-self")
for row in lab.experiments.speculation(
    here, mine, extreme, (2, 7), n_samples=1, n_per_source=1, **done
):
    recorder.save(row)
if here.device == "cuda":
    ratios = lab.ratios_of(recorder.record())
    for row in lab.experiments.speculation(
        here, mine, ratios=ratios, n_samples=3, **done
    ):
        recorder.save(row)
records = {**kit.recorded_results("speculative-*.jsonl"), "here": recorder.record()}
print(recorder)

# %% [markdown]
# ### Steps
#
# "floor" is the time to read the weights once. Look at the columns "eager" and "layers". The second
# table of each machine has a step of eight tokens, in steps of one.

# %% experiment="steps"
display(lab.tables.steps_table(records["speculative-h200"]))
lab.figures.steps_by_model(records["speculative-h200"])

# %% [markdown]
# On the H200, an eager step takes
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=eager | ms .0f} ms
# with 0.6 billion parameters, and
# {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=eager | ms .0f} ms with 8
# billion. The
# floors are 0.28 and 3.6 ms. So the time is not the time of reading weights. It is the time of
# launching 28 or 36 layers: 0.8 ms for each. The draft takes four fifths of the target's time.
# Captured, the same models take
# {measured:speculative-h200 decode_steps model=Qwen3-0.6B n_input=1 setting=captured | ms .2f}
# and {measured:speculative-h200 decode_steps model=Qwen3-8B n_input=1 setting=captured | ms .2f}
# ms, so the draft takes one sixth.
#
# A verification is nearly free when captured: eight tokens take 1.12 times as long as one. Now the
# same for your machine:

# %% experiment="steps_here"
display(lab.tables.steps_table(records["here"]))
lab.figures.steps_by_model(records["here"])

# %% [markdown]
# ### Speedups
#
# There are three tables of the H200, with every pair at γ = 2, 3, 5 and 7: acceptance, times and
# predictions. The columns:
#
# | column | meaning |
# |---|---|
# | acc./drafted, alpha | accepted tokens divided by drafted ones, and by examined ones |
# | tokens | tokens that a block adds to the text, on average |
# | ms, alone ms | time per token with the draft, and of the target alone |
# | speedup | alone ms / ms; in brackets the smallest and the largest of several rounds |
# | by captured, by eager | your `speedup`, from alpha and steps of this kind, timed alone |
# | by own | the same, from the steps as they were timed in the run itself |
# | outside | the share of the time in neither model, below 0 by noise; "-" if not measured |
#
# %% experiment="gains"
display(lab.tables.gains_table(records["speculative-h200"], speedup))
lab.figures.gains_by_gamma(records["speculative-h200"], speedup)

# %% [markdown]
# With captured steps the H200 reaches 1.79 (0.6B draft, γ = 7), 1.51 (1.7B draft, γ = 3) and 1.82
# (Llama, γ = 7). The 1.7B draft is right more often than the 0.6B draft: at γ = 3, α is 0.84
# against 0.78. It still gains less, because its step takes
# {measured:speculative-h200 decode_steps model=Qwen3-1.7B n_input=1 setting=captured | ms .2f} ms,
# and that of the 0.6B draft
# 0.70.
#
# With eager steps the prediction for the two Qwen pairs is 0.64 to 0.90: a loss. Another record has
# one of them with eager steps, by the loop of this lab and the models of the transformers library.
# Each round runs the target alone, then γ = 2 and γ = 5. Only ratios within a round are compared,
# because the host is slower in some rounds. The process had one core of the host for itself.

# %% experiment="gains_eager"
eager = kit.recorded_results("eager-*.jsonl")["eager-h200"]
lab.tables.gains_table(eager, speedup, "eager_speculation")

# %% [markdown]
# The brackets are wide. But the rounds agree: at γ = 5 speculation is slower in 28 of 30 rounds, and
# at γ = 2 in 24 of 30. The medians of the ratios are 0.69 and 0.85. The prediction "by own" uses
# the steps of the run itself. They take longer than the same steps alone. Other processes on the
# host can change such a record; they hardly change captured steps.
#
# How good is the prediction for captured steps? A ratio of 1 means that the three durations and α
# explain everything.

# %% experiment="residuals"
lab.figures.residuals(records["speculative-h200"], speedup)

# %% [markdown]
# On the H200 the measured speedup is 2 to 6 % below the prediction. The prediction leaves out three
# things. After a full acceptance the draft is fed two tokens in one step. Drawing tokens takes
# time. And once per block the host looks at the result. On this machine the time of Python between
# the calls matters more: see the column "outside". Each row has one round here, so the two numbers
# in its brackets are equal.

# %% experiment="gains_here"
display(lab.tables.gains_table(records["here"], speedup))
lab.figures.gains_by_gamma(records["here"], speedup)

# %% [markdown]
# The pair `tiny-self` has α = 1, and still loses. Each block makes γ + 1 tokens, but it takes γ
# steps of a draft that is as slow as the target, and one verification.
#
# ## 9. Where the drafts come from
#
# The prompts come from four sources: paths in graphs (`graph`), instructions (`instruction`),
# multiple choice (`choice`), and counting or sums (`pattern`). The table is of the pair `tiny` in the
# course's record of a CPU. It has two γ: 3, which is the best, and 7.

# %% experiment="sources_recorded"
rows = []
for gain in lab.gains(records["speculative-cpu"], speedup, "by_source"):
    if gain.row.model == "tiny" and gain.gamma in (3, 7):
        alpha, low, high = gain.alpha
        interval = f"{alpha:.2f} [{low:.2f}, {high:.2f}]"
        rows.append([gain.row.setting, interval, f"{gain.speedup[0]:.2f}"])
display(kit.Table(["setting", "α", "speedup"], rows))
lab.sweep_figures.acceptance_by_source(records["speculative-cpu"], "tiny", speedup)

# %% [markdown]
# α differs because the overlap of the two models differs. So one α for a pair is an average over
# prompts. Tokens of one prompt are not independent, so the intervals here are computed over
# prompts. On this CPU a long block is expensive: a verification of eight tokens takes 2.3 times as
# long as a step of the target.
#
# ### Question: four sources
#
# Use the table at γ = 3, and for the last key at γ = 7. `"highest"` and `"lowest"` are the sources
# with the highest and the lowest α. `"overlap"` is the list of the two sources whose intervals of α
# overlap: the table cannot say which of the two is better. `"lowest_at_7"` is the speedup of the
# lowest source at γ = 7. (A check here only tells you whether your answer can be read.)

# %% answer="sources" points=0.25
sources = {
    "highest": "choice",
    "lowest": "pattern",
    "overlap": ["instruction", "pattern"],
    "lowest_at_7": 0.85,
}

# %% [markdown]
# Now we try γ from 1 to 10 on two kinds of prompts, with two drafts: the small model, and the
# copying of section 5. "simple" prompts are those of the source `pattern`, and "normal" ones are
# instructions. First comes a record of the same kind of CPU, then a short run on this machine.

# %% experiment="regimes"
ten_gammas = kit.recorded_results("regimes-*.jsonl")["regimes-cpu"]
display(lab.tables.regimes_table(ten_gammas, speedup))
display(lab.sweep_figures.regimes(ten_gammas, speedup))
some = {"gammas": (1, 2, 4, 7, 10), "lengths": (64,)}
some |= {"n_per_source": 1, "n_samples": 1}
for row in lab.experiments.regimes(here, mine, **some, **done):
    recorder.save(row)
records["here"] = recorder.record()
lab.tables.regimes_table(records["here"], speedup)

# %% [markdown]
# In the record the draft model is best at γ = 1 for simple prompts, and at γ = 4 for normal prompts.
# From γ = 1 to 5 its curves are nearly flat. At γ = 10 they are lower: each further token costs a
# full step of the draft and is used more rarely. Copying has no step of a draft, but the copied
# tokens must be verified too. On this CPU a verification of four tokens takes 1.6 times as long as a
# step. So copying gains only for simple prompts at γ = 1, and only a little. For normal prompts
# little can be copied, so copying loses at every γ.
#
# ### Written answer: choosing γ
#
# Use the tables of the H200 under "Speedups" (captured steps). (6 to 8 sentences, with numbers.)
#
# 1. Accepted / drafted falls with γ. Why, if α does not?
# 2. *Draft sizes.* Compare the two Qwen pairs: which draft is accepted more often, and which is
#    faster in the end? Why?
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
# ## 10. Two GPUs
#
# Run the same pair with the same γ and the same prompts on two GPUs. α stays the same: it is a
# property of the two models. The three durations change. The first table shows the best and the
# worst setting of the H200, measured on an H100 and on an H200. "target ms" and "draft ms" are
# captured steps of one token. The brackets hold the smallest and the largest speedup of several
# rounds. If two brackets do not overlap, the difference is more than chance.
#
# The second table predicts one pair on five GPUs, from data sheets. In eager PyTorch, a step is the
# longer of two times: the host needs about 0.75 ms to launch each layer, and the GPU needs time to
# read the weights. The rows "no launches" leave out the host.

# %% experiment="two_cards"
two_cards = [
    kit.recorded_results()[f"speculative-{card}"] for card in ("h100", "h200")
]
display(lab.tables.same_settings_table(two_cards, speedup))
lab.cards_table(speedup, best_gamma, "qwen3-8b-0.6b", 0.78)

# %% [markdown]
# On the L4 the eager target waits for its memory, and the draft for its launches: speculation gains.
# On the other GPUs both wait for launches, and nearly nothing is gained. Without launches all three
# durations are bytes divided by bandwidth. So the bandwidth has no effect on their ratios, and the
# gain is the same on every GPU. Measured gains are smaller. A part of a small step is not reading
# weights, so the draft costs more than its share of the bytes.
#
# ### Question: two GPUs
#
# * `"bandwidth_factor"` and `"flops_factor"`: how many times the L4's are the H200's GB/s and
#   TFLOP/s?
# * `"verification_waits_for"`: what decides about the time of a verification of 8 tokens without
#   launches, `"bandwidth"` or `"flops"`? Compare the last two columns of milliseconds.
# * `"gained_more"`: which card gained more in the measured table, `"H100"` or `"H200"`?
# * `"may_be_chance"`: may this difference be chance? Write `True` or `False`.

# %% answer="two_gpus" points=0.25
two_gpus = {
    "bandwidth_factor": 16,
    "flops_factor": 8.2,
    "verification_waits_for": "bandwidth",
    "gained_more": "H100",
    "may_be_chance": False,
}

# %% [markdown]
# ## 11. Drafts of today
#
# A draft model of its own is the older way. Since 2024 large models come with a *draft head*. It is
# one more layer, which reads the target's own last hidden state and the token that was drawn.
# Two examples are [EAGLE](https://arxiv.org/abs/2401.15077) and DeepSeek-V3's
# [MTP](https://arxiv.org/abs/2412.19437). The head needs no prompt and no second model in
# memory, and it knows what the target has computed. It shares the target's matrix of logits, so its
# distribution comes at the price of this matrix. It goes through the same sampler: to your
# `speculative` it is a draft like any other.
#
# The tiny target has such a head, which was trained in minutes (`training/` in the repository). A
# record of a CPU has all three drafts at γ = 3:

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
# The head is accepted far more often: its α is 0.88, and that of the draft model 0.75. It is better
# for all four sources. But a call of the head takes 0.20 of a target step, and one of the draft
# model 0.07. So this CPU shows no difference between the speedups, 1.28 and 1.25. This draft model is
# one narrow layer. The head has the width of the target, and multiplies by its matrix of logits.
#
# In large models the head is cheap, too. It is one layer in place of the 28 layers of a 0.6B draft,
# and each layer has its launches. In SGLang on an H100,
# [EAGLE-3](https://arxiv.org/abs/2503.01840) makes Llama-3.1-8B 1.81 times as fast with 2 texts in
# a batch, and 1.38 times with 64 (its Table 3).
#
# ## 12. Several texts at once
#
# In a batch, every row has its own number of accepted tokens. So after one block the rows have
# different lengths. A common fault is to pad the rows without masking the padding. Another one is
# to rewind all caches to the shortest row: then the other rows lack tokens. Both change what the
# models see. If α falls when the batch grows, suspect such a fault. The rows do not depend on each
# other, so α must stay the same.
#
# `verify` can be computed for all rows at once, without a loop over rows. Compare all ratios with
# uniforms, and take the *cumulative* product along each row, so that all entries after a rejection
# are 0. The sum of these products is the number of accepted tokens.

# %% exercise="labkit.speculative:verify_batch" points=0.5 minutes=20 level=2

# %% [markdown]
# Does speculation help a server with many texts? A step needs no text to be timed. So one record has
# steps of a serving engine on an H200: B texts with 1 to 8 new tokens each, after 512, 4,096 or
# 16,384 cached ones. *Your* `speedup` and `best_gamma` predict from them, at α = 0.78. (In a real
# batch α does not depend on B: the tiny pair had 0.758, 0.753 and 0.754 with 1, 2 and 4 texts.)
# "verify / step" is a verification of 8 tokens, or of the number in brackets, in steps of one.

# %% experiment="batch_sizes"
batches_h200 = kit.recorded_results("batches-*.jsonl")["batches-h200"]
display(lab.batches_table(batches_h200, speedup, best_gamma))
lab.by_batch(batches_h200, speedup, best_gamma)

# %% [markdown]
# With short texts the gain falls when B grows. A few texts leave the arithmetic units idle, and a
# verification uses them. With 128 texts a step of 8 tokens each is 1,024 tokens. They are beyond
# the ridge point (lab 2), and the verification takes 3.6 steps.
#
# With long texts, a step mostly reads the KV caches. A verification reads them once for all its
# tokens, so it stays cheap: 1.4 steps with 32 texts of 16,384 tokens. But a draft with a cache of
# its own reads that, too, and the gain falls again. In the right panel the draft keeps only its
# last 512 tokens. Then the gain *grows* with B. This is the main result of
# [MagicDec](https://arxiv.org/abs/2408.11049). Such a draft sees less, so its real α is lower than
# 0.78; measure it. A head that reads the target's states is another way out.
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

# %% answer="batches" points=0.5
batches = {"first_without_gain": 256, "keeps_all": 1.07, "keeps_512": 2.22}

# %% [markdown]
# ### Written answer: batches
#
# Write pseudo-code for one block of speculative decoding with B rows (10 to 15 lines). Then name
# three difficulties that a single text does not have. For each, say what goes wrong if you ignore
# it and what your pseudo-code does about it. (One or two sentences each.)

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
# ## 13. Blocks of changing length, and trees
#
# You can choose γ anew before every block, from what was accepted so far. Text that is easy for the
# draft gets long drafts, and surprising text gets short ones. The distribution of the text stays
# the same, because the choice depends only on tokens that are already written. So an adaptive γ is
# *lossless*, in the sense of section 4.
#
# The durations in this cell are invented: 0.3 for a step of the draft, 4.8 for a step of the
# target, and 4.8 + 0.2 γ for a verification.

# %% experiment="adaptive"
blocks = []


def gamma_now():
    recent = [block for block in blocks if block.n_drafted][-6:]
    alpha = acceptance_rate(recent) if len(recent) > 2 else 0.7
    return best_gamma(
        alpha, 0.3, 4.8, lambda gamma: 4.8 + 0.2 * gamma, max_gamma=10
    )


target, draft = (
    lab.TransformersModel(pair.target.model),
    lab.TransformersModel(pair.draft.model),
)
rng = Generator("cpu").manual_seed(0)
new = speculative(target, draft, prompt, 80, gamma_now, rng=rng, blocks=blocks)
print(
    "accepted / drafted:",
    *(f"{block.n_accepted}/{block.n_drafted}" for block in blocks),
)

# %% [markdown]
# *SpecInfer* drafts a tree and not a line: several guesses for one place, and the target verifies
# all of them in one call. A mask lets each token see the text, its ancestors and itself. The
# position of a token is its depth in the tree. `lab.ancestor_mask` makes that mask. The
# decision is new: if a child is rejected, its next sibling gets a chance. `check_tree(tokens, parents,
# draft_probs, target_probs)` refuses what is no tree.

# %% exercise="labkit.speculative:verify_tree" points=1.25 minutes=45 level=3

# %% [markdown]
# Does the text still have the target's distribution? Count every outcome, as in section 4.
# `lab.speculative_tree` drafts the trees and calls your `verify_tree`. Widths of `[2, 1]` mean two
# children of the text's last token, and one child of each of them. The toy models here know two
# tokens, so that trees have few outcomes.

# %% experiment="tree_law"
rng = Generator("cpu").manual_seed(57)
tree_target, tree_draft = (lab.TableModel.random(2, rng) for _ in range(2))


def tree_text(source, n_new, widths, blocks=None):
    tree_target.rewind(0)
    tree_draft.rewind(0)
    models = tree_target, tree_draft
    mine = {"verify_tree": verify_tree, "distribution": distribution}
    with kit.scripted(source, globals()):
        return lab.speculative_tree(
            *models, [0], n_new, widths, blocks=blocks, **mine
        )


def tree_next_probs(new):
    tree_target.rewind(0)
    return distribution(tree_target.feed([0, *new])[-1]).tolist()


tree_law = kit.exact_law(lambda source: tree_text(source, 4, [2, 1]))
print(f"{tree_law.n_paths} paths, {len(tree_law.probabilities)} texts")
difference = tree_law.deviation(kit.text_law(tree_next_probs, 4))
print(f"largest difference: {difference:.1e}")

# %% [markdown]
# How many tokens does a call of the target give? You need no measurement for that. Each outcome
# has a probability, so the average over all outcomes of one block is exact.


# %% experiment="trees"
def tokens_per_call(widths):
    def block(source):
        blocks = []
        tree_text(source, len(widths) + 1, widths, blocks)
        return [1 + blocks[0].n_accepted]

    block_law = kit.exact_law(block)
    return sum(n * share for (n,), share in block_law.probabilities.items())


rows = []
for widths, n_guesses in (
    ([1], 1),
    ([2], 2),
    ([3], 3),
    ([1, 1], 2),
    ([2, 1], 4),
    ([2, 2], 6),
):
    rows.append([str(widths), n_guesses, f"{tokens_per_call(widths):.3f}"])
kit.Table(["widths", "guesses in a tree", "tokens per call of the target"], rows)

# %% [markdown]
# More guesses for the same place give more tokens, and each further guess brings less. It also
# costs a draft step and a place in the verification.
#
# ## 14. Step by step
#
# The player shows one block after another, token by token: what both models say, the random number,
# and what happens to the token. It calls your `distribution` and your `residual`.

# %% experiment="player"
lab.speculation_player(distribution, residual, pair)

# %% [markdown]
# ## What you have shown
#
# Your samplers have exactly the target's distribution: you added up every possible outcome. On the
# H200 the three pairs run 1.42 to 1.82 times as fast with captured steps. With eager steps the same
# algorithm loses. The difference is whether a step of the small model is fast. In a batch, the
# difference is what a step waits for: its weights, its arithmetic or its KV caches.
#
# **Read next**
#
# * [Fast Inference from Transformers via Speculative Decoding](https://arxiv.org/abs/2211.17192)
#   (Leviathan et al., 2023): section 3 has the theory of sections 6 and 7, and figures of the best
#   γ.
# * [Accelerating Large Language Model Decoding with Speculative
#   Sampling](https://arxiv.org/abs/2302.01318) (Chen et al., 2023): a wide and shallow draft, made
#   for a short step.
# * [SpecInfer](https://arxiv.org/abs/2305.09781) (Miao et al., 2024): trees of drafts.
# * [MagicDec](https://arxiv.org/abs/2408.11049) (Sadhukhan et al., 2024): speculation with large
#   batches and long contexts.
#
# Further: [Inference with Reference](https://arxiv.org/abs/2304.04487) (Yang et al., 2023) copies
# drafts from documents. [Wertheimer et al. (2024)](https://arxiv.org/abs/2404.19124) measure how
# the gain shrinks when batches grow.
