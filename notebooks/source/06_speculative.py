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
# A decode step reads all weights of the model to make one token (lab 2). The same step could judge
# eight tokens in nearly the same time, if only we had eight to judge. Speculative decoding gets
# them from a *draft*, a small model or no model at all, and keeps those that the *target* agrees
# with. The text follows exactly the law of the target: nothing is traded for the speed.
#
# Reports on this homework often end with a "speedup" of 0.5: twice as slow. In this lab we
#
# 1. write the sampler, and prove with every possible outcome that its law is the target's;
# 2. draft without a model, by copying;
# 3. measure how much is accepted, and count it right;
# 4. predict the speedup from three times and one probability, and find out why it was 0.5;
# 5. take the same pairs on the same card to above 1.5.
#
# Everything runs on a CPU, with a pair of tiny models that have learned the same language. Records
# of an H200 stand beside it. **16 points**, 2 of them for words.

# %% given="setup"
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Generator, Tensor

from labkit.chance.source import scripted
from labkit.checks import Checker
from labkit.checks.law import exact_law, text_law
from labkit.labs.speculative import figures as speculative_figures
from labkit.labs.speculative import sweep_figures as speculative_sweep_figures
from labkit.labs.speculative.experiments import decode_steps, regimes, speculation
from labkit.labs.speculative.models import CopyDraft, Counted, TableModel, TransformersModel
from labkit.labs.speculative.records import gains, ratios_of
from labkit.labs.speculative.sampled import Samplers
from labkit.labs.speculative.tables import gains_table, hardware_table, regimes_table, steps_table
from labkit.labs.speculative.trees import ancestor_mask, speculative_tree
from labkit.labs.speculative.widget import speculation_player
from labkit.measuring.bench import Bench, roofline
from labkit.measuring.machine import ready, use_one_thread
from labkit.measuring.profiles import profile
from labkit.measuring.records import Provenance, Recorder, recorded_results
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.models.arguments import check_rows, check_sampling, check_start, cut_after
from labkit.models.prompts import prompts
from labkit.models.sampling import Block, CachedModel, sample
from labkit.zoo import load_pair

use_one_thread()  # several threads wait for each other when the machine is busy
check = Checker("speculative", globals())
print(ready())

# %% [markdown]
# ## 1. Two papers, two alphabets
#
# Two groups published the method within weeks, and they use the same two letters the other way
# round: [Leviathan et al., Algorithm 1](https://arxiv.org/abs/2211.17192) and [Chen et al.,
# Algorithm 2](https://arxiv.org/abs/2302.01318). Whoever takes the ratio from one paper and the
# residual from the other has a sampler that runs, writes fluent text and is wrong. So in this lab
# both distributions have full names, `target_probs` and `draft_probs`.
#
# ### Question: which letter is which?
#
# Look it up in both papers: the letter of the target's distribution, that of the draft's, and the
# difference whose positive part is the law of the token after a rejection. All as strings, the
# difference like `"a - b"`.

# %% answer="notation" points=0.5
notation = {
    "Leviathan et al., Algorithm 1": {"target": "p", "draft": "q", "residual": "p - q"},
    "Chen et al., Algorithm 2": {"target": "q", "draft": "p", "residual": "q - p"},
}

# %% [markdown]
# ## 2. From logits to a law
#
# Temperature, top-k and top-p turn logits into the distribution that tokens are drawn from. Both
# models get the same treatment *before* anything is compared: the law that speculation keeps is
# that of the target as it would be sampled.
#
# Temperature 0 is no division by zero but the limit: all probability on the largest logit.

# %% exercise="labkit.speculative:distribution" points=1

# %% [markdown]
# A model in this lab is an object with a cache: `feed(tokens)` puts tokens behind the cached ones
# and returns a row of logits for each of them, `rewind(n)` forgets all but the first n tokens,
# `n_cached()` says how many there are. So one interface holds for a table of probabilities, for
# transformers with its cache, and for the fast engine of section 7.
#
# First the plain loop, one token per call. It is what everything else will be compared with.

# %% exercise="labkit.speculative:autoregressive" points=1

# %% experiment="a_text"
pair = load_pair("tiny")
tokenizer = pair.target.tokenizer
prompt = tokenizer("The kettle on the stove")["input_ids"]
target = TransformersModel(pair.target.model)
new = autoregressive(target, prompt, 30, rng=Generator("cpu").manual_seed(0))
print(tokenizer.decode(prompt + new))

# %% [markdown]
# ## 3. Accept or replace
#
# The draft has proposed token x, drawn from its own distribution. The target has looked at it too:
# now there are two probabilities of x, target(x) and draft(x). If the target likes x at least as
# well as the draft does, x stays. If not, x stays with probability target(x) / draft(x).
#
# So a token ends up in the text by this road with probability draft(x) · min(1, target(x) /
# draft(x)) = min(draft(x), target(x)). What is missing to target(x) is max(0, target(x) -
# draft(x)): tokens that the draft proposes too rarely. The second road supplies exactly that. When
# a proposal is rejected, the token is drawn from the *residual*, which is that difference,
# normalised. Both roads together give min(draft, target) + max(0, target - draft) = target. That
# is the whole proof.

# %% exercise="labkit.speculative:residual" points=1

# %% experiment="two_roads"
words = ["the", "a", "his", "no"]
target_probs = torch.tensor([0.50, 0.30, 0.15, 0.05])
draft_probs = torch.tensor([0.70, 0.10, 0.15, 0.05])
kept = torch.minimum(target_probs, draft_probs)
again = (1 - kept.sum()) * residual(target_probs, draft_probs)
print(f"{'':<6}{'target':>8}{'draft':>8}{'kept':>8}{'replaced':>10}{'together':>10}")
for row in zip(words, target_probs, draft_probs, kept, again, kept + again, strict=True):
    print(f"{row[0]:<6}{row[1]:>8.2f}{row[2]:>8.2f}{row[3]:>8.2f}{row[4]:>10.2f}{row[5]:>10.2f}")
print(f"accepted: {kept.sum():.0%}")

# %% [markdown]
# The chance that a proposal is accepted is the sum of the minima, here 80 %: what the two
# distributions have in common. It is called α, and everything about speed follows from it.
#
# Now a whole block of k drafted tokens. They are judged from left to right, each with a random
# number *of its own*, and the first rejection ends it: what stands behind it was drafted after a
# token that is not in the text. If none is rejected, the target's last row is still unused: it
# gives one more token for nothing.

# %% exercise="labkit.speculative:verify" points=2

# %% [markdown]
# ## 4. The sampler
#
# Both models have a cache, and both caches hold tokens that are taken back. The simplest order is
# this: **the last token of the text is in no cache yet.**
#
# | | target | draft |
# |---|---|---|
# | at the start | fed the prompt but its last token | the same |
# | drafting | | fed what it lacks, gives x₁; fed x₁, gives x₂; ... |
# | verifying | fed the last token and x₁ ... xₖ in *one* call: k + 1 rows | |
# | after n were kept | back to the text without its last token | back as far, if it is that far |
#
# After a full acceptance the draft lacks two tokens: xₖ, which it proposed but was never fed, and
# the token that the target added. Who forgets that gets the right law all the same, with a draft
# that has a hole in its memory and proposes worse and worse. Such mistakes cost speed only, so no
# look at the text finds them; the checks count what both models are fed.
#
# Never draft more than can be used: of the last r tokens, r - 1 can come from the draft. And the
# text may end inside a block: what stands behind the end-of-text token is cut off.

# %% exercise="labkit.speculative:speculative" points=4

# %% [markdown]
# ### Every outcome at once
#
# Is the law the target's? One could draw a million texts and compare frequencies; a fault of half
# a percent would still go unnoticed. There is a better way when the models are small: let
# something else decide all that is random. `exact_law` runs your sampler again and again, and each
# time a random number is asked for, it takes another of the possible answers, until every path has
# been walked. The probabilities of the paths are known, so the law comes out *exactly*. The same
# runs in the checks above.

# %% experiment="every_outcome"
rng = Generator("cpu").manual_seed(6)
toy_target, toy_draft = TableModel.random(3, rng), TableModel.random(3, rng)


def play(source):
    toy_target.rewind(0)
    toy_draft.rewind(0)
    with scripted(source, globals()):
        return speculative(toy_target, toy_draft, [0], 4, 2, eos=2)


def next_probs(new):
    toy_target.rewind(0)
    return distribution(toy_target.feed([0, *new])[-1]).tolist()


law, expected = exact_law(play), text_law(next_probs, 4, eos=2)
print(f"{law.n_paths} ways to fall, {len(law.probabilities)} texts")
for text in sorted(expected, key=expected.get)[-5:]:
    print(f"{text!s:<16}target {expected[text]:.6f}   speculative {law.probabilities[text]:.6f}")
print(f"largest difference: {law.deviation(expected):.1e}")

# %% [markdown]
# Try it: put `target_probs[i]` in the place of the residual in your `verify`, run the cells again,
# and look at the difference. (Then put it back.)
#
# And the real pair, greedy: with temperature 0 the text must be the target's own, token by token.

# %% experiment="greedy"
target, draft = Counted(TransformersModel(pair.target.model)), TransformersModel(pair.draft.model)
plain = autoregressive(TransformersModel(pair.target.model), prompt, 60, temperature=0)
blocks = []
new = speculative(target, draft, prompt, 60, 5, temperature=0, blocks=blocks)
print(f"the same text: {new == plain}")
print(f"{len(new)} tokens in {target.n_feeds} calls of the target; kept of each block:")
print(*(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# ## 5. Drafts that are no models
#
# Text repeats itself: a name that was introduced, a line of code, a question that the answer takes
# up. *Prompt lookup* looks for the last few tokens earlier in the text and proposes what followed
# there. Its distribution is one-hot: it is certain of its proposal. Nothing about `verify` changes:
# the token is accepted with probability target(x) / 1, and the residual is the target without x.

# %% exercise="labkit.speculative:ngram_draft" points=1

# %% [markdown]
# *Inference with reference* copies from another text, such as a document that the question is
# about. That is the same search, with the reference before the prompt. Here the reference is the
# greedy text of the last section, so nearly every token can be copied.

# %% experiment="reference"
reference, blocks = [*prompt, *plain], []
target = TransformersModel(pair.target.model)
draft = CopyDraft(lambda text, n: ngram_draft([*reference, *text], n), target.vocab_size)
new = speculative(target, draft, prompt, 60, 5, temperature=0, blocks=blocks)
print(f"the same text: {new == plain}; kept of each block:")
print(*(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# ## 6. How much is accepted
#
# α is a probability, and a probability is estimated by counting: in how many of the trials did it
# happen? A trial is a token that was *examined*. Behind the first rejection nothing is examined,
# so of a block with 5 drafted tokens and 2 accepted ones 3 were examined, and the other 2 say
# nothing. The token that the target adds is not drafted at all.
#
# Many reports divide by all drafted tokens instead. Then the "acceptance rate" falls as γ grows,
# although neither model has changed. Some count the added token as accepted: then rates above 1
# appear.

# %% exercise="labkit.speculative:acceptance_rate" points=0.5

# %% [markdown]
# ### Question: one pair, four rates
#
# For Qwen3-8B with Qwen3-0.6B as its draft, a report gives accepted / drafted: 68.5 % at γ = 2,
# 62.0 % at 3, 52.5 % at 5 and 46.7 % at 7. Which α is behind each of them? If each drafted token
# is accepted with probability α as long as all before it were, then accepted / drafted is on
# average (α + α² + ... + α^γ) / γ. Solve that for α, to three decimals. Has the pair become worse?

# %% answer="published_alpha" points=0.5
published_alpha = {2: 0.773, 3: 0.779, 5: 0.793, 7: 0.809}

# %% [markdown]
# Solved for α, the four rates rise a little: 0.77, 0.78, 0.79, 0.81. The pair is the same, and its
# drafts are if anything easier the longer the block. What fell was the number of the wrong name.
#
# ## 7. What it gains
#
# A block of γ drafted tokens makes between 1 and γ + 1 tokens. On average, with acceptance α:

# %% exercise="labkit.speculative:expected_tokens" points=0.5

# %% [markdown]
# And it takes γ steps of the draft and one call of the target. Whether that is faster is a matter
# of three times: a draft step, a target step, a verification.

# %% exercise="labkit.speculative:speedup" points=0.5

# %% exercise="labkit.speculative:best_gamma" points=0.5

# %% experiment="tables"
print("tokens per block")
print(f"{'':>5}" + "".join(f"{f'γ = {gamma}':>9}" for gamma in (1, 2, 3, 5, 7, 10)))
for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
    cells = "".join(f"{expected_tokens(alpha, gamma):>9.2f}" for gamma in (1, 2, 3, 5, 7, 10))
    print(f"{alpha:>5}{cells}")
print("\nbest γ and speedup, by draft step / target step, verification as fast as a step")
costs = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.78)
print(f"{'':>5}" + "".join(f"{cost:>11}" for cost in costs))
for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
    best = [best_gamma(alpha, cost, 1.0, lambda gamma: 1.0) for cost in costs]
    gain = [speedup(alpha, g, cost, 1.0, 1.0) for g, cost in zip(best, costs, strict=True)]
    cells = (f"{g} / {x:.2f}" if g else "none" for g, x in zip(best, gain, strict=True))
    print(f"{alpha:>5}" + "".join(f"{cell:>11}" for cell in cells))

# %% [markdown]
# The second table has the whole story in its last column. A draft that takes 78 % of the target's
# time helps nobody: at α = 0.8 the best it can do is 1 %. And 0.78 is what you get when a draft of
# 28 layers stands before a target of 36 and every layer costs the same, whatever is in it.
#
# ### Question: will it win?
#
# The pair of the last question with α = 0.78, in two implementations on one H200. *Eager* PyTorch
# launches every kernel from the host: a step of the draft takes 25 ms, one of the target 33, and a
# verification 34, whatever γ is. *Captured* as CUDA graphs with fused kernels it is 0.8, 4.2 and
# 4.8 ms. For both: the best γ and the speedup there, to two decimals. If no γ is faster than plain
# decoding, the best γ is 0 and the speedup is 1: nothing is drafted then, and nothing verified.

# %% answer="will_it_win" points=0.5
will_it_win = {
    "eager": {"best_gamma": 0, "speedup": 1.0},
    "captured": {"best_gamma": 4, "speedup": 1.697},
}

# %% [markdown]
# ## 8. Measured
#
# Now both sides of the prediction are measured: steps of every model, by transformers as it comes
# ("eager") and by the kit's engine, and texts that *your* functions write, on twelve prompts.
# Three pairs: the tiny models; the tiny target with a draft that has learned nothing; and with
# itself as its draft, which is always right and saves nothing. The engine keeps its KV caches in
# arenas (lab 4), so that taking tokens back means setting a number. On a GPU its steps are CUDA
# graphs; from compute capability 9.0 on, of fused kernels.
#
# On a GPU three pairs of large models follow. Their weights are random, because nothing is
# downloaded here, and random models agree on nothing. So the number of tokens that each block keeps
# is *scripted*: at published rates, or at the rates that your tiny pair had. All else is done and
# timed.
#
# The cells take a minute on a CPU. What they measure stays in `speculative-here.jsonl`;
# run again, they go on where they were stopped.

# %% experiment="measure"
here = profile()
recorder = Recorder("speculative-here.jsonl", Provenance.here(here, "lab 6"))
roofline(Bench(here, recorder))
mine, done = Samplers(autoregressive, speculative, ngram_draft), {"is_done": recorder.is_done}
for row in decode_steps(here, n_samples=3, **done):
    recorder.save(row)
for row in speculation(here, mine, ("tiny",), n_samples=1, n_per_source=3, **done):
    recorder.save(row)
extreme = ("tiny-untrained", "tiny-self")
for row in speculation(here, mine, extreme, (2, 7), n_samples=1, n_per_source=1, **done):
    recorder.save(row)
if here.device == "cuda":
    for row in speculation(here, mine, ratios=ratios_of(recorder.record()), **done):
        recorder.save(row)
records = {**recorded_results("speculative-*.jsonl"), "here": recorder.record()}

# %% [markdown]
# ### Steps
#
# Why were the published speedups below 1? Look at the eager column of the H200, and at the layers
# beside it.

# %% experiment="steps"
for record in records.values():
    print(steps_table(record))
speculative_figures.steps_by_model(records["speculative-h200"])

# %% experiment="steps_here"
speculative_figures.steps_by_model(records["here"])

# %% [markdown]
# Eager, a model of 0.6 billion parameters takes 20 ms for a step and one of 8 billion takes 27,
# with floors of 0.28 and 3.6 ms: 28 launches of a layer against 36. As a draft it costs three
# quarters of what it should save. (Llama-3.2-1B has 16 layers and costs half: that pair would gain
# a little even so.) Captured, the same models take 0.70 and 4.06 ms, 88 % of what the memory allows
# for the large one, and the draft costs a sixth.
#
# And verification is nearly free, as it must be: eight tokens take 1.12 times as long as one.

# %% experiment="verification"
speculative_figures.verify_cost(records["speculative-h200"])

# %% [markdown]
# ### Speedups
#
# Every pair at γ = 2, 3, 5 and 7, beside what your `speedup` predicts from the measured steps and
# the measured α: once from the steps that were used, once from eager ones. On the H200 the rates
# that were published for the trained pairs are scripted. For the tiny pairs nothing is scripted.

# %% experiment="gains"
for record in records.values():
    print(gains_table(record, speedup))

# %% experiment="gains_h200"
speculative_figures.gains_by_gamma(records["speculative-h200"], speedup)

# %% experiment="gains_here"
speculative_figures.gains_by_gamma(records["here"], speedup)

# %% [markdown]
# Published for these pairs were 0.54 (0.6B), 0.56 (1.7B) and 0.64 (Llama). The captured steps reach
# 1.79 (0.6B, γ = 7), 1.52 (1.7B, γ = 3) and 1.82 (Llama, γ = 7), on the same card with the same
# acceptance. The draft that is right more often (α = 0.83 against 0.79) loses to the one that is
# faster.
#
# The best γ is where one more drafted token is no longer worth a step of the draft; the curve is
# flat around it. Accepted / drafted falls all the way, and α does not.
#
# How good is the prediction? A ratio of 1 says that the three times and α explain everything.

# %% experiment="residuals"
speculative_figures.residuals(records["speculative-h200"], speedup)

# %% experiment="residuals_here"
speculative_figures.residuals(records["here"], speedup)

# %% [markdown]
# On the H200 the prediction is 2 to 6 % too good. What it leaves out: after a full acceptance the
# draft is fed two tokens in one step, which takes a small model half as long again; drawing tokens;
# and a look at the outcome once per block. On a CPU Python's own work between the calls counts for
# more. (The column "outside" is the part of the time that is spent in neither model.)
#
# ## 9. Where the drafts come from, and where they do not
#
# The prompts are of four sources. Does the draft do equally well on all of them?

# %% experiment="sources"
speculative_sweep_figures.acceptance_by_source(records["here"], "tiny", speedup)

# %% [markdown]
# α differs by source because the overlap of the two models does: where the next token follows from
# a pattern, a small model knows it as well as a large one; where it takes knowledge or a long
# memory, it does not. So one number for a pair is an average over prompts, and an interval that
# treats tokens as independent is too narrow. The intervals here are over prompts.
#
# Now two kinds of prompts, γ from 1 to 10, and both drafts: the model and the copying of section 5.

# %% experiment="regimes"
some = {"gammas": (1, 2, 4, 7, 10), "lengths": (64,), "n_per_source": 1, "n_samples": 1}
for row in regimes(here, mine, **some, **done):
    recorder.save(row)
records["here"] = recorder.record()
print(regimes_table(records["here"], speedup))
speculative_sweep_figures.regimes(records["here"], speedup)

# %% [markdown]
# A maximum inside the range, and beyond some γ a loss: each further token is drafted at full price
# and used ever more rarely. Copying costs nothing to draft, but its tokens are verified too, and
# where the text does not repeat itself there is little to copy.
#
# The kit's record of a CPU has all ten γ, and texts of 128 tokens beside those of 64.

# %% experiment="regimes_recorded"
print(regimes_table(records["speculative-cpu"], speedup))
speculative_sweep_figures.regimes(records["speculative-cpu"], speedup)

# %% [markdown]
# ### In words: three trends
#
# From your table and figures: (1) accepted / drafted falls with γ; why, if α does not? (2) The
# speedup rises, and then falls; what does one more drafted token bring, and what does it cost? (3)
# The pair `tiny-self` has α = 1; why is its speedup not γ + 1, and what is it? One or two sentences
# each, with numbers from your own run.

# %% [markdown] written="trends" points=1
# *(1)* Behind a rejection all further tokens of the block are lost without having been examined,
# and a longer block has more of them behind. With α = 0.8, of 2 drafted tokens 72 % are accepted,
# of 7 only 45 %: (α + ... + α^γ) / γ.
#
# *(2)* The token number γ + 1 is used only if all γ before it were accepted: it brings α^(γ+1)
# tokens and always costs a step of the draft. At α = 0.8 the eighth brings 0.17 tokens. As soon as
# that is less than the share of a block's time that it adds, the speedup falls.
#
# *(3)* All drafts are right, so each block makes γ + 1 tokens, but the draft is as slow as the
# target: γ steps and a verification for γ + 1 tokens. The speedup is (γ + 1) / (γ + v), with v the
# time of a verification in steps: at most 1, and less because verifying γ + 1 tokens takes longer
# than a step.
#
# *Marking: a third each. (1) must name the unexamined tokens (or the geometric sum); "the draft
# gets worse" earns nothing. (2) needs both the shrinking gain and the constant price. (3) needs the
# draft's time; a number from the run without a reason earns half of the third.*

# %% [markdown]
# ## 10. Two machines
#
# The best and the worst setting of each machine we have a record of:

# %% experiment="machines"
print(hardware_table(records, speedup))

# %% [markdown]
# ## 11. Another card
#
# A report finds 0.9 on one card and 1.3 on another, with the same models, the same γ and the same
# prompts. α cannot be the reason: it is a property of the two models. What changes is the three
# times. For eager PyTorch each of them is the longer of two: what the host needs to launch the
# layers (0.75 ms each, lab 3), and what the card needs to read the weights (the floor of lab 2).

# %% experiment="four_cards"
target_work, draft_work = (ModelWork.of(f"Qwen/Qwen3-{size}") for size in ("8B", "0.6B"))
print("Qwen3-8B with Qwen3-0.6B, α = 0.78; ms of a draft step, a target step, a verification of 8")
for card in ("L4", "A100-SXM-80GB", "H100-SXM", "H200-SXM"):
    machine = Roofline.of(card)
    for way, layer_s in (("eager", 0.75e-3), ("no launches", 0.0)):

        def step_s(work, n_layers, n_fed=1, machine=machine, layer_s=layer_s):
            return max(n_layers * layer_s, pass_floor(machine, work, n_fed, 300).seconds)

        draft_s, target_s = step_s(draft_work, 28), step_s(target_work, 36)
        gamma = best_gamma(0.78, draft_s, target_s, lambda g: step_s(target_work, 36, g + 1))
        verify_s = step_s(target_work, 36, gamma + 1)
        gain = speedup(0.78, gamma, draft_s, target_s, verify_s) if gamma else 1.0
        times = [1e3 * each for each in (draft_s, target_s, step_s(target_work, 36, 8))]
        print(f"{card:<15}{machine.bandwidth / 1e12:>5.2f} TB/s  {way:<12}", end="")
        print("".join(f"{time:>7.2f}" for time in times), f"  best γ {gamma}: {gain:.2f}")

# %% [markdown]
# ### In words: why does the slower card gain more?
#
# In the eager rows the L4 gains 31 % and the H200 nothing, although it is faster by every number of
# its data sheet: 16 times the bandwidth, 8 times the FLOPs. Explain it with the times of the table.
# Which of the two data-sheet numbers matters for a verification of 8 tokens, and how do you know?
# And why do both cards gain the same when nothing is spent on launches? Three to five sentences.

# %% [markdown] written="hardware" points=1
# *The launches.* A step takes the longer of launching its layers and reading its weights. On the L4
# the target is limited by its memory (50.6 ms, launching needs 27), the draft by launching (21 ms,
# reading would take 4): c = 0.41, and speculation wins. On the H200 both are limited by launching,
# 21 against 27 ms: c = 28 / 36 = 0.78, the ratio of the layers, and nothing is gained. The faster
# card makes the target faster but not the draft.
#
# *Bandwidth, not FLOPs.* A verification of 8 tokens does 8 times the arithmetic of a step and takes
# as long to the digit, on every card: far below the ridge point (hundreds of FLOPs per byte), the
# weights are what is waited for. So FLOP/s do not appear in any of these times.
#
# *Without launches* all three times are bytes over bandwidth; the bandwidth cancels in their
# ratios, and with it the card.
#
# *Marking: a third each for (1) the draft, unlike the target, does not get faster with the card
# because its time is launching; (2) verification is limited by bandwidth, shown by the equal times
# or by the ridge point; (3) ratios of times, in which the bandwidth cancels. "The H200 has more
# TFLOPS" or "more bandwidth" as the reason for a difference in gain, without the draft: nothing for
# (1).*

# %% [markdown]
# ## 12. Several texts at once
#
# In a batch every row has its own number of accepted tokens, so after one block all rows have
# different lengths. Whoever pads them to the same length and forgets to mask, or rewinds all to the
# shortest, changes what the models see: in one published report α falls from 0.858 for one row to
# 0.649 for two and 0.618 for four. It cannot: rows know nothing of each other.
#
# The verdict itself is the same for every row, and needs no loop: compare, take the product along
# the row so that all behind a rejection is 0, sum.

# %% exercise="labkit.speculative:verify_batch" points=0.5

# %% experiment="batches"
recorded = recorded_results("batched-*.jsonl")["batched-cpu"]
print(gains_table(recorded, speedup, "batch_sweep"))
speculative_sweep_figures.by_batch(recorded, speedup)

# %% [markdown]
# α stays within its interval, whatever the batch. The speedup does not stay: the rows that draft
# well wait for those that draft badly, and with several rows a step is no longer as cheap as
# before; batching has taken part of the gain already. Speculation is for small batches.
#
# ## 13. Blocks of changing length, and trees
#
# γ can be chosen anew before every block, from what was accepted so far: text that repeats a
# pattern gets long drafts, text that surprises short ones, and 0 is a plain step. The law does not
# change, since the choice looks only at what is already written.

# %% experiment="adaptive"
blocks = []


def gamma_now():
    recent = [block for block in blocks if block.n_drafted][-6:]
    alpha = acceptance_rate(recent) if len(recent) > 2 else 0.7
    return best_gamma(alpha, 0.3, 4.8, lambda gamma: 4.8 + 0.2 * gamma, max_gamma=10)


target, draft = TransformersModel(pair.target.model), TransformersModel(pair.draft.model)
rng = Generator("cpu").manual_seed(0)
new = speculative(target, draft, prompt, 80, gamma_now, rng=rng, blocks=blocks)
print("kept / drafted:", *(f"{block.n_accepted}/{block.n_drafted}" for block in blocks))

# %% [markdown]
# *SpecInfer* drafts a tree instead of a line: several continuations, verified in one call. A mask
# lets each token see its ancestors and itself; its position is its depth. Here two children of the
# text, and two of each of those, as their six rows of the mask:

# %% experiment="tree_mask"
for parent, row in zip(parents := [-1, -1, 0, 0, 1, 1], ancestor_mask(parents), strict=True):
    print(f"behind {parent:>2}:", *("x" if seen else "." for seen in row))

# %% [markdown]
# At each node the children are tried one after the other by the rule of section 3. Each time one
# is rejected, the residual takes the place of the target's distribution. The text then still has
# the target's distribution, if the children were *drawn* from the draft.
#
# Here the kit's `speculative_tree` writes with your `distribution` and your `residual`. A width of
# 2 means two children at each node of that depth.

# %% experiment="trees"
print("widths     guesses in a tree   tokens written per call of the target")
for widths in ([1, 1, 1], [2, 1, 1], [2, 2, 1]):
    own, blocks = {"distribution": distribution, "residual": residual}, []
    for seed, each in enumerate(prompts()[::4]):
        target, draft = TransformersModel(pair.target.model), TransformersModel(pair.draft.model)
        rng, text = Generator("cpu").manual_seed(seed), tokenizer(each.text)["input_ids"]
        speculative_tree(target, draft, text, 40, widths, rng=rng, blocks=blocks, **own)
    n_guesses = widths[0] * (1 + widths[1] * (1 + widths[2]))
    print(f"{widths!s:<11}{n_guesses:<20}{5 * 40 / len(blocks):.2f}")

# %% [markdown]
# With more guesses a call keeps more tokens. Each further guess brings less, and it costs a draft
# step and a place in the verification.
#
# ## 14. In the lecture
#
# One block after another, token by token: what both models say, the random number, and what becomes
# of the token. The player calls your `distribution` and your `residual`.

# %% experiment="player"
speculation_player(distribution, residual, pair)

# %% [markdown]
# ## 15. The result
#
# The sentence at the beginning was: keep the pairs, keep the card, and get from 0.5 to above 1.5.
# Both ends of it from one record, by your own `speedup`:

# %% experiment="result"
for gain in gains(records["speculative-h200"], speedup):
    eager, fast = gain.predicted["eager"], gain.predicted["captured"]
    words = f"{gain.row.model:<14}γ = {gain.gamma}: α = {gain.alpha[0]:.2f}"
    print(f"{words}, eager steps {eager:.2f}, captured {fast:.2f}, measured {gain.speedup[0]:.2f}")

# %% [markdown]
# What made the difference is not the algorithm, which is the same 30 lines in both cases. It is
# that a small model must be allowed to be fast.
#
# ## Words
#
# * **Target, draft**: the model whose law the text has; what proposes tokens, a model or not.
# * **γ** (gamma): tokens drafted in a block. **α** (alpha): the chance that an examined one is
#   accepted, 1 minus the total variation distance of the two distributions.
# * **Residual**: what the target has beyond the draft, normalised; the law of the token after a
#   rejection.
# * **Bonus token**: the one that the target adds after a full acceptance.
# * **Examined**: drafted, and not behind a rejection.
# * **c**: seconds of a draft step over those of a target step.
# * **Prompt lookup**, n-gram draft: copying what followed earlier.
# * **Captured**: recorded as a CUDA graph, which the host launches as one thing.
#
# ## Further reading
#
# * [Fast Inference from Transformers via Speculative Decoding](https://arxiv.org/abs/2211.17192)
#   (Leviathan et al., 2023): the theory; the tables of section 7 are in it.
# * [Accelerating Large Language Model Decoding with Speculative
#   Sampling](https://arxiv.org/abs/2302.01318) (Chen et al., 2023): a wide and shallow draft for
#   Chinchilla, made for its latency.
# * [SpecInfer: Accelerating Generative Large Language Model Serving with Tree-based Speculative
#   Inference and Verification](https://arxiv.org/abs/2305.09781) (Miao et al., 2024): trees.
# * [Inference with Reference: Lossless Acceleration of Large Language
#   Models](https://arxiv.org/abs/2304.04487) (Yang et al., 2023): drafts copied from documents.
# * [Accelerating Production LLMs with Combined Token/Embedding
#   Speculators](https://arxiv.org/abs/2404.19124) (Wertheimer et al., 2024): what is left of the
#   gain when batches grow.
