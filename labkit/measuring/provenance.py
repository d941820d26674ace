"""Where numbers come from: device, versions, dtype, command; what makes them comparable."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.measuring.machine import ROOT, detect, kit_version


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where numbers come from: all that one needs to know to measure them again."""

    device: str
    driver: str  # empty on a CPU
    torch: str
    transformers: str
    python: str
    labkit: str
    dtype: str
    profile: str
    n_threads: int
    command: str
    date: str
    seed: int
    clock: str = ""  # of the processors: the GPU's highest, a CPU's at the time
    commit: str = ""  # of the kit: git's, or the edition of a wheel; empty in older records
    memory_gb: float = 0.0  # what the GPU was cut down to; 0 for all that it has

    @classmethod
    def here(cls, profile: Any, command: str, seed: int = 0, **known: Any) -> Provenance:
        """Of a run on this machine with a profile (see `profiles`), on its device and dtype.

        known: fields that the caller knows better, such as the commit of a copy without git.
        """
        import datetime
        import platform

        import torch
        import transformers

        machine = detect()
        on_gpu = profile.device.startswith("cuda")
        found = {
            "device": machine.cards[0].name if on_gpu else machine.processor,
            "driver": _from_driver("driver_version") if on_gpu else "",
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
            "labkit": kit_version().partition("+")[0],
            "dtype": profile.dtype,
            "profile": profile.name,
            "n_threads": machine.n_threads,
            "command": command,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "seed": seed,
            "clock": _from_driver("clocks.max.sm") if on_gpu else _cpu_clock(),
            "commit": _commit(),
        }
        return cls(**found | known)

    def __str__(self) -> str:
        threads = f"{self.n_threads} thread{'s' if self.n_threads > 1 else ''}"
        place = self.device if self.driver else f"{self.device}, {threads}"
        cut = f" cut down to {self.memory_gb:g} GB" if self.memory_gb else ""
        return f"{place}{cut}, {self.dtype}, PyTorch {self.torch}"


# What has to be the same for two rows to stand in one file.
SAME = (
    *("device", "driver", "torch", "transformers", "labkit"),
    *("dtype", "profile", "n_threads", "memory_gb"),
)


def has_commit(commit: str) -> bool:
    """Whether the checkout has this commit; without a whole history, whether it can be one."""
    if not re.fullmatch("[0-9a-f]{8,40}", commit):
        return False
    git = ("git", "-C", str(ROOT))
    is_whole = (ROOT / ".git").exists() and _output_of(*git, "rev-parse", "--is-shallow-repository")
    return is_whole != "false" or _output_of(*git, "cat-file", "-t", commit) == "commit"


def _commit() -> str:
    """Git's commit of the checkout that this runs from, marked if it was changed; else the edition.

    An edition's version ends with a hash of its content, so it says as much.
    """
    if not (ROOT / ".git").exists():
        return kit_version() if "+" in kit_version() else ""
    commit = _output_of("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
    changes = _output_of("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return commit + ("+changed" if commit and changes else "")


def _cpu_clock() -> str:
    """What Linux says of the first core now; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    clocks = [line.partition(":")[2] for line in lines if line.startswith("cpu MHz")]
    return f"{float(clocks[0]):.0f} MHz" if clocks else ""


def _from_driver(field: str) -> str:
    query = ("nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader", "--id=0")
    return _output_of(*query) or "unknown"


def _output_of(*command: str) -> str:
    """The output of a program; empty if it cannot be run."""
    import subprocess

    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
