"""Wrong answers to `goodput`: edits of the reference, or the whole answer."""

# fails both_limits_have_to_be_met

# %% either limit
# - n_good = sum(first <= ttft_s and further <= tpot_s for first, further in served)
n_good = sum(first <= ttft_s or further <= tpot_s for first, further in served)

# %% the limits added
# - n_good = sum(first <= ttft_s and further <= tpot_s for first, further in served)
n_good = sum(first + further <= ttft_s + tpot_s for first, further in served)

# fails a_limit_just_met_is_met

# %% below the limits
# - n_good = sum(first <= ttft_s and further <= tpot_s for first, further in served)
n_good = sum(first < ttft_s and further < tpot_s for first, further in served)

# fails good_requests_are_counted_per_second

# %% a number of requests
# - return n_good / seconds
return n_good

# fails both_limits_have_to_be_met a_limit_just_met_is_met good_requests_are_counted_per_second
#   nobody_served_is_no_goodput

# %% a part of the requests
# - return n_good / seconds
return n_good / len(served)

# %% seconds per request
# - return n_good / seconds
return seconds / n_good

# fails nobody_served_is_no_goodput

# %% nobody is not a number
# - return n_good / seconds
return n_good / seconds if served else float("nan")

# %% the first of nobody
# - return n_good / seconds
return n_good * served[0][0] / served[0][0] / seconds
