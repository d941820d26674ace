"""The values that each student's own numbers are drawn from, for the items that ask for numbers.

By the name of an item: a name, or several names that belong together, and what they are drawn
from. In every combination the known wrong ways of computing end somewhere else than the right one.
"""

from collections.abc import Mapping

TABLES: Mapping[str, Mapping[str, tuple]] = {
    "q02": {
        "alpha": (0.6, 0.7, 0.75, 0.8),
        "gamma": (3, 4, 5, 6),
        "cost": (0.05, 0.08, 0.1, 0.15),
    },
    "q03": {  # both like the first token best, the draft far too much
        "target draft": (
            ((0.4, 0.3, 0.2, 0.1), (0.8, 0.1, 0.06, 0.04)),
            ((0.5, 0.2, 0.2, 0.1), (0.9, 0.02, 0.05, 0.03)),
            ((0.45, 0.25, 0.2, 0.1), (0.9, 0.04, 0.04, 0.02)),
            ((0.36, 0.3, 0.24, 0.1), (0.9, 0.03, 0.05, 0.02)),
            ((0.6, 0.2, 0.1, 0.1), (0.96, 0.02, 0.01, 0.01)),
            ((0.42, 0.28, 0.2, 0.1), (0.84, 0.06, 0.08, 0.02)),
            ((0.55, 0.25, 0.15, 0.05), (0.88, 0.02, 0.04, 0.06)),
        ),
    },
    "q05": {
        "expansion": ((3, 2, 2), (2, 3, 2), (4, 2, 2), (2, 2, 3), (3, 3, 2), (2, 4, 3), (4, 3, 1)),
    },
    "q08": {  # how a backward pass with such tiles is counted: labkit.labs.flash_attention.backward
        "tile_kv back_gb": (
            (128, 6.34),
            (160, 5.67),
            (192, 4.99),
            (224, 4.32),
            (256, 3.64),
            (384, 2.97),
        ),
    },
    "q11": {  # over the tokens w, x, y, z; of this one the target thinks more than the draft
        "target draft token": (
            ((0.4, 0.3, 0.2, 0.1), (0.1, 0.5, 0.1, 0.3), "w"),
            ((0.5, 0.15, 0.25, 0.1), (0.3, 0.5, 0.1, 0.1), "w"),
            ((0.1, 0.35, 0.25, 0.3), (0.4, 0.15, 0.2, 0.25), "x"),
            ((0.2, 0.2, 0.45, 0.15), (0.3, 0.4, 0.25, 0.05), "y"),
            ((0.3, 0.15, 0.2, 0.35), (0.25, 0.4, 0.25, 0.1), "z"),
            ((0.25, 0.4, 0.05, 0.3), (0.15, 0.2, 0.4, 0.25), "x"),
        ),
    },
    "q13": {  # arXiv:2211.17192, Tables 2 and 4, without the row that the notebook computes
        "task temperature draft gamma alpha cost measured": (
            ("WMT En-De", 0, "small", 7, 0.75, 0.02, 3.4),
            ("WMT En-De", 0, "base", 7, 0.8, 0.04, 2.8),
            ("WMT En-De", 0, "large", 7, 0.82, 0.11, 1.7),
            ("WMT En-De", 1, "small", 7, 0.62, 0.02, 2.6),
            ("WMT En-De", 1, "large", 3, 0.71, 0.11, 1.4),
            ("CNN/DM", 0, "small", 5, 0.65, 0.02, 3.1),
            ("CNN/DM", 0, "base", 5, 0.73, 0.04, 3.0),
            ("CNN/DM", 0, "large", 3, 0.74, 0.11, 2.2),
            ("CNN/DM", 1, "small", 5, 0.53, 0.02, 2.3),
            ("CNN/DM", 1, "base", 3, 0.55, 0.04, 2.2),
            ("CNN/DM", 1, "large", 3, 0.56, 0.11, 1.7),
        ),
    },
    "q16": {  # tiles that divide the length, so that slightly smaller ones are one more
        "length": (1536, 3072, 6144),
        "head_dim": (64, 128),
        "sram_kib": (96, 128, 192, 256),
        "dtype": ("float16", "float32"),
    },
    "q17": {  # few tiles, which divide the length: each writing shows
        "length sram_kib": (
            (1024, 128),
            (1280, 128),
            (1152, 192),
            (1536, 192),
            (1024, 256),
            (1536, 256),
            (1280, 320),
            (1536, 384),
        ),
        "head_dim": (64,),
        "dtype": ("float32",),
        "peak_tflops bandwidth_gbs": ((8.1, 320), (30.3, 300), (31.2, 600)),
    },
    "q18": {
        "document": (413, 540, 638, 748, 827, 956, 1051),
        "question": (17, 21, 26, 33, 37),
        "params_b": (1.2, 3.2, 8.0),
    },
    "q19": {
        "length": (400, 480, 560),
        "position": (70, 117, 139, 203, 246, 311),
        "block": (16, 32),
    },
    "q20": {
        "offloaded_gb": (2, 3, 4, 6),
        "link_gbs": (12, 16, 25),
        "n_sequences": (4, 8, 16),
    },
    "deepseek_v3": {
        "accepted": (0.6, 0.7, 0.75, 0.8),
        "main_b": (12, 20, 32),
        "module_b": (1.5, 2.5, 4),
        "n_tokens": (2000, 3000, 5000),
    },
    "distserve": {
        "n_layers width": ((32, 4096), (40, 5120), (48, 7168), (64, 8192), (96, 12288)),
        "n_tokens": (300, 600, 900, 1500),
        "rate": (2, 3, 5, 8),
    },
    "eagle_3": {
        "tau": (2.6, 3.4, 4.2, 5.1),
        "check": (1.05, 1.1, 1.2),
        "draft": (0.1, 0.2, 0.3),
        "alone": (40, 60, 90, 140),
    },
    "flash_attention_4": {
        "tile_q": (64, 128, 256),
        "tile_kv": (64, 128, 256),
        "head_dim": (64, 128, 192),
        "exp_rate": (32, 64),
    },
    "mooncake": {
        "n_layers": (28, 36, 48, 64),
        "n_kv_heads": (4, 8),
        "n_tokens": (6000, 16000, 40000),
        "moved_gbs": (12, 25, 45),
        "prefill_rate": (6000, 9000, 15000),
    },
    "sarathi_serve": {  # the room for the answers costs a pass at least, and the last is not full
        "n_tokens": (6500, 8300, 9400, 12900),
        "budget": (512, 768, 1024),
        "answers": (128, 192),
    },
}
ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}
