"""Checks of lab 3's choice: fetch keys and values over a link, or compute them again."""

from collections.abc import Callable

from labkit.checks.tables import CallTable, Claim, call, made
from labkit.labs.cache_benchmark.checks.costs import SINGLE_PRECISION
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.models.sizes import kv_bytes_per_token

H100, L40S = made(Roofline.of, "H100-SXM"), made(Roofline.of, "L40S")
SMALL, LARGE = (
    made(ModelWork.of, f"meta-llama/{name}") for name in ("Llama-3.2-3B", "Llama-3.1-8B")
)


def fetched(both: Callable, *run: object) -> float:
    """The first of the two times."""
    return both(*run)[0]


def recomputed(both: Callable, *run: object) -> float:
    """The second of the two times."""
    return both(*run)[1]


def fetch_slips(
    machine: Roofline,
    work: ModelWork,
    n_tokens: int,
    link_bandwidth: float,
    factor: float = 1.0,
    width: int = 2,
    dtype: str = "float16",
) -> dict[str, float]:
    """The seconds of a fetch by known mistakes."""
    right = n_tokens * kv_bytes_per_token(work.shape, width) / link_bandwidth
    return {
        "That is the time of one token.": right / n_tokens,
        "That is the cache of one layer. Count all layers.": right / work.shape.n_layers,
        "The cache comes over the link, not from the GPU's own memory.": (
            right * link_bandwidth / machine.bandwidth
        ),
        "You used 2 bytes per number, but width differs.": right * 2 / width,
        "factor belongs to the pass, not to the fetch.": right * factor,
    }


def pass_slips(
    machine: Roofline,
    work: ModelWork,
    n_tokens: int,
    link_bandwidth: float,
    factor: float = 1.0,
    width: int = 2,
    dtype: str = "float16",
) -> dict[str, float]:
    """The seconds of the pass by known mistakes."""
    floor = pass_floor(machine, work, n_tokens, dtype=dtype)
    return {
        "That is the floor. Multiply it by factor.": floor.seconds,
        "That is a decode step. A pass over the whole prompt is wanted.": (
            factor * pass_floor(machine, work, 1, n_tokens - 1, dtype=dtype).seconds
        ),
        "Divide nothing by factor: the pass takes longer than its floor.": floor.seconds / factor,
        "Pass dtype to pass_floor.": factor * pass_floor(machine, work, n_tokens).seconds,
    }


fetch_and_recompute_s = CallTable(
    "fetch_and_recompute_s",
    "both times",
    [
        Claim(
            "a_fetch_brings_the_whole_cache",
            "To fetch takes the bytes of all tokens' keys and values, divided by the link.",
            hint="Multiply n_tokens by kv_bytes_per_token. Divide by link_bandwidth.",
            of=fetched,
            what="the seconds to fetch",
            rows=[
                call(H100, SMALL, 5761, 54e9).gives(0.0122355105185185),
                call(L40S, LARGE, 300, 7e9, 1.9).gives(0.00561737143),
                call(H100, LARGE, 1, 1e9, 2.0, 1).gives(6.5536e-05),
            ],
            slips=fetch_slips,
        ),
        Claim(
            "recomputing_takes_a_prefill",
            "To recompute takes factor times the floor of one pass over the prompt.",
            hint="Feed n_tokens to pass_floor, with dtype. Multiply its seconds by factor.",
            of=recomputed,
            what="the seconds to recompute",
            rows=[
                call(H100, SMALL, 5761, 54e9).gives(0.0385981174405822),
                call(L40S, LARGE, 300, 7e9, 1.9).gives(0.0330942416592593),
                call(L40S, SMALL, 900, 7e9, 1.5, 2, "float32").gives(0.0853826538),
                call(H100, LARGE, 1, 1e9, 2.0, 1).gives(0.00896118234),
            ],
            slips=pass_slips,
        ),
        Claim(
            "no_tokens_and_no_link_are_refused",
            "No tokens, or a link without bandwidth, is a ValueError.",
            hint="Raise ValueError in both cases of the docstring.",
            gate=False,
            rows=[
                call(H100, SMALL, 0, 54e9).gives(ValueError),
                call(H100, SMALL, 10, 0.0).gives(ValueError),
                call(H100, SMALL, 10, -1.0).gives(ValueError),
            ],
        ),
    ],
    relative=SINGLE_PRECISION,
)
