"""Wrong block hashes, cached prefixes and offloaded steps of lab 3."""

from autograder.labs.mutants import Mutant

_FULL = "each_full_block_has_a_hash"
_EQUAL = "equal_beginnings_have_equal_hashes"
_COVERS = "a_hash_covers_everything_before_it"
_TOKENS = "every_token_of_a_block_counts"
_APART = "many_blocks_are_told_apart"
_SMALL = "hashes_stay_small"
_SALTS = "salts_keep_users_apart"
_COUNTED = "cached_blocks_are_counted_in_tokens"
_GAP = "the_first_miss_ends_it"
_LEFT = "one_token_is_left_to_compute"
_CONTAINER = "any_container_will_do"
_TURN = "transfers_in_turn_add_up"
_OVERLAP = "overlapping_transfers_take_the_longer"
_REFUSED = "only_what_is_moved_can_be_offloaded"

_CHAIN = 'parent = hashlib.sha256(f"{parent} {block}".encode()).hexdigest()'
_ENDS = "for end in range(block_size, len(tokens) + 1, block_size):"

PREFIX_MUTANTS = [
    Mutant(
        "block_hashes",
        "the block that is not full too",
        (_FULL,),
        source="""def block_hashes(tokens, block_size, salt=""):
    hashes, parent = [], salt
    for start in range(0, len(tokens), block_size):
        block = tokens[start : start + block_size]
        parent = hashlib.sha256(f"{parent} {block}".encode()).hexdigest()
        hashes.append(parent)
    return hashes""",
    ),
    Mutant(
        "block_hashes",
        "a hash for a prompt without blocks",
        (_FULL,),
        "    return hashes",
        "    return hashes or [parent]",
    ),
    Mutant(
        "block_hashes",
        "the first token and the last two blocks",
        (_COVERS,),
        source="""def block_hashes(tokens, block_size, salt=""):
    hashes = []
    for end in range(block_size, len(tokens) + 1, block_size):
        seen = [salt, tokens[0], end, *tokens[max(0, end - 2 * block_size) : end]]
        hashes.append(hashlib.sha256(str(seen).encode()).hexdigest())
    return hashes""",
    ),
    Mutant(
        "block_hashes",
        "the last full block forgotten",
        (_FULL, _EQUAL, _COVERS, _TOKENS, _APART, _SMALL, _SALTS),
        _ENDS,
        "for end in range(block_size, len(tokens), block_size):",
    ),
    Mutant(
        "block_hashes",
        "the prompt's length in it",
        (_EQUAL,),
        "hashlib.sha256(salt.encode())",
        'hashlib.sha256(f"{len(tokens)} {salt}".encode())',
    ),
    Mutant(
        "block_hashes",
        "random",
        (_EQUAL, _COVERS, _TOKENS, _APART, _SMALL, _SALTS),
        source="""import os

def block_hashes(tokens, block_size, salt=""):
    return [os.urandom(16) for _ in range(len(tokens) // block_size)]""",
    ),
    Mutant(
        "block_hashes",
        "the block alone",
        (_COVERS,),
        source="""def block_hashes(tokens, block_size, salt=""):
    blocks = [tokens[i : i + block_size] for i in range(0, len(tokens), block_size)]
    full = [block for block in blocks if len(block) == block_size]
    return [hashlib.sha256(f"{salt} {block}".encode()).digest() for block in full]""",
    ),
    Mutant(
        "block_hashes",
        "the block and its number",
        (_COVERS,),
        source="""def block_hashes(tokens, block_size, salt=""):
    return [
        hashlib.sha256(f"{salt} {i} {tokens[i * n : (i + 1) * n]}".encode()).digest()
        for n in [block_size]
        for i in range(len(tokens) // n)
    ]""",
    ),
    Mutant(
        "block_hashes",
        "the block and the one before it",
        (_COVERS,),
        source="""def block_hashes(tokens, block_size, salt=""):
    hashes = []
    for end in range(block_size, len(tokens) + 1, block_size):
        seen = tokens[max(0, end - 2 * block_size) : end]
        hashes.append(hashlib.sha256(f"{salt} {seen}".encode()).hexdigest())
    return hashes""",
    ),
    Mutant(
        "block_hashes",
        "earlier blocks in any order",
        (_COVERS,),
        source="""def block_hashes(tokens, block_size, salt=""):
    hashes, total = [], 0
    for end in range(block_size, len(tokens) + 1, block_size):
        text = f"{salt} {tokens[end - block_size : end]}".encode()
        total = (total + int(hashlib.sha256(text).hexdigest(), 16)) % 2**256
        hashes.append(total)
    return hashes""",
    ),
    Mutant(
        "block_hashes",
        "tokens added up",
        (_TOKENS,),
        _CHAIN,
        'parent = hashlib.sha256(f"{parent} {sum(block)}".encode()).hexdigest()',
    ),
    Mutant(
        "block_hashes",
        "tokens in any order",
        (_TOKENS,),
        "block = list(map(int, tokens[end - block_size : end]))",
        "block = sorted(tokens[end - block_size : end])",
    ),
    Mutant(
        "block_hashes",
        "the lowest byte of each token",
        (_TOKENS,),
        "block = list(map(int, tokens[end - block_size : end]))",
        "block = [token % 256 for token in tokens[end - block_size : end]]",
    ),
    Mutant(
        "block_hashes",
        "tokens in 16 bits",
        (_TOKENS,),
        "block = list(map(int, tokens[end - block_size : end]))",
        "block = [token % 65536 for token in tokens[end - block_size : end]]",
    ),
    Mutant(
        "block_hashes",
        "digits without a gap",
        (_TOKENS,),
        "block = list(map(int, tokens[end - block_size : end]))",
        'block = "".join(map(str, tokens[end - block_size : end]))',
    ),
    Mutant(
        "block_hashes",
        "16 bits",
        (_APART,),
        "hashes.append(parent)",
        "hashes.append(int(parent[:4], 16))",
    ),
    Mutant(
        "block_hashes",
        "text that grows",
        (_SMALL,),
        _CHAIN,
        'parent = parent + hashlib.sha256(f"{parent} {block}".encode()).hexdigest()[:8]',
    ),
    Mutant(
        "block_hashes",
        "the whole prefix itself",
        (_SMALL,),
        "hashes.append(parent)",
        "hashes.append((salt, *tokens[:end]))",
    ),
    Mutant(
        "block_hashes",
        "no salt",
        (_SALTS,),
        "hashlib.sha256(salt.encode())",
        'hashlib.sha256(b"")',
    ),
    Mutant(
        "block_hashes",
        "salt in the last block alone",
        (_SALTS,),
        source="""def block_hashes(tokens, block_size, salt=""):
    hashes, parent = [], ""
    for end in range(block_size, len(tokens) + 1, block_size):
        if end + block_size > len(tokens):
            parent += salt
        parent = hashlib.sha256(f"{parent} {tokens[end - block_size : end]}".encode()).hexdigest()
        hashes.append(parent)
    return hashes""",
    ),
    Mutant(
        "longest_cached_prefix",
        "always a block fewer",
        (
            _COUNTED,
            _GAP,
            _LEFT,
        ),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return max(0, n_hits - 1) * block_size",
    ),
    Mutant(
        "longest_cached_prefix",
        "a block fewer where all are found",
        (
            _COUNTED,
            _LEFT,
        ),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return (n_hits - (0 < n_hits == len(hashes))) * block_size",
    ),
    Mutant(
        "longest_cached_prefix",
        "one block at least",
        (
            _COUNTED,
            _GAP,
            _LEFT,
        ),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return max(1, min(n_hits, (n_tokens - 1) // block_size)) * block_size",
    ),
    Mutant(
        "longest_cached_prefix",
        "one block, whatever is cached",
        (_COUNTED, _GAP, _LEFT, _CONTAINER),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return block_size",
    ),
    Mutant(
        "longest_cached_prefix",
        "the missing block too",
        (_COUNTED, _GAP),
        "            break\n",
        "            n_hits += 1\n            break\n",
    ),
    Mutant(
        "longest_cached_prefix",
        "a short prompt is found whole",
        (_COUNTED,),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size if hashes else n_tokens",
    ),
    Mutant(
        "longest_cached_prefix",
        "all or nothing",
        (_COUNTED, _GAP, _CONTAINER),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size * (n_hits == len(hashes))",
    ),
    Mutant(
        "longest_cached_prefix",
        "all hits, wherever they are",
        (_GAP,),
        "            break\n        n_hits += 1",
        "            continue\n        n_hits += 1",
    ),
    Mutant(
        "longest_cached_prefix",
        "nothing left to compute",
        (_LEFT,),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return n_hits * block_size",
    ),
    Mutant(
        "longest_cached_prefix",
        "all but one token",
        (_LEFT,),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return min(n_hits * block_size, n_tokens - 1)",
    ),
    Mutant(
        "longest_cached_prefix",
        "blocks",
        (
            _COUNTED,
            _GAP,
            _LEFT,
            _CONTAINER,
        ),
        "return min(n_hits, (n_tokens - 1) // block_size) * block_size",
        "return min(n_hits, (n_tokens - 1) // block_size)",
    ),
    Mutant(
        "longest_cached_prefix",
        "sets alone",
        (_CONTAINER,),
        "        if block_hash not in cached:",
        "        if not cached & {block_hash}:",
    ),
    Mutant(
        "longest_cached_prefix",
        "asks for the block",
        (
            _COUNTED,
            _GAP,
            _LEFT,
            _CONTAINER,
        ),
        "        if block_hash not in cached:",
        "        if cached[block_hash] is None:",
    ),
    Mutant(
        "offload_step_s",
        "all of it from the card as well",
        (_TURN,),
        "return max(resident_s, link_s) if overlap else resident_s + link_s",
        "return max(resident_s, link_s) if overlap else moved_bytes / bandwidth + link_s",
    ),
    Mutant(
        "offload_step_s",
        "always overlapping",
        (_TURN,),
        "return max(resident_s, link_s) if overlap else resident_s + link_s",
        "return max(resident_s, link_s)",
    ),
    Mutant(
        "offload_step_s",
        "never overlapping",
        (_OVERLAP,),
        "return max(resident_s, link_s) if overlap else resident_s + link_s",
        "return resident_s + link_s",
    ),
    Mutant(
        "offload_step_s",
        "the link alone",
        (_OVERLAP,),
        "return max(resident_s, link_s) if overlap else resident_s + link_s",
        "return link_s if overlap else resident_s + link_s",
    ),
    Mutant(
        "offload_step_s",
        "the shorter one",
        (_OVERLAP,),
        "max(resident_s, link_s)",
        "min(resident_s, link_s)",
    ),
    Mutant(
        "offload_step_s",
        "bandwidths changed places",
        (_TURN, _OVERLAP),
        "link_s = offloaded_bytes / link_bandwidth",
        "link_s, resident_s = offloaded_bytes / bandwidth, resident_s * bandwidth / link_bandwidth",
    ),
    Mutant(
        "offload_step_s",
        "refuses nothing",
        (_REFUSED,),
        "if not 0 <= offloaded_bytes <= moved_bytes:",
        "if False:",
    ),
    Mutant(
        "offload_step_s",
        "refuses too much alone",
        (_REFUSED,),
        "if not 0 <= offloaded_bytes <= moved_bytes:",
        "if offloaded_bytes > moved_bytes:",
    ),
    Mutant(
        "offload_step_s",
        "refuses all of it",
        (_REFUSED,),
        "if not 0 <= offloaded_bytes <= moved_bytes:",
        "if not 0 < offloaded_bytes < moved_bytes:",
    ),
]
