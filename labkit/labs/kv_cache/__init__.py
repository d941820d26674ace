"""Lab 4: a KV cache. The answers are in `labkit.kv_cache`."""
