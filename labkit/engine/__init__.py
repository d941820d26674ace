"""A small fast decoder for Qwen3- and Llama-shaped models, and speculation on it.

`weights` takes a transformers model, or a shape alone, into a few large matrices; `arena` is where
KV caches lie; `decoder` feeds tokens, by operations of which `registry` knows several
implementations (`operations` in PyTorch, `triton_linear` and `triton_attention`); `sampling` draws
tokens where the logits are; `generate` goes step by step on any device, and `captured` runs whole
steps as CUDA graphs.
"""
