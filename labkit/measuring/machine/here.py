"""What is known of a run on this machine: device, versions, clock, and the kit's commit."""

import datetime
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from labkit.measuring.machine import ROOT, kit_version
from labkit.measuring.machine.detected import detect


def found_here(profile: Any, command: str, seed: int) -> dict[str, Any]:
    """The fields of a `Provenance`, of a run with a profile on its device."""
    import torch
    import transformers

    machine = detect()
    on_gpu = profile.device.startswith("cuda")
    return {
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
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
