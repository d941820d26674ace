"""Runs notebook cells in an IPython shell inside this process: no kernel, no ports, no threads.

Outputs are bounded as they are made, so that a cell that floods costs no memory.
"""

import base64
import builtins
import getpass
import io
import os
import sys
import tempfile
from typing import Any

import IPython
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

MAX_TEXT_CHARS = 256 << 10  # per cell, for each of these
MAX_DATA_CHARS = 2 << 20
MAX_OUTPUTS = 200
MAX_TRACE_LINES, MAX_LINE_CHARS = 100, 2000


class OutputLog:
    """The outputs of one cell, in notebook format."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget what was collected."""
        self._outputs: list[dict] = []
        self._n_chars = self._n_data_chars = self._n_dropped = 0

    def text(self, name: str, text: str) -> None:
        """Add to the stream `name`; what is over the limit is dropped and counted."""
        kept = text[: max(0, MAX_TEXT_CHARS - self._n_chars)]
        self._n_dropped += len(text) - len(kept)
        self._n_chars += len(kept)
        last = self._outputs[-1] if self._outputs else {}
        if kept and last.get("output_type") == "stream" and last["name"] == name:
            last["text"].append(kept)
        elif kept:
            self._append({"output_type": "stream", "name": name, "text": [kept]}, len(kept))

    def data(self, kind: str, data: dict, **rest: Any) -> None:
        """Add a display or a result: text by MIME type, bytes as base64."""
        plain = {}
        for mime, value in data.items():
            if isinstance(value, bytes):
                value = base64.b64encode(value).decode()
            if isinstance(value, str):
                plain[str(mime)] = value
        n_chars = sum(map(len, plain.values()))
        self._n_data_chars += n_chars
        if self._n_data_chars > MAX_DATA_CHARS:
            self._n_dropped += n_chars
            return
        output = {"output_type": kind, "data": plain, "metadata": {}, **rest}
        self._append(output, n_chars)

    def error(self, kind: str, message: str, lines: list[str]) -> None:
        """Add an exception."""
        trace = [line[:MAX_LINE_CHARS] for line in lines[-MAX_TRACE_LINES:]]
        output = {
            "output_type": "error",
            "ename": kind[:200],
            "evalue": message[:MAX_LINE_CHARS],
            "traceback": trace,
        }
        self._append(output, 0)

    def take(self) -> list[dict]:
        """What was collected; the log is empty afterwards."""
        if self._n_dropped:
            note = f"\n... {self._n_dropped:,} more characters of output were dropped\n"
            self._outputs.append({"output_type": "stream", "name": "stderr", "text": [note]})
        outputs = self._outputs
        for output in outputs:
            if output["output_type"] == "stream":
                output["text"] = "".join(output["text"])
        self.clear()
        return outputs

    def _append(self, output: dict, n_chars: int) -> None:
        if len(self._outputs) < MAX_OUTPUTS:
            self._outputs.append(output)
        else:
            self._n_dropped += n_chars


class TextSink(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, log: OutputLog, name: str) -> None:
        self._log = log
        self._stream = name
        self.buffer = open(self.fileno(), "wb", buffering=0, closefd=False)  # noqa: SIM115

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() wants a str, got {type(text).__name__}")
        self._log.text(self._stream, text)
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return 1 if self._stream == "stdout" else 2


class _Publisher(DisplayPublisher):
    def publish(self, data: dict, metadata: Any = None, **_: Any) -> None:
        self.shell.output_log.data("display_data", data)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.output_log.clear()


class _ResultHook(DisplayHook):
    def start_displayhook(self) -> None:
        pass

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict, md_dict: Any = None) -> None:
        self.shell.output_log.data("execute_result", format_dict, execution_count=1)

    def finish_displayhook(self) -> None:
        pass


class _Shell(InteractiveShell):
    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_ResultHook)
    output_log = OutputLog()

    def init_io(self) -> None:
        pass

    def enable_gui(self, gui: Any = None) -> None:
        pass

    def system(self, cmd: str) -> None:
        self.system_raw(cmd)

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        self.output_log.error(etype.__name__, _text_of(evalue), "\n".join(stb).split("\n"))


class NotebookShell:
    """A shell, built once in the zygote and inherited by every child."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False  # it would start a thread
        config.HistoryManager.hist_file = ":memory:"
        config.InteractiveShell.xmode = "Plain"  # the others take seconds for endless recursion
        config.InteractiveShell.cache_size = 0
        config.InteractiveShell.colors = "nocolor" if IPython.version_info[0] >= 9 else "NoColor"
        self._shell = _Shell.instance(config=config)
        self._log = self._shell.output_log
        if "matplotlib" in sys.modules:
            self._shell.run_line_magic("matplotlib", "inline")
        for source in ("pass", "1/0"):  # what is slow the first time happens here
            self._shell.run_cell(source, store_history=False)
        self._log.clear()

    @property
    def namespace(self) -> dict[str, Any]:
        """The notebook's global names."""
        return self._shell.user_ns

    def start(self) -> None:
        """In the child: take over the standard streams, of Python and of compiled code."""
        descriptor, name = tempfile.mkstemp()
        os.close(descriptor)
        self._file = os.open(name, os.O_RDWR | os.O_APPEND)
        os.unlink(name)
        os.dup2(self._file, 1)
        os.dup2(self._file, 2)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout, sys.stderr = TextSink(self._log, "stdout"), TextSink(self._log, "stderr")
        builtins.input = getpass.getpass = _refuse_input
        sys.path.insert(0, os.getcwd())

    def run(self, source: str) -> dict:
        """Run one cell: whether it ended without an exception, and its outputs."""
        try:
            ok = bool(self._shell.run_cell(source, store_history=False).success)
        except BaseException as error:  # an exception that breaks even IPython's own report
            self._log.error(type(error).__name__, _text_of(error), [])
            ok = False
        self._collect_file()
        return {"ok": ok, "outputs": self._log.take()}

    def forget_output(self) -> None:
        """Drop what was printed outside cells, for instance by a function that a check called."""
        self._log.clear()
        if os.fstat(self._file).st_size:
            os.ftruncate(self._file, 0)

    def _collect_file(self) -> None:
        """What compiled code and other programs have written, after what Python has."""
        n_bytes = os.fstat(self._file).st_size
        if n_bytes:
            text = os.pread(self._file, MAX_TEXT_CHARS, 0).decode("utf-8", "replace")
            self._log.text("stdout", text)
            if n_bytes > MAX_TEXT_CHARS:
                self._log.text("stdout", f"\n... {n_bytes:,} bytes in all\n")
            os.ftruncate(self._file, 0)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _refuse_input(*_: Any, **__: Any) -> str:
    raise EOFError("nobody can answer input() while a notebook is graded")
