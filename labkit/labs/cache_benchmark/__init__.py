"""What a KV cache saves, predicted and measured; prefix caching; offload."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.labs.cache_benchmark.": "experiments figures widget",
        "labkit.labs.cache_benchmark.prompts": "edited_prompts",
        "labkit.labs.cache_benchmark.records": "curve predicted_curve settings_of",
    },
)
