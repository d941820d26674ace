"""The keeper: a small process above the zygote that leaves nothing behind.

It outlives a killed grader by just long enough to end the zygote and every process below it, and to
clear the disk. Where there are namespaces the kernel ends a tree by itself; elsewhere a daemon of
the student's would live on, so the keeper is a subreaper: it inherits such daemons, and ends them.
"""

import os
import signal
from pathlib import Path
from typing import NoReturn

from autograder.judging.child import processes
from autograder.judging.wall import syscalls


def keep(zygote: int, grader: int, scratch: str) -> NoReturn:
    """Wait for the zygote's end or the grader's; end what is left; exit as the zygote did.

    `grader` is the process that has started this one, and whose death is awaited; `scratch` is the
    folder that the zygote and its children have used.
    """
    signal.signal(signal.SIGTERM, lambda *_: processes.kill([zygote]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    syscalls.die_with_parent(signal.SIGTERM)
    if os.getppid() != grader:  # it died before the wish was made
        processes.kill([zygote])
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    status = 0
    while True:
        pid, status = os.wait()
        if pid == zygote:
            break
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the zygote's number may be another's by now
    processes.end_strangers(set())
    processes.remove_folder(Path(scratch))  # empty with namespaces, where no fork is possible now
    os._exit(min(os.waitstatus_to_exitcode(status) % 256, 255))
