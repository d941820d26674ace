"""What a KV cache saves, predicted and measured; prefix caching; tiers."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.labs.cache_benchmark.": "experiments figures widget",
        "labkit.labs.cache_benchmark.single_passes": "predicted_crossing rows_of_passes",
        "labkit.labs.cache_benchmark.prompts": "edited_prompts",
        "labkit.labs.cache_benchmark.traces": "PLACES ROUTES bill_usd busiest_share "
        "conversations_and_agents hit_rate play prompt_prices",
        "labkit.labs.cache_benchmark.records": "curve launch_s passes predicted_curve "
        "settings_of slopes",
    },
)
