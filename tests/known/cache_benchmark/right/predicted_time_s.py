"""Right answers to `predicted_time_s`, written differently."""

# %% a sum
def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    return sum(
        max(launch_s, pass_floor(machine, work, new, old, dtype=dtype).seconds)
        for new, old in generation_passes(n_prompt, n_new, use_cache)
    )

# %% without pass_floor
def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    width = {"float32": 4, "float16": 2, "bfloat16": 2}[dtype]
    times = []
    for i in range(n_new):
        length = n_prompt + i
        cached = length - 1 if use_cache and i else 0
        moving = work.moved_bytes(length, 1, width) / machine.bandwidth
        computing = work.flops(length - cached, cached, 1) / machine.peak(dtype)
        times.append(max(launch_s, moving, computing))
    return sum(times)

# %% an array
import numpy as np

def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    passes = generation_passes(n_prompt, n_new, use_cache)
    floors = [pass_floor(machine, work, *each, dtype=dtype).seconds for each in passes]
    return np.maximum(floors, launch_s).sum()
