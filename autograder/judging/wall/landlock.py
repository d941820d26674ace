"""Landlock: a process gives up, for good, all files but the ones it names.

It needs no privilege. Besides files it takes away TCP, signals to processes outside, and abstract
sockets, each since some version of the kernel.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autograder.judging.wall import syscalls

ABI_OF_SCOPES = 6  # Linux 6.12: the first that keeps signals in

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_N_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_N_FILE_RIGHTS = 16
_TCP = 0b11
_ABSTRACT_SOCKETS, _SIGNALS = 0b01, 0b10
_ONE_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # the rights that a plain file can have
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def abi() -> int:
    """The kernel's version of Landlock, 0 without it."""
    try:
        return syscalls.call("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def restrict(
    read_only: Iterable[Path],
    writable: Iterable[Path] = (),
    hidden: Sequence[Path] = (),
    programs: bool = True,
    signals: bool = True,
) -> None:
    """Keep only these paths and what lies below them.

    `hidden` paths stay unreadable below a read-only one (names in their folders can still be
    listed). `programs` lets read-only files be executed; `signals` keeps signals inside.
    """
    version = abi()
    handled = (1 << _N_FILE_RIGHTS.get(version, _NEWEST_N_FILE_RIGHTS)) - 1
    scopes = _ABSTRACT_SOCKETS | (_SIGNALS if signals else 0)
    attributes = struct.pack("=QQQ", handled, _TCP, scopes)
    size = 24 if version >= ABI_OF_SCOPES else 16 if version >= 4 else 8
    ruleset = syscalls.call("landlock_create_ruleset", attributes[:size], size, 0)
    reading = READ_FILE | (EXECUTE if programs else 0)
    for path in read_only:
        _allow(ruleset, path, READ_DIR)
        for part in visible(path, hidden):
            _allow(ruleset, part, reading | READ_DIR)
    for path in writable:
        _allow(ruleset, path, handled & ~(_MAKE_CHAR | _MAKE_BLOCK))
    for device in DEVICES:
        _allow(ruleset, Path(device), handled & (READ_FILE | WRITE_FILE | TRUNCATE))
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.call("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


def visible(path: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """The largest parts of `path` that hold nothing hidden: a rule can only add, never take."""
    if path in hidden:
        return
    if not any(path in other.parents for other in hidden):
        yield path
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_symlink():  # what it points to is allowed by its own name, or not
                yield from visible(path / entry.name, hidden)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Add a rule; a path that is not there needs none."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            rights &= _ONE_FILE
        if rights:
            rule = struct.pack("=Qi", rights, descriptor)
            syscalls.call("landlock_add_rule", ruleset, 1, rule, 0)
    finally:
        os.close(descriptor)
