"""Table 1.2.3 of the homework: the KV caches of a family of models, from facts alone."""

from collections.abc import Callable, Mapping

from labkit.measuring.records import Record
from labkit.measuring.tables import Table
from labkit.memory import kv_cache_bytes
from labkit.models.configs import ModelConfig

FAMILY = tuple(f"Qwen/Qwen3-{size}" for size in ("0.6B", "1.7B", "4B", "8B", "14B", "32B"))
BATCH_SIZES, N_TOKENS, WIDTH = (1, 2, 4), 32_768, 2


def caches_table() -> Table:
    """GiB of the KV cache of each model, by batch size, at the full length."""
    rows = []
    for name in FAMILY:
        config = ModelConfig.of(name)
        sizes = [kv_cache_bytes(config, N_TOKENS, n, WIDTH) / 2**30 for n in BATCH_SIZES]
        rows.append([name.rpartition("/")[2], *(f"{size:.2f}" for size in sizes)])
    title = f"KV cache in GiB, {N_TOKENS:,} tokens, {WIDTH} bytes per number"
    return Table(["model", *(f"batch {n}" for n in BATCH_SIZES)], rows, title)


def tables_of(records: Mapping[str, Record]) -> dict[str, Callable[[], object]]:
    """What makes the table; it needs no record."""
    return {"1.2.3-kv-caches": caches_table}
