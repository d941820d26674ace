"""All checks of lab 04, and its open cases; the checks are written in the modules imported here."""

import torch

# Everything, so that no check can be forgotten here.
from labkit.labs.kv_cache.checks.arena import *  # noqa: F403
from labkit.labs.kv_cache.checks.arena import ArenaCase
from labkit.labs.kv_cache.checks.attend import *  # noqa: F403
from labkit.labs.kv_cache.checks.attend import AttendCase
from labkit.labs.kv_cache.checks.generate import *  # noqa: F403
from labkit.labs.kv_cache.checks.generate import CountCase, GenerateCase
from labkit.labs.kv_cache.checks.paged import *  # noqa: F403
from labkit.labs.kv_cache.checks.paged import PagedCase
from labkit.labs.kv_cache.checks.ring import *  # noqa: F403
from labkit.labs.kv_cache.checks.ring import RingCase
from labkit.labs.kv_cache.checks.step import *  # noqa: F403
from labkit.labs.kv_cache.checks.step import StepCase

PUBLIC_CASES: dict[str, list] = {
    "attend_cached": [
        AttendCase(n_past=0, n_query=3),
        AttendCase(n_past=5, n_query=1, seed=1),
        AttendCase(n_past=3, n_query=4, batch=2, seed=2),
        AttendCase(n_past=4, n_query=2, n_heads=4, n_kv_heads=2, seed=3),
    ],
    "forward_cached": [
        StepCase(chunks=(4,)),
        StepCase(chunks=(3, 1, 1), n_layers=3, seed=1),
        StepCase(chunks=(2, 3), batch=2, seed=2),
    ],
    "generate": [
        GenerateCase(n_prompt=3, n_new=4),
        GenerateCase(n_prompt=1, n_new=1, seed=1),
        GenerateCase(n_prompt=2, n_new=5, batch=3, seed=2),
        GenerateCase(n_prompt=4, n_new=0, seed=3),
    ],
    "tokens_processed": [
        CountCase(n_prompt=3, n_new=1, cached=3, uncached=3),
        CountCase(n_prompt=3, n_new=4, cached=6, uncached=18),
        CountCase(n_prompt=1, n_new=512, cached=512, uncached=131_328),
    ],
    "ArenaCache": [
        ArenaCase(life=(3, 1, -2, 2, 1, -4, 3), capacity=8),
        ArenaCase(life=(2, -1, 3), capacity=5, n_layers=3, batch=2, dtype=torch.bfloat16),
    ],
    "RingCache": [
        RingCase(window=4, n_tokens=10, chunks=(6, 2)),
        RingCase(window=5, n_tokens=7, chunks=(12, 3), batch=2, dtype=torch.float16),
    ],
    "PagedCache": [
        PagedCase(n_blocks=9, block_size=4, appends=(3, 1, 1, 5), n_operations=24),
        PagedCase(n_blocks=8, block_size=2, appends=(1, 2, 3), dtype=torch.float16, seed=1),
    ],
}
