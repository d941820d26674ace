"""Trees of processes: who is in one, what memory and disk it takes, how it is ended."""

import contextlib
import hashlib
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_MAX_ROUNDS = 100
_ROUND_S = 0.001
MAX_SEEN = 20_000


def children(pid: int | str) -> list[int]:
    """The direct children of a process; none if the system does not list them."""
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


def memory_mb(pids: list[int], limit_mb: int, shared_before_kb: int | None = None) -> int:
    """Memory that these processes take together, exact only where it is over the limit.

    Pages shared since a fork count once per process in the cheap bound, once in all in the exact
    sum, which the kernel takes milliseconds to make. Shared memory that they hold and do not use
    at the moment is in neither: it counts if the machine has more of it than before.
    """
    grown_kb = 0 if shared_before_kb is None else max(0, shared_kb() - shared_before_kb)
    names = ("RssAnon:", "RssShmem:")
    bound_mb = (sum(sum(_kb(f"/proc/{pid}/status", *names)) for pid in pids) + grown_kb) >> 10
    if bound_mb <= limit_mb:
        return bound_mb
    exact = [_kb(f"/proc/{pid}/smaps_rollup", "Pss_Anon:", "Pss_Shmem:") for pid in pids]
    own_kb, used_kb = map(sum, zip(*exact, strict=True))
    return (own_kb + max(used_kb, min(grown_kb, _held_kb(pids)) if grown_kb else 0)) >> 10


def shared_kb() -> int:
    """The shared memory of the whole machine, files on memory disks included."""
    return sum(_kb("/proc/meminfo", "Shmem:"))


def _held_kb(pids: list[int]) -> int:
    """At most so much shared memory is mapped by these processes, or open without a name."""
    sizes: dict[str, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                ends, rights, _, device, inode, *_ = line.split()
                if rights.endswith("s"):
                    first, last = (int(end, 16) for end in ends.split("-"))
                    key = f"{device} {inode}"
                    sizes[key] = max(sizes.get(key, 0), (last - first) >> 10)
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    path = f"/proc/{pid}/fd/{name}"
                    if os.readlink(path).startswith("/memfd:"):
                        found = os.stat(path)
                        sizes[f"memfd {found.st_ino}"] = found.st_blocks >> 1
    return sum(sizes.values())


def refuse_threads() -> None:
    """Exit unless this process has a single thread."""
    with contextlib.suppress(FileNotFoundError):
        tasks = os.listdir("/proc/self/task")
        names = [Path(f"/proc/self/task/{task}/comm").read_text().strip() for task in tasks]
        if len(names) > 1:
            raise SystemExit(f"a preloaded module has started threads: {', '.join(names)}")


def own_time(pids: list[int]) -> tuple[float, float] | None:
    """Seconds that these processes ran and waited for a CPU; None if the kernel counts neither."""
    ran = queued = 0
    try:
        for pid in pids:
            for task in os.listdir(f"/proc/{pid}/task"):
                numbers = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()
                ran, queued = ran + int(numbers[0]), queued + int(numbers[1])
    except (OSError, ValueError, IndexError):  # a process has ended, or this is not Linux
        return None
    return ran / 1e9, queued / 1e9


def disk_mb(folder: Path, limit_mb: int, max_files: int) -> int:
    """Disk that a folder takes; one that cannot be measured is over the limit."""
    n_bytes = 0
    try:
        for n_files, (_, found) in enumerate(_files(folder), 1):
            n_bytes += found.st_blocks * 512
            if n_files > max_files:
                return limit_mb + 1
    except OSError:  # a path too long, a folder closed to its owner
        return limit_mb + 1
    return n_bytes >> 20


def files_digest(pid: int, folder: Path) -> str:
    """A digest of a folder's files and their changes; "" if the folder cannot be read.

    Memory that a process shares with its forks could serve as a file; it is not in the digest.
    """
    if any(_kb(f"/proc/{pid}/status", "RssShmem:")):
        return ""
    try:
        lines = [
            f"{path} {found.st_ino} {found.st_size} {found.st_ctime_ns}"
            for path, found in islice(_files(folder), MAX_SEEN)
        ]
    except OSError:
        return ""
    if len(lines) == MAX_SEEN:
        return ""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The paths below a folder, and what is known of each; what is mounted there is left out.

    A course that lies below /tmp is mounted there, read-only: a walk through its packages would
    take as long as many checks.
    """
    device, folders = None, [os.fspath(folder)]
    while folders:
        with contextlib.suppress(FileNotFoundError), os.scandir(path := folders.pop()) as entries:
            device = device or os.stat(path).st_dev
            for entry in entries:
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # it has gone since it was listed
                    continue
                is_folder = stat.S_ISDIR(found.st_mode)
                if is_folder and found.st_dev != device:
                    continue
                yield entry.path, found
                if is_folder:
                    folders.append(entry.path)


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
    """Kill all processes that a process has started, and new ones; return when all are dead.

    Dead ones stay listed until their parent asks for their status. While one ends, the kernel's
    list may leave out another: only two lists in a row say that nothing runs.
    """
    n_empty = 0
    for _ in range(_MAX_ROUNDS):
        running = [below for below in descendants(pid) if is_running(below)]
        n_empty = 0 if running else n_empty + 1
        if n_empty == 2:
            return
        if running:
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


def _kb(path: str, *names: str) -> list[int]:
    """The numbers after these words; 0 for all if the process has ended."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return [0] * len(names)
    return [sum(int(line.split()[1]) for line in lines if line.startswith(name)) for name in names]
