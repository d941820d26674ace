"""A person's shell in a copy of the repository: commands, and programs that stay."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

from autograder.places import REPOSITORY

FOLDERS = ("autograder", "labkit", "notebooks", "docs", "tests", "training")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", ".ipynb_checkpoints", ".hypothesis")
NO_SET_UP = 'make() { command make -o .venv/.ready -o .venv/.browser "$@"; }; '
JUPYTER = """\
c.ServerApp.allow_root = True
c.ServerApp.open_browser = False
c.ServerApp.port = 0
c.ServerApp.answer_yes = True
"""
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S*")
PATIENCE_S = 900
START_S = 120
INTERRUPTED_MAKE = 2


class Shell:
    """What a person has who follows the documents: the kit, its environment, a home."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "kit", folder / "home"
        self._stay: list[subprocess.Popen] = []
        self.home.mkdir(parents=True)
        (self.home / "jupyter").mkdir()
        (self.home / "jupyter/jupyter_server_config.py").write_text(JUPYTER)
        for name in FOLDERS:
            shutil.copytree(REPOSITORY / name, self.folder / name, ignore=LEFT_OUT)
        for path in REPOSITORY.iterdir():
            if path.is_file() and path.name != ".git":
                shutil.copy2(path, self.folder)
        (self.folder / "data").symlink_to(REPOSITORY / "data")
        (self.folder / ".venv").symlink_to(sys.prefix)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        self.environment = kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder),
            "HOME": str(self.home),
            "JUPYTER_CONFIG_DIR": str(self.home / "jupyter"),
            "SLURM_ARRAY_TASK_ID": "1",
            "MY_KEY": "secret",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, command: str) -> str:
        """Give a command; "" if it ends well, else its status and the end of what it said."""
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = value.replace("~", str(self.home))
            return ""
        done = subprocess.run(
            ["bash", "-c", NO_SET_UP + command], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        said = f"{done.stdout[-500:]}{done.stderr[-1500:]}"
        return f"status {done.returncode}: {said}" if done.returncode else ""

    def start(self, command: str, ready: re.Pattern, *, stays: bool = False) -> str:
        """Start a server and wait until it says that it is ready; look at its page, if it has one.

        stays: until `close`; else it is ended as a person does it, and must end well.
        """
        process = subprocess.Popen(
            ["env", "--default-signal=INT", "bash", "-c", NO_SET_UP + command],
            cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )  # fmt: skip
        self._stay.append(process)
        late = threading.Timer(START_S, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        said, found = "", None
        for line in process.stdout:
            said += line
            if found := ready.search(line):
                break
        late.cancel()
        if not found:
            return f"it does not start: {said[-1500:]}"
        if found[0].startswith("http") and (problem := self._no_answer(found[0])):
            return problem
        return "" if stays else self._ended(process)

    def _no_answer(self, address: str) -> str:
        """Why an address does not answer; on a busy machine it may be told some time before."""
        browser = build_opener(ProxyHandler({}), HTTPCookieProcessor())  # its token is a cookie
        for _ in range(START_S):
            try:
                browser.open(address, timeout=START_S).close()
                return ""
            except OSError as error:
                problem = f"{address} does not answer: {error}"
            time.sleep(1)
        return problem

    def _ended(self, process: subprocess.Popen) -> str:
        """Press Ctrl-C, as often as a person would until nothing of it is left."""
        with suppress(ProcessLookupError):
            for _ in range(START_S):
                os.killpg(process.pid, signal.SIGINT)
                process.poll()
                time.sleep(1)
            os.killpg(process.pid, signal.SIGKILL)
        self._stay.remove(process)
        process.stdout.close()
        is_well = process.wait() in (0, INTERRUPTED_MAKE, 130, -signal.SIGINT)
        return "" if is_well else f"it ends with status {process.returncode}"

    def close(self) -> None:
        """End what is left, the last first."""
        for process in reversed(self._stay):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(START_S)
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
