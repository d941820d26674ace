"""Wrong answers to `speedup`: edits of the reference, or the whole answer."""

# fails a_block_takes_its_drafts_and_one_verification

# %% drafts are free
# - block_s = gamma * draft_s + verify_s
block_s = verify_s

# %% one draft step
# - block_s = gamma * draft_s + verify_s
block_s = draft_s + verify_s

# %% a draft step for the target's token
# - block_s = gamma * draft_s + verify_s
block_s = (gamma + 1) * draft_s + verify_s

# %% a verification for each token
# - block_s = gamma * draft_s + verify_s
block_s = gamma * draft_s + (gamma + 1) * verify_s

# %% side by side
# - block_s = gamma * draft_s + verify_s
block_s = max(gamma * draft_s, verify_s)

# fails a_block_takes_its_drafts_and_one_verification plain_decoding_is_what_is_compared_with

# %% a verification as cheap as a step
# - block_s = gamma * draft_s + verify_s
block_s = gamma * draft_s + target_s

# %% against a verification
# - return expected_tokens(alpha, gamma) * target_s / block_s
return expected_tokens(alpha, gamma) * verify_s / block_s

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
# - return expected_tokens(alpha, gamma) * target_s / block_s
return (1 + gamma * alpha + 0 * expected_tokens(alpha, gamma)) * target_s / block_s

# fails a_block_takes_its_drafts_and_one_verification all_tokens_of_a_block_are_gained

# %% drafts end with the first rejected
# - block_s = gamma * draft_s + verify_s
block_s = expected_tokens(alpha, gamma) * draft_s + verify_s

# %% without the target's own token
# - return expected_tokens(alpha, gamma) * target_s / block_s
return (expected_tokens(alpha, gamma) - 1) * target_s / block_s

# fails plain_decoding_is_what_is_compared_with

# %% tokens per second
# - return expected_tokens(alpha, gamma) * target_s / block_s
return expected_tokens(alpha, gamma) / block_s

# fails no_speedup_without_a_probability

# %% a sum of its own
# - return expected_tokens(alpha, gamma) * target_s / block_s
return sum(alpha**n for n in range(gamma + 1)) * target_s / block_s

# %% clamped
# - return expected_tokens(alpha, gamma) * target_s / block_s
return expected_tokens(min(1, max(0, alpha)), max(0, gamma)) * target_s / block_s
