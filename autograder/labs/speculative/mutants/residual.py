"""Wrong answers to `residual`: edits of the reference, or the whole answer."""

# fails what_the_target_has_more_is_left

# %% the draft minus the target
# - left = (target_probs - draft_probs).clamp(min=0)
left = (draft_probs - target_probs).clamp(min=0)

# %% the absolute difference
# - left = (target_probs - draft_probs).clamp(min=0)
left = (target_probs - draft_probs).abs()

# fails what_the_target_has_more_is_left the_residual_sums_to_one
#   equal_distributions_leave_the_target a_small_difference_counts_in_full
#   each_row_has_a_residual both_distributions_stay_as_they_are

# %% the target alone
# - left = (target_probs - draft_probs).clamp(min=0)
left = target_probs

# fails what_the_target_has_more_is_left a_small_difference_counts_in_full

# %% a softmax of what is left
# - return torch.where(mass > 0, left / mass, target_probs)
return torch.where(mass > 0, left.softmax(-1), target_probs)

# fails the_residual_sums_to_one

# %% not divided by the sum
# - return torch.where(mass > 0, left / mass, target_probs)
return torch.where(mass > 0, left, target_probs)

# fails equal_distributions_leave_the_target

# %% 0 / 0
# - return torch.where(mass > 0, left / mass, target_probs)
return left / mass

# %% eps against a division by 0
# - return torch.where(mass > 0, left / mass, target_probs)
return left / (mass + 1e-9)

# fails a_small_difference_counts_in_full

# %% nearly equal is equal
# - return torch.where(mass > 0, left / mass, target_probs)
return torch.where(mass > 0.01, left / mass, target_probs)

# fails each_row_has_a_residual

# %% one sum for all rows
# - mass = left.sum(-1, keepdim=True)
mass = left.sum()

# %% an equal row makes all of them equal
# - return torch.where(mass > 0, left / mass, target_probs)
return torch.where((mass > 0).all(), left / mass, target_probs)

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
