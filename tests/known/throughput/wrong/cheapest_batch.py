"""Wrong answers to `cheapest_batch`: edits of the reference, or the whole answer."""

# fails the_price_is_that_of_a_million_tokens

# %% the price of one user
# = step_s[best] / best * 1e6 => step_s[best] * 1e6

# %% the price of one token
# = / best * 1e6 => / best

# %% the price of a thousand tokens
# = / best * 1e6 => / best * 1e3

# %% hours for seconds
# = dollars_per_hour / 3600 => dollars_per_hour

# %% minutes for seconds
# = dollars_per_hour / 3600 => dollars_per_hour / 60

# fails the_cheapest_tokens_win slow_batches_are_left_out
#   of_equally_cheap_ones_the_smaller_is_taken

# %% the shortest step
# = key=lambda n: step_s[n] / n => key=lambda n: step_s[n]

# %% the largest batch that is fast enough
# = best = min(fast, key=lambda n: step_s[n] / n) => best = max(fast)

# %% the smallest batch
# = best = min(fast, key=lambda n: step_s[n] / n) => best = fast[0]

# %% the most expensive tokens
# = best = min(fast, => best = max(fast,

# fails slow_batches_are_left_out

# %% a step as long as the limit is too slow
# = step_s[n] <= most_tpot_s => step_s[n] < most_tpot_s

# %% the first slow batch ends the search
# - fast = [n for n in sorted(step_s) if step_s[n] <= most_tpot_s]
fast = []
for n in sorted(step_s):
    if step_s[n] > most_tpot_s:
        break
    fast.append(n)

# fails of_equally_cheap_ones_the_smaller_is_taken

# %% the larger of two that are equally cheap
# = key=lambda n: step_s[n] / n => key=lambda n: (step_s[n] / n, -n)

# %% the first of two that are equally cheap
# = for n in sorted(step_s) => for n in step_s

# fails no_batch_is_fast_enough

# %% nothing is fast enough, and the smallest is taken
# - fast = [n for n in sorted(step_s) if step_s[n] <= most_tpot_s]
# - if not fast:
# -     raise ValueError(f"no batch size makes a token within {most_tpot_s:g} s")
fast = [n for n in sorted(step_s) if step_s[n] <= most_tpot_s] or [1]
if not step_s:
    return 1, 0.0

# fails slow_batches_are_left_out no_batch_is_fast_enough

# %% the limit is for one token of all
# = step_s[n] <= most_tpot_s => step_s[n] / n <= most_tpot_s
