"""This machine: its check against the fact table, and its measured roofline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.measuring.machine.detected import Card, detect, has_bfloat16
from labkit.measuring.machine.device_memory import available_memory_bytes
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import Row
from labkit.measuring.roofline import BYTES, Roofline
from labkit.models.facts import gpus, vram_readings

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Comparison:
    """One fact of the table beside what torch reports; agrees is None where torch does not say."""

    fact: str
    table: str
    here: str
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class FactCheck:
    """The table's facts on a card, held against the card itself."""

    card: str
    fact_name: str | None
    rows: tuple[Comparison, ...]

    @property
    def agrees(self) -> bool:
        """Whether no fact is contradicted."""
        return all(row.agrees is not False for row in self.rows)

    def __str__(self) -> str:
        if not self.card:
            return "no CUDA GPU here, nothing to compare"
        if self.fact_name is None:
            return f"{self.card}: not in the table of GPUs, nothing to compare"
        verdicts = {True: "agrees", False: "DIFFERS", None: "not reported"}
        lines = [f"{self.card} against {self.fact_name} of the table:"]
        for row in self.rows:
            lines.append(f"  {row.fact:<26}{row.table:>16}{row.here:>16}  {verdicts[row.agrees]}")
        return "\n".join(lines)


def check_facts(card: Card | None = None) -> FactCheck:
    """Hold a card against its row in the table of GPUs; without a card, this machine's first.

    Counts and shared memory have to be equal; memory lies within 1 % of what torch has been seen to
    report, bandwidth and L2 within 3 %.
    """
    if card is None:
        cards = detect().cards
        if not cards:
            return FactCheck("", None, ())
        card = cards[0]
    if card.fact_name is None:
        return FactCheck(card.name, None, ())
    facts = gpus()[card.fact_name]
    capability = ".".join(map(str, card.capability))
    low, high = vram_readings(card.fact_name)["torch"]
    in_range = 0.99 * low <= card.memory_bytes <= 1.01 * high
    memory = f"{low / 2**30:.2f}-{high / 2**30:.2f} GiB"
    bfloat16 = facts["dense_bf16_tensor_TFLOPS"] is not None
    kib = 1024
    rows = (
        _same("compute capability", facts["compute_capability"], capability),
        _same("multiprocessors", str(facts["sms"]), str(card.n_sms)),
        _same("bfloat16 in hardware", str(bfloat16), str(card.has_bfloat16)),
        Comparison(
            "memory that torch sees", memory, f"{card.memory_bytes / 2**30:.2f} GiB", in_range
        ),
        _near("L2 cache", facts["l2_MB"] * kib**2, card.l2_bytes, 2**20, "MiB", 0.03),
        _near("shared memory per SM", facts["shared_per_SM_KB"] * kib, card.shared_per_sm_bytes),
        _near(
            "shared memory per block",
            facts["shared_per_block_optin_KB"] * kib,
            card.shared_per_block_bytes,
        ),
        _near("bandwidth", facts["bandwidth_GBps"] * 1e9, card.bandwidth, 1e9, "GB/s", 0.03),
    )
    return FactCheck(card.name, card.fact_name, rows)


def _same(fact: str, table: str, here: str) -> Comparison:
    return Comparison(fact, table, here, table == here)


def _near(
    fact: str,
    table: float,
    here: float | None,
    unit: float = 1024,
    unit_name: str = "KiB",
    tolerance: float = 0.0,
) -> Comparison:
    """A quantity; tolerance is a share of the table's value."""
    agrees = None if here is None else abs(here - table) <= tolerance * table
    seen = "-" if here is None else f"{here / unit:,.0f} {unit_name}"
    return Comparison(fact, f"{table / unit:,.0f} {unit_name}", seen, agrees)


def measure_roofline(device: str | None = None, n_repeats: int = 5) -> Roofline:
    """What this machine reaches: bandwidth and matrix products, the best of a few runs.

    Bandwidth is the higher of two: reading a large matrix once, as a decode step reads weights, and
    copying it. Takes about a second. A data sheet promises more than any program reaches, so floors
    of a measured roofline are the higher ones. Products are of float32 on a CPU, and on a GPU of
    every dtype that it has hardware for.
    """
    import torch

    from labkit.measuring.timing import time_in_turns

    place = str(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    on_gpu = place.startswith("cuda")
    able = [name for name in BYTES if name != "bfloat16" or has_bfloat16(place)]
    dtypes = able if on_gpu else ["float32"]
    room_bytes = available_memory_bytes(place)
    room_bytes = 2**32 if room_bytes is None else room_bytes
    n_bytes = min(2**30 if on_gpu else 2**28, room_bytes // 8)
    size = 8192 if on_gpu else 1024 if torch.get_num_threads() <= 4 else 2048
    while size > 1024 and 20 * size**2 > room_bytes // 4:  # factors and a product of all dtypes
        size //= 2
    matrix = torch.ones(n_bytes // 4 // 4096, 4096, device=place)
    copy, column = torch.empty_like(matrix), torch.ones(4096, device=place)
    runs = {"read": lambda: matrix @ column, "copy": lambda: copy.copy_(matrix)}
    runs |= {name: _product(size, place, getattr(torch, name)) for name in dtypes}
    timings = time_in_turns(runs, n_repeats)
    best_s = {name: min(timing.samples_s) for name, timing in timings.items()}
    moved_bytes = matrix.numel() * 4
    return Roofline(
        name=f"{torch.cuda.get_device_name(place) if on_gpu else detect().processor}, measured",
        bandwidth=max(moved_bytes / best_s["read"], 2 * moved_bytes / best_s["copy"]),
        peaks={name: 2 * size**3 / best_s[name] for name in dtypes},
    )


def _product(size: int, device: str, dtype: torch.dtype) -> Callable[[], Any]:
    import torch

    generator = torch.Generator(device).manual_seed(0)
    factor = torch.randn(size, size, device=device, generator=generator).to(dtype)
    return lambda: factor @ factor


def describe() -> str:
    """This machine, its cards against the table, and their rooflines."""
    machine = detect()
    parts = [str(machine)]
    for card in machine.cards:
        parts.append(str(check_facts(card)))
        if card.fact_name is not None:
            parts.append(f"data sheet of {Roofline.of(card.fact_name)}")
    return "\n\n".join(parts)


def roofline_rows(profile: MachineProfile, is_done: Callable[[tuple], bool]) -> Iterator[Row]:
    """The row of `roofline`, unless it is done."""
    from labkit.measuring.device import rows_in_room

    row = Row("roofline", profile.device, 1, 0, 0, False, outcome="counted")
    if not is_done(row.key):
        yield from rows_in_room([row], partial(_counted, profile, row))


def _counted(profile: MachineProfile, row: Row) -> Iterator[Row]:
    measured, machine = measure_roofline(profile.device), detect()
    on_gpu = profile.device == "cuda"
    card = machine.cards[0] if on_gpu else None
    memory_bytes = card.memory_bytes if card else machine.memory_bytes or 0
    counts = {
        "bandwidth": measured.bandwidth,
        "peak": measured.peak(profile.dtype),
        "memory_bytes": memory_bytes,
    }
    note = (card.fact_name or "") if card else ""
    yield replace(row, note=note, counts=counts | dict(measured.peaks))
