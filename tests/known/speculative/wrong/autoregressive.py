"""Wrong answers to `autoregressive`: edits of the reference, or the whole answer."""

# fails each_token_has_the_targets_law temperature_top_k_and_top_p_count

# %% the row of the first token that was fed
# = logits[-1] => logits[0]

# fails each_token_has_the_targets_law temperature_top_k_and_top_p_count
#   rng_decides_about_each_token

# %% the most likely token, always
# = sample(distribution(logits[-1], temperature, top_k, top_p), rng) => int(logits[-1].argmax())

# fails each_token_has_the_targets_law temperature_top_k_and_top_p_count

# %% a second softmax, over probabilities
# - text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
text.append(sample(distribution(logits[-1], temperature, top_k, top_p).softmax(-1), rng))

# fails each_token_has_the_targets_law

# %% half as hot
# - text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
text.append(sample(distribution(logits[-1], temperature if temperature != 1 else 0.5, top_k, top_p), rng))

# fails temperature_top_k_and_top_p_count

# %% temperature alone
# = distribution(logits[-1], temperature, top_k, top_p) => distribution(logits[-1], temperature)

# %% no temperature
# - text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
text.append(sample(distribution(logits[-1], 1.0, top_k, top_p), rng))

# %% temperature 0 counts as none given
# - text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
text.append(sample(distribution(logits[-1], temperature or 1.0, top_k, top_p), rng))

# fails writing_ends_in_time

# %% the end of the text is ignored
# - if text[-1] == eos:
# -     break
pass

# %% an end in the prompt counts
# = len(text) < len(prompt) + n_new => len(text) < len(prompt) + n_new and eos not in text

# %% at least one token
# = len(prompt) + n_new => len(prompt) + max(n_new, 1)

# fails each_token_has_the_targets_law writing_ends_in_time

# %% the end-of-text token is left out
# = break => return text[len(prompt) : -1]

# fails writing_ends_in_time each_token_is_fed_once what_cannot_be_written_is_refused

# %% one token too many
# = len(text) < len(prompt) + n_new => len(text) <= len(prompt) + n_new

# fails each_token_has_the_targets_law temperature_top_k_and_top_p_count writing_ends_in_time
#   each_token_is_fed_once what_cannot_be_written_is_refused

# %% prompt and all
# = text[len(prompt) :] => text

# fails each_token_is_fed_once

# %% everything fed again each time
# - logits = target.feed(text[target.n_cached() :])
target.rewind(0)
logits = target.feed(text)

# %% the last token fed as well
# - return text[len(prompt) :]
target.feed(text[-1:])
return text[len(prompt) :]

# %% the prompt token by token
# - logits = target.feed(text[target.n_cached() :])
for token in text[target.n_cached() :]:
    logits = target.feed([token])

# fails each_token_has_the_targets_law temperature_top_k_and_top_p_count each_token_is_fed_once

# %% fed the last token alone
# = text[target.n_cached() :] => text[-1:]

# fails what_cannot_be_written_is_refused

# %% arguments are not looked at
# = check_start(prompt, n_new, target) => pass

# fails rng_decides_about_each_token

# %% the generator is not passed on
# - text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
text.append(sample(distribution(logits[-1], temperature, top_k, top_p)))

# %% Python's random
# - text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
import random
probs = distribution(logits[-1], temperature, top_k, top_p).tolist()
text.append(random.choices(range(len(probs)), probs)[0])

# fails each_token_has_the_targets_law temperature_top_k_and_top_p_count
#   rng_decides_about_each_token

# %% the same seed in each call
# - check_start(prompt, n_new, target)
check_start(prompt, n_new, target)
rng = torch.Generator().manual_seed(0)

# fails writing_ends_in_time

# %% eos 0 is no eos
# = text[-1] == eos => eos and text[-1] == eos

# fails temperature_top_k_and_top_p_count

# %% top_p only without top_k
# = temperature, top_k, top_p), rng => temperature, top_k, top_p if top_k is None else None), rng

# fails what_cannot_be_written_is_refused

# %% the cached text counts as the prompt
# - check_start(prompt, n_new, target)
check_start(prompt, n_new, type("M", (), {"n_cached": lambda self: 0})())
