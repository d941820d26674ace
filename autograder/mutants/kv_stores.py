"""Wrong answers of lab 4, as students give them: the arena, the ring and the pages."""

from __future__ import annotations

from autograder.mutants import Mutant

_RETURNS = "append_returns_everything_cached"
_LENGTH = "length_moves_once_per_step"
_VIEWS = "views_show_the_arena_itself"
_POINTER = "rewind_moves_only_the_pointer"
_LIFE = "a_life_of_appends_and_rewinds_equals_concatenation"
_FULL = "a_full_arena_refuses_and_keeps_what_it_has"
_RANGE = "a_rewind_out_of_range_is_refused"

_VIEW = "return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]"
_LAST_LAYER = "if layer == n_layers - 1:\n            self.length = end"
_REWOUND = "self.length -= n_tokens"

_CONCATENATES = """
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, capacity, head_dim, dtype=dtype)
        self.values = torch.zeros_like(self.keys)
        empty = torch.zeros(batch, n_kv_heads, 0, head_dim, dtype=dtype)
        self.pairs = [[empty, empty] for _ in range(n_layers)]
        self.length, self.n_layers, self.capacity = 0, n_layers, capacity

    def append(self, layer, *new):
        end = self.length + new[0].shape[2]
        if end > self.capacity:
            raise ValueError("full")
        pair = self.pairs[layer]
        for i in (0, 1):
            pair[i] = torch.cat([pair[i][:, :, : self.length], new[i].to(pair[i].dtype)], 2)
        if layer == self.n_layers - 1:
            self.length = end
        return pair

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("too far")
        self.length -= n_tokens
"""

ARENA = [
    Mutant(
        "ArenaCache",
        "concatenates, and shows an arena that nothing is written to",
        (_VIEWS,),
        source=_CONCATENATES,
    ),
    Mutant(
        "ArenaCache",
        "returns copies",
        (_VIEWS,),
        _VIEW,
        "return self.keys[layer, :, :, :end].clone(), self.values[layer, :, :, :end].clone()",
    ),
    Mutant(
        "ArenaCache",
        "the values are a copy",
        (_VIEWS,),
        _VIEW,
        "return self.keys[layer, :, :, :end], self.values[layer, :, :, :end].contiguous().clone()",
    ),
    Mutant(
        "ArenaCache",
        "allocates a new arena when the old one is rewound",
        (_VIEWS,),
        _REWOUND,
        "self.length -= n_tokens\n"
        "        self.keys, self.values = self.keys.clone(), self.values.clone()",
    ),
    Mutant(
        "ArenaCache",
        "concatenates, and calls it an arena",
        (_VIEWS, _FULL),
        source="""\
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        empty = torch.zeros(batch, n_kv_heads, 0, head_dim, dtype=dtype)
        self.layers = [(empty, empty)] * n_layers
        self.length, self.capacity, self.dtype = 0, capacity, dtype

    keys = property(lambda self: torch.stack([keys for keys, _ in self.layers]))
    values = property(lambda self: torch.stack([values for _, values in self.layers]))

    def append(self, layer, keys, values):
        if self.length + keys.shape[2] > self.capacity:
            raise MemoryError("full")
        pairs = zip(self.layers[layer], (keys, values))
        joined = [torch.cat([o[:, :, : self.length], n.to(self.dtype)], 2) for o, n in pairs]
        self.layers[layer] = tuple(joined)
        self.length += keys.shape[2] * (layer == len(self.layers) - 1)
        return self.layers[layer]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.length -= n_tokens
""",
    ),
    Mutant(
        "ArenaCache",
        "stores everything in 32 bits",
        (_RETURNS,),
        source="""\
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, capacity, head_dim)
        self.values = torch.zeros_like(self.keys)
        self.length = 0

    def append(self, layer, keys, values):
        end = self.length + keys.shape[2]
        if end > self.keys.shape[3]:
            raise ValueError("full")
        self.keys[layer, :, :, self.length : end] = keys
        self.values[layer, :, :, self.length : end] = values
        if layer == len(self.keys) - 1:
            self.length = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.length -= n_tokens
""",
    ),
    Mutant(
        "ArenaCache",
        "returns the values of layer 0",
        (_RETURNS, _LIFE),
        _VIEW,
        "return self.keys[layer, :, :, :end], self.values[0, :, :, :end]",
    ),
    Mutant(
        "ArenaCache",
        "length grows with every layer's append",
        (_LENGTH, _RETURNS, _LIFE, _VIEWS, _POINTER, _FULL, _RANGE),
        _LAST_LAYER,
        "self.length = end",
    ),
    Mutant(
        "ArenaCache",
        "length moves with the first layer",
        (_LENGTH,),
        source="""\
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        shape = (n_layers, batch, n_kv_heads, capacity, head_dim)
        self.keys, self.values = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.lengths = [0] * n_layers

    @property
    def length(self):
        return max(self.lengths)

    def append(self, layer, keys, values):
        start, end = self.lengths[layer], self.lengths[layer] + keys.shape[2]
        if end > self.keys.shape[3]:
            raise ValueError("full")
        self.keys[layer, :, :, start:end] = keys
        self.values[layer, :, :, start:end] = values
        self.lengths[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.lengths = [length - n_tokens for length in self.lengths]
""",
    ),
    Mutant(
        "ArenaCache",
        "zeroes what is rewound",
        (_POINTER,),
        _REWOUND,
        "self.length -= n_tokens\n"
        "        self.keys[:, :, :, self.length :] = 0\n"
        "        self.values[:, :, :, self.length :] = 0",
    ),
    Mutant(
        "ArenaCache",
        "rewinds to n_tokens instead of by n_tokens",
        (_POINTER, _LIFE, _RANGE, _VIEWS),
        _REWOUND,
        "self.length = n_tokens",
    ),
    Mutant(
        "ArenaCache",
        "rewind(0) forgets everything",
        (_LIFE,),
        _REWOUND,
        "self.length = len(list(range(self.length))[:-n_tokens])",
    ),
    Mutant(
        "ArenaCache",
        "returns what was rewound as well",
        (_LIFE,),
        _VIEW,
        "self.most = end = max(end, getattr(self, 'most', 0))\n"
        "        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]",
    ),
    Mutant(
        "ArenaCache",
        "lets PyTorch complain when the arena is full",
        (_FULL,),
        "if end > capacity:",
        "if False:",
    ),
    Mutant(
        "ArenaCache",
        "keeps the last place empty",
        (_FULL, _LIFE),
        "if end > capacity:",
        "if end >= capacity:",
    ),
    Mutant(
        "ArenaCache",
        "forgets everything to make room",
        (_FULL,),
        "if end > capacity:",
        "if end > capacity:\n            self.length = 0",
    ),
    Mutant(
        "ArenaCache",
        "rewinds below zero",
        (_RANGE,),
        "if not 0 <= n_tokens <= self.length:",
        "if n_tokens < 0:",
    ),
    Mutant(
        "ArenaCache",
        "rewinds forward",
        (_RANGE,),
        "if not 0 <= n_tokens <= self.length:",
        "if n_tokens > self.length:",
    ),
    Mutant(
        "ArenaCache",
        "never rewinds the first token",
        (_RANGE, _LIFE, _VIEWS),
        "if not 0 <= n_tokens <= self.length:",
        "if not 0 <= n_tokens < self.length:",
    ),
]

_SLOTS = "positions_name_the_token_in_each_slot"
_DECODE = "decoding_past_the_end_keeps_the_window"
_CROSS = "a_chunk_may_cross_the_end"
_LONG = "a_long_prompt_leaves_its_newest_tokens"
_MASK = "the_mask_shows_the_window"

_DISTANCE = "return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))"
_WRITE_KEYS = "self.keys[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.keys.dtype)"
_WRITE_VALUES = "self.values[:, :, slots] = values[:, :, n_new - n_kept :].to(self.values.dtype)"
_EMPTY_SLOTS = "self.positions = torch.full((window,), -1)"

RING = [
    Mutant(
        "RingCache",
        "positions modulo the window",
        (_SLOTS, _DECODE, _CROSS, _LONG, _MASK),
        "self.positions[slots] = positions",
        "self.positions[slots] = positions % window",
    ),
    Mutant(
        "RingCache",
        "empty slots hold position 0",
        (_SLOTS,),
        source="""\
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.zeros(window, dtype=torch.int64)
        self.n_seen = 0

    def append(self, keys, values):
        window = len(self.positions)
        for i in range(keys.shape[2]):
            slot = self.n_seen % window
            self.keys[:, :, slot] = keys[:, :, i]
            self.values[:, :, slot] = values[:, :, i]
            self.positions[slot] = self.n_seen
            self.n_seen += 1

    def mask(self, query_positions):
        window = len(self.positions)
        filled = torch.arange(window) < self.n_seen
        distance = query_positions[:, None] - self.positions
        return filled & (distance >= 0) & (distance < window)
""",
    ),
    Mutant(
        "RingCache",
        "wraps one slot early",
        (_SLOTS, _DECODE, _CROSS, _LONG, _MASK),
        "slots = positions % window",
        "slots = positions % (window - 1)",
    ),
    Mutant(
        "RingCache",
        "wraps one slot late for decoded values",
        (_DECODE,),
        _WRITE_VALUES,
        "value_slots = slots if n_new > 1 else (slots + 1) % window\n"
        "        self.values[:, :, value_slots] = values[:, :, n_new - n_kept :].to(\n"
        "            self.values.dtype\n"
        "        )",
    ),
    Mutant(
        "RingCache",
        "keys for values",
        (_DECODE, _CROSS, _LONG),
        _WRITE_VALUES,
        "self.values[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.values.dtype)",
    ),
    Mutant(
        "RingCache",
        "a chunk stops at the last slot",
        (_CROSS,),
        _WRITE_KEYS,
        "if 1 < n_new < window:\n"
        "            slots = torch.arange(int(slots[0]), window)[:n_new]\n"
        "            positions = positions[: len(slots)]\n"
        "            keys, values = keys[:, :, : len(slots)], values[:, :, : len(slots)]\n"
        "            n_new = n_kept = len(slots)\n"
        "        self.keys[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.keys.dtype)",
    ),
    Mutant(
        "RingCache",
        "shifts a short chunk back to fit before the end",
        (_CROSS,),
        _WRITE_KEYS,
        "if n_new < window and int(slots[0]) + n_new > window:\n"
        "            slots = torch.arange(window - n_new, window)\n"
        "        self.keys[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.keys.dtype)",
    ),
    Mutant(
        "RingCache",
        "keeps the oldest tokens of a long prompt",
        (_LONG,),
        source="""\
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.full((window,), -1)

    def append(self, keys, values):
        window = len(self.positions)
        keys, values = keys[:, :, :window], values[:, :, :window]
        start = int(self.positions.max()) + 1
        positions = torch.arange(start, start + keys.shape[2])
        self.keys[:, :, positions % window] = keys.to(self.keys.dtype)
        self.values[:, :, positions % window] = values.to(self.values.dtype)
        self.positions[positions % window] = positions

    def mask(self, query_positions):
        distance = query_positions[:, None] - self.positions
        return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
""",
    ),
    Mutant(
        "RingCache",
        "a long prompt starts in slot 0",
        (_LONG,),
        "slots = positions % window",
        "slots = positions % window if n_new <= window else torch.arange(window)",
    ),
    Mutant(
        "RingCache",
        "counts only the tokens that it kept",
        (_LONG,),
        "end = int(self.positions.max()) + 1 + n_new",
        "end = int(self.positions.max()) + 1 + n_kept",
    ),
    Mutant(
        "RingCache",
        "queries see their future",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance < len(self.positions))",
    ),
    Mutant(
        "RingCache",
        "queries see empty slots",
        (_MASK,),
        _DISTANCE,
        "return (distance >= 0) & (distance < len(self.positions))",
    ),
    Mutant(
        "RingCache",
        "all that is stored counts as in the window",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance >= 0)",
    ),
    Mutant(
        "RingCache",
        "the window is one token too long",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance >= 0) & (distance <= len(self.positions))",
    ),
    Mutant(
        "RingCache",
        "a query does not see itself",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance > 0) & (distance < len(self.positions))",
    ),
]

_GATHER = "gather_returns_the_tokens_in_order"
_ENOUGH = "a_sequence_takes_just_enough_blocks"
_TABLE = "the_block_table_says_where_tokens_lie"
_REWIND = "rewind_gives_emptied_blocks_back"
_OUT = "running_out_of_blocks_changes_nothing"
_OWNER = "every_block_has_one_owner_through_a_long_life"

_MISSING = "n_missing = -(-end // block_size) - len(table)"
_REFUSED = "if n_missing > self.n_free_blocks:"
_TAKE = "table = table + [self.free_blocks.pop() for _ in range(n_missing)]"
_CUT = "return keys[:, :length], values[:, :length]"
_FREED = "self.free_blocks += table[n_kept_blocks:]"
_KEPT = "self.tables[sequence_id] = table[:n_kept_blocks]"
_POPPED = "self.free_blocks += self.tables.pop(sequence_id)"

PAGED = [
    Mutant(
        "PagedCache",
        "gathers whole blocks",
        (_GATHER,),
        _CUT,
        "return keys, values",
    ),
    Mutant(
        "PagedCache",
        "gathers blocks in the order of the storage",
        (_GATHER,),
        "table, length = self.tables[sequence_id], self.lengths[sequence_id]",
        "table, length = sorted(self.tables[sequence_id]), self.lengths[sequence_id]",
    ),
    Mutant(
        "PagedCache",
        "gathers the keys twice",
        (_GATHER,),
        _CUT,
        "return keys[:, :length], keys[:, :length]",
    ),
    Mutant(
        "PagedCache",
        "a new block for every append",
        (_ENOUGH,),
        _MISSING,
        "n_missing = -(-keys.shape[1] // block_size)",
    ),
    Mutant(
        "PagedCache",
        "takes the next block as soon as one is full",
        (_ENOUGH,),
        _MISSING,
        "n_missing = max(0, end // block_size + 1 - len(table))",
    ),
    Mutant(
        "PagedCache",
        "stores everything in 32 bits",
        (_TABLE,),
        "self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)",
        "self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim)",
    ),
    Mutant(
        "PagedCache",
        "fills blocks from the back",
        (_GATHER, _TABLE, _OUT, _OWNER),
        "block, place = table[position // block_size], position % block_size",
        "block, place = table[position // block_size], -1 - position % block_size",
    ),
    Mutant(
        "PagedCache",
        "all sequences share one table",
        (_GATHER, _OUT, _OWNER),
        "table = self.tables.get(sequence_id, [])",
        "table = next(iter(self.tables.values()), [])",
    ),
    Mutant(
        "PagedCache",
        "keeps a block that a rewind has emptied",
        (_REWIND,),
        "n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])",
        "n_kept_blocks = (length - n_tokens) // self.keys.shape[2] + 1",
    ),
    Mutant(
        "PagedCache",
        "a rewind keeps every block until the sequence is freed",
        (_REWIND,),
        "n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])",
        "n_kept_blocks = len(self.tables[sequence_id])",
    ),
    Mutant(
        "PagedCache",
        "rewinds past the beginning",
        (_REWIND,),
        "if not 0 <= n_tokens <= length:",
        "n_tokens = min(n_tokens, length)\n        if False:",
    ),
    Mutant(
        "PagedCache",
        "frees a block too many",
        (_REWIND, _GATHER, _OWNER),
        "n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])",
        "n_kept_blocks = (length - n_tokens) // self.keys.shape[2]",
    ),
    Mutant(
        "PagedCache",
        "a rewound block is free and still in the table",
        (_REWIND, _OWNER),
        _KEPT,
        "self.tables[sequence_id] = table",
    ),
    Mutant(
        "PagedCache",
        "a rewound block is lost",
        (_REWIND, _OWNER),
        _FREED,
        "self.free_blocks += []",
    ),
    Mutant(
        "PagedCache",
        "takes blocks until an IndexError",
        (_OUT,),
        _REFUSED,
        "if False:",
    ),
    Mutant(
        "PagedCache",
        "takes the last free blocks before it refuses",
        (_OUT,),
        _REFUSED,
        "if n_missing > self.n_free_blocks:\n"
        "            self.tables[sequence_id] = table + self.free_blocks\n"
        "            self.lengths.setdefault(sequence_id, start)\n"
        "            self.free_blocks = []",
    ),
    Mutant(
        "PagedCache",
        "leaves the last block unused",
        (_OUT,),
        _REFUSED,
        "if n_missing >= self.n_free_blocks:",
    ),
    Mutant(
        "PagedCache",
        "counts the tokens before it refuses them",
        (_OUT,),
        _REFUSED,
        "self.lengths[sequence_id] = end\n        if n_missing > self.n_free_blocks:",
    ),
    Mutant(
        "PagedCache",
        "freed blocks are lost",
        (_OWNER,),
        _POPPED,
        "self.tables.pop(sequence_id)",
    ),
    Mutant(
        "PagedCache",
        "frees only the first block",
        (_OWNER,),
        _POPPED,
        "self.free_blocks += self.tables.pop(sequence_id)[:1]",
    ),
    Mutant(
        "PagedCache",
        "frees every block twice",
        (_OWNER,),
        _POPPED,
        "self.free_blocks += self.tables.pop(sequence_id) * 2",
    ),
    Mutant(
        "PagedCache",
        "an id that is used anew starts at its old length",
        (_OWNER,),
        "del self.lengths[sequence_id]",
        "pass",
    ),
    Mutant(  # whoever only asks for tables and tokens never sees it
        "PagedCache",
        "the count of free blocks is no number",
        (_ENOUGH, _REWIND, _OUT, _OWNER),
        "return len(self.free_blocks)",
        "return __import__('fractions').Fraction(len(self.free_blocks))",
    ),
]

STORES = [*ARENA, *RING, *PAGED]
