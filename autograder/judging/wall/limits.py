"""What one process may use up, enforced by the kernel.

These limits count per process. The memory of a whole tree is the zygote's to watch.
"""

import contextlib
import os
import resource
import sys
from pathlib import Path

from autograder.judging.wall.settings import ChildSettings

_CPU_GRACE_S = 2


def apply(settings: ChildSettings, n_running: int = 0) -> None:
    """Lower this process's limits for good.

    `n_running` processes of the same user exist already: RLIMIT_NPROC counts them too, unless a
    user namespace of its own starts the count at zero.
    """
    with contextlib.suppress(OSError):  # when memory runs out all the same, this ends first
        Path("/proc/self/oom_score_adj").write_text("1000")
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, settings.file_mb << 20)
    _limit(resource.RLIMIT_NOFILE, settings.n_open_files)
    _limit(resource.RLIMIT_NPROC, n_running + settings.n_processes)
    _limit(resource.RLIMIT_CPU, settings.cpu_s, settings.cpu_s + _CPU_GRACE_S)
    bound_memory(settings.memory_mb)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_MSGQUEUE, 0)
        _limit(resource.RLIMIT_MEMLOCK, 0)


def bound_memory(megabytes: int) -> None:
    """Let this process map no more than so much beyond what it has: then a MemoryError comes."""
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, _mapped_bytes() + (megabytes << 20))


def n_processes_of(uid: int) -> int:
    """How many processes and threads of this user run now."""
    if not Path("/proc/self/task").exists():
        return 0
    n_running = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it has gone since
                if entry.stat().st_uid == uid:
                    n_running += len(os.listdir(f"/proc/{entry.name}/task"))
    return n_running


def _mapped_bytes() -> int:
    """Address space in use: the libraries' share is not the student's."""
    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    return n_pages * resource.getpagesize()


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    _, present = resource.getrlimit(kind)
    hard = soft if hard is None else hard
    if present != resource.RLIM_INFINITY:
        soft, hard = min(soft, present), min(hard, present)
    resource.setrlimit(kind, (soft, hard))
