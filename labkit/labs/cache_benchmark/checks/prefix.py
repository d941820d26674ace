"""Checks of lab 3's prefix and offload."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusals
from labkit.checks.slips import cause_by_replay
from labkit.labs.cache_benchmark.checks.costs import SINGLE_PRECISION

_prefix = partial(check, "longest_cached_prefix", gate=True)
_step = partial(check, "offload_step_s", gate=True)


@dataclass(frozen=True, slots=True)
class PrefixCase:
    """Hashes of a prompt's blocks, those that are cached, and the tokens that are saved.

    kind: "tail" where tokens follow the last full block, "gap", "whole".
    """

    kind: str
    hashes: tuple[Hashable, ...]
    cached: tuple[Hashable, ...]
    n_tokens: int
    block_size: int
    expected: int

    def __str__(self) -> str:
        found = "".join("x" if one in self.cached else "-" for one in self.hashes)
        return (
            f"{self.n_tokens} tokens in blocks of {self.block_size}, cached (x) or not (-): "
            f"{found or 'no full block'}"
        )


def _saved(student: Student, case: PrefixCase, cached: Any) -> Any:
    return student.longest_cached_prefix(list(case.hashes), cached, case.n_tokens, case.block_size)


def _expect_saved(student: Student, case: PrefixCase) -> None:
    """The tokens that are saved; a cause is named if it gives just the number that came."""
    n_hits = sum(one in case.cached for one in case.hashes)
    slips = {
        case.expected / case.block_size: "These are blocks. Return tokens.",
        n_hits * case.block_size: "A block is used only if all blocks before it are found.",
    }
    if case.kind == "whole":
        slips |= {
            case.n_tokens: "The cache keeps no logits. The model has to compute at least the last "
            "token.",
            case.n_tokens - 1: "Only whole blocks are saved. Leave out the last block.",
        }
    got = _saved(student, case, set(case.cached))
    expect_number(got, case.expected, "the tokens that are saved", slips=slips)


@_prefix("tail", hint="Multiply the number of blocks that are found by block_size.")
def cached_blocks_are_counted_in_tokens(student: Student, case: PrefixCase) -> None:
    """Each block that is found counts with all of its tokens."""
    _expect_saved(student, case)


@_prefix("gap", hint="Stop at the first block that is not in cached.")
def the_first_miss_ends_it(student: Student, case: PrefixCase) -> None:
    """Blocks after the first missing block are not counted."""
    _expect_saved(student, case)
    filled = number_in(_saved(student, case, set(case.hashes)), "the tokens without the gap")
    if not filled > case.expected:
        what = "the tokens saved without the gap"
        raise Wrong(what, expected=f"more than {case.expected}", got=show(filled))


@_prefix(
    "whole",
    hint="Leave at least one token to compute, and so the last block, if all are found.",
)
def one_token_is_left_to_compute(student: Student, case: PrefixCase) -> None:
    """If all blocks of a prompt are found, its last block is still computed."""
    _expect_saved(student, case)
    longer = student.longest_cached_prefix(
        list(case.hashes), set(case.cached), case.n_tokens + 1, case.block_size
    )
    expect_number(longer, case.n_tokens, "the tokens that are saved if one more token follows")


@_prefix(
    hint="Use only `in` with cached.",
    applies_to=lambda case: case.kind == "tail" and case.expected > 0,
    gate=False,
)
def any_container_will_do(student: Student, case: PrefixCase) -> None:
    """`cached` may be a set, a dict or a list: any container that has `in`."""
    saved = number_in(_saved(student, case, set(case.cached)), "the tokens found in a set")
    if not saved > 0 or saved % case.block_size:
        raise Wrong("the tokens found in a set", expected="some blocks", got=show(saved))
    n_all, n_none = (
        number_in(_saved(student, case, set(cached)), "the tokens found")
        for cached in (case.hashes, ())
    )
    if not n_all > n_none:
        what = "the tokens found if every block is cached"
        raise Wrong(what, expected="more than if none is cached", got=show(n_all))
    others = {"a dict": dict.fromkeys(case.cached), "a list": list(case.cached)}
    for kind, cached in others.items():
        expect_number(_saved(student, case, cached), saved, f"the tokens found in {kind}")


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
    "longest_cached_prefix": [
        PrefixCase("tail", ("a", "b", "c"), ("a", "b", "c", "x"), 50, block_size=16, expected=48),
        PrefixCase("gap", ("a", "b", "c"), ("a", "c"), 50, block_size=16, expected=16),
        PrefixCase("whole", (1, 2, 3), (1, 2, 3), 48, block_size=16, expected=32),
    ],
    "offload_step_s": [
        OffloadCase(10**10, 10**9, 1e12, 20e9, in_turn_s=0.059, overlapped_s=0.05),
        OffloadCase(10**10, 10**7, 1e12, 50e9, in_turn_s=0.01019, overlapped_s=0.00999),
    ],
}
