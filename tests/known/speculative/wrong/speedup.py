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
# = expected_tokens(alpha, gamma) * target_s => expected_tokens(alpha, gamma) * verify_s

# fails a_block_takes_its_drafts_and_one_verification all_tokens_of_a_block_are_gained
#   plain_decoding_is_what_is_compared_with

# %% the inverse
# - return expected_tokens(alpha, gamma) * target_s / block_s
return block_s / (expected_tokens(alpha, gamma) * target_s)

# %% what is saved
# - return expected_tokens(alpha, gamma) * target_s / block_s
return 1 - block_s / (expected_tokens(alpha, gamma) * target_s)

# fails all_tokens_of_a_block_are_gained

# %% each accepted on its own
# = expected_tokens(alpha, gamma) => (1 + gamma * alpha + 0 * expected_tokens(alpha, gamma))

# fails a_block_takes_its_drafts_and_one_verification all_tokens_of_a_block_are_gained

# %% drafts end with the first rejected
# = gamma * draft_s => expected_tokens(alpha, gamma) * draft_s

# %% without the target's own token
# = expected_tokens(alpha, gamma) => (expected_tokens(alpha, gamma) - 1)

# fails plain_decoding_is_what_is_compared_with

# %% tokens per second
# = expected_tokens(alpha, gamma) * target_s / block_s => expected_tokens(alpha, gamma) / block_s

# fails no_speedup_without_a_probability

# %% a sum of its own
# = expected_tokens(alpha, gamma) => sum(alpha**n for n in range(gamma + 1))

# %% clamped
# = expected_tokens(alpha, gamma) => expected_tokens(min(1, max(0, alpha)), max(0, gamma))

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
