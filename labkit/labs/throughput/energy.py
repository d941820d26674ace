"""Joules of a pass, by the counter of an NVIDIA driver (NVML); None where there is no such counter.

NVML is asked by its C library, which comes with the driver: no package is needed.
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

from labkit.measuring.device import synchronize

LONG_S = 1.0  # the counter moves some ten times a second


def joules_of(
    run: Callable[[], Any], read: Callable[[], float | None] | None = None, least_s: float = LONG_S
) -> float | None:
    """Joules of one run, from as many as fill least_s. read: gives the joules used so far."""
    read = read or joules_so_far
    synchronize()
    before, began_s, n_runs = read(), time.perf_counter(), 0
    if before is None:
        return None
    while n_runs == 0 or time.perf_counter() - began_s < least_s:
        run()
        n_runs += 1
        synchronize()
    after = read()
    return None if after is None else (after - before) / n_runs


def joules_so_far() -> float | None:
    """What the first GPU has used since its driver was loaded."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    device, used_mj = ctypes.c_void_p(), ctypes.c_ulonglong()
    asked = (
        nvml.nvmlInit_v2()
        or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
        or nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(used_mj))
    )
    return None if asked else used_mj.value / 1e3
