"""Wrong answers to `run_times`: edits of the reference, or the whole answer."""

# fails one_after_the_other_adds_up overlapping_work_takes_as_long_as_the_slower

# %% 4 bytes once more
# = n_bytes / bytes_per_s => 4 * n_bytes / bytes_per_s

# %% speeds swapped
# = n_flops / flops_per_s, n_bytes / bytes_per_s => n_flops / bytes_per_s, n_bytes / flops_per_s

# %% the pair swapped
# = computing + moving, max(computing, moving) => max(computing, moving), computing + moving

# %% computing and moving
# = computing + moving, max(computing, moving) => computing, moving

# fails one_after_the_other_adds_up

# %% the slower, twice
# = computing + moving, max(computing, moving) => (max(computing, moving),) * 2

# %% the mean
# = computing + moving => (computing + moving) / 2

# %% moving alone
# = computing + moving => moving

# fails overlapping_work_takes_as_long_as_the_slower

# %% the sum, twice
# = computing + moving, max(computing, moving) => (computing + moving,) * 2

# %% the faster
# = max(computing, moving) => min(computing, moving)

# %% always limited by memory
# = max(computing, moving) => moving

# %% always limited by computing
# = max(computing, moving) => computing

# %% half the sum if they overlap
# = max(computing, moving) => (computing + moving) / 2
