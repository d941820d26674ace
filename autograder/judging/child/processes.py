"""Trees of processes: who is in one, what memory and disk it takes, how it is ended."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

_MAX_ROUNDS = 100
_ROUND_S = 0.001


def children(pid: int | str) -> list[int]:
    """The direct children of a process; none where the system does not tell."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found = children(pid)
    for child in found:
        found += children(child)
    return found


def is_running(pid: int) -> bool:
    """Whether it has not ended yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def memory_mb(pids: list[int], limit_mb: int) -> int:
    """Memory that these processes take together, exact only where it is over the limit.

    Pages shared since a fork count once per process in the cheap bound, once in all in the exact
    sum, which the kernel takes milliseconds to make.
    """
    bound_mb = sum(_kb(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:")) for pid in pids) >> 10
    if bound_mb <= limit_mb:
        return bound_mb
    return sum(_kb(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in pids) >> 10


def disk_mb(folder: Path, limit_mb: int, max_files: int) -> int:
    """Disk that a folder takes; one that cannot be measured is over the limit."""
    n_bytes = n_files = 0
    folders = [os.fspath(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    n_files += 1
                    n_bytes += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except FileNotFoundError:  # removed meanwhile
            continue
        except OSError:  # a path too long, a folder closed to its owner
            return limit_mb + 1
        if n_files > max_files:
            return limit_mb + 1
    return n_bytes >> 20


def remove_folder(folder: Path) -> None:
    """Delete a folder that student code has filled: no depth, mode or link may stop that."""
    try:
        os.rmdir(folder)
    except OSError:
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def kill(pids: list[int], signal_number: int = signal.SIGKILL) -> None:
    """Send a signal to each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)


def end_descendants(pid: int) -> None:
    """Kill all that a process has started, and what that starts meanwhile; return when it is dead.

    Dead ones stay listed until their parent asks for their status.
    """
    for _ in range(_MAX_ROUNDS):
        running = [below for below in descendants(pid) if is_running(below)]
        if not running:
            return
        kill(running)
        time.sleep(_ROUND_S)


def end_strangers(known: set[int]) -> None:
    """Kill every child of this process but the `known` ones, and what those leave behind.

    A subreaper inherits daemons whose parent died; each round may bring to light more of them.
    """
    for _ in range(_MAX_ROUNDS):
        strangers = [pid for pid in children("self") if pid not in known]
        if not strangers:
            return
        kill(strangers)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_ROUND_S)


def _kb(path: str, names: tuple[str, ...]) -> int:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:  # ended meanwhile
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(names))
