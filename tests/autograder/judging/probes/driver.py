"""A grader to be killed: `python driver.py RUNG STUDENT_PATH` prints what runs below it, and waits.

Its student has left a daemon behind and clings to life as far as it can. A worker of the grader's,
forked from it, holds the zygote's control socket open for a while.
"""

import os
import sys
import time
from pathlib import Path

from autograder.judging.child import processes
from autograder.judging.client import ZygoteHandle
from autograder.judging.wall import ChildSettings

DAEMON = """
import ctypes, os, signal, time
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
ctypes.CDLL(None).prctl(1, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
os.wait()
"""

if __name__ == "__main__":
    zygote = ZygoteHandle(ChildSettings(student_path=Path(sys.argv[2]), rung=sys.argv[1]))
    zygote.wait()
    child = zygote.spawn()
    child.run_cell(DAEMON)
    pids = processes.descendants(os.getpid())
    if os.fork() == 0:
        time.sleep(8)
        os._exit(0)
    print(*pids, flush=True)
    time.sleep(1000)
