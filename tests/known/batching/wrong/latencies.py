"""Wrong answers to `latencies`: edits of the reference, or the whole answer."""

# fails ttft_begins_with_the_arrival

# %% the time of the first token
# = first_s - arrival_s => first_s

# %% until the last token
# = first_s - arrival_s => last_s - arrival_s

# fails ttft_begins_with_the_arrival tpot_is_the_mean_after_the_first
#   a_single_token_has_none_after_it

# %% the other way round
def latencies(arrival_s, token_times_s):
    first_s, n_further = token_times_s[0], len(token_times_s) - 1
    tpot_s = (token_times_s[-1] - first_s) / n_further if n_further else 0.0
    return tpot_s, first_s - arrival_s

# fails tpot_is_the_mean_after_the_first

# %% over all tokens
# = (last_s - first_s) / n_further => (last_s - first_s) / (n_further + 1)

# %% since the arrival
# = (last_s - first_s) / n_further => (last_s - arrival_s) / (n_further + 1)

# %% since the arrival, over the further tokens
# = last_s - first_s => last_s - arrival_s

# %% not divided
# = (last_s - first_s) / n_further if n_further else 0.0 => (last_s - first_s) if n_further else 0.0

# fails ttft_begins_with_the_arrival a_single_token_has_none_after_it

# %% divides by nothing
# = (last_s - first_s) / n_further if n_further else 0.0 => (last_s - first_s) / n_further

# fails a_single_token_has_none_after_it

# %% its first token for its further ones
# - return first_s - arrival_s, (last_s - first_s) / n_further if n_further else 0.0
return first_s - arrival_s, (last_s - first_s) / n_further if n_further else first_s - arrival_s
