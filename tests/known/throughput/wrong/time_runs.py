"""Wrong answers to `time_runs`: edits of the reference, or the whole answer."""

# fails warm_up_runs_come_first_and_are_not_timed

# %% no warm-up
# = range(n_warmup) => range(0)

# %% one run more
# = range(n_warmup) => range(n_warmup + 1)

# %% the warm-up is kept
# = range(n_repeats) => range(n_warmup + n_repeats)

# - for _ in range(n_warmup):
# -     run()

# fails the_device_is_idle_when_a_sample_begins

# %% not synchronised before
# - wait_for_device()
# - start_s = read_clock()
start_s = read_clock()

# %% synchronised after the first reading
# - wait_for_device()
# - start_s = read_clock()
start_s = read_clock()
wait_for_device()

# fails the_device_is_idle_when_a_sample_ends

# %% not synchronised after
# - wait_for_device()
# - samples_s.append(read_clock() - start_s)
samples_s.append(read_clock() - start_s)

# %% synchronised after the second reading
# - wait_for_device()
# - samples_s.append(read_clock() - start_s)
samples_s.append(read_clock() - start_s)
wait_for_device()

# fails the_device_is_idle_when_a_sample_begins the_device_is_idle_when_a_sample_ends

# %% never synchronised
# - wait_for_device()
# - start_s = read_clock()
start_s = read_clock()

# - wait_for_device()
# - samples_s.append(read_clock() - start_s)
samples_s.append(read_clock() - start_s)

# fails samples_are_raw_one_per_run

# %% the mean of all
# = return samples_s => return [sum(samples_s) / n_repeats]

# %% the mean, as a tensor
# = return samples_s => return torch.tensor(samples_s).mean()

# %% the samples of the first runs, which are the warm-up
# = range(n_repeats) => range(n_warmup + n_repeats)
# = return samples_s => return samples_s[:n_repeats]

# - for _ in range(n_warmup):
# -     run()

# %% sorted
# = return samples_s => return sorted(samples_s)

# %% milliseconds
# = read_clock() - start_s => 1000 * (read_clock() - start_s)

# %% the first reading is never renewed
# = samples_s = [] => samples_s, first_s = [], None

# - samples_s.append(read_clock() - start_s)
first_s = first_s or start_s
samples_s.append(read_clock() - first_s)

# %% the first sample dropped
# = return samples_s => return samples_s[1:]

# %% outliers dropped
# = return samples_s => return [s for s in samples_s if s < max(samples_s)] or samples_s

# fails warm_up_runs_come_first_and_are_not_timed the_device_is_idle_when_a_sample_begins
#   the_device_is_idle_when_a_sample_ends samples_are_raw_one_per_run

# %% one reading around all runs
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    for _ in range(n_warmup):
        run()
    synchronize()
    start = read_clock()
    for _ in range(n_repeats):
        run()
    synchronize()
    return [(read_clock() - start) / n_repeats] * n_repeats

# fails counts_that_time_nothing_are_refused

# %% nothing is refused
# = if n_warmup < 0 or n_repeats < 1: => if False:

# %% a negative warm-up is taken for none
# = if n_warmup < 0 or n_repeats < 1: => if n_repeats < 1:

# %% refused too late
# - if n_warmup < 0 or n_repeats < 1:
# -     raise ValueError(f"cannot time {n_repeats} runs after {n_warmup} to warm up")

# - return samples_s
if n_warmup < 0 or not samples_s:
    raise ValueError("nothing timed")
return samples_s

# fails warm_up_runs_come_first_and_are_not_timed the_device_is_idle_when_a_sample_begins
#   the_device_is_idle_when_a_sample_ends samples_are_raw_one_per_run
#   counts_that_time_nothing_are_refused

# %% the machine's own clock
import time

def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    found = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        found.append(time.perf_counter() - start)
    return found
