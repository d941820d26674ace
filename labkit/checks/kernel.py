"""What a check learns from the kernel: failed cells, waiting cells, calls without an end."""

import ctypes
import re
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import ModuleType
from typing import Any

from labkit.bridge.executor import describe_error
from labkit.bridge.waiting import Waiting
from labkit.checks.names import bound_from
from labkit.measuring.machine import full_gpu

LIMIT_S = 30
GRAIN_S = 0.01  # of a limit
OUT_OF_MEMORY = (
    "○ The GPU has no memory left for this cell. Choose a smaller model or batch. If that does not "
    "help, restart the kernel: it gives back what earlier cells hold."
)
WAITS = "○ This cell waits for `{}`: write that part first, then run the cell again."


class TookTooLong(KeyboardInterrupt):
    """A check had no end within the limit; it goes where an interrupt of the student's would."""


class _Over(BaseException):
    """What an interrupt that comes too late is replaced by."""


class Watch:
    """Follows the cells of a kernel: which definitions failed, which cells wait for a part.

    A cell that waits ends without an error, so that every front end runs the cells after it.
    names: the exercises of the lab.
    """

    def __init__(self, shell: Any, names: Collection[str]) -> None:
        self._shell, self._names = shell, names
        self.failed: dict[str, str] = {}  # by exercise, how its cell's last run ended
        self.waiting: dict[str, str] = {}  # by cell, the part that it waits for
        self._unwritten: tuple[BaseException | None, str] = None, ""
        for other in list(shell.events.callbacks["post_run_cell"]):
            if isinstance(getattr(other, "__self__", None), Watch):  # of a set-up cell run before
                shell.events.unregister("post_run_cell", other)
        shell.events.register("post_run_cell", self.after_cell)
        kinds = (NotImplementedError, *_memory_errors())
        shell.set_custom_exc(kinds, self.on_error)

    def after_cell(self, result: Any) -> None:
        """Note how a cell ended. IPython calls this before the kernel replies to the front end."""
        if result is None or result.info is None:
            return
        source = result.info.raw_cell or ""
        cell = getattr(result.info, "cell_id", None) or source
        self.waiting.pop(cell, None)
        error, part = self._unwritten
        if error is not None and result.error_in_exec is error:
            self.waiting[cell] = part
            self._bind(bound_from(source, self._line_of(error)), part)
            result.error_in_exec = None
        self._unwritten = None, ""
        self._note_failure(source, result.error_before_exec or result.error_in_exec)

    def _bind(self, names: Collection[str], part: str) -> None:
        """Names that the cell did not reach wait too, even if they had a value before."""
        for name in names:
            if not isinstance(self._shell.user_ns.get(name), ModuleType):
                self._shell.user_ns[name] = Waiting(part)

    def _line_of(self, error: BaseException) -> int:
        """The line at which the cell stopped; 0 if it is not known."""
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_name == "<module>" and frame.f_globals is self._shell.user_ns:
                return line
        return 0

    def _note_failure(self, source: str, error: BaseException | None) -> None:
        for name in self._names:
            if re.search(rf"^(?:def|class) {name}\b|^{name} *[=:]", source, re.MULTILINE):
                self.failed.pop(name, None)
                if error is not None:
                    self.failed[name] = _one_line(error)

    def on_error(self, shell: Any, kind: type, error: BaseException, trace: Any, **_: Any) -> None:
        """An experiment that needs an unwritten part says so; a full GPU is explained."""
        if part := self._part_of(error):
            self._unwritten = error, part
            print(WAITS.format(part))
            return
        shell.showtraceback((kind, error, trace))
        if not isinstance(error, NotImplementedError):
            print(full_gpu() or OUT_OF_MEMORY)

    def _part_of(self, error: BaseException) -> str:
        """The unwritten part that raised this; "" for an error that only looks like one."""
        if hasattr(error, "part"):
            return error.part
        if type(error) is NotImplementedError and str(error) in self._names:
            return str(error)
        error_fields = describe_error(error)
        part = error_fields["function"].partition(".")[0]
        own = getattr(self._shell.user_ns.get(part), "__module__", "") == "__main__"
        return part if error_fields["unwritten"] and (own or part in self._names) else ""


def kernel_shell() -> Any:
    """The shell of the kernel that we run in; None anywhere else, for instance in the grader."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if hasattr(shell, "kernel") else None


def watch(names: Collection[str]) -> Watch | None:
    """A watch on the kernel that we run in, if there is one."""
    shell = kernel_shell()
    return Watch(shell, names) if shell else None


@contextmanager
def time_limit(seconds: float, clock: Callable[[], float] = monotonic) -> Iterator[None]:
    """Stop the code inside after this many seconds: raise TookTooLong at its next line.

    And again each second: Python drops an exception that comes while a weak reference is cleared.
    None is never set in place of an exception: Python 3.11 hangs then as soon as a debugger traces.
    clock: what the seconds are read from.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended, fired = threading.Event(), threading.Event()

    def interrupt() -> None:
        end_s = clock() + seconds
        while not ended.wait(max(end_s - clock(), GRAIN_S)):
            if clock() >= end_s:
                fired.set()
                set_exception(thread, ctypes.py_object(TookTooLong))
                end_s = clock() + 1

    timer = threading.Thread(target=interrupt, daemon=True)
    timer.start()
    try:
        yield
    finally:
        ended.set()
        timer.join()
        if fired.is_set():
            with suppress(_Over):  # in place of one that has not come yet
                set_exception(thread, ctypes.py_object(_Over))
                for _ in range(10**6):
                    pass


def _memory_errors() -> tuple[type, ...]:
    torch = sys.modules.get("torch")
    return (torch.OutOfMemoryError,) if torch else ()


def _one_line(error: BaseException) -> str:
    where = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}{where}: {message}".removesuffix(": ")
