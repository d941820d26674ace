"""What a generation costs with and without a KV cache, and what is saved when prompts share text.

First sums over the passes of a generation: tokens, FLOPs, moved bytes, and the time they predict.
Then prefix caching: blocks of tokens are named by hashes, so that a prompt that begins like an
earlier one finds its keys and values again. Last the price of weights that wait in host memory.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Container, Sequence
from itertools import pairwise

from labkit.measuring.roofline import ModelWork, Roofline, pass_floor


def generation_passes(
    n_prompt: int,
    n_new: int,
    use_cache: bool,
) -> list[tuple[int, int]]:
    """The passes over the model that make n_new tokens, in order.

    Each pass is a pair of two ints: how many tokens it is fed, and how many
    tokens are in the cache before it. The prompt has n_prompt tokens, at
    least 1. Every pass makes one new token. Without a cache, the second
    number is always 0. If n_new is 0, return an empty list.
    """
    passes = []
    for n_made in range(n_new):
        n_tokens = n_prompt + n_made
        n_cached = n_tokens - 1 if use_cache and n_made else 0
        passes.append((n_tokens - n_cached, n_cached))
    return passes


def generation_cost(
    work: ModelWork, n_prompt: int, n_new: int, use_cache: bool, width: int = 2
) -> tuple[int, int]:
    """FLOPs and moved bytes of a generation, summed over its passes.

    The generation has one sequence. Each pass computes logits for one
    position, the last. Each pass moves all weights, and the KV cache of all
    tokens that are there after it: the cached tokens and the tokens that it
    is fed. width: bytes per number. `work.flops` and `work.moved_bytes`
    return the work of one pass.
    """
    flops, moved_bytes = 0, 0
    for n_fed, n_cached in generation_passes(n_prompt, n_new, use_cache):
        flops += work.flops(n_fed, n_cached, 1)
        moved_bytes += work.moved_bytes(n_cached + n_fed, 1, width)
    return flops, moved_bytes


def predicted_time_s(
    machine: Roofline,
    work: ModelWork,
    n_prompt: int,
    n_new: int,
    use_cache: bool,
    launch_s: float = 0.0,
    dtype: str = "float16",
) -> float:
    """The predicted seconds of a generation of one sequence.

    The time is the sum over its passes. A pass takes as long as its floor
    (`pass_floor`, its field `seconds`, for the given dtype), and at least
    launch_s. launch_s is the time in which the host launches the
    kernels of one pass. The GPU works while the host launches.
    """
    total_s = 0.0
    for n_fed, n_cached in generation_passes(n_prompt, n_new, use_cache):
        floor = pass_floor(machine, work, n_fed, n_cached, dtype=dtype)
        total_s += max(launch_s, floor.seconds)
    return total_s


def leaves_launch_floor_at(
    machine: Roofline,
    work: ModelWork,
    launch_s: float,
    n_context: int,
    dtype: str = "float16",
) -> int | None:
    """The shortest length at which a pass takes longer than its launch.

    The pass has no cache: it is fed the whole sequence. It takes longer than
    its launch if the seconds of its floor (`pass_floor`) are more than
    launch_s. Try the lengths 1 to n_context, with n_context included. If the
    floor of every length is at most launch_s, return None.
    """
    lengths = range(1, n_context + 1)
    n_below = bisect_right(
        lengths, launch_s, key=lambda n: pass_floor(machine, work, n, dtype=dtype).seconds
    )
    return lengths[n_below] if n_below < len(lengths) else None


def slopes(n_new: Sequence[int], times_s: Sequence[float]) -> list[float]:
    """Seconds per further token, between each length and the next longer one.

    n_new: the lengths; times_s: the time of each, in the same order. The
    lengths may come in any order. The slopes are sorted from the shortest
    lengths to the longest. There is one slope fewer than there are lengths.
    Raises: ValueError if there are fewer than two lengths, if a length
    occurs twice, or if n_new and times_s differ in size.
    """
    if len(n_new) != len(times_s) or len(set(map(int, n_new))) != len(n_new) or len(n_new) < 2:
        got = f"{len(times_s)} times for the lengths {list(n_new)}"
        raise ValueError(f"wanted a time for each of at least two different lengths, got {got}")
    points = sorted(zip(n_new, times_s, strict=True))
    return [(t_long - t) / (n_long - n) for (n, t), (n_long, t_long) in pairwise(points)]


def block_hashes(tokens: Sequence[int], block_size: int, salt: str = "") -> list:
    """One hash for each full block of a prompt, in order.

    A block is block_size neighbouring tokens. Tokens at the end that do not
    fill a block have no hash. A hash names its block and all tokens before
    it. Two hashes are equal exactly if their blocks, all tokens before them
    and their salts are equal. Users who must not share text have different
    salts. A hash is an int, bytes or text. It has at most 128 bytes, however
    long the prompt is. The same call returns the same hashes, as long as
    the process runs.
    Source: vLLM, automatic prefix caching; Kwon et al. 2023
    (arXiv:2309.06180) for the blocks.
    """
    hashes = []
    parent = hashlib.sha256(salt.encode()).hexdigest()
    for end in range(block_size, len(tokens) + 1, block_size):
        block = list(map(int, tokens[end - block_size : end]))
        parent = hashlib.sha256(f"{parent} {block}".encode()).hexdigest()
        hashes.append(parent)
    return hashes


def longest_cached_prefix(
    hashes: Sequence, cached: Container, n_tokens: int, block_size: int
) -> int:
    """How many tokens at the front of a prompt need not be computed.

    hashes: the hashes of the prompt's full blocks, in order. cached: a
    container of hashes; use only `in`. n_tokens: the tokens of the whole
    prompt, at least 1. Count whole blocks only, and stop at the first block
    that is not cached. At least one token must be left to compute, because
    the first new token needs logits.
    """
    n_hits = 0
    for block_hash in hashes:
        if block_hash not in cached:
            break
        n_hits += 1
    return min(n_hits, (n_tokens - 1) // block_size) * block_size


def offload_step_s(
    moved_bytes: float,
    offloaded_bytes: float,
    bandwidth: float,
    link_bandwidth: float,
    overlap: bool = False,
) -> float:
    """Seconds of a decode step with a part of its bytes in host memory.

    The step takes as long as its transfers. It moves moved_bytes. Of these,
    offloaded_bytes come over the link from the host, at link_bandwidth. The
    others come from the GPU's own memory, at bandwidth. Both bandwidths are
    in bytes per second. With overlap, both transfers run at the same time.
    Without overlap, they follow each other.
    Raises: ValueError if offloaded_bytes is negative, or more than
    moved_bytes.
    """
    if not 0 <= offloaded_bytes <= moved_bytes:
        raise ValueError(f"cannot offload {offloaded_bytes:,} of {moved_bytes:,} moved bytes")
    resident_s = (moved_bytes - offloaded_bytes) / bandwidth
    link_s = offloaded_bytes / link_bandwidth
    return max(resident_s, link_s) if overlap else resident_s + link_s
