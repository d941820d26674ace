"""The device of a measurement: waiting for it, its memory, and rows of runs without room.

Every experiment of every lab measures inside of `rows_in_room`: none has to know how memory ends.

A GPU that other programs fill may have no room even for being opened. Then nothing was queued on
it, and nothing of it is held.
"""

import contextlib
import gc
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from labkit.measuring.machine.device_memory import own_memory_bytes
from labkit.measuring.records import OUT_OF_MEMORY, Row

# How torch, its libraries and Triton say that there is no room, mostly in a RuntimeError: its class
# depends on the version. cuBLAS and cuDNN cannot be created without room for their workspaces; on a
# full H100, cuDNN calls that an internal error.
_NO_ROOM = re.compile(
    r"out of memory|out of resource|can(no|')t allocate memory|not enough memory|_ALLOC_FAILED"
    r"|cublasCreate|CUDNN_STATUS_(NOT_INITIALIZED|INTERNAL_ERROR)",
    re.IGNORECASE,
)
_REASON = re.compile(r"(CUDA out of memory\W )?.*?(\.(?=\s)|$)", re.MULTILINE)  # without advice


def free_device_memory() -> None:
    """Release the GPU memory that is no longer used.

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
    """The result of run(); every kind of out-of-memory error becomes a MemoryError.

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


def rows_in_room(rows: Sequence[Row], measure: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """What measure() gives. Where the memory ends first, the others of `rows` say so.

    rows: not measured yet. n_input is 0 where only the measurement shows it.
    Before the first of these is given, all that measure() had is free.
    """
    missing = {row.key: row for row in rows}
    found = iter(measure())
    while True:
        try:
            row = out_of_memory_as_one(partial(next, found, None))
        except MemoryError as error:
            reason = str(error)
            break
        if row is None:
            return
        for key in (row.key, row.key_before):
            missing.pop(key, None)
        yield row
    del found
    free_device_memory()
    for row in missing.values():
        yield lost(row, reason)


def lost(row: Row, reason: object) -> Row:
    """The row without a time, with the reason and the memory that other programs had left."""
    own_bytes = own_memory_bytes()
    free = {} if own_bytes is None else {"free_bytes": own_bytes}
    return replace(
        row, outcome=OUT_OF_MEMORY, note=str(reason), samples_s=(), counts={**row.counts, **free}
    )
