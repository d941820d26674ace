"""The device under a measurement: waiting for it, giving memory back, one way to run out of it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch


def free_device_memory() -> None:
    """Give back what nothing holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def memory_errors_alive() -> int:
    """How many MemoryErrors this process still holds, with the variables of the runs they ended."""
    return sum(issubclass(type(thing), MemoryError) for thing in gc.get_objects())


def synchronize() -> None:
    """Wait until the device has done what was queued; a CPU never has anything left."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def out_of_memory_as_one(run: Callable[[], Any]) -> Any:
    """What run() gives; torch's ways to run out of memory become a MemoryError.

    Raises: MemoryError.
    """
    try:
        return run()
    except torch.OutOfMemoryError as error:
        raise MemoryError(str(error).partition("\n")[0]) from None
    except RuntimeError as error:
        if "can't allocate memory" in str(error):  # how torch says it on a CPU
            raise MemoryError(str(error).partition("\n")[0]) from None
        raise
