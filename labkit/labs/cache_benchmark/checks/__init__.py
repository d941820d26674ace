"""All checks of lab 03, and its open cases; the checks are written in the modules imported here."""

from labkit.checks.answers import AnswerCase

# Everything, so that no check can be forgotten here.
from labkit.labs.cache_benchmark.checks.answers import *  # noqa: F403
from labkit.labs.cache_benchmark.checks.costs import *  # noqa: F403
from labkit.labs.cache_benchmark.checks.costs import CostCase, PassesCase
from labkit.labs.cache_benchmark.checks.hashes import *  # noqa: F403
from labkit.labs.cache_benchmark.checks.hashes import HashCase
from labkit.labs.cache_benchmark.checks.prefix import *  # noqa: F403
from labkit.labs.cache_benchmark.checks.prefix import OffloadCase, PrefixCase
from labkit.labs.cache_benchmark.checks.times import *  # noqa: F403
from labkit.labs.cache_benchmark.checks.times import LeavingCase, MachineSpec, SlopesCase, TimeCase

_MACHINE = MachineSpec(bandwidth=300e9, peaks={"float16": 30e12, "float32": 10e12})
_MODEL = "meta-llama/Llama-3.2-1B"

PUBLIC_CASES: dict[str, list] = {
    "generation_passes": [
        PassesCase(n_prompt=5, use_cache=True, expected=((5, 0), (1, 5), (1, 6))),
        PassesCase(n_prompt=5, use_cache=False, expected=((5, 0), (6, 0), (7, 0))),
        PassesCase(n_prompt=1, use_cache=True, expected=((1, 0), (1, 1))),
        PassesCase(n_prompt=4, use_cache=True, expected=()),
    ],
    "generation_cost": [
        CostCase(
            model=_MODEL,
            n_prompt=1,
            n_new=4,
            use_cache=True,
            flops=9887825920,
            moved_bytes=9886842880,
        ),
        CostCase(
            model=_MODEL,
            n_prompt=300,
            n_new=1,
            use_cache=True,
            flops=590330904576,
            moved_bytes=2481459200,
        ),
        CostCase(
            model=_MODEL,
            n_prompt=10,
            n_new=3,
            use_cache=False,
            flops=65829736448,
            moved_bytes=7415967744,
        ),
        CostCase(
            model="google/gemma-3-1b-it",
            n_prompt=600,
            n_new=3,
            use_cache=True,
            flops=861039135232,
            moved_bytes=6041303808,
        ),
        CostCase(
            model=_MODEL,
            n_prompt=10,
            n_new=3,
            use_cache=True,
            flops=24941740032,
            moved_bytes=7415967744,
            width=4,
        ),
    ],
    "predicted_time_s": [
        TimeCase(
            kind="floors",
            machine=_MACHINE,
            model=_MODEL,
            n_prompt=1000,
            n_new=5,
            use_cache=True,
            expected_s=0.10047368615253334,
        ),
        TimeCase(
            kind="launch",
            machine=_MACHINE,
            model=_MODEL,
            n_prompt=1000,
            n_new=5,
            use_cache=True,
            expected_s=0.14708063655253334,
            launch_s=0.02,
        ),
        TimeCase(
            kind="uncached",
            machine=_MACHINE,
            model=_MODEL,
            n_prompt=1000,
            n_new=5,
            use_cache=False,
            expected_s=0.3360957248853333,
        ),
        TimeCase(
            kind="dtype",
            machine=_MACHINE,
            model=_MODEL,
            n_prompt=1000,
            n_new=1,
            use_cache=True,
            expected_s=0.2012419096576,
            dtype="float32",
        ),
    ],
    "leaves_launch_floor_at": [
        LeavingCase(
            machine=_MACHINE,
            model=_MODEL,
            launch_s=0.02,
            n_context=1024,
            expected=305,
            above_all_s=0.137,
            below_all_s=0.001,
            float32_expected=103,
        ),
    ],
    "slopes": [
        SlopesCase(
            n_new=(1, 2, 4, 8),
            times_s=(0.5, 0.75, 1.25, 2.25),
            expected=(0.25, 0.25, 0.25),
        ),
        SlopesCase(n_new=(10, 30, 70), times_s=(1.0, 2.0, 8.0), expected=(0.05, 0.15), order=()),
        SlopesCase(n_new=(4, 5, 6), times_s=(1.0, 1.5, 2.5), expected=(0.5, 1.0), order=(2, 0, 1)),
    ],
    "block_hashes": [
        HashCase(tokens=(5, 9, 5, 9, 5, 9, 2), block_size=2),
        HashCase(
            tokens=(40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55), block_size=4
        ),
    ],
    "longest_cached_prefix": [
        PrefixCase(
            kind="tail",
            hashes=("a", "b", "c"),
            cached=("a", "b", "c", "x"),
            n_tokens=50,
            block_size=16,
            expected=48,
        ),
        PrefixCase(
            kind="gap",
            hashes=("a", "b", "c"),
            cached=("a", "c"),
            n_tokens=50,
            block_size=16,
            expected=16,
        ),
        PrefixCase(
            kind="whole",
            hashes=(1, 2, 3),
            cached=(1, 2, 3),
            n_tokens=48,
            block_size=16,
            expected=32,
        ),
    ],
    "offload_step_s": [
        OffloadCase(
            moved_bytes=10_000_000_000,
            offloaded_bytes=1_000_000_000,
            bandwidth=1e12,
            link_bandwidth=20e9,
            in_turn_s=0.059,
            overlapped_s=0.05,
        ),
        OffloadCase(
            moved_bytes=10_000_000_000,
            offloaded_bytes=10_000_000,
            bandwidth=1e12,
            link_bandwidth=50e9,
            in_turn_s=0.01019,
            overlapped_s=0.00999,
        ),
    ],
    "four_settings": [AnswerCase("four_settings")],
    "speed_up": [AnswerCase("speed_up")],
    "tokens_found": [AnswerCase("tokens_found")],
    "offload_plan": [AnswerCase("offload_plan")],
}
