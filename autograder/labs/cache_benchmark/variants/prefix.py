"""Right block hashes, cached prefixes and offloaded steps of lab 3, written differently."""

from autograder.labs.variants import Variant

PREFIX_VARIANTS = [
    Variant(
        "block_hashes",
        "Python's own hash",
        """def block_hashes(tokens, block_size, salt=""):
    hashes, parent = [], hash(salt)
    for i in range(len(tokens) // block_size):
        block = tuple(tokens[i * block_size : (i + 1) * block_size])
        parent = hash((parent, block))
        hashes.append(parent)
    return hashes""",
    ),
    Variant(
        "block_hashes",
        "bytes of a running digest",
        """import struct

def block_hashes(tokens, block_size, salt=""):
    running = hashlib.blake2b(salt.encode() + b"\\0", digest_size=16)
    hashes = []
    for i, token in enumerate(tokens, start=1):
        running.update(struct.pack("<q", token))
        if i % block_size == 0:
            hashes.append(running.digest())
    return hashes""",
    ),
    Variant(
        "block_hashes",
        "the whole prefix each time, as whole numbers",
        """def block_hashes(tokens, block_size, salt=""):
    n = len(tokens) // block_size
    texts = [f"{salt!r}: {tokens[: (i + 1) * block_size]}" for i in range(n)]
    return [int.from_bytes(hashlib.sha512(text.encode()).digest(), "big") for text in texts]""",
    ),
    Variant(
        "block_hashes",
        "arrays: a polynomial modulo a prime",
        """import numpy as np

def block_hashes(tokens, block_size, salt=""):
    prime = 2**61 - 1
    value, hashes = int(hashlib.md5(salt.encode()).hexdigest(), 16) % prime, []
    for i, token in enumerate(np.asarray(tokens, dtype=np.int64).tolist()):
        value = (value * 1_000_003_000_019 + token + 1) % prime
        if (i + 1) % block_size == 0:
            hashes.append(value)
    return np.array(hashes, dtype=np.uint64)""",
    ),
    Variant(
        "block_hashes",
        "pairs of parent's and own digest",
        """def block_hashes(tokens, block_size, salt=""):
    out = []
    parent = "root" + hashlib.sha1(salt.encode()).hexdigest()
    while len(tokens) >= block_size:
        block, tokens = tokens[:block_size], tokens[block_size:]
        text = "|".join([parent] + [str(token) for token in block])
        own = hashlib.sha1(text.encode()).hexdigest()
        out.append((parent, own))
        parent = own
    return tuple(out)""",
    ),
    Variant(
        "longest_cached_prefix",
        "takewhile",
        """from itertools import takewhile

def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    n_hits = sum(1 for _ in takewhile(lambda one: one in cached, hashes))
    if n_hits * block_size >= n_tokens:
        n_hits -= 1
    return n_hits * block_size""",
    ),
    Variant(
        "longest_cached_prefix",
        "stops before the last token",
        """def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    n_saved = 0
    for one in hashes:
        if one not in cached or n_saved + block_size > n_tokens - 1:
            return n_saved
        n_saved += block_size
    return n_saved""",
    ),
    Variant(
        "longest_cached_prefix",
        "an array of hits",
        """import numpy as np

def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    hits = np.array([one in cached for one in hashes] + [False])
    n_blocks = min(int(hits.argmin()), (n_tokens - 1) // block_size)
    return np.int64(n_blocks * block_size)""",
    ),
    Variant(
        "offload_step_s",
        "both branches",
        """def offload_step_s(
    moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False
):
    if offloaded_bytes < 0 or offloaded_bytes > moved_bytes:
        raise ValueError("more than there is")
    times = [(moved_bytes - offloaded_bytes) / bandwidth, offloaded_bytes / link_bandwidth]
    if overlap:
        return max(times)
    return sum(times)""",
    ),
    Variant(
        "offload_step_s",
        "an array",
        """import numpy as np

def offload_step_s(moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False):
    parts = np.array([moved_bytes - offloaded_bytes, offloaded_bytes], dtype=float)
    if (parts < 0).any():
        raise ValueError(f"cannot split {moved_bytes} into {parts}")
    seconds = parts / np.array([bandwidth, link_bandwidth])
    return seconds.max() if overlap else seconds.sum()""",
    ),
    Variant(
        "offload_step_s",
        "tensors in single precision",
        """import torch

def offload_step_s(moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False):
    if not 0 <= offloaded_bytes <= moved_bytes:
        raise ValueError(f"cannot offload {offloaded_bytes}")
    parts = torch.tensor([float(moved_bytes - offloaded_bytes), float(offloaded_bytes)])
    seconds = parts / torch.tensor([bandwidth, link_bandwidth])
    return seconds.amax() if overlap else seconds.sum()""",
    ),
    Variant(
        "offload_step_s",
        "by what the link adds",
        """def offload_step_s(
    moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False
):
    if offloaded_bytes not in range(0, int(moved_bytes) + 1):
        raise ValueError("offload between nothing and everything")
    link_s = offloaded_bytes / link_bandwidth
    others_s = moved_bytes / bandwidth - offloaded_bytes / bandwidth
    return link_s + max(0.0, others_s - link_s) if overlap else link_s + others_s""",
    ),
]
