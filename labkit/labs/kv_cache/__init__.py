"""A KV cache: attention, model, generation; arena, ring, pages."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.cache_benchmark": "block_hashes",
        "labkit.labs.kv_cache.figures": "cache_timing",
        "labkit.labs.kv_cache.widget": "store_player",
    },
)
