"""Disks that fail: one write in turn, or a small real disk that is full or read-only."""

import ctypes
import io
import os
import sqlite3
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

NEW_MOUNTS, NEW_USER, READ_ONLY, REMOUNT, PRIVATE = 0x20000, 0x10000000, 1, 32, 0x44000


class Faults:
    """Lets the k-th write below a folder fail: to a file, its sync or renaming, or in sqlite."""

    def __init__(self, out, k, code):
        self._out, self._n_left, self._code = str(out), k, code
        self._open, self._sync, self._replace = io.open, os.fsync, os.replace
        self._events = {"before_cursor_execute": self.execute, "commit": self.commit}

    def __enter__(self):
        io.open, os.fsync, os.replace = self.open, self.sync, self.replace
        for name, listener in self._events.items():
            event.listen(Engine, name, listener)

    def __exit__(self, *error):
        io.open, os.fsync, os.replace = self._open, self._sync, self._replace
        for name, listener in self._events.items():
            event.remove(Engine, name, listener)

    def open(self, path, mode="r", *args, **options):
        ours = str(path).startswith(f"{self._out}/") and mode[0] in "wa"
        if ours:
            self._count("open")
        file = self._open(path, mode, *args, **options)
        return FaultyFile(file, self._count) if ours else file

    def sync(self, descriptor):
        self._count("sync")
        self._sync(descriptor)

    def replace(self, source, target):
        self._count("replace")
        self._replace(source, target)

    def execute(self, connection, cursor, statement, *rest):
        if not statement.lstrip().startswith("SELECT"):
            self._count("execute")

    def commit(self, connection):
        self._count("commit")

    def _count(self, what):
        self._n_left -= 1
        if self._n_left == 0 and what in ("execute", "commit"):
            raise OperationalError(what, {}, sqlite3.OperationalError("disk I/O error"))
        if self._n_left == 0:
            raise OSError(self._code, os.strerror(self._code), what)


class FaultyFile:
    """A file of which a write that fails has written half."""

    def __init__(self, file, count):
        self._file, self._count = file, count

    def write(self, content):
        try:
            self._count("write")
        except OSError:
            self._file.write(content[: len(content) // 2])
            raise
        return self._file.write(content)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)


class SmallDisk:
    """A real disk of its own, made in a process of its own; gone with that process."""

    def __init__(self, place):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.place = place
        place.mkdir()
        self._ask("unshare", NEW_MOUNTS if os.getuid() == 0 else NEW_MOUNTS | NEW_USER)
        self._mount(None, "/", None, PRIVATE, None)
        self._mount(b"tmpfs", place, b"tmpfs", 0, b"size=64m")

    def give(self, n_bytes, flags=0):
        """Resize it, or make it read-only."""
        self._mount(None, self.place, None, REMOUNT | flags, f"size={n_bytes}".encode())

    @property
    def used(self):
        status = os.statvfs(self.place)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def _mount(self, source, place, kind, flags, data):
        self._ask("mount", source, bytes(Path(place)), kind, flags, data)

    def _ask(self, name, *args):
        if getattr(self._libc, name)(*args):
            code = ctypes.get_errno()
            raise OSError(code, f"{name}: {os.strerror(code)}")
