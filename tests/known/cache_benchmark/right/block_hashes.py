"""Right answers to `block_hashes`, written differently."""

# %% Python's own hash
def block_hashes(tokens, block_size, salt=""):
    hashes, parent = [], hash(salt)
    for i in range(len(tokens) // block_size):
        block = tuple(tokens[i * block_size : (i + 1) * block_size])
        parent = hash((parent, block))
        hashes.append(parent)
    return hashes

# %% bytes of a running digest
import struct

def block_hashes(tokens, block_size, salt=""):
    running = hashlib.blake2b(salt.encode() + b"\0", digest_size=16)
    hashes = []
    for i, token in enumerate(tokens, start=1):
        running.update(struct.pack("<q", token))
        if i % block_size == 0:
            hashes.append(running.digest())
    return hashes

# %% arrays: a polynomial modulo a prime
import numpy as np

def block_hashes(tokens, block_size, salt=""):
    prime = 2**61 - 1
    value, hashes = int(hashlib.md5(salt.encode()).hexdigest(), 16) % prime, []
    for i, token in enumerate(np.asarray(tokens, dtype=np.int64).tolist()):
        value = (value * 1_000_003_000_019 + token + 1) % prime
        if (i + 1) % block_size == 0:
            hashes.append(value)
    return np.array(hashes, dtype=np.uint64)

# %% pairs of parent's and own digest
def block_hashes(tokens, block_size, salt=""):
    out = []
    parent = "root" + hashlib.sha1(salt.encode()).hexdigest()
    while len(tokens) >= block_size:
        block, tokens = tokens[:block_size], tokens[block_size:]
        text = "|".join([parent] + [str(token) for token in block])
        own = hashlib.sha1(text.encode()).hexdigest()
        out.append((parent, own))
        parent = own
    return tuple(out)
