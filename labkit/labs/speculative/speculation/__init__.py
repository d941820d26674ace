"""Beside `labkit.speculative`: models with a cache, drafts by copying, batches, trees, costs."""
