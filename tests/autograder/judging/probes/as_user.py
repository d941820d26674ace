"""Run a program as another user: `python as_user.py UID PROGRAM ARG...`, as root.

Python may live below a folder that other users cannot enter, as in root's home. The program then
sees that folder empty but for the way to Python.
"""

import os
import sys
from pathlib import Path

from autograder.judging.wall import syscalls

NEW_MOUNTS, RECURSIVE_PRIVATE, CLONE_TREE = 0x20000, 0x44000, 0x8001
AT_FDCWD, FROM_DESCRIPTOR = -100, 4


def open_way_to(path: Path) -> None:
    """Show `path` to everybody, in this mount namespace alone."""
    closed = [folder for folder in path.parents if not folder.stat().st_mode & 0o001]
    if not closed:
        return
    tree = syscalls.call("open_tree", AT_FDCWD, os.fsencode(path), CLONE_TREE)
    syscalls.call("mount", b"tmpfs", os.fsencode(closed[-1]), b"tmpfs", 0, b"mode=0755")
    path.mkdir(parents=True)
    syscalls.call("move_mount", tree, b"", AT_FDCWD, os.fsencode(path), FROM_DESCRIPTOR)


if __name__ == "__main__":
    uid = int(sys.argv[1])
    syscalls.call("unshare", NEW_MOUNTS)
    syscalls.call("mount", None, b"/", None, RECURSIVE_PRIVATE, None)
    open_way_to(Path(sys.base_prefix).resolve())
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
