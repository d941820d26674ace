"""Where numbers come from: device, versions, dtype, command; what makes them comparable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.measuring.machine import detect, kit_version


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
    clock: str = ""  # the highest of the GPU's processors; empty on a CPU, and in older records

    @classmethod
    def here(cls, profile: Any, command: str, seed: int = 0) -> Provenance:
        """Of a run on this machine with a profile (see `profiles`), on its device and dtype."""
        import datetime
        import platform

        import torch
        import transformers

        machine = detect()
        on_gpu = profile.device.startswith("cuda")
        return cls(
            device=machine.cards[0].name if on_gpu else machine.processor,
            driver=_from_driver("driver_version") if on_gpu else "",
            torch=torch.__version__,
            transformers=transformers.__version__,
            python=platform.python_version(),
            labkit=kit_version().partition("+")[0],
            dtype=profile.dtype,
            profile=profile.name,
            n_threads=machine.n_threads,
            command=command,
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            seed=seed,
            clock=_from_driver("clocks.max.sm") if on_gpu else "",
        )

    def __str__(self) -> str:
        threads = f"{self.n_threads} thread{'s' if self.n_threads > 1 else ''}"
        place = self.device if self.driver else f"{self.device}, {threads}"
        return f"{place}, {self.dtype}, PyTorch {self.torch}"


# What has to be the same for two rows to stand in one file.
SAME = ("device", "driver", "torch", "transformers", "labkit", "dtype", "profile", "n_threads")


def _from_driver(field: str) -> str:
    import subprocess

    query = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader", "--id=0"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip()
