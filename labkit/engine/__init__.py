"""A small fast decoder for Qwen3- and Llama-shaped models, and speculation on it.

`weights` takes a transformers model, or a shape alone, into a few large matrices; `arena` is where
KV caches lie, and says what holds of them; `decoder` feeds tokens; `cached` lets the samplers of
lab 6 go step by step on any device; `sampling` draws and accepts tokens where the logits are.
`captured` makes CUDA graphs of whole steps, `samplers` decodes and speculates with them, and
`profiler` tells where their time goes. `registry` knows the implementations of an operation: in
PyTorch (`operations`, `sampling`), and in Triton (`triton_linear`, `triton_attention`,
`triton_accept`, `triton_flash`).
"""
