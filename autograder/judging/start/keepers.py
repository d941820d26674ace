"""A process that becomes keeper and zygote when it gets its plan: a new program, or a fork.

Nothing here imports labkit: a zygote takes the students' edition.
"""

import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

PROGRAM = Path(__file__).resolve().parents[1] / "child" / "__main__.py"
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",  # else torch.set_num_threads(4) and a product: every later fork hangs
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # an arena for each thread would use up the address space
    "PYTHONHASHSEED": "0",  # a set of strings has one order, today and tomorrow
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "CUDA_VISIBLE_DEVICES": "",  # CUDA does not survive a fork
}
PYTHON = (sys.executable, "-s", "-P", "-B")
_ROUND_S = 0.005


class Executed(subprocess.Popen):
    """A new process with a clean environment."""

    def __init__(self, stdin: socket.socket, log: BinaryIO) -> None:
        command = [*PYTHON, str(PROGRAM)]
        super().__init__(command, env=ENVIRONMENT, cwd="/", stdin=stdin, stdout=log, stderr=log)


class Forked:
    """A fork of this process, which holds nothing yet that students may not see."""

    def __init__(self, stdin: socket.socket, log: BinaryIO) -> None:
        self.pid = os.fork()
        if not self.pid:
            try:
                for descriptor, file in enumerate((stdin, log, log)):
                    os.dup2(file.fileno(), descriptor)
                os.closerange(3, os.sysconf("SC_OPEN_MAX"))
                runpy.run_path(str(PROGRAM), run_name="__main__")
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)

    def wait(self, timeout: float) -> None:
        """Until it has ended. Raises: subprocess.TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while not os.waitpid(self.pid, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(PROGRAM), timeout)
            time.sleep(_ROUND_S)

    def terminate(self) -> None:
        """Ask it to end."""
        os.kill(self.pid, signal.SIGTERM)


class Keeper:
    """A process that waits for its plan. control: the socket to it; log: what it prints."""

    def __init__(self, start: Callable[[socket.socket, BinaryIO], Executed | Forked]) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.control, theirs = socket.socketpair()
        with theirs:
            self.process = start(theirs, self.log)
