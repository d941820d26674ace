"""A filter of system calls: what is refused here cannot be used to attack the kernel.

The walls above it (namespaces, Landlock) rest on the kernel; most holes found in a kernel lie in
calls that no notebook needs. A refused call fails with EPERM, so that libraries fall back.
"""

import ctypes
import errno
import os
import socket
import struct
from functools import cache

from autograder.judging.wall import syscalls

ESCAPE = syscalls.named("escape")  # out of the private file tree, into the host's namespaces
CHILD_REFUSES = syscalls.named(
    "escape",
    "processes",  # looks into other processes
    "kernel",  # where most local privilege escalations of the last years were found
    "machine",  # settings that hold for all of it
    "memory",  # memory that belongs to no process and no disk: past every limit
    "cache",  # what of a file lies in the kernel's memory: one process could tell it to the next
    "neighbours",  # a slot's processor is its own: many processes would crowd all
)
JUDGE_REFUSES = [*CHILD_REFUSES, *syscalls.named("programs", "signals"), "socket", "connect"]

LAST_KNOWN_CALL = 462  # mseal, Linux 6.10: what is newer has not been looked at

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_NEW_NAMESPACES = 0x7E020000 | 0x80  # CLONE_NEW*
_CLONE_THREAD = 0x10000
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the grader's terminal

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL_PROCESS, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH = 0, 4  # offsets in the kernel's struct seccomp_data


@cache
def child_filter(unix_sockets: bool) -> bytes:
    """The filter for student code.

    Without a network and file namespace, `unix_sockets` must be False: a socket file could belong
    to a daemon that obeys this user. Unnamed pairs of stream sockets remain.
    """
    rules = [_refuse(name) for name in CHILD_REFUSES]
    rules.append(_refuse("clone3", errno.ENOSYS))  # its flags lie in memory; libc falls back
    rules.append(_on_argument("clone", 0, _bits(_NEW_NAMESPACES, _fail(), _allow())))
    rules.append(_on_argument("ioctl", 1, _among(_TERMINAL_INJECTION, _fail(), _allow())))
    leash = (syscalls.PR_SET_PDEATHSIG, syscalls.PR_SET_CHILD_SUBREAPER)
    rules.append(_on_argument("prctl", 0, _among(leash, _fail(), _allow())))
    if unix_sockets:
        rules.append(_on_argument("socket", 0, _among((socket.AF_UNIX,), _allow(), _fail())))
    else:
        rules += [_refuse("socket"), _refuse("connect")]
        kinds = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)  # a datagram can name its receiver
        pairs = _step(_AND, 0xF) + _among(kinds, _allow(), _fail())
        rules.append(_on_argument("socketpair", 1, pairs))
    return _program(rules)


def judge_filter() -> bytes:
    """The filter for the trusted process, should hostile bytes ever take it over."""
    rules = [_refuse(name) for name in JUDGE_REFUSES]
    rules.append(_refuse("clone3", errno.ENOSYS))
    rules.append(_on_argument("clone", 0, _bits(_CLONE_THREAD, _allow(), _fail())))
    itself = _among((os.getpid(),), _allow(), _fail())
    rules += [_on_argument(name, 0, itself) for name in ("kill", "tgkill")]
    return _program(rules)


def install(program: bytes) -> None:
    """Put the filter in place, for this thread and all that it starts, for good."""

    class Program(ctypes.Structure):
        _fields_ = (("n_steps", ctypes.c_ushort), ("steps", ctypes.c_void_p))

    buffer = ctypes.create_string_buffer(program, len(program))
    whole = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p).value)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.prctl(syscalls.PR_SET_SECCOMP, 2, ctypes.addressof(whole))


def _program(rules: list[bytes]) -> bytes:
    arch = _AUDIT_ARCH[syscalls.machine()]
    head = _step(_LOAD, _ARCH) + _step(_EQUAL, arch, 1, 0) + _step(_RETURN, _KILL_PROCESS)
    head += _step(_LOAD, _NUMBER)
    head += _step(_AT_LEAST, _X32_BIT, 0, 1) + _step(_RETURN, _KILL_PROCESS)
    head += _step(_AT_LEAST, LAST_KNOWN_CALL + 1, 0, 1) + _fail(errno.ENOSYS)
    return head + b"".join(rules) + _allow()


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction: jumps count the instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _allow() -> bytes:
    return _step(_RETURN, _ALLOW)


def _fail(code: int = errno.EPERM) -> bytes:
    return _step(_RETURN, _FAIL | code)


def _refuse(name: str, code: int = errno.EPERM) -> bytes:
    number = syscalls.number(name)
    return b"" if number is None else _step(_EQUAL, number, 0, 1) + _fail(code)


def _on_argument(name: str, index: int, verdict: bytes) -> bytes:
    """For this call only: load the low half of an argument and let `verdict` decide."""
    body = _step(_LOAD, 16 + 8 * index) + verdict
    return _step(_EQUAL, syscalls.number(name), 0, len(body) // 8) + body


def _bits(mask: int, if_any: bytes, otherwise: bytes) -> bytes:
    return _step(_ANY_BIT, mask, 0, 1) + if_any + otherwise


def _among(values: tuple[int, ...], if_so: bytes, otherwise: bytes) -> bytes:
    return b"".join(_step(_EQUAL, value, 0, 1) + if_so for value in values) + otherwise
