"""Wrong answers to `residual`: edits of the reference, or the whole answer."""

# fails what_the_target_has_more_is_left

# %% the draft minus the target
# = target_probs - draft_probs => draft_probs - target_probs

# %% the absolute difference
# = (target_probs - draft_probs).clamp(min=0) => (target_probs - draft_probs).abs()

# fails what_the_target_has_more_is_left the_residual_sums_to_one
#   equal_distributions_leave_the_target a_small_difference_counts_in_full
#   each_row_has_a_residual both_distributions_stay_as_they_are

# %% the target alone
# = (target_probs - draft_probs).clamp(min=0) => target_probs

# fails what_the_target_has_more_is_left a_small_difference_counts_in_full

# %% a softmax of what is left
# = left / mass => left.softmax(-1)

# fails the_residual_sums_to_one

# %% not divided by the sum
# = left / mass => left

# fails equal_distributions_leave_the_target

# %% 0 / 0
# = torch.where(mass > 0, left / mass, target_probs) => left / mass

# %% eps against a division by 0
# = torch.where(mass > 0, left / mass, target_probs) => left / (mass + 1e-9)

# fails a_small_difference_counts_in_full

# %% nearly equal is equal
# = mass > 0 => mass > 0.01

# fails each_row_has_a_residual

# %% an equal row makes all of them equal
# = mass > 0 => (mass > 0).all()

# fails both_distributions_stay_as_they_are

# %% the difference in place
# - left = (target_probs - draft_probs).clamp(min=0)
left = target_probs.clone()
draft_probs.neg_().add_(target_probs)
left = draft_probs.clamp(min=0)

# %% the target is overwritten
# - return torch.where(mass > 0, left / mass, target_probs)
left = torch.where(mass > 0, left / mass, target_probs)
target_probs.sub_(draft_probs)
return left

# fails each_row_has_a_residual equal_distributions_leave_the_target

# %% one sum for all rows
# = left.sum(-1, keepdim=True) => left.sum()

# fails equal_distributions_leave_the_target

# %% equal as a whole only
# = torch.where(mass > 0, left / mass, target_probs) => target_probs if torch.equal(target_probs, draft_probs) else left / mass
