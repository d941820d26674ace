"""Right answers in lab 07's answer cells, written otherwise."""

from autograder.labs.flash_attention.mutants.answers import (
    MEGABYTES,
    RATIO,
    READS,
    TILE_KV,
    TILE_Q,
    WRITES,
    head,
    homework,
    slide,
)
from autograder.labs.variants import Variant

_COMPUTED = """\
mine = own_head(student_id)
tile_q, tile_kv = tile_sizes(mine.sram_kib * 1024, mine.head_dim, mine.bytes_per_number)
moved = flash_1_traffic(mine.n_rows, mine.head_dim, tile_kv)
my_head = {"tile_kv": tile_kv, "tile_q": tile_q, "reads": moved.reads, "writes": moved.writes}
my_head["megabytes"] = moved.total * mine.bytes_per_number / 1e6
"""
_COUNTED = """\
mine = own_head(student_id)
memory = attention_memory(
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
_RATIO = """\
mine = own_head(student_id)
tile_kv = tile_sizes(mine.sram_kib * 1024, mine.head_dim, mine.bytes_per_number)[1]
turns = ceil(mine.n_rows / tile_kv)
numbers = 2 * mine.head_dim + turns * (3 * mine.head_dim + 4)
slide = {"n_turns": 1.0, "ratio": numbers / (5 * mine.head_dim + 4)}
"""
_READS = """\
homework = {}
for name, n_bytes in {"numbers_64000": 4 * 64_000, "numbers_65536": 4 * 65_536,
                      "bytes_65536": 65_536}.items():
    homework[name] = flash_1_traffic(1024, 64, tile_sizes(n_bytes, 64, 4)[1]).reads
"""

ANSWERS = [
    Variant("my_head", "four digits of megabytes", head(megabytes=float(f"{MEGABYTES:.4g}"))),
    Variant("my_head", "three digits of megabytes", head(megabytes=round(MEGABYTES, 1))),
    Variant("my_head", "computed", _COMPUTED),
    Variant("my_head", "counted by the memory, where l and m are float32", _COUNTED),
    Variant("my_head", "tensors, floats, another order and more", _TENSORS),
    Variant("slide", "four digits", slide(ratio=round(RATIO, 2))),
    Variant("slide", "three digits", slide(ratio=round(RATIO, 1))),
    Variant("slide", "computed", _RATIO),
    Variant("slide", "a tensor", slide().replace("'n_turns': 1", "'n_turns': torch.tensor(1)")),
    Variant("homework", "as it is", homework()),
    Variant("homework", "floats", homework(796_672.0, 663_552.0, 2_260_992.0)),
    Variant("homework", "computed", _READS),
]
