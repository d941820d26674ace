"""Namespaces: a private process tree, file tree and network that hold nothing but the student's.

The zygote becomes the first process of a tree of its own and enters a read-only file tree (`leave`,
fork, `settle`). Each child becomes the first process of yet another tree (`fork`): when a first
process dies, the kernel ends its whole tree, daemons and all. The child then gets a disk, a /proc
and a network of its own (`part`), and gives up the privileges that this took (`become_nobody`).
"""

import os
import struct
from collections.abc import Iterable
from pathlib import Path

from autograder.judging.wall import syscalls
from autograder.judging.wall.settings import SYSTEM_PATHS, ChildSettings

_NEW_MOUNTS, _NEW_CGROUP, _NEW_UTS = 0x00020000, 0x02000000, 0x04000000
_NEW_IPC, _NEW_USER, _NEW_PIDS, _NEW_NET = 0x08000000, 0x10000000, 0x20000000, 0x40000000

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_PROGRAMS, _REMOUNT = 1, 2, 4, 8, 32
_BIND, _RECURSIVE, _PRIVATE, _DETACH = 0x1000, 0x4000, 0x40000, 2
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_CLONE_TREE, _CLOSE_ON_EXEC, _FROM_DESCRIPTOR = 1, 0o2000000, 0x4

_STUDENT_UID = 1000
_NEW_ROOT = "/tmp"  # where the tree grows before it becomes the root; /tmp exists everywhere
_EMPTY = "/.empty"
_DEVICES = ("null", "zero", "full", "random", "urandom")

DISK = Path("/tmp")
HOME = DISK / "student"
_SHARED_MEMORY = DISK / "shm"


def leave() -> None:
    """The next child starts a process tree of its own; a plain user becomes root inside it."""
    is_root = os.getuid() == 0
    ids = (os.getuid(), os.getgid())
    _unshare(_NEW_PIDS if is_root else _NEW_PIDS | _NEW_USER)
    if not is_root:
        _map_user(0, *ids)


def settle(settings: ChildSettings) -> None:
    """In the first process of the new tree: enter a file tree made of read-only views.

    Stops: reading other submissions, hidden cases, the gradebook or the user's files, and seeing
    any process but its own. The views are taken before the tree is built, so they may lie below the
    place where it grows. Nothing that is not in a view can be opened from here on.
    """
    os.umask(0o022)
    _unshare(_NEW_MOUNTS)
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    real = {path: path.resolve() for path in (*SYSTEM_PATHS, *settings.read_only) if path.exists()}
    devices = [Path("/dev", name) for name in _DEVICES]
    views = [(path, _view(path)) for path in (*_outermost(real.values()), *devices)]
    hidden = settings.real_hidden()
    _mount("tmpfs", _NEW_ROOT, "tmpfs", _NO_SETUID | _NO_DEVICES, "size=16m,mode=0755")
    for folder in (DISK, Path("/proc"), Path(_EMPTY)):
        os.makedirs(f"{_NEW_ROOT}{folder}")
    _mount_disk(f"{_NEW_ROOT}{DISK}", settings)
    for path, view in views:
        _place(view, path)
    os.symlink(_SHARED_MEMORY, f"{_NEW_ROOT}/dev/shm")
    for path, target in real.items():
        if not os.path.lexists(f"{_NEW_ROOT}{path}"):
            os.makedirs(os.path.dirname(f"{_NEW_ROOT}{path}"), exist_ok=True)
            os.symlink(target, f"{_NEW_ROOT}{path}")
    for path in hidden:
        target = f"{_NEW_ROOT}{path}"
        if os.path.exists(target):
            cover = f"{_NEW_ROOT}{_EMPTY}" if os.path.isdir(target) else "/dev/null"
            _mount(cover, target, None, _BIND)
    _mount_proc(f"{_NEW_ROOT}/proc")
    os.chdir(_NEW_ROOT)
    syscalls.call("pivot_root", b".", b".")
    syscalls.call("umount2", b".", _DETACH)
    os.chdir("/")
    _mount(None, "/", None, _REMOUNT | _BIND | _READ_ONLY | _NO_SETUID | _NO_DEVICES)


def fork() -> int:
    """`os.fork`, whose child is the first process of a new tree."""
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _unshare(_NEW_PIDS)
    pid = os.fork()
    if pid:
        syscalls.call("setns", home, _NEW_PIDS)  # so that the next fork can branch off again
    os.close(home)
    return pid


def part(settings: ChildSettings) -> None:
    """Leave the zygote behind: an empty disk, a /proc without it, no network.

    Stops: leaving anything for the next submission, filling the disk, talking to anybody.
    """
    _unshare(_NEW_MOUNTS | _NEW_IPC | _NEW_UTS | _NEW_CGROUP | _NEW_NET)
    covered = [path for path in settings.read_only if DISK in path.parents and path.exists()]
    views = {path: os.open(path, os.O_PATH) for path in covered}
    _mount_proc("/proc")
    _mount_disk(str(DISK), settings)
    for path, view in views.items():  # what the new disk would hide
        os.makedirs(path)
        _mount(f"/proc/self/fd/{view}", str(path), None, _BIND | _RECURSIVE)
        os.close(view)
    for folder in (HOME, _SHARED_MEMORY):
        os.mkdir(folder)


def become_nobody(uid: int) -> None:
    """Give up root, then enter a user namespace of one's own.

    Stops: what root may do, and fork bombs: the limit on processes does not bind root, and in a
    fresh user namespace it counts this tree alone.
    """
    if _is_real_root():
        for folder in (DISK, HOME, _SHARED_MEMORY):
            os.chown(folder, uid, uid)
        drop_root(uid)
    ids = (os.getuid(), os.getgid())
    _unshare(_NEW_USER)
    _map_user(_STUDENT_UID, *ids)


def drop_root(uid: int) -> None:
    """Become a plain user, in no group but its own."""
    syscalls.drop_bounds()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else /proc/self stays root's


def _is_real_root() -> bool:
    """Root of the machine (or of its container), not just of a namespace with one user in it."""
    with open("/proc/self/uid_map") as table:
        n_users = int(table.readline().split()[2])
    return os.getuid() == 0 and n_users > 1


def _map_user(inside: int, uid: int, gid: int) -> None:
    lines = {"setgroups": "deny", "uid_map": f"{inside} {uid} 1", "gid_map": f"{inside} {gid} 1"}
    for name, line in lines.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Without those that lie below another one."""
    unique = set(paths)
    return sorted(path for path in unique if unique.isdisjoint(path.parents))


def _view(path: Path) -> int:
    """A read-only copy of the mounts at and below `path`, attached nowhere yet."""
    flags = _CLONE_TREE | _CLOSE_ON_EXEC | _AT_RECURSIVE
    tree = syscalls.call("open_tree", _AT_FDCWD, os.fsencode(path), flags)
    devices = 0 if path.is_char_device() else _NO_DEVICES
    wanted = struct.pack("=QQQQ", _READ_ONLY | _NO_SETUID | devices, 0, 0, 0)
    where = _AT_EMPTY_PATH | _AT_RECURSIVE
    syscalls.call("mount_setattr", tree, b"", where, wanted, len(wanted))
    return tree


def _place(view: int, path: Path) -> None:
    target = f"{_NEW_ROOT}{path}"
    if os.path.isdir(f"/proc/self/fd/{view}"):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    syscalls.call("move_mount", view, b"", _AT_FDCWD, os.fsencode(target), _FROM_DESCRIPTOR)
    os.close(view)


def _mount_disk(target: str, settings: ChildSettings) -> None:
    size = f"size={settings.disk_mb}m,nr_inodes={settings.n_files},mode=0755"
    _mount("tmpfs", target, "tmpfs", _NO_SETUID | _NO_DEVICES, size)


def _mount_proc(target: str) -> None:
    _mount("proc", target, "proc", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    syscalls.call("mount", *texts, flags, os.fsencode(data))


def _unshare(flags: int) -> None:
    syscalls.call("unshare", flags)
