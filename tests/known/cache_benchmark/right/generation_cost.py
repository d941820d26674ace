"""Right answers to `generation_cost`, written differently."""

# %% without the list of passes
def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    flops = moved = 0
    for length in range(n_prompt, n_prompt + n_new):
        seen = length - 1 if use_cache and length > n_prompt else 0
        flops = flops + work.flops(length - seen, seen, 1)
        moved = moved + work.moved_bytes(length, 1, width)
    return [flops, moved]

# %% tensors in single precision
import torch

def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    costs = torch.zeros(2)
    for new, old in generation_passes(n_prompt, n_new, use_cache):
        costs[0] += work.flops(new, old, n_logits=1)
        costs[1] += work.moved_bytes(new + old, batch_size=1, width=width)
    return costs

# %% prefill and steps apart, as one prefill of all
def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    lengths = [n_prompt + i for i in range(n_new)]
    moved = sum(work.moved_bytes(n, 1, width) for n in lengths)
    if not use_cache:
        return sum(work.flops(n, 0, 1) for n in lengths), moved
    # feeding tokens one by one is feeding them at once, but for the logits of each
    return work.flops(lengths[-1], 0, n_new), moved
