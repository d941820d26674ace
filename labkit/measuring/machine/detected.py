"""What this process runs on: processor, memory, GPUs, and how much of the memory is free."""

import os
import platform
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.measuring.machine.device_memory import total_memory_bytes
from labkit.models.facts import match_gpu, sixteen_bit_dtype


@dataclass(frozen=True, slots=True)
class Card:
    """What torch reports of a CUDA GPU; None where this version of torch does not say."""

    name: str
    capability: tuple[int, int]
    memory_bytes: int
    n_sms: int
    l2_bytes: int | None = None
    shared_per_sm_bytes: int | None = None
    shared_per_block_bytes: int | None = None
    memory_clock_hz: int | None = None
    memory_bus_bits: int | None = None

    @property
    def fact_name(self) -> str | None:
        """The name in the table of GPUs; None if the table does not have it."""
        return match_gpu(self.name, self.memory_bytes)

    @property
    def has_bfloat16(self) -> bool:
        return sixteen_bit_dtype(self.capability) == "bfloat16"

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second that clock and bus width come to, two transfers per clock."""
        if not self.memory_clock_hz or not self.memory_bus_bits:
            return None
        return 2 * self.memory_clock_hz * self.memory_bus_bits / 8


@dataclass(frozen=True, slots=True)
class Machine:
    """The processor, the memory and the GPUs that this process may use."""

    processor: str
    n_cores: int
    n_threads: int  # that torch computes with
    memory_bytes: int | None
    cards: tuple[Card, ...]

    def __str__(self) -> str:
        memory = f"{self.memory_bytes / 2**30:.1f} GiB" if self.memory_bytes else "unknown memory"
        lines = [
            f"{self.processor}: {self.n_cores} cores, torch uses {self.n_threads} threads, {memory}"
        ]
        for card in self.cards:
            known = f"{card.fact_name} in the table" if card.fact_name else "not in the table"
            lines.append(
                f"{card.name}: sm_{card.capability[0]}{card.capability[1]}, {card.n_sms} SMs, "
                f"{card.memory_bytes / 2**30:.2f} GiB, "
                f"{'bfloat16' if card.has_bfloat16 else 'no bfloat16: use float16'}, {known}"
            )
        return "\n".join(lines if self.cards else [*lines, "no CUDA GPU"])


def detect() -> Machine:
    """What this process runs on."""
    import torch

    n_cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    here = getattr(os, "sched_getaffinity", None)  # the cores left to us, where the system says
    return Machine(
        processor=_processor(),
        n_cores=len(here(0)) if here else os.cpu_count() or 1,
        n_threads=torch.get_num_threads(),
        memory_bytes=total_memory_bytes(),
        cards=tuple(_card(torch.cuda.get_device_properties(i)) for i in range(n_cards)),
    )


def _card(seen: Any) -> Card:
    clock_khz = getattr(seen, "memory_clock_rate", None)
    return Card(
        name=seen.name,
        capability=(seen.major, seen.minor),
        memory_bytes=seen.total_memory,
        n_sms=seen.multi_processor_count,
        l2_bytes=getattr(seen, "L2_cache_size", None),
        shared_per_sm_bytes=getattr(seen, "shared_memory_per_multiprocessor", None),
        shared_per_block_bytes=getattr(seen, "shared_memory_per_block_optin", None),
        memory_clock_hz=clock_khz * 1000 if clock_khz else None,
        memory_bus_bits=getattr(seen, "memory_bus_width", None),
    )


def has_bfloat16(device: str) -> bool:
    """Whether a device computes bfloat16 in hardware; a CPU at least does it correctly.

    torch.cuda.is_bf16_supported() is no guide: it says yes where torch emulates.
    """
    if not device.startswith("cuda"):
        return True
    import torch

    return sixteen_bit_dtype(torch.cuda.get_device_capability(device)) == "bfloat16"


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, NumPy and PyTorch, on every device.

    Two runs then draw alike on one machine with one set of versions. Sums on a GPU may still be
    added up in another order.
    Raises: ValueError for a seed below 0 or above what NumPy takes.
    """
    import numpy as np
    import torch

    if not 0 <= seed < 2**32:
        raise ValueError(f"the seed must be a number from 0 to {2**32 - 1}, got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
