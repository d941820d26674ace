"""What a generation costs with and without a KV cache, and what is saved when prompts share text.

First come sums over the passes of a generation: tokens, FLOPs, moved bytes, and the time that they
predict. Then prefix caching: blocks of tokens are named by hashes, so that a prompt that begins
like an earlier one finds its keys and values again. Then the price of weights in host memory.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Container, Sequence
from itertools import pairwise

from labkit.measuring.roofline import ModelWork, Roofline, pass_floor


def generation_passes(n_prompt: int, n_new: int, use_cache: bool) -> list[tuple[int, int]]:
    """The passes that make n_new tokens after n_prompt tokens, in order.

    Returns a list of pairs (n_fed, n_cached): how many tokens the pass is
    fed, and how many tokens are in the cache before it. Each pass makes one
    new token. Without a cache, n_cached is always 0. n_prompt is at least 1.
    For n_new = 0 the list is empty.
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
    """FLOPs and moved bytes of the generation of one sequence.

    Add up work.flops(...) and work.moved_bytes(...) over all passes. Each
    pass computes logits for one position, the last one. It moves the weights,
    and the KV cache of all cached tokens and of all tokens that it is fed.
    width: bytes per number. Returns (flops, moved_bytes).
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
    """Seconds that the generation of one sequence should take.

    Add up the passes. Each takes its floor or launch_s, whichever is longer.
    pass_floor(machine, work, n_new, n_cached, dtype=...).seconds is the floor
    of a pass over n_new tokens after n_cached. launch_s is the time in which
    the host launches all kernels of one pass.
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
    """The shortest length whose uncached pass takes longer than launching.

    A pass without a cache is fed the whole sequence. Its floor is the
    `.seconds` of pass_floor (in this dtype), and it grows with the length.
    Return the smallest length from 1 to n_context (included) whose floor is
    above launch_s. If there is none, return None.
    """
    lengths = range(1, n_context + 1)
    n_below = bisect_right(
        lengths, launch_s, key=lambda n: pass_floor(machine, work, n, dtype=dtype).seconds
    )
    return lengths[n_below] if n_below < len(lengths) else None


def slopes(n_new: Sequence[int], times_s: Sequence[float]) -> list[float]:
    """Seconds per further token, between each length and the next longer one.

    times_s[i] is the time for n_new[i] tokens. The lengths may be in any
    order. Returns a list of slopes, from the shortest lengths to the longest.
    It has one number less than there are lengths.
    Raises: ValueError for fewer than two lengths, for a length that occurs
    twice, and if there are more lengths than times or fewer.
    """
    if len(n_new) != len(times_s) or len(set(map(int, n_new))) != len(n_new) or len(n_new) < 2:
        got = f"{len(times_s)} times for the lengths {list(n_new)}"
        raise ValueError(f"wanted a time for each of at least two different lengths, got {got}")
    points = sorted(zip(n_new, times_s, strict=True))
    return [(t_long - t) / (n_long - n) for (n, t), (n_long, t_long) in pairwise(points)]


def block_hashes(tokens: Sequence[int], block_size: int, salt: str = "") -> list:
    """A list with one hash for each full block of a prompt.

    A block is block_size neighbouring tokens. Tokens at the end that do not
    fill a block have no hash. Two hashes are equal only if three things are
    equal: the tokens of the block, all tokens before it, and the salt.
    A hash is an int, bytes or str of at most 128 bytes, however long the
    prompt is. It must be the same in every call and in every process.
    (Python's own hash() of a str is not.)
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

    hashes: those of the prompt's full blocks, in order. cached: any
    container, and `h in cached` says whether block h is stored. n_tokens:
    the length of the whole prompt. Count whole blocks from the front, up to
    the first one that is not stored. At least one token must be left to
    compute, because it gives the logits for the first new token.
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
    """Seconds of a decode step whose weights are partly in host memory.

    The step reads moved_bytes. Of these, offloaded_bytes come over the link
    from the host, and only the others from the GPU's own memory. Bandwidths
    are in bytes per second. With overlap, both transfers run at the same
    time; without, one after the other.
    Raises: ValueError if offloaded_bytes is negative or above moved_bytes.
    """
    if not 0 <= offloaded_bytes <= moved_bytes:
        raise ValueError(f"cannot offload {offloaded_bytes:,} of {moved_bytes:,} moved bytes")
    resident_s = (moved_bytes - offloaded_bytes) / bandwidth
    link_s = offloaded_bytes / link_bandwidth
    return max(resident_s, link_s) if overlap else resident_s + link_s
