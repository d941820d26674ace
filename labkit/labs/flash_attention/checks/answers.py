"""Checks of lab 7's answer cells.

In the notebook an answer is compared with what the student's own functions give for the numbers of
`own_head`, with hidden cases by those of `case.right`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from labkit.bridge.requests import value_of
from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, called, expect_close, field_of, is_near
from labkit.checks.compare import finite_number_in
from labkit.checks.core import Unfinished, check
from labkit.labs.flash_attention.checks.turns import EXACT, two_numbers_in
from labkit.labs.flash_attention.own_head import Head, head_of

NEAR_MEGABYTES = 0.005
HOMEWORK_ROWS, HOMEWORK_DIM, HOMEWORK_WIDTH = 1024, 64, 4
HOMEWORK_BYTES = {"numbers_64000": 256_000, "numbers_65536": 262_144, "bytes_65536": 65_536}
IN_NUMBERS = "That is in bytes. Count numbers here."


class Right(NamedTuple):
    """What the functions give for a head.

    once: numbers written before the first turn; one_turn, by_queries: traffic with a tile of K of
    all rows, and of tile_q rows; n_vectors: how much of it all is l and m.
    """

    tile_q: float
    tile_kv: float
    reads: float
    writes: float
    once: float
    one_turn: tuple[float, float]
    by_queries: tuple[float, float]
    n_vectors: float

    @property
    def total(self) -> float:
        return self.reads + self.writes


def _ask_pair(functions: Any, name: str, *arguments: float) -> tuple[float, float]:
    """Both numbers that a function gives. Raises Unfinished if it is not written yet."""
    got, what = called(functions, name, *arguments), f"what your {name} gives"
    first, second = two_numbers_in(got, what)
    return finite_number_in(first, what), finite_number_in(second, what)


def _head_of(student: Student) -> Head:
    """The student's own head. Raises Unfinished if there is no student id."""
    try:
        return head_of(value_of(student.student_id))
    except ValueError as error:
        raise Unfinished(f"{error}.") from None


def _right(functions: Any, head: Head) -> Right:
    n_rows, head_dim = head.n_rows, head.head_dim

    def moved(tile_kv: float, width: int = head_dim) -> tuple[float, float]:
        return _ask_pair(functions, "flash_1_traffic", n_rows, width, tile_kv)

    tile_q, tile_kv = _tiles(functions, head)
    reads, writes = moved(tile_kv)
    one_turn = moved(n_rows)
    n_vectors = 2 * (reads + writes) - sum(moved(tile_kv, 2 * head_dim))
    once = one_turn[1] / 2
    return Right(tile_q, tile_kv, reads, writes, once, one_turn, moved(tile_q), n_vectors)


def _tiles(functions: Any, head: Head, kib: int = 1024, width: int = 0) -> tuple[float, float]:
    width = width or head.bytes_per_number
    return _ask_pair(functions, "tile_sizes", kib * head.sram_kib, head.head_dim, width)


def _expect(
    case: AnswerCase,
    got: float,
    right: float,
    what: str,
    slips: Mapping[float, str],
    relative: float = EXACT,
    source: str = "the numbers of your head",
) -> None:
    expect_close(case, got, right, what, source, relative=relative, slips=slips)


@check("my_head", hint="Give `tile_sizes` the chip in bytes. It returns tile_q first.")
def own_tiles_fit_the_chip(student: Student, case: AnswerCase) -> None:
    """tile_kv and tile_q are the tiles of your head on your chip."""
    head, functions = _head_of(student), case.right or student
    tile_kv, tile_q = (field_of(student, case, key) for key in ("tile_kv", "tile_q"))
    right_q, right_kv = _tiles(functions, head)
    slips = {
        right_q: "That is tile_q.",
        right_kv + 1: "That is one row too many. The paper rounds up; here the tiles have to fit.",
        _tiles(functions, head, kib=1000)[1]: "1 KiB is 1,024 bytes.",
        _tiles(functions, head, width=1)[1]: f"A number takes {head.bytes_per_number} bytes.",
    }
    _expect(case, tile_kv, right_kv, "tile_kv", slips)
    _expect(case, tile_q, right_q, "tile_q", {right_kv: "That is tile_kv."})


@check("my_head", hint="Call your `flash_1_traffic` with your tile_kv.")
def own_reads_are_counted(student: Student, case: AnswerCase) -> None:
    """reads is how many numbers FlashAttention-1 reads for your head."""
    head, reads = _head_of(student), field_of(student, case, "reads")
    right = _right(case.right or student, head)
    slips = {
        right.one_turn[0]: "That is one turn only. There is one turn for each tile of K.",
        right.by_queries[0]: "The number of turns follows from tile_kv.",
        right.writes: "That is the number of writes.",
        right.total: "That is reads and writes together.",
        right.reads * head.bytes_per_number: IN_NUMBERS,
    }
    _expect(case, reads, right.reads, "reads", slips)


@check("my_head", hint="Call your `flash_1_traffic` with your tile_kv.")
def own_writes_are_counted(student: Student, case: AnswerCase) -> None:
    """writes is how many numbers FlashAttention-1 writes, with the first store of O, l and m."""
    head, writes = _head_of(student), field_of(student, case, "writes")
    right = _right(case.right or student, head)
    slips = {
        right.writes - right.once: "Count the first store of O, l and m, too.",
        right.one_turn[1]: "That is one turn only. There is one turn for each tile of K.",
        right.by_queries[1]: "The number of turns follows from tile_kv.",
        right.reads: "That is the number of reads.",
        right.writes * head.bytes_per_number: IN_NUMBERS,
    }
    _expect(case, writes, right.writes, "writes", slips)


@check("my_head", hint="Multiply numbers by the bytes of one number. 1 MB is 10^6 bytes.")
def own_traffic_in_megabytes(student: Student, case: AnswerCase) -> None:
    """megabytes is reads and writes in 10^6 bytes, within 0.5 %; l and m may count as float32."""
    head, got = _head_of(student), field_of(student, case, "megabytes")
    right, width = _right(case.right or student, head), head.bytes_per_number
    megabytes = width * right.total / 1e6
    if is_near(got, megabytes + (4 - width) * right.n_vectors / 1e6, NEAR_MEGABYTES):
        return
    slips = {
        right.total / 1e6: f"A number takes {width} bytes.",
        width * right.total / 2**20: "A megabyte is 1,000,000 bytes here.",
        width * right.total: "That is in bytes. Divide by 1,000,000.",
        width * right.reads / 1e6: "That is the reads alone. Add the writes.",
        width * (right.total - right.once) / 1e6: "Count the first store of O, l and m, too.",
    }
    _expect(case, got, megabytes, "megabytes", slips, NEAR_MEGABYTES)


def _expect_reads(student: Student, case: AnswerCase, reading: str) -> None:
    """The reads with the chip that this reading of the homework means."""
    got, functions = field_of(student, case, reading), case.right or student

    def moved(name: str, width: int = HOMEWORK_WIDTH) -> tuple[float, float]:
        chip = (HOMEWORK_BYTES[name], HOMEWORK_DIM, width)
        _, tile_kv = _ask_pair(functions, "tile_sizes", *chip)
        return _ask_pair(functions, "flash_1_traffic", HOMEWORK_ROWS, HOMEWORK_DIM, tile_kv)

    reads, writes = moved(reading)
    slips = {
        reads + writes: "That is reads and writes. The question asks for the reads.",
        HOMEWORK_WIDTH * reads: IN_NUMBERS,
        moved(reading, 2)[0]: "A float32 number has 4 bytes, not 2.",
    }
    slips |= {moved(name)[0]: f"That is {name}." for name in HOMEWORK_BYTES if name != reading}
    source = f"N = {HOMEWORK_ROWS:,}, D = {HOMEWORK_DIM} and a chip of that size"
    _expect(case, got, reads, reading, slips, source=source)


@check("homework", hint="Give tile_sizes bytes: 64,000 numbers of 4 bytes each.")
def homework_with_64000_numbers(student: Student, case: AnswerCase) -> None:
    """numbers_64000 is the reads of FlashAttention-1 on a chip with 64,000 numbers."""
    _expect_reads(student, case, "numbers_64000")


@check("homework", hint="Give tile_sizes bytes: 65,536 numbers of 4 bytes each.")
def homework_with_65536_numbers(student: Student, case: AnswerCase) -> None:
    """numbers_65536 is the reads of FlashAttention-1 on a chip with 65,536 numbers."""
    _expect_reads(student, case, "numbers_65536")


@check("homework", hint="Give tile_sizes 65,536 bytes. A float32 number has 4 bytes.")
def homework_with_65536_bytes(student: Student, case: AnswerCase) -> None:
    """bytes_65536 is the reads of FlashAttention-1 on a chip with 65,536 bytes."""
    _expect_reads(student, case, "bytes_65536")


OPEN_CASES = {name: [AnswerCase(name)] for name in ("my_head", "homework")}
