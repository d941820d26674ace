"""What the kernel tells a check: cells that failed, cells that wait, calls without an end."""

import ctypes
import re
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from labkit.bridge.executor import describe_error
from labkit.checks.names import bound_names
from labkit.measuring.machine import full_gpu

LIMIT_S = 30
OUT_OF_MEMORY = (
    "○ The GPU has no memory left for this cell. Choose a smaller model or batch. If that does not "
    "help, restart the kernel: it gives back what earlier cells hold."
)


class TookTooLong(KeyboardInterrupt):
    """A check had no end within the limit; it goes where an interrupt of the student's would."""


class Waiting:
    """Stands for a name that a waiting cell would have bound: any use of it waits as well."""

    def __init__(self, part: str) -> None:
        self.__dict__["part"] = part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_ipython") or name.startswith("_repr"):
            raise AttributeError(name)
        raise NotImplementedError(self.__dict__["part"])

    def _wait(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(self.__dict__["part"])

    __call__ = __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = __bool__ = _wait
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _wait
    __rtruediv__ = __eq__ = __lt__ = __gt__ = __float__ = __int__ = __str__ = __format__ = _wait
    __hash__ = None


class Watch:
    """Follows the cells of a kernel: which definitions failed, which experiments wait for a part.

    names: the exercises of the lab.
    """

    def __init__(self, shell: Any, names: Collection[str]) -> None:
        self._shell, self._names = shell, names
        self.failed: dict[str, str] = {}  # by exercise, how its cell's last run ended
        for other in list(shell.events.callbacks["post_run_cell"]):
            if isinstance(getattr(other, "__self__", None), Watch):  # of a set-up cell run before
                shell.events.unregister("post_run_cell", other)
        shell.events.register("post_run_cell", self.after_cell)
        kinds = (NotImplementedError, *_memory_errors())
        shell.set_custom_exc(kinds, self.on_error)

    def after_cell(self, result: Any) -> None:
        """Note how the cells ended that define exercises."""
        source = result.info.raw_cell or "" if result.info else ""
        error = result.error_before_exec or result.error_in_exec
        for name in self._names:
            if re.search(rf"^(?:def|class) {name}\b|^{name} *[=:]", source, re.MULTILINE):
                self.failed.pop(name, None)
                if error is not None:
                    self.failed[name] = _one_line(error)

    def on_error(self, shell: Any, kind: type, error: BaseException, trace: Any, **_: Any) -> None:
        """An experiment that needs an unwritten part says so; a full GPU is explained."""
        if isinstance(error, NotImplementedError):
            self.on_unwritten(shell, kind, error, trace)
            return
        shell.showtraceback((kind, error, trace))
        print(full_gpu() or OUT_OF_MEMORY)

    def on_unwritten(self, shell: Any, kind: type, error: BaseException, trace: Any) -> None:
        function = describe_error(error)["function"]
        part = str(error) if str(error) in self._names else function.partition(".")[0]
        if part not in self._names:
            shell.showtraceback((kind, error, trace))
            return
        for name in bound_names(shell.history_manager.input_hist_raw[-1]):
            if name not in self._names:
                shell.user_ns.setdefault(name, Waiting(part))
        print(f"○ This cell waits for `{part}`: write that part first, then run the cell again.")


def watch(names: Collection[str]) -> Watch | None:
    """A watch on the kernel that we run in; None anywhere else, for instance in the grader."""
    if "IPython" not in sys.modules:
        return None
    shell = sys.modules["IPython"].get_ipython()
    return Watch(shell, names) if hasattr(shell, "kernel") else None


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End what runs inside after so many seconds with TookTooLong, at its next line of Python."""
    thread = ctypes.c_ulong(threading.get_ident())
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    timer = threading.Timer(seconds, lambda: set_exception(thread, ctypes.py_object(TookTooLong)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        set_exception(thread, None)


def _memory_errors() -> tuple[type, ...]:
    torch = sys.modules.get("torch")
    return (torch.OutOfMemoryError,) if torch else ()


def _one_line(error: BaseException) -> str:
    where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}{where}: {message}".removesuffix(": ")
