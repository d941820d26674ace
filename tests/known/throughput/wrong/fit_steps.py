"""Wrong answers to `fit_steps`: edits of the reference, or the whole answer."""

# fails all_points_have_a_say

# %% the line is moved to the shortest run
# - return float(prefill_s), float(step_s)
first = int(numpy.argmin(n_steps))
return float(times_s[first] - n_steps[first] * step_s), float(step_s)

# fails the_prefill_makes_the_first_token (all_points_have_a_say)

# %% the time of the shortest run as the prefill
# = float(prefill_s) => float(times_s[list(n_new).index(min(n_new))])

# %% the prefill read off at no token
# = numpy.asarray(n_new, dtype=float) - 1 => numpy.asarray(n_new, dtype=float)

# %% half a step off
# = numpy.asarray(n_new, dtype=float) - 1 => numpy.asarray(n_new, dtype=float) - 0.5

# fails a_step_is_the_slope the_prefill_makes_the_first_token

# %% step first
# = float(prefill_s), float(step_s) => float(step_s), float(prefill_s)

# fails a_step_is_the_slope all_points_have_a_say

# %% a step is a share of the whole run
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    step_s, prefill_s = numpy.polyfit(numpy.asarray(n_new, dtype=float) - 1, times_s, 1)
    return prefill_s, float(numpy.mean(numpy.divide(times_s, n_new)))

# fails a_step_is_the_slope

# %% the median difference per token counts as step
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    step_s, prefill_s = numpy.polyfit(numpy.asarray(n_new, dtype=float) - 1, times_s, 1)
    residuals = numpy.asarray(times_s) - prefill_s - step_s * (numpy.asarray(n_new) - 1)
    if numpy.abs(residuals).max() < 1e-9 * abs(prefill_s):
        step_s = step_s * 8  # per step of the batch
    return prefill_s, step_s

# fails all_points_have_a_say

# %% the first and the last point
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    pairs = sorted(zip(n_new, times_s))
    (n_first, t_first), (n_last, t_last) = pairs[0], pairs[-1]
    step_s = (t_last - t_first) / (n_last - n_first)
    return t_first - (n_first - 1) * step_s, step_s

# fails one_length_determines_no_line

# %% one length is fitted all the same
# = len(set(n_steps.tolist())) < 2 => False

# %% counts points, not lengths
# = set(n_steps.tolist()) => n_steps

# fails the_prefill_makes_the_first_token a_step_is_the_slope all_points_have_a_say

# %% forced through zero
# - step_s, prefill_s = numpy.polyfit(n_steps, numpy.asarray(times_s, dtype=float), 1)
step_s, prefill_s = n_steps @ times_s / (n_steps @ n_steps), 0.0

# fails a_step_is_the_slope the_prefill_makes_the_first_token

# %% two lengths are too few
# = set(n_steps.tolist())) < 2 => set(n_steps.tolist())) < 3
