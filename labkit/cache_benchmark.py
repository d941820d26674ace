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


def generation_passes(n_prompt: int, n_new: int, use_cache: bool) -> list[tuple[int, int]]:
    """The passes over the model that make n_new tokens after a prompt of n_prompt, in order.

    Each is a pair: how many tokens it is fed, and how many tokens are in the
    cache before it. Every pass makes one new token; without a cache nothing is
    ever cached. n_prompt is at least 1.
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
    """FLOPs and moved bytes of a generation of one sequence, summed over its passes.

    Each pass needs logits for one position, the last. It moves the weights,
    and the KV cache of all tokens that are there after it: the cached ones and
    those it is fed. width: bytes per number. `work.flops` and
    `work.moved_bytes` know what one pass takes.
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
    """Seconds that a generation of one sequence should take, pass by pass.

    A pass takes as long as its floor (`pass_floor`), and never less than
    launch_s, the time in which the host launches its kernels: the GPU works
    while the host launches.
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
    """The shortest sequence whose pass without a cache takes longer than launching it does.

    Up to there, a pass takes launch_s whatever its length. Lengths are 1 to
    n_context, that one included; None if the floor of every pass stays at or
    below launch_s.
    """
    lengths = range(1, n_context + 1)
    n_below = bisect_right(
        lengths, launch_s, key=lambda n: pass_floor(machine, work, n, dtype=dtype).seconds
    )
    return lengths[n_below] if n_below < len(lengths) else None


def slopes(n_new: Sequence[int], times_s: Sequence[float]) -> list[float]:
    """Seconds per further token, between each length and the next longer one.

    n_new and times_s belong together, in any order; the slopes come from the
    shortest lengths to the longest, one fewer than there are lengths.
    Raises: ValueError for fewer than two lengths, for one length twice, and
    where the numbers of lengths and of times differ.
    """
    if len(n_new) != len(times_s) or len(set(map(int, n_new))) != len(n_new) or len(n_new) < 2:
        got = f"{len(times_s)} times for the lengths {list(n_new)}"
        raise ValueError(f"wanted a time for each of at least two different lengths, got {got}")
    points = sorted(zip(n_new, times_s, strict=True))
    return [(t_long - t) / (n_long - n) for (n, t), (n_long, t_long) in pairwise(points)]


def block_hashes(tokens: Sequence[int], block_size: int, salt: str = "") -> list:
    """One hash for each full block of a prompt; it names the block and everything before it.

    A block is block_size neighbouring tokens. Tokens at the end that fill no
    block have no hash. Two hashes are equal exactly if three things are equal:
    their blocks, all tokens before them, and the salts. Users who must not
    share their text get different salts. A hash is an int, bytes or text of at
    most 128 bytes, whatever the length of the prompt. It must be the same
    whenever it is computed again, in another process too.
    Source: vLLM, automatic prefix caching; Kwon et al. 2023 (arXiv:2309.06180)
    for the blocks.
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

    hashes: of the prompt's full blocks, in order.
    cached: tells with `in` which of them are there.
    n_tokens: of the whole prompt. Only whole blocks count, without a gap. At
    least one token is left to compute: without a pass there are no logits for
    the first new token.
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
    """Seconds of a decode step that is bound by moving bytes, with a part of them in host memory.

    Of the moved_bytes that the step reads, offloaded_bytes come over the link
    from the host, the others from the GPU's own memory; bandwidths in bytes
    per second. With overlap both transfers run at once, else one after the
    other.
    Raises: ValueError if more is offloaded than is moved, or less than
    nothing.
    """
    if not 0 <= offloaded_bytes <= moved_bytes:
        raise ValueError(f"cannot offload {offloaded_bytes:,} of {moved_bytes:,} moved bytes")
    resident_s = (moved_bytes - offloaded_bytes) / bandwidth
    link_s = offloaded_bytes / link_bandwidth
    return max(resident_s, link_s) if overlap else resident_s + link_s
