"""What a generation costs with and without a KV cache, and what is saved when prompts share text.

First sums over the passes of a generation: tokens, FLOPs, moved bytes, and the time they predict.
Then prefix caching: blocks of tokens are named by hashes, and kept within a budget, so that a
prompt that begins like an earlier one finds its keys and values again. Last what it
takes to fetch keys and values from a slower memory, and to compute them again instead.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence

from labkit.measuring.roofline import ModelWork, Roofline, pass_floor
from labkit.models.sizes import kv_bytes_per_token


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


class PrefixCache:
    """The blocks of earlier requests, found by their hashes, within a budget.

    A request calls `find` with its prompt when it starts, and `keep` when it
    ends. In between it is running, and the blocks that it found are in use.
    Several requests can run at the same time. The cache knows the hashes of
    `block_hashes`. The engine stores the keys and values.
    """

    def __init__(self, n_blocks: int, block_size: int) -> None:
        """An empty cache that keeps at most n_blocks blocks.

        block_size: tokens per block.
        Raises: ValueError if n_blocks or block_size is below 1.
        """
        if min(n_blocks, block_size) < 1:
            sizes = f"{n_blocks} blocks of {block_size} tokens"
            raise ValueError(f"wanted at least 1 block of at least 1 token, got {sizes}")
        self.n_blocks, self.block_size = n_blocks, block_size
        self.users: dict = {}  # by hash; the least recently used block is the first
        self.running: dict[int, list] = {}

    @property
    def n_kept(self) -> int:
        """How many blocks are kept."""
        return len(self.users)

    def has(self, block_hash: int | bytes | str) -> bool:
        """Whether the block with this hash is kept. This is no use of it."""
        return block_hash in self.users

    def find(self, request_id: int, tokens: Sequence[int], salt: str = "") -> int:
        """Start a request; how many tokens of its prompt are not computed.

        Count whole blocks from the front, and stop at the first block that is
        not kept. At least one token must be left to compute, because the
        first new token needs logits. The prompt has at least 1 token. The
        blocks that are counted are in use until this request ends.
        Raises: ValueError if a request with this id is running.
        """
        if request_id in self.running:
            raise ValueError(f"request {request_id} is running already")
        found = []
        n_most = (len(tokens) - 1) // self.block_size
        for block_hash in block_hashes(tokens, self.block_size, salt)[:n_most]:
            if not self.has(block_hash):
                break
            found.append(block_hash)
            self.users[block_hash] += 1
        self.running[request_id] = found
        return len(found) * self.block_size

    def keep(self, request_id: int, tokens: Sequence[int], salt: str = "") -> None:
        """End a request, and keep the full blocks of its tokens, in order.

        tokens: the prompt and the new tokens. All blocks of these tokens that
        are kept after the call count as used. If there is no room for a
        block, evict the least recently used block. Never evict a block that
        is in use, or a block of these tokens. If no other block is left, keep
        no more blocks of these tokens. Of blocks that one call used, a later
        call evicts the last one first: without its beginning, a block cannot
        be found.
        Raises: ValueError if no request with this id is running.
        """
        if request_id not in self.running:
            raise ValueError(f"request {request_id} is not running")
        for block_hash in self.running.pop(request_id):
            self.users[block_hash] -= 1
        hashes = block_hashes(tokens, self.block_size, salt)
        own, n_own = set(hashes), 0
        for block_hash in hashes:
            if not (self.has(block_hash) or self._has_room(own)):
                break
            self.users.setdefault(block_hash, 0)
            n_own += 1
        for block_hash in reversed(hashes[:n_own]):
            self.users[block_hash] = self.users.pop(block_hash)

    def _has_room(self, own: set) -> bool:
        """Whether there is room for one more block; evicts one if it must."""
        if self.n_kept < self.n_blocks:
            return True
        evicted = next((one for one, n in self.users.items() if not n and one not in own), None)
        if evicted is not None:
            del self.users[evicted]
        return evicted is not None


def fetch_and_recompute_s(
    machine: Roofline,
    work: ModelWork,
    n_tokens: int,
    link_bandwidth: float,
    factor: float = 1.0,
    width: int = 2,
    dtype: str = "float16",
) -> tuple[float, float]:
    """Seconds to fetch the KV cache of a prompt, and seconds to recompute it.

    To fetch: the keys and values of n_tokens tokens, in all layers, come over
    a link with link_bandwidth bytes per second. The bytes of one token are
    `kv_bytes_per_token(work.shape, width)`: width bytes per number. To
    recompute: one pass is fed n_tokens. It takes factor times its floor
    (`pass_floor`, its field `seconds`, for the given dtype).
    Raises: ValueError if n_tokens is below 1, or link_bandwidth is not above
    0.
    """
    if n_tokens < 1 or not link_bandwidth > 0:
        got = f"{n_tokens} tokens at {link_bandwidth} bytes per second"
        raise ValueError(f"wanted at least 1 token and a bandwidth above 0, got {got}")
    fetch_s = n_tokens * kv_bytes_per_token(work.shape, width) / link_bandwidth
    return fetch_s, factor * pass_floor(machine, work, n_tokens, dtype=dtype).seconds
