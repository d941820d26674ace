"""Wrong answers to `speculative`: edits of the reference, or the whole answer."""

# fails the_text_has_the_targets_law

# %% one uniform for the whole block
# - n_kept, token = verify(drafted, rows, target_probs, rng)
u = torch.rand(())
kept = [bool(u < target_probs[i, x] / rows[i, x]) for i, x in enumerate(drafted)]
n_kept = [*kept, False].index(False)
left = residual(target_probs[n_kept], rows[n_kept]) if n_kept < len(drafted) else target_probs[-1]
token = sample(left, rng)

# %% the residual is the target
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, target_probs, rng)
if n_kept < len(drafted):
    token = sample(target_probs[n_kept], rng)

# %% kept whenever the target likes it more
# - n_kept, token = verify(drafted, rows, target_probs, rng)
kept = [bool(target_probs[i, x] >= rows[i, x]) for i, x in enumerate(drafted)]
n_kept = [*kept, False].index(False)
left = residual(target_probs[n_kept], rows[n_kept]) if n_kept < len(drafted) else target_probs[-1]
token = sample(left, rng)

# fails the_text_has_the_targets_law one_target_call_verifies_a_block
#   no_model_is_fed_a_token_twice greedy_text_is_the_targets every_block_is_reported

# %% the absolute difference
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, target_probs, rng)
if n_kept < len(drafted):
    token = sample((target_probs[n_kept] - rows[n_kept]).abs(), rng)

# %% the rejected token stays
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, target_probs, rng)
if n_kept < len(drafted):
    token = drafted[n_kept]

# fails the_text_has_the_targets_law greedy_text_is_the_targets

# %% the ratio upside down
# - n_kept, token = verify(drafted, rows, target_probs, rng)
kept = [bool(torch.rand(()) < rows[i, x] / target_probs[i, x]) for i, x in enumerate(drafted)]
n_kept = [*kept, False].index(False)
left = residual(target_probs[n_kept], rows[n_kept]) if n_kept < len(drafted) else target_probs[-1]
token = sample(left, rng)

# %% the draft's own text
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = len(drafted), sample(target_probs[-1], rng)

# fails the_text_has_the_targets_law both_models_are_told_how_to_sample

# %% kept with the target's probability
# - n_kept, token = verify(drafted, rows, target_probs, rng)
kept = [bool(torch.rand(()) < target_probs[i, x]) for i, x in enumerate(drafted)]
n_kept = [*kept, False].index(False)
left = residual(target_probs[n_kept], rows[n_kept]) if n_kept < len(drafted) else target_probs[-1]
token = sample(left, rng)

# fails the_text_has_the_targets_law both_models_are_told_how_to_sample
#   greedy_text_is_the_targets

# %% the target's rows shifted by one
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, torch.cat([target_probs[1:], target_probs[-1:]]), rng)

# %% the bonus from the position before
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, target_probs, rng)
if n_kept == len(drafted) > 0:
    token = sample(target_probs[-2], rng)

# fails the_text_has_the_targets_law greedy_text_is_the_targets
#   a_draft_may_have_nothing_to_propose

# %% the bonus from the draft
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, target_probs, rng)
if n_kept == len(drafted) > 0:
    more = draft.feed(drafted[-1:])[-1]
    token = sample(distribution(more, temperature, top_k, top_p), rng)

# fails the_text_has_the_targets_law the_text_ends_in_time one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported greedy_text_is_the_targets

# %% the rejected position is dropped
# - text += cut_after([*drafted[:n_kept], token], eos)
text += cut_after([*drafted[:n_kept], *[token][n_kept < len(drafted) :]], eos)

# fails the_text_ends_in_time no_more_is_drafted_than_can_be_used every_block_is_reported

# %% gamma is not capped
# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = gamma() if callable(gamma) else gamma

# fails the_text_ends_in_time

# %% what follows the end of the text stays
# - text += cut_after([*drafted[:n_kept], token], eos)
text += [*drafted[:n_kept], token]
if eos in text[-n_kept - 1 :]:
    break

# %% the end of the text is ignored
# - if text[-1] == eos:
# -     break
if False:
    break

# %% an end in the prompt counts
# - while len(text) < end:
# -     n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
while len(text) < end and eos not in text:
    n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)

# fails the_text_has_the_targets_law the_text_ends_in_time

# %% the end-of-text token is left out
# - if text[-1] == eos:
# -     break
if text[-1] == eos:
    return text[len(prompt) : -1]

# fails the_text_has_the_targets_law the_text_ends_in_time one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported
#   both_models_are_told_how_to_sample greedy_text_is_the_targets
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block
#   what_cannot_start_is_refused

# %% prompt and all
# - return text[len(prompt) :]
return text

# fails both_models_are_told_how_to_sample greedy_text_is_the_targets

# %% the draft is told nothing
# - draft_probs.append(distribution(logits, temperature, top_k, top_p))
draft_probs.append(distribution(logits))

# %% the target is told nothing
# - target_probs = distribution(logits, temperature, top_k, top_p)
target_probs = distribution(logits)

# fails both_models_are_told_how_to_sample

# %% the draft hears of the temperature alone
# - draft_probs.append(distribution(logits, temperature, top_k, top_p))
draft_probs.append(distribution(logits, temperature))

# %% the target hears of the temperature alone
# - target_probs = distribution(logits, temperature, top_k, top_p)
target_probs = distribution(logits, temperature)

# fails greedy_text_is_the_targets

# %% temperature 0 counts as none given
# - check_sampling(temperature, top_k, top_p)
temperature = temperature or 1.0

# %% a greedy draft is told to sample
# - draft_probs.append(distribution(logits, temperature, top_k, top_p))
draft_probs.append(distribution(logits, temperature or 1.0, top_k, top_p))

# fails the_text_has_the_targets_law one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported greedy_text_is_the_targets

# %% the target's cache keeps what was rejected
# - target.rewind(len(text) - 1)
pass

# %% the target's cache keeps one too many
# - target.rewind(len(text) - 1)
target.rewind(min(target.n_cached(), len(text)))

# fails the_text_has_the_targets_law one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported greedy_text_is_the_targets
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block

# %% the target's cache keeps one too few
# - target.rewind(len(text) - 1)
target.rewind(max(len(text) - 2, 0))

# fails caches_hold_the_text_and_nothing_else

# %% the draft's cache keeps what was rejected
# - logits = draft.feed((text + drafted)[draft.n_cached() :])[-1]
logits = draft.feed(drafted[-1:] or text[draft.n_cached() :] or text[-1:])[-1]
# - draft.rewind(min(draft.n_cached(), len(text) - 1))
pass

# fails caches_hold_the_text_and_nothing_else greedy_text_is_the_targets

# %% the draft never gets the last token it proposed
# - logits = draft.feed((text + drafted)[draft.n_cached() :])[-1]
logits = draft.feed([(text + drafted)[-1]])[-1]

# fails caches_hold_the_text_and_nothing_else both_models_are_told_how_to_sample
#   greedy_text_is_the_targets

# %% the draft begins with the last token of the prompt
# - draft.feed(text[:-1])

# - logits = draft.feed((text + drafted)[draft.n_cached() :])[-1]
logits = draft.feed([(text + drafted)[-1]])[-1]
# - draft.rewind(min(draft.n_cached(), len(text) - 1))
draft.rewind(max(draft.n_cached() - len(drafted) + n_kept + 1, 0) if n_kept < len(drafted) else draft.n_cached())

# fails no_model_is_fed_a_token_twice

# %% the target is fed all again
# - logits = target.feed([text[-1], *drafted])
target.rewind(0)
logits = target.feed(text + drafted)[len(text) - 1 :]

# %% the draft is fed all again
# - draft.rewind(min(draft.n_cached(), len(text) - 1))
draft.rewind(0)

# fails one_target_call_verifies_a_block no_model_is_fed_a_token_twice every_block_is_reported
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block

# %% no bonus token
# - text += cut_after([*drafted[:n_kept], token], eos)
text += cut_after([*drafted[:n_kept], *[token][n_kept == len(drafted) > 0 :]], eos)

# fails one_target_call_verifies_a_block every_block_is_reported
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block

# %% drafts one fewer
# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = max(min(gamma() if callable(gamma) else gamma, end - len(text) - 1) - 1, 0)

# %% a call for the last token alone
# - logits = target.feed([text[-1], *drafted])
logits = target.feed([text[-1]])
if drafted:
    logits = torch.cat([logits, target.feed(drafted)])

# fails one_target_call_verifies_a_block caches_hold_the_text_and_nothing_else
#   every_block_is_reported a_draft_may_have_nothing_to_propose
#   gamma_is_asked_for_before_each_block

# %% a call of the target for each token
# - logits = target.feed([text[-1], *drafted])
logits = torch.cat([target.feed([x]) for x in [text[-1], *drafted]])

# fails the_text_has_the_targets_law the_text_ends_in_time both_models_are_told_how_to_sample
#   greedy_text_is_the_targets one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block

# %% the draft is never asked
# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = 0

# fails no_more_is_drafted_than_can_be_used every_block_is_reported

# %% gamma is not capped, the text cut
# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = gamma() if callable(gamma) else gamma
# - return text[len(prompt) :]
return text[len(prompt) : end]

# fails one_target_call_verifies_a_block

# %% the prompt token by token
# - target.feed(text[:-1])
for token in text[:-1]:
    target.feed([token])

# fails no_more_is_drafted_than_can_be_used

# %% one more than gamma
# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = min(gamma() if callable(gamma) else gamma + 1, end - len(text) - 1)

# %% the draft is fed its last token at once
# - logits = target.feed([text[-1], *drafted])
if drafted:
    draft.feed(drafted[-1:])
logits = target.feed([text[-1], *drafted])

# fails every_block_is_reported

# %% the bonus token counts as accepted
# - blocks.append(Block(len(drafted), n_kept, len(text)))
blocks.append(Block(len(drafted), min(n_kept + 1, len(drafted)), len(text)))

# %% the position after the block
# - blocks.append(Block(len(drafted), n_kept, len(text)))
blocks.append(Block(len(drafted), n_kept, len(text) + n_kept + 1))

# %% gamma for the tokens drafted
# - blocks.append(Block(len(drafted), n_kept, len(text)))
blocks.append(Block(n_drafts + 1, n_kept, len(text)))

# %% plain steps go unreported
# - if blocks is not None:
# -     blocks.append(Block(len(drafted), n_kept, len(text)))
if blocks is not None and drafted:
    blocks.append(Block(len(drafted), n_kept, len(text)))

# %% no report
# - blocks.append(Block(len(drafted), n_kept, len(text)))
pass

# fails a_draft_may_have_nothing_to_propose

# %% a silent draft is drawn from
# - if torch.isneginf(logits).all():
# -     break
if False:
    break

# %% a silent draft is given up for good
# - if torch.isneginf(logits).all():
if torch.isneginf(logits).all():
    gamma = lambda: 0

# fails gamma_is_asked_for_before_each_block

# %% gamma is asked for once
# - check_start(prompt, n_new, target, draft, gamma)
check_start(prompt, n_new, target, draft, gamma)
gamma = gamma() if callable(gamma) else gamma

# %% at least one is drafted
# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = min(max(gamma() if callable(gamma) else gamma, 1), end - len(text) - 1)

# fails what_cannot_start_is_refused

# %% arguments are not looked at
# - check_start(prompt, n_new, target, draft, gamma)
pass

# %% vocabularies are not compared
# - check_start(prompt, n_new, target, draft, gamma)
check_start(prompt, n_new, target, None, gamma)

# %% any gamma goes
# - check_start(prompt, n_new, target, draft, gamma)
check_start(prompt, n_new, target, draft)
