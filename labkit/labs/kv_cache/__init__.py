"""A KV cache: attention, model, generation; arena, ring, pages."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.labs.kv_cache.figures": "cache_timing",
        "labkit.labs.kv_cache.paged_rows": "PagedRows",
        "labkit.labs.kv_cache.quantised": "QuantisedArena bytes_per_token quantisation_errors",
        "labkit.labs.kv_cache.speech": "BUGS QwenParts WithBug",
        "labkit.labs.kv_cache.stores": "N_STEPS time_stores",
        "labkit.labs.kv_cache.widget": "store_player",
    },
)
