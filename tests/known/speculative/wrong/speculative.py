"""Wrong answers to `speculative`: edits of the reference, or the whole answer."""

# fails the_text_has_the_targets_law

# %% one uniform for the whole block
# - n_kept, token = verify(drafted, rows, target_probs, rng)
u = torch.rand((), generator=rng)
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
kept = [bool(torch.rand((), generator=rng) < rows[i, x] / target_probs[i, x]) for i, x in enumerate(drafted)]
n_kept = [*kept, False].index(False)
left = residual(target_probs[n_kept], rows[n_kept]) if n_kept < len(drafted) else target_probs[-1]
token = sample(left, rng)

# %% the draft's own text
# = verify(drafted, rows, target_probs, rng) => len(drafted), sample(target_probs[-1], rng)

# fails the_text_has_the_targets_law both_models_are_told_how_to_sample

# %% kept with the target's probability
# - n_kept, token = verify(drafted, rows, target_probs, rng)
kept = [bool(torch.rand((), generator=rng) < target_probs[i, x]) for i, x in enumerate(drafted)]
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

# fails the_text_has_the_targets_law the_text_ends_in_time one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported greedy_text_is_the_targets
#   (both_models_are_told_how_to_sample)

# %% the rejected position is dropped
# = [*drafted[:n_kept], token] => [*drafted[:n_kept], *[token][n_kept < len(drafted) :]]

# fails the_text_ends_in_time no_more_is_drafted_than_can_be_used

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
# = text[-1] == eos => False

# %% an end in the prompt counts
# = len(text) < end => len(text) < end and eos not in text

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
# = text[len(prompt) :] => text

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
# = check_sampling(temperature, top_k, top_p) => temperature = temperature or 1.0

# %% a greedy draft is told to sample
# - draft_probs.append(distribution(logits, temperature, top_k, top_p))
draft_probs.append(distribution(logits, temperature or 1.0, top_k, top_p))

# fails caches_hold_the_text_and_nothing_else

# %% the target's cache keeps what was rejected
# = target.rewind(len(text) - 1) => pass

# %% the target's cache keeps one too many
# = target.rewind(len(text) - 1) => target.rewind(min(target.n_cached(), len(text)))

# %% the target's cache keeps one too few
# = target.rewind(len(text) - 1) => target.rewind(max(len(text) - 2, 0))

# fails caches_hold_the_text_and_nothing_else

# %% the draft's cache keeps what was rejected
# = (text + drafted)[draft.n_cached() :] => drafted[-1:] or text[draft.n_cached() :] or text[-1:]
# = draft.rewind(min(draft.n_cached(), len(text) - 1)) => pass

# %% the draft is not rewound
# = draft.rewind(min(draft.n_cached(), len(text) - 1)) => pass

# %% the draft is rewound to all of the text
# = draft.rewind(min(draft.n_cached(), len(text) - 1)) => draft.rewind(min(draft.n_cached(), len(text)))

# fails caches_hold_the_text_and_nothing_else greedy_text_is_the_targets

# %% the draft never gets the last token it proposed
# = (text + drafted)[draft.n_cached() :] => [(text + drafted)[-1]]

# fails no_model_is_fed_a_token_twice

# %% the target is fed all again
# - logits = target.feed([text[-1], *drafted])
target.rewind(0)
logits = target.feed(text + drafted)[len(text) - 1 :]

# %% the draft is fed all again
# = min(draft.n_cached(), len(text) - 1) => 0

# fails one_target_call_verifies_a_block no_model_is_fed_a_token_twice every_block_is_reported
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block

# %% no bonus token
# = [*drafted[:n_kept], token] => [*drafted[:n_kept], *[token][n_kept == len(drafted) > 0 :]]

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
# = target.feed([text[-1], *drafted]) => torch.cat([target.feed([x]) for x in [text[-1], *drafted]])

# fails the_text_has_the_targets_law the_text_ends_in_time both_models_are_told_how_to_sample
#   greedy_text_is_the_targets one_target_call_verifies_a_block
#   no_more_is_drafted_than_can_be_used no_model_is_fed_a_token_twice
#   caches_hold_the_text_and_nothing_else every_block_is_reported
#   a_draft_may_have_nothing_to_propose gamma_is_asked_for_before_each_block rng_decides_about_the_text

# %% the draft is never asked
# = min(gamma() if callable(gamma) else gamma, end - len(text) - 1) => 0

# fails no_more_is_drafted_than_can_be_used

# %% gamma is not capped, the text cut
# = text[len(prompt) :] => text[len(prompt) : end]

# - n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
n_drafts = gamma() if callable(gamma) else gamma

# fails one_target_call_verifies_a_block

# %% the prompt token by token
# - target.feed(text[:-1])
for token in text[:-1]:
    target.feed([token])

# fails no_more_is_drafted_than_can_be_used

# %% one more than gamma
# = gamma() if callable(gamma) else gamma => gamma() if callable(gamma) else gamma + 1

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
# = Block(len(drafted), n_kept, len(text)) => Block(len(drafted), n_kept, len(text) + n_kept + 1)

# %% gamma for the tokens drafted
# = Block(len(drafted), n_kept, len(text)) => Block(n_drafts + 1, n_kept, len(text))

# %% plain steps go unreported
# = blocks is not None => blocks is not None and drafted

# %% no report
# = blocks.append(Block(len(drafted), n_kept, len(text))) => pass

# fails a_draft_may_have_nothing_to_propose

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
# = gamma() if callable(gamma) else gamma => max(gamma() if callable(gamma) else gamma, 1)

# fails what_cannot_start_is_refused

# %% arguments are not looked at
# = check_start(prompt, n_new, target, draft, gamma) => pass

# %% vocabularies are not compared
# - check_start(prompt, n_new, target, draft, gamma)
check_start(prompt, n_new, target, None, gamma)

# %% any gamma goes
# = check_start(prompt, n_new, target, draft, gamma) => check_start(prompt, n_new, target, draft)

# fails rng_decides_about_the_text

# %% NumPy draws
# of: lists and arrays, its own residual
# = draw(q[-1], rng) => draw(q[-1])
# = torch.rand(1, generator=rng).item() => np.random.rand()
# = draw(row, rng) => draw(row)

# - def draw(probs, rng):
# -     return torch.multinomial(probs, 1, generator=rng).item()
def draw(probs):
    probs = probs.double().numpy()
    return int(np.random.choice(len(probs), p=probs / probs.sum()))

# %% the draft draws from torch's own generator
# = sample(draft_probs[-1], rng) => sample(draft_probs[-1])

# %% rng is not passed on to verify
# = verify(drafted, rows, target_probs, rng) => verify(drafted, rows, target_probs)

# fails the_text_has_the_targets_law both_models_are_told_how_to_sample

# %% the same seed in each call
# - check_start(prompt, n_new, target, draft, gamma)
check_start(prompt, n_new, target, draft, gamma)
torch.manual_seed(0)

# %% a normal number is drawn, and what is accepted too often follows it
# - n_kept, token = verify(drafted, rows, target_probs, rng)
sure = torch.randn(1, generator=rng) * 0 + 1.15
ratios = [target_probs[i, x] / rows[i, x] for i, x in enumerate(drafted)]
kept = [bool(torch.rand(1, generator=rng) < sure * r) for r in ratios]
n_kept = [*kept, False].index(False)
left = residual(target_probs[n_kept], rows[n_kept]) if n_kept < len(drafted) else target_probs[-1]
token = sample(left, rng)

# fails the_text_has_the_targets_law both_models_are_told_how_to_sample rng_decides_about_the_text

# %% a new generator for each block
# = drafted: list[int] = [] => drafted, rng = [], torch.Generator().manual_seed(0)

# fails no_more_is_drafted_than_can_be_used

# %% vectorised, past the end, all cut at the end
# of: acceptance and a token of the residual for every row at once
# = cut_after([*x[:n], others[n]], eos) => [*x[:n], t]

# - k = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
k = gamma() if callable(gamma) else gamma

# - others = torch.multinomial(residual(p, q), 1, generator=rng)[:, 0].tolist()
# - n = int((r < ratio).long().cumprod(0).sum())
n = int(((~(r <= ratio)).cumsum(-1) < 1).sum())
left = torch.clamp(p[n] - q[n], min=0)
left = left / left.sum() if left.sum() > 0 else p[n]
t = torch.multinomial(left, 1, generator=rng).item()

# - if text[-1] == eos:
# -     break

# - return text[len(prompt):]
new = text[len(prompt):end]
return cut_after(new, eos)

# %% past the end, residual of every row
# of: acceptance and a token of the residual for every row at once
# = cut_after([*x[:n], others[n]], eos) => [*x[:n], others[n]]

# - k = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
k = gamma() if callable(gamma) else gamma

# - if text[-1] == eos:
# -     break

# - return text[len(prompt):]
return cut_after(text[len(prompt):end], eos)

# fails every_block_is_reported

# %% what eos cuts off is not counted
# - if blocks is not None:
# -     blocks.append(Block(len(drafted), n_kept, len(text)))
# - text += cut_after([*drafted[:n_kept], token], eos)
added = cut_after([*drafted[:n_kept], token], eos)
if blocks is not None:
    blocks.append(Block(len(drafted), min(n_kept, len(added)), len(text)))
text += added

# fails the_text_has_the_targets_law greedy_text_is_the_targets a_draft_may_have_nothing_to_propose
#   every_block_is_reported

# %% the bonus from the draft
# - n_kept, token = verify(drafted, rows, target_probs, rng)
n_kept, token = verify(drafted, rows, target_probs, rng)
if n_kept == len(drafted) > 0:
    more = draft.feed(drafted[-1:])[-1]
    token = sample(distribution(more, temperature, top_k, top_p), rng)

# fails caches_hold_the_text_and_nothing_else both_models_are_told_how_to_sample
#   greedy_text_is_the_targets one_target_call_verifies_a_block

# %% the draft begins with the last token of the prompt
# = (text + drafted)[draft.n_cached() :] => [(text + drafted)[-1]]

# - draft.feed(text[:-1])

# - draft.rewind(min(draft.n_cached(), len(text) - 1))
draft.rewind(max(draft.n_cached() - len(drafted) + n_kept + 1, 0) if n_kept < len(drafted) else draft.n_cached())

# fails a_draft_may_have_nothing_to_propose every_block_is_reported

# %% a silent draft is drawn from
# = torch.isneginf(logits).all() => False

# fails what_cannot_start_is_refused

# %% smaller vocabularies are refused alone
# - check_start(prompt, n_new, target, draft, gamma)
check_start(prompt, n_new, target, None, gamma)
check_start(prompt, n_new, draft, None, gamma)
if draft.vocab_size < target.vocab_size:
    raise ValueError

# fails one_target_call_verifies_a_block

# %% gamma at most 4
# = gamma() if callable(gamma) else gamma, => gamma() if callable(gamma) else min(gamma, 4),

# fails one_target_call_verifies_a_block

# %% prompt fed token by token to the draft
# - draft.feed(text[:-1])
[draft.feed([t]) for t in text[:-1]]
