"""All checks of lab 05, and its open cases; the checks are written in the modules imported here."""

from itertools import combinations

from labkit.batching import STATES
from labkit.checks.answers import AnswerCase

# Everything, so that no check can be forgotten here.
from labkit.labs.batching.checks.answers import *  # noqa: F403
from labkit.labs.batching.checks.buckets import *  # noqa: F403
from labkit.labs.batching.checks.buckets import BucketCase
from labkit.labs.batching.checks.decode import *  # noqa: F403
from labkit.labs.batching.checks.decode import LOADS
from labkit.labs.batching.checks.loops import WORKLOADS
from labkit.labs.batching.checks.moving import *  # noqa: F403
from labkit.labs.batching.checks.moving import GoodputCase, LatencyCase, PaddingCase, TransferCase
from labkit.labs.batching.checks.predicates import *  # noqa: F403
from labkit.labs.batching.checks.predicates import RoomCase, StatesCase
from labkit.labs.batching.checks.prefill import *  # noqa: F403
from labkit.labs.batching.checks.queues import *  # noqa: F403
from labkit.labs.batching.checks.queues import QueueCase
from labkit.labs.batching.checks.requests import *  # noqa: F403
from labkit.labs.batching.checks.requests import RequestCase

TRUTH_TABLE = [StatesCase(states) for n in range(5) for states in combinations(STATES, n)]

PUBLIC_CASES: dict[str, list] = {
    "Request": [
        RequestCase(n_input=10, wanted=4, max_length=100, limit=4),
        RequestCase(n_input=10, wanted=1, max_length=100, limit=1),
        RequestCase(n_input=10, wanted=50, max_length=15, limit=5, stops_after=3),
        RequestCase(n_input=10, wanted=0, max_length=100, limit=0),
        RequestCase(n_input=12, wanted=None, max_length=16, limit=4),
        RequestCase(n_input=12, wanted=None, max_length=100, limit=88, stops_after=1, eos=0),
        RequestCase(n_input=30, wanted=None, max_length=16, limit=-14),
    ],
    "has_prefill_requests": TRUTH_TABLE,
    "has_decode_requests": TRUTH_TABLE,
    "does_fit": [
        RoomCase(size=40, in_memory=(60,)),
        RoomCase(size=16, in_memory=(64, 16, 32)),
        RoomCase(size=100, in_memory=()),
    ],
    "RequestQueue": [
        QueueCase(((14, 50), (3, 70), (25, 20), (9, 60), (11, 10), (2, 40), (30, 30))),
    ],
    "PrefillLoop": WORKLOADS,
    "DecodeLoop": [*WORKLOADS, *LOADS],
    "BucketQueue": [
        BucketCase("edges", width=8, lengths=(7, 8, 1, 15, 16, 9)),
        BucketCase("many", width=10, lengths=(25, 4, 33, 36, 24, 35)),
        BucketCase("turns", width=10, lengths=(24, 25, 33, 35)),
        BucketCase("one", width=32, lengths=(44, 35, 46, 38, 41)),
        BucketCase("rare", width=16, lengths=(40, 10, *[40] * 12)),
    ],
    "transfer_s": [
        TransferCase(1000, 131_072, 50e9, latency_s=0.001, moving_s=0.00262144),
        TransferCase(7, 98_304, 1e9, latency_s=0.0005, moving_s=0.000688128),
    ],
    "latencies": [
        LatencyCase(2.0, (2.5, 2.75, 3.5), ttft_s=0.5, tpot_s=0.5),
        LatencyCase(1.25, (4.25, 4.5, 4.75, 6.25, 6.25), ttft_s=3.0, tpot_s=0.5),
        LatencyCase(3.0, (3.75,), ttft_s=0.75, tpot_s=0.0),
    ],
    "goodput": [
        GoodputCase("mixed", ((0.5, 0.25), (4, 0.25), (0.5, 3), (0.75, 0.5), (4, 4)), 1, 1, 1, 2),
        GoodputCase("edge", ((0.5, 1), (1, 0.5), (1, 1), (1, 0.5)), 1, 1, 1, 4),
        GoodputCase("time", ((0.5, 0.25), (0.25, 0.5), (0.75, 0.5)), 1, 1, 4, 3),
        GoodputCase("none", (), 1, 1, 4, 0),
    ],
    "padding_waste": [
        PaddingCase("longest", ((10, 4, 6),), expected=1 / 3),
        PaddingCase("longest", ((10, 5, 5, 10), (20, 10)), expected=0.25),
        PaddingCase("weights", ((12, 3), (12, 12, 6, 6, 9, 12)), expected=0.25),
        PaddingCase("none", (), expected=0.0),
    ],
    "which_batching": [AnswerCase("which_batching")],
    "predicted_ratio": [AnswerCase("predicted_ratio")],
}
