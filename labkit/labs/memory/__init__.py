"""GPU memory arithmetic: weights, KV cache, what fits on a card."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.labs.memory.": "figures node peaks widget",
        "labkit.labs.memory.figures": "MODELS_OF_SEVEN_YEARS",
    },
)
