"""The system calls that Python's `os` lacks or that a filter names, with their numbers."""

import ctypes
import os
import platform
import sys

from autograder.errors import Refusal

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_N_CAPABILITIES = 64
_CAPABILITY_VERSION_3 = 0x20080522
_MACHINES = ("x86_64", "aarch64")

# name, number on x86-64, number on aarch64, and its group: a filter refuses whole groups
_CALLS = """
ioctl                    16   29
shmget                   29  194 memory
socket                   41  198
connect                  42  203
socketpair               53  199
clone                    56  220
fork                     57    - programs
vfork                    58    - programs
execve                   59  221 programs
kill                     62  129
semget                   64  190 memory
msgget                   68  186 memory
ptrace                  101  117 processes
syslog                  103  116 kernel
capset                  126   91
rt_sigqueueinfo         129  138 signals
personality             135   92 kernel
vhangup                 153   58 kernel
pivot_root              155   41 escape
prctl                   157  167
adjtimex                159  171 machine
chroot                  161   51 escape
acct                    163   89 kernel
settimeofday            164  170 machine
mount                   165   40 escape
umount2                 166   39 escape
swapon                  167  224 machine
swapoff                 168  225 machine
reboot                  169  142 machine
sethostname             170  161 machine
setdomainname           171  162 machine
iopl                    172    - kernel
ioperm                  173    - kernel
init_module             175  105 kernel
delete_module           176  106 kernel
quotactl                179   60 kernel
tkill                   200  130 signals
sched_setaffinity       203  122 neighbours
lookup_dcookie          212   18 kernel
fadvise64               221  223 cache
clock_settime           227  112 machine
tgkill                  234  131
mbind                   237  235 machine
set_mempolicy           238  237 machine
mq_open                 240  180 memory
kexec_load              246  104 kernel
add_key                 248  217 kernel
request_key             249  218 kernel
keyctl                  250  219 kernel
migrate_pages           256  238 machine
unshare                 272   97 escape
move_pages              279  239 machine
rt_tgsigqueueinfo       297  240 signals
perf_event_open         298  241 kernel
fanotify_init           300  262 kernel
name_to_handle_at       303  264 escape
open_by_handle_at       304  265 escape
clock_adjtime           305  266 machine
setns                   308  268 escape
process_vm_readv        310  270 processes
process_vm_writev       311  271 processes
kcmp                    312  272 processes
finit_module            313  273 kernel
memfd_create            319  279 memory
kexec_file_load         320  294 kernel
bpf                     321  280 kernel
execveat                322  281 programs
userfaultfd             323  282 kernel
preadv2                 327  286 cache
pidfd_send_signal       424  424 signals
io_uring_setup          425  425 kernel
io_uring_enter          426  426 kernel
io_uring_register       427  427 kernel
open_tree               428  428 escape
move_mount              429  429 escape
fsopen                  430  430 escape
fsconfig                431  431 escape
fsmount                 432  432 escape
fspick                  433  433 escape
clone3                  435  435
pidfd_getfd             438  438 processes
process_madvise         440  440 processes
mount_setattr           442  442 escape
quotactl_fd             443  443 kernel
landlock_create_ruleset 444  444
landlock_add_rule       445  445
landlock_restrict_self  446  446
memfd_secret            447  447 memory
process_mrelease        448  448 processes
set_mempolicy_home_node 450  450 machine
cachestat               451  451 cache
"""

_ROWS: dict[str, tuple[str, ...]] = {
    name: tuple(rest) for name, *rest in (row.split() for row in _CALLS.strip().split("\n"))
}

_libc = ctypes.CDLL(None, use_errno=True)


class NoWall(Refusal, RuntimeError):
    """This machine cannot wall student code in; the message says what is missing."""


def machine() -> str:
    """The processor's name. Raises: NoWall unless this is Linux on x86-64 or aarch64."""
    name = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower())
    name = name or platform.machine()
    if sys.platform != "linux" or name not in _MACHINES or sys.byteorder != "little":
        raise NoWall(f"walls are built for Linux on x86-64 and aarch64, not {sys.platform} {name}")
    return name


def number(name: str) -> int | None:
    """The call's number here, or None where this processor has no such call."""
    digits = _ROWS[name][_MACHINES.index(machine())]
    return None if digits == "-" else int(digits)


def named(*groups: str) -> list[str]:
    """The calls of these groups."""
    return [name for name, row in _ROWS.items() if row[2:] and row[2] in groups]


def call(name: str, *args: int | bytes | None) -> int:
    """Make a system call. Raises: OSError."""
    plain = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return check(_libc.syscall(ctypes.c_long(number(name)), *plain), name)


def prctl(option: int, *args: int) -> None:
    """Set a property of this process. Raises: OSError."""
    padded = [*args, 0, 0, 0, 0][:4]
    check(_libc.prctl(ctypes.c_int(option), *map(ctypes.c_ulong, padded)), f"prctl {option}")


def check(result: int, what: str) -> int:
    """`result`, unless it says that the call failed. Raises: OSError naming the call."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the parent dies. Any change of credentials cancels it: ask again."""
    prctl(PR_SET_PDEATHSIG, signal_number)


def drop_capabilities() -> None:
    """Give up every privilege, and the ways to regain one by executing a program."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    drop_bounds()
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    call("capset", bytes(header), bytes(24))


def drop_bounds() -> None:
    """Empty the set of privileges that could be gained; it takes root to do so."""
    for capability in range(_N_CAPABILITIES):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:  # past the last, or not root
            break
