"""Lab 5's experiment: what serving takes on real GPUs, as rows of a record."""

import time
from collections.abc import Iterator
from itertools import chain
from operator import methodcaller

import torch

from labkit.labs.batching.measured.costs import costs, first_device
from labkit.labs.batching.measured.link import COPY, NCCL, PINNED, link
from labkit.labs.batching.measured.overlap import overlap, second_tokens
from labkit.labs.batching.measured.served import served
from labkit.labs.batching.measured.sizes import Models
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import IsDone, Row

# A GPU that a long pass has heated has a lower clock for a while. The calibration after the row
# would take that for a disturbance by others.
MOST_REST_S = 5.0
LACKING = (
    "This machine has {}: the rows kv_transfer by peer copy and NCCL, and those of overlap and "
    "second_token with a transfer, need two GPUs and are missing."
)


def serving(
    profile: MachineProfile,
    *,
    n_samples: int = 10,
    n_devices: int | None = None,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Passes of the serving decoder, a KV cache's way to another GPU, and both at once.

    n_devices: GPUs to use, at most two; all that there are if None. Row experiments: prefill_pass,
    decode_pass, mixed_pass, kv_transfer, overlap, second_token, served.
    """
    models = Models(profile)
    devices = devices_of(models, n_devices)
    words = (models, n_samples, is_done)
    if len(devices) < 2:
        print(LACKING.format("one GPU" if devices[0] != "cpu" else "no GPU"))
    parts = [
        costs(*words),
        link(*words, devices, (COPY, PINNED)),
        overlap(*words, devices, COPY),
        second_tokens(*words, devices),
    ]
    if len(devices) > 1:
        parts += [link(*words, devices, (NCCL,)), overlap(*words, devices, NCCL)]
    parts.append(served(models, is_done, devices))
    for row in chain.from_iterable(parts):
        if profile.device == "cuda":
            time.sleep(min(sum(row.samples_s), MOST_REST_S))
        yield row


def devices_of(models: Models, n_devices: int | None = None) -> list[str]:
    """The first two GPUs, or one, or the CPU; a CPU stands for as many as are wanted."""
    first = first_device(models)
    if first == "cpu":
        return ["cpu"] * (n_devices or 1)
    n = min(2, n_devices or 2, torch.cuda.device_count())
    return [f"cuda:{i}" for i in range(n)]


EXPERIMENTS = {"serving": methodcaller("fill", serving)}
