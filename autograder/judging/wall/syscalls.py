"""The few system calls that Python's `os` lacks, with their numbers on x86-64 and aarch64."""

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

_NUMBERS = """
ioctl                    16   29
shmget                   29  194
socket                   41  198
connect                  42  203
socketpair               53  199
clone                    56  220
fork                     57    -
vfork                    58    -
execve                   59  221
kill                     62  129
semget                   64  190
msgget                   68  186
ptrace                  101  117
syslog                  103  116
capset                  126   91
rt_sigqueueinfo         129  138
personality             135   92
vhangup                 153   58
pivot_root              155   41
prctl                   157  167
adjtimex                159  171
chroot                  161   51
acct                    163   89
settimeofday            164  170
mount                   165   40
umount2                 166   39
swapon                  167  224
swapoff                 168  225
reboot                  169  142
sethostname             170  161
setdomainname           171  162
iopl                    172    -
ioperm                  173    -
init_module             175  105
delete_module           176  106
quotactl                179   60
tkill                   200  130
sched_setaffinity       203  122
lookup_dcookie          212   18
clock_settime           227  112
tgkill                  234  131
mbind                   237  235
set_mempolicy           238  237
mq_open                 240  180
kexec_load              246  104
add_key                 248  217
request_key             249  218
keyctl                  250  219
migrate_pages           256  238
unshare                 272   97
move_pages              279  239
rt_tgsigqueueinfo       297  240
perf_event_open         298  241
fanotify_init           300  262
name_to_handle_at       303  264
open_by_handle_at       304  265
clock_adjtime           305  266
setns                   308  268
process_vm_readv        310  270
process_vm_writev       311  271
kcmp                    312  272
finit_module            313  273
memfd_create            319  279
kexec_file_load         320  294
bpf                     321  280
execveat                322  281
userfaultfd             323  282
pidfd_send_signal       424  424
io_uring_setup          425  425
io_uring_enter          426  426
io_uring_register       427  427
open_tree               428  428
move_mount              429  429
fsopen                  430  430
fsconfig                431  431
fsmount                 432  432
fspick                  433  433
clone3                  435  435
pidfd_getfd             438  438
process_madvise         440  440
mount_setattr           442  442
quotactl_fd             443  443
landlock_create_ruleset 444  444
landlock_add_rule       445  445
landlock_restrict_self  446  446
memfd_secret            447  447
process_mrelease        448  448
set_mempolicy_home_node 450  450
"""

NUMBERS: dict[str, tuple[str, ...]] = {
    name: tuple(numbers) for name, *numbers in (row.split() for row in _NUMBERS.split("\n") if row)
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
    digits = NUMBERS[name][_MACHINES.index(machine())]
    return None if digits == "-" else int(digits)


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
