"""Reading lab 7's records: points of the experiment `sdpa`, and the floors of their times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labkit.measuring.bounds import knows_machine, machine_of, roofline_of
from labkit.measuring.records import Record, Row
from labkit.measuring.roofline import BYTES
from labkit.models.facts import gpus

BACK_ENDS = ("plain", "math", "efficient", "flash", "cudnn", "labkit")
EXPS_PER_CLOCK = 16  # of a multiprocessor, on every card of the facts
TILE_Q = 128  # rows of a tile of Q in the kernels for GPUs, about
Traffic = Callable[..., tuple[int, int]]  # as `labkit.flash_attention.standard_traffic`


@dataclass(frozen=True, slots=True)
class Point:
    """What is computed: attention of some heads, and with has_back its gradients too."""

    n_heads: int
    head_dim: int
    is_causal: bool
    has_back: bool

    @classmethod
    def of(cls, row: Row) -> Point:
        """The point of a row."""
        counts = row.counts
        flags = bool(counts["is_causal"]), bool(counts["has_back"])
        return cls(int(counts["n_heads"]), int(counts["head_dim"]), *flags)

    @property
    def counts(self) -> dict[str, float]:
        """As the counts of a row."""
        return {
            "n_heads": self.n_heads,
            "head_dim": self.head_dim,
            "is_causal": int(self.is_causal),
            "has_back": int(self.has_back),
        }

    def flops(self, n_rows: int) -> int:
        """Of the matrix products that a tiled kernel computes.

        Two of N x N x D forward, and five more backward, of which one makes the scores
        again; half of each where half of the pairs are not seen.
        """
        n_products = 7 if self.has_back else 2
        return n_products * 2 * self.n_heads * n_rows**2 * self.head_dim // (1 + self.is_causal)

    def exponentials(self, n_rows: int) -> int:
        """One for each pair of a query and a key that it sees, and again in the backward pass."""
        return self.n_heads * n_rows**2 * (1 + self.has_back) // (1 + self.is_causal)

    @property
    def label(self) -> str:
        """The point in words, for tables and figures."""
        return str(self).replace("and back", "forward + backward")

    def __str__(self) -> str:
        """The setting of its rows in a record."""
        words = [f"D {self.head_dim}", "causal" * self.is_causal, "and back" * self.has_back]
        return ", ".join(filter(None, words))


def points(record: Record) -> list[Point]:
    """All that a record has, in the order of measurement."""
    return list(dict.fromkeys(Point.of(row) for row in record.of("sdpa")))


def by_back_end(record: Record, point: Point) -> dict[str, dict[int, Row]]:
    """The rows of a point, by the name of the back end and by the number of tokens."""
    found: dict[str, dict[int, Row]] = {name: {} for name in BACK_ENDS}
    for row in sorted(record.of("sdpa"), key=lambda row: row.n_input):
        if Point.of(row) == point:
            found[row.model][row.n_input] = row
    return {name: rows for name, rows in found.items() if rows}


def computing_s(record: Record, point: Point, n_rows: int) -> float:
    """Seconds for the products at the rate that the record's machine reaches in large matrices."""
    return point.flops(n_rows) / roofline_of(record).peak(record.provenance.dtype)


def exponentials_per_s(card: str, clock: str = "") -> float:
    """Of the special-function units of a card of the facts. clock: as a provenance gives it.

    Without a clock it follows from fp32_TFLOPS: 128 multiplications with additions a clock and
    multiprocessor, 64 on compute capabilities 7.5 and 8.0.
    Source: CUDA C++ Programming Guide, throughput of native arithmetic instructions.
    """
    facts = gpus()[card]
    if clock.endswith(" MHz"):
        return EXPS_PER_CLOCK * facts["sms"] * float(clock.removesuffix(" MHz")) * 1e6
    per_clock = 64 if facts["compute_capability"] in ("7.5", "8.0") else 128
    return EXPS_PER_CLOCK * facts["fp32_TFLOPS"] * 1e12 / (2 * per_clock)


def moving_s(record: Record, point: Point, n_rows: int, traffic: Traffic, *tile: int) -> float:
    """Seconds to move the counted numbers of every head, at the machine's measured bandwidth."""
    n_numbers = point.n_heads * sum(traffic(n_rows, point.head_dim, *tile))
    return n_numbers * BYTES[record.provenance.dtype] / roofline_of(record).bandwidth


def floors_ms(
    record: Record,
    point: Point,
    n_rows: int,
    standard_traffic: Traffic | None = None,
    flash_2_traffic: Traffic | None = None,
) -> dict[str, float]:
    """Milliseconds that a length takes at least, by what takes them; none on an unknown machine.

    That of the exponentials is known for cards of the facts. With the two functions also what
    moving takes, in tiles of `TILE_Q` rows of Q. What they count is the way forward without a mask:
    they say nothing of other points.
    """
    if not knows_machine(record):
        return {}
    floors = {"products": computing_s(record, point, n_rows)}
    card = machine_of(record)[0].name
    if card in gpus():
        rate = exponentials_per_s(card, record.provenance.clock)
        floors["exponentials"] = point.exponentials(n_rows) / rate
    if standard_traffic and not (point.is_causal or point.has_back):
        floors["scores moved"] = moving_s(record, point, n_rows, standard_traffic)
        floors["tiles moved"] = moving_s(record, point, n_rows, flash_2_traffic, TILE_Q)
    return {name: 1e3 * seconds for name, seconds in floors.items()}
