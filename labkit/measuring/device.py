"""The device under a measurement: waiting for it, its memory, one way to run out of that.

A GPU that other programs fill may have no room even for being opened. Then nothing was queued on
it, and nothing of it is held.
"""

import contextlib
import gc
import re
from collections.abc import Callable
from typing import Any

import torch

# How torch, its libraries and Triton say that there is no room, mostly in a RuntimeError: its class
# depends on the version. cuBLAS and cuDNN cannot be created without room for their workspaces; on a
# full H100, cuDNN calls that an internal error.
_NO_ROOM = re.compile(
    r"out of memory|out of resource|can(no|')t allocate memory|not enough memory|_ALLOC_FAILED"
    r"|cublasCreate|CUDNN_STATUS_(NOT_INITIALIZED|INTERNAL_ERROR)",
    re.IGNORECASE,
)
_REASON = re.compile(r"(CUDA out of memory\. )?.*?(\.(?=\s)|$)", re.MULTILINE)  # without advice


def free_device_memory() -> None:
    """Give back the GPU's memory that nothing holds any more.

    Python gives back that of a CPU by itself; to look for all of it at once takes 0.3 s.
    """
    if torch.cuda.is_available():
        gc.collect()
        _of_open_gpu(torch.cuda.empty_cache)


def memory_errors_alive() -> int:
    """How many MemoryErrors this process still holds, with the variables of the runs they ended."""
    return sum(issubclass(type(thing), MemoryError) for thing in gc.get_objects())


def forget_peak() -> None:
    """Let `peak_bytes` begin anew."""
    _of_open_gpu(torch.cuda.reset_peak_memory_stats)


def peak_bytes() -> int | None:
    """The most memory that tensors took since `forget_peak`; None without a GPU."""
    return _of_open_gpu(torch.cuda.max_memory_allocated)


def synchronize() -> None:
    """Wait until the GPU has done what was queued; a CPU never has anything left."""
    _of_open_gpu(torch.cuda.synchronize)


def own_memory_bytes(device: str = "cuda") -> int | None:
    """The GPU's memory that other programs leave to this one, used or not; None without a GPU."""
    if not torch.cuda.is_available():
        return None

    def ask() -> int:
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)

    return _of_open_gpu(ask) or 0


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


def out_of_memory_as_one(run: Callable[[], Any]) -> Any:
    """What run() gives; all ways to run out of memory become a MemoryError.

    It holds nothing of the run: what the run had is free, unless something else refers to it.
    Raises: MemoryError; any other error as it is.
    """
    try:
        return run()
    except Exception as error:
        if not _says_no_room(error):
            raise
        reason = _REASON.match(str(error))[0]
    raise MemoryError(reason)


def _says_no_room(error: Exception) -> bool:
    """Whether an error is of memory. Triton's errors are no RuntimeErrors."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    is_known = isinstance(error, RuntimeError) or type(error).__name__ == "OutOfResources"
    return is_known and bool(_NO_ROOM.search(str(error)))


def _of_open_gpu(ask: Callable[[], Any]) -> Any:
    """What ask() gives; None without a GPU, and where it has no room even for being opened."""
    if torch.cuda.is_available():
        with contextlib.suppress(MemoryError):
            return out_of_memory_as_one(ask)
    return None
