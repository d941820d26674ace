"""Hidden cases of `flash_kernel`: few and small, for the interpreter takes 10 ms for a tile."""

import random

from labkit.labs.flash_attention.checks.triton_kernel import N_LONG, TILE_LONG, KernelCase


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    even, odd = 2 * rng.randrange(10**6), 2 * rng.randrange(10**6) + 1
    few, many = rng.choice(((16, 32), (32, 64)))

    def case(kind: str, n_rows: int, *tiles: int, seed: int = even) -> KernelCase:
        is_causal = kind in ("causal", "skip")
        return KernelCase(kind, n_rows, *tiles, is_causal=is_causal, seed=seed)

    return {
        "flash_kernel": [
            case("one", few, few, few),
            case("loop", 2 * many, few, many),
            case("loop", 2 * many, many, few, seed=odd),
            case("long", N_LONG, 16, TILE_LONG),
            case("ragged", rng.randint(many + 1, 2 * many - 1), few, many),
            case("ragged", rng.randint(many + 1, 2 * many - 1), many, few),
            case("causal", 2 * many, few, many),
            case("causal", 2 * many, many, few),
            case("skip", 2 * many, few, few),
            case("large", 3 * few, few, few),
            case("large", 3 * few, few, few, seed=odd),
            case("sums", 64, 16, 16),
            case("sums", 512, 16, 16, seed=odd),
        ]
    }
