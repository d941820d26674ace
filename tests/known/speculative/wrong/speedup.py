"""Wrong answers to `speedup`: edits of the reference, or the whole answer."""

# fails a_block_takes_its_drafts_and_one_verification

# %% drafts are free
# = gamma * draft_s + verify_s => verify_s

# %% one draft step
# = gamma * draft_s => draft_s

# %% a draft step for the target's token
# = gamma * draft_s => (gamma + 1) * draft_s

# %% a verification for each token
# = gamma * draft_s + verify_s => gamma * draft_s + (gamma + 1) * verify_s

# %% side by side
# = gamma * draft_s + verify_s => max(gamma * draft_s, verify_s)

# fails a_block_takes_its_drafts_and_one_verification plain_decoding_is_what_is_compared_with

# %% a verification as cheap as a step
# = gamma * draft_s + verify_s => gamma * draft_s + target_s

# %% against a verification
# = n_tokens * target_s => n_tokens * verify_s

# fails a_block_takes_its_drafts_and_one_verification all_tokens_of_a_block_are_gained
#   plain_decoding_is_what_is_compared_with

# %% the inverse
# - return n_tokens * target_s / block_s
return block_s / (n_tokens * target_s)

# %% what is saved
# - return n_tokens * target_s / block_s
return 1 - block_s / (n_tokens * target_s)

# fails all_tokens_of_a_block_are_gained

# %% each accepted on its own
# = n_tokens * => (1 + gamma * alpha) *

# fails a_block_takes_its_drafts_and_one_verification all_tokens_of_a_block_are_gained

# %% drafts end with the first rejected
# = gamma * draft_s => n_tokens * draft_s

# %% without the target's own token
# = n_tokens * => (n_tokens - 1) *

# fails plain_decoding_is_what_is_compared_with

# %% tokens per second
# = n_tokens * target_s / block_s => n_tokens / block_s

# fails no_speedup_without_a_probability

# %% any alpha
# = not 0 <= alpha <= 1 => False

# %% any gamma
# = if gamma < 0: => if False:

# fails a_block_takes_its_drafts_and_one_verification

# %% gamma 0 is refused
# - block_s = gamma * draft_s + verify_s
if gamma < 1:
    raise ValueError
block_s = gamma * draft_s + verify_s

# fails a_block_takes_its_drafts_and_one_verification

# %% the longer of verify and target
# = + verify_s => + max(verify_s, target_s)

# fails all_tokens_of_a_block_are_gained

# %% alpha 1 refused
# - block_s = gamma * draft_s + verify_s
if alpha == 1:
    raise ValueError
block_s = gamma * draft_s + verify_s

# fails all_tokens_of_a_block_are_gained

# %% gamma for gamma + 1
# = range(gamma + 1) => range(max(1, gamma))

# %% something in the denominator
# - n_tokens = sum(alpha**n_accepted for n_accepted in range(gamma + 1))
n_tokens = (1 - alpha ** (gamma + 1)) / (1 - alpha + 1e-8)

# %% the closed form alone
# - n_tokens = sum(alpha**n_accepted for n_accepted in range(gamma + 1))
n_tokens = (1 - alpha ** (gamma + 1)) / (1 - alpha)

# %% all or nothing
# = n_tokens * => (1 + gamma * alpha**gamma) *
