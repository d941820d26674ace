"""Wrong and right values for the answer cells of the lab."""

from typing import Any

from labkit import flash_attention as flash
from labkit.labs.flash_attention.own_head import own_head

HEAD = own_head("instructor")
_N, _D, _WIDTH = HEAD.n_rows, HEAD.head_dim, HEAD.bytes_per_number
TILE_Q, TILE_KV = flash.tile_sizes(1024 * HEAD.sram_kib, _D, _WIDTH)
READS, WRITES = flash.flash_1_traffic(_N, _D, TILE_KV)
TOTAL, ONCE = READS + WRITES, _N * (_D + 2)
MEGABYTES = _WIDTH * TOTAL / 1e6
SLIDE = _N * (5 * _D + 4)


def head(**changed: Any) -> str:
    """The cell on one's own head."""
    right = {
        "tile_kv": TILE_KV,
        "tile_q": TILE_Q,
        "reads": READS,
        "writes": WRITES,
        "megabytes": MEGABYTES,
    }
    return f"my_head = {right | changed!r}"


def with_tile(tile_kv: int) -> str:
    """The cell as it follows from another tile of K."""
    reads, writes = flash.flash_1_traffic(_N, _D, tile_kv)
    megabytes = _WIDTH * (reads + writes) / 1e6
    return head(
        tile_kv=tile_kv, tile_q=min(tile_kv, _D), reads=reads, writes=writes, megabytes=megabytes
    )


def homework(first: Any = 796_672, second: Any = 663_552, third: Any = 2_260_992) -> str:
    """The cell on the homework, by the three readings of M."""
    answer = {"numbers_64000": first, "numbers_65536": second, "bytes_65536": third}
    return f"homework = {answer!r}"


_TILES = "own_tiles_fit_the_chip"
_READS, _WRITES = "own_reads_are_counted", "own_writes_are_counted"
_MEGABYTES = "own_traffic_in_megabytes"
_ALL = (_TILES, _READS, _WRITES, _MEGABYTES)
_ONE_TURN = flash.flash_1_traffic(_N, _D, _N)
_BY_QUERIES = flash.flash_1_traffic(_N, _D, TILE_Q)
_SRAM = 1024 * HEAD.sram_kib

HEADS = [
    ("the size of the chip in numbers", _ALL, with_tile(_SRAM // (4 * _D))),
    ("the other width", _ALL, with_tile(_SRAM // (4 * _D * (6 - _WIDTH)))),
    ("three tiles", _ALL, with_tile(_SRAM // (3 * _D * _WIDTH))),
    ("1,000 bytes in a KiB", _ALL, with_tile(1000 * HEAD.sram_kib // (4 * _D * _WIDTH))),
    ("a row too many", (_TILES,), head(tile_kv=TILE_KV + 1)),
    ("tiles swapped", (_TILES,), head(tile_kv=TILE_Q, tile_q=TILE_KV)),
    ("tile_q without a limit", (_TILES,), head(tile_q=TILE_KV)),
    ("tile_kv limited to D", (_TILES,), head(tile_kv=TILE_Q)),
    ("turns from tile_q", (_READS, _WRITES, _MEGABYTES),
     head(reads=_BY_QUERIES.reads, writes=_BY_QUERIES.writes,
          megabytes=_WIDTH * _BY_QUERIES.total / 1e6)),
    ("as the slide has it", (_READS, _WRITES, _MEGABYTES),
     head(reads=_N * (4 * _D + 2), writes=ONCE, megabytes=_WIDTH * SLIDE / 1e6)),
    ("reads of one turn", (_READS,), head(reads=_ONE_TURN.reads)),
    ("reads in bytes", (_READS,), head(reads=_WIDTH * READS)),
    ("reads rounded", (_READS,), head(reads=round(READS, -4))),
    ("reads without l and m", (_READS,), head(reads=READS - 2 * _N * -(-_N // TILE_KV))),
    ("both ways as reads", (_READS,), head(reads=TOTAL)),
    ("reads and writes swapped", (_READS, _WRITES), head(reads=WRITES, writes=READS)),
    ("the first writing left out", (_WRITES, _MEGABYTES),
     head(writes=WRITES - ONCE, megabytes=_WIDTH * (TOTAL - ONCE) / 1e6)),
    ("the first writing left out of the numbers", (_WRITES,), head(writes=WRITES - ONCE)),
    ("O written once", (_WRITES,), head(writes=ONCE)),
    ("mebibytes", (_MEGABYTES,), head(megabytes=_WIDTH * TOTAL / 2**20)),
    ("millions of numbers", (_MEGABYTES,), head(megabytes=TOTAL / 1e6)),
    ("bytes", (_MEGABYTES,), head(megabytes=_WIDTH * TOTAL)),
    ("reads alone", (_MEGABYTES,), head(megabytes=_WIDTH * READS / 1e6)),
    ("gigabytes", (_MEGABYTES,), head(megabytes=_WIDTH * TOTAL / 1e9)),
    ("text", (_MEGABYTES,), head(megabytes=f"{MEGABYTES:.2f} MB")),
    ("no number", _ALL, "my_head = dict.fromkeys(('tile_kv', 'tile_q', 'reads', 'writes', "
     "'megabytes'), float('nan'))"),
    ("another key", (_WRITES,), head().replace("'writes'", "'written'")),
]  # fmt: skip

_DECIMAL, _BINARY, _BYTES = (
    "homework_with_64000_numbers",
    "homework_with_65536_numbers",
    "homework_with_65536_bytes",
)
HOMEWORK = [
    ("as the homework expects", (_DECIMAL,), homework(first=800_000)),
    ("the nearest option", (_BINARY,), homework(second=700_000)),
    ("both readings alike", (_BINARY,), homework(second=796_672)),
    ("bytes as numbers", (_BYTES,), homework(third=663_552)),
    ("64,000 bytes", (_BYTES,), homework(third=flash.flash_1_traffic(1024, 64, 62).reads)),
    ("the slide for all", (_DECIMAL, _BINARY, _BYTES), homework(331_776, 331_776, 331_776)),
    ("reads and writes", (_DECIMAL, _BINARY, _BYTES), homework(
        *(flash.flash_1_traffic(1024, 64, tile).total for tile in (250, 256, 64)))),
    ("in bytes", (_DECIMAL, _BINARY, _BYTES), homework(*(
        4 * flash.flash_1_traffic(1024, 64, tile).reads for tile in (250, 256, 64)))),
    ("turns rounded down", (_DECIMAL,), homework(first=663_552)),
    ("turns not rounded", (_DECIMAL,), homework(first=131_072 + 1024 / 250 * 1024 * 130)),
    ("the second and third swapped", (_BINARY, _BYTES), homework(796_672, 2_260_992, 663_552)),
    ("the first and third swapped", (_DECIMAL, _BYTES), homework(2_260_992, 663_552, 796_672)),
    ("2 bytes in a number", (_BYTES,), homework(third=1_196_032)),
    ("half a number", (_BYTES,), homework(third=2_260_992.5)),
]  # fmt: skip

MUTANTS = {
    "my_head": HEADS,
    "homework": HOMEWORK,
}


_COMPUTED = """\
mine = own_head(student_id)
tile_q, tile_kv = tile_sizes(mine.sram_kib * 1024, mine.head_dim, mine.bytes_per_number)
moved = flash_1_traffic(mine.n_rows, mine.head_dim, tile_kv)
my_head = {"tile_kv": tile_kv, "tile_q": tile_q, "reads": moved.reads, "writes": moved.writes}
my_head["megabytes"] = moved.total * mine.bytes_per_number / 1e6
"""
_COUNTED = """\
mine = own_head(student_id)
memory = lab.attention_memory(
    *torch.zeros(3, mine.n_rows, mine.head_dim, dtype=getattr(torch, mine.dtype))
)
tile_q, tile_kv = tile_sizes(mine.sram_kib * 1024, mine.head_dim, mine.bytes_per_number)
flash_attention_1(memory, mine.n_rows, tile_kv)
my_head = {
    "tile_kv": tile_kv,
    "tile_q": tile_q,
    "reads": memory.n_read,
    "writes": memory.n_written,
    "megabytes": memory.n_bytes / 1e6,
}
"""
_TENSORS = f"""\
my_head = {{
    "megabytes": torch.tensor({MEGABYTES}), "reads": torch.tensor({READS}),
    "writes": torch.tensor([{WRITES}]), "tile_kv": {TILE_KV}.0,
    "tile_q": torch.tensor({TILE_Q}), "turns": None,
}}
"""
_READS = """\
homework = {}
for name, n_bytes in {"numbers_64000": 4 * 64_000, "numbers_65536": 4 * 65_536,
                      "bytes_65536": 65_536}.items():
    homework[name] = flash_1_traffic(1024, 64, tile_sizes(n_bytes, 64, 4)[1]).reads
"""

VARIANTS = {
    "my_head": {
        "four digits of megabytes": head(megabytes=float(f"{MEGABYTES:.4g}")),
        "three digits of megabytes": head(megabytes=round(MEGABYTES, 1)),
        "computed": _COMPUTED,
        "counted by the memory, where l and m are float32": _COUNTED,
        "tensors, floats, another order and more": _TENSORS,
    },
    "homework": {
        "as it is": homework(),
        "floats": homework(796_672.0, 663_552.0, 2_260_992.0),
        "computed": _READS,
    },
}
