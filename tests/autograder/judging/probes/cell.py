"""A cell that looks around behind the wall; `facts` says what lies where. Run as student code."""
# ruff: noqa: SIM105 - the plainest calls, as attackers use

import ctypes
import os
import resource
import socket
import sys
import tempfile

facts = FACTS  # noqa: F821


def outcome(action):
    try:
        return action()
    except BaseException as error:
        return type(error).__name__


def read(path):
    def action():
        with open(path, "rb") as file:
            return file.read(1 << 16).decode("utf-8", "replace")

    return outcome(action)


def write(path):
    def action():
        with open(path, "w"):
            return "written"

    return outcome(action)


def connect(address):
    def action():
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(address)
        return "connected"

    return outcome(action)


def open_socket(family, kind=socket.SOCK_STREAM):
    return outcome(lambda: socket.socket(family, kind).close())


def raw_call(name, *args):
    numbers = sys.modules["autograder.judging.wall.syscalls"]
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(numbers.number(name)), *map(ctypes.c_long, args))
    return 0 if result >= 0 else ctypes.get_errno()


def n_forks():
    pids = []
    try:
        while len(pids) < 500:
            pid = os.fork()
            if not pid:
                import time

                time.sleep(60)
                os._exit(0)
            pids.append(pid)
    except OSError:
        pass
    for pid in pids:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(pids)


def mb_until_full():
    chunk, n_mb = bytes(1 << 20), 0
    try:
        with open("big", "wb", buffering=0) as file:
            while n_mb < 500 and file.write(chunk) == len(chunk):
                n_mb += 1
    except OSError:
        pass
    os.remove("big")
    return n_mb


def status():
    lines = read("/proc/self/status").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def descriptors():
    targets = []
    for name in os.listdir("/proc/self/fd"):
        try:
            targets.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return targets


def pair():
    first, second = socket.socketpair()
    first.send(b"x")
    return second.recv(1).decode()


CALLS = {
    "unshare": (0x10000000,),
    "mount": (0, 0, 0, 0, 0),
    "umount2": (0, 0),
    "setns": (0, 0),
    "ptrace": (16, facts["grader"], 0, 0),
    "bpf": (0, 0, 0),
    "io_uring_setup": (1, 0),
    "userfaultfd": (0,),
    "keyctl": (0, 0, 0),
    "perf_event_open": (0, 0, 0, 0, 0),
    "process_vm_readv": (facts["grader"], 0, 0, 0, 0, 0),
    "pidfd_getfd": (0, 0, 0),
    "shmget": (0, 4096, 0o1600),
    "memfd_create": (0, 0),
    "fadvise64": (0, 0, 0, 4),
    "preadv2": (0, 0, 0, 0, 0, 8),
    "cachestat": (0, 0, 0, 0),
    "clone": (0x10000000, 0, 0, 0, 0),
    "prctl": (1, 0, 0, 0, 0),
}
FAMILIES = ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG")

seen = {
    "files": {name: read(path) for name, path in facts["files"].items()},
    "writes": {name: write(path) for name, path in facts["writes"].items()},
    "own_files": [write("here.txt"), write(os.path.join(tempfile.gettempdir(), "there.txt"))],
    "temporary": outcome(lambda: os.listdir("/tmp")),
    "processes": outcome(lambda: sorted(filter(str.isdecimal, os.listdir("/proc")))),
    "pid": os.getpid(),
    "grader_environment": read(f"/proc/{facts['grader']}/environ"),
    "parent_environment": read(f"/proc/{os.getppid()}/environ"),
    "own_environment": read("/proc/self/environ"),
    "grader_signal": outcome(lambda: os.kill(facts["grader"], 0)),
    "parent_signal": outcome(lambda: os.kill(os.getppid() or facts["grader"], 0)),
    "zygote_signals": [outcome(lambda pid=pid: os.kill(pid, 0)) for pid in facts["zygotes"]],
    "families": {name: open_socket(getattr(socket, name)) for name in FAMILIES},
    "raw_socket": open_socket(socket.AF_INET, socket.SOCK_RAW),
    "pair": outcome(pair),
    "named_socket": connect(facts["socket"]),
    "abstract_socket": connect(facts["abstract_socket"]),
    "calls": {name: raw_call(name, *args) for name, args in CALLS.items()},
    "status": status(),
    "descriptors": descriptors(),
    "environ": dict(os.environ),
    "core_bytes": resource.getrlimit(resource.RLIMIT_CORE)[1],
    "labkit": outcome(lambda: __import__("labkit").__file__),
    "cases": outcome(lambda: __import__("autograder.labs.memory.cases")),
    "real_labkit_modules": [
        name
        for name, module in list(sys.modules.items())
        if str(getattr(module, "__file__", "")).startswith(facts["real_labkit"])
    ],
    "n_forks": n_forks(),
    "mb_until_full": mb_until_full(),
}
