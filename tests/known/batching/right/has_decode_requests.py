"""Right answers to `has_decode_requests`, written differently."""

# %% counted
def has_decode_requests(states):
    states = list(states)
    return states.count("done") < len(states)

# %% through the other one
def has_decode_requests(states):
    return has_prefill_requests(states) or "decode" in states

# %% PyTorch's truth value
import torch

def has_decode_requests(states):
    return torch.tensor([state != "done" for state in states], dtype=torch.bool).any()
