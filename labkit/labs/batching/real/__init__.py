"""The loops of lab 5 on a real model, whose KV caches really move.

paged_model    a model whose KV caches lie in pages (lab 4)
servers        the primitives of `labkit.labs.batching.servers`, done on that model
one_process    both loops take turns
engine         one GPU: passes and KV caches; cards: the loops and the scheduler on such GPUs
"""
