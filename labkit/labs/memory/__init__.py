"""GPU memory arithmetic: weights, KV cache, what fits on a card."""
