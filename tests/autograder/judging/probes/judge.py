"""A judge that confines itself and tries what it gave up: `python judge.py FOLDER` prints JSON."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from autograder.judging.child import processes
from autograder.judging.client import ZygoteHandle
from autograder.judging.wall import ChildSettings, confine_judge, strongest_rung
from labkit.bridge.requests import value_of


def outcome(action):
    """What `action` returns, or the name of what it raises."""
    try:
        return action()
    except BaseException as error:
        return type(error).__name__


def main(folder: Path) -> None:
    """Confine this process with a zygote running, try, and grade on."""
    kept, given_up = folder / "kept", folder / "given up"
    for path in (kept, given_up):
        path.mkdir()
    with ZygoteHandle(
        ChildSettings(student_path=folder / "student", rung=strongest_rung())
    ) as zygote:
        zygotes = processes.descendants(os.getpid())
        confine_judge([sys.prefix, sys.base_prefix, Path(__file__).parents[4]], [kept])
        tried = {
            "write where it may": outcome(lambda: (kept / "log").write_text("x")),
            "write elsewhere": outcome(lambda: (given_up / "log").write_text("x")),
            "read elsewhere": outcome(lambda: Path("/etc/passwd").read_text()),
            "socket": outcome(lambda: socket.socket(socket.AF_INET)),
            "program": outcome(lambda: subprocess.run(["/bin/true"])),
            "fork": outcome(os.fork),
            "signals": [
                outcome(lambda pid=pid: os.kill(pid, signal.SIGKILL)) for pid in (*zygotes, 1)
            ],
        }
        with zygote.spawn() as child:
            child.run_cell("x = 6 * 7")
            tried["grade on"] = value_of(child.student.x)
    print(json.dumps(tried))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
