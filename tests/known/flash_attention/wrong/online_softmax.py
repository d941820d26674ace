"""Wrong answers to `online_softmax`: edits of the reference, or the whole answer."""

# fails the_maximum_is_that_of_each_query

# %% one maximum for all queries
# = scores.amax(dim=-1) => scores.max()

# %% unseen queries get the maximum 0
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return level, new_total, rescaled[:, None] * output + weights @ values.float()

# fails the_maximum_is_that_of_each_query large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the maximum of the new tile alone
# = torch.maximum(maximum, scores.amax(dim=-1)) => scores.amax(dim=-1)

# fails the_maximum_is_that_of_each_query the_total_is_brought_to_the_new_maximum
#   the_output_is_brought_to_the_new_maximum large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the smaller of the two maxima
# = torch.maximum(maximum, scores.amax(dim=-1)) => torch.minimum(maximum, scores.amax(dim=-1))

# %% the old maximum comes back
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return maximum, new_total, rescaled[:, None] * output + weights @ values.float()

# fails the_total_is_brought_to_the_new_maximum

# %% the total is not rescaled
# = rescaled * total => total

# fails the_total_is_brought_to_the_new_maximum large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the total is rescaled by the wrong way round
# = rescaled * total => total / rescaled

# %% the new sum is rescaled too
# = rescaled * total + weights.sum(dim=-1) => rescaled * (total + weights.sum(dim=-1))

# %% the total of the new tile alone
# = rescaled * total + weights.sum(dim=-1) => weights.sum(dim=-1)

# fails the_output_is_brought_to_the_new_maximum

# %% the output is not rescaled
# = rescaled[:, None] * output => output

# fails the_output_is_brought_to_the_new_maximum large_scores_do_not_overflow
#   queries_without_keys_stay_as_they_were

# %% the output is divided already
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return new_maximum, new_total, (rescaled[:, None] * output + weights @ values.float()) / new_total[:, None]

# fails the_output_is_brought_to_the_new_maximum queries_without_keys_stay_as_they_were

# %% the output is rescaled by the totals
# - return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()
return new_maximum, new_total, (total / new_total)[:, None] * output + weights @ values.float()

# fails large_scores_do_not_overflow

# %% exponentials first, then quotients
# - rescaled = (maximum - level).exp()
# - weights = (scores - level[:, None]).exp()
rescaled = maximum.exp() / level.exp()
weights = scores.exp() / level.exp()[:, None]

# fails queries_without_keys_stay_as_they_were

# %% -inf minus -inf
# = new_maximum.where(new_maximum.isfinite(), 0) => new_maximum

# fails the_total_is_brought_to_the_new_maximum the_output_is_brought_to_the_new_maximum
#   large_scores_do_not_overflow queries_without_keys_stay_as_they_were

# %% weights use the old maximum
# = level[:, None] => maximum[:, None]

# %% rescaled by the maximum of the tile
# = maximum - level => scores.amax(dim=-1) - level

# %% weights without the maximum
# = (scores - level[:, None]) => scores

# fails the_maximum_is_that_of_each_query the_total_is_brought_to_the_new_maximum
#   the_output_is_brought_to_the_new_maximum

# %% values are not converted
# = weights @ values.float() => weights @ values

# fails the_maximum_is_that_of_each_query the_total_is_brought_to_the_new_maximum
#   the_output_is_brought_to_the_new_maximum

# %% squeezed output
# = rescaled[:, None] * output + weights @ values.float() => (rescaled[:, None] * output + weights @ values.float()).squeeze(0)

# fails queries_without_keys_stay_as_they_were

# %% total of at least a little
# = rescaled * total + weights.sum(dim=-1) => (rescaled * total + weights.sum(dim=-1)).clamp(min=1e-6)
