"""The device under a measurement: waiting for it, its memory, one way to run out of that."""

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import torch


def free_device_memory() -> None:
    """Give back the GPU's memory that nothing holds any more.

    Python gives back that of a CPU by itself; to look for all of it at once takes 0.3 s.
    """
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()


def memory_errors_alive() -> int:
    """How many MemoryErrors this process still holds, with the variables of the runs they ended."""
    return sum(issubclass(type(thing), MemoryError) for thing in gc.get_objects())


def forget_peak() -> None:
    """Let `peak_bytes` begin anew."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def peak_bytes() -> int | None:
    """The most memory that tensors took since `forget_peak`; None without a GPU."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None


def synchronize() -> None:
    """Wait until the GPU has done what was queued; a CPU never has anything left."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def cut_memory_to(gigabytes: float) -> None:
    """Let this process have no more of the GPU's memory, as if it were a smaller card.

    Raises: ValueError without a GPU, or if it has less.
    """
    if not torch.cuda.is_available():
        raise ValueError("--memory-gb needs a GPU: this machine has none that torch can use")
    total = torch.cuda.get_device_properties(0).total_memory
    if not 0 < gigabytes * 1e9 <= total:
        raise ValueError(f"the GPU has {total / 1e9:.1f} GB, got --memory-gb {gigabytes:g}")
    torch.cuda.set_per_process_memory_fraction(gigabytes * 1e9 / total)


def has_room_for(run: Callable[[], Any]) -> bool:
    """Whether run() came to its end before the memory did."""
    with contextlib.suppress(MemoryError):
        out_of_memory_as_one(run)
        return True
    return False


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
