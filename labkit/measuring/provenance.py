"""Where numbers come from: device, versions, dtype, command; what makes them comparable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
        from labkit.measuring.machine.here import found_here

        return cls(**found_here(profile, command, seed) | known)

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
