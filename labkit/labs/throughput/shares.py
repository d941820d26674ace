"""What a pass waits for, by a record: the measured shares of launching, memory and computing."""

from dataclasses import dataclass

from labkit.labs.throughput.launches import EAGER, THIN, Case, cases_of
from labkit.measuring.bounds import machine_of
from labkit.measuring.profiles import PROFILES
from labkit.measuring.records import NothingMeasured, Record, Row
from labkit.measuring.roofline import pass_floor
from labkit.measuring.tables import Table, or_sentence

LIMITS = ("launch", "memory", "compute")
CLEAR = 1.5  # shares that are closer than this are both accepted


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of the measured time of a pass; each is 1 for all of it.

    launch: a thin pass, which dispatches the same operations. memory, compute: the floors. rest:
    what launching and the longer floor do not explain, as if they came one after the other; on a
    GPU they overlap, so it is at least that.
    """

    time_s: float
    launch: float
    memory: float
    compute: float
    overlap: bool = False  # on a GPU

    @property
    def rest(self) -> float:
        return max(0.0, 1 - self.launch - max(self.memory, self.compute))

    def accepted(self) -> set[str]:
        """The limit with the largest share, and any that comes close to it.

        Where launching overlaps with the work and takes a smaller part, the work hides it.
        """
        shares = {name: getattr(self, name) for name in LIMITS}
        if self.overlap and CLEAR * self.launch < 1:
            shares["launch"] = 0.0
        return {name for name in LIMITS if CLEAR * shares[name] >= max(shares.values())}


def shares_of(record: Record, name: str) -> Shares:
    """The shares of a pass of `launches.cases_of` as it was measured, not as a CUDA graph.

    Raises: NothingMeasured if the record does not have it.
    """
    profile = PROFILES[record.provenance.profile]
    case = cases_of(profile)[name]
    model = profile.roles[case.role]
    whole = _row(record, model, case)
    thin = _row(record, model + THIN, Case(case.role, 1, n_cached=min(1, case.n_cached)))
    machine, _ = machine_of(record)
    sizes = (case.n_fed, case.n_cached, case.batch_size)
    floor = pass_floor(machine, model, *sizes, record.provenance.dtype)
    parts = (thin.time_s, floor.moving_s, floor.computing_s)
    shares = (part_s / whole.time_s for part_s in parts)
    return Shares(whole.time_s, *shares, overlap=profile.device == "cuda")


@or_sentence
def shares_table(record: Record) -> Table:
    """The measured shares of each pass of a record."""
    lines = []
    for name, case in cases_of(PROFILES[record.provenance.profile]).items():
        shares = shares_of(record, name)
        words = [f"{getattr(shares, part):.0%}" for part in (*LIMITS, "rest")]
        model = PROFILES[record.provenance.profile].roles[case.role].rpartition("/")[2]
        lines.append([name, model, f"{1e3 * shares.time_s:.2f}", *words])
    return Table(["case", "model", "ms", *LIMITS, "rest"], lines, f"{record.provenance}")


def _row(record: Record, model: str, case: Case) -> Row:
    sizes = (case.batch_size, case.n_fed, case.n_cached)
    for row in record.of("launches", model):
        found = (row.batch_size, row.n_input, row.counts.get("n_cached"))
        if row.is_ok and found == sizes and row.setting == EAGER:
            return row
    raise NothingMeasured.of(record.of("launches"), "launches")
