"""A decoder as a server has it: many requests, prompts packed, steps in batches, memory in pages.

`pages` is the memory of the KV caches. `decoder` makes one pass over chunks of prompts and over the
last tokens of running requests, with drafts to verify; a pass may have both. `plain` has the
operations of a pass in PyTorch: they run anywhere, and are what the others are compared with.
`fast` has them for a GPU, by the kernels of `triton_rows`, `triton_decode` and `triton_packed`.
"""
