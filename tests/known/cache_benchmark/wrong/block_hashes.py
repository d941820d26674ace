"""Wrong answers to `block_hashes`: edits of the reference, or the whole answer."""

# fails each_full_block_has_a_hash

# %% the block that is not full too
def block_hashes(tokens, block_size, salt=""):
    hashes, parent = [], salt
    for start in range(0, len(tokens), block_size):
        block = tokens[start : start + block_size]
        parent = hashlib.sha256(f"{parent} {block}".encode()).hexdigest()
        hashes.append(parent)
    return hashes

# %% a hash for a prompt without blocks
# = return hashes => return hashes or [parent]

# fails a_hash_covers_everything_before_it

# %% the block alone
def block_hashes(tokens, block_size, salt=""):
    blocks = [tokens[i : i + block_size] for i in range(0, len(tokens), block_size)]
    full = [block for block in blocks if len(block) == block_size]
    return [hashlib.sha256(f"{salt} {block}".encode()).digest() for block in full]

# %% the block and the one before it
def block_hashes(tokens, block_size, salt=""):
    hashes = []
    for end in range(block_size, len(tokens) + 1, block_size):
        seen = tokens[max(0, end - 2 * block_size) : end]
        hashes.append(hashlib.sha256(f"{salt} {seen}".encode()).hexdigest())
    return hashes

# %% earlier blocks in any order
def block_hashes(tokens, block_size, salt=""):
    hashes, total = [], 0
    for end in range(block_size, len(tokens) + 1, block_size):
        text = f"{salt} {tokens[end - block_size : end]}".encode()
        total = (total + int(hashlib.sha256(text).hexdigest(), 16)) % 2**256
        hashes.append(total)
    return hashes

# fails each_full_block_has_a_hash equal_beginnings_have_equal_hashes
#   a_hash_covers_everything_before_it every_token_of_a_block_counts many_blocks_are_told_apart
#   hashes_stay_small salts_keep_users_apart

# %% the last full block forgotten
# = len(tokens) + 1 => len(tokens)

# fails equal_beginnings_have_equal_hashes

# %% the prompt's length in it
# = salt.encode() => f"{len(tokens)} {salt}".encode()

# fails equal_beginnings_have_equal_hashes a_hash_covers_everything_before_it
#   every_token_of_a_block_counts many_blocks_are_told_apart hashes_stay_small
#   salts_keep_users_apart

# %% random
import os

def block_hashes(tokens, block_size, salt=""):
    return [os.urandom(16) for _ in range(len(tokens) // block_size)]

# fails every_token_of_a_block_counts

# %% tokens in any order
# = list(map(int, tokens[end - block_size : end])) => sorted(tokens[end - block_size : end])

# %% the lowest byte of each token
# - block = list(map(int, tokens[end - block_size : end]))
block = [token % 256 for token in tokens[end - block_size : end]]

# %% tokens in 16 bits
# - block = list(map(int, tokens[end - block_size : end]))
block = [token % 65536 for token in tokens[end - block_size : end]]

# %% digits without a gap
# - block = list(map(int, tokens[end - block_size : end]))
block = "".join(map(str, tokens[end - block_size : end]))

# fails many_blocks_are_told_apart

# %% 16 bits
# = hashes.append(parent) => hashes.append(int(parent[:4], 16))

# fails hashes_stay_small

# %% the whole prefix itself
# = hashes.append(parent) => hashes.append((salt, *tokens[:end]))

# fails salts_keep_users_apart

# %% no salt
# = salt.encode() => b""

# fails salts_keep_users_apart

# %% nothing between the salt and the first token
# - parent = hashlib.sha256(salt.encode()).hexdigest()
parent = salt

# - parent = hashlib.sha256(f"{parent} {block}".encode()).hexdigest()
text = " ".join(map(str, block))
parent = hashlib.sha256(f"{parent}{text}".encode()).hexdigest()
