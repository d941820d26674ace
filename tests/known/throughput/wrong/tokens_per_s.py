"""Wrong answers to `tokens_per_s`: edits of the reference, or the whole answer."""

# fails all_sequences_count

# %% one sequence
# = batch_size * n_new => n_new

# %% runs per second
# = batch_size * n_new / statistics.median(samples_s) => batch_size / statistics.median(samples_s)

# %% in thousands
# - return batch_size * n_new / statistics.median(samples_s)
return batch_size * n_new / statistics.median(samples_s) / 1000

# fails the_median_run_counts two_runs_may_be_in_the_middle

# %% the mean run
# = statistics.median(samples_s) => statistics.fmean(samples_s)

# %% the mean of rates
# - return batch_size * n_new / statistics.median(samples_s)
return statistics.fmean(batch_size * n_new / each for each in samples_s)

# %% the best run
# = statistics.median(samples_s) => min(samples_s)

# %% the last run
# = statistics.median(samples_s) => samples_s[-1]

# fails the_median_run_counts

# %% the mean of two runs in the middle, of an odd number too
# - return batch_size * n_new / statistics.median(samples_s)
ordered, middle = sorted(samples_s), len(samples_s) // 2
return batch_size * n_new / ((ordered[middle - 1] + ordered[middle]) / 2)

# fails no_samples_have_no_rate

# %% 0 for no samples
def tokens_per_s(batch_size, n_new, samples_s):
    if not samples_s:
        return 0.0
    return batch_size * n_new / statistics.median(samples_s)

# %% divides by nothing
def tokens_per_s(batch_size, n_new, samples_s):
    times, n = sorted(samples_s), len(samples_s)
    return batch_size * n_new * 2 / (times[n // 2] + times[(n - 1) // 2])

# fails all_sequences_count the_median_run_counts two_runs_may_be_in_the_middle

# %% seconds per token
# - return batch_size * n_new / statistics.median(samples_s)
return statistics.median(samples_s) / (batch_size * n_new)

# fails the_median_run_counts two_runs_may_be_in_the_middle

# %% the one in the middle place, unsorted
# = statistics.median(samples_s) => samples_s[len(samples_s) // 2]

# fails two_runs_may_be_in_the_middle

# %% the lower of the two in the middle
# = statistics.median(samples_s) => statistics.median_low(samples_s)

# %% the upper of the two in the middle
# = statistics.median(samples_s) => statistics.median_high(samples_s)

# %% the median of the rates
# - return batch_size * n_new / statistics.median(samples_s)
return batch_size * n_new * statistics.median(1 / each for each in samples_s)
