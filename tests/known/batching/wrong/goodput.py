"""Wrong answers to `goodput`: edits of the reference, or the whole answer."""

# fails both_limits_have_to_be_met

# %% either limit
# = first <= ttft_s and further <= tpot_s => first <= ttft_s or further <= tpot_s

# %% the limits added
# = first <= ttft_s and further <= tpot_s => first + further <= ttft_s + tpot_s

# fails a_limit_just_met_is_met

# %% below the limits
# = first <= ttft_s and further <= tpot_s => first < ttft_s and further < tpot_s

# fails good_requests_are_counted_per_second

# %% a number of requests
# = n_good / seconds => n_good

# fails both_limits_have_to_be_met a_limit_just_met_is_met good_requests_are_counted_per_second
#   nobody_served_is_no_goodput

# %% a part of the requests
# = n_good / seconds => n_good / len(served)

# %% seconds per request
# = n_good / seconds => seconds / n_good

# fails nobody_served_is_no_goodput

# %% nobody is not a number
# = n_good / seconds => n_good / seconds if served else float("nan")

# %% the first of nobody
# = n_good / seconds => n_good * served[0][0] / served[0][0] / seconds

# fails good_requests_are_counted_per_second

# %% at least a second
# = n_good / seconds => n_good / max(1, seconds)

# fails both_limits_have_to_be_met good_requests_are_counted_per_second

# %% requests with tpot 0 do not count
# = further <= tpot_s => 0 < further <= tpot_s
