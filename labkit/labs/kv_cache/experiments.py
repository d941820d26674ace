"""The experiment of lab 4 that a machine can record: what a step costs with each store."""

from collections.abc import Callable, Iterator, Sequence

from labkit.kv_cache import ArenaCache, PagedCache
from labkit.labs.kv_cache.one_kernel import ONE_KERNEL, with_one_kernel
from labkit.labs.kv_cache.stores import N_STEPS, ways_of
from labkit.measuring.bench import Bench
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns

LENGTHS = {"cpu": (1024, 4096, 16_384), "cuda": (4096, 16_384, 65_536)}


def cache_stores(
    profile: MachineProfile,
    lengths: Sequence[int] = (),
    *,
    n_samples: int = 10,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Seconds of a step of one layer by each store, by the number of cached tokens.

    The layer has 32 query heads, 8 KV heads and a head dimension of 64. setting: the store.
    n_input: the cached tokens. Each step appends one token and attends to all.
    """
    for n_cached in lengths or LENGTHS[profile.device]:
        ways = ways_of(ArenaCache, PagedCache, n_cached, profile.device)
        if profile.device == "cuda":
            ways[ONE_KERNEL] = with_one_kernel(n_cached)
        rows = {
            way: Row("cache_stores", "one layer", 1, n_cached, 1, True, outcome="-", setting=way)
            for way in ways
        }
        if all(is_done(row.key) for row in rows.values()):
            continue
        timings = time_in_turns(ways, n_samples, n_warmup=2)
        for way, row in rows.items():
            yield measured(row, [sample / N_STEPS for sample in timings[way].samples_s], {})


EXPERIMENTS: dict[str, Callable[[Bench], None]] = {
    "cache_stores": lambda bench: bench.fill(cache_stores),
}
