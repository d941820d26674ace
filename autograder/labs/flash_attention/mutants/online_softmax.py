"""Wrong answers to `online_softmax`: edits of the reference, or the whole answer."""

# fails the_maximum_is_that_of_each_query

# %% one maximum for all queries
# - new_maximum = torch.maximum(maximum, scores.amax(dim=-1))
new_maximum = torch.maximum(maximum, scores.max())

# %% unseen queries get the maximum 0
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return level, new_total, rescaled[:, None] * output + weights @ values.float()

# fails the_maximum_is_that_of_each_query large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the maximum of the new tile alone
# - new_maximum = torch.maximum(maximum, scores.amax(dim=-1))
new_maximum = scores.amax(dim=-1)

# fails the_maximum_is_that_of_each_query the_total_is_brought_to_the_new_maximum
#   the_output_is_brought_to_the_new_maximum large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the smaller of the two maxima
# - new_maximum = torch.maximum(maximum, scores.amax(dim=-1))
new_maximum = torch.minimum(maximum, scores.amax(dim=-1))

# %% the old maximum comes back
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return maximum, new_total, rescaled[:, None] * output + weights @ values.float()

# fails the_total_is_brought_to_the_new_maximum

# %% the total is not rescaled
# - new_total = rescaled * total + weights.sum(dim=-1)
new_total = total + weights.sum(dim=-1)

# fails the_total_is_brought_to_the_new_maximum large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the total is rescaled by the wrong way round
# - new_total = rescaled * total + weights.sum(dim=-1)
new_total = total / rescaled + weights.sum(dim=-1)

# %% the new sum is rescaled too
# - new_total = rescaled * total + weights.sum(dim=-1)
new_total = rescaled * (total + weights.sum(dim=-1))

# %% the total of the new tile alone
# - new_total = rescaled * total + weights.sum(dim=-1)
new_total = weights.sum(dim=-1)

# fails the_output_is_brought_to_the_new_maximum

# %% the output is not rescaled
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return new_maximum, new_total, output + weights @ values.float()

# fails the_output_is_brought_to_the_new_maximum large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the output is divided already
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return new_maximum, new_total, (rescaled[:, None] * output + weights @ values) / new_total[:, None]

# fails the_output_is_brought_to_the_new_maximum queries_without_keys_stay_as_they_were

# %% the output is rescaled by the totals
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return new_maximum, new_total, (total / new_total)[:, None] * output + weights @ values

# fails large_scores_do_not_overflow

# %% exponentials first, then quotients
# - rescaled = (maximum - level).exp()
# - weights = (scores - level[:, None]).exp()
rescaled = maximum.exp() / level.exp()
weights = scores.exp() / level.exp()[:, None]

# fails queries_without_keys_stay_as_they_were

# %% -inf minus -inf
# - level = new_maximum.where(new_maximum.isfinite(), 0)
level = new_maximum

# fails the_total_is_brought_to_the_new_maximum the_output_is_brought_to_the_new_maximum
#   large_scores_do_not_overflow queries_without_keys_stay_as_they_were

# %% weights use the old maximum
# - weights = (scores - level[:, None]).exp()
weights = (scores - maximum[:, None]).exp()

# %% rescaled by the maximum of the tile
# - rescaled = (maximum - level).exp()
rescaled = (scores.amax(dim=-1) - level).exp()

# %% weights without the maximum
# - weights = (scores - level[:, None]).exp()
weights = scores.exp()
