"""Checks of lab 3's offload."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusals
from labkit.checks.slips import cause_by_replay
from labkit.labs.cache_benchmark.checks.costs import SINGLE_PRECISION

_step = partial(check, "offload_step_s", gate=True)


@dataclass(frozen=True, slots=True)
class OffloadCase:
    """Bytes of a step, of which some are in host memory; seconds without and with overlap."""

    moved_bytes: int
    offloaded_bytes: int
    bandwidth: float
    link_bandwidth: float
    in_turn_s: float
    overlapped_s: float

    @property
    def arguments(self) -> tuple[float, float, float, float]:
        return (self.moved_bytes, self.offloaded_bytes, self.bandwidth, self.link_bandwidth)

    def __str__(self) -> str:
        return (
            f"{self.offloaded_bytes:,} of {self.moved_bytes:,} bytes offloaded, "
            f"{self.bandwidth / 1e9:g} and {self.link_bandwidth / 1e9:g} GB/s"
        )


def _expect_step(student: Student, case: OffloadCase, overlap: bool, what: str) -> None:
    """The seconds are right; a slip is named if it gives them in this and all open cases."""
    right_s = case.overlapped_s if overlap else case.in_turn_s
    probes = [(each,) for each in (*OPEN_CASES["offload_step_s"], case)]

    def ask(each: OffloadCase) -> Any:
        more = {"overlap": True} if overlap else {}
        return student.offload_step_s(*each.arguments, **more)

    with cause_by_replay(ask, probes, partial(_slips, overlap), relative=SINGLE_PRECISION):
        expect_number(ask(case), right_s, what, relative=SINGLE_PRECISION)


def _slips(overlap: bool, case: OffloadCase) -> dict[str, float]:
    """The seconds that known mistakes give."""
    card_s = (case.moved_bytes - case.offloaded_bytes) / case.bandwidth
    link_s = case.offloaded_bytes / case.link_bandwidth
    other = (
        {"That is the time without overlap.": case.in_turn_s}
        if overlap
        else {
            "That is the time with overlap.": case.overlapped_s,
            "In this model, offloaded bytes count for the link only.": (
                case.moved_bytes / case.bandwidth + link_s
            ),
        }
    )
    return other | {
        "That is the shorter transfer. Take the longer one.": min(card_s, link_s),
        "Only the link's transfer is counted. The GPU's memory takes time too.": link_s,
        "Only the transfer from the GPU's memory is counted. The link takes time too.": card_s,
    }


@_step(hint="Divide each of the two parts by its own bandwidth, and add.")
def transfers_in_turn_add_up(student: Student, case: OffloadCase) -> None:
    """Without overlap, the times of both transfers are added."""
    _expect_step(student, case, False, "the seconds")


@_step(hint="Take the longer of the two transfers.")
def overlapping_transfers_take_the_longer(student: Student, case: OffloadCase) -> None:
    """With overlap, the step takes as long as the longer transfer."""
    _expect_step(student, case, True, "the seconds with overlap")


@_step(hint="Raise ValueError if offloaded_bytes is negative or above moved_bytes.", gate=False)
def only_what_is_moved_can_be_offloaded(student: Student, case: OffloadCase) -> None:
    """offloaded_bytes may be 0 to moved_bytes. Any other number is a ValueError."""
    moved, links = case.moved_bytes, (case.bandwidth, case.link_bandwidth)
    fewer, never = "The step moves fewer bytes.", "A number of bytes is never negative."
    whys = {moved + 1: fewer, 2 * moved: fewer, -1: never, -moved: never}
    for n, why in whys.items():
        refused = {f"offloading {n:,} bytes": (moved, n, *links)}
        expect_refusals(student.offload_step_s, refused, why=why)
    for n_bytes in (0, moved):
        seconds = number_in(student.offload_step_s(moved, n_bytes, *links), "the seconds")
        if not seconds > 0:
            raise Wrong("the seconds of a step", expected="more than 0", got=show(seconds))


OPEN_CASES = {
    "offload_step_s": [
        OffloadCase(10**10, 10**9, 1e12, 20e9, in_turn_s=0.059, overlapped_s=0.05),
        OffloadCase(10**10, 10**7, 1e12, 50e9, in_turn_s=0.01019, overlapped_s=0.00999),
    ],
}
