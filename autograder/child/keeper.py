"""The keeper: a small process above the zygote that leaves nothing running.

It outlives a killed grader by just long enough to end the zygote and every process below it. Where
there are namespaces the kernel does that by itself; elsewhere a daemon of the student's would live
on, so the keeper is a subreaper: it inherits such daemons, and ends them.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from autograder.child import processes
from autograder.wall import syscalls


def keep(zygote: int, grader: int) -> NoReturn:
    """Wait for the zygote's end or the grader's; end what is left; exit as the zygote did.

    `grader` is the process that has started this one, and whose death is awaited.
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
    processes.end_strangers(set())
    os._exit(min(os.waitstatus_to_exitcode(status) % 256, 255))
