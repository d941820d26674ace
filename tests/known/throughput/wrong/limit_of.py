"""Wrong answers to `limit_of`: edits of the reference, or the whole answer."""

# fails many_layers_wait_for_launches

# %% one layer's launches
# = n_layers * launch_s_per_layer => launch_s_per_layer

# %% the time next to the step
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    if step_s < max(moving_s, computing_s):
        raise ValueError("too fast")
    times_s = {
        "launch": n_layers * launch_s_per_layer,
        "memory": moving_s,
        "compute": computing_s,
    }
    return min(times_s, key=lambda name: abs(step_s - times_s[name]))

# %% launches against both floors together
# - return max(least_s, key=least_s.get)
if least_s["launch"] > moving_s + computing_s:
    return "launch"
return "memory" if moving_s > computing_s else "compute"

# fails many_bytes_wait_for_memory

# %% memory under another name
# = "memory": moving_s, => "bandwidth": moving_s,

# fails many_products_wait_for_compute

# %% compute under another name
# = "compute": computing_s, => "arithmetic": computing_s,

# fails many_bytes_wait_for_memory many_products_wait_for_compute

# %% memory and compute mixed up
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    if step_s < max(moving_s, computing_s):
        raise ValueError("too fast")
    launch_s = n_layers * launch_s_per_layer
    if launch_s > max(moving_s, computing_s):
        return "launch"
    return "compute" if moving_s > computing_s else "memory"

# fails many_layers_wait_for_launches many_bytes_wait_for_memory many_products_wait_for_compute

# %% the shortest
# = max(least_s, key=least_s.get) => min(least_s, key=least_s.get)

# fails a_step_below_its_floor_is_refused

# %% nothing is impossible
# = step_s < max(moving_s, computing_s) => False

# %% memory cannot be beaten, computing can
# = step_s < max(moving_s, computing_s) => step_s < moving_s

# %% computing cannot be beaten, memory can
# = step_s < max(moving_s, computing_s) => step_s < computing_s

# %% launching cannot be beaten either
# - if step_s < max(moving_s, computing_s):
# -     floor_s = max(moving_s, computing_s)
if step_s < max(moving_s, computing_s, n_layers * launch_s_per_layer):
    floor_s = max(moving_s, computing_s)

# fails many_layers_wait_for_launches many_bytes_wait_for_memory many_products_wait_for_compute
#   a_step_below_its_floor_is_refused

# %% always launch
def limit_of(*sizes):
    return 'launch'

# fails a_step_below_its_floor_is_refused

# %% a step as long as its floor is refused
# = step_s < max(moving_s, computing_s) => step_s <= max(moving_s, computing_s)

# %% a step a little below its floor
# = step_s < max(moving_s, computing_s): => step_s < 0.95 * max(moving_s, computing_s):
