"""Polls of lab 3: how much faster a generation with a KV cache is."""

from functools import partial

from labkit.labs.polls import Poll, Records, time_s


def _speed_up(setting: str, n_new: int, records: Records) -> float:
    point = {"setting": setting, "n_new": n_new}
    plain_s, cached_s = (
        time_s(records["cache-h100"], "cache_or_not", use_cache=use_cache, **point)
        for use_cache in (False, True)
    )
    return plain_s / cached_s


POLLS = (
    Poll(
        "poll-cache-short",
        "Llama-3.1-8B writes 512 new tokens after a prompt of 7 tokens, on an H100. How many times "
        "as fast is it with a KV cache?",
        "times",
        partial(_speed_up, "baseline", 512),
    ),
    Poll(
        "poll-cache-long",
        "Llama-3.1-8B writes 32 new tokens after a prompt of 32,000 tokens, on an H100. How many "
        "times as fast is it with a KV cache?",
        "times",
        partial(_speed_up, "long prompt", 32),
    ),
)
