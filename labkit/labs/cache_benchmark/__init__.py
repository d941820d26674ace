"""Lab 3: what a KV cache saves. The answers are in `labkit.cache_benchmark`."""
