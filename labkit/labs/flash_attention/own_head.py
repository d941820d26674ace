"""One attention head and one chip for every student, by id: the same questions, other numbers."""

from dataclasses import dataclass, replace
from typing import Any

from labkit.models.own_numbers import own_random

NOBODY = "nobody"
FORMATS = {4: ("float32",), 2: ("float16", "bfloat16")}

# Lengths by head_dim, KiB on the chip and bytes of a number: such that all common slips in counting
# lead to other numbers than the right ones.
LENGTHS: dict[tuple[int, int, int], tuple[int, ...]] = {
    (40, 99, 4): (2020, 2480, 3250, 4480),
    (48, 100, 4): (2750, 3010, 3520, 3780),
    (56, 64, 4): (1140, 1220, 1580, 1790),
    (56, 128, 4): (2730, 3150, 3440, 3890),
    (72, 160, 4): (1950, 2370, 3630, 4040),
    (80, 128, 4): (1610, 1810, 2210, 2910),
    (80, 227, 4): (2670, 3390, 3550, 4470),
    (88, 164, 4): (1290, 2090, 2820, 3410),
    (96, 160, 4): (1150, 1250, 1990, 3030),
    (104, 192, 4): (2540, 2650, 2770, 3340),
    (104, 228, 4): (3020, 3430, 3860, 3980),
    (112, 228, 4): (2050, 2690, 2930, 3210),
    (40, 48, 2): (1510, 2410, 2860, 3460),
    (56, 48, 2): (1830, 2260, 2680, 2890),
    (72, 96, 2): (2510, 4190, 4330, 4690),
    (72, 100, 2): (1390, 3320, 4520, 4680),
    (88, 100, 2): (1570, 2430, 3140, 3280),
    (88, 128, 2): (2190, 3120, 4560, 4770),
    (104, 99, 2): (1540, 1660, 2610, 3090),
    (104, 163, 2): (3740, 4510, 4710, 4930),
    (112, 100, 2): (1350, 2810, 2920, 3260),
    (112, 164, 2): (2760, 3310, 4240, 4580),
    (120, 163, 2): (3560, 4440, 4590, 4940),
    (120, 164, 2): (2390, 4090, 4780, 4950),
}


@dataclass(frozen=True, slots=True)
class Head:
    """n_rows tokens, head_dim numbers each, in this format; a chip with sram_kib KiB.

    is_own: False if there was no student id to choose by.
    """

    n_rows: int
    head_dim: int
    sram_kib: int
    dtype: str
    bytes_per_number: int
    is_own: bool = True

    def __str__(self) -> str:
        text = (
            f"N = {self.n_rows:,} tokens, D = {self.head_dim}, all numbers in {self.dtype} "
            f"({self.bytes_per_number} bytes each), on a chip with {self.sram_kib} KiB "
            "(1 KiB is 1,024 bytes)"
        )
        if self.is_own:
            return f"Your head: {text}."
        return f"Write your student id into the cell at the top first. A sample head: {text}."


def own_head(student_id: Any) -> Head:
    """The head of a student; a stand-in that says so if the id is missing."""
    try:
        return head_of(student_id)
    except ValueError:
        return replace(head_of(NOBODY), is_own=False)


def head_of(student_id: Any) -> Head:
    """The head of a student, whose id is text or a whole number.

    Raises: ValueError if it is anything else, or blank.
    """
    name = str(student_id).strip() if isinstance(student_id, str | int) else ""
    if not (name and name.isprintable()):
        raise ValueError("write your student id into the cell at the top, and run it")
    rng = own_random(name, "head")
    head_dim, sram_kib, width = rng.choice(list(LENGTHS))
    n_rows = rng.choice(LENGTHS[head_dim, sram_kib, width])
    return Head(n_rows, head_dim, sram_kib, rng.choice(FORMATS[width]), width)
