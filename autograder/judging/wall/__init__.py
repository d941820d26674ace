"""The wall between student code and everything else, built by a process around itself.

    rung         files                 processes             network      limits
    namespaces   private tree, capped  sees only its own     none         kernel + zygote
    landlock     named paths only      no signal, no ptrace  none         kernel + zygote
    none         everything            everything            everything   kernel + zygote

Both real rungs also carry the system call filter of `seccomp`. Order matters: Landlock forbids
mounting, the filter forbids everything that builds walls, and a change of user cancels the wish to
die with the parent.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import autograder
from autograder.judging.wall import landlock, limits, namespaces, seccomp, syscalls
from autograder.judging.wall.settings import RUNGS, SYSTEM_PATHS, ChildSettings
from autograder.judging.wall.syscalls import NoWall

__all__ = [
    "RUNGS",
    "ChildSettings",
    "NoWall",
    "confine_judge",
    "die_with_parent",
    "enter",
    "fork",
    "leave",
    "settle",
    "strongest_rung",
    "why_not",
]

_TRIAL_S = 20
_PROC_FILES = tuple(Path("/proc", name) for name in ("cpuinfo", "meminfo", "self"))


def strongest_rung() -> str:
    """The strongest rung that works here, found by climbing it in a child process.

    Raises: NoWall saying what is missing.
    """
    reasons = []
    for rung in ("namespaces", "landlock"):
        reason = why_not(rung)
        if not reason:
            return rung
        reasons.append(f"{rung}: {reason}")
    raise NoWall(
        f"student code cannot be walled in on this machine ({'; '.join(reasons)}): grade on Linux "
        "6.12 or newer, or with --no-sandbox if you trust every submission"
    )


def why_not(rung: str) -> str:
    """Why this rung does not work here, in a few words; empty if it does."""
    folder = Path(autograder.__file__).resolve().parents[1]
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from autograder.judging.wall import try_rung; try_rung(*sys.argv[2:])"
    )
    with tempfile.TemporaryDirectory(prefix="labkit-") as home:
        trial = [sys.executable, "-s", "-P", "-B", "-c", program, str(folder), rung, home]
        done = subprocess.run(trial, capture_output=True, text=True, timeout=_TRIAL_S, env={})
    if done.returncode == 0:
        return ""
    return (done.stdout or done.stderr or f"exit status {done.returncode}").strip().split("\n")[-1]


def try_rung(rung: str, home: str) -> None:
    """Climb `rung` in this throw-away process; exits with 0 if that worked."""

    settings = ChildSettings(rung=rung)

    def steps(depth: int) -> None:
        try:
            if depth == 1:
                settle(settings)
            elif depth == 2:
                enter(settings, Path(home))
                os._exit(0)
            else:
                leave(rung)
            pid = fork(rung) if depth else os.fork()
        except (NoWall, OSError) as error:
            os.write(1, f"{error}\n".encode())
            os._exit(1)
        if not pid:
            steps(depth + 1)
        os._exit(min(os.waitpid(pid, 0)[1], 1))

    steps(0)


def leave(rung: str) -> None:
    """Before a zygote is forked: its tree of processes shall end with it."""
    if rung == "namespaces":
        namespaces.leave()


def settle(settings: ChildSettings) -> None:
    """In the fresh zygote: finish what `leave` began; prepare what all children need alike.

    With namespaces the zygote then sees the same files as its children will.
    """
    if settings.rung == "namespaces":
        namespaces.settle(settings)
    if settings.rung != "none":
        seccomp.child_filter(unix_sockets=settings.rung == "namespaces")


def fork(rung: str) -> int:
    """`os.fork` for a child that is going to `enter` the same rung."""
    return namespaces.fork() if rung == "namespaces" else os.fork()


def enter(settings: ChildSettings, folder: Path | None = None) -> Path:
    """Wall this freshly forked, single-threaded process in, for good.

    Returns the student's working folder, which is now the current one: with namespaces a new one
    on a disk that dies with the process, else `folder`, or a temporary one.
    Raises: OSError or NoWall if a layer fails; the process must end then.
    """
    rung = settings.rung
    if rung == "namespaces":
        namespaces.part(settings)
        namespaces.become_nobody(settings.uid)
        home, temporary, writable = namespaces.HOME, namespaces.DISK, namespaces.DISK
    else:
        home = temporary = writable = folder or Path(tempfile.mkdtemp(prefix="labkit-"))
    n_running = 0
    if rung == "landlock":
        n_running = _prepare_for_landlock(settings, home)
    elif rung == "none":
        n_running = limits.n_processes_of(os.getuid())
    _move_in(home, temporary)
    limits.apply(settings, n_running)
    if rung == "none":
        return home
    syscalls.die_with_parent(signal.SIGKILL)
    if rung == "namespaces":
        if landlock.abi():  # a second wall behind the first; all that is in the tree may be seen
            landlock.restrict([Path("/")], [writable])
    else:
        read_only = [path.resolve() for path in (*SYSTEM_PATHS, *settings.read_only)]
        landlock.restrict([*read_only, *_PROC_FILES], [writable], settings.real_hidden())
    syscalls.drop_capabilities()
    seccomp.install(seccomp.child_filter(unix_sockets=rung == "namespaces"))
    return home


def confine_judge(read_only: Iterable[Path], writable: Iterable[Path] = ()) -> tuple[str, ...]:
    """Take from the trusted process, for good, what judging does not need.

    It parses what hostile code sends: should that code ever take it over, it can write nothing
    outside `writable`, reach no network, start no program and signal no process. Call it once the
    zygote runs and everything is imported, before any thread is started. Returns the layers in
    place; without "landlock", in an old kernel, files stay within reach.
    Raises: NoWall on other systems, RuntimeError if threads run already.
    """
    syscalls.machine()
    n_threads = len(os.listdir("/proc/self/task"))
    if n_threads > 1:
        raise RuntimeError(
            f"{n_threads} threads run already and would not be confined: start the judge with "
            "OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1, and confine it before its first thread"
        )
    layers = ("landlock", "seccomp") if landlock.abi() else ("seccomp",)
    if "landlock" in layers:
        # Signals pass here and are refused by the filter: the kernel itself has to be able to
        # signal in this process's name, or the zygote would survive it.
        landlock.restrict(
            [*(path.resolve() for path in (*SYSTEM_PATHS, *map(Path, read_only))), *_PROC_FILES],
            [path.resolve() for path in map(Path, writable)],
            programs=False,
            signals=False,
        )
    syscalls.drop_capabilities()
    seccomp.install(seccomp.judge_filter())
    return layers


def die_with_parent() -> None:
    """End this process when the one that started it ends; nothing outside Linux."""
    if sys.platform == "linux":
        syscalls.die_with_parent(signal.SIGKILL)


def _prepare_for_landlock(settings: ChildSettings, home: Path) -> int:
    """Drop root; returns how many processes the user runs already."""
    syscalls.machine()
    version = landlock.abi()
    if version < landlock.ABI_OF_SCOPES:
        raise NoWall(
            f"Landlock {landlock.ABI_OF_SCOPES} (Linux 6.12) is needed, this kernel has {version}"
        )
    if os.getuid() == 0:
        os.chown(home, settings.uid, settings.uid)
        n_running = limits.n_processes_of(settings.uid)
        namespaces.drop_root(settings.uid)
        if not os.access(os.__file__, os.R_OK):
            raise NoWall(
                f"user {settings.uid} cannot read Python at {sys.base_prefix}: install it where "
                "every user may read it, or grade as a plain user"
            )
        return n_running
    return limits.n_processes_of(os.getuid())


def _move_in(home: Path, temporary: Path) -> None:
    """Make `home` the place where this process and its libraries keep their files."""
    os.chdir(home)
    os.umask(0o077)
    os.environ.update(
        HOME=str(home), TMPDIR=str(temporary), MPLCONFIGDIR=str(temporary / ".matplotlib")
    )
    tempfile.tempdir = None
