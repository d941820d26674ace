"""Wrong answers to `merge`: edits of the reference, or the whole answer."""

# fails the_larger_maximum_is_kept

# %% unseen queries get the maximum 0
# - return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b
return level, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b

# %% one maximum for all queries
# = torch.maximum(maximum_a, maximum_b) => torch.maximum(maximum_a, maximum_b).max().expand(len(maximum_a))

# fails the_larger_maximum_is_kept both_totals_come_to_the_new_maximum
#   both_outputs_come_to_the_new_maximum merging_large_scores_does_not_overflow
#   an_empty_part_adds_nothing

# %% the maximum of a comes back
# - return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b
return maximum_a, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b

# fails both_totals_come_to_the_new_maximum

# %% the total of a is not rescaled
# = factor_a * total_a => total_a

# %% the total of b is not rescaled
# = factor_b * total_b => total_b

# %% totals are added as they are
# = factor_a * total_a + factor_b * total_b => total_a + total_b

# fails both_outputs_come_to_the_new_maximum

# %% outputs are added as they are
# - return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b
return maximum, total, output_a + output_b

# %% the output of b is not rescaled
# - return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b
return maximum, total, factor_a[:, None] * output_a + output_b

# fails merging_large_scores_does_not_overflow

# %% exponentials first, then quotients
# - factor_a, factor_b = (maximum_a - level).exp(), (maximum_b - level).exp()
factor_a, factor_b = maximum_a.exp() / level.exp(), maximum_b.exp() / level.exp()

# fails an_empty_part_adds_nothing

# %% -inf minus -inf
# = maximum.where(maximum.isfinite(), 0) => maximum

# %% a total of at least a little
# = factor_a * total_a + factor_b * total_b => (factor_a * total_a + factor_b * total_b).clamp(min=1e-6)

# fails both_totals_come_to_the_new_maximum both_outputs_come_to_the_new_maximum

# %% the part with the larger maximum alone
def merge(state_a, state_b):
    (m_a, l_a, o_a), (m_b, l_b, o_b) = state_a, state_b
    is_a = m_a >= m_b
    return torch.maximum(m_a, m_b), l_a.where(is_a, l_b), o_a.where(is_a[:, None], o_b)

# fails both_totals_come_to_the_new_maximum both_outputs_come_to_the_new_maximum
#   an_empty_part_adds_nothing

# %% the factors are exchanged
# - factor_a, factor_b = (maximum_a - level).exp(), (maximum_b - level).exp()
factor_b, factor_a = (maximum_a - level).exp(), (maximum_b - level).exp()

# %% the mean of both
# - factor_a, factor_b = (maximum_a - level).exp(), (maximum_b - level).exp()
factor_a, factor_b = (maximum_a - level).exp() / 2, (maximum_b - level).exp() / 2

# fails both_totals_come_to_the_new_maximum both_outputs_come_to_the_new_maximum
#   merging_large_scores_does_not_overflow an_empty_part_adds_nothing

# %% divided by the factors
# - factor_a, factor_b = (maximum_a - level).exp(), (maximum_b - level).exp()
factor_a, factor_b = (level - maximum_a).exp(), (level - maximum_b).exp()

# fails the_larger_maximum_is_kept merging_large_scores_does_not_overflow an_empty_part_adds_nothing

# %% the smaller of the two maxima
# = torch.maximum(maximum_a, maximum_b) => torch.minimum(maximum_a, maximum_b)

# fails both_outputs_come_to_the_new_maximum an_empty_part_adds_nothing

# %% the output is divided by the total
# - return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b
return maximum, total, (factor_a[:, None] * output_a + factor_b[:, None] * output_b) / total[:, None]

# %% a mean by the totals, as of outputs that are divided
# - return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b
return maximum, total, (total_a[:, None] * output_a + total_b[:, None] * output_b) / (total_a + total_b)[:, None]
