"""The template: imports what all slots need, once, and forks a slot per order.

`python -s -P -B __main__.py GRADER`, executed by path, stdin is a socket to the process GRADER:

    in    start (with the slot's socket) | end PID        out    the slot's PID

A slot forks what becomes its zygote first of all. So a student's process may find in its memory
what is in the template's, and nothing else of ours; it also learns at which addresses libraries lie
in the judge. The template is a program of its own in a clean environment. It imports no labkit, and
never reads the messages to slots: seeds and submissions. It has one thread: others do not survive
a fork.
"""

import gc
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

OURS = str(Path(__file__).resolve().parents[3])
FONTS = Path(OURS) / "build" / "fonts"
LIBRARIES = ("numpy", "torch", "matplotlib.pyplot", "IPython")
WATCH_S = 1.0


def import_libraries() -> None:
    """Import what a judge and a zygote need alike."""
    from autograder.judging.child.processes import refuse_threads

    gc.disable()  # a collection during imports costs time
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the folder goes then, too
    with tempfile.TemporaryDirectory(prefix="labkit-") as folder:
        os.environ.update(HOME=folder, MPLCONFIGDIR=folder, IPYTHONDIR=folder)
        keep_fonts(FONTS, Path(folder))
        for name in LIBRARIES:
            import_module(name)
        keep_fonts(Path(folder), FONTS)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    refuse_threads()
    gc.collect()
    gc.freeze()  # the collector would write to, and so copy, every page that forks share


def keep_fonts(known: Path, folder: Path) -> None:
    """Copy what matplotlib knows of the machine's fonts: to look at hundreds takes seconds."""
    from autograder.files import write_whole

    for file in known.glob("fontlist-*.json"):
        if not (folder / file.name).exists():
            with suppress(OSError):  # the folder may be read-only
                write_whole(folder / file.name, file.read_bytes(), shared=True)


def serve(orders: socket.socket, grader: int) -> None:
    """Until the grader has ended or closed the socket."""
    with suppress(ConnectionError):
        while os.getppid() == grader:
            if not select.select([orders], [], [], WATCH_S)[0]:
                continue
            order, descriptors, *_ = socket.recv_fds(orders, 64, 1)
            match order.split():
                case [b"start"]:
                    pid = os.fork()
                    if not pid:
                        become_slot(orders, *descriptors)
                    os.close(*descriptors)
                case [b"end", number]:
                    pid = int(number)
                    os.kill(pid, signal.SIGKILL)  # which does nothing if it has ended
                    os.waitpid(pid, 0)
                case _:
                    return
            orders.sendall(str(pid).encode())


def become_slot(orders: socket.socket, descriptor: int) -> NoReturn:
    """Fork what becomes the zygote; then only, import what judges."""
    from autograder.judging.start.keepers import Forked, Keeper
    from autograder.judging.wall import die_with_parent

    try:
        die_with_parent()
        orders.close()
        keeper = Keeper(Forked)
        sys.path.insert(0, OURS)
        from autograder.judging.slot import serve_slot

        with socket.socket(fileno=descriptor) as grader:
            serve_slot(grader.makefile("rw", encoding="utf-8"), keeper)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's, who ends it
    sys.path.insert(0, OURS)
    import_libraries()
    sys.path.remove(OURS)
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    serve(control, int(sys.argv[1]))
    os._exit(0)  # all forks end with it
