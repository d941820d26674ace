"""All checks of lab 5, each module with its open cases."""

from labkit.labs.batching.checks import (
    answers,
    buckets,
    decode,
    moving,
    predicates,
    prefill,
    queues,
)
from labkit.labs.batching.checks import (
    requests as request_checks,
)

# Everything, so that no check can be forgotten here.
from labkit.labs.batching.checks.answers import *  # noqa: F403
from labkit.labs.batching.checks.buckets import *  # noqa: F403
from labkit.labs.batching.checks.decode import *  # noqa: F403
from labkit.labs.batching.checks.moving import *  # noqa: F403
from labkit.labs.batching.checks.predicates import *  # noqa: F403
from labkit.labs.batching.checks.prefill import *  # noqa: F403
from labkit.labs.batching.checks.queues import *  # noqa: F403
from labkit.labs.batching.checks.requests import *  # noqa: F403

PUBLIC_CASES: dict[str, list] = {
    **answers.OPEN_CASES,
    **buckets.OPEN_CASES,
    **decode.OPEN_CASES,
    **moving.OPEN_CASES,
    **predicates.OPEN_CASES,
    **prefill.OPEN_CASES,
    **queues.OPEN_CASES,
    **request_checks.OPEN_CASES,
}
