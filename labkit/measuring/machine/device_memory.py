"""Memory of a device: how much it has, and how much of it is free."""

import os
from pathlib import Path

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def own_memory_bytes(device: str = "cuda") -> int | None:
    """The GPU's memory that other programs leave to this one, used or not; None without a GPU.

    0 if it has no room even for being asked.
    """
    import torch

    if not torch.cuda.is_available():
        return None
    try:
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    except RuntimeError:
        return 0


def device_for(n_bytes: float) -> str:
    """The device for a lab's models: "cuda" where a GPU has this much free, "cpu" elsewhere."""
    own_bytes = own_memory_bytes()
    return "cuda" if own_bytes is not None and own_bytes >= n_bytes else "cpu"


def available_memory_bytes(device: str) -> int | None:
    """Bytes that a new model could take on a device now; None if unknown.

    On a GPU that is what the driver has left and what torch holds without using it.
    """
    if device.startswith("cuda"):
        import torch

        return max(0, (own_memory_bytes(device) or 0) - torch.cuda.memory_allocated(device))
    if not device.startswith("cpu"):
        return None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration):
        return total_memory_bytes()
    limit = _cgroup_limit_bytes()
    return free if limit is None else min(free, limit)


def total_memory_bytes() -> int | None:
    """The machine's memory, or what this container may use of it."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    limit = _cgroup_limit_bytes()
    return total if limit is None else min(total, limit)


def _cgroup_limit_bytes() -> int | None:
    for path in _CGROUP_LIMITS:
        try:
            return int(Path(path).read_text(encoding="ascii"))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return None
