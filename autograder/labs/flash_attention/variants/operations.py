"""Right answers of lab 07 on operations, seconds and the least tile, written otherwise."""

from autograder.labs.variants import Variant

STANDARD = [
    Variant(
        "standard_flops",
        "collected",
        """\
def standard_flops(n_rows, head_dim):
    return n_rows**2 * (4 * head_dim + 4) - n_rows * head_dim
""",
    ),
    Variant(
        "standard_flops",
        "multiplications and additions apart, as a float",
        """\
def standard_flops(N, d):
    multiplications = N * N * d + N * d * N
    additions = N * N * (d - 1) + N * d * (N - 1)
    maxima, differences, exponentials, sums, quotients = (float(N * N),) * 5
    softmax = maxima + differences + exponentials + sums + quotients
    return multiplications + additions + softmax
""",
    ),
    Variant(
        "standard_flops",
        "row by row",
        """\
def standard_flops(n_rows, head_dim):
    total = 0
    for _ in range(n_rows):
        total += n_rows * (head_dim + head_dim - 1)
        total += 5 * n_rows
        total += head_dim * (n_rows + n_rows - 1)
    return total
""",
    ),
]

FLASH = [
    Variant(
        "flash_flops",
        "collected",
        """\
def flash_flops(n_rows, head_dim, tile_kv):
    turns = -(-n_rows // tile_kv)
    return n_rows**2 * (4 * head_dim + 3) + turns * n_rows * (3 * head_dim + 7)
""",
    ),
    Variant(
        "flash_flops",
        "tile by tile",
        """\
def flash_flops(n_rows, head_dim, tile_kv):
    total = 0
    for first, last in tiles(n_rows, tile_kv):
        rows = last - first
        total += n_rows * rows * (2 * head_dim - 1)
        total += 4 * n_rows * rows
        total += n_rows * head_dim * (2 * rows - 1)
        total += n_rows * (4 * head_dim + 7)
    return total
""",
    ),
    Variant(
        "flash_flops",
        "NumPy over all tiles",
        """\
import numpy as np

def flash_flops(n_rows, head_dim, tile_kv):
    rows = np.full(n_rows // tile_kv, tile_kv, dtype=float)
    if n_rows % tile_kv:
        rows = np.append(rows, n_rows % tile_kv)
    per_query = rows * (4 * head_dim + 3) - head_dim + 4 * head_dim + 7
    return n_rows * per_query.sum()
""",
    ),
]

SECONDS = [
    Variant(
        "run_times",
        "a comparison, a list",
        """\
def run_times(n_flops, n_bytes, flops_per_s, bytes_per_s):
    computing_s = n_flops / flops_per_s
    moving_s = n_bytes / bytes_per_s
    slower_s = computing_s if computing_s > moving_s else moving_s
    return [moving_s + computing_s, slower_s]
""",
    ),
    Variant(
        "run_times",
        "single precision",
        """\
def run_times(n_flops, n_bytes, flops_per_s, bytes_per_s):
    seconds = torch.tensor([n_flops, n_bytes]) / torch.tensor([flops_per_s, bytes_per_s])
    return torch.stack([seconds.sum(), seconds.max()])
""",
    ),
    Variant(
        "run_times",
        "NumPy, through the intensity",
        """\
import numpy as np

def run_times(n_flops, n_bytes, flops_per_s, bytes_per_s):
    times_s = np.array([n_flops / flops_per_s, n_bytes / bytes_per_s])
    is_moving = n_flops / n_bytes < flops_per_s / bytes_per_s
    return times_s.sum(), times_s[int(is_moving)]
""",
    ),
]

LEAST = [
    Variant(
        "least_tile",
        "the least of a list",
        """\
def least_tile(n_rows, head_dim):
    most = sum(standard_traffic(n_rows, head_dim))
    enough = [
        tile for tile in range(1, n_rows + 1)
        if sum(flash_1_traffic(n_rows, head_dim, tile)) < most
    ]
    return min(enough, default=None)
""",
    ),
    Variant(
        "least_tile",
        "halving, for more rows never move more",
        """\
def least_tile(n_rows, head_dim):
    most = sum(standard_traffic(n_rows, head_dim))

    def is_enough(tile):
        return sum(flash_1_traffic(n_rows, head_dim, tile)) < most

    if not is_enough(n_rows):
        return None
    low, high = 0, n_rows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
""",
    ),
    Variant(
        "least_tile",
        "solved for the turns",
        """\
def least_tile(n_rows, head_dim):
    most_turns = ceil((4 * n_rows + head_dim - 2) / (3 * head_dim + 4)) - 1
    if most_turns < 1:
        return None
    return torch.tensor(-(-n_rows // most_turns))
""",
    ),
]

OPERATIONS = [*STANDARD, *FLASH, *SECONDS, *LEAST]
