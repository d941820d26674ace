"""Right answers of lab 1, written differently."""

from autograder.labs.memory.mutants.answers import largest, longest, one_cell, table, training
from autograder.labs.variants import Variant

FUNCTIONS = [
    Variant(
        "weight_bytes",
        "other names, swapped factors",
        "def weight_bytes(count, width=2):\n    return width * count",
    ),
    Variant(
        "weight_bytes",
        "a NumPy integer",
        """import numpy as np

def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return np.int64(n_params) * np.int64(bytes_per_param)""",
    ),
    Variant(
        "weight_bytes",
        "a tensor with one element",
        """def weight_bytes(n_params, bytes_per_param=2):
    return torch.tensor(n_params) * bytes_per_param""",
    ),
    Variant(
        "training_bytes",
        "a loop",
        """def training_bytes(n_params, recipe):
    total = 0
    for name in recipe:
        total += n_params * recipe[name]
    return total""",
    ),
    Variant(
        "training_bytes",
        "NumPy",
        """import numpy

def training_bytes(n_params, recipe):
    return numpy.array(list(recipe.values())).sum() * n_params""",
    ),
    Variant(
        "training_bytes",
        "a float",
        """def training_bytes(n_params, recipe):
    return float(n_params * sum(width for _, width in recipe.items()))""",
    ),
    Variant(
        "kv_bytes_per_token",
        "keys and values added",
        """def kv_bytes_per_token(shape, bytes_per_number=2):
    one_layer = shape.n_kv_heads * shape.head_dim * bytes_per_number
    return shape.n_layers * (one_layer + one_layer)""",
    ),
    Variant(
        "kv_bytes_per_token",
        "through the group size, as a float",
        """def kv_bytes_per_token(shape: ModelShape, width=2):
    group_size = shape.n_heads / shape.n_kv_heads
    return 2.0 * shape.n_layers * shape.n_heads / group_size * shape.head_dim * width""",
    ),
    Variant(
        "kv_bytes_per_token",
        "counts an array",
        """from dataclasses import asdict
import numpy as np

def kv_bytes_per_token(shape, bytes_per_number=2):
    s = asdict(shape)
    keys = np.empty((s["n_layers"], 2, s["n_kv_heads"], s["head_dim"]), dtype=np.int8)
    return keys.size * bytes_per_number""",
    ),
    Variant(
        "kv_cache_bytes",
        "without the other function",
        """def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    numbers = 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * n_tokens * batch_size
    return numbers * bytes_per_number""",
    ),
    Variant(
        "kv_cache_bytes",
        "sequence by sequence",
        """def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    token = kv_bytes_per_token(shape, bytes_per_number=bytes_per_number)
    return sum(n_tokens * token for _ in range(batch_size))""",
    ),
    Variant(
        "kv_cache_bytes",
        "a NumPy float",
        """import numpy as np

def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    factors = [n_tokens, batch_size, kv_bytes_per_token(shape, bytes_per_number)]
    return np.prod(factors, dtype=float)""",
    ),
    Variant(
        "largest_model",
        "guard first",
        """def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if not bytes_per_param > 0:
        raise ValueError("no width")
    if overhead_bytes >= vram_bytes:
        return 0
    return (vram_bytes - overhead_bytes) // bytes_per_param""",
    ),
    Variant(
        "largest_model",
        "divmod",
        """def largest_model(vram, overhead=0, width=2):
    if width < 1:
        raise ValueError(f"width {width}")
    fits, _ = divmod(max(vram - overhead, 0), width)
    return fits""",
    ),
    Variant(
        "largest_model",
        "fractions and floor, as a tensor",
        """from fractions import Fraction
from math import floor

def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if bytes_per_param <= 0:
        raise ValueError("a parameter needs bytes")
    n = floor(Fraction(vram_bytes - overhead_bytes, bytes_per_param))
    return torch.tensor(n if n > 0 else 0)""",
    ),
    Variant(
        "longest_sequence",
        "divided step by step",
        """def longest_sequence(vram, model, token, batch_size=1, overhead_bytes=0):
    if batch_size < 1 or token < 1:
        raise ValueError("need a batch and a token size")
    room = vram - model - overhead_bytes
    if room < 0:
        return 0
    return room // token // batch_size""",
    ),
    Variant(
        "longest_sequence",
        "keyword arguments, NumPy",
        """import numpy as np

def longest_sequence(vram_bytes, model_bytes, token_bytes, batch_size=1, overhead_bytes=0):
    if min(batch_size, token_bytes) <= 0:
        raise ValueError(f"{batch_size=} {token_bytes=}")
    room = np.int64(vram_bytes) - np.int64(model_bytes) - np.int64(overhead_bytes)
    return np.maximum(room // (token_bytes * batch_size), 0)""",
    ),
    Variant(
        "longest_sequence",
        "searched by halving",
        """def longest_sequence(vram_bytes, model_bytes, token_bytes, batch_size=1, overhead_bytes=0
):
    if batch_size <= 0:
        raise ValueError("batch_size")
    if token_bytes <= 0:
        raise ValueError("token_bytes")
    low, high = 0, 2**64
    while high - low > 1:
        middle = (low + high) // 2
        used = model_bytes + overhead_bytes + middle * batch_size * token_bytes
        low, high = (middle, high) if used <= vram_bytes else (low, middle)
    return low""",
    ),
]

_OWN = 'kv_bytes_per_token(ModelShape.of("Qwen/Qwen3-8B"))'
_TRAINING = [
    ("floats", training((2.0, 2.0, 4.0, 4.0, 4.0), ratio=6.0)),
    ("per_token computed", training(per_token="X").replace("'X'", "2 * 36 * 8 * 128 * 2")),
    ("own function", training(per_token="X").replace("'X'", _OWN)),
]
_LARGEST = [
    ("decimal, nothing else alive", largest("GB", 0, 40)),
    ("binary, nothing else alive", largest("GiB", 0, 43)),
    ("binary, rounded down because it must fit", largest("gib", 0, 42)),
    ("binary, unrounded", largest("GiB", 0, 42.95)),
    ("decimal, logits and a context", largest("80 GB", 1.5, 39.25)),
    ("as the driver shows it, 1 GiB", largest("driver", 2**30 / 1e9, 42)),
    ("as torch sees it", largest("torch", 1, 42, n_tokens=512)),
    ("4 GB stated", largest("GB", 4, 38)),
    ("derived for the longest text", largest("GB", 5.8, 37, n_tokens=4096)),
]
_LONGEST = [
    ("decimal, exact", longest("GB", "exact", 14_090)),
    ("decimal, exact, rounded down", longest("GB", "exact", 14_080)),
    ("decimal, card", longest("GB", "card", 14_040)),
    ("binary, exact", longest("GiB", "exact", 16_790)),
    ("binary, card, rounded down", longest("48 GiB", "card", 16_730)),
    ("driver, exact, unrounded", longest("driver", "exact", 14_319.75)),
    ("driver, card", longest("driver", "card", 14_270)),
    ("torch, exact, lowest total seen", longest("torch", "exact", 13_790)),
    ("torch, exact", longest("torch", "exact", 13_840)),
    ("torch, card", longest("Torch", "card", 13_780)),
]
_GIB = (3.5, 3.5, 4.5, 4.5, 5.0, 8.0)
_TABLES = [
    ("GB", table([cell * 2**30 / 1e9 for cell in _GIB], "GB")),
    ("GB for 32,000 tokens", table((3.67, 3.67, 4.719, 4.719, 5.243, 8.389), "GB", 32_000)),
    ("GiB for 32,000 tokens", table((3.42, 3.42, 4.39, 4.39, 4.88, 7.81), "gib", 32_000)),
    ("arrays", table(_GIB).replace("[", "__import__('numpy').array([").replace("]", "])")),
    ("whole numbers and tuples", table(_GIB).replace("[", "(").replace("]", ")").replace(".0", "")),
]
_CELLS = [
    ("another row, batch 4", one_cell(n_layers=36, batch_size=4).replace("32B", "4B")),
    ("32,000 tokens and the hub's name", one_cell(n_tokens=32_000).replace("Qwen3", "Qwen/Qwen3")),
    ("the product with three digits", one_cell(n_bytes=8.59e9)),
    ("floats", one_cell(n_layers=64.0)),
]
_SCALING = [
    ("three digits", 1.0, 54.97, 2.286, (3.153, 1.092, 0.6006, 0.2950, 0.1818, 0.1311)),
    ("two digits", 1, 55, 2.3, (3.2, 1.1, 0.6, 0.29, 0.18, 0.13)),
    ("by the names", 1.0, 53.3, 16 / 7, (3.15, 1.09, 0.60, 0.295, 0.182, 0.131)),
]
_NAMES = ("Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B")


def _scaling(slope: float, params: float, cache: float, ratios: tuple[float, ...]) -> str:
    answer = {
        "batch_slope": slope,
        "params_ratio": params,
        "kv_ratio": cache,
        "kv_over_weights": dict(zip(_NAMES, ratios, strict=True)),
    }
    return f"scaling = {answer!r}"


VARIANTS = [
    *FUNCTIONS,
    *(Variant("training_and_generation", title, text) for title, text in _TRAINING),
    *(Variant("largest_on_80_gb", title, text) for title, text in _LARGEST),
    *(Variant("longest_on_l40s", title, text) for title, text in _LONGEST),
    *(Variant("kv_table", title, text) for title, text in _TABLES),
    *(Variant("one_cell", title, text) for title, text in _CELLS),
    *(Variant("scaling", title, _scaling(*values)) for title, *values in _SCALING),
]
