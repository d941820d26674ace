"""Recorded peaks of memory, beside what weights and cache alone would take."""

from collections.abc import Callable

from labkit.measuring.records import Row, recorded_results
from labkit.measuring.tables import Table
from labkit.models.configs import ModelConfig
from labkit.models.facts import models

RECORD, MODEL, BATCH, N_NEW = "memory-h200-80gb", "Qwen/Qwen3-8B", 8, 64
WHOLE = "throughput-h200"  # the same runs, on all of the card


def peak_rows(record: str = RECORD) -> list[Row]:
    """The rows of the record that finished, one for each length of the prompts."""
    rows = recorded_results(f"{record}.jsonl")[record].of("input_sweep", MODEL)
    return [row for row in rows if row.is_ok and row.peak_bytes and row.n_new == N_NEW]


def peak_of(n_input: int, record: str = RECORD) -> int:
    """The recorded peak in bytes with prompts of this length."""
    [row] = [each for each in peak_rows(record) if each.n_input == n_input]
    return row.peak_bytes


def formula_bytes(kv_cache_bytes: Callable[..., int], n_input: int) -> int:
    """Weights and cache in bytes at the end of such a run."""
    weights = 2 * models()[MODEL]["params_exact"]
    return weights + int(kv_cache_bytes(ModelConfig.of(MODEL), n_input + N_NEW, BATCH))


def peaks_table(kv_cache_bytes: Callable[..., int]) -> Table:
    """The formula and the record in GB for each length, and the bytes that the formula lacks."""
    rows = []
    for row in peak_rows():
        formula = formula_bytes(kv_cache_bytes, row.n_input)
        over = row.peak_bytes - formula
        sizes = [f"{size / 1e9:.2f}" for size in (formula, row.peak_bytes, over)]
        rows.append([f"{row.n_input:,}", *sizes, f"{over:,}"])
    names = ["prompt tokens", "weights and cache", "recorded peak", "overhead", "overhead in bytes"]
    return Table(names, rows, "Qwen3-8B, 8 sequences, 64 new tokens each, one H200, in GB")
