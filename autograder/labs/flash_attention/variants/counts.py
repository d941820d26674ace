"""Right answers of lab 07, counted otherwise; operations and answers have modules of their own."""

from autograder.labs.flash_attention.variants.answers import ANSWERS
from autograder.labs.flash_attention.variants.operations import OPERATIONS
from autograder.labs.variants import Variant

TILES = [
    Variant(
        "tile_sizes",
        "checked first, in numbers",
        """\
def tile_sizes(sram_bytes, head_dim, bytes_per_number):
    n_numbers = sram_bytes // bytes_per_number
    if n_numbers < 4 * head_dim:
        raise ValueError("too small")
    tile_kv = n_numbers // 4 // head_dim
    return (tile_kv if tile_kv < head_dim else head_dim), tile_kv
""",
    ),
    Variant(
        "tile_sizes",
        "floats rounded down, a list",
        """\
def tile_sizes(sram_bytes: int, head_dim: int, bytes_per_number: int) -> tuple[int, int]:
    tile_kv = math.floor(sram_bytes / bytes_per_number / (4 * head_dim))
    if not tile_kv:
        raise ValueError(f"{sram_bytes} bytes")
    return [min(head_dim, tile_kv), tile_kv]
""",
    ),
    Variant(
        "tile_sizes",
        "row by row",
        """\
def tile_sizes(sram_bytes, head_dim, bytes_per_number):
    four_rows = 4 * head_dim * bytes_per_number
    rows = 0
    while (rows + 1) * four_rows <= sram_bytes:
        rows += 1
    if rows == 0:
        raise ValueError("no row fits")
    return min(rows, head_dim), rows
""",
    ),
    Variant(
        "tile_sizes",
        "NumPy integers, an error of its own kind",
        """\
import numpy as np

class ChipTooSmall(ValueError):
    pass

def tile_sizes(sram_bytes, head_dim, bytes_per_number):
    tile_kv = np.int64(sram_bytes) // (4 * head_dim * bytes_per_number)
    if tile_kv == 0:
        raise ChipTooSmall(sram_bytes)
    return np.minimum(tile_kv, head_dim), tile_kv
""",
    ),
]

STANDARD = [
    Variant(
        "standard_traffic",
        "step by step, a plain pair",
        """\
def standard_traffic(n_rows, head_dim):
    nd, nn = n_rows * head_dim, n_rows * n_rows
    reads = writes = 0
    for read, written in ((2 * nd, nn), (nn, nn), (nn + nd, nd)):
        reads += read
        writes += written
    return reads, writes
""",
    ),
    Variant(
        "standard_traffic",
        "counted by the memory",
        """\
def standard_traffic(n_rows, head_dim):
    memory = attention_memory(*torch.zeros(3, n_rows, head_dim))
    standard_attention(memory)
    return Traffic(memory.n_read, memory.n_written)
""",
    ),
    Variant(
        "standard_traffic",
        "floats in an array",
        """\
import numpy as np

def standard_traffic(n_rows, head_dim):
    return np.array([3.0, 1.0]) * n_rows * head_dim + 2.0 * n_rows**2
""",
    ),
]

FLASH_1 = [
    Variant(
        "flash_1_traffic",
        "tile by tile",
        """\
def flash_1_traffic(n_rows, head_dim, tile_kv):
    reads, writes = 0, n_rows * head_dim + 2 * n_rows
    for first, last in tiles(n_rows, tile_kv):
        reads += 2 * (last - first) * head_dim
        reads += 2 * n_rows * head_dim + 2 * n_rows
        writes += n_rows * head_dim + 2 * n_rows
    return Traffic(reads, writes)
""",
    ),
    Variant(
        "flash_1_traffic",
        "counted by the memory",
        """\
def flash_1_traffic(n_rows, head_dim, tile_kv):
    memory = attention_memory(*torch.zeros(3, n_rows, head_dim))
    flash_attention_1(memory, n_rows, tile_kv)
    return Traffic(writes=memory.n_written, reads=memory.n_read)
""",
    ),
    Variant(
        "flash_1_traffic",
        "rounded up without ceil, a plain pair",
        """\
def flash_1_traffic(N, d, B_c):
    T_c = (N + B_c - 1) // B_c
    return 2 * N * d * (1 + T_c) + 2 * N * T_c, N * (d + 2) * T_c + N * (d + 2)
""",
    ),
    Variant(
        "flash_1_traffic",
        "floats",
        """\
import numpy as np

def flash_1_traffic(n_rows, head_dim, tile_kv):
    turns = np.ceil(n_rows / tile_kv)
    state = n_rows * (head_dim + 2.0)
    return Traffic(turns * (state + n_rows * head_dim) + 2 * n_rows * head_dim,
                   (turns + 1) * state)
""",
    ),
]

FLASH_2 = [
    Variant(
        "flash_2_traffic",
        "tile by tile",
        """\
def flash_2_traffic(n_rows, head_dim, tile_q):
    reads = writes = 0
    for first, last in tiles(n_rows, tile_q):
        reads += (last - first) * head_dim + 2 * n_rows * head_dim
        writes += (last - first) * (head_dim + 1)
    return Traffic(reads, writes)
""",
    ),
    Variant(
        "flash_2_traffic",
        "counted by the memory",
        """\
def flash_2_traffic(n_rows, head_dim, tile_q):
    memory = attention_memory(*torch.zeros(3, n_rows, head_dim))
    flash_attention_2(memory, tile_q, n_rows)
    return Traffic(memory.n_read, memory.n_written)
""",
    ),
    Variant(
        "flash_2_traffic",
        "a tensor",
        """\
def flash_2_traffic(N, D, B_r):
    T_r = -(-N // B_r)
    return torch.tensor([(1 + 2 * T_r) * N * D, N * (D + 1)])
""",
    ),
]

COUNTS = [*TILES, *STANDARD, *FLASH_1, *FLASH_2, *OPERATIONS, *ANSWERS]
