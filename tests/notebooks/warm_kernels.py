"""Kernels forked from one process that has imported what all notebooks import: that takes seconds.

Run as a program, this is that process. It reads an order per line, {"argv", "env", "cwd"} as JSON,
and answers with the number of the process in which the kernel runs. It has no labkit.
"""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module

LIBRARIES = (
    "ipykernel.kernelapp",
    "ipywidgets",
    "matplotlib.pyplot",
    "torch",
    "transformers.generation.utils",
    "transformers.models.llama.modeling_llama",
)
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}


class Template(subprocess.Popen):
    """That process; torch has one thread in its forks."""

    def __init__(self):
        others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        super().__init__([sys.executable, __file__], env=others | ENVIRONMENT, **pipes)

    def launch(self, argv, *, env, cwd, **others):
        """Stands in for jupyter_client's `launch_kernel`."""
        order = {"argv": argv, "env": env, "cwd": str(cwd)}
        print(json.dumps(order), file=self.stdin, flush=True)
        return Fork(int(self.stdout.readline()))


class Fork:
    """A forked kernel, with what jupyter_client asks of a process."""

    stdin = stdout = stderr = None

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        """None while it runs: when it ends, nothing is left of it."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    wait = poll  # is called when it has ended


def serve():
    """Fork a kernel per order, until there are no more."""
    signal.signal(signal.SIGCHLD, reap)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become_kernel(**json.loads(line))
        os.setpgid(pid, pid)  # signals to the kernel reach what it started, and nothing else
        print(pid, flush=True)


def reap(*_):
    """Leave nothing of the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def become_kernel(argv, env, cwd):
    """What `python -m ipykernel_launcher ...` does in a new process of this environment."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()))  # with whom it ends
    sys.path[:0] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = argv[argv.index("-m") + 1 :]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    finally:
        os._exit(0)


if __name__ == "__main__":
    del sys.path[0]  # this folder
    for name in LIBRARIES:
        import_module(name)
    gc.collect()
    gc.freeze()
    serve()
