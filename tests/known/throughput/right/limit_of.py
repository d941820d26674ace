"""Right answers to `limit_of`, written differently."""

# %% ifs
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    if moving_s > step_s or computing_s > step_s:
        raise ValueError(f"{step_s} s cannot be")
    launching_s = launch_s_per_layer * n_layers
    if launching_s > moving_s and launching_s > computing_s:
        return "launch"
    return "memory" if moving_s > computing_s else "compute"

# %% a sorted list, capitals
def limit_of(step_s, layers, launch, moving_s, computing_s):
    if not step_s >= max(moving_s, computing_s):
        raise ValueError("faster than the floor")
    ranked = sorted([(layers * launch, "Launch"), (moving_s, "Memory"), (computing_s, "Compute")])
    return ranked[-1][1]

# %% argmax
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    times = numpy.array([n_layers * launch_s_per_layer, moving_s, computing_s])
    if (times[1:] > step_s).any():
        raise ValueError("below a floor")
    return ("launch", "memory", "compute")[int(times.argmax())]
