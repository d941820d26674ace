"""Wrong answers to `predicted_time_s`: edits of the reference, or the whole answer."""

# fails each_pass_has_its_own_limit

# %% computing alone
# = floor.seconds => floor.computing_s

# %% the longer of the sums
def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    floors = [
        pass_floor(machine, work, fed, cached, dtype=dtype)
        for fed, cached in generation_passes(n_prompt, n_new, use_cache)
    ]
    moving, computing = sum(f.moving_s for f in floors), sum(f.computing_s for f in floors)
    return max(moving, computing, launch_s * n_new)

# %% moving alone
# = floor.seconds => floor.moving_s

# %% milliseconds
# = return total_s => return 1e3 * total_s

# fails no_pass_is_shorter_than_its_launch

# %% launch before the work
# = max(launch_s, floor.seconds) => launch_s + floor.seconds

# %% all launches or all floors
# = max(launch_s, floor.seconds) => floor.seconds
# = return total_s => return max(n_new * launch_s, total_s)

# %% one launch for all
# = max(launch_s, floor.seconds) => floor.seconds
# = return total_s => return max(launch_s, total_s)

# fails without_a_cache_passes_grow

# %% always with a cache
# = generation_passes(n_prompt, n_new, use_cache) => generation_passes(n_prompt, n_new, True)

# fails floors_follow_the_dtype

# %% always 16 bits
# - floor = pass_floor(machine, work, n_fed, n_cached, dtype=dtype)
floor = pass_floor(machine, work, n_fed, n_cached)

# fails no_pass_is_shorter_than_its_launch

# %% no launch without a cache
# = max(launch_s, floor.seconds) => max(launch_s if use_cache else 0, floor.seconds)
