"""A timer that you can trust, sweeps that survive a lack of memory, what limits a step."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.labs.throughput.": "bugs experiments figures launches programs served "
        "shares steps tables widget",
    },
)
