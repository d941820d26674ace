"""Trying an input: it must hold what its target says, in bounded time and memory."""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import time
import traceback
from pathlib import Path

from targets import TARGETS

FINDINGS = Path(__file__).parent / "findings"
MAX_S = 5.0
MAX_GROWTH_MB = 300  # a frame may announce 272 MB


def try_input(name: str, content: bytes) -> None:
    """Play one input. Raises: whatever is wrong."""
    peak_mb, start = _peak_mb(), time.process_time()
    TARGETS[name].play(content)
    seconds, growth_mb = time.process_time() - start, _peak_mb() - peak_mb
    assert seconds < MAX_S, f"{len(content):,} bytes took {seconds:.1f} s"
    assert growth_mb < MAX_GROWTH_MB, f"{len(content):,} bytes took {growth_mb} MB"


def save_finding(name: str, content: bytes, error: BaseException, folder: Path = FINDINGS) -> Path:
    """Keep the shortest input of those that fail in the same place, for the tests to replay."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} {Path(frame.filename).name} {frame.name} {frame.line}"
    path = folder / f"{name}-{hashlib.sha256(where.encode()).hexdigest()[:8]}"
    if not path.exists() or path.stat().st_size > len(content):
        path.write_bytes(content)
    return path


class Run:
    """Tries inputs, keeps what fails and goes on; ends the process when the time is up."""

    def __init__(self, name: str, seconds: float, folder: Path, current: Path) -> None:
        self._name, self._folder, self._current = name, folder, current
        self._seconds, self._end = seconds, math.inf
        self._n_inputs = 0
        self._found: dict[str, str] = {}

    def play(self, content: bytes) -> None:
        """Try one input. Never raises."""
        if not self._n_inputs:  # to prepare the first takes its time
            self._end = time.monotonic() + self._seconds
        if time.monotonic() > self._end:
            self.finish()
        self._current.write_bytes(content)
        self._n_inputs += 1
        try:
            try_input(self._name, content)
        except Exception as error:
            path = save_finding(self._name, content, error, self._folder)
            self._found[path.name] = "".join(traceback.format_exception(error, limit=-3))

    def finish(self) -> None:
        """Say what was tried, and end here."""
        print(json.dumps({"n_inputs": self._n_inputs, "findings": self._found}), flush=True)
        os._exit(0)


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
