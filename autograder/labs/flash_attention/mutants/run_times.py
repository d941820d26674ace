"""Wrong answers to `run_times`: edits of the reference, or the whole answer."""

# fails one_after_the_other_adds_up overlapping_work_takes_as_long_as_the_slower

# %% 4 bytes once more
# - computing, moving = n_flops / flops_per_s, n_bytes / bytes_per_s
computing, moving = n_flops / flops_per_s, 4 * n_bytes / bytes_per_s

# %% speeds swapped
# - computing, moving = n_flops / flops_per_s, n_bytes / bytes_per_s
computing, moving = n_flops / bytes_per_s, n_bytes / flops_per_s

# %% the pair swapped
# - return computing + moving, max(computing, moving)
return max(computing, moving), computing + moving

# %% computing and moving
# - return computing + moving, max(computing, moving)
return computing, moving

# fails one_after_the_other_adds_up

# %% the slower, twice
# - return computing + moving, max(computing, moving)
return (max(computing, moving),) * 2

# %% the mean
# - return computing + moving, max(computing, moving)
return (computing + moving) / 2, max(computing, moving)

# %% moving alone
# - return computing + moving, max(computing, moving)
return moving, max(computing, moving)

# fails overlapping_work_takes_as_long_as_the_slower

# %% the sum, twice
# - return computing + moving, max(computing, moving)
return (computing + moving,) * 2

# %% the faster
# - return computing + moving, max(computing, moving)
return computing + moving, min(computing, moving)

# %% always limited by memory
# - return computing + moving, max(computing, moving)
return computing + moving, moving

# %% always limited by computing
# - return computing + moving, max(computing, moving)
return computing + moving, computing

# %% half the sum if they overlap
# - return computing + moving, max(computing, moving)
return computing + moving, (computing + moving) / 2
